//! Statements in the queue of a transaction, their arguments end to end in one buffer.

use std::ops::Range;

use types::{ColumnType, Value};

use crate::cell;
use crate::index::{Direction, SoughtKey};
use crate::pointer::TupleId;
use crate::schema::{ColumnNumber, IndexId, TableNumber};

/// Which of a row's columns a statement wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// Any of them.
    All,
    /// Any of them, and texts hardly ever: they do not come into the cache with the rows.
    Numbers,
    /// Only those of the index's key: evicted rows need not be fetched, unless the procedure then asks
    /// for a text or for what follows one in the key.
    OfKey,
}

/// A statement; ranges are places in the buffer.
pub(crate) enum Statement {
    Get {
        index: IndexId,
        key: SoughtKey,
        columns: Columns,
    },
    Scan {
        index: IndexId,
        from: SoughtKey,
        to: SoughtKey,
        options: Scan,
    },
    Insert {
        table: TableNumber,
        /// Body and texts.
        row: Range<usize>,
    },
    Update {
        index: IndexId,
        key: SoughtKey,
        changes: Range<usize>,
    },
    UpdateRow {
        table: TableNumber,
        id: TupleId,
        changes: Range<usize>,
    },
    Delete {
        index: IndexId,
        key: SoughtKey,
    },
    DeleteRow {
        table: TableNumber,
        id: TupleId,
    },
}

/// How a range is scanned.
#[derive(Clone, Copy, Debug)]
pub struct Scan {
    /// Which end comes first.
    pub direction: Direction,
    /// Rows at most.
    pub rows_max: usize,
    /// What is wanted of them.
    pub columns: Columns,
}

impl Default for Scan {
    /// All rows, from the smallest key on, with all columns.
    fn default() -> Self {
        Self {
            direction: Direction::Ascending,
            rows_max: usize::MAX,
            columns: Columns::All,
        }
    }
}

/// A cell's new value.
pub(crate) struct CellChange {
    pub(crate) column: ColumnNumber,
    column_type: ColumnType,
    pub(crate) is_null: bool,
    value: Range<usize>,
}

impl CellChange {
    /// Copies the value, which fits the column, to the buffer.
    #[inline]
    pub(crate) fn new(
        column: ColumnNumber,
        column_type: ColumnType,
        value: &Value<'_>,
        buffer: &mut Vec<u8>,
    ) -> Self {
        let start = buffer.len();
        match value {
            Value::Null => {}
            Value::Bytes(text) => buffer.extend_from_slice(text),
            value => cell::append(value, column_type, buffer),
        }
        Self {
            column,
            column_type,
            is_null: matches!(value, Value::Null),
            value: start..buffer.len(),
        }
    }

    /// Bytes of the cell.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.value.len()
    }

    /// The cell as rows have it: none if it is NULL.
    #[inline]
    pub(crate) fn cell<'b>(&self, buffer: &'b [u8]) -> &'b [u8] {
        &buffer[self.value.clone()]
    }

    /// The value.
    pub(crate) fn value<'b>(&self, buffer: &'b [u8]) -> Value<'b> {
        let bytes = &buffer[self.value.clone()];
        match self.column_type {
            _ if self.is_null => Value::Null,
            ColumnType::Text | ColumnType::Bytes => Value::Bytes(bytes),
            column_type => cell::read(bytes, column_type),
        }
    }
}
