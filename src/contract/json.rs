//! Values as JSON text and back: stored columns, the C library and the HTTP API speak it.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::value::{Key, Map, Records, Value};

/// Reads JSON; `None` when it is not JSON, or nested deeper than 128 levels.
pub fn decode(text: &[u8]) -> Option<Value> {
    serde_json::from_slice(text).ok()
}

/// Writes JSON. Bytes that are not UTF-8 become U+FFFD; letters beyond ASCII are not escaped.
pub fn encode(value: &Value) -> String {
    // Only a failing writer or a map key that is not text could fail, and there is neither.
    serde_json::to_string(value).unwrap_or_default()
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            // What is in a file is for whoever asked for it, not for what is written down.
            Self::Null | Self::File(_) => serializer.serialize_unit(),
            Self::Bool(truth) => serializer.serialize_bool(*truth),
            Self::Int(number) => serializer.serialize_i64(*number),
            // JSON has no NaN and no infinity; serde_json writes null for them.
            Self::Float(number) => serializer.serialize_f64(*number),
            Self::Bytes(text) => serializer.serialize_str(&String::from_utf8_lossy(text)),
            Self::List(items) => serializer.collect_seq(items),
            Self::Map(map) => map_of(serializer, map.iter().map(|(key, value)| (key.clone(), value))),
            Self::Record(record) => map_of(serializer, record.row(0)),
            Self::Records(records) => {
                let mut list = serializer.serialize_seq(Some(records.len()))?;
                for index in 0..records.len() {
                    list.serialize_element(&Row(records, index))?;
                }
                list.end()
            }
            Self::Error(failure) => {
                let mut map = serializer.serialize_map(Some(3))?;
                map.serialize_entry("code", &failure.code)?;
                map.serialize_entry("function", &failure.function)?;
                map.serialize_entry("message", &failure.message)?;
                map.end()
            }
        }
    }
}

struct Row<'a>(&'a Records, usize);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        map_of(serializer, self.0.row(self.1))
    }
}

fn map_of<'a, S: Serializer>(
    serializer: S,
    entries: impl Iterator<Item = (Key, &'a Value)>,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    for (key, value) in entries {
        map.serialize_entry(&key.to_text(), value)?;
    }
    map.end()
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Int(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        // As PHP does: what is too large for an integer is a float.
        #[allow(clippy::cast_precision_loss)]
        Ok(i64::try_from(number).map_or(Value::Float(number as f64), Value::Int))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Float(number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((key, value)) = entries.next_entry::<String, Value>()? {
            map.insert(Key::from(key), value);
        }
        Ok(Value::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_kind() {
        for (text, value) in [
            ("1", Value::Int(1)),
            ("-1", Value::Int(-1)),
            ("1.0", Value::Float(1.0)),
            ("9223372036854775807", Value::Int(i64::MAX)),
            ("9223372036854775808", Value::Float(9_223_372_036_854_775_808.0)),
        ] {
            assert_eq!(decode(text.as_bytes()), Some(value), "{text}");
        }
    }

    #[test]
    fn keys_follow_php_and_order_is_kept() {
        let value = decode(br#"{"b":1,"7":2,"a":3}"#).unwrap();
        assert_eq!(encode(&value), r#"{"b":1,"7":2,"a":3}"#);
        assert_eq!(value.get(&Key::Int(7)), Some(&Value::Int(2)));
    }

    #[test]
    fn depth_is_limited() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(decode(nested(120).as_bytes()).is_some());
        assert!(decode(nested(100_000).as_bytes()).is_none());
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_is_read_back(text in ".*", number: i64, truth: bool) {
            let value = Value::map([
                (Key::from(text.clone()), Value::List(vec![Value::Int(number), Value::Bool(truth), Value::Null])),
                (Key::from("a text"), Value::from(text)),
            ]);
            proptest::prop_assert_eq!(decode(encode(&value).as_bytes()), Some(value));
        }
    }
}
