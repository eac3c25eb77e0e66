//! `sb export`: writes people into a file.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use sb::functions;
use sb::platform::Context;
use sb::platform::context::Request;
use sb::platform::engine::Engine;

use crate::failure::{Failure, Result};
use crate::installation::Installation;
use crate::progress::Amount;

/// What is exported.
#[derive(Subcommand)]
pub enum What {
    /// Writes all users with their details as CSV, as sb_csv_users does.
    Users(Options),
}

/// What `sb export users` takes.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    installation: Installation,
    /// The file to write; the standard output when not given. One of that name is replaced when all is written.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Runs `sb export`.
pub fn run(What::Users(options): &What) -> Result<()> {
    match &options.file {
        None => write(options, "the standard output", io::stdout().lock()).map(drop),
        Some(file) => to_file(options, file),
    }
}

/// Nobody sees a file that is half written, nor may everybody read it.
fn to_file(options: &Options, file: &Path) -> Result<()> {
    let place = file.display().to_string();
    let failed = |error: io::Error| Failure::Failed(format!("{place}: {error}"));
    let mut name = file.as_os_str().to_owned();
    name.push(".part");
    let part = PathBuf::from(name);
    let opened = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&part)
        .map_err(failed)?;
    let written = write(options, &place, opened).and_then(|opened| {
        opened.sync_all().map_err(failed)?;
        fs::rename(&part, file).map_err(failed)
    });
    if written.is_err() {
        // What cannot be written can mostly be removed.
        let _ = fs::remove_file(&part);
    }
    written
}

fn write<W: Write>(options: &Options, place: &str, to: W) -> Result<W> {
    let (host, _) = options.installation.open()?;
    let (engine, request, amount) = (Engine::default(), Request::default(), Amount::of_unknown());
    let written = engine.run(async |process| {
        let cx = Context::new(&host, process, &request);
        functions::write_users(&cx, place, BufWriter::new(to), |count| amount.done(count)).await
    });
    amount.end();
    let written = written?.into_inner();
    written.map_err(|error| Failure::Failed(format!("{place}: {}", error.error())))
}
