//! What is done once an hour.
//!
//! Of all who call, on whatever node of a cluster, one gets the turn: the row `cron-last` is changed on the condition that
//! nobody has changed it before. A job that fails does not keep the others from their work, and comes with the next turn.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use chrono::{NaiveDateTime, TimeDelta, Timelike};

use super::cleaning;
use crate::contract::error::Result;
use crate::functions::automations::automations_run_all as run_automations;
use crate::functions::{deliveries, shop};
use crate::params;
use crate::platform::{Context, outbox};

/// The time of the last turn, in full: it decides.
const TURN_ROW: &str = "cron-last";

/// Its hour, which older programs compare with theirs.
const HOUR_ROW: &str = "cron";

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

const NOTE_HOUR: &str = "
    INSERT INTO sb_settings (name, value)
    VALUES (?, ?)
    ON DUPLICATE KEY UPDATE value = ?";

/// How long the outbox is gone through.
const DELIVERY_LIMIT: Duration = Duration::from_secs(30);

/// Something to do each hour. It looks for itself whether the settings want it.
type Job = for<'a> fn(&'a Context<'a>) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

static JOBS: &[Job] = &[
    |cx| Box::pin(clean_up(cx)),
    |cx| Box::pin(automations(cx)),
    |cx| Box::pin(delete_coupons(cx)),
    |cx| Box::pin(deliver(cx)),
    |cx| Box::pin(forget(cx)),
];

/// Does what is due; nothing when it was done within this hour.
pub(super) async fn cron_jobs(cx: &Context<'_>) -> Result<bool> {
    if !take_turn(cx).await? {
        return Ok(true);
    }
    let mut outcome = Ok(true);
    for job in JOBS {
        let done = job(cx).await;
        outcome = outcome.and_then(|_| done.map(|()| true));
    }
    outcome
}

async fn take_turn(cx: &Context<'_>) -> Result<bool> {
    let database = cx.database()?;
    let now = cx.now();
    let last: Option<(Option<String>,)> = database.row(LAST_TURN, params![TURN_ROW]).await?;
    let turn = text(now);
    let taken = match last {
        Some((last,)) if !is_due(last.as_deref(), now) => return Ok(false),
        Some((last,)) => database.execute(TAKE_TURN, params![turn, TURN_ROW, last]).await?,
        None => database.execute(FIRST_TURN, params![TURN_ROW, turn]).await?,
    };
    if taken.affected != 1 {
        return Ok(false);
    }
    let hour = format!("\"{:02}\"", now.hour());
    database.execute(NOTE_HOUR, params![HOUR_ROW, &hour, &hour]).await?;
    Ok(true)
}

/// Whether an hour of the clock has begun since. What is no time, or one that is yet to come, was written by nobody whose
/// clock is right.
fn is_due(last: Option<&str>, now: NaiveDateTime) -> bool {
    let last = last.and_then(|last| NaiveDateTime::parse_from_str(last, FORMAT).ok());
    let hour = now.date().and_hms_opt(now.hour(), 0, 0).unwrap_or(now);
    last.is_none_or(|last| last < hour || last > now + TimeDelta::minutes(5))
}

/// As JSON, as every row of the settings is.
const FORMAT: &str = "\"%Y-%m-%d %H:%M:%S\"";

fn text(time: NaiveDateTime) -> String {
    time.format(FORMAT).to_string()
}

/// Clean-up, where the settings want it by itself.
async fn clean_up(cx: &Context<'_>) -> Result<()> {
    if cx.settings().await?.is_on("admin-auto-archive") {
        cleaning::clean_data(cx).await?;
    }
    Ok(())
}

/// The automations of the active user, before the outbox, which may get something to do by them.
async fn automations(cx: &Context<'_>) -> Result<()> {
    run_automations(cx).await.map(drop)
}

/// Coupons of the shop that have expired, where there is a shop.
async fn delete_coupons(cx: &Context<'_>) -> Result<()> {
    if cx.settings().await?.is_on("shop-active") {
        shop::delete_expired_coupons(cx).await?;
    }
    Ok(())
}

/// What is due in the outbox. A receiver that is slow must not keep the caller for ever.
async fn deliver(cx: &Context<'_>) -> Result<()> {
    let started = Instant::now();
    while deliveries::deliver_due(cx).await? > 0 && started.elapsed() < DELIVERY_LIMIT {}
    Ok(())
}

/// Deliveries, and signs for the feed, that are long done.
async fn forget(cx: &Context<'_>) -> Result<()> {
    outbox::forget_delivered(cx.database()?, cx.now()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_due_in_each_hour_of_the_clock() {
        let now = NaiveDateTime::parse_from_str("2026-11-20 12:30:00", "%Y-%m-%d %H:%M:%S").unwrap();
        for (last, due) in [
            (None, true),
            (Some("\"2026-11-20 11:59:59\""), true),
            (Some("\"2026-11-20 12:00:00\""), false),
            (Some("\"2026-11-20 12:30:00\""), false),
            (Some("\"2026-11-20 12:34:59\""), false),
            (Some("\"2026-11-20 12:36:00\""), true),
            (Some("\"2036-11-20 12:00:00\""), true),
            (Some("\"12\""), true),
            (Some("12"), true),
            (Some(""), true),
            (Some("zzz"), true),
        ] {
            assert_eq!(is_due(last, now), due, "{last:?}");
        }
        assert!(!is_due(Some(&text(now)), now));
    }
}
