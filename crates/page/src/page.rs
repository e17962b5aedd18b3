//! Reading a page: checks once, then columns on demand.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_buffer::Buffer;
use types::ColumnType;

use crate::column::Column;
use crate::column_reader::{ColumnReader, Selection};
use crate::error::PageError;
use crate::header::{Header, PageIdentity};
use crate::value::Value;

/// A page whose checksum, header and directory have been checked. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Page {
    bytes: Buffer,
    header: Header,
    types: Arc<[ColumnType]>,
}

impl Page {
    /// Checks a page. `bytes` are exactly its bytes, `types` those of the table's columns and
    /// `identity` the place from which it was read.
    pub fn open(
        bytes: Buffer,
        types: &[ColumnType],
        identity: PageIdentity,
    ) -> Result<Self, PageError> {
        let header = Header::open(&bytes, types.len(), identity)?;
        Ok(Self {
            bytes,
            header,
            types: types.into(),
        })
    }

    /// The number of rows, 1 to [`ROWS_MAX`](crate::ROWS_MAX).
    pub fn rows(&self) -> usize {
        self.header.rows
    }

    /// The number of bytes.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Decodes a whole column into an array of its type's
    /// [`arrow_type`](ColumnType::arrow_type).
    pub fn decode(&self, column: usize) -> Result<ArrayRef, PageError> {
        self.column(column).decode(Selection::All)
    }

    /// Decodes the given slots of a column.
    ///
    /// # Panics
    /// When a slot is not below [`rows`](Self::rows), or slots do not ascend strictly.
    pub fn decode_slots(&self, column: usize, slots: &[u32]) -> Result<ArrayRef, PageError> {
        assert!(slots.is_sorted_by(|a, b| a < b), "slots ascend");
        assert!(
            slots
                .last()
                .is_none_or(|&slot| (slot as usize) < self.rows()),
            "slots are rows"
        );
        if slots.len() == self.rows() {
            return self.decode(column);
        }
        self.column(column).decode(Selection::Slots(slots))
    }

    /// The value of every cell of an integer, date or time column, where the page stores it just
    /// once (positions and kinds, mostly) and it is not negative.
    pub fn constant(&self, column: usize) -> Option<u64> {
        let word = self.column(column).constant()?;
        match self.types[column] {
            ColumnType::UInt64 => Some(word),
            ColumnType::Float32 | ColumnType::Float64 => None,
            _ => i64::try_from(word).is_ok().then_some(word),
        }
    }

    /// Opens a column to read cells by slot or to find slots, without decoding it.
    ///
    /// # Panics
    /// When the schema has no such column.
    pub fn open_column(&self, column: usize) -> Result<Column<'_>, PageError> {
        let reader = self.column(column);
        Column::open(
            reader.column_type,
            reader.encoding,
            reader.rows,
            reader.segment,
            reader.section,
        )
    }

    /// The slots of a key, where rows ascend by the given columns: narrowed column by column, so
    /// that columns behind the one that decides are not looked at (Rose section 3.3). An empty
    /// range says where the key would be.
    ///
    /// # Panics
    /// When the schema has no such column, or a value is not of its column's type.
    pub fn find<'v>(
        &self,
        key: impl IntoIterator<Item = (usize, Value<'v>)>,
    ) -> Result<Range<usize>, PageError> {
        let mut slots = 0..self.rows();
        for (column, value) in key {
            slots = self.open_column(column)?.find(slots, &value)?;
            if slots.is_empty() {
                break;
            }
        }
        Ok(slots)
    }

    fn column(&self, column: usize) -> ColumnReader<'_> {
        assert!(
            column < self.types.len(),
            "the schema has no column {column}"
        );
        ColumnReader {
            column_type: self.types[column],
            encoding: self.header.encoding(&self.bytes, column),
            rows: self.header.rows,
            segment: &self.bytes[self.header.segment(&self.bytes, column)],
            section: &self.bytes[self.header.section(&self.bytes)],
        }
    }
}
