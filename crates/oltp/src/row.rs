//! Rows that a batch has found.

use types::Value;

use crate::index::Index;
use crate::pointer::{Pointer, Target};
use crate::row_layout::RowBytes;
use crate::schema::ColumnNumber;
use crate::stop::Stop;
use crate::table::Table;

/// A row in memory, or what its index knows of an evicted one.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    table: &'a Table,
    bytes: Bytes<'a>,
}

#[derive(Clone, Copy)]
enum Bytes<'a> {
    Memory(RowBytes<'a>),
    Evicted(&'a Index, &'a [u8]),
}

impl<'a> Row<'a> {
    /// The row of a pointer that was found in an index under a key.
    #[inline]
    pub(crate) fn new(table: &'a Table, index: u16, key: &'a [u8], pointer: Pointer) -> Self {
        let bytes = match pointer.target() {
            Target::Memory(id) => Bytes::Memory(table.row(id)),
            Target::Evicted(_) => Bytes::Evicted(&table.indexes[usize::from(index)], key),
        };
        Self { table, bytes }
    }

    /// A cell. Of an evicted row there are the numbers at the beginning of the key; for anything else
    /// the transaction has to come back: [`Stop::Evicted`].
    ///
    /// # Panics
    /// When there is no such column.
    #[inline]
    pub fn value(&self, column: ColumnNumber) -> Result<Value<'a>, Stop> {
        match self.bytes {
            Bytes::Memory(row) => Ok(self.table.layout.value(row, column)),
            Bytes::Evicted(index, key) => index.layout.decode(key, column).ok_or(Stop::Evicted),
        }
    }

    /// The cell of an integer, date or time column that is not NULL.
    ///
    /// # Panics
    /// When the column is of another type or the cell is NULL.
    #[inline]
    pub fn int(&self, column: ColumnNumber) -> Result<i64, Stop> {
        match self.value(column)? {
            Value::Int(int) => Ok(int),
            other => panic!("{other:?} is no integer"),
        }
    }

    /// The cell of a text or bytes column that is not NULL.
    ///
    /// # Panics
    /// When the column is of another type or the cell is NULL.
    #[inline]
    pub fn bytes(&self, column: ColumnNumber) -> Result<&'a [u8], Stop> {
        match self.value(column)? {
            Value::Bytes(bytes) => Ok(bytes),
            other => panic!("{other:?} is no text"),
        }
    }

    /// All texts of the row end to end, in the order of their columns.
    #[inline]
    pub fn texts(&self) -> Result<&'a [u8], Stop> {
        match self.bytes {
            Bytes::Memory(row) => Ok(row.text),
            Bytes::Evicted(..) => Err(Stop::Evicted),
        }
    }

    /// Whether the row is on disk.
    pub fn is_evicted(&self) -> bool {
        matches!(self.bytes, Bytes::Evicted(..))
    }
}
