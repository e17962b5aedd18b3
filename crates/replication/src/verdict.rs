//! What a verification says of a table.

use types::{CommitPosition, TableName};

/// The result for one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableVerdict {
    /// The table.
    pub table: TableName,
    /// Whether both sides hold the same rows.
    pub equal: bool,
    /// Rows at the source.
    pub source_rows: u64,
    /// Rows in the replica.
    pub rows: u64,
    /// The position at which both sides were read.
    pub position: CommitPosition,
    /// The first differing keys, in words.
    pub differing: Vec<String>,
    /// Why the table was not compared, if it was not.
    pub reason: Option<String>,
}

/// Of a table that cannot be compared, for this reason.
pub(crate) fn not_compared(
    table: TableName,
    position: CommitPosition,
    reason: &str,
) -> TableVerdict {
    TableVerdict {
        table,
        equal: false,
        source_rows: 0,
        rows: 0,
        position,
        differing: Vec::new(),
        reason: Some(reason.to_owned()),
    }
}
