//! Transactions as closures, which are run again as a whole: after a deadlock the server has dropped all of one, and
//! going on with the rest would store half of it.

use std::time::Instant;

use mysql_async::Row;

use super::session::{Session, Written};
use super::{CONFLICTS, Database, FromRow, Param, RETRY_LIMIT, Sql, fault, pause, typed};
use crate::contract::error::Result;

/// What to do when the connection was lost so late that the commit may have been carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnUnknown {
    /// Report it: the caller of the function decides.
    Report,
    /// Run the unit again: it asks [`Transaction::may_be_done`] and looks for itself before it repeats.
    Repeat,
}

/// An open transaction.
pub struct Transaction<'a> {
    session: &'a mut Session,
    may_be_done: bool,
}

impl Transaction<'_> {
    /// Whether an earlier run of this unit may have been committed: look, before doing it again.
    pub fn may_be_done(&self) -> bool {
        self.may_be_done
    }

    /// All rows of a query.
    pub async fn rows<T: FromRow>(&mut self, sql: impl Into<Sql>, params: Vec<Param>) -> Result<Vec<T>> {
        self.read(&sql.into(), params).await?.into_iter().map(typed).collect()
    }

    /// The first row of a query, if it has one.
    pub async fn row<T: FromRow>(&mut self, sql: impl Into<Sql>, params: Vec<Param>) -> Result<Option<T>> {
        let rows = self.read(&sql.into(), params).await?;
        rows.into_iter().next().map(typed).transpose()
    }

    /// One statement that writes.
    pub async fn execute(&mut self, sql: impl Into<Sql>, params: Vec<Param>) -> Result<Written> {
        let sql = sql.into();
        let result = self.session.execute(&sql, params).await;
        result.map_err(|error| sql.explained(error))
    }

    async fn read(&mut self, sql: &Sql, params: Vec<Param>) -> Result<Vec<Row>> {
        let result = self.session.rows(sql, params).await;
        result.map_err(|error| sql.explained(error))
    }
}

impl Database {
    /// Runs `unit` in a transaction and commits it; when `unit` fails, nothing of it is kept.
    ///
    /// Inside a transaction that the caller opened by `sb_db_query`, the unit joins it: it is then committed or rolled
    /// back with the rest of it, by the caller.
    pub async fn transaction<T>(
        &self,
        on_unknown: OnUnknown,
        mut unit: impl AsyncFnMut(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let started = Instant::now();
        let mut unknown = None;
        let mut attempt = 0;
        let mut joined = false;
        loop {
            let may_be_done = unknown.is_some();
            let error = match self.attempt(may_be_done, &mut joined, &mut unit).await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            attempt += 1;
            let in_time = started.elapsed() < RETRY_LIMIT;
            let again = match &error {
                // The caller's own statements are gone with ours: only the caller can begin again.
                _ if joined => false,
                error if fault::is_conflict(error) => in_time || attempt <= CONFLICTS,
                error if fault::is_healed_by_reconnecting(error) && !error.outcome_is_unknown() => in_time,
                error if error.outcome_is_unknown() => in_time && on_unknown == OnUnknown::Repeat,
                error if fault::is_read_only(error) => attempt == 1 && self.has_other_hosts(),
                _ => false,
            };
            if fault::is_read_only(&error) {
                self.disconnect().await;
            }
            if error.outcome_is_unknown() {
                unknown.get_or_insert(error.clone());
            }
            if !again {
                // A later failure does not make an earlier doubt go away.
                return Err(unknown.unwrap_or(error));
            }
            pause(attempt).await;
        }
    }

    async fn attempt<T>(
        &self,
        may_be_done: bool,
        joined: &mut bool,
        unit: &mut impl AsyncFnMut(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        self.with_session(async |session| {
            *joined = session.status.in_transaction;
            let (begin, commit, rollback) = if *joined {
                (
                    "SAVEPOINT sb_unit",
                    "RELEASE SAVEPOINT sb_unit",
                    "ROLLBACK TO SAVEPOINT sb_unit",
                )
            } else {
                ("START TRANSACTION", "COMMIT", "ROLLBACK")
            };
            // Whatever fails before COMMIT is sent, nothing is stored.
            session.drop_text(begin).await.map_err(fault::nothing_stored)?;
            match unit(&mut Transaction { session, may_be_done }).await {
                Ok(value) => session.drop_text(commit).await.map(|()| value),
                Err(error) if fault::is_fatal(&error) => Err(fault::nothing_stored(error)),
                Err(error) => {
                    if !fault::ended_transaction(&error) {
                        session.drop_text(rollback).await.map_err(fault::nothing_stored)?;
                    }
                    Err(error)
                }
            }
        })
        .await
    }

    /// Whether another host may be writable where this one is not.
    pub(super) fn has_other_hosts(&self) -> bool {
        self.settings
            .borrow()
            .as_ref()
            .is_some_and(|settings| settings.endpoints.len() > 1)
    }
}
