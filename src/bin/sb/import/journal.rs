//! How far an import is.
//!
//! One line of JSON, written over itself before and after each line of the table. It is short enough to be written
//! whole or not at all by a process that is killed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::table::{Line, Place};
use crate::failure::{Failure, Result};

/// The notes of an import.
pub struct Journal {
    path: PathBuf,
    file: File,
    state: State,
    is_new: bool,
    length: usize,
}

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
struct State {
    /// Which file it is: its size and the time of its last change. A changed one has other lines.
    size: u64,
    changed: i64,
    /// Where to go on.
    place: Place,
    /// The line there was begun, and may be done.
    begun: bool,
    added: u64,
    refused: u64,
}

impl Journal {
    /// Opens the notes on a table, or begins them.
    pub fn open(table: &Path) -> Result<Self> {
        let mut name = table.as_os_str().to_owned();
        name.push(".progress");
        let path = PathBuf::from(name);
        let shown = path.display().to_string();
        let failed = |reason: String| Failure::Failed(format!("{shown}: {reason}"));
        let found = fs::metadata(table).map_err(|error| failed(error.to_string()))?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(|error| failed(error.to_string()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(failed("another import of this file is running".into())),
            Err(TryLockError::Error(error)) => return Err(failed(error.to_string())),
        }
        let mut text = String::new();
        file.read_to_string(&mut text)
            .map_err(|error| failed(error.to_string()))?;
        let fresh = State {
            size: found.size(),
            changed: found.mtime(),
            ..State::default()
        };
        let is_new = text.trim().is_empty();
        let state = if is_new {
            fresh.clone()
        } else {
            serde_json::from_str(&text).map_err(|_| failed("these are no notes of an import".into()))?
        };
        if (state.size, state.changed) != (fresh.size, fresh.changed) {
            return Err(failed(format!(
                "{} was changed since its import began; remove these notes to begin anew",
                table.display()
            )));
        }
        Ok(Self {
            path,
            file,
            state,
            is_new,
            length: text.len(),
        })
    }

    /// Whether nothing was imported yet.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Where to go on.
    pub fn place(&self) -> Place {
        self.state.place
    }

    /// How many were added.
    pub fn added(&self) -> u64 {
        self.state.added
    }

    /// How many were refused.
    pub fn refused(&self) -> u64 {
        self.state.refused
    }

    /// Whether an earlier run was interrupted within this line.
    pub fn was_begun(&self, line: &Line<'_>) -> bool {
        self.state.begun && line.begin() == self.state.place
    }

    /// A line is begun.
    pub fn begin(&mut self, line: &Line<'_>) -> Result<()> {
        self.state.place = line.begin();
        self.state.begun = true;
        self.write()
    }

    /// The line that was begun is certainly not done.
    pub fn take_back(&mut self) -> Result<()> {
        self.state.begun = false;
        self.write()
    }

    /// The line is done.
    pub fn added_one(&mut self, line: &Line<'_>) -> Result<()> {
        self.state.added += 1;
        self.done(line)
    }

    /// The line is put aside.
    pub fn refused_one(&mut self, line: &Line<'_>) -> Result<()> {
        self.state.refused += 1;
        self.done(line)
    }

    /// All lines are worked off.
    pub fn remove(self) -> Result<()> {
        fs::remove_file(&self.path).map_err(|error| self.failed(&error))
    }

    fn done(&mut self, line: &Line<'_>) -> Result<()> {
        self.state.place = line.end();
        self.state.begun = false;
        self.write()
    }

    fn write(&mut self) -> Result<()> {
        let text = serde_json::to_string(&self.state).map_err(|error| Failure::Failed(error.to_string()))?;
        // What a longer line before has left is covered by blanks.
        let text = format!("{text:<width$}", width = self.length);
        self.length = text.len();
        let written = self
            .file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.write_all(text.as_bytes()));
        written.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &std::io::Error) -> Failure {
        Failure::Failed(format!("{}: {error}", self.path.display()))
    }
}
