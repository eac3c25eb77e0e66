//! Statements that callers write themselves (`sb_db_get`, `sb_db_query`), and what keeps them from harming the rest.

use mysql_async::{Row, Value as Cell};

use super::row::text_of;
use super::session::{Alteration, Session, Status, Written};
use super::{Database, fault};
use crate::contract::error::{Error, Result};
use crate::contract::value::{Columns, Key, Records};

/// What a caller's statement gave.
pub struct Answer {
    /// Its rows, every cell as text or null.
    pub rows: Records,
    /// What it changed.
    pub written: Written,
}

/// Statements after which the session is as before. Every other one may have changed it.
const HARMLESS: [&str; 12] = [
    "select", "insert", "update", "delete", "replace", "show", "describe", "desc", "explain", "with", "truncate",
    "values",
];

/// Parts of harmless statements that leave something behind: variables and named locks.
const TRACES: [&str; 2] = ["@", "get_lock"];

/// Character sets in which a byte of one letter may be a quote or backslash of ASCII: escaping could be broken out of.
const BREAKABLE: [&str; 8] = ["gbk", "gb18030", "gb2312", "big5", "sjis", "cp932", "ujis", "euckr"];

impl Database {
    /// Runs a caller's statement in the caller's session. A statement that only reads heals like the library's own;
    /// another is sent again only when it never arrived.
    pub async fn run(&self, sql: &[u8]) -> Result<Answer> {
        let text = String::from_utf8_lossy(sql).to_ascii_lowercase();
        let statement = Statement::read(&text);
        if statement.breaks_escaping {
            return Err(Error::Refused {
                code: "charset",
                message: "the connection speaks utf8mb4; this character set would break sb_db_escape".into(),
            });
        }
        let mut again = true;
        loop {
            match self
                .with_raw_session(async |session| run_once(session, sql, &statement).await)
                .await
            {
                Err(error) if again && statement.may_repeat(&error) => again = false,
                // Refused, and nothing done: another host may take it. A transaction that is open stays where it is.
                Err(error) if again && fault::is_read_only(&error) && self.has_other_hosts() && !self.is_altered() => {
                    again = false;
                    self.disconnect().await;
                }
                result => return result,
            }
        }
    }

    /// Whether the caller's statements have made something of the session that another connection would not have.
    fn is_altered(&self) -> bool {
        self.session
            .try_lock()
            .is_ok_and(|slot| slot.as_ref().is_some_and(|session| session.status != Status::default()))
    }

    /// Escapes a text for a quoted literal of a caller's statement, as the caller's session reads it.
    pub fn escape(&self, text: &str) -> String {
        let doubled_quotes = self
            .session
            .try_lock()
            .is_ok_and(|slot| slot.as_ref().is_some_and(|session| session.status.no_backslash_escapes));
        if doubled_quotes {
            text.replace('\'', "''")
        } else {
            escape_with_backslashes(text)
        }
    }
}

async fn run_once(session: &mut Session, sql: &[u8], statement: &Statement) -> Result<Answer> {
    if !statement.reads_only {
        session.stand_up().await?;
    }
    if statement.alters_session {
        session.status.alteration = Alteration::Present;
    }
    let rows = session.caller_rows(sql).await?;
    Ok(Answer {
        rows: named(rows),
        written: session.written(),
    })
}

/// What must be known of a caller's statement before it runs.
struct Statement {
    reads_only: bool,
    alters_session: bool,
    breaks_escaping: bool,
}

impl Statement {
    fn read(text: &str) -> Self {
        let verb = first_word(text);
        let alters_session = !HARMLESS.contains(&verb) || TRACES.iter().any(|trace| text.contains(trace));
        let sets_charset = verb == "set" && (text.contains("names") || text.contains("char"));
        Self {
            reads_only: matches!(verb, "select" | "show" | "describe" | "desc" | "explain")
                && !text.contains("for update")
                && !alters_session,
            alters_session,
            breaks_escaping: sets_charset && BREAKABLE.iter().any(|charset| text.contains(charset)),
        }
    }

    fn may_repeat(&self, error: &Error) -> bool {
        fault::is_healed_by_reconnecting(error) && (self.reads_only || !error.outcome_is_unknown())
    }
}

/// The verb of a statement, behind comments and brackets.
fn first_word(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '(');
        let comment_end = if rest.starts_with("/*") && !rest.starts_with("/*!") && !rest.starts_with("/*m!") {
            rest.find("*/").map(|at| at + 2)
        } else if rest.starts_with("--") || rest.starts_with('#') {
            rest.find('\n').map(|at| at + 1)
        } else {
            None
        };
        match comment_end.and_then(|end| rest.get(end..)) {
            Some(behind) => rest = behind,
            None => break,
        }
    }
    rest.split(|letter: char| !letter.is_ascii_alphabetic())
        .next()
        .unwrap_or("")
}

/// The letters that MySQL's own client escapes.
fn escape_with_backslashes(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '\0' => escaped.push_str("\\0"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\u{1a}' => escaped.push_str("\\Z"),
            '\\' | '\'' | '"' => escaped.extend(['\\', letter]),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Rows under the names that came with them. As in a PHP array, the last of two columns of one name counts.
fn named(rows: Vec<Row>) -> Records {
    let names: Vec<Key> = match rows.first() {
        Some(row) => row
            .columns_ref()
            .iter()
            .map(|column| Key::from(column.name_ref().to_vec()))
            .collect(),
        None => Vec::new(),
    };
    let last_of_name: Vec<bool> = (0..names.len())
        .map(|at| !names.iter().skip(at + 1).any(|later| Some(later) == names.get(at)))
        .collect();
    let kept = |at: &usize| last_of_name.get(*at).copied().unwrap_or(false);
    let columns: Vec<Key> = names
        .into_iter()
        .enumerate()
        .filter(|(at, _)| kept(at))
        .map(|(_, name)| name)
        .collect();
    let mut records = Records::new(Columns::Owned(columns.into()));
    for row in rows {
        let cells = row.unwrap_raw().into_iter().enumerate().filter(|(at, _)| kept(at));
        records.push(cells.map(|(_, cell)| text_of(cell.unwrap_or(Cell::NULL))));
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verb_stands_behind_comments_and_brackets() {
        for (text, verb) in [
            ("select 1", "select"),
            ("  ( (select 1) union (select 2))", "select"),
            ("/* a */ -- b\n # c\n set names utf8", "set"),
            ("/*!40000 set x */", ""),
            ("", ""),
            ("/* never ends", ""),
        ] {
            assert_eq!(first_word(text), verb, "{text}");
        }
    }

    #[test]
    fn whatever_may_change_the_session_counts_as_changing_it() {
        for text in [
            "set names latin1",
            "start transaction",
            "use other",
            "lock tables a write",
            "select @a := 1",
            "select get_lock('a', 1)",
            "call p()",
            "/*!50000 set a = 1 */",
            "create temporary table a (b int)",
        ] {
            assert!(Statement::read(text).alters_session, "{text}");
        }
        for text in ["select 1", "insert into a values (1)", "update a set b = 1"] {
            assert!(!Statement::read(text).alters_session, "{text}");
        }
    }

    #[test]
    fn a_character_set_that_breaks_escaping_is_refused() {
        assert!(Statement::read("set names gbk").breaks_escaping);
        assert!(Statement::read("set character set sjis").breaks_escaping);
        assert!(Statement::read("set @@session.character_set_client = 'big5'").breaks_escaping);
        assert!(!Statement::read("set names utf8").breaks_escaping);
        assert!(!Statement::read("select 'set names gbk'").breaks_escaping);
    }

    proptest::proptest! {
        /// No text ends the literal that it is put into.
        #[test]
        fn an_escaped_text_stays_inside_its_literal(text in ".*") {
            let escaped = escape_with_backslashes(&text);
            let mut read = String::new();
            let mut letters = escaped.chars();
            while let Some(letter) = letters.next() {
                proptest::prop_assert!(letter != '\'' && letter != '"');
                read.push(match letter {
                    '\\' => match letters.next() {
                        Some('0') => '\0',
                        Some('n') => '\n',
                        Some('r') => '\r',
                        Some('Z') => '\u{1a}',
                        Some(letter) => letter,
                        None => return Err(proptest::test_runner::TestCaseError::fail("a backslash is left alone")),
                    },
                    letter => letter,
                });
            }
            proptest::prop_assert_eq!(read, text);
        }
    }
}
