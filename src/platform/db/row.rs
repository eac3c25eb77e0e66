//! Parameters into statements, cells out of them.

use chrono::{Datelike, NaiveDateTime, Timelike};
use mysql_async::Value as Cell;

use crate::contract::ids::{CmsId, ConversationId, MessageId, UserId};
use crate::contract::status::{ConversationStatus, UserType};
use crate::contract::value::{Columns, Records, Value};

/// One bound parameter.
#[derive(Debug, Clone)]
pub struct Param(pub(super) Cell);

impl Param {
    /// What it is, without its value.
    pub(super) fn kind(&self) -> String {
        match &self.0 {
            Cell::NULL => "null".to_owned(),
            Cell::Bytes(text) => format!("text of {} bytes", text.len()),
            Cell::Date(..) | Cell::Time(..) => "time".to_owned(),
            Cell::Int(_) | Cell::UInt(_) | Cell::Float(_) | Cell::Double(_) => "number".to_owned(),
        }
    }

    /// The parameter with a sign that no text holds in the place of each letter behind `last`.
    #[must_use]
    pub fn up_to(&self, last: char) -> Self {
        match &self.0 {
            Cell::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Self::from(text.replace(|letter| letter > last, "\u{1a}")),
                Err(_) => self.clone(),
            },
            _ => self.clone(),
        }
    }
}

macro_rules! param_from {
    ($($kind:ty)*) => { $(
        impl From<$kind> for Param {
            fn from(value: $kind) -> Self {
                Self(Cell::from(value))
            }
        }
    )* };
}

param_from! { u8 u32 u64 i64 f64 bool &str &[u8] String Vec<u8> }

impl From<NaiveDateTime> for Param {
    fn from(time: NaiveDateTime) -> Self {
        // Years and parts of a day fit; the driver's numbers are merely narrower than chrono's.
        let part = |number: u32| u8::try_from(number).unwrap_or_default();
        Self(Cell::Date(
            u16::try_from(time.year()).unwrap_or_default(),
            part(time.month()),
            part(time.day()),
            part(time.hour()),
            part(time.minute()),
            part(time.second()),
            0,
        ))
    }
}

impl From<&String> for Param {
    fn from(text: &String) -> Self {
        Self(Cell::from(text.as_str()))
    }
}

macro_rules! param_from_number {
    ($($kind:ty: $number:ident)*) => { $(
        impl From<$kind> for Param {
            fn from(value: $kind) -> Self {
                Self::from(value.$number())
            }
        }
    )* };
}

param_from_number! { UserId: number ConversationId: number MessageId: number CmsId: number ConversationStatus: code UserType: text }

impl<T: Into<Param>> From<Option<T>> for Param {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self(Cell::NULL), Into::into)
    }
}

/// The parameters of a statement, in order.
#[macro_export]
macro_rules! params {
    ($($value:expr),* $(,)?) => { vec![$($crate::platform::db::Param::from($value)),*] };
}

/// A cell as it leaves: everything that is not null is text, as MySQL's text protocol has it.
pub(super) fn text_of(cell: Cell) -> Value {
    match cell {
        Cell::NULL => Value::Null,
        Cell::Bytes(text) => Value::Bytes(text),
        Cell::Int(number) => Value::from(number.to_string()),
        Cell::UInt(number) => Value::from(number.to_string()),
        Cell::Float(number) => Value::from(number.to_string()),
        Cell::Double(number) => Value::from(number.to_string()),
        Cell::Date(year, month, day, hour, minute, second, _) => {
            Value::Bytes(date_text(year, month, day, hour, minute, second))
        }
        Cell::Time(negative, days, hours, minutes, seconds, _) => {
            let sign = if negative { "-" } else { "" };
            Value::from(format!(
                "{sign}{:02}:{minutes:02}:{seconds:02}",
                days * 24 + u32::from(hours)
            ))
        }
    }
}

/// `YYYY-MM-DD HH:MM:SS`, the zero date included. By hand: it stands in every record, `format!` takes five times as long.
fn date_text(year: u16, month: u8, day: u8, hour: u8, minute: u8, second: u8) -> Vec<u8> {
    let [y1, y2] = two_digits(u8::try_from(year / 100).unwrap_or(0));
    let [y3, y4] = two_digits(u8::try_from(year % 100).unwrap_or(0));
    let ([m1, m2], [d1, d2]) = (two_digits(month), two_digits(day));
    let ([h1, h2], [i1, i2], [s1, s2]) = (two_digits(hour), two_digits(minute), two_digits(second));
    [
        y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b' ', h1, h2, b':', i1, i2, b':', s1, s2,
    ]
    .to_vec()
}

fn two_digits(number: u8) -> [u8; 2] {
    [b'0' + number / 10 % 10, b'0' + number % 10]
}

/// The cells of a row as they leave.
pub(super) fn cells(row: mysql_async::Row) -> impl Iterator<Item = Value> {
    row.unwrap_raw()
        .into_iter()
        .map(|cell| cell.map_or(Value::Null, text_of))
}

/// Rows under the names that the contract gives them.
pub(super) fn records(rows: Vec<mysql_async::Row>, columns: &'static [&'static str]) -> Records {
    let mut records = Records::with_capacity(Columns::Static(columns), rows.len());
    for row in rows {
        records.push(cells(row));
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_read_as_the_text_protocol_writes_them() {
        for (cell, text) in [
            (Cell::Int(-5), "-5"),
            (Cell::UInt(5), "5"),
            (Cell::Date(2026, 11, 20, 9, 5, 7, 0), "2026-11-20 09:05:07"),
            (Cell::Date(0, 0, 0, 0, 0, 0, 0), "0000-00-00 00:00:00"),
            (Cell::Time(true, 1, 2, 3, 4, 0), "-26:03:04"),
        ] {
            assert_eq!(text_of(cell), Value::from(text));
        }
        assert_eq!(text_of(Cell::NULL), Value::Null);
    }
}
