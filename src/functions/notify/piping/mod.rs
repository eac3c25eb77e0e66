//! E-mails that come in, as messages of conversations.
//!
//! Each e-mail is taken in by one transaction: its message, whatever that needs, and the note that it is no longer pending.
//! Whoever dies on the way has stored all of it or nothing, and of two who fetch the same one only one finds it pending.

mod attachments;
mod author;
mod failures;
mod intake;
mod pending;

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use intake::Intake;
use pending::Pending;

use super::mailboxes::{Mailbox, mailboxes};
use crate::contract::error::{Error, Outcome, Result};
use crate::platform::Context;
use crate::providers::email::{Incoming, Sender};
use crate::providers::mailbox::{self, Letter};

/// The settings row of the last turn.
const TURN_ROW: &str = "email-piping-time";

/// How long a run takes at most: less than the time between two.
const RUN_LIMIT: Duration = Duration::from_secs(30);

/// How far back a mailbox is looked through for the first time.
const FIRST_LOOK: TimeDelta = TimeDelta::days(2);

/// After so many e-mails those that were taken in are marked.
const BATCH: usize = 20;

/// Fetches e-mails now, or when the last time was a minute ago.
pub(super) async fn email_piping(cx: &Context<'_>, force: bool) -> Result<bool> {
    fetch(cx, force, |_| true).await
}

/// Fetches e-mails of the mailboxes that are read with what is done by itself.
pub(crate) async fn fetch_emails_by_cron(cx: &Context<'_>) -> Result<bool> {
    fetch(cx, false, |mailbox| mailbox.is_for_cron).await
}

/// Whether there are mailboxes to read; each is logged in to.
pub async fn reach_mailboxes(cx: &Context<'_>) -> Result<bool> {
    let mailboxes = mailboxes(&*cx.settings().await?);
    for mailbox in &mailboxes {
        mailbox::Mailbox::open(mailbox.account.clone()).await?.close().await;
    }
    Ok(!mailboxes.is_empty())
}

async fn fetch(cx: &Context<'_>, force: bool, wanted: fn(&Mailbox) -> bool) -> Result<bool> {
    let all = mailboxes(&*cx.settings().await?);
    let wanted: Vec<&Mailbox> = all.iter().filter(|mailbox| wanted(mailbox)).collect();
    if wanted.is_empty() {
        return Ok(true);
    }
    if force {
        cx.note_turn(TURN_ROW).await?;
    } else if !cx
        .take_turn(TURN_ROW, |last, now| now - last >= TimeDelta::minutes(1))
        .await?
    {
        return Ok(true);
    }
    let own = own_addresses(cx, &all).await?;
    let started = Instant::now();
    let mut outcome = Ok(true);
    for (position, mailbox) in wanted.iter().enumerate() {
        // What is left is shared with those who follow.
        let left = RUN_LIMIT.saturating_sub(started.elapsed());
        let others = u32::try_from(wanted.len() - position).unwrap_or(u32::MAX);
        let until = Instant::now() + left / others;
        let done = fetch_from(cx, mailbox, &own, until).await;
        // A mailbox that cannot be read does not keep the others from being.
        outcome = outcome.and_then(|_| done.map(|()| true));
    }
    outcome
}

/// The addresses that we send from, and that answers come to.
async fn own_addresses(cx: &Context<'_>, mailboxes: &[Mailbox]) -> Result<Vec<String>> {
    let mut own: Vec<String> = mailboxes.iter().map(|mailbox| mailbox.user().to_lowercase()).collect();
    if Sender::is_set(cx).await?
        && let Ok(sender) = Sender::of(cx).await
    {
        own.push(sender.address().to_lowercase());
    }
    Ok(own)
}

async fn fetch_from(cx: &Context<'_>, settings: &Mailbox, own: &[String], until: Instant) -> Result<()> {
    let mut mailbox = mailbox::Mailbox::open(settings.account.clone()).await?;
    let fetched = fetch_open(cx, settings, own, until, &mut mailbox).await;
    mailbox.close().await;
    fetched
}

async fn fetch_open(
    cx: &Context<'_>,
    settings: &Mailbox,
    own: &[String],
    until: Instant,
    mailbox: &mut mailbox::Mailbox,
) -> Result<()> {
    let pending = Pending::of(&settings.account)?;
    let position = pending.position(cx).await?;
    let (next, found) = mailbox.look(position.as_ref(), cx.now() - FIRST_LOOK).await?;
    let ids = pending.add(cx, position, next, found).await?;
    if ids.is_empty() {
        return Ok(());
    }
    let intake = Intake::of(cx, settings, own, &pending).await?;
    let mut outcome = Ok(());
    for batch in ids.chunks(BATCH) {
        let mut read = Vec::new();
        let taken = take_batch(mailbox, &intake, batch, until, &mut read, &mut outcome).await;
        // Also those before one that failed.
        let marked = mailbox.mark_read(&read).await;
        if !taken? {
            break;
        }
        marked?;
    }
    outcome
}

/// Takes in some e-mails; says whether there is time for more. What fails of one alone becomes the outcome: it stays
/// pending, and the others are taken in.
async fn take_batch(
    mailbox: &mut mailbox::Mailbox,
    intake: &Intake<'_>,
    ids: &[String],
    until: Instant,
    read: &mut Vec<String>,
    outcome: &mut Result<()>,
) -> Result<bool> {
    for id in ids {
        if Instant::now() > until {
            return Ok(false);
        }
        let taken = match mailbox.read(id).await {
            Ok(letter) => intake.take(id, letter.and_then(read_letter)).await,
            Err(error) => Err(error),
        };
        match taken {
            Ok(true) => read.push(id.clone()),
            Ok(false) => {}
            Err(error) if is_of_one(&error) => {
                if outcome.is_ok() {
                    *outcome = Err(error);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn read_letter(letter: Letter) -> Option<Incoming> {
    Incoming::read(letter.content, letter.is_cut)
}

/// Whether an error is one of this e-mail, and the next may do better.
fn is_of_one(error: &Error) -> bool {
    match error {
        // The server is there, and does not give this one.
        Error::Provider(error) => error.outcome == Outcome::NotDone,
        // A column cannot hold what it says.
        Error::Database(error) => error.refuses_a_value(),
        _ => true,
    }
}
