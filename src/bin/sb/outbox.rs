//! `sb outbox`: shows what waits to be delivered or was given up, and tries it again.

use clap::{Args, Subcommand};
use sb::functions::{deliver_all, deliver_due};
use sb::platform::outbox::State;
use sb::platform::outbox::review::{self, Shown};

use crate::failure::{Failure, Result};
use crate::installation::Installation;
use crate::progress::say;

/// What `sb outbox` takes.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Lists what is not delivered: calls of webhooks, e-mails, texts.
    List(List),
    /// Tries deliveries again, at once. Status 1 when one of them fails.
    Retry(Retry),
}

#[derive(Args)]
struct List {
    #[command(flatten)]
    installation: Installation,
    /// Those in this state only: waiting, claimed, delivered, dead.
    #[arg(long, value_parser = state)]
    state: Option<State>,
    /// How many of each state at most.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
}

#[derive(Args)]
struct Retry {
    #[command(flatten)]
    installation: Installation,
    /// The ids of the deliveries, as `sb outbox list` shows them.
    #[arg(required_unless_present = "all", conflicts_with = "all", value_name = "ID")]
    ids: Vec<u64>,
    /// Everything that was given up.
    #[arg(long)]
    all: bool,
}

/// How many are tried again by one command.
const MOST: u32 = 100_000;

/// Runs `sb outbox`.
pub fn run(options: &Options) -> Result<()> {
    match &options.command {
        Command::List(options) => list(options),
        Command::Retry(options) => retry(options),
    }
}

fn state(text: &str) -> std::result::Result<State, String> {
    let mut states = State::ALL.into_iter();
    states
        .find(|state| state.text() == text)
        .ok_or_else(|| format!("states are {}", State::ALL.map(State::text).join(", ")))
}

fn list(options: &List) -> Result<()> {
    let states = match options.state {
        Some(state) => vec![state],
        None => vec![State::Waiting, State::Claimed, State::Dead],
    };
    let deliveries = options.installation.run(async |cx| {
        let mut deliveries = Vec::new();
        for state in states {
            deliveries.extend(review::list(cx.database()?, state, options.limit).await?);
        }
        Ok(deliveries)
    })?;
    if deliveries.is_empty() {
        return Ok(say("There is none.")?);
    }
    for delivery in deliveries {
        say(&line(&delivery))?;
    }
    Ok(())
}

fn retry(options: &Retry) -> Result<()> {
    let tried = options.installation.run(async |cx| {
        let database = cx.database()?;
        let ids = if options.all {
            let dead = review::list(database, State::Dead, MOST).await?;
            dead.into_iter().map(|delivery| delivery.id).collect()
        } else {
            options.ids.clone()
        };
        for id in &ids {
            review::revive(database, cx.now(), *id).await?;
        }
        while deliver_due(cx).await? > 0 {}
        // What follows from a delivery.
        deliver_all(cx).await?;
        let mut tried = Vec::with_capacity(ids.len());
        for id in ids {
            tried.push((id, review::find(database, id).await?));
        }
        Ok(tried)
    })?;
    let mut failed = 0;
    for (id, delivery) in &tried {
        let is_delivered = delivery
            .as_ref()
            .is_some_and(|delivery| delivery.state == Some(State::Delivered));
        failed += usize::from(!is_delivered);
        match delivery {
            Some(delivery) => say(&line(delivery))?,
            None => say(&format!("{id}: there is no such delivery"))?,
        }
    }
    match (tried.len(), failed) {
        (0, _) => Ok(say("There is none.")?),
        (_, 0) => Ok(()),
        (all, failed) => Err(Failure::Failed(format!("{failed} of {all} are not delivered"))),
    }
}

/// A delivery in a line.
fn line(delivery: &Shown) -> String {
    let Shown {
        id,
        channel,
        event,
        attempts,
        created,
        next_try,
        ..
    } = delivery;
    let tries = match attempts {
        0 => "not tried yet".to_owned(),
        1 => "tried once".to_owned(),
        count => format!("tried {count} times"),
    };
    let next = match delivery.state {
        Some(State::Waiting) => format!(", due {next_try}"),
        _ => String::new(),
    };
    let failure = delivery
        .failure
        .as_ref()
        .map_or_else(String::new, |failure| format!(": {failure}"));
    let state = delivery.state.map_or("of a newer version", State::text);
    format!("{id}: {channel} {event}, {state}, recorded {created}, {tries}{next}{failure}")
}
