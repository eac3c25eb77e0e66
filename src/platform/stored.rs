//! Rows of the settings table: JSON text under a name.

use std::collections::BTreeMap;

use super::Context;
use super::db::{Builder, OnUnknown};
use crate::contract::error::{Error, Result};
use crate::contract::{Value, json};
use crate::params;

const ROWS: &str = "
    SELECT name, value
    FROM sb_settings
    WHERE name IN ";

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

const REWRITE: &str = "
    UPDATE sb_settings
    SET value = ?
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
        let rows: Vec<(String, Option<Vec<u8>>)> = self.database()?.rows(sql, params).await?;
        let decoded = rows
            .into_iter()
            .filter_map(|(name, text)| Some((name, json::decode(&text?)?)));
        Ok(decoded.collect())
    }

    /// Writes rows, in place of those that have their names: all of them or none.
    pub async fn store(&self, rows: BTreeMap<String, Value>) -> Result<()> {
        if rows.keys().any(|name| name.chars().nth(NAME_LIMIT).is_some()) {
            return Err(Error::too_long("the name of a row", "191 characters"));
        }
        // By name: writers that meet take their locks in one order.
        let mut statement = Builder::new(STORE, Vec::new());
        for (position, (name, value)) in rows.iter().enumerate() {
            statement.add(if position == 0 { "" } else { ", " }, Vec::new());
            statement.add("(?, ?)", params![name, json::encode(value)]);
        }
        if statement.has_no_params() {
            return Ok(());
        }
        statement.add(REPLACE_VALUE, Vec::new());
        let (sql, params) = statement.finish();
        self.database()?.execute(sql, params).await?;
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
                transaction.execute(LOCK_ROW, params![name]).await?;
                let row: Option<(Option<Vec<u8>>,)> = transaction.row(LOCKED_ROW, params![name]).await?;
                let now = row.and_then(|(text,)| json::decode(&text?)).unwrap_or_default();
                let (next, result) = change(now)?;
                if let Some(next) = next {
                    transaction.execute(REWRITE, params![json::encode(&next), name]).await?;
                }
                Ok(result)
            })
            .await
    }
}
