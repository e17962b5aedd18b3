//! Pages from rows that come one by one (Rose section 3.5).
//!
//! 1. Take rows into column builders.
//! 2. Once so many wait that a page is certain whatever follows (see
//!    [`PageEncoder::is_settled`]), and as many again, turn them into arrays and let the encoder
//!    take page after page.
//! 3. When the next page is no longer certain, put the rows left back into the builders. A row is
//!    copied about once for that.
//!
//! Rose appends to each column's compressed form and stops when the page is full. Here codecs
//! are chosen from the rows that they encode, so rows have to wait; the encoder never looks
//! further than [`ROWS_MAX`] rows ahead.
//!
//! Invariants: pages are to the byte those that [`PageEncoder::encode`] makes of all rows as one
//! batch (in which NULL cells hide no text: that would count, too). A row is taken whole or not
//! at all. What waits is bounded: twice [`ROWS_MAX`] rows, and of each column of text twice what a
//! page may unfold to, and one row.

use arrow_array::{Array, ArrayRef};
use types::{ColumnType, Value};

use crate::cell_builder::CellBuilder;
use crate::encoder::PageEncoder;
use crate::header::PageIdentity;
use crate::limits::{ROW_TEXT_BYTES_MAX, ROWS_MAX, decoded_text_bytes_max};

/// Why a row was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// Not one value a column.
    #[error("a row of {found} values, the table has {expected} columns")]
    Count {
        /// The table's columns.
        expected: usize,
        /// The row's values.
        found: usize,
    },
    /// A value of another type, a number beyond the type's range, or text that is not UTF-8.
    #[error("column {column}: the value is none of {column_type:?}")]
    Type {
        /// The column's index.
        column: usize,
        /// The column's type.
        column_type: ColumnType,
    },
    /// The row's text and bytes together exceed [`ROW_TEXT_BYTES_MAX`].
    #[error("a row of {found} bytes of text, a page holds at most {ROW_TEXT_BYTES_MAX}")]
    Length {
        /// The row's bytes of text.
        found: usize,
    },
}

/// Makes pages from rows.
///
/// ```
/// # use page::{PageIdentity, RowAppender};
/// use types::Value;
/// # use types::ColumnType;
/// let mut appender = RowAppender::new(&[ColumnType::Int64], 4096);
/// let mut file = Vec::new();
/// for number in 0..100_000 {
///     appender.append(&[Value::Int(number)])?;
///     while appender.has_page() {
///         let identity = PageIdentity { file: 1, offset: file.len() as u64 };
///         appender.take_page(identity, &mut file);
///     }
/// }
/// while appender.rows() > 0 {
///     let identity = PageIdentity { file: 1, offset: file.len() as u64 };
///     appender.take_page(identity, &mut file);
/// }
/// # Ok::<(), page::RowError>(())
/// ```
#[derive(Debug)]
pub struct RowAppender {
    encoder: PageEncoder,
    types: Vec<ColumnType>,
    builders: Vec<CellBuilder>,
    /// Rows in the builders.
    built: usize,
    /// Bytes of text in the builder that has most.
    text_bytes: usize,
    text_bytes_enough: usize,
    /// Arrays of rows that pages are being made of, from row `start` on; none while rows are in
    /// the builders.
    arrays: Vec<ArrayRef>,
    start: usize,
}

impl RowAppender {
    /// For tables of these columns.
    ///
    /// # Panics
    /// As [`PageEncoder::new`].
    pub fn new(types: &[ColumnType], capacity_bytes: usize) -> Self {
        let builder = |&column_type| CellBuilder::new(column_type);
        Self {
            encoder: PageEncoder::new(types, capacity_bytes),
            types: types.to_vec(),
            builders: types.iter().map(builder).collect(),
            built: 0,
            text_bytes: 0,
            text_bytes_enough: 2 * decoded_text_bytes_max(capacity_bytes, ROWS_MAX),
            arrays: Vec::new(),
            start: 0,
        }
    }

    /// Takes a row: one value a column.
    pub fn append(&mut self, row: &[Value<'_>]) -> Result<(), RowError> {
        self.check(row)?;
        self.put_back();
        for (builder, value) in self.builders.iter_mut().zip(row) {
            builder.push(value);
            self.text_bytes = self.text_bytes.max(builder.text_bytes());
        }
        self.built += 1;
        Ok(())
    }

    fn check(&self, row: &[Value<'_>]) -> Result<(), RowError> {
        if row.len() != self.builders.len() {
            return Err(RowError::Count {
                expected: self.builders.len(),
                found: row.len(),
            });
        }
        let mut text_bytes = 0;
        for (column, (builder, value)) in self.builders.iter().zip(row).enumerate() {
            if let Value::Bytes(bytes) = value {
                text_bytes += bytes.len();
            }
            if !builder.accepts(value) {
                return Err(RowError::Type {
                    column,
                    column_type: self.types[column],
                });
            }
        }
        if text_bytes > ROW_TEXT_BYTES_MAX {
            return Err(RowError::Length { found: text_bytes });
        }
        Ok(())
    }

    /// Rows that were taken and are in no page yet.
    pub fn rows(&self) -> usize {
        match self.arrays.first() {
            Some(array) => array.len() - self.start,
            None => self.built,
        }
    }

    /// Whether to take a page now: it is certain, whatever rows follow. Once it is, several
    /// pages may be.
    pub fn has_page(&self) -> bool {
        if self.arrays.is_empty() {
            self.built >= 2 * ROWS_MAX || self.text_bytes > self.text_bytes_enough
        } else {
            self.encoder.is_settled(&self.arrays, self.start)
        }
    }

    /// Appends the next page to `out` and returns its number of rows. While rows are still to
    /// come, only to be called when there is a page ([`has_page`](Self::has_page)).
    ///
    /// # Panics
    /// When no rows wait.
    pub fn take_page(&mut self, identity: PageIdentity, out: &mut Vec<u8>) -> usize {
        assert!(self.rows() > 0, "a page has at least one row");
        if self.arrays.is_empty() {
            self.arrays = self.builders.iter_mut().map(CellBuilder::finish).collect();
            self.built = 0;
            self.text_bytes = 0;
        }
        let rows = self.encoder.encode(&self.arrays, self.start, identity, out);
        self.start += rows;
        if self.rows() == 0 {
            self.arrays.clear();
            self.start = 0;
        }
        rows
    }

    /// Puts rows that were meant for pages back to those that wait.
    fn put_back(&mut self) {
        let Some(array) = self.arrays.first() else {
            return;
        };
        self.built = array.len() - self.start;
        for (builder, array) in self.builders.iter_mut().zip(self.arrays.drain(..)) {
            builder.push_rest(&array, self.start);
            self.text_bytes = self.text_bytes.max(builder.text_bytes());
        }
        self.start = 0;
    }
}
