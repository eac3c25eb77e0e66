//! `sb cms`: what is done with the content-management system.

use clap::{Args, Subcommand};
use sb::functions::{self, Synchronisation};

use crate::failure::{Failure, Result};
use crate::installation::Installation;
use crate::progress::{Amount, say};

/// What is done.
#[derive(Subcommand)]
pub enum What {
    /// Takes the users of the content-management system over, as `sb_cms_synch` does.
    Sync(Options),
}

/// What `sb cms sync` takes.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    installation: Installation,
}

/// Runs `sb cms`.
pub fn run(What::Sync(options): &What) -> Result<()> {
    let mut shown = Shown::default();
    let done = options
        .installation
        .run(async |cx| Ok(functions::synchronise(cx, |state| shown.note(*state)).await))?;
    let Shown { bar, state } = shown;
    if let Some(bar) = bar {
        bar.end();
    }
    let state = match (done, state) {
        (Ok(state), _) => state,
        (Err(error), None) => return Err(error.into()),
        (Err(error), Some(state)) => {
            let (seen, total) = (state.seen, state.total);
            return Err(Failure::Failed(format!(
                "stopped behind {seen} of {total} users: {error}; run it again to go on"
            )));
        }
    };
    if state.goes_on {
        say("It went on where an earlier run was broken off.")?;
    }
    say(&format!(
        "{} users were looked at: {} are new, {} were brought up to date.",
        state.seen, state.added, state.changed
    ))?;
    Ok(())
}

/// What there is to see while it runs.
#[derive(Default)]
struct Shown {
    bar: Option<Amount>,
    state: Option<Synchronisation>,
}

impl Shown {
    fn note(&mut self, state: Synchronisation) {
        self.state = Some(state);
        let bar = self.bar.get_or_insert_with(|| Amount::of(state.total));
        bar.done(state.seen);
        bar.say(format!("{} new, {} brought up to date", state.added, state.changed));
    }
}
