//! What stands against an upgrade: looked for before anything is changed, and told in one go.

use super::inspection::{LiveColumn, LiveTable, Tables};
use super::plan::reconciled;
use super::reference::{Key, TABLES, Table, Wanted};
use super::rows;
use crate::contract::error::{Error, Result};
use crate::platform::db::Database;

/// Refuses, when a value would not fit, a key would not be unique or a row belongs to nothing.
pub(super) async fn refuse_loss(database: &Database, live: &Tables) -> Result<()> {
    let mut reasons = Vec::new();
    for table in &TABLES {
        let Some(found) = live.get(table.name) else { continue };
        for (count, reason) in obstacles(table, found, live) {
            let counted: Vec<(i64,)> = rows(database, &count, vec![]).await?;
            if let Some((rows,)) = counted.first().filter(|(rows,)| *rows > 0) {
                reasons.push(format!("{rows} {reason}"));
            }
        }
    }
    if reasons.is_empty() {
        return Ok(());
    }
    Err(Error::Refused {
        code: "upgrade-refused",
        message: format!("nothing was changed, since data would be lost: {}", reasons.join("; ")),
    })
}

/// Statements that count what stands against the change of a table, each with the words behind the number.
fn obstacles(table: &Table, found: &LiveTable, live: &Tables) -> Vec<(String, String)> {
    let name = table.name;
    let mut obstacles = Vec::new();
    for column in &found.columns {
        if let Some(limit) = table
            .column(&column.name)
            .and_then(|wanted| new_limit(reconciled(table, wanted, column).kind, column))
        {
            let column = &column.name;
            obstacles.push((
                format!("SELECT COUNT(*) FROM {name} WHERE {}", limit.condition(column)),
                format!(
                    "values of {name}.{column} are longer than {}: shorten them",
                    limit.words()
                ),
            ));
        }
    }
    let keys = table
        .keys
        .iter()
        .filter(|key| key.unique && key.wanted == Wanted::Always);
    for key in keys {
        obstacles.extend(repetitions(table, key, found));
    }
    for key in table.foreign_keys {
        let is_bound = found.foreign_keys.values().any(|bound| bound.column == key.column);
        if !is_bound && found.column(key.column).is_some() && live.contains_key(key.table) {
            let (column, parent) = (key.column, key.table);
            obstacles.push((
                format!(
                    "SELECT COUNT(*) FROM {name} c LEFT JOIN {parent} p ON p.id = c.{column} \
                     WHERE c.{column} IS NOT NULL AND p.id IS NULL"
                ),
                format!("rows of {name} have a {column} that is not in {parent}: delete or correct them"),
            ));
        }
    }
    obstacles
}

enum Limit {
    Characters(u64),
    Bytes(u64),
}

impl Limit {
    fn condition(&self, column: &str) -> String {
        match self {
            Self::Characters(limit) => format!("CHAR_LENGTH({column}) > {limit}"),
            Self::Bytes(limit) => format!("LENGTH(CONVERT({column} USING utf8mb4)) > {limit}"),
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Characters(limit) => format!("{limit} characters"),
            Self::Bytes(limit) => format!("{limit} bytes in utf8mb4"),
        }
    }
}

/// The limit of a column that becomes narrower: in characters, or in the bytes that they take in utf8mb4.
fn new_limit(kind: &str, found: &LiveColumn) -> Option<Limit> {
    if let Some(rest) = kind.strip_prefix("varchar(") {
        let limit = rest.strip_suffix(')')?.parse().ok()?;
        return (kind != found.as_column().kind).then_some(Limit::Characters(limit));
    }
    // What was written in utf8 takes as many bytes as before.
    let grows = found
        .charset
        .as_deref()
        .is_some_and(|charset| !charset.starts_with("utf8"));
    (grows && kind == "text").then_some(Limit::Bytes(65_535))
}

/// What a unique key counts as the same, where it is new or compares in another way than before.
fn repetitions(table: &Table, key: &Key, found: &LiveTable) -> Option<(String, String)> {
    let columns: Option<Vec<&LiveColumn>> = key.columns.iter().map(|name| found.column(name)).collect();
    // A column that is yet to be added cannot repeat itself.
    let columns = columns?;
    let is_converted = columns.iter().any(|column| column.old_charset().is_some());
    let is_there = found
        .keys
        .values()
        .any(|live| live.unique && live.columns.iter().eq(key.columns.iter()));
    if is_there && !is_converted {
        return None;
    }
    let compared: Vec<String> = columns
        .iter()
        .map(|column| match &column.charset {
            Some(_) => format!("CONVERT({} USING utf8mb4) COLLATE {}", column.name, table.collation),
            None => column.name.clone(),
        })
        .collect();
    let given: Vec<String> = columns
        .iter()
        .map(|column| match table.column(&column.name) {
            // An empty text becomes null first.
            Some(wanted) if wanted.nullable => format!("{} <> ''", column.name),
            _ => format!("{} IS NOT NULL", column.name),
        })
        .collect();
    let (name, names) = (table.name, key.columns.join(" and "));
    Some((
        format!(
            "SELECT COUNT(*) FROM (SELECT 1 FROM {name} WHERE {} GROUP BY {} HAVING COUNT(*) > 1) repeated",
            given.join(" AND "),
            compared.join(", ")
        ),
        format!("values of {name}.{names} come more than once: remove or change the repetitions"),
    ))
}
