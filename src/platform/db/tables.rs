//! The tables of another program: their names begin with a prefix of its own, and they may lie in another schema.

use super::sql::Sql;

/// The longest name of a schema or table.
const LIMIT: usize = 64;

/// Where the tables of another program are. A statement names them in braces, without prefix: `FROM {posts}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tables {
    /// What stands before each name in a statement, its opening quote included.
    before: String,
}

impl Tables {
    /// Tables with a prefix, in a schema or in that of the connection; `None` when either can be no name.
    pub fn new(schema: Option<&str>, prefix: &str) -> Option<Self> {
        let is_prefix = prefix.len() < LIMIT
            && prefix
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'$'));
        let is_schema = |name: &str| {
            !name.is_empty() && name.chars().count() <= LIMIT && !name.contains(['`', '\0']) && !name.ends_with(' ')
        };
        let before = match schema {
            None => "`".to_owned(),
            Some(name) if is_schema(name) => format!("`{name}`.`"),
            Some(_) => return None,
        };
        is_prefix.then(|| Self {
            before: before + prefix,
        })
    }

    /// The statement with the names of these tables in it.
    pub fn place(&self, sql: impl Into<Sql>) -> Sql {
        let sql = sql.into();
        let mut parts = sql.text().split('{');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('}').unwrap_or((part, ""));
            text.extend([&self.before, name, "`", rest]);
        }
        Sql::foreign(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_gets_the_names_of_the_tables() {
        let placed = |schema, prefix| {
            let tables = Tables::new(schema, prefix).unwrap();
            let sql = tables.place("SELECT a FROM {posts} p JOIN {term_taxonomy} USING (a) WHERE b = ?");
            sql.text().to_owned()
        };
        assert_eq!(
            placed(None, "wp_"),
            "SELECT a FROM `wp_posts` p JOIN `wp_term_taxonomy` USING (a) WHERE b = ?"
        );
        assert_eq!(
            placed(Some("the site's"), ""),
            "SELECT a FROM `the site's`.`posts` p JOIN `the site's`.`term_taxonomy` USING (a) WHERE b = ?"
        );
    }

    #[test]
    fn what_could_leave_its_quotes_is_no_name() {
        for prefix in ["wp`_", "wp_ ", "wp.", "wp_;", "é", &"x".repeat(64)] {
            assert_eq!(Tables::new(None, prefix), None, "{prefix}");
        }
        for schema in ["", "a`b", "a\0b", "a ", &"x".repeat(65)] {
            assert_eq!(Tables::new(Some(schema), "wp_"), None, "{schema}");
        }
        assert!(Tables::new(Some("größe"), "site-7_$").is_some());
    }
}
