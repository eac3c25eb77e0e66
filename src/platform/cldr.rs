//! Names of countries and signs of currencies in English, from Unicode's CLDR.

use icu_experimental::dimension::currency::CurrencyType;
use icu_experimental::dimension::currency::formatter::CurrencyFormatter;
use icu_experimental::dimension::currency::options::CurrencyFormatterOptions;
use icu_experimental::displaynames::DisplayNamesOptions;
use icu_experimental::displaynames::multi::RegionDisplayNames;
use icu_locale_core::locale;
use icu_locale_core::subtags::Region;
use iso_currency::Country;

/// Kosovo: shops sell to it, ISO 3166 has not given it its code.
const KOSOVO: &str = "XK";

/// The names of countries.
pub struct Countries(Option<RegionDisplayNames>);

impl Countries {
    /// In English.
    pub fn in_english() -> Self {
        Self(RegionDisplayNames::try_new(locale!("en").into(), DisplayNamesOptions::default()).ok())
    }

    /// The name of a country by its code of two letters; the code itself when it is none of a country.
    pub fn name(&self, code: &str) -> String {
        let region = Region::try_from_str(code).ok().filter(|_| is_country(code));
        let names = self.0.as_ref();
        let name = names.zip(region).and_then(|(names, region)| names.of(region));
        name.unwrap_or(code).to_owned()
    }

    /// The codes of all countries, by their names.
    pub fn codes(&self) -> Vec<String> {
        let letters = || b'A'..=b'Z';
        let pairs = letters().flat_map(|first| letters().map(move |second| [first, second]));
        let mut codes: Vec<String> = pairs
            .map(|pair| pair.iter().map(|letter| char::from(*letter)).collect())
            .collect();
        codes.retain(|code| is_country(code));
        codes.sort_by_cached_key(|code| self.name(code));
        codes
    }
}

/// Whether it is the code of a country.
pub fn is_country(code: &str) -> bool {
    code.parse::<Country>().is_ok() || code == KOSOVO
}

/// The sign that stands for a currency where no other is meant: `$` for US dollars, and for Canadian ones too. The code
/// itself when it has none; an abbreviation with a full stop (`Fr.`) is none.
pub fn currency_sign(code: &str) -> String {
    let formatted = CurrencyType::try_from_str(&code.to_ascii_lowercase())
        .ok()
        .and_then(|currency| {
            let formatter = CurrencyFormatter::try_new_symbol_narrow(
                locale!("en").into(),
                currency,
                CurrencyFormatterOptions::default(),
            );
            Some(formatter.ok()?.format_fixed_decimal(&0.into()).to_string())
        });
    // In English the sign stands before the number.
    let sign = formatted
        .as_deref()
        .and_then(|text| text.split('0').next())
        .map(str::trim);
    sign.filter(|sign| !sign.is_empty() && !sign.ends_with('.'))
        .unwrap_or(code)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn countries_have_names() {
        let countries = Countries::in_english();
        for (code, name) in [
            ("DE", "Germany"),
            ("CI", "Côte d’Ivoire"),
            ("US", "United States"),
            ("XK", "Kosovo"),
            ("XX", "XX"),
            ("EU", "EU"),
            ("", ""),
        ] {
            assert_eq!(countries.name(code), name);
        }
        let codes = countries.codes();
        assert_eq!(codes.len(), 250);
        assert_eq!(codes.first().map(String::as_str), Some("AF"));
        assert!(codes.iter().all(|code| countries.name(code) != *code));
    }

    #[test]
    fn currencies_have_signs() {
        for (code, sign) in [
            ("USD", "$"),
            ("CAD", "$"),
            ("GBP", "£"),
            ("EUR", "€"),
            ("JPY", "¥"),
            ("PLN", "zł"),
            ("CZK", "Kč"),
            ("SEK", "kr"),
            ("BRL", "R$"),
            ("CHF", "CHF"),
            ("XQQ", "XQQ"),
            ("", ""),
            ("no code", "no code"),
        ] {
            assert_eq!(currency_sign(code), sign, "{code}");
        }
    }
}
