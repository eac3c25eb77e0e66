//! Coupons that the chat gives away. They carry a mark of their own, so that the merchant's are never touched.

use chrono::{NaiveDateTime, TimeDelta};

use crate::contract::Value;
use crate::contract::args::{Several, utf8};
use crate::contract::error::{Code, Error, Result};
use crate::contract::ids::{CmsId, UserId};
use crate::functions::cms::{NewPost, Site, email_of};
use crate::functions::users::record_by_id;
use crate::params;
use crate::platform::Context;
use crate::platform::crypto;
use crate::platform::db::{Builder, OnUnknown, containing};
use crate::platform::php_serialize::Serialized;

const ADD_META: &str = "
    INSERT INTO {postmeta} (post_id, meta_key, meta_value)
    VALUES (?, ?, ?)";

const FURTHER_META: &str = ", (?, ?, ?)";

/// Who coupons are made out to: those that name an address, and those with a pattern of addresses.
const RESTRICTIONS: &str = "
    SELECT m.meta_value
    FROM {posts} p
    JOIN {postmeta} m ON m.post_id = p.ID AND m.meta_key = 'customer_email'
    WHERE p.post_type = 'shop_coupon' AND p.post_status = 'publish'
        AND (m.meta_value LIKE ? OR m.meta_value LIKE '%*%')";

/// Coupons of the chat whose time has passed.
const EXPIRED: &str = "
    SELECT CAST(p.ID AS UNSIGNED)
    FROM {postmeta} own
    JOIN {posts} p ON p.ID = own.post_id AND p.post_type = 'shop_coupon'
    JOIN {postmeta} m ON m.post_id = p.ID AND m.meta_key = 'date_expires'
    WHERE own.meta_key = '_sb_coupon' AND m.meta_value <> '' AND CAST(m.meta_value AS UNSIGNED) <= ?
    ORDER BY p.ID
    LIMIT ?";

const DELETE_METAS: &str = "
    DELETE FROM {postmeta}
    WHERE post_id IN ";

const DELETE_POSTS: &str = "
    DELETE FROM {posts}
    WHERE post_type = 'shop_coupon' AND ID IN ";

/// How many coupons are deleted together.
const CHUNK: u32 = 200;

/// The mark of a coupon of the chat.
const MARK: &str = "_sb_coupon";

/// Letters and digits that are not taken for each other.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
const CODE_LENGTH: usize = 12;

/// No coupon lives longer, in days.
const LONGEST: i64 = 3660;

/// Makes a coupon, and gives its code and its discount.
pub(super) async fn coupon(
    cx: &Context<'_>,
    discount: Value,
    expiration: String,
    products: Several<CmsId>,
    user: Option<UserId>,
) -> Result<Value> {
    let percent = percent(&discount)?;
    let expires = expiry(cx.now(), &expiration)?;
    let cms = super::open(cx).await?;
    let email = match user {
        Some(user) => Some(restricted_to(cx, user).await?),
        None => None,
    };
    let site = Site::read(cx, cms, &[]).await?;
    let code = code()?;
    let metas = metas(percent, expires, &products.0, email);
    let post = NewPost {
        title: code.clone(),
        content: String::new(),
        post_type: "shop_coupon".to_owned(),
        name: code.clone(),
        is_open_to_comments: false,
        author: None,
    };
    let stored = site.cms.transaction(OnUnknown::Report, async |transaction| {
        let id = post.store(cx, &site, transaction).await?;
        let mut statement = Builder::new("", params![]);
        for (at, (key, value)) in metas.iter().enumerate() {
            let part = if at == 0 { ADD_META } else { FURTHER_META };
            statement.add(part, params![id, *key, value.as_deref()]);
        }
        let (sql, params) = statement.finish();
        transaction.execute(site.cms.place(sql), params).await?;
        Ok(())
    });
    stored.await?;
    Ok(Value::List(vec![code.into(), number(percent)]))
}

/// The discount, from above 0 to 100.
fn percent(discount: &Value) -> Result<f64> {
    let percent = match discount {
        #[allow(clippy::cast_precision_loss)]
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::Bytes(text) => utf8(text.clone()).trim().trim_end_matches('%').trim().parse().ok(),
        _ => None,
    };
    let percent = percent.filter(|percent| (1.0..=100.0).contains(percent));
    percent.ok_or(Error::Refused {
        code: "invalid-discount",
        message: "the discount is a number from 1 to 100".into(),
    })
}

/// A whole number as one.
fn number(number: f64) -> Value {
    #[allow(clippy::cast_possible_truncation)]
    if number.fract() == 0.0 {
        Value::Int(number as i64)
    } else {
        Value::Float(number)
    }
}

/// When a coupon that is made now expires: `2 days`, `30 minutes`.
fn expiry(now: NaiveDateTime, text: &str) -> Result<NaiveDateTime> {
    let refused = || Error::Refused {
        code: "invalid-expiration",
        message: "the expiration is a number and seconds, minutes, hours, days, weeks, months or years".into(),
    };
    let text = text.trim().trim_start_matches('+').to_ascii_lowercase();
    let at = text.find(|letter: char| !letter.is_ascii_digit()).ok_or_else(refused)?;
    let (digits, unit) = text.split_at(at);
    let seconds = match unit.trim().trim_end_matches('s') {
        "second" | "sec" => 1,
        "minute" | "min" => 60,
        "hour" => 3600,
        "day" => 86_400,
        "week" => 7 * 86_400,
        "month" => 30 * 86_400,
        "year" => 365 * 86_400,
        _ => return Err(refused()),
    };
    let length = digits
        .parse::<i64>()
        .ok()
        .and_then(|number| number.checked_mul(seconds));
    let length = length
        .filter(|length| (1..=LONGEST * 86_400).contains(length))
        .ok_or_else(refused)?;
    now.checked_add_signed(TimeDelta::seconds(length)).ok_or_else(refused)
}

/// The address that a coupon of a user is made out to.
async fn restricted_to(cx: &Context<'_>, user: UserId) -> Result<String> {
    if record_by_id(cx, user).await?.is_none() {
        return Err(Code::UserNotFound.into());
    }
    let email = email_of(cx, user).await?;
    email.map(|email| email.to_lowercase()).ok_or(Error::Refused {
        code: "missing-email",
        message: "a coupon is made out to an e-mail address, and the user has none".into(),
    })
}

/// What the shop keeps of a coupon.
fn metas(
    percent: f64,
    expires: NaiveDateTime,
    products: &[CmsId],
    email: Option<String>,
) -> Vec<(&'static str, Option<Vec<u8>>)> {
    let products: Vec<String> = products.iter().map(|product| product.number().to_string()).collect();
    let emails = email.and_then(|email| Serialized::of(&Value::List(vec![email.into()])));
    let text = |text: &str| Some(text.as_bytes().to_vec());
    let mut metas = vec![
        ("discount_type", text("percent")),
        ("coupon_amount", text(&percent.to_string())),
        ("individual_use", text("no")),
        ("usage_limit", text("0")),
        ("usage_limit_per_user", text("0")),
        ("limit_usage_to_x_items", None),
        ("usage_count", text("0")),
        ("date_expires", text(&expires.and_utc().timestamp().to_string())),
        ("free_shipping", text("no")),
        ("exclude_sale_items", text("no")),
        (MARK, text("1")),
    ];
    if !products.is_empty() {
        metas.push(("product_ids", text(&products.join(","))));
    }
    if let Some(emails) = emails {
        metas.push(("customer_email", Some(emails.encode())));
    }
    metas
}

/// A new code, in small letters as the shop keeps them.
fn code() -> Result<String> {
    let mut random = [0; CODE_LENGTH];
    crypto::random(&mut random)?;
    let letters = random.iter().filter_map(|byte| LETTERS.get(usize::from(byte % 32)));
    Ok(letters.map(|letter| char::from(*letter)).collect())
}

/// Whether a coupon is made out to a user.
pub(super) async fn coupon_check(cx: &Context<'_>, user: UserId) -> Result<bool> {
    let cms = super::open(cx).await?;
    let Some(email) = email_of(cx, user).await? else {
        return Ok(false);
    };
    let rows: Vec<(Option<Vec<u8>>,)> = cms
        .rows(RESTRICTIONS, params![containing(&email.to_lowercase())])
        .await?;
    let lists = rows.into_iter().filter_map(|(text,)| Serialized::decode(&text?));
    let mut entries = lists.flat_map(|list| match list {
        Serialized::Array(entries) => entries,
        _ => Vec::new(),
    });
    Ok(entries.any(|(_, entry)| match entry {
        Serialized::Bytes(pattern) => fits(&utf8(pattern), &email),
        _ => false,
    }))
}

/// Whether an address is the one of a coupon, in which `*` stands for anything.
fn fits(pattern: &str, email: &str) -> bool {
    let (pattern, email) = (pattern.trim().to_lowercase(), email.trim().to_lowercase());
    let Some((begin, rest)) = pattern.split_once('*') else {
        return pattern == email;
    };
    let Some(mut left) = email.strip_prefix(begin) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        match left.find(part) {
            Some(at) => left = left.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    left.ends_with(end)
}

/// Deletes the chat's coupons whose time has passed.
pub(crate) async fn delete_expired(cx: &Context<'_>) -> Result<bool> {
    let cms = super::open(cx).await?;
    let now = cx.now().and_utc().timestamp();
    loop {
        let expired: Vec<(u64,)> = cms.rows(EXPIRED, params![now, CHUNK]).await?;
        if expired.is_empty() {
            return Ok(true);
        }
        let delete = cms.transaction(OnUnknown::Repeat, async |transaction| {
            for begin in [DELETE_METAS, DELETE_POSTS] {
                let mut statement = Builder::new(begin, params![]);
                statement.list(expired.iter().map(|(id,)| *id));
                let (sql, params) = statement.finish();
                transaction.execute(cms.place(sql), params).await?;
            }
            Ok(())
        });
        delete.await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_fits_its_pattern() {
        for (pattern, email) in [
            ("ann@a.example", "Ann@A.example"),
            ("*@vip.example", "x@vip.example"),
            ("a*@*.example", "ann@mail.example"),
            ("*", "x@y"),
        ] {
            assert!(fits(pattern, email), "{pattern} {email}");
        }
        for (pattern, email) in [
            ("ann@a.example", "joann@a.example"),
            ("*@vip.example", "x@vip.example.org"),
            ("a*b*c", "acb"),
            ("ab*ba", "aba"),
            ("", "a@b"),
        ] {
            assert!(!fits(pattern, email), "{pattern} {email}");
        }
    }

    #[test]
    fn an_expiration_is_a_number_and_a_unit() {
        let now = crate::contract::args::time("2026-03-01 00:00:00").unwrap();
        let after = |text: &str| expiry(now, text).map(|time| (time - now).num_seconds());
        for (text, seconds) in [
            ("2 days", 172_800),
            ("30 minutes", 1800),
            ("45seconds", 45),
            ("+1 Week", 604_800),
            (" 1 hour ", 3600),
            ("1 month", 2_592_000),
        ] {
            assert_eq!(after(text), Ok(seconds), "{text}");
        }
        for text in [
            "",
            "days",
            "2",
            "0 days",
            "-1 day",
            "1.5 days",
            "2 parsecs",
            "tomorrow",
            "99999999999999999999 days",
            "9999 years",
        ] {
            assert_eq!(expiry(now, text).unwrap_err().code(), "invalid-expiration", "{text}");
        }
    }

    #[test]
    fn a_discount_is_from_1_to_100() {
        for (value, expected) in [
            (Value::Int(1), 1.0),
            (Value::Int(100), 100.0),
            ("15".into(), 15.0),
            ("12.5 %".into(), 12.5),
        ] {
            assert_eq!(percent(&value), Ok(expected));
        }
        for value in [
            Value::Int(0),
            Value::Int(101),
            Value::Int(-5),
            Value::Float(f64::NAN),
            "x".into(),
            "".into(),
            Value::Null,
            Value::Bool(true),
            Value::List(vec![]),
        ] {
            assert_eq!(percent(&value).unwrap_err().code(), "invalid-discount", "{value:?}");
        }
    }
}
