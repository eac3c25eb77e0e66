//! How the program fails: one sentence on stderr, and a status.

use std::io::{self, Write};
use std::process::ExitCode;

use sb::contract::Error;

/// Why the program ends without having done what it was asked for.
#[derive(Debug)]
pub enum Failure {
    /// It could not do it: status 1.
    Failed(String),
    /// The configuration could not be read: status 2.
    Unconfigured(String),
}

/// The result of a command.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// Says why, and gives the status to end with.
    pub fn report(&self) -> ExitCode {
        let (sentence, status) = match self {
            Self::Failed(sentence) => (sentence, 1),
            Self::Unconfigured(sentence) => (sentence, 2),
        };
        // Where even stderr is closed the status still tells.
        let _ = writeln!(io::stderr(), "sb: {sentence}");
        ExitCode::from(status)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if error.code() == "configuration" {
            Self::Unconfigured(error.to_string())
        } else {
            Self::Failed(error.to_string())
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
