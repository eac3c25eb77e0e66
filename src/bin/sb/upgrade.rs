//! `sb upgrade`: brings the tables of any generation to the current schema.

use clap::Args;
use sb::contract::Result as Outcome;
use sb::platform::db::schema::{Plan, Schema};
use sb::platform::engine::Engine;

use crate::failure::{Failure, Result};
use crate::installation::Installation;
use crate::progress::{Progress, say};

/// What `sb upgrade` takes.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    installation: Installation,
    /// Shows what would be done, and does nothing.
    #[arg(long)]
    dry_run: bool,
    /// Adds the keys, and the invisible column, that only make large installations faster.
    #[arg(long)]
    indexes: bool,
}

/// Runs `sb upgrade`.
pub fn run(options: &Options) -> Result<()> {
    let (_, configuration) = options.installation.open()?;
    let schema = Schema::of(&configuration.database);
    let engine = Engine::default();
    let plan = engine.run(async |_| schema.upgrade(options.indexes).await)?;
    if plan.is_empty() {
        say("The tables are up to date: there is nothing to do.")?;
    } else {
        show(&plan)?;
        if !options.dry_run {
            carry_out(&engine, &schema, &plan)?;
            say("The tables are up to date.")?;
        }
    }
    close(&engine, &schema)
}

fn show(plan: &Plan) -> Result<()> {
    for (number, step) in (1..).zip(&plan.steps) {
        say(&format!("{number}. {}", step.sentence))?;
        for line in step.sql.lines() {
            say(&format!("       {line}"))?;
        }
    }
    Ok(())
}

/// Carries the steps of a plan out, showing how far it is.
pub fn carry_out(engine: &Engine, schema: &Schema, plan: &Plan) -> Result<()> {
    let mut progress = Progress::of(plan.steps.len());
    for step in &plan.steps {
        progress.begin(&step.sentence)?;
        let done: Outcome<()> = engine.run(async |_| schema.carry_out(step).await);
        done.map_err(|error| {
            Failure::Failed(format!(
                "stopped at “{}”: {error}; what was done before stays, run it again to go on",
                step.sentence
            ))
        })?;
    }
    progress.end();
    Ok(())
}

/// Closes the connection to the schema.
pub fn close(engine: &Engine, schema: &Schema) -> Result<()> {
    Ok(engine.run(async |_| {
        schema.close().await;
        Ok(())
    })?)
}
