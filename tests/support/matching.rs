//! Comparing what came with what was to come.

use chrono::{NaiveDateTime, Utc};
use regex::Regex;
use sb::contract::value::{Failure, at};
use sb::contract::{Key, Map, Value, json};

/// Says where `got` is not as `expected`.
pub fn compare(expected: &Value, got: &Value) -> Result<(), String> {
    compare_at("", &plain(expected), &plain(got))
}

fn compare_at(path: &str, expected: &Value, got: &Value) -> Result<(), String> {
    let differs = || {
        let path = if path.is_empty() { "the whole" } else { path };
        Err(format!("{path}: expected {}, got {}", shown(expected), shown(got)))
    };
    match (expected, got) {
        (Value::Bytes(text), got) if text.starts_with(b"~") => {
            if matches(&String::from_utf8_lossy(text), got) {
                Ok(())
            } else {
                differs()
            }
        }
        (Value::Map(map), Value::Error(failure)) if at(map, "~error").is_some() => compare_error(path, map, failure),
        (Value::Map(map), got) if at(map, "~contains").is_some() => match (at(map, "~contains"), got) {
            (Some(Value::Map(some)), Value::Map(got)) => compare_entries(path, some, got),
            _ => differs(),
        },
        (Value::Map(map), Value::Map(other)) => {
            compare_entries(path, map, other)?;
            match other.keys().find(|key| !map.contains_key(*key)) {
                Some(key) => Err(format!("{path}.{}: not expected", key.to_text())),
                None => Ok(()),
            }
        }
        (Value::List(items), Value::List(others)) if items.len() == others.len() => items
            .iter()
            .zip(others)
            .enumerate()
            .try_for_each(|(index, (item, other))| compare_at(&format!("{path}[{index}]"), item, other)),
        (expected, got) if expected == got => Ok(()),
        _ => differs(),
    }
}

fn compare_entries(path: &str, expected: &Map, got: &Map) -> Result<(), String> {
    expected.iter().try_for_each(|(key, value)| {
        let path = format!("{path}.{}", key.to_text());
        match got.get(key) {
            Some(other) => compare_at(&path, value, other),
            None => Err(format!("{path}: missing")),
        }
    })
}

fn compare_error(path: &str, expected: &Map, got: &Failure) -> Result<(), String> {
    let got = [("~error", &got.code), ("message", &got.message)];
    expected.iter().try_for_each(|(key, value)| {
        let part = got.iter().find(|(name, _)| Key::from(*name) == *key);
        let (name, part) = part.ok_or_else(|| format!("an error has no {}", key.to_text()))?;
        compare_at(&format!("{path}.{name}"), value, &Value::from(part.as_str()))
    })
}

/// Whether a text matcher takes a value.
fn matches(matcher: &str, got: &Value) -> bool {
    let text = got.as_str();
    match matcher {
        "~any" => true,
        "~id" => text.is_some_and(|text| Regex::new("^[1-9][0-9]*$").unwrap().is_match(text)),
        "~int" => matches!(got, Value::Int(_)),
        "~time" => text.is_some_and(is_now),
        "~token" => text.is_some_and(|text| Regex::new("^[0-9a-f]{40}$").unwrap().is_match(text)),
        "~text" => got.as_bytes().is_some_and(|text| !text.is_empty()),
        _ => {
            let regex = matcher.strip_prefix("~match:");
            let regex = regex.unwrap_or_else(|| panic!("there is no matcher {matcher}"));
            text.is_some_and(|text| Regex::new(regex).unwrap().is_match(text))
        }
    }
}

fn is_now(text: &str) -> bool {
    text.len() == 19
        && NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S")
            .is_ok_and(|time| (Utc::now().naive_utc() - time).num_seconds().abs() <= 120)
}

/// A value without the forms that only its sender sees: records are maps, and a map with the keys 0, 1, 2 … is a list.
pub fn plain(value: &Value) -> Value {
    match value {
        Value::Record(record) => plain(&Value::Map(
            record.row(0).map(|(key, cell)| (key, cell.clone())).collect(),
        )),
        Value::Records(records) => Value::List(records.rows().map(|row| plain(&Value::Map(row))).collect()),
        Value::List(items) => Value::List(items.iter().map(plain).collect()),
        Value::Map(map)
            if map
                .keys()
                .eq((0..).map(Key::Int).take(map.len()).collect::<Vec<_>>().iter()) =>
        {
            Value::List(map.values().map(plain).collect())
        }
        Value::Map(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), plain(value)))
            .collect::<Map>()
            .into(),
        value => value.clone(),
    }
}

/// A value for people, cut where it gets long.
pub fn shown(value: &Value) -> String {
    const LONG: usize = 2_000;
    let text = json::encode(value);
    let text = match value {
        Value::Error(_) => format!("the error {text}"),
        Value::Bytes(bytes) if std::str::from_utf8(bytes).is_err() => format!("the bytes {text}"),
        _ => text,
    };
    match text.char_indices().nth(LONG) {
        Some((end, _)) => format!("{} … ({} bytes)", &text[..end], text.len()),
        None => text,
    }
}
