//! The neutral value that crosses every door: what a caller passes and what a function answers.
//!
//! It follows PHP where PHP is stricter than JSON: strings are bytes, maps keep their order and have
//! integer or string keys. It must not know any door.

use std::borrow::Cow;
use std::sync::Arc;

pub use super::map::Map;

/// An argument or a result.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// Nothing.
    #[default]
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// A text, which need not be UTF-8.
    Bytes(Vec<u8>),
    /// A list: keys 0, 1, 2 …
    List(Vec<Value>),
    /// A map in the order of its insertion.
    Map(Map),
    /// One database record.
    Record(Records),
    /// A list of records with the same columns.
    Records(Records),
    /// An error object (`SBError`, `SBValidationError`).
    Error(Box<Failure>),
    /// A file that the embedding program vouches for: PHP's `CURLFile`.
    File(Box<HostFile>),
}

/// A file that only the embedding program can name: no text and no array becomes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFile {
    /// Where it lies.
    pub path: String,
    /// What it holds; empty when that is not said.
    pub media_type: String,
    /// How it is called where it is sent to; empty for its own name.
    pub name: String,
}

/// The value under a name.
pub fn at<'a>(map: &'a Map, name: &'static str) -> Option<&'a Value> {
    map.get(&Key::from(name))
}

/// A key of a [`Map`]. Decimal integers in text form are integers, as in a PHP array.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
    /// An integer key.
    Int(i64),
    /// A text key.
    Text(Cow<'static, [u8]>),
}

/// Records that share their column names. Cells lie row after row.
#[derive(Debug, Clone, PartialEq)]
pub struct Records(Box<Table>);

#[derive(Debug, Clone, PartialEq)]
struct Table {
    columns: Columns,
    cells: Vec<Value>,
}

/// The column names of [`Records`].
#[derive(Debug, Clone)]
pub enum Columns {
    /// Names known when the library is built.
    Static(&'static [&'static str]),
    /// Names that came with a caller's statement.
    Owned(Arc<[Key]>),
}

/// What an error object carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Whether it is an `SBError` or an `SBValidationError`.
    pub class: FailureClass,
    /// A stable code such as `security-error`.
    pub code: String,
    /// The public function that failed.
    pub function: String,
    /// A sentence for people.
    pub message: String,
}

/// The class of an error object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureClass {
    /// `SBError`.
    Error,
    /// `SBValidationError`.
    Validation,
}

impl Value {
    /// A map of the given entries.
    pub fn map<K: Into<Key>>(entries: impl IntoIterator<Item = (K, Value)>) -> Self {
        Self::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// Whether PHP would call it true.
    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(truth) => *truth,
            Self::Int(number) => *number != 0,
            Self::Float(number) => *number != 0.0,
            Self::Bytes(text) => !text.is_empty() && text != b"0",
            Self::List(items) => !items.is_empty(),
            Self::Map(map) => !map.is_empty(),
            Self::Records(records) => !records.is_empty(),
            Self::Record(_) | Self::Error(_) | Self::File(_) => true,
        }
    }

    /// The text, when it is one.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(text) => Some(text),
            _ => None,
        }
    }

    /// The text, when it is one and UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        self.as_bytes().and_then(|text| std::str::from_utf8(text).ok())
    }

    /// A record of these columns: what has the same keys every time takes less to make than a map.
    pub fn record(columns: &'static [&'static str], cells: impl IntoIterator<Item = Self>) -> Self {
        let mut records = Records::with_capacity(Columns::Static(columns), 1);
        records.push(cells);
        Self::Record(records)
    }

    /// The value under `key` of a list, map or record.
    pub fn get(&self, key: &Key) -> Option<&Self> {
        match (self, key) {
            (Self::Map(map), key) => map.get(key),
            (Self::List(items), Key::Int(index)) => items.get(usize::try_from(*index).ok()?),
            (Self::Record(record), key) => record.row(0).find(|(name, _)| name == key).map(|(_, cell)| cell),
            _ => None,
        }
    }
}

impl Key {
    /// The key as text: integers in decimal form.
    pub fn to_text(&self) -> Cow<'_, str> {
        match self {
            Self::Int(number) => Cow::Owned(number.to_string()),
            Self::Text(text) => String::from_utf8_lossy(text),
        }
    }

    /// Reads bytes as PHP does an array key: `"12"` is 12; `"012"`, `"-0"` and `"1.5"` are text.
    fn integer(text: &[u8]) -> Option<i64> {
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        let canonical = match digits {
            [b'0'] => text.len() == 1,
            [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
            _ => false,
        };
        // PHP keeps the text of the smallest integer as text.
        let number = std::str::from_utf8(text)
            .ok()?
            .parse()
            .ok()
            .filter(|number| *number != i64::MIN);
        if canonical { number } else { None }
    }
}

impl From<&'static str> for Key {
    fn from(text: &'static str) -> Self {
        Self::integer(text.as_bytes()).map_or(Self::Text(Cow::Borrowed(text.as_bytes())), Self::Int)
    }
}

impl From<Vec<u8>> for Key {
    fn from(text: Vec<u8>) -> Self {
        Self::integer(&text).map_or(Self::Text(Cow::Owned(text)), Self::Int)
    }
}

impl From<String> for Key {
    fn from(text: String) -> Self {
        Self::from(text.into_bytes())
    }
}

impl From<i64> for Key {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl Columns {
    /// How many columns there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Static(names) => names.len(),
            Self::Owned(names) => names.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = Key> + '_ {
        (0..self.len()).filter_map(|index| match self {
            Self::Static(names) => names.get(index).map(|name| Key::from(*name)),
            Self::Owned(names) => names.get(index).cloned(),
        })
    }
}

impl PartialEq for Columns {
    fn eq(&self, other: &Self) -> bool {
        self.names().eq(other.names())
    }
}

impl Records {
    /// No records yet, of the given columns.
    pub fn new(columns: Columns) -> Self {
        Self::with_capacity(columns, 0)
    }

    /// The same, with room for so many.
    pub fn with_capacity(columns: Columns, length: usize) -> Self {
        let cells = Vec::with_capacity(length * columns.len());
        Self(Box::new(Table { columns, cells }))
    }

    /// Adds a record; cells that are missing are null, cells too many are dropped.
    pub fn push(&mut self, cells: impl IntoIterator<Item = Value>) {
        let end = self.0.cells.len() + self.0.columns.len();
        self.0.cells.extend(cells.into_iter().take(self.0.columns.len()));
        self.0.cells.resize(end, Value::Null);
    }

    /// Keeps the first records.
    pub fn truncate(&mut self, length: usize) {
        self.0.cells.truncate(length * self.0.columns.len());
    }

    /// The column names.
    pub fn columns(&self) -> &Columns {
        &self.0.columns
    }

    /// All cells, row after row.
    pub fn cells(&self) -> &[Value] {
        &self.0.cells
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.0.cells.len().checked_div(self.0.columns.len()).unwrap_or(0)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.cells.is_empty()
    }

    /// Names and cells of record `index`; empty when there is none.
    pub fn row(&self, index: usize) -> impl Iterator<Item = (Key, &Value)> {
        let width = self.0.columns.len();
        self.0
            .columns
            .names()
            .zip(self.0.cells.iter().skip(index * width).take(width))
    }

    /// The cells of each record, to be changed in place.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = &mut [Value]> {
        self.0.cells.chunks_exact_mut(self.0.columns.len().max(1))
    }

    /// The records, each as names and cells.
    pub fn rows(&self) -> impl Iterator<Item = Map> + '_ {
        (0..self.len()).map(|index| self.row(index).map(|(name, cell)| (name, cell.clone())).collect())
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Bytes(text.as_bytes().to_vec())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Bytes(text.into_bytes())
    }
}

impl From<Vec<u8>> for Value {
    fn from(text: Vec<u8>) -> Self {
        Self::Bytes(text)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::List(items)
    }
}

/// For the defaults of list arguments in a `functions!` block.
impl<const N: usize> From<[&'static str; N]> for Value {
    fn from(items: [&'static str; N]) -> Self {
        Self::List(items.into_iter().map(Self::from).collect())
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Self::Map(map)
    }
}

impl From<Records> for Value {
    fn from(records: Records) -> Self {
        Self::Records(records)
    }
}

/// "Not found" is false.
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Bool(false), Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_integers_exactly_where_a_php_array_makes_them_so() {
        for (text, key) in [
            ("12", Key::Int(12)),
            ("0", Key::Int(0)),
            ("-5", Key::Int(-5)),
            ("9223372036854775807", Key::Int(i64::MAX)),
        ] {
            assert_eq!(Key::from(text), key, "{text}");
        }
        for text in [
            "012",
            "-0",
            "1.5",
            "",
            " 1",
            "+1",
            "9223372036854775808",
            "-9223372036854775808",
            "--1",
            "a",
        ] {
            assert_eq!(Key::from(text), Key::Text(Cow::Borrowed(text.as_bytes())), "{text}");
        }
    }

    #[test]
    fn records_keep_their_width() {
        let mut records = Records::new(Columns::Static(&["id", "name"]));
        records.push([Value::from(1)]);
        records.push([Value::from(2), Value::from("b"), Value::from("too many")]);
        assert_eq!(records.len(), 2);
        assert_eq!(
            records.row(0).map(|(_, cell)| cell.clone()).collect::<Vec<_>>(),
            [Value::from(1), Value::Null]
        );
        assert_eq!(records.row(2).count(), 0);
    }
}
