//! Arrow batches as PostgreSQL's data rows.
//!
//! 1. [`wire_type()`] decides what a client is told about a column: the source's type where the
//!    Arrow column still has that type's storage, otherwise PostgreSQL's nearest.
//! 2. [`RowEncoder::bind`] brings every column of a batch into one of a few canonical Arrow
//!    types ([`cells`]).
//! 3. [`Rows::append`] writes one row's cells, as text ([`number`], [`datetime`], [`mod@array`], [`record`]) or
//!    in binary ([`binary`]).
//!
//! Invariants: the bytes are exactly those that PostgreSQL sends for the same value and type;
//! a type is announced only if both its formats can be written; no data makes it panic.

pub mod array;
pub mod binary;
pub mod cells;
pub mod datetime;
pub mod number;
pub mod record;
pub mod wire_type;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use bytes::{BufMut, BytesMut};

pub use cells::Cells;
pub use wire_type::{WireType, wire_type};

/// The format of a cell on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// PostgreSQL's text.
    Text,
    /// PostgreSQL's binary form.
    Binary,
}

/// A value that cannot be written in its type's form.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EncodeError {
    /// The value does not fit the announced type.
    #[error("{type_name} out of range")]
    OutOfRange {
        /// The announced type.
        type_name: &'static str,
    },
    /// Stored text is not the text of its type.
    #[error("invalid {type_name}: {text:?}")]
    Malformed {
        /// The announced type.
        type_name: &'static str,
        /// The text, cut short.
        text: String,
    },
    /// An Arrow kernel failed.
    #[error("{0}")]
    Arrow(String),
}

impl EncodeError {
    /// Longest part of a bad value that an error repeats, characters.
    const SHOWN_CHARACTERS: usize = 60;

    pub(super) fn malformed(type_name: &'static str, text: &str) -> Self {
        Self::Malformed {
            type_name,
            text: text.chars().take(Self::SHOWN_CHARACTERS).collect(),
        }
    }

    /// The SQLSTATE that a client is told.
    pub fn code(&self) -> &'static str {
        match self {
            Self::OutOfRange { .. } => "22003",
            Self::Malformed { .. } => "22P02",
            Self::Arrow(_) => "XX000",
        }
    }
}

/// How the columns of a result are written.
#[derive(Clone, Debug)]
pub struct RowEncoder {
    columns: Vec<(WireType, Format)>,
}

impl RowEncoder {
    /// For results of `schema`; `format` tells each column's format.
    pub fn new(schema: &Schema, format: impl Fn(usize) -> Format) -> Self {
        let columns = schema.fields().iter().enumerate();
        Self {
            columns: columns
                .map(|(index, f)| (wire_type(f), format(index)))
                .collect(),
        }
    }

    /// Prepares the rows of a batch for writing.
    pub fn bind(&self, batch: &RecordBatch) -> Result<Rows, EncodeError> {
        let columns = self.columns.iter().zip(batch.columns());
        let cells =
            columns.map(|((wire_type, format), array)| Cells::new(array, wire_type, *format));
        Ok(Rows {
            rows: batch.num_rows(),
            cells: cells.collect::<Result<_, _>>()?,
        })
    }
}

/// A batch whose rows can be written one by one.
#[derive(Debug)]
pub struct Rows {
    rows: usize,
    cells: Vec<Cells>,
}

impl Rows {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Appends one row as a complete DataRow message. After an error nothing has been added.
    pub fn append(&self, row: usize, out: &mut BytesMut) -> Result<(), EncodeError> {
        let start = out.len();
        out.put_u8(b'D');
        out.put_i32(0);
        if let Err(error) = self.append_cells(row, out) {
            out.truncate(start);
            return Err(error);
        }
        let length = out.len() - start - 1;
        let Ok(length) = i32::try_from(length) else {
            out.truncate(start);
            return Err(EncodeError::OutOfRange {
                type_name: "row size",
            });
        };
        out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }

    /// The cells, by column.
    pub fn cells(&self) -> &[Cells] {
        &self.cells
    }

    /// Appends a row's cells after their number, each after its length.
    pub fn append_cells(&self, row: usize, out: &mut BytesMut) -> Result<(), EncodeError> {
        out.put_u16(self.cells.len() as u16);
        self.cells
            .iter()
            .try_for_each(|cells| cells.append(row, out))
    }
}

#[cfg(test)]
mod tests;
