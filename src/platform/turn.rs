//! Whose turn it is: of all who call, on whatever node of a cluster, one gets it.
//!
//! A row of the settings holds the time of the last turn. Whoever changes it, on the condition that nobody has changed it
//! before, has the next one.

use chrono::{NaiveDateTime, TimeDelta};

use super::Context;
use crate::contract::error::Result;
use crate::params;

const LAST_TURN: &str = "
    SELECT value
    FROM sb_settings
    WHERE name = ?";

const FIRST_TURN: &str = "
    INSERT IGNORE INTO sb_settings (name, value)
    VALUES (?, ?)";

/// One affected row: nobody else has the turn.
const TAKE_TURN: &str = "
    UPDATE sb_settings
    SET value = ?
    WHERE name = ? AND value <=> ?";

const NOTE_TURN: &str = "
    INSERT INTO sb_settings (name, value)
    VALUES (?, ?)
    ON DUPLICATE KEY UPDATE value = ?";

/// As JSON, as every row of the settings is.
const FORMAT: &str = "\"%Y-%m-%d %H:%M:%S\"";

impl Context<'_> {
    /// Takes the turn that a row stands for, when by the time of the last one and the present it is due.
    pub async fn take_turn(&self, row: &str, is_due: impl Fn(NaiveDateTime, NaiveDateTime) -> bool) -> Result<bool> {
        let database = self.database()?;
        let now = self.now();
        let last: Option<(Option<String>,)> = database.row(LAST_TURN, params![row]).await?;
        let turn = now.format(FORMAT).to_string();
        let taken = match last {
            Some((last,)) if !is_open(last.as_deref(), now, is_due) => return Ok(false),
            Some((last,)) => database.execute(TAKE_TURN, params![turn, row, last]).await?,
            None => database.execute(FIRST_TURN, params![row, turn]).await?,
        };
        Ok(taken.affected == 1)
    }

    /// Has a turn whether or not it is due.
    pub async fn note_turn(&self, row: &str) -> Result<()> {
        let turn = self.now().format(FORMAT).to_string();
        self.database()?.execute(NOTE_TURN, params![row, &turn, &turn]).await?;
        Ok(())
    }
}

/// Whether a turn is there to be taken. What is no time, or one that is yet to come, was written by nobody whose clock is
/// right.
fn is_open(last: Option<&str>, now: NaiveDateTime, is_due: impl Fn(NaiveDateTime, NaiveDateTime) -> bool) -> bool {
    let last = last.and_then(|last| NaiveDateTime::parse_from_str(last, FORMAT).ok());
    last.is_none_or(|last| last > now + TimeDelta::minutes(5) || is_due(last, now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_open_when_it_is_due_or_its_time_cannot_be() {
        let now = NaiveDateTime::parse_from_str("2026-11-20 12:30:00", "%Y-%m-%d %H:%M:%S").unwrap();
        for (last, open) in [
            (None, true),
            (Some("\"2026-11-20 12:28:59\""), true),
            (Some("\"2026-11-20 12:29:00\""), true),
            (Some("\"2026-11-20 12:29:01\""), false),
            (Some("\"2026-11-20 12:34:59\""), false),
            (Some("\"2026-11-20 12:36:00\""), true),
            (Some("\"12\""), true),
            (Some(""), true),
        ] {
            let is_due = |last, now| now - last >= TimeDelta::minutes(1);
            assert_eq!(is_open(last, now, is_due), open, "{last:?}");
        }
    }
}
