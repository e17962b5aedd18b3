//! Puts the rows that a table had before a projection of it began into the projection.
//!
//! In a thread of its own:
//! 1. read the table as of the position at which the projection begins, batch by batch;
//! 2. put each batch into the projection's tree as puts of that position;
//! 3. report.
//!
//! The apply loop puts later versions into the same tree meanwhile. Versions are ordered by position,
//! so it does not matter which come first. The history hold keeps every version of the log that
//! comes meanwhile, with its position: a deletion must not be forgotten before the row that it deletes
//! has come. It is taken before the tree exists.
//!
//! Does not: become durable by itself. A process that ends before the report begins again, in another
//! tree.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Sender;
use lsm::{HistoryHold, KeyRange, ScanRequest, Snapshot, Store, StoreError};
use types::{CommitPosition, TableId, VersionKind, VersionRows};

use super::layout::{Layout, LayoutError};
use crate::source::Stop;

/// Rows that are read together.
const BATCH_ROWS: usize = 16 << 10;
/// How long to wait for memory before looking whether to stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// A projection's tree, and how its filling ended: the number of rows and their position.
pub type FillReport = (TableId, Result<(u64, CommitPosition), FillError>);

/// A projection cannot be filled.
#[derive(Debug, thiserror::Error)]
pub enum FillError {
    /// A row cannot be put into it.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It was told to stop.
    #[error("shut down")]
    Stopped,
}

/// What to fill.
pub struct Fill {
    /// The trees.
    pub store: Arc<Store>,
    /// Keeps the log's versions in order.
    pub hold: HistoryHold,
    /// The table as of the position at which the projection begins.
    pub snapshot: Snapshot,
    /// The table.
    pub table: TableId,
    /// The projection's tree.
    pub tree: TableId,
    /// How the tree is made of the table's columns.
    pub layout: Layout,
    /// Where to report.
    pub reports: Sender<FillReport>,
    /// Set when the process ends.
    pub stop: Stop,
    /// Set when the projection is not wanted any more.
    pub gone: Stop,
}

impl Fill {
    /// Fills, and reports.
    pub fn run(self) {
        let result = self.fill();
        let Self {
            snapshot,
            hold,
            tree,
            reports,
            ..
        } = self;
        drop(snapshot);
        drop(hold);
        // Whoever listened has ended, or the report arrives.
        _ = reports.send((tree, result));
    }

    fn fill(&self) -> Result<(u64, CommitPosition), FillError> {
        let columns = self.layout.table_columns();
        let request = ScanRequest {
            projection: (0..columns).collect(),
            range: KeyRange::all(),
            batch_rows: BATCH_ROWS,
        };
        let position = self.snapshot.position();
        let mut count = 0;
        for batch in self.snapshot.scan(self.table, request)? {
            let batch = batch?;
            let rows = VersionRows {
                columns: batch.columns().to_vec(),
                positions: vec![position.0; batch.num_rows()],
                kinds: vec![VersionKind::Put as u8; batch.num_rows()],
                unchanged: None,
            };
            let rows = self.layout.versions(&rows)?;
            count += rows.len() as u64;
            self.wait_for_memory()?;
            self.store.ingest(self.tree, rows)?;
        }
        Ok((count, position))
    }

    fn wait_for_memory(&self) -> Result<(), FillError> {
        loop {
            let has_room = self.store.wait_for_memory(PATIENCE)?;
            if self.stop.is_set() || self.gone.is_set() {
                return Err(FillError::Stopped);
            }
            if has_room {
                return Ok(());
            }
        }
    }
}
