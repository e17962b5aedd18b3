//! A table's rows under another schema.
//!
//! A tree keeps the schema with which it was made. When a column comes, goes or gets another
//! stored type, the table goes on in a successor:
//!
//! 1. pin what is visible: everything before the change's position, and nothing else;
//! 2. read the table there, batch by batch, cast and fill up the columns;
//! 3. put the rows into the successor at the position just before the change.
//!
//! The source is not asked, and is read more slowly meanwhile (back-pressure): the visible
//! position does not move until the successor is complete, so that every snapshot sees either the
//! table as it was or the table as it is, whole, among all other tables as they were then.
//!
//! Does not: become durable by itself, or free the table as it was (see [`crate::apply`]).

use std::sync::Arc;
use std::time::Duration;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_cast::{CastOptions, cast_with_options};
use lsm::{KeyRange, ScanRequest, Store, StoreError};
use types::{ColumnOrigin, CommitPosition, TableId, TableSchema, VersionKind, VersionRows};

use crate::source::Stop;

/// Rows that are read together.
const BATCH_ROWS: usize = 16 << 10;
/// How long to wait for memory before looking whether to stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// What to reshape.
pub struct Reshape<'a> {
    /// The table as it was.
    pub table: TableId,
    /// The table as it is to be, whose tree is empty.
    pub successor: TableId,
    /// The successor's schema.
    pub schema: &'a TableSchema,
    /// Where each of its columns comes from.
    pub columns: &'a [ColumnOrigin],
    /// The first position at which the table is the successor.
    pub position: CommitPosition,
}

/// A table cannot be reshaped.
#[derive(Debug, thiserror::Error)]
pub enum ReshapeError {
    /// A cell does not fit its column's new type.
    #[error("column \"{column}\": {detail}")]
    Cell {
        /// The column.
        column: String,
        /// What does not fit.
        detail: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It was told to stop.
    #[error("shut down")]
    Stopped,
}

impl Reshape<'_> {
    /// Puts the visible rows of the table into its successor; returns their number.
    pub fn run(&self, store: &Arc<Store>, stop: &Stop) -> Result<u64, ReshapeError> {
        let snapshot = store.pin();
        let request = ScanRequest {
            projection: self.stored_columns().collect(),
            range: KeyRange::all(),
            batch_rows: BATCH_ROWS,
        };
        let mut count = 0;
        for batch in snapshot.scan(self.table, request)? {
            let rows = self.rows(&batch?)?;
            count += rows.len() as u64;
            while !store.wait_for_memory(PATIENCE)? {
                if stop.is_set() {
                    return Err(ReshapeError::Stopped);
                }
            }
            store.ingest(self.successor, rows)?;
        }
        Ok(count)
    }

    /// The stored columns that are read, in the order of the successor's columns.
    fn stored_columns(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().filter_map(|origin| match origin {
            ColumnOrigin::Stored(column) => Some(*column),
            ColumnOrigin::Constant(_) => None,
        })
    }

    /// The rows of a batch of the stored columns, as puts just before the change.
    fn rows(&self, batch: &RecordBatch) -> Result<VersionRows, ReshapeError> {
        let rows = batch.num_rows();
        let mut stored = batch.columns().iter();
        let columns = self.columns.iter().zip(&self.schema.columns);
        let columns = columns
            .map(|(origin, column)| {
                let cells = match origin {
                    ColumnOrigin::Stored(_) => {
                        Arc::clone(stored.next().expect("every stored column is read"))
                    }
                    ColumnOrigin::Constant(cell) => repeated(cell, rows),
                };
                let to = column.column_type.arrow_type();
                cast_exactly(&cells, &to).map_err(|detail| ReshapeError::Cell {
                    column: column.name.clone(),
                    detail,
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(VersionRows {
            columns,
            positions: vec![self.position.0.saturating_sub(1); rows],
            kinds: vec![VersionKind::Put as u8; rows],
            unchanged: None,
        })
    }
}

/// An array of `rows` times the one cell of `cell`.
fn repeated(cell: &ArrayRef, rows: usize) -> ArrayRef {
    let slots = UInt32Array::from(vec![0; rows]);
    arrow_select::take::take(cell, &slots, None).expect("the array has a cell")
}

/// Casts every cell; one that does not fit is an error, never NULL.
fn cast_exactly(cells: &ArrayRef, to: &arrow_schema::DataType) -> Result<ArrayRef, String> {
    if cells.data_type() == to {
        return Ok(Arc::clone(cells));
    }
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    cast_with_options(cells, to, &options).map_err(|error| error.to_string())
}
