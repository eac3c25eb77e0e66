//! The lines that could not be taken over: kept as they were, behind their numbers and the reasons.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use csv::{ByteRecord, WriterBuilder};

use super::table::{Line, is_own};
use crate::failure::{Failure, Result};

/// The column of the number.
pub const LINE: &str = "line";
/// The column of the reason.
pub const REASON: &str = "reason";

/// The file of these lines, which comes with the first of them. Once it is corrected it can itself be imported.
pub struct Refused {
    path: PathBuf,
    header: ByteRecord,
    delimiter: u8,
}

impl Refused {
    /// Of a table with this header.
    pub fn of(table: &Path, header: &[String], delimiter: u8) -> Self {
        let mut name = table.as_os_str().to_owned();
        name.push(".refused");
        let own = header.iter().map(String::as_str).filter(|name| is_own(name));
        Self {
            path: PathBuf::from(name),
            header: [LINE, REASON].into_iter().chain(own).collect::<Vec<_>>().into(),
            delimiter,
        }
    }

    /// Where it is.
    pub fn place(&self) -> String {
        self.path.display().to_string()
    }

    /// Removes what a former import has left.
    pub fn remove(&self) -> Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(self.failed(&error)),
            _ => Ok(()),
        }
    }

    /// Adds a line. It is there when this returns.
    pub fn add(&self, line: &Line<'_>, reason: &str) -> Result<()> {
        let mut record = ByteRecord::new();
        record.push_field(line.begin().line().to_string().as_bytes());
        record.push_field(reason.as_bytes());
        line.cells().for_each(|cell| record.push_field(cell));
        self.write(&record).map_err(|error| self.failed(&error))
    }

    fn write(&self, record: &ByteRecord) -> io::Result<()> {
        // It holds what the table holds, passwords perhaps.
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.path)?;
        let mut writer = WriterBuilder::new()
            .delimiter(self.delimiter)
            .flexible(true)
            .from_writer(Vec::new());
        if file.metadata()?.len() == 0 {
            writer.write_byte_record(&self.header)?;
        }
        writer.write_byte_record(record)?;
        let text = writer
            .into_inner()
            .map_err(|error| io::Error::other(error.to_string()))?;
        file.write_all(&text)
    }

    fn failed(&self, error: &io::Error) -> Failure {
        Failure::Failed(format!("{}: {error}", self.path.display()))
    }
}
