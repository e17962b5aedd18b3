//! A row that got another key, with cells that the log left out: the one look-up of the apply loop.
//!
//! Every other change is written without reading. Here the log tells the old key and the new one,
//! but not the large values that stayed as they were, and no older version of the new key has them.
//! So the old row is looked up as of this place in the log, what the same transaction wrote
//! before included. Nothing of the table that comes later has been ingested.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_select::concat::concat;
use lsm::{Store, StoreError};
use types::{CommitPosition, TableId, VersionKind, VersionRows};

/// A moved row cannot be completed.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// There is no row under the old key.
    #[error("an UPDATE changed the key of a row that is not there")]
    NoRow,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Completes a move: `rows` are the deletion of the old key and a patch under the new one, both at
/// the same position, and everything before them has been ingested. They become the deletion and
/// a put.
pub fn complete(
    store: &Arc<Store>,
    table: TableId,
    rows: &VersionRows,
) -> Result<VersionRows, MoveError> {
    assert_eq!(rows.len(), 2, "a move is a deletion and a patch");
    let schema = store.schema(table).ok_or(StoreError::NoSuchTable(table))?;
    let key: Vec<ArrayRef> = schema
        .key
        .iter()
        .map(|&c| rows.columns[c].slice(0, 1))
        .collect();
    let unchanged = rows.unchanged.as_ref().expect("a patch leaves cells out");
    let bits = unchanged.value(1);
    let is_left_out = |column: &usize| bits[column / 8] & 1 << (column % 8) != 0;
    let left_out: Vec<usize> = (0..rows.columns.len()).filter(is_left_out).collect();
    // Where the move had to wait for its table's copy, it lies behind what is visible by now.
    let position = CommitPosition(rows.positions[0]).max(store.visible());
    let snapshot = store.pin_ingested(position);
    let found = snapshot.multi_get(table, &key, &left_out)?;
    let row = found.batches.first().ok_or(MoveError::NoRow)?;
    let mut columns = rows.columns.clone();
    for (&column, cell) in left_out.iter().zip(row.columns()) {
        let deleted = columns[column].slice(0, 1);
        let both = concat(&[&deleted, cell]);
        columns[column] = both.expect("cells of one column have one type");
    }
    Ok(VersionRows {
        columns,
        positions: rows.positions.clone(),
        kinds: vec![VersionKind::Delete as u8, VersionKind::Put as u8],
        unchanged: None,
    })
}
