//! Statements that are put together: of parts that stand in the source, and of bound values.

use std::borrow::Cow;

use super::Param;

/// The text of a statement. It is made of parts that stand in the source, so that no value can get into it.
#[derive(Debug, Clone)]
pub struct Sql(Cow<'static, str>);

impl Sql {
    /// A statement that is made from the reference of the schema.
    pub(super) fn of_schema(text: &str) -> Self {
        Self(Cow::Owned(text.to_owned()))
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

impl From<&'static str> for Sql {
    fn from(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl From<Sql> for Cow<'static, str> {
    fn from(sql: Sql) -> Self {
        sql.0
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
        (Sql(Cow::Owned(self.text)), self.params)
    }
}

/// A text to look for by `LIKE`, anywhere in a column: its own `%`, `_` and `\` are literal.
pub fn containing(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
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
    }
}
