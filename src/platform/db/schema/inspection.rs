//! The schema as a server has it, read from `information_schema`.

use std::collections::BTreeMap;

use super::reference::{Column, Table, Wanted};
use crate::contract::error::Result;
use crate::platform::db::Database;

/// The tables of the library that exist, by name.
pub(super) type Tables = BTreeMap<String, LiveTable>;

/// A table that exists.
#[derive(Debug, Default)]
pub(super) struct LiveTable {
    pub(super) engine: String,
    /// The collation of columns that name none.
    pub(super) collation: String,
    pub(super) columns: Vec<LiveColumn>,
    pub(super) keys: BTreeMap<String, LiveKey>,
    /// By name: the column, and what it refers to.
    pub(super) foreign_keys: BTreeMap<String, Reference>,
}

#[derive(Debug)]
pub(super) struct LiveColumn {
    pub(super) name: String,
    kind: String,
    nullable: bool,
    default: Option<String>,
    auto_increment: bool,
    invisible: bool,
    /// `None` for a column that holds no text.
    pub(super) charset: Option<String>,
    collation: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct LiveKey {
    pub(super) unique: bool,
    pub(super) columns: Vec<String>,
}

/// Where a foreign key leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) column: String,
    pub(super) table: String,
    pub(super) to: String,
}

const TABLES: &str = "
    SELECT TABLE_NAME, ENGINE, TABLE_COLLATION
    FROM information_schema.TABLES
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' AND TABLE_NAME LIKE 'sb\\_%'";

const COLUMNS: &str = "
    SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, CHARACTER_SET_NAME,
        COLLATION_NAME
    FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'sb\\_%'
    ORDER BY TABLE_NAME, ORDINAL_POSITION";

const KEYS: &str = "
    SELECT TABLE_NAME, INDEX_NAME, CAST(NON_UNIQUE AS SIGNED), COLUMN_NAME, CAST(SUB_PART AS SIGNED)
    FROM information_schema.STATISTICS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'sb\\_%'
    ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX";

const FOREIGN_KEYS: &str = "
    SELECT TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME
    FROM information_schema.KEY_COLUMN_USAGE
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'sb\\_%' AND REFERENCED_TABLE_NAME IS NOT NULL";

type ColumnRow = (
    String,
    String,
    String,
    String,
    Option<String>,
    String,
    Option<String>,
    Option<String>,
);
/// The column of a key over an expression has no name.
type KeyRow = (String, String, i64, Option<String>, Option<i64>);

/// Reads the tables of the current database.
pub(super) async fn inspect(database: &Database) -> Result<Tables> {
    let tables: Vec<(String, Option<String>, Option<String>)> = database.rows(TABLES, vec![]).await?;
    let mut tables: Tables = tables
        .into_iter()
        .map(|(name, engine, collation)| {
            let table = LiveTable {
                engine: engine.unwrap_or_default(),
                collation: collation.unwrap_or_default(),
                ..LiveTable::default()
            };
            (name, table)
        })
        .collect();
    for (table, name, kind, nullable, default, extra, charset, collation) in
        database.rows::<ColumnRow>(COLUMNS, vec![]).await?
    {
        let extra = extra.to_ascii_lowercase();
        let column = LiveColumn {
            name,
            kind: without_width(&kind),
            nullable: nullable == "YES",
            // MariaDB writes the default as in a statement, MySQL as the value itself.
            default: default.filter(|default| default != "NULL"),
            auto_increment: extra.contains("auto_increment"),
            invisible: extra.contains("invisible"),
            charset,
            collation,
        };
        if let Some(table) = tables.get_mut(&table) {
            table.columns.push(column);
        }
    }
    for (table, name, non_unique, column, length) in database.rows::<KeyRow>(KEYS, vec![]).await? {
        if let Some(table) = tables.get_mut(&table) {
            let key = table.keys.entry(name).or_default();
            key.unique = non_unique == 0;
            let column = column.unwrap_or_default();
            key.columns
                .push(length.map_or(column.clone(), |length| format!("{column}({length})")));
        }
    }
    let foreign_keys: Vec<(String, String, String, String, String)> = database.rows(FOREIGN_KEYS, vec![]).await?;
    for (table, name, column, to_table, to) in foreign_keys {
        if let Some(live) = tables.get_mut(&table) {
            let reference = Reference {
                column,
                table: to_table,
                to,
            };
            live.foreign_keys.insert(name, reference);
        }
    }
    Ok(tables)
}

/// The generation of the tables of the field, by what each brought; `None` where there are none.
pub(super) fn generation(tables: &Tables) -> Option<u8> {
    let has = |table: &str, column: &str| tables.get(table).is_some_and(|table| table.column(column).is_some());
    tables.get("sb_users")?;
    Some(if has("sb_conversations", "tags") {
        5
    } else if has("sb_conversations", "source") {
        4
    } else if has("sb_users", "department") {
        2
    } else {
        1
    })
}

/// A type without the display width of whole numbers, which MariaDB shows and MySQL does not.
fn without_width(kind: &str) -> String {
    match kind.split_once('(') {
        Some((base, rest)) if base.ends_with("int") => {
            let behind = rest.split_once(')').map_or("", |(_, behind)| behind);
            format!("{base}{behind}")
        }
        _ => kind.to_owned(),
    }
}

impl LiveTable {
    pub(super) fn column(&self, name: &str) -> Option<&LiveColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Whether a column that is added without a character set holds every letter.
    pub(super) fn is_utf8mb4(&self) -> bool {
        self.charset() == "utf8mb4"
    }

    fn charset(&self) -> &str {
        self.collation.split('_').next().unwrap_or_default()
    }

    /// The character sets, of the table itself and of the reference's columns, that do not hold every letter.
    pub(super) fn old_charsets(&self, table: &Table) -> Vec<&str> {
        let of_columns = table
            .columns
            .iter()
            .filter_map(|column| self.column(column.name)?.old_charset());
        let of_table = std::iter::once(self.charset()).filter(|_| !self.is_utf8mb4());
        let mut charsets: Vec<&str> = of_table.chain(of_columns).collect();
        charsets.sort_unstable();
        charsets.dedup();
        charsets
    }
}

impl LiveColumn {
    /// The character set of its texts, when it is not the one that holds every letter.
    pub(super) fn old_charset(&self) -> Option<&str> {
        self.charset.as_deref().filter(|charset| *charset != "utf8mb4")
    }

    /// The column in the form of the reference.
    pub(super) fn as_column(&self) -> Column<'_> {
        Column {
            name: &self.name,
            kind: &self.kind,
            collation: self.collation.as_deref(),
            nullable: self.nullable,
            default: self.default.as_deref(),
            auto_increment: self.auto_increment,
            invisible: self.invisible,
            wanted: Wanted::Always,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_display_width_of_whole_numbers_does_not_count() {
        for (shown, kind) in [
            ("int(11)", "int"),
            ("tinyint(4)", "tinyint"),
            ("int(10) unsigned", "int unsigned"),
            ("bigint", "bigint"),
            ("varchar(191)", "varchar(191)"),
            ("datetime(6)", "datetime(6)"),
        ] {
            assert_eq!(without_width(shown), kind);
        }
    }
}
