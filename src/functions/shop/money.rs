//! Amounts of money as the shop shows them.

use rust_decimal::{Decimal, RoundingStrategy};

use crate::functions::cms::Site;

/// The option that says how many decimals prices have.
pub(super) const DECIMALS: &str = "woocommerce_price_num_decimals";

/// Decimals where the shop does not say.
const DEFAULT_DECIMALS: u32 = 2;

/// Decimals beyond which no currency goes.
const DECIMALS_LIMIT: u32 = 8;

/// How many decimals the shop's prices have.
pub(super) fn decimals(site: &Site<'_>) -> u32 {
    let decimals = site.options.text(DECIMALS).trim().parse().ok();
    decimals.map_or(DEFAULT_DECIMALS, |decimals: u32| decimals.min(DECIMALS_LIMIT))
}

/// A stored total with so many decimals, as the shop itself reads it. What is no number stays as it is.
pub(super) fn total(stored: &str, decimals: u32) -> String {
    number(stored).map_or_else(|| stored.to_owned(), |total| rounded(total, decimals))
}

/// What one of several costs that cost a total together.
pub(super) fn unit_price(total: &str, quantity: &str, decimals: u32) -> String {
    let unit = number(total).and_then(|total| total.checked_div(number(quantity)?));
    rounded(unit.unwrap_or_default(), decimals)
}

fn rounded(amount: Decimal, decimals: u32) -> String {
    let mut amount = amount.round_dp_with_strategy(decimals, RoundingStrategy::MidpointAwayFromZero);
    amount.rescale(decimals);
    amount.to_string()
}

fn number(text: &str) -> Option<Decimal> {
    let text = text.trim();
    text.parse().ok().or_else(|| Decimal::from_scientific(text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_has_the_decimals_of_the_shop() {
        for (stored, decimals, shown) in [
            ("145.62000000", 2, "145.62"),
            ("233.5", 2, "233.50"),
            ("233.50", 2, "233.50"),
            ("12345.00000000", 0, "12345"),
            ("12.34500000", 2, "12.35"),
            ("10.50000000", 0, "11"),
            ("1.23456789", 3, "1.235"),
            ("0", 2, "0.00"),
            ("-2.5", 2, "-2.50"),
            ("", 2, ""),
        ] {
            assert_eq!(total(stored, decimals), shown, "{stored}");
        }
    }

    #[test]
    fn a_unit_is_rounded_as_people_do() {
        for (total, quantity, decimals, unit) in [
            ("740.28", "4", 2, "185.07"),
            ("0.57", "2", 2, "0.29"),
            ("100", "3", 2, "33.33"),
            ("137.1", "3", 2, "45.70"),
            ("258.45", "2", 0, "129"),
            ("1.0E-5", "1", 6, "0.000010"),
            ("5", "0", 2, "0.00"),
            ("", "", 2, "0.00"),
            ("3", "1.5", 2, "2.00"),
        ] {
            assert_eq!(unit_price(total, quantity, decimals), unit, "{total} / {quantity}");
        }
    }
}
