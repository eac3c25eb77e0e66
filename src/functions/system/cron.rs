//! What is done once an hour, and e-mails, which are fetched more often.
//!
//! Of all who call, on whatever node of a cluster, one gets the turn. A job that fails does not keep the others from their
//! work, and comes with the next turn.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use chrono::{NaiveDateTime, Timelike};

use super::cleaning;
use crate::contract::error::Result;
use crate::functions::automations::{automations_run_all, automations_run_for_absent};
use crate::functions::{deliveries, notify, shop};
use crate::params;
use crate::platform::{Context, outbox};

/// The time of the last turn, in full: it decides.
const TURN_ROW: &str = "cron-last";

/// Its hour, which older programs compare with theirs.
const HOUR_ROW: &str = "cron";

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

/// Does what is due: once within an hour, but e-mails, whose turn is their own.
pub(super) async fn cron_jobs(cx: &Context<'_>) -> Result<bool> {
    let mut outcome = notify::fetch_emails_by_cron(cx).await;
    if !take_turn(cx).await? {
        return outcome;
    }
    for job in JOBS {
        let done = job(cx).await;
        outcome = outcome.and_then(|done_before| done.map(|()| done_before));
    }
    outcome
}

async fn take_turn(cx: &Context<'_>) -> Result<bool> {
    if !cx.take_turn(TURN_ROW, is_due).await? {
        return Ok(false);
    }
    let hour = format!("\"{:02}\"", cx.now().hour());
    cx.database()?
        .execute(NOTE_HOUR, params![HOUR_ROW, &hour, &hour])
        .await?;
    Ok(true)
}

/// Whether an hour of the clock has begun since.
fn is_due(last: NaiveDateTime, now: NaiveDateTime) -> bool {
    now.date().and_hms_opt(now.hour(), 0, 0).is_none_or(|hour| last < hour)
}

/// Clean-up, where the settings want it by itself.
async fn clean_up(cx: &Context<'_>) -> Result<()> {
    if cx.settings().await?.is_on("admin-auto-archive") {
        cleaning::clean_data(cx).await?;
    }
    Ok(())
}

/// The automations of the active user and those that are due for everyone else, before the outbox, which may get
/// something to do by them.
async fn automations(cx: &Context<'_>) -> Result<()> {
    automations_run_all(cx).await?;
    automations_run_for_absent(cx).await
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
        let time = |text: &str| NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").unwrap();
        let now = time("2026-11-20 12:30:00");
        for (last, due) in [
            ("2026-11-20 11:59:59", true),
            ("2026-11-20 12:00:00", false),
            ("2026-11-20 12:30:00", false),
            ("2026-11-20 12:34:59", false),
        ] {
            assert_eq!(is_due(time(last), now), due, "{last}");
        }
    }
}
