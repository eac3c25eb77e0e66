//! Looking the outbox through, and trying again what was given up.

use chrono::NaiveDateTime;

use super::State;
use crate::contract::error::Result;
use crate::params;
use crate::platform::db::Database;

const FIND: &str = "
    SELECT id, channel, event, state, attempts, DATE_FORMAT(created, '%Y-%m-%d %H:%i:%s'),
        DATE_FORMAT(next_try, '%Y-%m-%d %H:%i:%s'), failure
    FROM sb_outbox
    WHERE id = ?";

const LIST: &str = "
    SELECT id, channel, event, state, attempts, DATE_FORMAT(created, '%Y-%m-%d %H:%i:%s'),
        DATE_FORMAT(next_try, '%Y-%m-%d %H:%i:%s'), failure
    FROM sb_outbox
    WHERE state = ?
    ORDER BY next_try, id
    LIMIT ?";

/// Nobody may have it, and nobody needs what has arrived.
const REVIVE: &str = "
    UPDATE sb_outbox
    SET state = 0, attempts = 0, next_try = ?
    WHERE id = ? AND state IN (0, 3)";

/// A delivery as people see it.
pub struct Shown {
    /// By which it is told from others.
    pub id: u64,
    /// What delivers it.
    pub channel: String,
    /// The event's name.
    pub event: String,
    /// What has become of it; `None` when a newer version has a word for it.
    pub state: Option<State>,
    /// How often it was tried.
    pub attempts: u8,
    /// When it was recorded, in UTC.
    pub created: String,
    /// When it is tried again, where it waits.
    pub next_try: String,
    /// Why the last try failed.
    pub failure: Option<String>,
}

/// A row of [`LIST`].
type Row = (u64, String, String, u8, u8, String, String, Option<String>);

impl From<Row> for Shown {
    fn from((id, channel, event, state, attempts, created, next_try, failure): Row) -> Self {
        Self {
            id,
            channel,
            event,
            state: State::ALL.into_iter().find(|own| *own as u8 == state),
            attempts,
            created,
            next_try,
            failure,
        }
    }
}

/// The delivery of an id.
pub async fn find(database: &Database, id: u64) -> Result<Option<Shown>> {
    let row: Option<Row> = database.row(FIND, params![id]).await?;
    Ok(row.map(Shown::from))
}

/// The deliveries of a state, those that are next, or were last tried, the longest ago first.
pub async fn list(database: &Database, state: State, limit: u32) -> Result<Vec<Shown>> {
    let rows: Vec<Row> = database.rows(LIST, params![state as u8, limit]).await?;
    Ok(rows.into_iter().map(Shown::from).collect())
}

/// Makes a delivery due as if it had never been tried. One that arrived, or that somebody has right now, stays as it is.
pub async fn revive(database: &Database, now: NaiveDateTime, id: u64) -> Result<()> {
    database.execute(REVIVE, params![now, id]).await?;
    Ok(())
}
