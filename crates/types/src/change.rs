//! Change batches: what a source hands to the apply loop.

use crate::position::CommitPosition;
use crate::rows::VersionRows;
use crate::schema::TableId;

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
    /// The changes, in log order for each table.
    pub changes: Vec<TableChange>,
}
