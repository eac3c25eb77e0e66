//! Typed record ids.

use super::args::{Argument, is_absent};
use super::value::Value;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $name {
            /// The id that no record has. What is no id at all is read as it, so that it finds nothing.
            pub const NONE: Self = Self(0);

            /// The number, for a statement's parameter.
            pub const fn number(self) -> u32 {
                self.0
            }

            /// Whether a record can have this id.
            pub const fn is_some(self) -> bool {
                self.0 != 0
            }
        }

        impl From<u32> for $name {
            fn from(number: u32) -> Self {
                Self(number)
            }
        }

        /// Ids leave as strings.
        impl From<$name> for Value {
            fn from(id: $name) -> Self {
                Value::from(id.0.to_string())
            }
        }

        impl Argument for $name {
            const TYPE: &'static str = "int|string";
            const EXPECTED: &'static str = "an id";

            fn from_value(value: Value) -> Option<Self> {
                record_id(&value).map(Self)
            }

            fn is_absent(value: &Value) -> bool {
                is_absent(value) || *value == Value::Int(-1) || value.as_bytes() == Some(b"-1")
            }
        }
    )* };
}

ids! {
    /// The id of a user, agent, admin or the bot.
    UserId
    /// The id of a conversation.
    ConversationId
    /// The id of a message.
    MessageId
    /// The id of something of the content-management system: a user, a post, a product, an order.
    CmsId
}

/// The largest id that an `int` column holds.
const LARGEST: u32 = i32::MAX as u32;

/// Reads an id. What is none (`"abc"`, -1, 1.5) is 0, which no record has; a list or map is refused.
fn record_id(value: &Value) -> Option<u32> {
    let number = match value {
        Value::Int(number) => u32::try_from(*number).ok(),
        Value::Bytes(_) => value
            .as_str()
            .map(str::trim)
            .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|text| text.parse().ok()),
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Value::Float(number) if number.fract() == 0.0 && (0.0..=f64::from(LARGEST)).contains(number) => {
            Some(*number as u32)
        }
        Value::Null | Value::Bool(_) | Value::Float(_) => None,
        _ => return None,
    };
    Some(number.filter(|number| *number <= LARGEST).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_decimal_number_and_nothing_else() {
        let read = |value: Value| record_id(&value);
        for value in [
            Value::from(7),
            Value::from("7"),
            Value::from(" 7 "),
            Value::from("007"),
            Value::from(7.0),
        ] {
            assert_eq!(read(value.clone()), Some(7), "{value:?}");
        }
        for value in [
            Value::from("abc"),
            Value::from("7abc"),
            Value::from("+7"),
            Value::from("-1"),
            Value::from("7.0"),
            Value::from("1e3"),
            Value::from(""),
            Value::from("1 OR 1=1"),
            Value::from("2147483648"),
            Value::from("99999999999999999999"),
            Value::from(-1),
            Value::from(2_147_483_648),
            Value::from(1.5),
            Value::from(f64::NAN),
            Value::from(true),
            Value::Null,
            Value::Bytes(vec![0xff]),
        ] {
            assert_eq!(read(value.clone()), Some(0), "{value:?}");
        }
        assert_eq!(read(Value::List(vec![])), None);
    }
}
