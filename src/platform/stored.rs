//! Rows of the settings table: JSON text under a name.

use std::collections::BTreeMap;

use super::Context;
use super::db::{Builder, OnUnknown, Param, Sql, Transaction};
use crate::contract::error::{Error, Result};
use crate::contract::{Value, json};
use crate::params;

const ROWS: &str = "
    SELECT name, value
    FROM sb_settings
    WHERE name IN ";

const ROWS_LIKE: &str = "
    SELECT name, value
    FROM sb_settings
    WHERE name LIKE ?";

const LOCKED_ROWS_LIKE: &str = "
    SELECT name, value
    FROM sb_settings
    WHERE name LIKE ?
    FOR UPDATE";

/// One statement for all rows, so that all of them are stored or none.
const STORE: &str = "
    INSERT INTO sb_settings (name, value)
    VALUES ";

const REPLACE_VALUE: &str = "
    ON DUPLICATE KEY UPDATE value = VALUES(value)";

/// Makes the row where there is none, and locks it. An `INSERT IGNORE` would share the lock with whoever comes at the
/// same time, and then both would wait for each other.
const LOCK_ROW: &str = "
    INSERT INTO sb_settings (name, value)
    VALUES (?, NULL)
    ON DUPLICATE KEY UPDATE name = name";

const LOCKED_ROW: &str = "
    SELECT value
    FROM sb_settings
    WHERE name = ?
    FOR UPDATE";

const REMOVE_ROW: &str = "
    DELETE FROM sb_settings
    WHERE name = ?";

/// What the name of a row may have.
const NAME_LIMIT: usize = 191;

impl Context<'_> {
    /// Those of some rows that exist, decoded. What is no JSON counts as no row.
    pub async fn stored_rows(&self, names: &[String]) -> Result<BTreeMap<String, Value>> {
        if names.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut query = Builder::new(ROWS, Vec::new());
        query.list(names);
        let (sql, params) = query.finish();
        Ok(decoded(self.database()?.rows(sql, params).await?))
    }

    /// The rows whose names begin so, decoded. What is no JSON counts as no row.
    pub async fn stored_rows_like(&self, beginning: &'static str) -> Result<BTreeMap<String, Value>> {
        let pattern = format!("{beginning}%");
        Ok(decoded(self.database()?.rows(ROWS_LIKE, params![pattern]).await?))
    }

    /// Writes rows, in place of those that have their names: all of them or none.
    pub async fn store(&self, rows: BTreeMap<String, Value>) -> Result<()> {
        if rows.keys().any(|name| name.chars().nth(NAME_LIMIT).is_some()) {
            return Err(Error::too_long("the name of a row", "191 characters"));
        }
        if let Some((sql, params)) = store_statement(&rows) {
            self.database()?.execute(sql, params).await?;
        }
        Ok(())
    }

    /// Changes a row while nobody else can: `change` gives the new value, or none to leave it, and a result. It may be
    /// asked again with what another has stored meanwhile.
    pub async fn rewrite<T>(
        &self,
        name: &str,
        mut change: impl FnMut(Value) -> Result<(Option<Value>, T)>,
    ) -> Result<T> {
        self.database()?
            .transaction(OnUnknown::Report, async |transaction| {
                let (next, result) = change(transaction.locked_row(name).await?)?;
                if let Some(next) = next {
                    transaction.put_rows(&BTreeMap::from([(name.to_owned(), next)])).await?;
                }
                Ok(result)
            })
            .await
    }
}

impl Transaction<'_> {
    /// A row, which nobody else can change any more; null when there is none, or what is no JSON.
    pub async fn locked_row(&mut self, name: &str) -> Result<Value> {
        self.execute(LOCK_ROW, params![name]).await?;
        Ok(self.existing_row(name).await?.unwrap_or_default())
    }

    /// A row that there is, which nobody else can change any more. What is no JSON counts as no row.
    pub async fn existing_row(&mut self, name: &str) -> Result<Option<Value>> {
        let row: Option<(Option<Vec<u8>>,)> = self.row(LOCKED_ROW, params![name]).await?;
        Ok(row.and_then(|(text,)| json::decode(&text?)))
    }

    /// Takes a row away.
    pub async fn remove_row(&mut self, name: &str) -> Result<()> {
        self.execute(REMOVE_ROW, params![name]).await?;
        Ok(())
    }

    /// The rows whose names begin so, which nobody else can change any more.
    pub async fn locked_rows_like(&mut self, beginning: &'static str) -> Result<BTreeMap<String, Value>> {
        Ok(decoded(
            self.rows(LOCKED_ROWS_LIKE, params![format!("{beginning}%")]).await?,
        ))
    }

    /// Writes rows, in place of those that have their names.
    pub async fn put_rows(&mut self, rows: &BTreeMap<String, Value>) -> Result<()> {
        if let Some((sql, params)) = store_statement(rows) {
            self.execute(sql, params).await?;
        }
        Ok(())
    }
}

/// The statement that writes rows, if there are any. By name: writers that meet take their locks in one order.
fn store_statement(rows: &BTreeMap<String, Value>) -> Option<(Sql, Vec<Param>)> {
    let mut statement = Builder::new(STORE, Vec::new());
    for (position, (name, value)) in rows.iter().enumerate() {
        statement.add(if position == 0 { "" } else { ", " }, Vec::new());
        statement.add("(?, ?)", params![name, json::encode(value)]);
    }
    if statement.has_no_params() {
        return None;
    }
    statement.add(REPLACE_VALUE, Vec::new());
    Some(statement.finish())
}

fn decoded(rows: Vec<(String, Option<Vec<u8>>)>) -> BTreeMap<String, Value> {
    let decoded = rows
        .into_iter()
        .filter_map(|(name, text)| Some((name, json::decode(&text?)?)));
    decoded.collect()
}
