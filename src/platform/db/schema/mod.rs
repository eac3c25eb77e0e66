//! The schema: what the tables should be, what they are, and the steps that lead from one to the other.
//!
//! No version number is kept. What is missing is found by looking, so a database of any generation, and one whose
//! upgrade was interrupted, is brought to the same end; where nothing is missing there is nothing to do. No step
//! removes what someone else may need: columns, keys and tables that are not in the reference stay.

mod checks;
mod definition;
mod inspection;
mod plan;
mod reference;

use std::rc::Rc;
use std::time::Duration;

use plan::Work;
pub use plan::{Plan, Step};

use super::sql::Sql;
use super::{Database, Param, Settings, fault};
use crate::contract::error::{Error, Result};
use crate::params;

/// Changing a large table takes its time, and so does looking through it.
const STATEMENT_LIMIT: Duration = Duration::from_hours(7 * 24);

/// Rows that one statement fills: a cluster lets no one write while it repeats a large one.
const CHUNK: u32 = 5_000;

/// The schema of one database.
pub struct Schema {
    database: Database,
    /// A change waits for those who use the table, and everyone who comes later waits for the change. It therefore
    /// waits no longer than their statements do.
    patience: Duration,
}

impl Schema {
    /// The schema of the database that these settings name. It connects on first use.
    pub fn of(settings: &Settings) -> Self {
        let database = Database::default();
        database.configure(&Rc::new(Settings {
            statement_limit: STATEMENT_LIMIT,
            ..settings.clone()
        }));
        Self {
            database,
            patience: settings.statement_limit,
        }
    }

    /// What makes an empty database an installation. Tables of another version are refused: they want an upgrade.
    pub async fn installation(&self) -> Result<Plan> {
        let live = inspection::inspect(&self.database).await?;
        let missing = Plan::of_missing_tables(&live);
        if !live.is_empty() && !Plan::of_changes(&live, false).is_empty() {
            return Err(Error::Refused {
                code: "upgrade-needed",
                message: "the database holds tables of another version: run `sb upgrade`".into(),
            });
        }
        Ok(missing)
    }

    /// What brings an installation of any generation to the current schema; with `for_speed` also the parts that only
    /// make things faster. Refused, with every reason, when a step could not be carried out without losing something.
    pub async fn upgrade(&self, for_speed: bool) -> Result<Plan> {
        let live = inspection::inspect(&self.database).await?;
        if !live.contains_key("sb_users") {
            return Err(Error::Refused {
                code: "not-installed",
                message: "the database holds no installation: run `sb install`".into(),
            });
        }
        checks::refuse_loss(&self.database, &live).await?;
        let contents = plan::Contents {
            has_empty_emails: self.finds(plan::EMPTY_EMAILS, &live, "sb_users", "email").await?,
            has_stale_last_messages: for_speed
                && self
                    .finds(plan::STALE_LAST_MESSAGES, &live, "sb_conversations", "last_message_id")
                    .await?,
        };
        Ok(Plan::of_upgrade(&live, contents, for_speed))
    }

    /// The generation of the tables, as far as they tell: one that was upgraded passes for generation 4.
    pub async fn generation(&self) -> Result<Option<u8>> {
        Ok(inspection::generation(&inspection::inspect(&self.database).await?))
    }

    /// Carries out one step. When it fails nothing of it is done, or it can be run again.
    pub async fn carry_out(&self, step: &Step) -> Result<()> {
        match step.work {
            Work::Create(_) | Work::Once => self.run(&step.sql).await,
            Work::ByIds(table) => self.run_by_ids(&step.sql, table).await,
        }
    }

    /// Closes the connection.
    pub async fn close(&self) {
        self.database.disconnect().await;
    }

    async fn run(&self, sql: &str) -> Result<()> {
        let patience = format!("SET SESSION lock_wait_timeout = {}", self.patience.as_secs().max(1));
        let done = self
            .database
            .with_session(async |session| {
                session.drop_text(&patience).await?;
                session.drop_text(sql).await
            })
            .await;
        match done {
            Err(error) if fault::is_conflict(&error) => Err(Error::Refused {
                code: "busy",
                message: format!("{error}: others are using the table; run it again"),
            }),
            done => done,
        }
    }

    async fn run_by_ids(&self, sql: &str, table: &str) -> Result<()> {
        let sql = Sql::of_schema(sql);
        let ends: Vec<(Option<u32>, Option<u32>)> = self
            .rows(&format!("SELECT MIN(id), MAX(id) FROM {table}"), vec![])
            .await?;
        let Some(&(Some(first), Some(last))) = ends.first() else {
            return Ok(());
        };
        for from in (first..=last).step_by(CHUNK as usize) {
            let to = from.saturating_add(CHUNK - 1);
            self.database
                .with_session(async |session| session.execute(&sql, params![from, to]).await)
                .await?;
        }
        Ok(())
    }

    /// Whether a query over a column that may not exist yet finds a row.
    async fn finds(&self, sql: &str, live: &inspection::Tables, table: &str, column: &str) -> Result<bool> {
        if live.get(table).and_then(|table| table.column(column)).is_none() {
            return Ok(false);
        }
        Ok(!self.rows::<(i64,)>(sql, vec![]).await?.is_empty())
    }

    async fn rows<T: super::FromRow + Send + 'static>(&self, sql: &str, params: Vec<Param>) -> Result<Vec<T>> {
        rows(&self.database, sql, params).await
    }
}

/// Rows of a statement that is made from the reference: its names are known, its values are bound.
async fn rows<T: super::FromRow + Send + 'static>(
    database: &Database,
    sql: &str,
    params: Vec<Param>,
) -> Result<Vec<T>> {
    database
        .with_session(async |session| session.rows(&Sql::of_schema(sql), params).await)
        .await
}
