//! Compares the replica with its primary: every row of every table, at one position.
//!
//! 1. The history of the replica is held, so that it can be read at a position that it has passed.
//! 2. The primary tells its position, and the digests of its rows there; of those on disk it keeps them.
//! 3. The replica is read at that position, when it has got there, and its rows are added up likewise.
//!
//! Orders go on meanwhile.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use env::Clock;
use lsm::{KeyRange, ScanRequest, Snapshot, Store, StoreError};
use oltp::{RowsDigest, RowsDigester};
use types::{CommitPosition, Value};

use super::session::{Clients, Ended};
use super::table::PrimaryTable;
use crate::catalog::Catalog;
use crate::source::Stop;
use crate::verdict::{TableVerdict, not_compared};

/// How often to look whether the replica has caught up.
const LOOK: Duration = Duration::from_millis(10);
/// Rows that are read at a time.
const BATCH_ROWS: usize = 8_192;

/// What to compare.
pub struct PrimaryVerification {
    /// The replica's trees.
    pub store: Arc<Store>,
    /// The replica's tables.
    pub catalog: Arc<Catalog>,
    /// The primary.
    pub clients: Clients,
    /// The primary's tables, in the order of their numbers.
    pub tables: Vec<PrimaryTable>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// How long to wait for the replica to reach the primary's position.
    pub patience: Duration,
}

/// They could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// There is no primary any more.
    #[error(transparent)]
    Ended(#[from] Ended),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The replica did not get there in time.
    #[error("the replica is at {visible} and did not reach {target} within {seconds} s")]
    Behind {
        /// Where it is.
        visible: CommitPosition,
        /// Where it should be.
        target: CommitPosition,
        /// How long we waited.
        seconds: u64,
    },
    /// It was told to stop.
    #[error("stopped")]
    Stopped,
}

impl PrimaryVerification {
    /// Compares all tables and reports each as soon as it is known.
    pub fn run(&self, stop: &Stop, each: &mut dyn FnMut(TableVerdict)) -> Result<(), VerifyError> {
        let hold = self.store.hold_history();
        let inspection = self.clients.inspect()?;
        let deadline = self.clock.monotonic() + self.patience;
        let snapshot = loop {
            if let Some(snapshot) = self.store.pin_at(&hold, inspection.position) {
                break snapshot;
            }
            if self.clock.monotonic() >= deadline {
                return Err(VerifyError::Behind {
                    visible: self.store.visible(),
                    target: inspection.position,
                    seconds: self.patience.as_secs(),
                });
            }
            if stop.wait(LOOK) {
                return Err(VerifyError::Stopped);
            }
        };
        for (table, &(source_rows, digest)) in self.tables.iter().zip(&inspection.tables) {
            let verdict = match self.compare(&snapshot, table, source_rows, digest, stop) {
                // The others can be compared.
                Err(VerifyError::Store(damage @ StoreError::Corrupt { .. })) => {
                    let name = table.schema.name.clone();
                    not_compared(name, snapshot.position(), &damage.to_string())
                }
                verdict => verdict?,
            };
            each(verdict);
        }
        Ok(())
    }

    fn compare(
        &self,
        snapshot: &Snapshot,
        table: &PrimaryTable,
        source_rows: u64,
        digest: RowsDigest,
        stop: &Stop,
    ) -> Result<TableVerdict, VerifyError> {
        let (name, position) = (table.schema.name.clone(), snapshot.position());
        let Some(entry) = self.catalog.by_name_at(&name.schema, &name.name, position) else {
            return Ok(not_compared(
                name,
                position,
                "the replica has no such table",
            ));
        };
        let request = ScanRequest {
            projection: (0..table.schema.columns.len()).collect(),
            range: KeyRange::default(),
            batch_rows: BATCH_ROWS,
        };
        let (mut rows, mut digester) = (0, RowsDigester::new(&table.definition));
        let mut refused = None;
        for batch in snapshot.scan(entry.id, request)? {
            let batch = batch?;
            if let Err(violation) = add_rows(&mut digester, table, &batch) {
                refused.get_or_insert(violation);
            }
            rows += batch.num_rows() as u64;
            if stop.is_set() {
                return Err(VerifyError::Stopped);
            }
        }
        let violation = refused.map(|violation| format!("a row of the replica: {violation}"));
        Ok(TableVerdict {
            table: name,
            equal: violation.is_none() && rows == source_rows && digester.digest() == digest,
            source_rows,
            rows,
            position,
            differing: violation.into_iter().collect(),
            reason: None,
        })
    }
}

fn add_rows(
    digester: &mut RowsDigester,
    table: &PrimaryTable,
    batch: &RecordBatch,
) -> Result<(), oltp::Violation> {
    let mut values = Vec::with_capacity(batch.num_columns());
    for row in 0..batch.num_rows() {
        values.clear();
        let columns = table.schema.columns.iter().zip(batch.columns());
        values
            .extend(columns.map(|(column, cells)| Value::of_cell(cells, column.column_type, row)));
        digester.add(&values)?;
    }
    Ok(())
}
