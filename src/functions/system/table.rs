//! Tables as CSV (RFC 4180).

use std::io::{self, Write};

use csv::{QuoteStyle, Terminator, Writer, WriterBuilder};

use crate::contract::error::{Error, Result};
use crate::platform::uploads::{self, Upload, Uploads};

/// A table that is written row by row.
pub(super) struct Table<W: Write> {
    /// What errors call it.
    place: String,
    writer: Writer<W>,
}

impl Table<Upload> {
    /// Begins the file `name` of the uploads with its header.
    pub(super) fn create(uploads: &Uploads, name: &str, header: &[impl AsRef<[u8]>]) -> Result<Self> {
        Self::new(&uploads::place(name), uploads.create(name)?, header)
    }

    /// Gives the file its name, and gives its URL.
    pub(super) fn keep(self) -> Result<String> {
        self.end()?.keep()
    }
}

impl<W: Write> Table<W> {
    /// Begins a table with its header; errors call it `place`.
    pub(super) fn new(place: &str, writer: W, header: &[impl AsRef<[u8]>]) -> Result<Self> {
        let writer = WriterBuilder::new()
            .terminator(Terminator::CRLF)
            .quote_style(QuoteStyle::Always)
            // A caller's rows need not be of one length.
            .flexible(true)
            .from_writer(writer);
        let mut table = Self {
            place: place.to_owned(),
            writer,
        };
        if !header.is_empty() {
            table.row(header)?;
        }
        Ok(table)
    }

    /// Adds a row of texts.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<()> {
        for cell in cells {
            self.text(cell.as_ref())?;
        }
        self.end_row()
    }

    /// Adds a text to the present row. A spreadsheet shall show it, and not compute what some visitor has typed.
    pub(super) fn text(&mut self, cell: &[u8]) -> Result<()> {
        if may_be_formula(cell) {
            self.number(&[b"'", cell].concat())
        } else {
            self.number(cell)
        }
    }

    /// Adds a number to the present row, whatever its sign.
    pub(super) fn number(&mut self, cell: &[u8]) -> Result<()> {
        self.writer.write_field(cell).map_err(|error| self.failed(error))
    }

    /// Ends the present row.
    pub(super) fn end_row(&mut self) -> Result<()> {
        self.writer
            .write_record(None::<&[u8]>)
            .map_err(|error| self.failed(error))
    }

    /// Ends the table, and gives back what it was written to.
    pub(super) fn end(self) -> Result<W> {
        let Self { place, writer } = self;
        writer.into_inner().map_err(|error| failed(&place, error.error()))
    }

    fn failed(&self, error: csv::Error) -> Error {
        failed(&self.place, &error.into())
    }
}

fn failed(place: &str, error: &io::Error) -> Error {
    Error::Refused {
        code: "file-error",
        message: format!("{place}: {error}"),
    }
}

/// Whether a spreadsheet would compute a cell instead of showing it. Quotes do not keep it from that.
fn may_be_formula(cell: &[u8]) -> bool {
    matches!(cell.first(), Some(b'=' | b'+' | b'-' | b'@' | b'\t' | b'\r'))
}
