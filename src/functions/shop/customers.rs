//! Customers and what lies in their carts.

use crate::contract::error::Result;
use crate::contract::ids::UserId;
use crate::contract::{Key, Value};
use crate::functions::cms::{Options, id_of, map_of};
use crate::params;
use crate::platform::Context;
use crate::platform::cms::Cms;
use crate::platform::crypto::md5;
use crate::platform::php_serialize::{Serialized, looks_serialized};

const CUSTOMER: &str = "
    SELECT customer_id, user_id, username, first_name, last_name, email, date_last_active, date_registered, country,
        postcode, city, state
    FROM {wc_customer_lookup}
    WHERE user_id = ?";

const COLUMNS: &[&str] = &[
    "customer_id",
    "user_id",
    "username",
    "first_name",
    "last_name",
    "email",
    "date_last_active",
    "date_registered",
    "country",
    "postcode",
    "city",
    "state",
];

/// Of any age: the shop itself passes over their expiry until it cleans up.
const SESSION: &str = "
    SELECT session_key, session_value
    FROM {woocommerce_sessions}
    WHERE session_key = ?";

const SESSION_EXISTS: &str = "
    SELECT session_key
    FROM {woocommerce_sessions}
    WHERE session_key = ?";

/// What a session holds of a cart. Shops leave out what is empty.
const PARTS: [&str; 7] = [
    "cart",
    "cart_totals",
    "applied_coupons",
    "coupon_discount_totals",
    "coupon_discount_tax_totals",
    "removed_cart_contents",
    "customer",
];

/// What the keys of guests begin with: `t_` and 30 digits that nobody guesses.
const GUEST: &str = "t_";
const GUEST_KEY: usize = 32;

/// The customer whose session it is; guests are no customers yet.
pub(super) async fn get_customer(cx: &Context<'_>, session_key: String) -> Result<Option<Value>> {
    let cms = super::open(cx).await?;
    let Ok(user) = session_key.trim().parse::<u32>() else {
        return Ok(None);
    };
    let records = cms.records(CUSTOMER, params![user], COLUMNS).await?;
    Ok((!records.is_empty()).then_some(Value::Record(records)))
}

/// The cart of a session.
pub(super) async fn get_session(cx: &Context<'_>, session_key: Option<String>) -> Result<Option<Value>> {
    let session_key = match session_key {
        Some(session_key) => Some(session_key),
        None => get_session_key(cx, None).await?,
    };
    let cms = super::open(cx).await?;
    let Some(session_key) = session_key else {
        return Ok(None);
    };
    let row: Option<(String, Vec<u8>)> = cms.row(SESSION, params![&session_key]).await?;
    // The column's collation passes over case and NUL; a key is a secret, letter by letter.
    let own = row.filter(|(own, _)| *own == session_key);
    Ok(own.map(|(_, text)| cart(&text)))
}

/// The parts of a session: the session is an array of structures, each serialized once more. Objects in it are left
/// out.
fn cart(text: &[u8]) -> Value {
    let session = Serialized::decode(text).and_then(Serialized::without_objects);
    let mut session = map_of(session);
    Value::map(PARTS.map(|name| {
        let stored = session.shift_remove(&Key::from(name));
        (name, stored.and_then(part).unwrap_or_else(|| Value::List(Vec::new())))
    }))
}

/// A part of a session; `None` when it is no structure.
fn part(stored: Value) -> Option<Value> {
    match stored {
        Value::Bytes(text) if looks_serialized(&text) => {
            let part = Serialized::decode(&text)?.without_objects()?;
            matches!(part, Value::List(_) | Value::Map(_)).then_some(part)
        }
        Value::List(_) | Value::Map(_) => Some(stored),
        _ => None,
    }
}

/// The key of a user's session; of the active user's, or else of the browser's, when no user is given.
pub(super) async fn get_session_key(cx: &Context<'_>, user: Option<UserId>) -> Result<Option<String>> {
    let cms = super::open(cx).await?;
    let user = match user {
        Some(user) => Some(user),
        None => cx.active_user().await?.map(|active| active.id),
    };
    let customer = match user {
        Some(user) => id_of(cx, &cms, user).await?,
        None => None,
    };
    match customer {
        Some(customer) => existing(&cms, customer.number().to_string()).await,
        None => guest_session(cx, &cms, user).await,
    }
}

async fn existing(cms: &Cms<'_>, key: String) -> Result<Option<String>> {
    let row: Option<(String,)> = cms.row(SESSION_EXISTS, params![&key]).await?;
    Ok(row.map(|(own,)| own).filter(|own| *own == key))
}

/// The session that the shop has given the browser: of a guest only, whose key is a secret. A customer's is its id, which
/// proves nothing.
async fn guest_session(cx: &Context<'_>, cms: &Cms<'_>, asked_for: Option<UserId>) -> Result<Option<String>> {
    let active = cx.active_user().await?.map(|active| active.id);
    if asked_for.is_some() && asked_for != active {
        return Ok(None);
    }
    let site = Options::read(cms, ["siteurl"]).await?.text("siteurl");
    let site = site.trim_end_matches('/');
    let name = format!("wp_woocommerce_session_{}", md5(site.as_bytes())?);
    let Some(cookie) = cx.host().cookie(&name) else {
        return Ok(None);
    };
    let key = cookie.split(['|', '%']).next().unwrap_or_default();
    let is_guest = key.len() == GUEST_KEY
        && key
            .strip_prefix(GUEST)
            .is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
    if is_guest {
        existing(cms, key.to_owned()).await
    } else {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array<const N: usize>(entries: [(&'static str, Serialized); N]) -> Serialized {
        Serialized::Array(entries.map(|(key, value)| (key.into(), value)).into())
    }

    #[test]
    fn a_session_gives_every_part_and_no_object() {
        let text = |value: Serialized| Serialized::Bytes(value.encode());
        let object = || Serialized::Opaque(b"O:1:\"A\":0:{}".to_vec());
        let line = array([("quantity", Serialized::Int(2)), ("data", object())]);
        let session = array([
            ("cart", text(array([("x", line)]))),
            ("cart_totals", Serialized::Bytes(b"no structure".to_vec())),
            (
                "customer",
                text(array([("email", Serialized::Bytes(b"x@y.example".to_vec()))])),
            ),
            ("removed_cart_contents", text(object())),
            ("applied_coupons", object()),
        ]);
        let Value::Map(map) = cart(&session.encode()) else {
            panic!("no map")
        };
        assert_eq!(map.keys().cloned().collect::<Vec<_>>(), PARTS.map(Key::from));
        let part = |name: &'static str| map.get(&Key::from(name)).unwrap();
        let line = Value::map([("quantity", Value::Int(2))]);
        assert_eq!(*part("cart"), Value::map([("x", line)]));
        assert_eq!(*part("customer"), Value::map([("email", "x@y.example".into())]));
        for name in ["cart_totals", "removed_cart_contents", "applied_coupons"] {
            assert_eq!(*part(name), Value::List(vec![]), "{name}");
        }
    }

    #[test]
    fn a_broken_session_is_an_empty_cart() {
        for text in ["", "x", "a:1:{", "O:1:\"a\":0:{}"] {
            let Value::Map(map) = cart(text.as_bytes()) else {
                panic!("no map")
            };
            assert!(map.values().all(|part| *part == Value::List(vec![])), "{text}");
        }
    }
}
