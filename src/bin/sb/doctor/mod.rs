//! `sb doctor`: looks an installation over, and says of each finding what to do.

mod database;
mod files;
mod report;
mod services;

use clap::Args;
use sb::platform::engine::Engine;

use crate::failure::{Failure, Result};
use crate::installation::Installation;
use report::Report;

/// What `sb doctor` takes.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    installation: Installation,
}

/// Runs `sb doctor`.
pub fn run(options: &Options) -> Result<()> {
    let (host, configuration) = options.installation.open()?;
    let engine = Engine::default();
    let mut report = Report::begin();
    files::look(&configuration, options.installation.file(), &mut report)?;
    // What lies in the database cannot be looked at without one.
    if database::look(&engine, &configuration, &mut report)? {
        services::look(&engine, &host, &mut report)?;
    }
    match report.findings() {
        0 => Ok(()),
        1 => Err(Failure::Failed("1 finding".into())),
        findings => Err(Failure::Failed(format!("{findings} findings"))),
    }
}
