//! The log of an installation: one JSON object per line, for those who run it.
//!
//! It says which function failed and which statement was slow. A statement is shown without the values in it, and of its
//! parameters the kinds and lengths alone.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::host::Host;
use super::{context, counters};
use crate::contract::error::{DatabaseError, Error, Result};
use crate::contract::{Value, json};

/// What a statement may take of a line, in bytes.
const STATEMENT_LIMIT: usize = 2_000;

/// Where the log is, and what goes into it. The default writes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    place: Option<Place>,
    level: Level,
    slow: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// What the web server or the terminal does with it.
    Stderr,
    File(PathBuf),
}

/// How bad it is. A log of one level has all that is worse.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The library or the database failed.
    Error,
    /// An outside service failed, a statement was slow.
    #[default]
    Warning,
    /// A caller was refused something.
    Information,
}

impl Level {
    const fn text(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Information => "information",
        }
    }

    fn of(error: &Error) -> Option<Self> {
        match error {
            Error::Database(_)
            | Error::Internal(_)
            | Error::Refused {
                code: "configuration" | "upgrade-needed",
                ..
            } => Some(Self::Error),
            Error::Provider(_) => Some(Self::Warning),
            Error::Refused { .. } | Error::Argument { .. } | Error::Missing { .. } => Some(Self::Information),
            // Answers of the contract: nobody is there yet, an address is taken.
            Error::Code(_) | Error::NotFound => None,
        }
    }
}

impl FromStr for Level {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let levels = [Self::Error, Self::Warning, Self::Information];
        levels.into_iter().find(|level| level.text() == text).ok_or(())
    }
}

impl Log {
    /// The log of the configuration.
    pub fn read(host: &dyn Host) -> Result<Self> {
        let text = |name: &str| {
            let text = host.configured(name)?.trim().to_owned();
            (!text.is_empty()).then_some(text)
        };
        let level = text("SB_LOG_LEVEL").map_or(Ok(Level::default()), |text| text.parse());
        let level =
            level.map_err(|()| Error::configuration("SB_LOG_LEVEL is none of error, warning and information"))?;
        let slow = match text("SB_SLOW_STATEMENT") {
            None => None,
            Some(text) => {
                let seconds = text
                    .parse()
                    .ok()
                    .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                Some(seconds.ok_or_else(|| {
                    Error::configuration(format!("SB_SLOW_STATEMENT must be a number of seconds: {text}"))
                })?)
            }
        };
        Ok(Self {
            place: text("SB_LOG").map(|place| match place.as_str() {
                "stderr" => Place::Stderr,
                path => Place::File(path.into()),
            }),
            level,
            slow,
        })
    }

    /// From how long on a statement is noted; `None` when none is.
    pub(super) fn slow(&self) -> Option<Duration> {
        self.slow
            .filter(|_| self.place.is_some() && self.level >= Level::Warning)
    }

    /// Notes a statement that was slow.
    pub(super) fn note_statement(&self, statement: &str, parameters: &[String], took: Duration) {
        let parameters: Vec<Value> = parameters.iter().map(|kind| kind.as_str().into()).collect();
        self.write(
            Level::Warning,
            "slow-statement",
            [
                ("milliseconds", Value::Float((took.as_secs_f64() * 1e4).round() / 10.0)),
                ("statement", shortened(statement).into()),
                ("parameters", parameters.into()),
            ],
        );
    }

    fn note_failure(&self, operation: &str, error: &Error, level: Level) {
        let message = match error {
            Error::Database(error) => message_of(error),
            error => error.to_string(),
        };
        let details = [
            ("operation", operation.into()),
            ("code", error.code().into()),
            ("message", message.into()),
        ];
        self.write(level, "failure", details);
    }

    fn write(&self, level: Level, event: &'static str, details: impl IntoIterator<Item = (&'static str, Value)>) {
        let Some(place) = self.place.as_ref().filter(|_| level <= self.level) else {
            return;
        };
        let time = context::clock().format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        let head = [
            ("time", time.into()),
            ("level", level.text().into()),
            ("event", event.into()),
            ("process", i64::from(std::process::id()).into()),
        ];
        let line = json::encode(&Value::map(head.into_iter().chain(details))) + "\n";
        // Nobody is there to hear that the log cannot be written.
        let _ = place.append(line.as_bytes());
    }
}

impl Place {
    /// Writes a line in one go, so that those of several processes do not mix. The file is opened each time: it may have
    /// been moved away meanwhile.
    fn append(&self, line: &[u8]) -> io::Result<()> {
        match self {
            Self::Stderr => io::stderr().write_all(line),
            Self::File(path) => OpenOptions::new()
                .append(true)
                .create(true)
                .mode(0o640)
                .open(path)?
                .write_all(line),
        }
    }
}

/// Counts a failure, and notes it where the configuration asks for it. An operation is a function, a request of the HTTP
/// API, a delivery.
pub fn note(host: &dyn Host, operation: &str, error: &Error) {
    let Some(level) = Level::of(error) else { return };
    if level <= Level::Warning {
        counters::FAILURES.add();
    }
    // Who cannot read its configuration has no log: the error says so to the caller.
    if let Ok(log) = Log::read(host) {
        log.note_failure(operation, error, level);
    }
}

/// Errors of the server that quote names, of tables and columns, of users and hosts. Others may quote values.
const QUOTE_NAMES: [u16; 11] = [1044, 1045, 1049, 1054, 1130, 1142, 1143, 1146, 1264, 1364, 1406];

/// The errors of clients, and so the library's own.
const OF_CLIENTS: Range<u16> = 2000..3000;

/// What the server says, as far as no value can be in it.
fn message_of(error: &DatabaseError) -> String {
    let is_own = OF_CLIENTS.contains(&error.number);
    match error.message.split_once(['\'', '"', '`']) {
        Some((start, _)) if !is_own && !QUOTE_NAMES.contains(&error.number) => format!("{start}…"),
        _ => error.message.clone(),
    }
}

/// A statement in one line, and not without end.
fn shortened(statement: &str) -> String {
    let line = statement.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = line
        .char_indices()
        .map(|(at, letter)| at + letter.len_utf8())
        .take_while(|end| *end <= STATEMENT_LIMIT)
        .last();
    match line.get(..end.unwrap_or_default()) {
        Some(start) if start.len() < line.len() => format!("{start} …"),
        _ => line,
    }
}

/// A statement that a caller wrote, without the values in it. Where a backslash may or may not escape a quote nobody can
/// tell where a text ends: of such a statement its first word is shown.
pub(super) fn without_values(statement: &str) -> String {
    if statement.contains('\\') {
        let verb = statement.split_whitespace().next().unwrap_or_default();
        return format!("{} …", verb.get(..20).unwrap_or(verb));
    }
    let mut shown = String::with_capacity(statement.len());
    let mut rest = statement;
    while let Some(letter) = rest.chars().next() {
        let in_word = shown.ends_with(|before: char| before.is_alphanumeric() || matches!(before, '_' | '$' | '@'));
        let (length, replaced) = match letter {
            '\'' | '"' => (end_of_text(rest, letter), "?"),
            '`' => {
                let length = end_of_text(rest, letter);
                shown.push_str(rest.get(..length).unwrap_or_default());
                (length, "")
            }
            '#' => (rest.find('\n').unwrap_or(rest.len()), ""),
            '-' if rest.starts_with("--") => (rest.find('\n').unwrap_or(rest.len()), ""),
            '/' if rest.starts_with("/*") => (rest.find("*/").map_or(rest.len(), |end| end + 2), ""),
            digit if digit.is_ascii_digit() && !in_word => {
                let is_of_number = |letter: char| letter.is_ascii_alphanumeric() || letter == '.';
                (rest.find(|letter| !is_of_number(letter)).unwrap_or(rest.len()), "?")
            }
            letter => {
                shown.push(letter);
                (letter.len_utf8(), "")
            }
        };
        shown.push_str(replaced);
        rest = rest.get(length..).unwrap_or_default();
    }
    shown
}

/// Where a text between quotes ends, whose own quotes stand twice.
fn end_of_text(text: &str, quote: char) -> usize {
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if letter == quote && letters.next_if(|(_, next)| *next == quote).is_none() {
            return at + 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;
    use crate::contract::error::{Code, Outcome, ProviderError};
    use crate::platform::host::PlainHost;

    fn host(values: &[(&str, &str)]) -> PlainHost {
        let values = values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        PlainHost::new(values.collect::<BTreeMap<_, _>>())
    }

    fn errors() -> [Error; 5] {
        let provider = ProviderError {
            service: "teamchat",
            message: "no answer".into(),
            outcome: Outcome::Unknown,
            response: None,
        };
        [
            Error::Database(DatabaseError {
                number: 2002,
                message: "cannot \"connect\"\n".into(),
                outcome: Outcome::NotSent,
            }),
            Error::Provider(Box::new(provider)),
            Error::security("no"),
            Error::NotFound,
            Code::DuplicateEmail.into(),
        ]
    }

    #[test]
    fn failures_are_noted_from_their_level_on() {
        for (level, operations) in [
            (Some("error"), vec!["o0"]),
            (None, vec!["o0", "o1"]),
            (Some("information"), vec!["o0", "o1", "o2"]),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("sb.log");
            let mut values = vec![("SB_LOG", path.to_str().unwrap())];
            values.extend(level.map(|level| ("SB_LOG_LEVEL", level)));
            let host = host(&values);
            for (number, error) in errors().iter().enumerate() {
                note(&host, &format!("o{number}"), error);
            }
            let text = fs::read_to_string(&path).unwrap();
            let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let noted: Vec<&str> = lines.iter().map(|line| line["operation"].as_str().unwrap()).collect();
            assert_eq!(noted, operations);
            assert_eq!(lines[0]["event"], "failure");
            assert_eq!(lines[0]["level"], "error");
            assert_eq!(lines[0]["code"], "db-error-2002");
            assert_eq!(lines[0]["message"], "cannot \"connect\"\n");
            assert_eq!(lines[0]["process"], std::process::id());
            let time = lines[0]["time"].as_str().unwrap();
            assert!(time.len() == 24 && time.ends_with('Z'), "{time}");
        }
    }

    #[test]
    fn what_the_server_says_is_noted_without_values() {
        for (number, message, noted) in [
            (1062, "Duplicate entry 'secret' for key 'email'", "Duplicate entry …"),
            (
                1064,
                "the syntax to use near ''secret' x' at line 1",
                "the syntax to use near …",
            ),
            (
                1366,
                "Incorrect integer value: 'secret' for column `a`.`b`",
                "Incorrect integer value: …",
            ),
            (
                1690,
                "BIGINT value is out of range in '(1 - 2)'",
                "BIGINT value is out of range in …",
            ),
            (
                3854,
                "Cannot convert string 'secret' from utf8mb4 to latin1",
                "Cannot convert string …",
            ),
            (1054, "Unknown column 'x' in 'SELECT'", "Unknown column 'x' in 'SELECT'"),
            (1205, "Lock wait timeout exceeded", "Lock wait timeout exceeded"),
            (2002, "no host named 'db.example'", "no host named 'db.example'"),
        ] {
            let error = DatabaseError {
                number,
                message: message.into(),
                outcome: Outcome::NotDone,
            };
            assert_eq!(message_of(&error), noted);
        }
    }

    #[test]
    fn without_a_place_nothing_is_noted_and_what_is_wrong_is_named() {
        let log = Log::read(&host(&[("SB_SLOW_STATEMENT", "0.1")])).unwrap();
        assert_eq!(log.slow(), None);
        assert_eq!(Log::read(&host(&[])).unwrap(), Log::default());
        for (name, value) in [
            ("SB_LOG_LEVEL", "loud"),
            ("SB_SLOW_STATEMENT", "soon"),
            ("SB_SLOW_STATEMENT", "-1"),
            ("SB_SLOW_STATEMENT", "1e300"),
        ] {
            let error = Log::read(&host(&[(name, value)])).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
        let slow = |level| {
            let values = [
                ("SB_LOG", "stderr"),
                ("SB_SLOW_STATEMENT", "0.5"),
                ("SB_LOG_LEVEL", level),
            ];
            Log::read(&host(&values)).unwrap().slow()
        };
        assert_eq!(slow("warning"), Some(Duration::from_millis(500)));
        assert_eq!(slow("error"), None);
    }

    #[test]
    fn a_file_that_cannot_be_written_harms_nobody() {
        note(
            &host(&[("SB_LOG", "/there/is/no/folder/sb.log")]),
            "sb_x",
            &Error::Internal("x".into()),
        );
    }

    #[test]
    fn values_of_a_callers_statement_are_not_shown() {
        for (statement, shown) in [
            (
                "SELECT * FROM sb_users WHERE id = 12",
                "SELECT * FROM sb_users WHERE id = ?",
            ),
            ("SELECT 'a''b', \"c\", 'd'", "SELECT ?, ?, ?"),
            (
                "SELECT x1, t2.y FROM t2 LIMIT 10,20",
                "SELECT x1, t2.y FROM t2 LIMIT ?,?",
            ),
            ("SELECT -1.5e3, 0xFF, @v1", "SELECT -?, ?, @v1"),
            (
                "SELECT `a'b` FROM t WHERE c = 'secret'",
                "SELECT `a'b` FROM t WHERE c = ?",
            ),
            ("SELECT 1 -- secret\n, 2 # secret\n", "SELECT ? \n, ? \n"),
            ("SELECT /* secret */ 3", "SELECT  ?"),
            ("SELECT 'never ends", "SELECT ?"),
            ("SELECT /* never ends", "SELECT "),
            ("INSERT INTO t VALUES ('grüße 😀', 7)", "INSERT INTO t VALUES (?, ?)"),
            (r"SELECT 'a\', 'secret'", "SELECT …"),
            ("", ""),
        ] {
            assert_eq!(without_values(statement), shown);
        }
    }

    proptest::proptest! {
        /// Wherever a text stands between quotes, its letters are not shown.
        #[test]
        fn no_text_between_quotes_is_shown(text in "[^\\\\]*", double in proptest::bool::ANY) {
            let quote = if double { "\"" } else { "'" };
            let statement = format!("UPDATE t SET a = {quote}{}{quote} WHERE b", text.replace(quote, &quote.repeat(2)));
            proptest::prop_assert_eq!(without_values(&statement), "UPDATE t SET a = ? WHERE b");
        }
    }

    #[test]
    fn a_long_statement_is_cut_between_letters() {
        let statement = format!("SELECT\n    '{}'", "é".repeat(2_000));
        let shown = shortened(&statement);
        assert!(shown.starts_with("SELECT 'é") && shown.ends_with("é …") && shown.len() <= STATEMENT_LIMIT + 4);
        assert_eq!(shortened("\n    SELECT 1\n    FROM t"), "SELECT 1 FROM t");
    }
}
