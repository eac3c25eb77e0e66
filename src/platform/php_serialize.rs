//! PHP's serialize format, read and written over bytes, as content-management systems store structures in it.
//!
//! No object is ever made: one is kept as the bytes that it stands in, and whoever wants values says what becomes of it.

use std::ops::RangeInclusive;

use crate::contract::Map;
use crate::contract::value::{Key, Value};

/// How deep structures may be nested.
const DEPTH: usize = 64;
/// The longest text that is read or written.
const SIZE: usize = 1 << 20;
/// The places of the decimal point, counted from the first digit, between which PHP writes a number without an exponent.
const PLAIN: RangeInclusive<i32> = -3..=17;

/// A value of the format.
#[derive(Debug, Clone, PartialEq)]
pub enum Serialized {
    /// `N;`
    Null,
    /// `b:1;`
    Bool(bool),
    /// `i:7;`
    Int(i64),
    /// `d:0.5;`
    Float(f64),
    /// `s:3:"abc";`: lengths count bytes.
    Bytes(Vec<u8>),
    /// `a:1:{i:0;N;}`
    Array(Vec<(Key, Serialized)>),
    /// An object, a case of an enumeration or a reference, as it stands.
    Opaque(Vec<u8>),
}

/// Whether a text would be taken for a serialized one: what such systems go by when they read an option.
pub fn looks_serialized(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    if text == b"N;" {
        return true;
    }
    let Some((last, [kind, b':', rest @ ..])) = text.split_last() else {
        return false;
    };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let counted = digits > 0 && rest.get(digits) == Some(&b':');
    match (kind, last) {
        (b's', b';') => counted && rest.last() == Some(&b'"'),
        (b'a' | b'O' | b'E', b';' | b'}') => counted,
        (b'b' | b'i' | b'd', b';') => {
            let in_number = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'E' | b'+' | b'-');
            !rest.is_empty() && rest.iter().all(in_number)
        }
        _ => false,
    }
}

impl Serialized {
    /// Reads a text; `None` when it is none of the format, too long or nested too deep.
    pub fn decode(text: &[u8]) -> Option<Self> {
        let text = text.trim_ascii();
        if text.len() > SIZE {
            return None;
        }
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        (reader.at == text.len()).then_some(value)
    }

    /// The text of it, as PHP 7.1 and later write it.
    pub fn encode(&self) -> Vec<u8> {
        let mut text = Vec::new();
        self.write(&mut text);
        text
    }

    /// A value as it is stored; `None` when it is nested too deep, too long, or an error object.
    pub fn of(value: &Value) -> Option<Self> {
        let serialized = Self::of_nested(value, 0)?;
        (serialized.size() <= SIZE).then_some(serialized)
    }

    /// The value, when there is no object in it.
    pub fn into_value(self) -> Option<Value> {
        self.values(false)
    }

    /// The value without the entries that are objects.
    pub fn without_objects(self) -> Option<Value> {
        self.values(true)
    }

    fn values(self, drop_objects: bool) -> Option<Value> {
        Some(match self {
            Self::Null => Value::Null,
            Self::Bool(truth) => Value::Bool(truth),
            Self::Int(number) => Value::Int(number),
            Self::Float(number) => Value::Float(number),
            Self::Bytes(text) => Value::Bytes(text),
            Self::Opaque(_) => return None,
            Self::Array(entries) => {
                let mut map = Map::with_capacity(entries.len());
                for (key, entry) in entries {
                    if !(drop_objects && matches!(entry, Self::Opaque(_))) {
                        map.insert(key, entry.values(drop_objects)?);
                    }
                }
                array(map)
            }
        })
    }

    fn of_nested(value: &Value, depth: usize) -> Option<Self> {
        let entries = |map: &mut dyn Iterator<Item = (Key, &Value)>| {
            map.map(|(key, value)| Some((key, Self::of_nested(value, depth + 1)?)))
                .collect::<Option<_>>()
                .map(Self::Array)
        };
        match value {
            Value::Null => Some(Self::Null),
            Value::Bool(truth) => Some(Self::Bool(*truth)),
            Value::Int(number) => Some(Self::Int(*number)),
            Value::Float(number) => Some(Self::Float(*number)),
            Value::Bytes(text) => Some(Self::Bytes(text.clone())),
            Value::Error(_) | Value::File(_) => None,
            _ if depth >= DEPTH => None,
            Value::List(items) => entries(&mut (0..).map(Key::Int).zip(items)),
            Value::Map(map) => entries(&mut map.iter().map(|(key, value)| (key.clone(), value))),
            Value::Record(record) => entries(&mut record.row(0)),
            Value::Records(records) => {
                let rows: Vec<Value> = records.rows().map(Value::Map).collect();
                entries(&mut (0..).map(Key::Int).zip(&rows))
            }
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Bytes(text) | Self::Opaque(text) => text.len() + 8,
            Self::Array(entries) => entries
                .iter()
                .map(|(key, entry)| key.to_text().len() + 8 + entry.size())
                .sum(),
            _ => 8,
        }
    }

    fn write(&self, text: &mut Vec<u8>) {
        match self {
            Self::Null => text.extend(b"N;"),
            Self::Bool(truth) => text.extend(if *truth { b"b:1;" } else { b"b:0;" }),
            Self::Int(number) => text.extend(format!("i:{number};").bytes()),
            Self::Float(number) => text.extend(format!("d:{};", float(*number)).bytes()),
            Self::Bytes(bytes) => write_bytes(text, bytes),
            Self::Array(entries) => {
                text.extend(format!("a:{}:{{", entries.len()).bytes());
                for (key, entry) in entries {
                    match key {
                        Key::Int(number) => text.extend(format!("i:{number};").bytes()),
                        Key::Text(bytes) => write_bytes(text, bytes),
                    }
                    entry.write(text);
                }
                text.push(b'}');
            }
            Self::Opaque(bytes) => text.extend(bytes),
        }
    }
}

fn write_bytes(text: &mut Vec<u8>, bytes: &[u8]) {
    text.extend(format!("s:{}:\"", bytes.len()).bytes());
    text.extend(bytes);
    text.extend(b"\";");
}

/// An array with the keys 0, 1, 2 … is a list.
fn array(map: Map) -> Value {
    if map.keys().zip(0..).all(|(key, index)| *key == Key::Int(index)) {
        Value::List(map.into_values().collect())
    } else {
        Value::Map(map)
    }
}

/// A number as PHP writes it: the fewest digits that read back as the same number.
fn float(number: f64) -> String {
    if number.is_nan() {
        return "NAN".to_owned();
    }
    let sign = if number.is_sign_negative() { "-" } else { "" };
    if number.is_infinite() {
        return format!("{sign}INF");
    }
    let shortest = format!("{:e}", number.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if number == 0.0 {
        format!("{sign}0")
    } else if PLAIN.contains(&(exponent + 1)) {
        format!("{sign}{}", number.abs())
    } else {
        let point = if mantissa.contains('.') { "" } else { ".0" };
        let plus = if exponent < 0 { "-" } else { "+" };
        format!("{sign}{mantissa}{point}E{plus}{}", exponent.abs())
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// A value that lies in so many others.
    fn value(&mut self, depth: usize) -> Option<Serialized> {
        let begin = self.at;
        let kind = self.byte()?;
        if kind == b'N' {
            self.pass(b";")?;
            return Some(Serialized::Null);
        }
        self.pass(b":")?;
        match kind {
            b'b' => match self.until(b';')? {
                b"0" => Some(Serialized::Bool(false)),
                b"1" => Some(Serialized::Bool(true)),
                _ => None,
            },
            b'i' => integer(self.until(b';')?).map(Serialized::Int),
            b'd' => read_float(self.until(b';')?).map(Serialized::Float),
            b's' => {
                let bytes = self.bytes()?;
                self.pass(b";")?;
                Some(Serialized::Bytes(bytes.to_vec()))
            }
            b'a' => self.entries(depth).map(Serialized::Array),
            b'O' => {
                self.bytes()?;
                self.pass(b":")?;
                self.entries(depth)?;
                self.opaque(begin)
            }
            b'C' => {
                self.bytes()?;
                self.pass(b":")?;
                let length = self.length()?;
                self.pass(b"{")?;
                self.take(length)?;
                self.pass(b"}")?;
                self.opaque(begin)
            }
            b'E' => {
                self.bytes()?;
                self.pass(b";")?;
                self.opaque(begin)
            }
            b'R' | b'r' => {
                integer(self.until(b';')?)?;
                self.opaque(begin)
            }
            _ => None,
        }
    }

    /// `2:{key value key value}`
    fn entries(&mut self, depth: usize) -> Option<Vec<(Key, Serialized)>> {
        if depth >= DEPTH {
            return None;
        }
        let count = self.length()?;
        self.pass(b"{")?;
        // Nothing is set aside for a count that the text cannot hold.
        let mut entries = Vec::with_capacity(count.min(self.text.len() - self.at));
        for _ in 0..count {
            let key = match self.value(DEPTH)? {
                Serialized::Int(number) => Key::Int(number),
                Serialized::Bytes(text) => Key::from(text),
                _ => return None,
            };
            entries.push((key, self.value(depth + 1)?));
        }
        self.pass(b"}")?;
        Some(entries)
    }

    /// `3:"abc"`
    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        self.pass(b"\"")?;
        let bytes = self.take(length)?;
        self.pass(b"\"")?;
        Some(bytes)
    }

    /// `12:`
    fn length(&mut self) -> Option<usize> {
        let digits = self.until(b':')?;
        let is_number = digits.iter().all(u8::is_ascii_digit);
        std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
    }

    fn opaque(&self, begin: usize) -> Option<Serialized> {
        self.text
            .get(begin..self.at)
            .map(|text| Serialized::Opaque(text.to_vec()))
    }

    fn until(&mut self, end: u8) -> Option<&'a [u8]> {
        let rest = self.text.get(self.at..)?;
        let length = rest.iter().position(|byte| *byte == end)?;
        self.at += length + 1;
        rest.get(..length)
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length)?;
        let taken = self.text.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn pass(&mut self, bytes: &[u8]) -> Option<()> {
        (self.take(bytes.len())? == bytes).then_some(())
    }
}

fn integer(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn read_float(text: &[u8]) -> Option<f64> {
    match text {
        b"NAN" => Some(f64::NAN),
        b"INF" => Some(f64::INFINITY),
        b"-INF" => Some(f64::NEG_INFINITY),
        text => {
            // Rust would also read "infinity" and "nan" in letters of any case.
            let is_number = text
                .iter()
                .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'E' | b'e' | b'+' | b'-'));
            std::str::from_utf8(text).ok().filter(|_| is_number)?.parse().ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(text: &str) -> Option<Serialized> {
        Serialized::decode(text.as_bytes())
    }

    #[track_caller]
    fn is_read_and_written(text: &str) {
        let value = decoded(text).unwrap_or_else(|| panic!("{text} is not read"));
        assert_eq!(String::from_utf8_lossy(&value.encode()), text);
    }

    #[test]
    fn every_kind_is_read_and_written_as_php_does() {
        for text in [
            "N;",
            "b:0;",
            "b:1;",
            "i:0;",
            "i:-7;",
            "i:9223372036854775807;",
            "s:0:\"\";",
            "s:4:\"a\";b\";",
            "s:4:\"🦊\";",
            "a:0:{}",
            "a:2:{i:0;s:1:\"x\";s:1:\"a\";a:1:{i:-5;N;}}",
            // Written by PHP 8.2.
            "d:0.30000000000000004;",
            "d:23.036199999999997;",
            "d:1.2345678901234568E+17;",
            "d:10000000000000000;",
            "d:1.0E+17;",
            "d:1.0E+25;",
            "d:-1.0E+25;",
            "d:1.2345E+22;",
            "d:0.0001;",
            "d:1.0E-5;",
            "d:1.5E-7;",
            "d:5.0E-324;",
            "d:1.7976931348623157E+308;",
            "d:100;",
            "d:0;",
            "d:-0;",
            "d:INF;",
            "d:-INF;",
            "d:NAN;",
        ] {
            is_read_and_written(text);
        }
        // An older PHP wrote 17 digits.
        assert_eq!(decoded("d:0.10000000000000001;").unwrap().encode(), b"d:0.1;");
    }

    #[test]
    fn objects_and_references_stay_as_they_stand_and_are_never_values() {
        for text in [
            "O:8:\"stdClass\":1:{s:1:\"k\";s:1:\"v\";}",
            "O:16:\"WC_Shipping_Rate\":1:{s:7:\"\0*\0data\";a:1:{s:2:\"id\";s:1:\"x\";}}",
            "C:11:\"ArrayObject\":6:{x:i:0;}",
            "E:11:\"Suit:Hearts\";",
            "r:1;",
        ] {
            is_read_and_written(text);
            assert_eq!(decoded(text).unwrap().into_value(), None, "{text:?}");
            let nested = format!("a:2:{{s:1:\"a\";i:1;s:1:\"o\";{text}}}");
            is_read_and_written(&nested);
            assert_eq!(decoded(&nested).unwrap().into_value(), None);
            assert_eq!(
                decoded(&nested).unwrap().without_objects(),
                Some(Value::map([("a", Value::Int(1))]))
            );
        }
    }

    #[test]
    fn an_array_with_the_keys_of_a_list_is_a_list() {
        let value = |text: &str| decoded(text).unwrap().into_value().unwrap();
        assert_eq!(
            value("a:2:{i:0;i:5;i:1;i:6;}"),
            Value::List(vec![Value::Int(5), Value::Int(6)])
        );
        assert_eq!(value("a:0:{}"), Value::List(vec![]));
        assert_eq!(
            value("a:2:{i:1;i:5;i:0;i:6;}"),
            Value::map([(1, Value::Int(5)), (0, Value::Int(6))])
        );
        assert_eq!(value("a:1:{s:1:\"7\";N;}"), Value::map([(7, Value::Null)]));
    }

    #[test]
    fn what_is_not_of_the_format_is_not_read() {
        for text in [
            "",
            "N",
            "x:1;",
            "b:2;",
            "i:;",
            "i:1.5;",
            "i:9223372036854775808;",
            "d:inf;",
            "d:nan;",
            "d:;",
            "s:5:\"abc\";",
            "s:-1:\"\";",
            "s:+1:\"a\";",
            "s:1:\"a\"",
            "s:99999999999999999999:\"a\";",
            "a:2:{i:0;N;}",
            "a:1:{i:0;N;",
            "a:1:{N;N;}",
            "a:1:{a:0:{}N;}",
            "a:99999999:{}",
            "a:18446744073709551615:{}",
            "O:1:\"a\":1:{}",
            "C:1:\"a\":9:{}",
            "N;N;",
            "S:1:\"a\";",
        ] {
            assert_eq!(decoded(text), None, "{text}");
        }
    }

    #[test]
    fn depth_and_size_have_limits() {
        let nested = |depth: usize| format!("{}N;{}", "a:1:{i:0;".repeat(depth), "}".repeat(depth));
        assert!(decoded(&nested(64)).is_some());
        assert!(decoded(&nested(65)).is_none());
        assert!(decoded(&nested(20_000)).is_none());
        let long = |length: usize| format!("s:{length}:\"{}\";", "x".repeat(length));
        assert!(decoded(&long(1_048_500)).is_some());
        assert!(decoded(&long(1_048_577)).is_none());
        assert!(Serialized::of(&"x".repeat(1_048_577).into()).is_none());
        let deep = (0..65).fold(Value::Null, |inner, _| Value::List(vec![inner]));
        assert!(Serialized::of(&deep).is_none());
    }

    #[test]
    fn what_looks_serialized_is_told_as_the_systems_tell_it() {
        for text in [
            "N;",
            " a:0:{} ",
            "s:18:\"a:1:{}\";",
            "b:1;",
            "i:5;",
            "d:0.5;",
            "d:1.0E+25;",
            "O:8:\"stdClass\":0:{}",
            "E:3:\"A:B\";",
            "a:1:{broken;",
        ] {
            assert!(looks_serialized(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "N",
            "text",
            "a:b",
            "a:0:{}x",
            "s:1:x;",
            "i:x;",
            "b:true;",
            "a::{}",
            "http://a;",
            "C:1:\"a\":0:{}",
        ] {
            assert!(!looks_serialized(text.as_bytes()), "{text}");
        }
    }

    fn any_serialized() -> impl Strategy<Value = Serialized> {
        let leaf = prop_oneof![
            Just(Serialized::Null),
            any::<bool>().prop_map(Serialized::Bool),
            any::<i64>().prop_map(Serialized::Int),
            any::<f64>().prop_map(Serialized::Float),
            any::<Vec<u8>>().prop_map(Serialized::Bytes),
            Just(Serialized::Opaque(b"O:1:\"a\":1:{s:1:\"b\";i:1;}".to_vec())),
        ];
        let key = prop_oneof![any::<i64>().prop_map(Key::Int), any::<Vec<u8>>().prop_map(Key::from)];
        leaf.prop_recursive(5, 48, 6, move |inner| {
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(Serialized::Array)
        })
    }

    proptest! {
        /// What is written is read back, and written again byte by byte the same.
        #[test]
        fn a_round_trip_changes_nothing(value in any_serialized()) {
            let text = value.encode();
            let read = Serialized::decode(&text);
            prop_assert_eq!(read.as_ref(), Some(&value));
            prop_assert_eq!(read.map(|read| read.encode()), Some(text));
        }

        /// No bytes, however odd, are more than refused.
        #[test]
        fn any_bytes_are_read_or_refused(text in any::<Vec<u8>>()) {
            let _ = looks_serialized(&text);
            if let Some(value) = Serialized::decode(&text) {
                prop_assert!(Serialized::decode(&value.encode()).is_some());
            }
        }
    }
}
