//! Every leniency towards callers, and nothing else: how loose values become typed arguments.
//!
//! Existing callers pass `5` or `"5"`, `true`, `"true"` or `1`, an array or its JSON text, and any of `false`,
//! `"false"`, `""` and null for "not given". An argument type says here, once, what it takes; behind this
//! file everything is typed.

mod chatbot;

use chrono::{NaiveDate, NaiveDateTime};

pub use chatbot::{EntityValue, EntityValues, Intent, Intents, Phrases};

use super::error::{Error, Result};
use super::ids::UserId;
use super::json;
use super::status::{ConversationStatus, UserColumn};
use super::value::{Key, Map, Value};

/// A type that an argument of a public function can have.
pub trait Argument: Sized {
    /// The type in PHPDoc.
    const TYPE: &'static str;
    /// What the error message says was expected.
    const EXPECTED: &'static str;
    /// Whether a caller's map may be read in place instead of being copied.
    const IN_PLACE: bool = false;

    /// Reads a value; `None` when it is of a kind that cannot be meant.
    fn from_value(value: Value) -> Option<Self>;

    /// Takes a map that stays with the caller.
    fn from_table(_: Box<dyn Table>) -> Option<Self> {
        None
    }

    /// Whether the value stands for "not given", so that the default holds.
    fn is_absent(value: &Value) -> bool {
        is_absent(value)
    }
}

/// `null`, `false`, `""` and `"false"`.
pub(super) fn is_absent(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bytes(text) => text.is_empty() || text.eq_ignore_ascii_case(b"false"),
        _ => false,
    }
}

/// One argument as a door passes it.
pub enum Given {
    /// Not at all: the default holds.
    Nothing,
    /// By value.
    Value(Value),
    /// A map that is asked key by key, so that looking one key up does not copy the rest.
    Table(Box<dyn Table>),
}

/// A map that stays with the caller.
pub trait Table {
    /// The value of one key.
    fn get(&self, key: &Key) -> Result<Option<Value>, Unreadable>;
}

/// What a caller passed has no counterpart here: an object of its own, a resource, endless nesting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

/// The arguments of one call, in the order of the contract.
pub struct Arguments(std::vec::IntoIter<Given>);

impl Arguments {
    /// Arguments by position.
    pub fn new(given: Vec<Given>) -> Self {
        Self(given.into_iter())
    }

    /// Arguments by position, all by value.
    pub fn of_values(values: impl IntoIterator<Item = Value>) -> Self {
        Self::new(values.into_iter().map(Given::Value).collect())
    }

    /// Those that are not taken yet.
    pub fn given(&self) -> &[Given] {
        self.0.as_slice()
    }

    /// The next argument, or its default.
    pub fn take<T: Argument>(&mut self, name: &'static str, default: Option<fn() -> Value>) -> Result<T> {
        let read = match (self.0.next().unwrap_or(Given::Nothing), default) {
            (Given::Nothing, None) => return Err(Error::Missing { name }),
            (Given::Nothing, Some(default)) => T::from_value(default()),
            (Given::Value(value), Some(default)) if T::is_absent(&value) => T::from_value(default()),
            (Given::Value(value), _) => T::from_value(value),
            (Given::Table(table), _) => T::from_table(table),
        };
        read.ok_or(Error::Argument {
            name,
            expected: T::EXPECTED,
        })
    }
}

impl Argument for Value {
    const TYPE: &'static str = "mixed";
    const EXPECTED: &'static str = "a value";

    fn from_value(value: Value) -> Option<Self> {
        Some(value)
    }

    fn is_absent(_: &Value) -> bool {
        false
    }
}

/// Anything that has keys, read in place: what is no map or list has none.
pub struct Keyed(Given);

impl Keyed {
    /// The value under a key.
    pub fn get(&self, key: &Key) -> Result<Option<Value>, Unreadable> {
        match &self.0 {
            Given::Table(table) => table.get(key),
            Given::Value(value) => Ok(value.get(key).cloned()),
            Given::Nothing => Ok(None),
        }
    }
}

impl Argument for Keyed {
    const TYPE: &'static str = "mixed";
    const EXPECTED: &'static str = "a map";
    const IN_PLACE: bool = true;

    fn from_value(value: Value) -> Option<Self> {
        Some(Self(Given::Value(value)))
    }

    fn from_table(table: Box<dyn Table>) -> Option<Self> {
        Some(Self(Given::Table(table)))
    }

    fn is_absent(_: &Value) -> bool {
        false
    }
}

/// The key of a map.
impl Argument for Key {
    const TYPE: &'static str = "int|string";
    const EXPECTED: &'static str = "a key";

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Int(number) => Some(Self::Int(number)),
            // As PHP reads array keys.
            Value::Bool(truth) => Some(Self::Int(truth.into())),
            #[allow(clippy::cast_possible_truncation)]
            Value::Float(number) => Some(Self::Int(number as i64)),
            Value::Null => Some(Self::from("")),
            Value::Bytes(text) => Some(Self::from(text)),
            _ => None,
        }
    }

    fn is_absent(_: &Value) -> bool {
        false
    }
}

/// False is a value here: only null stands for "not given".
impl Argument for bool {
    const TYPE: &'static str = "bool";
    const EXPECTED: &'static str = "true or false";

    fn from_value(value: Value) -> Option<Self> {
        Some(!is_absent(&value) && value.is_truthy())
    }

    fn is_absent(value: &Value) -> bool {
        *value == Value::Null
    }
}

/// A text. Bytes that are not UTF-8 become U+FFFD, so that nothing else of it is lost; the word `false` is text.
impl Argument for String {
    const TYPE: &'static str = "string";
    const EXPECTED: &'static str = "a text";

    fn from_value(value: Value) -> Option<Self> {
        Bytes::from_value(value).map(|Bytes(text)| utf8(text))
    }

    fn is_absent(value: &Value) -> bool {
        Bytes::is_absent(value)
    }
}

/// A text as it is, whatever its encoding: passwords, SQL, data to encrypt.
pub struct Bytes(pub Vec<u8>);

impl Argument for Bytes {
    const TYPE: &'static str = "string";
    const EXPECTED: &'static str = "a text";

    fn from_value(value: Value) -> Option<Self> {
        Some(Self(match value {
            Value::Bytes(text) => text,
            Value::Int(number) => number.to_string().into_bytes(),
            Value::Float(number) => number.to_string().into_bytes(),
            Value::Bool(true) => b"1".to_vec(),
            Value::Bool(false) | Value::Null => Vec::new(),
            _ => return None,
        }))
    }

    fn is_absent(value: &Value) -> bool {
        matches!(value, Value::Null | Value::Bool(false))
    }
}

/// Decodes UTF-8, U+FFFD for what is not.
pub fn utf8(text: Vec<u8>) -> String {
    String::from_utf8(text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// An optional argument: `None` when it is not given.
impl<T: Argument> Argument for Option<T> {
    const TYPE: &'static str = T::TYPE;
    const EXPECTED: &'static str = T::EXPECTED;

    fn from_value(value: Value) -> Option<Self> {
        if T::is_absent(&value) || is_absent(&value) {
            Some(None)
        } else {
            T::from_value(value).map(Some)
        }
    }
}

/// A map, or its JSON text; empty when not given.
impl Argument for Map {
    const TYPE: &'static str = "array<array-key, mixed>|string";
    const EXPECTED: &'static str = "an array or its JSON text";

    fn from_value(value: Value) -> Option<Self> {
        match structure(value)? {
            Value::Map(map) => Some(map),
            Value::List(items) => Some((0..).map(Key::Int).zip(items).collect()),
            Value::Record(record) => Some(record.row(0).map(|(key, cell)| (key, cell.clone())).collect()),
            _ => None,
        }
    }
}

/// A list, or its JSON text; empty when not given. The keys of a map are dropped.
pub struct Items(pub Vec<Value>);

impl Argument for Items {
    const TYPE: &'static str = "list<mixed>|string";
    const EXPECTED: &'static str = "a list or its JSON text";

    fn from_value(value: Value) -> Option<Self> {
        match structure(value)? {
            Value::List(items) => Some(Self(items)),
            Value::Map(map) => Some(Self(map.into_values().collect())),
            _ => None,
        }
    }
}

/// A list or map as it is, or one that its JSON text describes.
fn structure(value: Value) -> Option<Value> {
    match value {
        value if is_absent(&value) => Some(Value::List(Vec::new())),
        Value::Bytes(text) => json::decode(&text).filter(|value| matches!(value, Value::List(_) | Value::Map(_))),
        Value::Records(records) => Some(Value::List(records.rows().map(Value::Map).collect())),
        value => Some(value),
    }
}

/// A whole number; text in decimal form counts.
impl Argument for i64 {
    const TYPE: &'static str = "int|string";
    const EXPECTED: &'static str = "a whole number";

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Int(number) => Some(number),
            Value::Bool(truth) => Some(truth.into()),
            #[allow(clippy::cast_possible_truncation)]
            Value::Float(number) if number.fract() == 0.0 && number.abs() < 9e15 => Some(number as i64),
            Value::Bytes(text) => std::str::from_utf8(&text).ok()?.trim().parse().ok(),
            _ => None,
        }
    }
}

/// Several ids: a list, its JSON text, or ids between commas. One that is no id spoils the list: what the caller meant
/// by it is not known, and the others may be about to be deleted.
pub struct Several<T>(pub Vec<T>);

impl<T: Argument + PartialEq + From<u32>> Argument for Several<T> {
    const TYPE: &'static str = "list<int|string>|string";
    const EXPECTED: &'static str = "a list of ids, or ids between commas";

    fn from_value(value: Value) -> Option<Self> {
        let items = match value {
            Value::Bytes(text) if !text.trim_ascii_start().starts_with(b"[") => text
                .split(|byte| *byte == b',')
                .map(|id| Value::Bytes(id.trim_ascii().to_vec()))
                .collect(),
            Value::Int(number) => vec![Value::Int(number)],
            value => Items::from_value(value)?.0,
        };
        let given = items.into_iter().filter(|item| !T::is_absent(item));
        let ids = given.map(T::from_value).collect::<Option<Vec<T>>>()?;
        (!ids.contains(&T::from(0))).then_some(Self(ids))
    }
}

/// Several texts: a list, its JSON text, or texts between commas.
pub struct Texts(pub Vec<String>);

impl Argument for Texts {
    const TYPE: &'static str = "list<string>|string";
    const EXPECTED: &'static str = "a list of texts, or texts between commas";

    fn from_value(value: Value) -> Option<Self> {
        let items = match value {
            value if is_absent(&value) => Vec::new(),
            Value::Bytes(text) if !text.trim_ascii_start().starts_with(b"[") => text
                .split(|byte| *byte == b',')
                .map(|part| Value::Bytes(part.trim_ascii().to_vec()))
                .collect(),
            value => Items::from_value(value)?.0,
        };
        items
            .into_iter()
            .map(String::from_value)
            .collect::<Option<Vec<_>>>()
            .map(Self)
    }
}

/// One text, or several: the answer to one is not in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OneOrSeveral {
    /// One.
    One(String),
    /// Several: a list, its JSON text, or texts between commas.
    Several(Vec<String>),
}

impl OneOrSeveral {
    /// It or them.
    pub fn into_texts(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::Several(texts) => texts,
        }
    }
}

impl Argument for OneOrSeveral {
    const TYPE: &'static str = "list<int|string>|int|string";
    const EXPECTED: &'static str = "an id, a list of ids, or ids between commas";

    fn from_value(value: Value) -> Option<Self> {
        let is_list = match &value {
            Value::Bytes(text) => text.contains(&b',') || text.trim_ascii_start().starts_with(b"["),
            value => matches!(value, Value::List(_) | Value::Map(_)),
        };
        if is_list {
            let Texts(texts) = Texts::from_value(value)?;
            Some(Self::Several(
                texts.into_iter().filter(|text| !text.is_empty()).collect(),
            ))
        } else {
            String::from_value(value).map(|text| Self::One(text.trim().to_owned()))
        }
    }
}

/// What of a list stays: the entries of the given ids, or with `delete_all` none. An empty list asks for nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept(Vec<String>);

impl Kept {
    /// The ids.
    pub fn into_texts(self) -> Vec<String> {
        self.0
    }
}

impl Argument for Kept {
    const TYPE: &'static str = "list<int|string>|string";
    const EXPECTED: &'static str = "a list of ids, or delete_all";

    fn from_value(value: Value) -> Option<Self> {
        if value.as_bytes() == Some(b"delete_all") {
            return Some(Self(Vec::new()));
        }
        Texts::from_value(value).map(|Texts(ids)| Self(ids))
    }

    fn is_absent(value: &Value) -> bool {
        is_absent(value)
            || value.as_bytes() == Some(b"[]")
            || matches!(value, Value::List(_) | Value::Map(_)) && !value.is_truthy()
    }
}

/// Who gets something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recipients {
    /// Every visitor, lead and user. Only the word says it.
    All,
    /// These users.
    Users(Vec<UserId>),
}

impl Argument for Recipients {
    const TYPE: &'static str = "list<int|string>|string";
    const EXPECTED: &'static str = "a list of ids, ids between commas, or all";

    fn from_value(value: Value) -> Option<Self> {
        match &value {
            Value::Bytes(text) if text.trim_ascii() == b"all" => Some(Self::All),
            _ => Several::from_value(value).map(|Several(ids)| Self::Users(ids)),
        }
    }
}

/// Whose details are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum People {
    /// Everyone's.
    All,
    /// Agents' and admins'.
    Agents,
    /// Those of these users.
    Users(Vec<UserId>),
}

impl Argument for People {
    const TYPE: &'static str = "list<int|string>|string|false";
    const EXPECTED: &'static str = "a list of ids, all or agents";

    fn from_value(value: Value) -> Option<Self> {
        match &value {
            value if is_absent(value) || value.as_bytes() == Some(b"all") => Some(Self::All),
            Value::Bytes(text) if text == b"agents" => Some(Self::Agents),
            _ => Several::from_value(value).map(|Several(ids)| Self::Users(ids)),
        }
    }
}

/// Which extra details a list of users carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extra {
    /// None.
    None,
    /// All of them.
    All,
    /// Those of these slugs.
    Slugs(Vec<String>),
}

impl Argument for Extra {
    const TYPE: &'static str = "bool|list<string>|string";
    const EXPECTED: &'static str = "true or a list of slugs";

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Bool(true) | Value::Int(1) => Some(Self::All),
            Value::Bytes(text) if text.eq_ignore_ascii_case(b"true") || text == b"1" => Some(Self::All),
            value => Texts::from_value(value).map(|Texts(slugs)| {
                if slugs.is_empty() {
                    Self::None
                } else {
                    Self::Slugs(slugs)
                }
            }),
        }
    }
}

/// The order of a list of users. An unknown column or order is the default one: newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sorting {
    /// The column to sort by.
    pub column: UserColumn,
    /// Whether the smallest comes first.
    pub ascending: bool,
}

impl Argument for Sorting {
    const TYPE: &'static str = "array{string, string}|string";
    const EXPECTED: &'static str = "a pair of a column and ASC or DESC";

    fn from_value(value: Value) -> Option<Self> {
        let mut pair = match value {
            Value::Bytes(text) if !text.trim_ascii_start().starts_with(b"[") => vec![Value::Bytes(text)],
            value => Items::from_value(value)?.0,
        }
        .into_iter();
        let mut text = || pair.next().map_or(Some(String::new()), String::from_value);
        let (column, order) = (text()?, text()?);
        Some(Self {
            column: column.parse().unwrap_or(UserColumn::CreationTime),
            ascending: order.eq_ignore_ascii_case("asc"),
        })
    }
}

/// A page of a list, from 1; less is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page(pub u32);

impl Page {
    /// How many records a page holds.
    pub const SIZE: u32 = 100;

    /// How many records stand before it.
    pub const fn offset(self) -> u32 {
        (self.0 - 1) * Self::SIZE
    }
}

impl Argument for Page {
    const TYPE: &'static str = "int|string";
    const EXPECTED: &'static str = "a page number from 1";

    fn from_value(value: Value) -> Option<Self> {
        // Beyond what any list has, so that the offset is a number of the database.
        const LAST: i64 = 10_000_000;
        i64::from_value(value)
            .and_then(|page| u32::try_from(page.clamp(1, LAST)).ok())
            .map(Self)
    }
}

/// The status that a caller asks for. 0 is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusCode {
    /// Nothing asked for.
    NotGiven,
    /// The word `skip`: leave it as it is.
    Skip,
    /// This one.
    Code(ConversationStatus),
    /// A code that does not exist.
    Invalid,
}

impl Argument for StatusCode {
    const TYPE: &'static str = "int|string|false";
    const EXPECTED: &'static str = "a status code from 0 to 4";

    fn from_value(value: Value) -> Option<Self> {
        if is_absent(&value) {
            return Some(Self::NotGiven);
        }
        if value.as_bytes() == Some(b"skip") {
            return Some(Self::Skip);
        }
        match value {
            Value::List(_) | Value::Map(_) => None,
            value => Some(
                i64::from_value(value)
                    .and_then(|code| code.try_into().ok())
                    .map_or(Self::Invalid, Self::Code),
            ),
        }
    }
}

/// A department, where -1 and 0 stand for "none".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Department(Option<i64>);

impl Department {
    /// The department as its column holds it.
    pub fn fitting(self) -> Result<Option<u8>> {
        let fits = |number| u8::try_from(number).ok().filter(|number| (1..=127).contains(number));
        self.0
            .map(|number| fits(number).ok_or_else(|| Error::too_long("department", "1 to 127")))
            .transpose()
    }
}

impl Argument for Department {
    const TYPE: &'static str = "int|string";
    const EXPECTED: &'static str = "a department id from 1 to 127, or -1";

    fn from_value(value: Value) -> Option<Self> {
        if is_absent(&value) {
            return Some(Self(None));
        }
        let number = i64::from_value(value)?;
        Some(Self((number != -1 && number != 0).then_some(number)))
    }
}

/// What is sent to an address: fields, or a text as it is.
#[derive(Debug, Clone, PartialEq)]
pub enum Fields {
    /// Nothing.
    None,
    /// Fields by their names.
    Map(Map),
    /// A text: JSON, or whatever it is.
    Text(Vec<u8>),
}

impl Argument for Fields {
    const TYPE: &'static str = "array<array-key, mixed>|string";
    const EXPECTED: &'static str = "an array of fields or a text";

    fn from_value(value: Value) -> Option<Self> {
        match value {
            value if is_absent(&value) => Some(Self::None),
            value @ (Value::List(_) | Value::Map(_) | Value::Record(_) | Value::Records(_)) => {
                Map::from_value(value).map(|map| if map.is_empty() { Self::None } else { Self::Map(map) })
            }
            value => Bytes::from_value(value).map(|Bytes(text)| Self::Text(text)),
        }
    }
}

/// Lines of a header: a list of `Name: value`, one such line, or a map of names to values.
pub struct HeaderLines(pub Vec<(String, String)>);

impl Argument for HeaderLines {
    const TYPE: &'static str = "array<array-key, string>|string";
    const EXPECTED: &'static str = "a list of lines, each a name, a colon and a value";

    fn from_value(value: Value) -> Option<Self> {
        let lines = match value {
            Value::Bytes(line) if json::decode(&line).is_none() && !is_absent(&Value::Bytes(line.clone())) => {
                Map::from_iter([(Key::Int(0), Value::Bytes(line))])
            }
            value => Map::from_value(value)?,
        };
        let line = |(name, value): (Key, Value)| {
            let value = String::from_value(value)?;
            let (name, value) = match &name {
                Key::Int(_) => value.split_once(':')?,
                Key::Text(_) => (&*name.to_text(), &*value),
            };
            Some((name.trim().to_owned(), value.trim().to_owned()))
        };
        lines.into_iter().map(line).collect::<Option<_>>().map(Self)
    }
}

/// How the extension of a downloaded file is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaType {
    /// It is that of the name.
    OfName,
    /// By what came.
    Detect,
    /// By this media type: `image/png`.
    Given(String),
}

impl Argument for MediaType {
    const TYPE: &'static str = "bool|string";
    const EXPECTED: &'static str = "true or a media type";

    fn from_value(value: Value) -> Option<Self> {
        match value {
            value if is_absent(&value) => Some(Self::OfName),
            Value::Bool(true) | Value::Int(1) => Some(Self::Detect),
            Value::Bytes(text) if text.eq_ignore_ascii_case(b"true") || text == b"1" => Some(Self::Detect),
            value => String::from_value(value).map(Self::Given),
        }
    }
}

/// The point after which records count as new: a record id, or a time in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// After this record.
    Id(u32),
    /// After this time.
    Time(NaiveDateTime),
}

impl Argument for Since {
    const TYPE: &'static str = "int|string";
    const EXPECTED: &'static str = "an id or a time YYYY-MM-DD HH:MM:SS";

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Int(number) => Some(Self::id(number)),
            Value::Bytes(text) => {
                let text = std::str::from_utf8(&text).ok()?.trim();
                if text.is_empty() {
                    return Some(Self::Id(0));
                }
                text.parse().ok().map(Self::id).or_else(|| time(text).map(Self::Time))
            }
            value if is_absent(&value) => Some(Self::Id(0)),
            _ => None,
        }
    }
}

impl Since {
    /// After a record. Below all ids everything is new, beyond them nothing.
    fn id(number: i64) -> Self {
        Self::Id(u32::try_from(number.max(0)).unwrap_or(u32::MAX))
    }
}

/// Reads `YYYY-MM-DD`, `YYYY-MM-DD HH:MM` and `YYYY-MM-DD HH:MM:SS`, also with a `T` between and a `Z` after. Fractions of
/// a second are left off. By hand: every poll brings one, and reading the form first takes longer than the rest of a call.
pub fn time(text: &str) -> Option<NaiveDateTime> {
    // What nearly all of them are.
    if let [
        y1,
        y2,
        y3,
        y4,
        b'-',
        m1,
        m2,
        b'-',
        d1,
        d2,
        b' ',
        h1,
        h2,
        b':',
        i1,
        i2,
        b':',
        s1,
        s2,
    ] = text.as_bytes()
    {
        let pair = |tens: &u8, ones: &u8| Some(digit(*tens)? * 10 + digit(*ones)?);
        let year = i32::try_from(pair(y1, y2)? * 100 + pair(y3, y4)?).ok()?;
        let date = NaiveDate::from_ymd_opt(year, pair(m1, m2)?, pair(d1, d2)?)?;
        return date.and_hms_opt(pair(h1, h2)?, pair(i1, i2)?, pair(s1, s2)?);
    }
    let text = text.trim().trim_end_matches('Z');
    let (date, clock) = text.split_once([' ', 'T']).unwrap_or((text, "0:0"));
    let mut date = date.splitn(3, '-');
    let year = i32::try_from(number(date.next()?)?).ok()?;
    let date = NaiveDate::from_ymd_opt(year, number(date.next()?)?, number(date.next()?)?)?;
    let mut clock = clock.splitn(3, ':');
    let (hour, minute) = (number(clock.next()?)?, number(clock.next()?)?);
    let second = clock.next().unwrap_or("0");
    let (second, fraction) = second.split_once('.').unwrap_or((second, ""));
    let is_number = fraction.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| date.and_hms_opt(hour, minute, number(second)?))?
}

fn digit(byte: u8) -> Option<u32> {
    char::from(byte).to_digit(10)
}

/// Digits, and nothing else.
fn number(digits: &str) -> Option<u32> {
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

/// Extra details of a user: slug → `[value, Name]`, or slug → value; then the name is the slug in title case.
pub struct Details(pub Vec<Detail>);

/// One extra detail as a caller gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    /// Its slug: `phone`.
    pub slug: String,
    /// Its name for people: `Phone`.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl Argument for Details {
    const TYPE: &'static str = "array<string, array{string, string}|string>|string";
    const EXPECTED: &'static str = "a map of slug to [value, Name]";

    fn from_value(value: Value) -> Option<Self> {
        let mut details = Vec::new();
        for (key, value) in Map::from_value(value)? {
            let slug = key.to_text().into_owned();
            let (value, name) = match value {
                Value::List(items) => {
                    let mut items = items.into_iter();
                    (items.next().unwrap_or_default(), items.next())
                }
                value => (value, None),
            };
            let name = name.and_then(String::from_value).filter(|name| !name.is_empty());
            details.push(Detail {
                value: String::from_value(value)?,
                name: name.unwrap_or_else(|| title_case(&slug)),
                slug,
            });
        }
        Some(Self(details))
    }
}

/// `time_zone` → `Time Zone`.
pub fn title_case(slug: &str) -> String {
    let words = slug.split(['_', '-', ' ']).filter(|word| !word.is_empty()).map(|word| {
        let mut letters = word.chars();
        letters
            .next()
            .map(|first| first.to_uppercase().chain(letters).collect::<String>())
            .unwrap_or_default()
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A typed field of a settings map; `None` when the key is missing or holds "not given".
pub fn field<T: Argument>(map: &mut Map, name: &'static str) -> Result<Option<T>> {
    typed(
        map.shift_remove(&Key::from(name)).filter(|value| !T::is_absent(value)),
        name,
    )
}

/// As [`field`], where an empty text is a value: the wish to have it empty.
pub fn given<T: Argument>(map: &mut Map, name: &'static str) -> Result<Option<T>> {
    let value = map.shift_remove(&Key::from(name));
    typed(
        value.filter(|value| !matches!(value, Value::Null | Value::Bool(false))),
        name,
    )
}

fn typed<T: Argument>(value: Option<Value>, name: &'static str) -> Result<Option<T>> {
    value
        .map(|value| {
            T::from_value(value).ok_or(Error::Argument {
                name,
                expected: T::EXPECTED,
            })
        })
        .transpose()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::contract::ids::UserId;

    fn absent() -> [Value; 5] {
        [Value::Null, false.into(), "".into(), "false".into(), "FALSE".into()]
    }

    fn taken<T: Argument>(value: Value, default: Option<fn() -> Value>) -> Result<T> {
        Arguments::of_values([value]).take("argument", default)
    }

    #[test]
    fn whatever_stands_for_not_given_is_the_default() {
        for value in absent() {
            assert_eq!(
                taken::<i64>(value.clone(), Some(|| Value::Int(5))).unwrap(),
                5,
                "{value:?}"
            );
            assert_eq!(
                taken::<Option<UserId>>(value.clone(), Some(|| Value::Bool(false))).unwrap(),
                None,
                "{value:?}"
            );
            assert_eq!(
                taken::<StatusCode>(value.clone(), Some(|| Value::Bool(false))).unwrap(),
                StatusCode::NotGiven,
                "{value:?}"
            );
            assert!(
                taken::<Map>(value.clone(), Some(|| Value::List(vec![])))
                    .unwrap()
                    .is_empty(),
                "{value:?}"
            );
        }
    }

    #[test]
    fn false_is_a_value_where_it_is_meant() {
        for value in [false.into(), "false".into(), "".into(), Value::Int(0), "0".into()] {
            assert!(!taken::<bool>(value, Some(|| Value::Bool(true))).unwrap());
        }
        assert!(taken::<bool>(Value::Null, Some(|| Value::Bool(true))).unwrap());
        for value in [true.into(), "true".into(), Value::Int(1), "1".into()] {
            assert!(taken::<bool>(value, Some(|| Value::Bool(false))).unwrap());
        }
    }

    #[test]
    fn the_word_false_is_text_where_text_is_meant() {
        assert_eq!(taken::<String>("false".into(), Some(|| "".into())).unwrap(), "false");
        assert_eq!(taken::<String>(false.into(), Some(|| "".into())).unwrap(), "");
        assert_eq!(taken::<String>(true.into(), None).unwrap(), "1");
    }

    #[test]
    fn zero_is_a_status() {
        for value in [Value::Int(0), "0".into(), Value::Float(0.0)] {
            assert_eq!(
                taken::<StatusCode>(value, None).unwrap(),
                StatusCode::Code(ConversationStatus::Live)
            );
        }
        for value in [Value::Int(5), "x".into(), Value::Int(-1), Value::Float(1.5)] {
            assert_eq!(taken::<StatusCode>(value, None).unwrap(), StatusCode::Invalid);
        }
        assert_eq!(taken::<StatusCode>("skip".into(), None).unwrap(), StatusCode::Skip);
    }

    #[test]
    fn a_structure_may_come_as_json_text() {
        let Items(items) = taken::<Items>("[1,\"a\"]".into(), None).unwrap();
        assert_eq!(items, [Value::Int(1), Value::from("a")]);
        assert_eq!(
            taken::<Map>(r#"{"a":1}"#.into(), None).unwrap(),
            Map::from_iter([(Key::from("a"), Value::Int(1))])
        );
        for text in ["{", "1", "\"a\"", "null", "abc"] {
            assert!(taken::<Map>(text.into(), None).is_err(), "{text}");
            assert!(taken::<Items>(text.into(), None).is_err(), "{text}");
        }
    }

    #[test]
    fn a_missing_or_wrong_argument_is_named() {
        assert_eq!(
            Arguments::new(vec![]).take::<String>("search", None).unwrap_err(),
            Error::Missing { name: "search" }
        );
        let error = taken::<String>(Value::List(vec![]), None).unwrap_err();
        assert_eq!(error.to_string(), "argument $argument must be a text");
    }

    #[test]
    fn a_detail_may_be_a_pair_or_a_plain_text() {
        let Details(details) = taken::<Details>(
            r#"{"phone":["+1 2","Telephone"],"time_zone":"UTC","code":5}"#.into(),
            None,
        )
        .unwrap();
        let shown: Vec<_> = details
            .iter()
            .map(|detail| (detail.slug.as_str(), detail.name.as_str(), detail.value.as_str()))
            .collect();
        assert_eq!(
            shown,
            [
                ("phone", "Telephone", "+1 2"),
                ("time_zone", "Time Zone", "UTC"),
                ("code", "Code", "5")
            ]
        );
        assert!(taken::<Details>(r#"{"phone":{"a":1}}"#.into(), None).is_err());
    }

    #[test]
    fn a_point_in_time_is_an_id_or_a_date() {
        let noon = NaiveDate::from_ymd_opt(2026, 11, 20)
            .unwrap()
            .and_hms_opt(12, 0, 0)
            .unwrap();
        for text in ["2026-11-20 12:00:00", "2026-11-20T12:00:00Z", "2026-11-20 12:00"] {
            assert_eq!(taken::<Since>(text.into(), None).unwrap(), Since::Time(noon), "{text}");
        }
        assert_eq!(
            taken::<Since>("2026-11-20".into(), None).unwrap(),
            Since::Time(noon.date().into())
        );
        for value in [Value::Int(12), "12".into()] {
            assert_eq!(taken::<Since>(value, None).unwrap(), Since::Id(12));
        }
        for text in ["yesterday", "2026-13-01", "2026-11-20 25:00:00", "1; DROP"] {
            assert!(taken::<Since>(text.into(), None).is_err(), "{text}");
        }
    }

    #[test]
    fn ids_come_as_a_list_or_between_commas() {
        let ids = |value: Value| {
            taken::<Several<UserId>>(value, None)
                .map(|Several(ids)| ids.iter().map(|id| id.number()).collect::<Vec<_>>())
        };
        for value in ["3,1", " 3, 1,", "[3,\"1\"]", "3,,1,-1"] {
            assert_eq!(ids(value.into()).unwrap(), [3, 1], "{value}");
        }
        assert_eq!(ids(Value::Int(7)).unwrap(), [7]);
        assert_eq!(ids(Value::List(vec![])).unwrap(), [0; 0]);
        for value in ["1,2);DROP", "-1 UNION SELECT 1,2,3", "3,abc", "3,0", "[3,\"x\"]"] {
            assert!(ids(value.into()).is_err(), "{value}");
        }
        assert!(ids(Value::List(vec![Value::List(vec![])])).is_err());
    }

    #[test]
    fn one_text_is_told_from_a_list_of_one() {
        let read = |value: Value| taken::<OneOrSeveral>(value, None).unwrap();
        let several = |texts: &[&str]| OneOrSeveral::Several(texts.iter().map(|&text| text.to_owned()).collect());
        for value in [Value::Int(7), "7".into(), " 7 ".into()] {
            assert_eq!(read(value), OneOrSeveral::One("7".into()));
        }
        for value in [Value::List(vec![Value::Int(7)]), "7,".into(), "[7]".into()] {
            assert_eq!(read(value), several(&["7"]));
        }
        assert_eq!(read("a, 8".into()), several(&["a", "8"]));
        assert!(taken::<OneOrSeveral>(Value::List(vec![Value::List(vec![])]), None).is_err());
    }

    #[test]
    fn an_empty_list_keeps_all_and_delete_all_nothing() {
        let kept = |value: Value| taken::<Option<Kept>>(value, None).unwrap().map(Kept::into_texts);
        for value in [
            Value::List(vec![]),
            "[]".into(),
            "".into(),
            false.into(),
            Map::new().into(),
        ] {
            assert_eq!(kept(value), None);
        }
        assert_eq!(kept("delete_all".into()), Some(vec![]));
        assert_eq!(kept("a,b".into()), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(kept(Value::List(vec![Value::Int(1)])), Some(vec!["1".to_owned()]));
    }

    #[test]
    fn sorting_knows_its_columns_only() {
        let sorting = |value: Value| taken::<Sorting>(value, None).unwrap();
        let pair = |column: &str, order: &str| Value::List(vec![column.into(), order.into()]);
        assert_eq!(
            sorting(pair("email", "asc")),
            Sorting {
                column: UserColumn::Email,
                ascending: true
            }
        );
        assert_eq!(
            sorting("last_activity".into()),
            Sorting {
                column: UserColumn::LastActivity,
                ascending: false
            }
        );
        for value in [
            pair("id; DROP TABLE sb_users", "ASC'"),
            pair("", ""),
            Value::List(vec![]),
        ] {
            assert_eq!(
                sorting(value),
                Sorting {
                    column: UserColumn::CreationTime,
                    ascending: false
                }
            );
        }
    }

    #[test]
    fn a_page_is_at_least_the_first() {
        let page = |value: Value| taken::<Page>(value, None).unwrap().offset();
        assert_eq!(
            [
                page(Value::Int(1)),
                page(Value::Int(0)),
                page(Value::Int(-5)),
                page("3".into())
            ],
            [0, 0, 0, 200]
        );
        assert_eq!(page(Value::Int(i64::MAX)), 999_999_900);
    }

    #[test]
    fn a_department_is_a_small_number_or_none() {
        let fitting = |value: Value| taken::<Department>(value, None).unwrap().fitting();
        for value in [
            Value::Int(-1),
            "-1".into(),
            "".into(),
            false.into(),
            Value::Null,
            Value::Int(0),
        ] {
            assert_eq!(fitting(value), Ok(None));
        }
        assert_eq!(fitting("127".into()), Ok(Some(127)));
        for value in [Value::Int(128), Value::Int(-2)] {
            assert_eq!(fitting(value).unwrap_err().code(), "too-long");
        }
        assert!(taken::<Department>("x".into(), None).is_err());
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::Int),
            any::<f64>().prop_map(Value::Float),
            any::<Vec<u8>>().prop_map(Value::Bytes),
            "[0-9 +.e-]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
                prop::collection::vec((any::<i64>(), inner), 0..4).prop_map(|entries| Value::Map(
                    entries.into_iter().map(|(key, value)| (Key::Int(key), value)).collect()
                )),
            ]
        })
    }

    proptest! {
        /// No value, however odd, makes an argument type panic; a text is read as the text it is.
        #[test]
        fn any_value_is_read_or_refused(value in any_value()) {
            let _ = taken::<i64>(value.clone(), None);
            let _ = taken::<bool>(value.clone(), None);
            let _ = taken::<Map>(value.clone(), None);
            let _ = taken::<Items>(value.clone(), None);
            let _ = taken::<Details>(value.clone(), None);
            let _ = taken::<Since>(value.clone(), None);
            let _ = taken::<Department>(value.clone(), None);
            let _ = taken::<StatusCode>(value.clone(), None);
            let _ = taken::<Option<UserId>>(value.clone(), None);
            let text = taken::<String>(value.clone(), None);
            if let Value::Bytes(bytes) = &value {
                prop_assert_eq!(text.unwrap(), String::from_utf8_lossy(bytes).into_owned());
            }
        }

        /// Every number is the same in each of its forms.
        #[test]
        fn a_number_and_its_text_mean_the_same(number in 1..=i64::from(i32::MAX)) {
            let id = taken::<UserId>(Value::Int(number), None).unwrap();
            prop_assert_eq!(i64::from(id.number()), number);
            prop_assert_eq!(taken::<UserId>(number.to_string().into(), None).unwrap(), id);
            #[allow(clippy::cast_precision_loss)]
            let float = Value::Float(number as f64);
            prop_assert_eq!(taken::<UserId>(float, None).unwrap(), id);
            prop_assert_eq!(taken::<i64>(number.to_string().into(), None).unwrap(), number);
        }
    }
}
