//! What a request tells of the person behind it: place, language, browser.

use std::net::IpAddr;

use iso_currency::{Country, Currency};
use maxminddb::{Reader, geoip2};

use super::accounts::add_new_user_extra;
use crate::contract::args::{Detail, Details};
use crate::contract::error::{Error, Result};
use crate::contract::ids::UserId;
use crate::platform::Context;

/// The setting that holds the path of a database in MaxMind's format (City).
const GEO_DATABASE: &str = "geo-database";

/// What woothee says when it knows nothing.
const UNKNOWN: &str = "UNKNOWN";

/// Adds what the request tells to the details of a user. What the user has already stays.
pub(super) async fn user_autodata(cx: &Context<'_>, user_id: UserId) -> Result<bool> {
    let mut details = Vec::new();
    let mut add = |slug: &str, name: &str, value: &str| {
        if !value.is_empty() {
            details.push(Detail {
                slug: slug.to_owned(),
                name: name.to_owned(),
                value: value.to_owned(),
            });
        }
    };
    if let Some(address) = cx.client_address().await? {
        add("ip", "IP", &address.to_string());
        if let Some(path) = cx.settings().await?.text(GEO_DATABASE)
            && let Some(place) = Place::of(address, &path)?
        {
            add("city", "City", &place.city);
            add("country", "Country", &place.country);
            add("country_code", "Country Code", &place.country_code);
            let location = [place.city.as_str(), place.country.as_str()];
            add(
                "location",
                "Location",
                &location
                    .into_iter()
                    .filter(|part| !part.is_empty())
                    .collect::<Vec<_>>()
                    .join(", "),
            );
            add("time_zone", "Time Zone", &place.time_zone);
            add("currency", "Currency", &place.currency);
        }
    }
    add("browser_language", "Browser Language", &browser_language(cx));
    if let Some(agent) = cx.host().request("HTTP_USER_AGENT")
        && let Some(browser) = woothee::parser::Parser::new().parse(&agent)
    {
        add(
            "browser",
            "Browser",
            if browser.name == UNKNOWN { "" } else { browser.name },
        );
        add("os", "OS", if browser.os == UNKNOWN { "" } else { browser.os });
    }
    add_new_user_extra(cx, user_id, Details(details)).await
}

/// The language that the browser asks for first (RFC 9110, section 12.5.4), without its region.
pub(crate) fn browser_language(cx: &Context<'_>) -> String {
    let accepted = cx.host().request("HTTP_ACCEPT_LANGUAGE").unwrap_or_default();
    let first = accepted
        .split([',', ';', '-', '_'])
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    if matches!(first.len(), 2 | 3) && first.bytes().all(|letter| letter.is_ascii_lowercase()) {
        first
    } else {
        String::new()
    }
}

/// Where an address is. What the database does not know is empty.
struct Place {
    city: String,
    country: String,
    country_code: String,
    time_zone: String,
    currency: String,
}

impl Place {
    /// Looks an address up. The file is read each time: it is large, new visitors are few, and every worker process
    /// would hold a copy of it.
    fn of(address: IpAddr, path: &str) -> Result<Option<Self>> {
        let unusable = |error: maxminddb::MaxMindDbError| Error::Refused {
            code: "geo-database",
            message: format!("the file of the setting {GEO_DATABASE} cannot be used: {error}"),
        };
        let reader = Reader::open_readfile(path).map_err(unusable)?;
        let found = reader.lookup(address).map_err(unusable)?;
        let Some(place) = found.decode::<geoip2::City>().map_err(unusable)? else {
            return Ok(None);
        };
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let country_code = text(place.country.iso_code);
        let currency = country_code
            .parse::<Country>()
            .map(|country| Currency::from(country).code().to_owned());
        Ok(Some(Self {
            city: text(place.city.names.english),
            country: text(place.country.names.english),
            time_zone: text(place.location.time_zone),
            currency: currency.unwrap_or_default(),
            country_code,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_place() {
        let database = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/test-city.mmdb");
        let of = |address: &str| Place::of(address.parse().unwrap(), database).unwrap();
        let place = of("203.0.113.9").unwrap();
        assert_eq!(
            [
                &place.city,
                &place.country,
                &place.country_code,
                &place.time_zone,
                &place.currency
            ],
            ["Testville", "Netherlands", "NL", "Europe/Amsterdam", "EUR"]
        );
        let place = of("2001:db8::1").unwrap();
        assert_eq!([&place.city, &place.country_code, &place.currency], ["", "JP", "JPY"]);
        assert!(of("127.0.0.1").is_none());
    }

    #[test]
    fn a_file_that_is_no_database_is_an_error() {
        let address = "203.0.113.9".parse().unwrap();
        assert!(Place::of(address, "/nowhere").is_err());
        assert!(Place::of(address, concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).is_err());
    }
}
