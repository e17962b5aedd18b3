//! Why a transaction does not go on.

use crate::partition_set::PartitionNumber;
use crate::schema::{ColumnNumber, IndexId};

/// What a statement or a procedure ends a transaction with. Nothing that it did remains.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The procedure wants it so, for this reason.
    #[error("aborted: {0}")]
    Abort(String),
    /// The procedure wants it so, and says why in the words of SQL.
    #[error(transparent)]
    Rejected(Box<Rejection>),
    /// A statement breaks a rule.
    #[error(transparent)]
    Violation(#[from] Violation),
    /// The value is on disk. A procedure hands this on; the transaction runs again when the value
    /// is in memory.
    #[error("evicted data is needed")]
    Evicted,
    /// It needs more evicted rows than may be in memory for one call.
    #[error("it needs {bytes} bytes of evicted rows or more, and may fetch {most}")]
    TooMuchEvicted {
        /// What it has fetched and what it would fetch next, about.
        bytes: usize,
        /// What one call may fetch.
        most: usize,
    },
    /// A block that holds a row cannot be read.
    #[error("an evicted row cannot be read: {0}")]
    Unreadable(String),
}

/// Why a procedure has stopped, as an SQL client is told of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (SQLSTATE {code})")]
pub struct Rejection {
    /// SQLSTATE, five characters.
    pub code: &'static str,
    /// One line.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
}

impl Rejection {
    /// Without a detail.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            detail: None,
        }
    }

    /// With a detail.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}

impl From<Rejection> for Stop {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(Box::new(rejection))
    }
}

/// A rule of a table that a statement breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// Another row has the key.
    #[error("index {} of table {} has the key already", index.index, index.table.0)]
    Duplicate {
        /// The index.
        index: IndexId,
    },
    /// A row has another number of values than its table columns.
    #[error("{found} values for {expected} columns")]
    Columns {
        /// Columns of the table.
        expected: usize,
        /// Values of the row.
        found: usize,
    },
    /// The table has fewer columns.
    #[error("there is no column {column}")]
    NoSuchColumn {
        /// The column.
        column: ColumnNumber,
    },
    /// The column may not be NULL.
    #[error("column {column} may not be NULL")]
    Null {
        /// The column.
        column: ColumnNumber,
    },
    /// The value is of another type than the column, or beyond its range.
    #[error("the value is not one of column {column}")]
    Type {
        /// The column.
        column: ColumnNumber,
    },
    /// The row's texts are longer than a row may be.
    #[error("a row with {bytes} bytes of text is too long")]
    TooLong {
        /// Bytes of text.
        bytes: usize,
    },
    /// The values are not those of the index's columns.
    #[error("the values are not a key of index {} of table {}", index.index, index.table.0)]
    Key {
        /// The index.
        index: IndexId,
    },
    /// There is no such index.
    #[error("there is no index {} of table {}", index.index, index.table.0)]
    NoSuchIndex {
        /// The index.
        index: IndexId,
    },
    /// Only an ordered index can be scanned.
    #[error("index {} of table {} has no order", index.index, index.table.0)]
    NotOrdered {
        /// The index.
        index: IndexId,
    },
    /// The procedure did not name the partition.
    #[error("the call does not name partition {}", partition.0)]
    NotNamed {
        /// The partition.
        partition: PartitionNumber,
    },
    /// The primary has fewer partitions.
    #[error("there is no partition {}", partition.0)]
    NoSuchPartition {
        /// The partition.
        partition: PartitionNumber,
    },
    /// A row can be changed as it was found only by the transaction, and on the partition, that found it.
    #[error("the row was found by another transaction, or on another partition")]
    FoundElsewhere,
    /// The rows that a batch found are looked at after the batch, so it may not change them.
    #[error("a batch reads or writes, not both")]
    MixedBatch,
}
