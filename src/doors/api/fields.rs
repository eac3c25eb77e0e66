//! Fields of bodies and parameters of addresses: what they may hold, said once, for reading and for the description.

use serde_json::{Value as Json, json};

use super::failure::{Failure, Problem};
use crate::contract::args::Items;
use crate::contract::ids::{ConversationId, MessageId, UserId};
use crate::contract::status::ConversationStatus;
use crate::contract::value::{Key, Map, Value};

/// The type of a field.
pub trait Field: Sized {
    /// Whether it must be there.
    const IS_REQUIRED: bool = true;

    /// What it may hold, as a JSON Schema.
    fn schema() -> Json;

    /// What it may hold in an address, where everything is text.
    fn parameter() -> Json {
        Self::schema()
    }

    /// Reads it; else the code and the sentence of what is wrong.
    fn read(value: Value) -> Result<Self, (&'static str, String)>;

    /// What it is when it is not there.
    fn absent() -> Option<Self> {
        None
    }
}

/// A set of fields: what a body or an address holds.
pub trait Fields: Sized {
    /// Reads all of them, or says everything that is wrong.
    fn read(given: Map) -> Result<Self, Failure>;

    /// All of them.
    fn described() -> Vec<Described>;

    /// The schema of a body.
    // Assigning by index adds an entry to an object, and this one is made here.
    #[allow(clippy::indexing_slicing)]
    fn schema() -> Json {
        let mut properties = serde_json::Map::new();
        let mut required = Vec::new();
        for field in Self::described() {
            let mut schema = if field.is_required {
                required.push(field.name);
                field.schema
            } else {
                json!({"anyOf": [field.schema, {"type": "null"}]})
            };
            schema["description"] = field.doc.into();
            properties.insert(field.name.to_owned(), schema);
        }
        json!({"type": "object", "properties": properties, "required": required})
    }

    /// The parameters of an address.
    fn parameters() -> Vec<Json> {
        let parameter = |field: Described| {
            json!({"name": field.name, "in": "query", "description": field.doc, "required": field.is_required,
                "schema": field.parameter})
        };
        Self::described().into_iter().map(parameter).collect()
    }
}

/// A field, as the description of the API has it.
pub struct Described {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub doc: String,
    /// What it may hold in a body.
    pub schema: Json,
    /// What it may hold in an address.
    pub parameter: Json,
    /// Whether it must be there.
    pub is_required: bool,
}

/// Declares a set of fields. Their documentation is that of the API.
macro_rules! fields {
    ($(#[doc = $about:literal])* $name:ident { $($(#[doc = $doc:literal])* $field:ident: $type:ty,)* }) => {
        $(#[doc = $about])*
        pub struct $name {
            $($(#[doc = $doc])* pub $field: $type,)*
        }

        impl $crate::doors::api::fields::Fields for $name {
            fn read(mut given: $crate::contract::Map) -> Result<Self, $crate::doors::api::failure::Failure> {
                let mut problems = Vec::new();
                $(let $field = $crate::doors::api::fields::take(&mut given, stringify!($field), &mut problems);)*
                match ($($field,)*) {
                    ($(Some($field),)*) if problems.is_empty() => Ok(Self { $($field,)* }),
                    _ => Err($crate::doors::api::failure::Failure::of_fields(problems)),
                }
            }

            fn described() -> Vec<$crate::doors::api::fields::Described> {
                vec![$($crate::doors::api::fields::Described {
                    name: stringify!($field),
                    doc: [$($doc),*].map(str::trim).join(" "),
                    schema: <$type as $crate::doors::api::fields::Field>::schema(),
                    parameter: <$type as $crate::doors::api::fields::Field>::parameter(),
                    is_required: <$type as $crate::doors::api::fields::Field>::IS_REQUIRED,
                }),*]
            }
        }
    };
}
pub(super) use fields;

/// Takes a field out of what was given; null is as if it were not there.
pub fn take<T: Field>(given: &mut Map, name: &'static str, problems: &mut Vec<Problem>) -> Option<T> {
    match given.shift_remove(&Key::from(name)) {
        None | Some(Value::Null) => {
            let absent = T::absent();
            if absent.is_none() {
                problems.push(required(name));
            }
            absent
        }
        Some(value) => match T::read(value) {
            Ok(value) => Some(value),
            Err((code, message)) => {
                problems.push(Problem::new(code, format!("{name} {message}"), Some(name)));
                None
            }
        },
    }
}

/// What is said of a field that is missing.
pub fn required(name: &'static str) -> Problem {
    Problem::new("required", format!("{name} is required"), Some(name))
}

/// What is no value of its field: the code that the library has for arguments.
fn wrong<T>(message: &str) -> Result<T, (&'static str, String)> {
    Err(("argument-error", message.to_owned()))
}

impl<T: Field> Field for Option<T> {
    const IS_REQUIRED: bool = false;

    fn schema() -> Json {
        T::schema()
    }

    fn parameter() -> Json {
        T::parameter()
    }

    fn read(value: Value) -> Result<Self, (&'static str, String)> {
        T::read(value).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

macro_rules! id_fields {
    ($($id:ty)*) => { $(
        impl Field for $id {
            fn schema() -> Json {
                json!({"oneOf": [Self::parameter(), {"type": "integer", "minimum": 1, "maximum": i32::MAX}]})
            }

            fn parameter() -> Json {
                json!({"type": "string", "pattern": "^[0-9]{1,10}$"})
            }

            fn read(value: Value) -> Result<Self, (&'static str, String)> {
                id(&value).map(Self::from)
            }
        }
    )* };
}

id_fields! { ConversationId UserId MessageId }

/// A text of digits or a number. One that is too large for any record is as good as one that no record has.
fn id(value: &Value) -> Result<u32, (&'static str, String)> {
    let number = match value {
        Value::Bytes(text) if (1..=10).contains(&text.len()) && text.iter().all(u8::is_ascii_digit) => {
            std::str::from_utf8(text).ok().and_then(|text| text.parse().ok())
        }
        value => whole(value).filter(|number| *number >= 1),
    };
    match number {
        Some(number) => Ok(i32::try_from(number)
            .ok()
            .and_then(|id| u32::try_from(id).ok())
            .unwrap_or(0)),
        None => wrong("must be an id: a text of digits, or a whole number"),
    }
}

impl Field for String {
    fn schema() -> Json {
        json!({"type": "string"})
    }

    fn read(value: Value) -> Result<Self, (&'static str, String)> {
        match value {
            Value::Bytes(text) => Ok(crate::contract::args::utf8(text)),
            _ => wrong("must be a text"),
        }
    }
}

/// A text of so many characters.
pub struct Text<const LIMIT: usize>(pub String);

impl<const LIMIT: usize> Field for Text<LIMIT> {
    fn schema() -> Json {
        json!({"type": "string", "maxLength": LIMIT})
    }

    fn read(value: Value) -> Result<Self, (&'static str, String)> {
        let text = String::read(value)?;
        if text.chars().nth(LIMIT).is_some() {
            return Err(("too-long", format!("is longer than {LIMIT} characters")));
        }
        Ok(Self(text))
    }
}

/// Attachments as the library takes them: `[name, link]` each.
pub struct Attachments(pub Items);

/// A link of the web, without spaces and control characters.
const LINK: &str = r"^[hH][tT][tT][pP][sS]?://[^/\s\x00-\x1f\x7f-\x9f][^\s\x00-\x1f\x7f-\x9f]*$";

/// How many attachments a message may have.
const ATTACHMENTS: usize = 50;

impl Field for Attachments {
    const IS_REQUIRED: bool = false;

    fn schema() -> Json {
        let link = json!({"type": "string", "pattern": LINK, "description": "http or https"});
        json!({"type": "array", "maxItems": ATTACHMENTS, "items": {"oneOf": [
            {"type": "array", "prefixItems": [{"type": "string", "description": "name"}, link],
                "items": false, "minItems": 2},
            {"type": "object", "properties": {"name": {"type": "string"}, "url": link}, "required": ["name", "url"]},
        ]}})
    }

    fn read(value: Value) -> Result<Self, (&'static str, String)> {
        let Value::List(items) = value else {
            return wrong("must be a list");
        };
        if items.len() > ATTACHMENTS {
            return Err(("too-long", format!("holds more than {ATTACHMENTS}")));
        }
        let invalid = (
            "invalid-attachment",
            "holds something else than a name and a link".to_owned(),
        );
        let pairs: Option<Vec<Value>> = items.into_iter().map(pair).collect();
        pairs.map(|pairs| Self(Items(pairs))).ok_or(invalid)
    }

    fn absent() -> Option<Self> {
        Some(Self(Items(Vec::new())))
    }
}

/// `[name, url]` of itself, or of `{name, url}`.
fn pair(attachment: Value) -> Option<Value> {
    let pair = match attachment {
        Value::List(pair) => pair,
        Value::Map(mut map) => vec![
            map.shift_remove(&Key::from("name"))?,
            map.shift_remove(&Key::from("url"))?,
        ],
        _ => return None,
    };
    let is_pair = pair.len() == 2 && pair.iter().all(|part| matches!(part, Value::Bytes(_)));
    is_pair.then_some(Value::List(pair))
}

impl Field for ConversationStatus {
    fn schema() -> Json {
        json!({"type": "integer", "minimum": 0, "maximum": 4,
            "x-values": "0 live, 1 waiting for the user, 2 waiting for an agent, 3 archive, 4 trash"})
    }

    fn read(value: Value) -> Result<Self, (&'static str, String)> {
        let code = match value {
            Value::Bytes(text) => std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok()),
            value => whole(&value),
        };
        let status = code.and_then(|code| Self::try_from(code).ok());
        status.ok_or_else(|| ("invalid-status-code", "must be one of 0, 1, 2, 3, 4".to_owned()))
    }
}

/// A department: 1 to 127.
pub struct Department(pub u8);

impl Field for Department {
    fn schema() -> Json {
        json!({"type": "integer", "minimum": 1, "maximum": 127})
    }

    fn read(value: Value) -> Result<Self, (&'static str, String)> {
        match number(&value) {
            Some(number @ 1..=127) => Ok(Self(u8::try_from(number).unwrap_or_default())),
            _ => wrong("must be a whole number from 1 to 127"),
        }
    }
}

/// How many records a list holds: 1 to 100, and 100 when nothing is said.
pub struct Limit(pub u32);

const LARGEST: u32 = 100;

impl Field for Limit {
    const IS_REQUIRED: bool = false;

    fn schema() -> Json {
        json!({"type": "integer", "minimum": 1, "maximum": LARGEST, "default": LARGEST})
    }

    fn read(value: Value) -> Result<Self, (&'static str, String)> {
        let limit = number(&value).and_then(|number| u32::try_from(number).ok());
        match limit.filter(|limit| (1..=LARGEST).contains(limit)) {
            Some(limit) => Ok(Self(limit)),
            None => wrong("must be a whole number from 1 to 100"),
        }
    }

    fn absent() -> Option<Self> {
        Some(Self(LARGEST))
    }
}

/// A whole number, which is text in an address.
fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Bytes(text) if text.iter().all(u8::is_ascii_digit) => {
            std::str::from_utf8(text).ok().and_then(|text| text.parse().ok())
        }
        value => whole(value),
    }
}

/// A whole number, which JSON may write as 5 or as 5.0.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        // Every number that is of use here is far below where a fraction is lost.
        #[allow(clippy::cast_possible_truncation)]
        Value::Float(number) if number.fract() == 0.0 && number.abs() <= f64::from(u32::MAX) => Some(*number as i64),
        _ => None,
    }
}
