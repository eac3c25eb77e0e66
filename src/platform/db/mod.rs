//! The way to the database: the only room that knows the driver.
//!
//! One connection is held per [`Database`] and made on first use. Reads heal: when the connection turns out to be
//! dead they are sent again on a new one. Writes are sent again only when the first try provably never arrived.
//! Transactions are closures, so that they can be run again as a whole.

mod caller;
mod fault;
mod limit;
mod row;
pub mod schema;
mod session;
mod settings;
mod socket;
mod sql;
mod tables;
mod transaction;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

pub use caller::Answer;
use mysql_async::Row;
pub use mysql_async::prelude::FromRow;
pub use row::Param;
use session::Session;
pub use session::Written;
pub use settings::{DEFAULT_PORT, Endpoint, Settings};
pub use sql::{Builder, Sql, containing, starting};
pub use tables::Tables;
use tokio::sync::Mutex;
use tokio::time::sleep;
pub use transaction::{OnUnknown, Transaction};

use crate::contract::error::{Error, Outcome, Result};
use crate::contract::value::{Records, Value};

/// The driver, for people who look for it.
pub const DRIVER: &str = "mysql_async 0.37, one held connection per process, utf8mb4, strict mode, UTC";

/// How long failures that pass by themselves are tried again.
const RETRY_LIMIT: Duration = Duration::from_secs(3);

/// But after a conflict with others so many tries follow, however long they take.
const CONFLICTS: u32 = 3;

/// What not every database has: indexes, whose names begin with `x_`, the articles of younger ones, and the library's
/// own tables.
const OPTIONAL_PARTS: &str = "
    SELECT INDEX_NAME
    FROM information_schema.STATISTICS
    WHERE TABLE_SCHEMA = DATABASE() AND INDEX_NAME LIKE 'x\\_%'
    UNION
    SELECT TABLE_NAME
    FROM information_schema.TABLES
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ('sb_articles', 'sb_idempotency', 'sb_outbox')";

/// A database and the connection to it.
#[derive(Default)]
pub struct Database {
    settings: RefCell<Option<Rc<Settings>>>,
    session: Mutex<Option<Session>>,
    parts: RefCell<Option<Vec<String>>>,
    /// Whether its thread has nothing else to do while it waits.
    alone: bool,
}

impl Database {
    /// One of a thread that does nothing else.
    pub fn alone() -> Self {
        Self {
            alone: true,
            ..Self::default()
        }
    }

    /// Whether its thread has nothing else to do while it waits.
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// Sets where the database is, and says whether that is somewhere else than before. A connection to another place is
    /// not used again.
    pub fn configure(&self, settings: &Rc<Settings>) -> bool {
        // At most calls they are the same ones, which nobody has to compare.
        let before = self.settings.replace(Some(Rc::clone(settings)));
        if before.as_ref() == Some(settings) {
            return false;
        }
        self.parts.take();
        if let Ok(mut session) = self.session.try_lock() {
            session.take();
        }
        true
    }

    /// All rows of a query.
    pub async fn rows<T: FromRow>(&self, sql: impl Into<Sql>, params: Vec<Param>) -> Result<Vec<T>> {
        self.read(&sql.into(), params).await?.into_iter().map(typed).collect()
    }

    /// The first row of a query, if it has one.
    pub async fn row<T: FromRow>(&self, sql: impl Into<Sql>, params: Vec<Param>) -> Result<Option<T>> {
        self.read(&sql.into(), params)
            .await?
            .into_iter()
            .next()
            .map(typed)
            .transpose()
    }

    /// The rows of a query as records, their cells as text, under the given column names.
    pub async fn records(
        &self,
        sql: impl Into<Sql>,
        params: Vec<Param>,
        columns: &'static [&'static str],
    ) -> Result<Records> {
        Ok(row::records(self.read(&sql.into(), params).await?, columns))
    }

    /// The rows of a query, their cells as text.
    pub async fn cells(&self, sql: impl Into<Sql>, params: Vec<Param>) -> Result<Vec<Vec<Value>>> {
        Ok(self
            .read(&sql.into(), params)
            .await?
            .into_iter()
            .map(row::cells)
            .map(Iterator::collect)
            .collect())
    }

    /// One statement that writes, committed when this returns.
    pub async fn execute(&self, sql: impl Into<Sql>, params: Vec<Param>) -> Result<Written> {
        let sql = sql.into();
        let started = Instant::now();
        let mut sent_again = false;
        let mut moved = false;
        let mut conflicts = 0;
        // Of a transaction of the caller a conflict ends more than this statement.
        let mut joined = false;
        loop {
            let params = params.clone();
            let result = self
                .with_session(async |session| {
                    joined = session.status.in_transaction;
                    session.stand_up().await?;
                    session.execute(&sql, params).await
                })
                .await;
            match result {
                Err(error) if fault::was_not_sent(&error) && !sent_again => sent_again = true,
                Err(error)
                    if fault::is_conflict(&error)
                        && !joined
                        && (conflicts < CONFLICTS || started.elapsed() < RETRY_LIMIT) =>
                {
                    conflicts += 1;
                    pause(conflicts).await;
                }
                Err(error) if fault::is_read_only(&error) && !joined && !moved && self.has_other_hosts() => {
                    moved = true;
                    self.disconnect().await;
                }
                result => return result.map_err(|error| sql.explained(error)),
            }
        }
    }

    /// Whether the database has one of the optional indexes and tables. Asked once: they come with an upgrade only.
    pub async fn has(&self, name: &str) -> Result<bool> {
        if self.parts.borrow().is_none() {
            let names: Vec<(String,)> = self.rows(OPTIONAL_PARTS, Vec::new()).await?;
            *self.parts.borrow_mut() = Some(names.into_iter().map(|(name,)| name).collect());
        }
        Ok(self.parts.borrow().iter().flatten().any(|own| own == name))
    }

    /// Ends what a request has left behind: an open transaction, changed variables, locks.
    pub async fn end_request(&self) {
        if let Ok(mut slot) = self.session.try_lock()
            && slot
                .as_ref()
                .is_some_and(|session| session.status != session::Status::default())
            && let Some(session) = slot.take()
        {
            session.close().await;
        }
    }

    /// Closes the connection.
    pub async fn disconnect(&self) {
        if let Ok(mut slot) = self.session.try_lock()
            && let Some(session) = slot.take()
        {
            session.close().await;
        }
    }

    async fn read(&self, sql: &Sql, params: Vec<Param>) -> Result<Vec<Row>> {
        let mut again = true;
        loop {
            let params = params.clone();
            let started = Instant::now();
            let result = self.with_session(async |session| session.rows(sql, params).await).await;
            match result {
                Err(error) if again && fault::is_healed_by_reconnecting(&error) && started.elapsed() < RETRY_LIMIT => {
                    again = false;
                }
                result => return result.map_err(|error| sql.explained(error)),
            }
        }
    }

    /// Runs `work` on the connection, which is in the library's own state. A connection that failed is not used again,
    /// nor is one whose work was cut off, since then it never comes back into its slot.
    async fn with_session<T>(&self, work: impl AsyncFnOnce(&mut Session) -> Result<T>) -> Result<T> {
        let settings = self.settings()?;
        self.with_raw_session(async |session| {
            session.restore(&settings.name).await?;
            work(session).await
        })
        .await
    }

    /// As [`Self::with_session`], in whatever state the caller's statements have left the connection.
    async fn with_raw_session<T>(&self, work: impl AsyncFnOnce(&mut Session) -> Result<T>) -> Result<T> {
        let Ok(mut slot) = self.session.try_lock() else {
            return Err(Error::Internal(
                "the database was used from within its own transaction".into(),
            ));
        };
        let mut session = match slot.take() {
            Some(session) => session,
            None => self.connect().await?,
        };
        let in_transaction = session.status.in_transaction;
        let result = work(&mut session).await;
        match result {
            Err(error) if fault::is_fatal(&error) => {
                // What the caller's open transaction has done is gone with it: no retry may hide that.
                Err(if in_transaction {
                    caller_transaction_lost(error)
                } else {
                    error
                })
            }
            result => {
                *slot = Some(session);
                result
            }
        }
    }

    async fn connect(&self) -> Result<Session> {
        let settings = self.settings()?;
        let started = Instant::now();
        let mut attempt = 0;
        loop {
            match Session::connect(&settings, self.alone).await {
                Err(error) if fault::is_full(&error) && started.elapsed() < RETRY_LIMIT => {
                    attempt += 1;
                    pause(attempt).await;
                }
                result => return result,
            }
        }
    }

    fn settings(&self) -> Result<Rc<Settings>> {
        self.settings
            .borrow()
            .clone()
            .ok_or_else(|| Error::configuration("the database is not configured"))
    }
}

fn typed<T: FromRow>(row: Row) -> Result<T> {
    T::from_row_opt(row).map_err(|error| Error::Internal(format!("a row of an unexpected shape: {error}")))
}

fn caller_transaction_lost(error: Error) -> Error {
    match error {
        Error::Database(mut error) => {
            error.outcome = Outcome::NotDone;
            error.message.push_str("; the transaction that was open is rolled back");
            Error::Database(error)
        }
        error => error,
    }
}

/// Waits 5, 10, 20 … 320 ms and up to as much again, so that those who collided do not collide again.
async fn pause(attempt: u32) {
    let base = 5 << attempt.saturating_sub(1).min(6);
    let mut random = [0; 1];
    // Without randomness the pause is merely not spread.
    let _ = getrandom::fill(&mut random);
    sleep(Duration::from_millis(base + base * u64::from(random[0]) / 256)).await;
}
