//! Change batches: what a source hands to the apply loop.

use std::sync::Arc;

use arrow_array::ArrayRef;

use crate::position::CommitPosition;
use crate::rows::VersionRows;
use crate::schema::{TableId, TableSchema};

/// What happened to one table, in the order of the source's log.
#[derive(Debug)]
pub enum TableChange {
    /// Rows were written. A transaction's rows carry its commit position.
    Rows {
        /// The table.
        table: TableId,
        /// The versions, in log order.
        rows: VersionRows,
    },
    /// Rows of a multiset were written, and some went: a deletion says with the first two of its hidden
    /// cells which rows are equal to the one that goes, and takes any of them away.
    Multiset {
        /// The table.
        table: TableId,
        /// The versions, in log order.
        rows: VersionRows,
    },
    /// A row got another key, and the log left cells of it out: they are those of the row under
    /// the old key.
    Move {
        /// The table.
        table: TableId,
        /// The deletion of the old key and a patch under the new one.
        rows: VersionRows,
    },
    /// Every row older than `position` is gone. (Rows of the same transaction that come after
    /// the truncation carry exactly `position` and stay; those before it are left out.)
    Truncate {
        /// The table.
        table: TableId,
        /// The truncating transaction's commit position.
        position: CommitPosition,
    },
    /// The source cannot carry this table's changes any further; other tables go on.
    Stop {
        /// The table.
        table: TableId,
        /// The last position up to which the table equals the source.
        position: CommitPosition,
        /// Why, and what the operator can do about it.
        reason: String,
    },
    /// A table's copy begins: an empty table that takes rows from here on and is complete with
    /// [`TableChange::Complete`].
    Create {
        /// The new table. Its id was never used before, and is above all that were.
        table: TableId,
        /// Its schema.
        schema: Arc<TableSchema>,
        /// The table that it takes the place of.
        replaces: Option<TableId>,
        /// The first position at which it does.
        position: CommitPosition,
    },
    /// A table's copy is complete: it equals the source from `position` on.
    Complete {
        /// The table.
        table: TableId,
        /// The first position at which it can be read.
        position: CommitPosition,
    },
    /// The source calls the table or its columns otherwise; what is stored stays as it is.
    Describe {
        /// The table.
        table: TableId,
        /// The same stored columns under their new names and source types.
        schema: Arc<TableSchema>,
        /// The first position at which this holds.
        position: CommitPosition,
    },
    /// The table's columns changed. Its rows go on in a successor; everything before `position`
    /// has come in, and nothing of `position` itself.
    Reshape {
        /// The table as it was.
        table: TableId,
        /// The successor. Its id was never used before, and is above all that were.
        successor: TableId,
        /// The successor's schema.
        schema: Arc<TableSchema>,
        /// Where each of the successor's columns comes from.
        columns: Vec<ColumnOrigin>,
        /// The first position at which the table looks so.
        position: CommitPosition,
    },
    /// The source has the table no more.
    Drop {
        /// The table.
        table: TableId,
        /// The first position without it.
        position: CommitPosition,
    },
    /// A projection of a table begins, in place of the one with its name: everything up to
    /// `position` has come in, and from here on each deletion carries its row's former cells of the
    /// columns that the projection is ordered by, and a row whose cells there change is deleted
    /// before it is put.
    Project {
        /// The table.
        table: TableId,
        /// The projection's tree. Its id was never used before, and is above all that were.
        projection: TableId,
        /// The projection's name.
        name: String,
        /// What it is ordered by before the table's key.
        order_by: Vec<OrderColumn>,
        /// What has come in.
        position: CommitPosition,
    },
    /// A projection cannot be carried any further; the table goes on.
    StopProjection {
        /// The projection's name.
        name: String,
        /// The last position up to which it equals its table.
        position: CommitPosition,
        /// Why, and what the operator can do about it.
        reason: String,
    },
    /// A projection is not wanted any more.
    DropProjection {
        /// The projection's name.
        name: String,
    },
}

/// A column that a projection is ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderColumn {
    /// Its place among the table's stored columns.
    pub column: usize,
    /// Whether the source allows NULL in it.
    pub nullable: bool,
}

/// Where the cells of a column come from when a table is reshaped.
#[derive(Clone, Debug)]
pub enum ColumnOrigin {
    /// A stored column of the table as it was. Where the types differ, each cell is cast, and one
    /// that does not fit is an error.
    Stored(usize),
    /// The same cell in all rows: an array with one cell.
    Constant(ArrayRef),
}

/// A run of the source's log, cut at a commit or, in a transaction larger than a batch, inside
/// one.
#[derive(Debug, Default)]
pub struct ChangeBatch {
    /// The commit position of the last transaction that ends in this batch; `None` while the
    /// first transaction is still going on. Rows with a larger position belong to a
    /// transaction whose end is in a later batch and stay invisible until then.
    pub committed: Option<CommitPosition>,
    /// Where the source continues after `committed`: opaque to the apply loop, which makes it
    /// durable together with the rows. Unchanged where `committed` is `None`.
    pub resume: u64,
    /// When the last transaction committed at the source, microseconds since 1970-01-01 UTC.
    pub commit_time_us: i64,
    /// Transactions that end in this batch.
    pub transactions: u64,
    /// What the source has to remember from here on, if that changed: its part of the checkpoint,
    /// as JSON. Counts from the next publish on.
    pub source: Option<String>,
    /// The changes, in log order for each table.
    pub changes: Vec<TableChange>,
}
