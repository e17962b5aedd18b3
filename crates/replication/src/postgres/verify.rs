//! Proof that the copy equals the source at one position.
//!
//! 1. Hold the store's history, so that its state at a later position can still be pinned.
//! 2. Create a temporary slot at the source: its snapshot is the source's state at the slot's
//!    consistent point.
//! 3. Wait until the replica has passed that point and pin its state exactly there.
//! 4. For each table, read both sides completely, through the same parsers and the same hash
//!    (see [`super::digest`]), and compare.
//! 5. Where chunks differ, read them again on both sides and name the keys.
//!
//! Does not: repair, or see inside tables that are stopped (they are reported as such).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::ArrayRef;
use arrow_cast::display::array_value_to_string;
use env::Clock;
use lsm::{KeyRange, ScanRequest, Snapshot, Store, StoreError};
use types::{ColumnBuilder, CommitPosition, TableName, TableSchema};

use super::catalog::{PublishedTable, Selection, has_files_of_snapshot, read_tables};
use super::config::PostgresConfig;
use super::connection::{Connection, ConnectionError, Mode};
use super::copy::open_at;
use super::copy_text::LineParser;
use super::digest::{RowHash, TableDigest, hash_rows};
use super::resync::temporary_slot;
use super::slot;
use super::table_sink::RowError;
use crate::catalog::{Catalog, TableEntry, TableState};
use crate::source::Stop;
use crate::verdict::{TableVerdict, not_compared};

/// Rows that are hashed together.
const BATCH_ROWS: usize = 8192;
/// Bytes of a table a chunk, about.
const CHUNK_BYTES: u64 = 64 << 10;
/// Chunks of a table at least and at most.
const CHUNKS: (u64, u64) = (64, 16_384);
/// Rows of differing chunks that are looked at to name keys.
const SUSPECT_ROWS_MAX: u64 = 500_000;
/// Differing keys that are named.
const NAMED_KEYS_MAX: usize = 10;
/// How often to look whether the replica has caught up.
const LOOK: Duration = Duration::from_millis(10);

/// What to verify.
pub struct VerifyRequest<'a> {
    /// The replica's trees.
    pub store: &'a Arc<Store>,
    /// The replica's tables.
    pub catalog: &'a Catalog,
    /// The source.
    pub config: &'a PostgresConfig,
    /// Time.
    pub clock: &'a dyn Clock,
    /// How long to wait for the replica to reach the source's position.
    pub patience: Duration,
    /// Set to give up.
    pub stop: &'a Stop,
}

/// The source and the replica could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The connection or the server failed.
    #[error("the source: {0}")]
    Source(#[from] ConnectionError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A row of the source cannot be read.
    #[error("table {table}: {error}")]
    Row {
        /// The table.
        table: TableName,
        /// What is wrong with it.
        error: RowError,
    },
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
}

/// Compares all tables and reports each as soon as it is known; returns the position.
pub fn verify(
    request: &VerifyRequest<'_>,
    mut each: impl FnMut(TableVerdict),
) -> Result<CommitPosition, VerifyError> {
    let mut verifier = Verifier::pin(request)?;
    let publication = request.config.publication_name();
    let mut published: HashMap<TableName, PublishedTable> =
        read_tables(&mut verifier.source, Selection::Publication(publication))?
            .into_iter()
            .map(|table| (table.name.clone(), table))
            .collect();
    let position = verifier.snapshot.position();
    for entry in request.catalog.tables_at(position) {
        let published = published.remove(&entry.schema.name);
        each(verifier.table(&entry, published.as_ref())?);
    }
    let mut missing: Vec<_> = published.into_keys().collect();
    missing.sort();
    for table in missing {
        each(not_compared(table, position, "the table is not replicated"));
    }
    Ok(position)
}

/// Both sides at one position.
struct Verifier<'a> {
    source: Connection,
    snapshot: Snapshot,
    stop: &'a Stop,
}

impl<'a> Verifier<'a> {
    /// Brings both sides to one position.
    fn pin(request: &VerifyRequest<'a>) -> Result<Self, VerifyError> {
        let hold = request.store.hold_history();
        let mut replication = Connection::open(request.config, Mode::Replication, request.stop)?;
        let name = temporary_slot(request.config, "verify");
        let slot = slot::create(&mut replication, &name, true)?;
        let source = open_at(request.config, &slot.snapshot, request.stop)?;
        // The snapshot lives on in the session that took it; the slot is no longer needed.
        drop(replication);
        let target = CommitPosition(slot.consistent_point.0.saturating_sub(1));
        let deadline = request.clock.monotonic() + request.patience;
        loop {
            if let Some(snapshot) = request.store.pin_at(&hold, target) {
                return Ok(Self {
                    source,
                    snapshot,
                    stop: request.stop,
                });
            }
            if request.clock.monotonic() >= deadline {
                let visible = request.store.visible();
                let seconds = request.patience.as_secs();
                return Err(VerifyError::Behind {
                    visible,
                    target,
                    seconds,
                });
            }
            if request.stop.wait(LOOK) {
                return Err(ConnectionError::Stopped.into());
            }
        }
    }

    fn table(
        &mut self,
        entry: &TableEntry,
        published: Option<&PublishedTable>,
    ) -> Result<TableVerdict, VerifyError> {
        let (name, position) = (entry.schema.name.clone(), self.snapshot.position());
        let not_compared = |reason: &str| Ok(not_compared(name.clone(), position, reason));
        match &entry.state {
            TableState::Live => {}
            TableState::Copying => return not_compared("the table is being copied"),
            TableState::Stopped { reason, .. } => return not_compared(reason),
        }
        let Some(published) = published else {
            return not_compared("the source does not publish the table any more");
        };
        if !same_columns(&entry.schema, published) {
            return not_compared("the table has other columns at the source");
        }
        match self.compare(&TableSide { entry, published }) {
            // Meeting the damage is what has the table copied again; the others can be compared.
            Err(VerifyError::Store(damage @ StoreError::Corrupt { .. })) => {
                not_compared(&damage.to_string())
            }
            verdict => verdict,
        }
    }

    fn compare(&mut self, side: &TableSide<'_>) -> Result<TableVerdict, VerifyError> {
        let chunks = (side.published.bytes / CHUNK_BYTES).clamp(CHUNKS.0, CHUNKS.1) as usize;
        let mut source = TableDigest::new(chunks);
        self.read_source(side, |_, _, hash| source.add(hash))?;
        let mut replica = TableDigest::new(chunks);
        self.read_replica(side, |_, _, hash| replica.add(hash))?;
        let suspects = source.differing(&replica);
        if !suspects.is_empty()
            && !has_files_of_snapshot(&mut self.source, side.published.relation)?
        {
            let (name, position) = (side.entry.schema.name.clone(), self.snapshot.position());
            let reason = "the table was emptied or written anew at the source meanwhile";
            return Ok(not_compared(name, position, reason));
        }
        Ok(TableVerdict {
            table: side.entry.schema.name.clone(),
            equal: suspects.is_empty(),
            source_rows: source.rows(),
            rows: replica.rows(),
            position: self.snapshot.position(),
            differing: self.name_differing(side, chunks, &suspects)?,
            reason: None,
        })
    }

    /// Reads the rows of suspect chunks again and says in which keys the sides differ.
    fn name_differing(
        &mut self,
        side: &TableSide<'_>,
        chunks: usize,
        suspects: &[(usize, u64)],
    ) -> Result<Vec<String>, VerifyError> {
        let mut rows = 0;
        let within = |&&(_, count): &&(usize, u64)| {
            rows += count;
            rows <= SUSPECT_ROWS_MAX.max(count)
        };
        let mut suspect = vec![false; chunks];
        suspects
            .iter()
            .take_while(within)
            .for_each(|&(chunk, _)| suspect[chunk] = true);
        if suspects.is_empty() {
            return Ok(Vec::new());
        }
        let mut differences = Differences::default();
        self.read_source(side, |columns, row, hash| {
            if suspect[hash.chunk(chunks)] {
                differences.add(hash, 1, || side.describe(columns, row));
            }
        })?;
        self.read_replica(side, |columns, row, hash| {
            if suspect[hash.chunk(chunks)] {
                differences.add(hash, -1, || side.describe(columns, row));
            }
        })?;
        Ok(differences.in_words())
    }

    /// Calls `each` with every row of the source.
    fn read_source(
        &mut self,
        side: &TableSide<'_>,
        mut each: impl FnMut(&[ArrayRef], usize, RowHash),
    ) -> Result<(), VerifyError> {
        let schema = &side.entry.schema;
        let source_columns = schema.columns.iter().filter(|c| !c.hidden);
        let mut columns: Vec<_> = source_columns
            .map(|c| ColumnBuilder::new(c.column_type))
            .collect();
        let mut parser = LineParser::new(schema);
        let mut rows = 0;
        self.source.copy_out(&side.published.copy_sql())?;
        while let Some(data) = self.source.copy_data()? {
            let lines = parser.lines(data, |parser, line| {
                rows += 1;
                parser.append(line, &mut columns)
            });
            lines.map_err(|error| VerifyError::Row {
                table: schema.name.clone(),
                error,
            })?;
            if rows >= BATCH_ROWS {
                if self.stop.is_set() {
                    return Err(ConnectionError::Stopped.into());
                }
                side.hash(&finish(&mut columns), std::mem::take(&mut rows), &mut each);
            }
        }
        side.hash(&finish(&mut columns), rows, &mut each);
        Ok(())
    }

    /// Calls `each` with every row of the replica.
    fn read_replica(
        &self,
        side: &TableSide<'_>,
        mut each: impl FnMut(&[ArrayRef], usize, RowHash),
    ) -> Result<(), VerifyError> {
        let request = ScanRequest {
            projection: (0..side.published.columns.len()).collect(),
            range: KeyRange::default(),
            batch_rows: BATCH_ROWS,
        };
        for batch in self.snapshot.scan(side.entry.id, request)? {
            let batch = batch?;
            side.hash(batch.columns(), batch.num_rows(), &mut each);
            if self.stop.is_set() {
                return Err(ConnectionError::Stopped.into());
            }
        }
        Ok(())
    }
}

fn finish(columns: &mut [ColumnBuilder]) -> Vec<ArrayRef> {
    columns.iter_mut().map(ColumnBuilder::finish).collect()
}

fn same_columns(schema: &TableSchema, published: &PublishedTable) -> bool {
    let stored = schema.columns.iter().filter(|c| !c.hidden);
    stored
        .map(|c| (&c.name, &c.source_type))
        .eq(published.columns.iter().map(|c| (&c.name, &c.base)))
}

/// A table on both sides.
struct TableSide<'a> {
    entry: &'a TableEntry,
    published: &'a PublishedTable,
}

impl TableSide<'_> {
    /// The key, as indices into the source's columns; empty where there is none.
    fn key(&self) -> &[usize] {
        if self.entry.schema.has_source_key() {
            &self.entry.schema.key
        } else {
            &[]
        }
    }

    fn hash(
        &self,
        columns: &[ArrayRef],
        rows: usize,
        each: &mut impl FnMut(&[ArrayRef], usize, RowHash),
    ) {
        hash_rows(columns, rows, self.key(), |row, hash| {
            each(columns, row, hash)
        });
    }

    /// The row's key, or all of the row, in words.
    fn describe(&self, columns: &[ArrayRef], row: usize) -> String {
        let all: Vec<_> = (0..columns.len()).collect();
        let shown = if self.key().is_empty() {
            &all
        } else {
            self.key()
        };
        let cell = |&column: &usize| {
            let value = array_value_to_string(&columns[column], row);
            let value = value.unwrap_or_else(|_| "?".to_owned());
            format!("{}={value}", self.entry.schema.columns[column].name)
        };
        shown.iter().map(cell).collect::<Vec<_>>().join(", ")
    }
}

/// Rows of suspect chunks, by key: equal rows of both sides cancel out.
#[derive(Default)]
struct Differences {
    keys: HashMap<u128, KeyDifference>,
}

struct KeyDifference {
    description: String,
    /// How often the source has a row more often than the replica.
    surplus: HashMap<u128, i64>,
}

impl Differences {
    fn add(&mut self, hash: RowHash, count: i64, describe: impl FnOnce() -> String) {
        let key = self.keys.entry(hash.key).or_insert_with(|| KeyDifference {
            description: describe(),
            surplus: HashMap::new(),
        });
        *key.surplus.entry(hash.row).or_default() += count;
    }

    /// The first keys in which the sides differ.
    fn in_words(&self) -> Vec<String> {
        let mut words: Vec<_> = self
            .keys
            .values()
            .filter_map(KeyDifference::in_words)
            .collect();
        words.sort();
        words.truncate(NAMED_KEYS_MAX);
        words
    }
}

impl KeyDifference {
    fn in_words(&self) -> Option<String> {
        let more_at_source = self.surplus.values().any(|&count| count > 0);
        let more_here = self.surplus.values().any(|&count| count < 0);
        let how = match (more_at_source, more_here) {
            (false, false) => return None,
            (true, true) => "differs",
            (true, false) => "is only at the source",
            (false, true) => "is only in the replica",
        };
        Some(format!("{} {how}", self.description))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named_by_side() {
        let mut differences = Differences::default();
        let hash = |key, row| RowHash { key, row };
        differences.add(hash(1, 10), 1, || "id=1".to_owned());
        differences.add(hash(1, 10), -1, || "id=1".to_owned());
        differences.add(hash(2, 20), 1, || "id=2".to_owned());
        differences.add(hash(2, 21), -1, || "id=2".to_owned());
        differences.add(hash(3, 30), 1, || "id=3".to_owned());
        differences.add(hash(4, 40), -1, || "id=4".to_owned());
        assert_eq!(
            differences.in_words(),
            [
                "id=2 differs",
                "id=3 is only at the source",
                "id=4 is only in the replica"
            ]
        );
    }
}
