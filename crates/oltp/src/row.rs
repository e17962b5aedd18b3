//! Rows that a batch has found.
//!
//! A row that is to be changed says where it is: then the statement that changes it does not look for it
//! again.

use types::Value;

use crate::index::Index;
use crate::partition_set::PartitionNumber;
use crate::pointer::{Pointer, Target, TupleId};
use crate::schema::{ColumnNumber, TableNumber};
use crate::stop::Stop;
use crate::table::Table;

/// A row in memory, or what its index knows of an evicted one.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    table: &'a Table,
    bytes: Bytes<'a>,
    finder: Finder,
}

#[derive(Clone, Copy)]
enum Bytes<'a> {
    /// The body.
    Memory(TupleId, &'a [u8]),
    Evicted(&'a Index, &'a [u8]),
}

/// The side of a transaction that has found a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Finder {
    pub(crate) transaction: u64,
    pub(crate) partition: PartitionNumber,
}

/// Where a row is, for the transaction that has found it, on the partition where it has.
#[derive(Clone, Copy, Debug)]
pub struct RowHandle {
    pub(crate) finder: Finder,
    pub(crate) table: TableNumber,
    pub(crate) id: TupleId,
}

impl<'a> Row<'a> {
    /// The row of a pointer that was found in an index under a key.
    #[inline]
    pub(crate) fn new(
        table: &'a Table,
        index: u16,
        key: &'a [u8],
        pointer: Pointer,
        finder: Finder,
    ) -> Self {
        let bytes = match pointer.target() {
            Target::Memory(id) => Bytes::Memory(id, table.body(id)),
            Target::Evicted(_) => Bytes::Evicted(&table.indexes[usize::from(index)], key),
        };
        Self {
            table,
            bytes,
            finder,
        }
    }

    /// Where the row is, to change it without another look-up; for an evicted one the transaction has to
    /// come back: [`Stop::Evicted`].
    #[inline]
    pub fn handle(&self) -> Result<RowHandle, Stop> {
        match self.bytes {
            Bytes::Memory(id, _) => Ok(RowHandle {
                finder: self.finder,
                table: self.table.number,
                id,
            }),
            Bytes::Evicted(..) => Err(Stop::Evicted),
        }
    }

    /// A cell. Of an evicted row there are the numbers at the beginning of the key; for anything else
    /// the transaction has to come back: [`Stop::Evicted`].
    ///
    /// # Panics
    /// When there is no such column.
    #[inline]
    pub fn value(&self, column: ColumnNumber) -> Result<Value<'a>, Stop> {
        match self.bytes {
            Bytes::Memory(_, body) => {
                let text = || self.table.text(body);
                Ok(self.table.layout.value_of(body, column, text))
            }
            Bytes::Evicted(index, key) => index.layout.decode(key, column).ok_or(Stop::Evicted),
        }
    }

    /// The cell of an integer, date or time column that is not NULL.
    ///
    /// # Panics
    /// When the column is of another type or the cell is NULL.
    #[inline]
    pub fn int(&self, column: ColumnNumber) -> Result<i64, Stop> {
        if let Bytes::Memory(_, body) = self.bytes
            && let Some(int) = self.table.layout.int(body, column)
        {
            return Ok(int);
        }
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
            Bytes::Memory(_, body) => Ok(self.table.text(body)),
            Bytes::Evicted(..) => Err(Stop::Evicted),
        }
    }

    /// Whether the row is on disk.
    pub fn is_evicted(&self) -> bool {
        matches!(self.bytes, Bytes::Evicted(..))
    }
}
