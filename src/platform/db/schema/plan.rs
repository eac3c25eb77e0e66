//! The steps from the tables as they are to the tables as they should be.

use super::inspection::{LiveColumn, LiveTable, Reference, Tables};
use super::reference::{Column, ForeignKey, Key, PRIMARY, TABLES, Table, Wanted};

/// What is to be done, in order.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The steps. Each leaves a database that works and that a new plan can start from.
    pub steps: Vec<Step>,
}

/// One change.
#[derive(Debug, Clone)]
pub struct Step {
    /// What it does, in a sentence.
    pub sentence: String,
    /// The statement that does it.
    pub sql: String,
    pub(super) work: Work,
}

/// How a step is carried out.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    /// By the statement, which makes this table.
    Create(&'static str),
    /// By the statement.
    Once,
    /// By the statement with the first and the last id of one part of the table after the other.
    ByIds(&'static str),
}

/// What must be known of the rows.
pub(super) struct Contents {
    pub(super) has_empty_emails: bool,
    pub(super) has_stale_last_messages: bool,
}

pub(super) const EMPTY_EMAILS: &str = "
    SELECT 1
    FROM sb_users
    WHERE email = ''
    LIMIT 1";

const CLEAR_EMPTY_EMAILS: &str = "\
UPDATE sb_users
SET email = NULL
WHERE email = ''";

pub(super) const STALE_LAST_MESSAGES: &str = "
    SELECT 1
    FROM sb_conversations c
    WHERE NOT c.last_message_id <=> (SELECT MAX(m.id) FROM sb_messages m WHERE m.conversation_id = c.id)
    LIMIT 1";

const FILL_LAST_MESSAGES: &str = "\
UPDATE sb_conversations c
SET c.last_message_id = (SELECT MAX(m.id) FROM sb_messages m WHERE m.conversation_id = c.id)
WHERE c.id BETWEEN ? AND ?";

impl Plan {
    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether it makes that table.
    pub fn creates(&self, table: &str) -> bool {
        let is_it = |step: &Step| matches!(step.work, Work::Create(name) if name == table);
        self.steps.iter().any(is_it)
    }

    /// The tables that do not exist, complete.
    pub(super) fn of_missing_tables(live: &Tables) -> Self {
        let missing = TABLES.iter().filter(|table| !live.contains_key(table.name));
        Self {
            steps: missing.map(|table| create(table, true)).collect(),
        }
    }

    /// The changes of tables that exist.
    pub(super) fn of_changes(live: &Tables, for_speed: bool) -> Self {
        let mut plan = Self::default();
        for table in &TABLES {
            if let Some(live) = live.get(table.name) {
                plan.change(table, live, for_speed);
            }
        }
        plan
    }

    /// Everything.
    pub(super) fn of_upgrade(live: &Tables, contents: Contents, for_speed: bool) -> Self {
        let mut plan = Self::default();
        let clear_emails = contents
            .has_empty_emails
            .then(|| once("Clear the e-mail addresses that are empty texts.", CLEAR_EMPTY_EMAILS));
        let may_be_null = live
            .get("sb_users")
            .and_then(|users| users.column("email"))
            .is_some_and(|email| email.as_column().nullable);
        // Before the table gets a unique key of which two empty texts would be a breach.
        let (before, after) = if may_be_null {
            (clear_emails, None)
        } else {
            (None, clear_emails)
        };
        plan.steps.extend(before);
        for table in &TABLES {
            match live.get(table.name) {
                Some(live) => plan.change(table, live, for_speed),
                None => plan.steps.push(create(table, for_speed)),
            }
        }
        plan.steps.extend(after);
        let knows_last_messages = live
            .get("sb_conversations")
            .is_some_and(|table| table.column("last_message_id").is_some());
        if contents.has_stale_last_messages || for_speed && !knows_last_messages {
            plan.steps.push(Step {
                sentence: "Note the last message of every conversation, 5,000 conversations at a time.".into(),
                sql: FILL_LAST_MESSAGES.into(),
                work: Work::ByIds("sb_conversations"),
            });
        }
        plan
    }

    fn change(&mut self, table: &Table, live: &LiveTable, for_speed: bool) {
        let change = Change::of(table, live, for_speed);
        if !change.clauses.is_empty() {
            self.steps.push(Step {
                sentence: format!("Change {}: {}.", table.name, change.words.join(", ")),
                sql: format!("ALTER TABLE {}\n  {}", table.name, change.clauses.join(",\n  ")),
                work: Work::Once,
            });
        }
        self.add_foreign_keys(table, live);
    }

    /// Adds foreign keys that lead where none does. A name that the field's older generations gave to another one is
    /// freed only when that other has its own name: at no time is a column without its key.
    fn add_foreign_keys(&mut self, table: &Table, live: &LiveTable) {
        let holder_of = |key: &ForeignKey| live.foreign_keys.get(key.name);
        let leads_there = |key: &ForeignKey, found: &Reference| {
            found.column == key.column && found.table == key.table && found.to == "id"
        };
        let is_misnamed = |name: &str| {
            let wanted = table.foreign_keys.iter().find(|key| key.name == name);
            wanted.is_some_and(|key| !holder_of(key).is_some_and(|found| leads_there(key, found)))
        };
        let missing = table.foreign_keys.iter().filter(|key| {
            !live
                .foreign_keys
                .iter()
                .any(|(name, found)| leads_there(key, found) && !is_misnamed(name))
        });
        let (taken, free): (Vec<_>, Vec<_>) = missing.partition(|key| holder_of(key).is_some());
        let add = |key: &&ForeignKey| {
            once(
                &format!(
                    "Bind {} of {} to {}, by a foreign key.",
                    key.column, table.name, key.table
                ),
                &format!("ALTER TABLE {}\n  ADD {key}", table.name),
            )
        };
        self.steps.extend(free.iter().map(add));
        for key in taken {
            self.steps.push(once(
                &format!("Free the name {} of a foreign key that now has another.", key.name),
                &format!("ALTER TABLE {}\n  DROP FOREIGN KEY {}", table.name, key.name),
            ));
            self.steps.push(add(&key));
        }
    }
}

fn once(sentence: &str, sql: &str) -> Step {
    Step {
        sentence: sentence.to_owned(),
        sql: sql.to_owned(),
        work: Work::Once,
    }
}

fn create(table: &Table, for_speed: bool) -> Step {
    Step {
        sentence: format!("Create the table {}.", table.name),
        sql: table.create(for_speed),
        work: Work::Create(table.name),
    }
}

/// The change of one table: one statement, so that it is copied at most once and is never half changed.
#[derive(Default)]
struct Change {
    words: Vec<String>,
    clauses: Vec<String>,
}

impl Change {
    fn of(table: &Table, live: &LiveTable, for_speed: bool) -> Self {
        let is_wanted = |wanted: Wanted| for_speed || wanted == Wanted::Always;
        let mut change = Self::default();
        if !live.engine.eq_ignore_ascii_case("InnoDB") {
            change.add(format!("InnoDB in place of {}", live.engine), "ENGINE=InnoDB".into());
        }
        if !live.is_utf8mb4() {
            change
                .clauses
                .push(format!("DEFAULT CHARSET=utf8mb4 COLLATE={}", table.collation));
        }
        let old_charsets = live.old_charsets(table);
        if !old_charsets.is_empty() {
            change
                .words
                .push(format!("utf8mb4 in place of {}", old_charsets.join(" and ")));
        }
        let mut above: Option<&str> = None;
        for column in table.columns.iter().filter(|column| is_wanted(column.wanted)) {
            change.column(table, column, live, above);
            above = Some(column.name);
        }
        for key in table.keys.iter().filter(|key| is_wanted(key.wanted)) {
            change.key(key, live);
        }
        change
    }

    fn add(&mut self, words: String, clause: String) {
        self.words.push(words);
        self.clauses.push(clause);
    }

    fn column(&mut self, table: &Table, column: &Column<'_>, live: &LiveTable, above: Option<&str>) {
        let Some(found) = live.column(column.name) else {
            let place = match above {
                // Where it stands does not matter, and adding it at the end needs no copy of the table.
                _ if column.wanted == Wanted::ForSpeed => String::new(),
                Some(above) => format!(" AFTER {above}"),
                None => " FIRST".to_owned(),
            };
            self.add(
                format!("new column {}", column.name),
                format!("ADD COLUMN {column}{place}"),
            );
            return;
        };
        let target = reconciled(table, column, found);
        let found = found.as_column();
        if target.is_same(&found) {
            return;
        }
        let but_for_letters = Column {
            collation: found.collation,
            ..target
        };
        if !but_for_letters.is_same(&found) {
            self.words.push(format!("{} becomes {}", target.name, target.kind));
        }
        self.clauses.push(format!("MODIFY COLUMN {target}"));
    }

    fn key(&mut self, key: &Key, live: &LiveTable) {
        let serves = |unique: bool, columns: &[String]| {
            let leads = columns.iter().zip(key.columns).all(|(found, wanted)| found == wanted);
            if key.unique {
                unique && leads && columns.len() == key.columns.len()
            } else {
                leads && columns.len() >= key.columns.len()
            }
        };
        let is_there = match key.name {
            PRIMARY => live.keys.get(PRIMARY).is_some_and(|found| serves(true, &found.columns)),
            _ => live.keys.values().any(|found| serves(found.unique, &found.columns)),
        };
        if is_there {
            return;
        }
        if live.keys.contains_key(key.name) {
            self.clauses.push(match key.name {
                PRIMARY => "DROP PRIMARY KEY".to_owned(),
                name => format!("DROP KEY {name}"),
            });
        }
        self.add(key.title(), format!("ADD {key}"));
    }
}

impl Column<'_> {
    fn is_same(&self, other: &Column<'_>) -> bool {
        let about = |column: &Column<'_>| {
            (
                column.collation.map(ToOwned::to_owned),
                column.nullable,
                column.auto_increment,
                column.default.map(|default| default.trim_matches('\'').to_owned()),
            )
        };
        self.kind == other.kind && about(self) == about(other)
    }
}

/// What becomes of a column that exists: it takes on what it lacks and keeps what it has beyond that.
pub(super) fn reconciled<'a>(table: &Table, wanted: &Column<'a>, found: &'a LiveColumn) -> Column<'a> {
    let is_converted = found.old_charset().is_some();
    let found = found.as_column();
    Column {
        kind: kind(wanted.kind, found.kind, is_converted),
        // Converting the whole table would make a text mediumtext on some servers, so each column is named.
        collation: if is_converted {
            Some(table.collation)
        } else {
            found.collation
        },
        nullable: wanted.nullable || found.nullable && !wanted.auto_increment,
        default: found.default.or(wanted.default),
        auto_increment: wanted.auto_increment || found.auto_increment,
        invisible: found.invisible,
        ..*wanted
    }
}

fn kind<'a>(wanted: &'a str, found: &'a str, is_converted: bool) -> &'a str {
    // 191 characters of utf8mb4 are as many as a key holds in every row format.
    if is_converted && wanted.starts_with("varchar") && found.starts_with("varchar") {
        return wanted;
    }
    match (capacity(wanted), capacity(found)) {
        (Some((family, needs)), Some((same, holds))) if family == same && needs > holds => wanted,
        _ => found,
    }
}

#[derive(PartialEq)]
enum Family {
    Number,
    Text,
    Bytes,
}

/// How much a type holds, compared with others of its family.
fn capacity(kind: &str) -> Option<(Family, u64)> {
    let (base, length) = match kind.split_once('(') {
        Some((base, rest)) => (base, rest.strip_suffix(')')?.parse().ok()?),
        None => (kind, 0),
    };
    Some(match base {
        "tinyint" => (Family::Number, 1),
        "smallint" => (Family::Number, 2),
        "mediumint" => (Family::Number, 3),
        "int" => (Family::Number, 4),
        "bigint" => (Family::Number, 8),
        "char" | "varchar" => (Family::Text, length),
        "tinytext" => (Family::Text, 0xff),
        "text" => (Family::Text, 0xffff),
        "mediumtext" => (Family::Text, 0xff_ffff),
        "longtext" => (Family::Text, 0xffff_ffff),
        "binary" | "varbinary" => (Family::Bytes, length),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_never_becomes_narrower_unless_its_table_is_converted() {
        for (wanted, found, becomes) in [
            ("varchar(191)", "varchar(255)", "varchar(255)"),
            ("varchar(191)", "varchar(50)", "varchar(191)"),
            ("varchar(191)", "text", "text"),
            ("longtext", "text", "longtext"),
            ("text", "mediumtext", "mediumtext"),
            ("int", "bigint", "bigint"),
            ("int", "tinyint", "int"),
            ("int", "int unsigned", "int unsigned"),
            ("datetime", "timestamp", "timestamp"),
        ] {
            assert_eq!(kind(wanted, found, false), becomes, "{found}");
        }
        assert_eq!(kind("varchar(191)", "varchar(255)", true), "varchar(191)");
        assert_eq!(kind("varchar(191)", "text", true), "text");
    }
}
