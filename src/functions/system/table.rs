//! Tables as CSV files (RFC 4180) in the uploads.

use csv::{QuoteStyle, Terminator, Writer, WriterBuilder};

use crate::contract::error::{Error, Result};
use crate::platform::uploads::{self, Upload, Uploads};

/// A CSV file that is written row by row.
pub(super) struct Table {
    name: String,
    writer: Writer<Upload>,
}

impl Table {
    /// Begins the file `name` with its header.
    pub(super) fn create(uploads: &Uploads, name: &str, header: &[impl AsRef<[u8]>]) -> Result<Self> {
        let writer = WriterBuilder::new()
            .terminator(Terminator::CRLF)
            .quote_style(QuoteStyle::Always)
            // A caller's rows need not be of one length.
            .flexible(true)
            .from_writer(uploads.create(name)?);
        let mut table = Self {
            name: name.to_owned(),
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

    /// Gives the file its name, and gives its URL.
    pub(super) fn keep(self) -> Result<String> {
        let Self { name, writer } = self;
        let upload = writer.into_inner();
        upload.map_err(|error| uploads::failed(&name, error.error()))?.keep()
    }

    fn failed(&self, error: csv::Error) -> Error {
        uploads::failed(&self.name, &error.into())
    }
}

/// Whether a spreadsheet would compute a cell instead of showing it. Quotes do not keep it from that.
fn may_be_formula(cell: &[u8]) -> bool {
    matches!(cell.first(), Some(b'=' | b'+' | b'-' | b'@' | b'\t' | b'\r'))
}
