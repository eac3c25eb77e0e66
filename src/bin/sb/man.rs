//! `sb man`: the manual pages of the program, made of the same words as `--help`.

use std::path::PathBuf;

use clap::{Args, CommandFactory};

use crate::Program;
use crate::failure::{Failure, Result};

/// What `sb man` takes.
#[derive(Args)]
pub struct Options {
    /// Where the pages go: sb.1 and one for each command.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Runs `sb man`.
pub fn run(options: &Options) -> Result<()> {
    clap_mangen::generate_to(Program::command(), &options.folder)
        .map_err(|error| Failure::Failed(format!("{}: {error}", options.folder.display())))
}
