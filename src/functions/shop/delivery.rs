//! How the shop is paid, and where it ships to.

use crate::contract::args::{Argument, title_case};
use crate::contract::error::Result;
use crate::contract::value::at;
use crate::contract::{Key, Map, Value};
use crate::functions::cms::{Options, map_of};
use crate::params;
use crate::platform::Context;
use crate::platform::cldr::{Countries, is_country};
use crate::platform::php_serialize::Serialized;

/// The settings of everything that can be switched on: ways to pay among e-mails and ways to ship.
const SETTINGS: &str = "
    SELECT option_name, option_value
    FROM {options}
    WHERE option_name LIKE 'woocommerce\\_%\\_settings' OR option_name = 'woocommerce_gateway_order'";

const GATEWAY_ORDER: &str = "woocommerce_gateway_order";

/// The ways to pay that the shop itself brings, in its order.
const OWN_GATEWAYS: [&str; 4] = ["bacs", "cheque", "cod", "paypal"];

/// The ways to ship, whose settings look alike.
const SHIPPING: [&str; 4] = ["flat_rate", "free_shipping", "local_pickup", "pickup_location"];

/// What only the settings of e-mails and of ways to ship hold.
const OF_OTHERS: [&str; 7] = [
    "availability",
    "email_type",
    "subject",
    "heading",
    "recipient",
    "tax_status",
    "requires",
];

const COUNTRY_OPTIONS: [&str; 5] = [
    "woocommerce_allowed_countries",
    "woocommerce_specific_allowed_countries",
    "woocommerce_all_except_countries",
    "woocommerce_ship_to_countries",
    "woocommerce_specific_ship_to_countries",
];

/// The names of the ways to pay that are switched on, in the order of the checkout.
pub(super) async fn payment_methods(cx: &Context<'_>) -> Result<Value> {
    let cms = super::open(cx).await?;
    let rows: Vec<(String, Vec<u8>)> = cms.rows(SETTINGS, params![]).await?;
    let mut order = Map::new();
    let mut gateways = Vec::new();
    for (name, text) in rows {
        let settings = map_of(Serialized::decode(&text).and_then(Serialized::without_objects));
        if name == GATEWAY_ORDER {
            order = settings;
        } else if let Some(gateway) = gateway(&name, settings) {
            gateways.push(gateway);
        }
    }
    let place = |id: &str| {
        let chosen = order.get(&Key::from(id.to_owned())).cloned().and_then(i64::from_value);
        let own = OWN_GATEWAYS.iter().position(|own| *own == id);
        (chosen.unwrap_or(i64::MAX), own.unwrap_or(OWN_GATEWAYS.len()))
    };
    gateways.sort_by(|(a, _), (b, _)| (place(a), a).cmp(&(place(b), b)));
    Ok(Value::List(
        gateways.into_iter().map(|(_, title)| title.into()).collect(),
    ))
}

/// The id and the title of a way to pay that is switched on.
fn gateway(option: &str, settings: Map) -> Option<(String, String)> {
    let id = option.strip_prefix("woocommerce_")?.strip_suffix("_settings")?;
    // Each place where something is shipped to has settings of its own, with a number.
    let is_of_place = id
        .rsplit('_')
        .next()
        .is_some_and(|end| end.bytes().all(|byte| byte.is_ascii_digit()));
    let is_other = is_of_place || SHIPPING.contains(&id) || OF_OTHERS.iter().any(|key| at(&settings, key).is_some());
    let is_on = at(&settings, "enabled").and_then(Value::as_str) == Some("yes");
    let title = at(&settings, "title").cloned().and_then(String::from_value)?;
    let title = if title.is_empty() { title_case(id) } else { title };
    (is_on && !is_other).then(|| (id.to_owned(), title))
}

/// Where the shop ships to.
enum Destinations {
    All,
    Only(Vec<String>),
    AllExcept(Vec<String>),
}

impl Destinations {
    fn of(options: &Options) -> Self {
        let listed = |name| options.map(name).into_values().filter_map(String::from_value).collect();
        match options.text("woocommerce_ship_to_countries").as_str() {
            "all" => Self::All,
            "specific" => Self::Only(listed("woocommerce_specific_ship_to_countries")),
            "disabled" => Self::Only(Vec::new()),
            // To where it sells.
            _ => match options.text("woocommerce_allowed_countries").as_str() {
                "specific" => Self::Only(listed("woocommerce_specific_allowed_countries")),
                "all_except" => Self::AllExcept(listed("woocommerce_all_except_countries")),
                _ => Self::All,
            },
        }
    }

    fn hold(&self, code: &str) -> bool {
        let is_listed = |codes: &[String]| codes.iter().any(|own| own.eq_ignore_ascii_case(code));
        match self {
            Self::All => true,
            Self::Only(codes) => is_listed(codes),
            Self::AllExcept(codes) => !is_listed(codes),
        }
    }
}

/// The countries that the shop ships to, or whether it ships to one.
pub(super) async fn shipping_locations(cx: &Context<'_>, country: Option<String>) -> Result<Value> {
    let cms = super::open(cx).await?;
    let destinations = Destinations::of(&Options::read(&cms, COUNTRY_OPTIONS).await?);
    if let Some(country) = country {
        let code = country.trim().to_ascii_uppercase();
        return Ok(Value::Bool(is_country(&code) && destinations.hold(&code)));
    }
    let countries = Countries::in_english();
    let (codes, excludes) = match destinations {
        Destinations::All => (countries.codes(), false),
        Destinations::Only(codes) => (codes, false),
        Destinations::AllExcept(codes) => (codes, true),
    };
    let locations: Vec<(String, String)> = codes.into_iter().map(|code| (countries.name(&code), code)).collect();
    let names: Vec<&str> = locations.iter().map(|(name, _)| name.as_str()).collect();
    let text = names.join(", ");
    let pairs = locations
        .iter()
        .map(|(name, code)| Value::List(vec![name.as_str().into(), code.as_str().into()]));
    Ok(Value::List(vec![
        text.into(),
        Value::List(pairs.collect()),
        Value::Bool(excludes),
    ]))
}
