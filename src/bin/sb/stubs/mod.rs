//! `sb stubs`: what is generated from the catalog, and from the client library.

mod documentation;
mod markdown;
mod script;
mod stub;
mod types;

use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::{Failure, Result};
use crate::progress::say;

/// What `sb stubs` takes.
#[derive(Args)]
pub struct Options {
    /// The project's folder.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    project: PathBuf,
    /// Writes nothing, and fails when a file is not what would be written.
    #[arg(long)]
    check: bool,
}

/// The client library.
const CLIENT: &str = include_str!("../../../../include/js/sb-client.js");

/// Runs `sb stubs`.
pub fn run(options: &Options) -> Result<()> {
    let functions = documentation::of_catalog().map_err(Failure::Failed)?;
    let files = [
        ("php/stubs/sb.stub.php", stub::write(&functions)),
        ("docs/functions.md", markdown::write(&functions)),
        ("include/js/sb-client.classic.js", script::write(CLIENT)),
    ];
    for (name, text) in files {
        let path = options.project.join(name);
        let is_current = std::fs::read(&path).is_ok_and(|written| written == text.as_bytes());
        if options.check && !is_current {
            return Err(Failure::Failed(format!("{name} is stale: run `make gen`")));
        }
        if !options.check && !is_current {
            write(&path, &text).map_err(|error| Failure::Failed(format!("{name} cannot be written: {error}")))?;
            say(&format!("{name} is written."))?;
        }
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text)
}
