//! Statements that are put together: of parts that stand in the source, and of bound values.

use std::borrow::Cow;

use super::{Param, fault};
use crate::contract::error::Error;

/// The text of a statement. It is made of parts that stand in the source, so that no value can get into it.
#[derive(Debug, Clone)]
pub struct Sql {
    text: Cow<'static, str>,
    /// Whether it is about the tables of another program.
    foreign: bool,
}

impl Sql {
    /// A statement that is made from the reference of the schema.
    pub(super) fn of_schema(text: &str) -> Self {
        Self {
            text: Cow::Owned(text.to_owned()),
            foreign: false,
        }
    }

    /// A statement about the tables of another program.
    pub(super) fn foreign(text: String) -> Self {
        Self {
            text: Cow::Owned(text),
            foreign: true,
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Its failure for people: says what helps when a table or column is missing.
    pub(super) fn explained(&self, error: Error) -> Error {
        if self.foreign {
            fault::name_the_tables(error)
        } else {
            fault::name_the_upgrade(error)
        }
    }
}

impl From<&'static str> for Sql {
    fn from(text: &'static str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            foreign: false,
        }
    }
}

impl From<Sql> for Cow<'static, str> {
    fn from(sql: Sql) -> Self {
        sql.text
    }
}

/// A statement that is put together part by part.
pub struct Builder {
    text: String,
    params: Vec<Param>,
}

impl Builder {
    /// Begins with a part.
    pub fn new(part: &'static str, params: Vec<Param>) -> Self {
        Self {
            text: part.to_owned(),
            params,
        }
    }

    /// Adds a part and its parameters.
    pub fn add(&mut self, part: &'static str, params: Vec<Param>) -> &mut Self {
        self.text.push_str(part);
        self.params.extend(params);
        self
    }

    /// Adds the parts of another statement and its parameters.
    pub fn append(&mut self, other: Self) -> &mut Self {
        self.text.push_str(&other.text);
        self.params.extend(other.params);
        self
    }

    /// Adds a list of values in brackets, for `IN`. An empty list holds NULL, which nothing equals.
    ///
    /// Its length is rounded up to a power of two, the last value repeated, so that lists of many lengths are few
    /// statements to prepare.
    pub fn list<T: Into<Param>>(&mut self, values: impl IntoIterator<Item = T>) -> &mut Self {
        let begin = self.params.len();
        self.params.extend(values.into_iter().map(Into::into));
        let last = self
            .params
            .get(begin..)
            .and_then(<[Param]>::last)
            .cloned()
            .unwrap_or_else(|| Param::from(None::<u32>));
        let length = (self.params.len() - begin).next_power_of_two();
        self.params.resize(begin + length, last);
        self.text.push('(');
        self.text.push_str(&vec!["?"; length].join(", "));
        self.text.push(')');
        self
    }

    /// Whether nothing was bound yet.
    pub fn has_no_params(&self) -> bool {
        self.params.is_empty()
    }

    /// The statement and its parameters.
    pub fn finish(self) -> (Sql, Vec<Param>) {
        let sql = Sql {
            text: Cow::Owned(self.text),
            foreign: false,
        };
        (sql, self.params)
    }
}

/// A text to look for by `LIKE`, anywhere in a column: its own `%`, `_` and `\` are literal.
pub fn containing(text: &str) -> String {
    format!("%{}", starting(text))
}

/// A text to look for by `LIKE` at the beginning of a column.
pub fn starting(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    for letter in text.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_rounded_up() {
        let built = |values: Vec<u32>| {
            let mut builder = Builder::new("IN ", vec![]);
            builder.list(values);
            let (sql, params) = builder.finish();
            (sql.text().to_owned(), params.len())
        };
        assert_eq!(built(vec![1, 2, 3]), ("IN (?, ?, ?, ?)".to_owned(), 4));
        assert_eq!(built(vec![1]), ("IN (?)".to_owned(), 1));
        assert_eq!(built(vec![]), ("IN (?)".to_owned(), 1));
    }

    #[test]
    fn what_like_would_read_is_literal() {
        assert_eq!(containing(r"50%_\a"), r"%50\%\_\\a%");
        assert_eq!(starting("a_"), r"a\_%");
    }
}
