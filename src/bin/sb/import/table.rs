//! The table that is read.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use csv::{ByteRecord, Position, Reader, ReaderBuilder};
use sb::contract::{Key, Map, Value};
use serde::{Deserialize, Serialize};

use super::refused::{LINE, REASON};
use crate::failure::{Failure, Result};

/// The columns of a user.
const COLUMNS: [&str; 7] = [
    "first_name",
    "last_name",
    "email",
    "password",
    "profile_image",
    "user_type",
    "department",
];

/// What an export has, and what only the database sets; and what stands before the lines that were refused.
const PASSED_OVER: [&str; 7] = ["id", "token", "creation_time", "last_activity", "typing", LINE, REASON];

/// What an export puts a ' before, so that no spreadsheet computes it.
const SIGNS_OF_FORMULAS: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The file, line by line.
pub struct Table {
    path: String,
    reader: Reader<File>,
    /// The same file again, to count its lines: the reader's own count goes wrong by blank lines and by CR LF.
    counted: BufReader<File>,
    place: Place,
    length: u64,
    header: Vec<String>,
}

/// A place in the file: how many bytes are before it, and how many ends of lines.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    byte: u64,
    ends: u64,
}

impl Place {
    /// How many bytes are before it.
    pub fn byte(self) -> u64 {
        self.byte
    }

    /// The number of the line that it is in, from 1.
    pub fn line(self) -> u64 {
        self.ends + 1
    }
}

/// A line, which may go over several lines of the file.
pub struct Line<'a> {
    header: &'a [String],
    cells: ByteRecord,
    begin: Place,
    end: Place,
}

impl Table {
    /// Opens the file and reads the line that names its columns.
    pub fn open(file: &Path, delimiter: u8) -> Result<Self> {
        let path = file.display().to_string();
        let (opened, again, length) = open(file).map_err(|error| Failure::Failed(format!("{path}: {error}")))?;
        let reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            // A line with too many or too few cells is that line's fault alone.
            .flexible(true)
            .from_reader(opened);
        let mut table = Self {
            path,
            reader,
            counted: BufReader::new(again),
            place: Place::default(),
            length,
            header: Vec::new(),
        };
        let first = table.next()?.map(|line| line.cells).unwrap_or_default();
        table.header = header(&first).map_err(|reason| table.failed(&reason))?;
        Ok(table)
    }

    /// The names of the columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// How many bytes there are.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Goes to where an import was.
    pub fn go_to(&mut self, place: Place) -> Result<()> {
        let mut position = Position::new();
        position.set_byte(place.byte);
        self.reader.seek(position).map_err(|error| self.failed(&error))?;
        self.counted
            .seek(SeekFrom::Start(place.byte))
            .map_err(|error| self.failed(&error))?;
        self.place = place;
        Ok(())
    }

    /// The next line.
    pub fn next(&mut self) -> Result<Option<Line<'_>>> {
        let mut cells = ByteRecord::new();
        let is_there = self.reader.read_byte_record(&mut cells);
        if !is_there.map_err(|error| self.failed(&error))? {
            return Ok(None);
        }
        let (begin, end) = self.count().map_err(|error| self.failed(&error))?;
        self.place = end;
        Ok(Some(Line {
            header: &self.header,
            cells,
            begin,
            end,
        }))
    }

    /// Where the line that was just read begins, behind blank lines, and where it ends.
    fn count(&mut self) -> io::Result<(Place, Place)> {
        let byte = self.reader.position().byte();
        let mut text = vec![0; usize::try_from(byte - self.place.byte).map_err(io::Error::other)?];
        self.counted.read_exact(&mut text)?;
        let blank = text.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let (before, line) = text.split_at(blank);
        let ends = |text: &[u8]| text.split(|byte| *byte == b'\n').skip(1).count() as u64;
        let begin = Place {
            byte: self.place.byte + blank as u64,
            ends: self.place.ends + ends(before),
        };
        Ok((
            begin,
            Place {
                byte,
                ends: begin.ends + ends(line),
            },
        ))
    }

    fn failed(&self, reason: &impl ToString) -> Failure {
        Failure::Failed(format!("{}: {}", self.path, reason.to_string()))
    }
}

fn open(file: &Path) -> io::Result<(File, File, u64)> {
    let opened = File::open(file)?;
    let length = opened.metadata()?.len();
    Ok((opened, File::open(file)?, length))
}

/// The names of the columns, or what is wrong with them.
fn header(first: &ByteRecord) -> std::result::Result<Vec<String>, String> {
    let mut names = Vec::new();
    for (at, name) in first.iter().enumerate() {
        let name = if at == 0 {
            name.strip_prefix(BYTE_ORDER_MARK).unwrap_or(name)
        } else {
            name
        };
        let name = std::str::from_utf8(name).map_err(|_| "its first line is no text in UTF-8".to_owned())?;
        names.push(name.trim().to_owned());
    }
    let mut known = BTreeSet::new();
    if let Some(twice) = names.iter().find(|name| !known.insert(name.as_str())) {
        return Err(format!("its first line names the column {twice:?} twice"));
    }
    if names.iter().any(String::is_empty) {
        return Err("its first line leaves a column without a name".to_owned());
    }
    if !COLUMNS.iter().any(|column| known.contains(column)) {
        return Err(format!(
            "its first line names none of the columns {}",
            COLUMNS.join(", ")
        ));
    }
    Ok(names)
}

/// Whether a column is the table's own, and not of a refusal before.
pub fn is_own(column: &str) -> bool {
    ![LINE, REASON].contains(&column)
}

impl Line<'_> {
    /// Where it begins.
    pub fn begin(&self) -> Place {
        self.begin
    }

    /// Where it ends.
    pub fn end(&self) -> Place {
        self.end
    }

    /// Its cells as they stand there, without those of a refusal before.
    pub fn cells(&self) -> impl Iterator<Item = &[u8]> {
        let is_own = |at: usize| self.header.get(at).is_none_or(|name| is_own(name));
        self.cells
            .iter()
            .enumerate()
            .filter(move |(at, _)| is_own(*at))
            .map(|(_, cell)| cell)
    }

    /// Whether it gives an e-mail address.
    pub fn has_email(&self) -> bool {
        let column = self.header.iter().position(|name| name == "email");
        let cell = column.and_then(|column| self.cells.get(column));
        cell.is_some_and(|cell| !cell.trim_ascii().is_empty())
    }

    /// The settings and the details of whom it describes, or what is wrong with it.
    pub fn person(&self) -> std::result::Result<(Map, Map), String> {
        let (given, wanted) = (self.cells.len(), self.header.len());
        if given != wanted {
            return Err(format!("it has {given} cells and not {wanted}"));
        }
        let (mut settings, mut details) = (Map::new(), Map::new());
        for (name, cell) in self.header.iter().zip(self.cells.iter()) {
            let cell = std::str::from_utf8(cell).map_err(|_| format!("{name} is no text in UTF-8"))?;
            if cell.is_empty() || PASSED_OVER.contains(&name.as_str()) {
                continue;
            }
            let of = if COLUMNS.contains(&name.as_str()) {
                &mut settings
            } else {
                &mut details
            };
            of.insert(Key::from(name.clone()), Value::from(plain(cell)));
        }
        Ok((settings, details))
    }
}

/// A cell without the ' that keeps a spreadsheet from computing it.
fn plain(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(rest) if rest.starts_with(SIGNS_OF_FORMULAS) => rest,
        _ => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_names_each_column_once() {
        let read = |cells: &[&str]| header(&ByteRecord::from(cells.to_vec()));
        assert_eq!(read(&["\u{feff}email", " City "]).unwrap(), ["email", "City"]);
        for (cells, reason) in [
            (&["email", "email"][..], "twice"),
            (&["email", ""], "without a name"),
            (&["city", "id"], "none of the columns"),
            (&[], "none of the columns"),
        ] {
            assert!(read(cells).unwrap_err().contains(reason), "{cells:?}");
        }
    }

    #[test]
    fn what_an_export_has_put_before_a_cell_is_taken_away() {
        for (cell, text) in [
            ("'+1 555", "+1 555"),
            ("'=1+1", "=1+1"),
            ("'twas", "'twas"),
            ("'", "'"),
            ("+1 555", "+1 555"),
        ] {
            assert_eq!(plain(cell), text);
        }
    }
}
