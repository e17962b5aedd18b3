//! Hedgerow as a contender: the trees of one table, with a thread to flush and one to merge, as
//! `hedgerow serve` has them; and the same under the policies that are baselines.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use arrow_array::{ArrayRef, Int32Array, Int64Array};
use contender::record::{COLUMNS, Column, Record};
use contender::{Arguments, Contender};
use env::Env;
use lsm::{CachePolicy, MergePolicy, Store, StoreOptions};
use types::{CommitPosition, TableId, VersionKind, VersionRows};

use super::rows;
use super::side::OwnSide;
use crate::background::{self, Background, IDLE};

/// The table of readings.
pub const TABLE: TableId = TableId(1);

/// Inserts the rows of standard input, and prints the report.
pub fn run(side: OwnSide, arguments: &Arguments) -> Result<()> {
    arguments.enter()?;
    allocator::give_back_early()?;
    let options = options(side, arguments.memory_bytes);
    let mut side = HedgerowSide::start(Env::real(), &arguments.folder, options)?;
    let report = contender::run(&mut side, io::stdin().lock(), arguments.time_max())?;
    side.stop();
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// Rose's pages (section 2.4).
const ROSE_PAGE_BYTES: usize = 4 << 10;

/// Ten, as size ratios commonly are.
const STEPPED_MERGE: MergePolicy = MergePolicy::SteppedMerge { runs_a_level: 10 };

/// What merging ten runs at once takes more than ours, which merges four or so.
const STEPPED_MERGE_BYTES: u64 = 16 << 20;

fn options(side: OwnSide, memory_bytes: u64) -> StoreOptions {
    let options = background::options;
    match side {
        OwnSide::Hedgerow => options(memory_bytes),
        OwnSide::Rose => StoreOptions {
            merge_policy: MergePolicy::Rose,
            page_bytes: ROSE_PAGE_BYTES,
            cache_policy: CachePolicy::LeastRecentlyUsed,
            filter_bytes: 0, // It had none, and did not spend time on building them.
            ..options(memory_bytes)
        },
        OwnSide::SteppedMerge => StoreOptions {
            merge_policy: STEPPED_MERGE,
            ..options(memory_bytes.saturating_sub(STEPPED_MERGE_BYTES))
        },
    }
}

/// A store and its threads.
pub struct HedgerowSide {
    store: Arc<Store>,
    folder: PathBuf,
    settings: String,
    /// Of the newest batch.
    position: CommitPosition,
    background: Background,
}

impl HedgerowSide {
    /// Opens the store of a folder, or makes it.
    pub fn start(env: Env, folder: &Path, options: StoreOptions) -> Result<Self> {
        let settings = format!(
            "{:?}, C0 {} MiB, page cache {} MiB, pages {} KiB, one thread to flush, one to merge",
            options.merge_policy,
            options.memory_bytes >> 20,
            options.cache_bytes >> 20,
            options.page_bytes >> 10
        );
        let store = Store::open(env, folder, options)?;
        if store.schema(TABLE).is_none() {
            store.create_table(TABLE, rows::schema()?)?;
        }
        Ok(Self {
            folder: folder.to_owned(),
            settings,
            position: store.visible(),
            background: Background::start(&store)?,
            store,
        })
    }

    /// The store.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Ends its threads.
    pub fn stop(self) {
        self.background.stop();
    }
}

impl Contender for HedgerowSide {
    fn folder(&self) -> &Path {
        &self.folder
    }

    fn settings(&self) -> String {
        self.settings.clone()
    }

    fn insert(&mut self, records: &[Record]) -> Result<()> {
        self.position.0 += 1;
        while !self.store.wait_for_memory(IDLE)? {}
        self.store.ingest(TABLE, versions(records, self.position))?;
        self.store.publish(self.position, Vec::new());
        Ok(())
    }

    fn make_durable(&mut self) -> Result<()> {
        Ok(self.store.flush()?)
    }

    fn settle(&mut self) -> Result<()> {
        self.background.settle();
        Ok(())
    }

    fn bytes_written(&mut self) -> Result<u64> {
        let stats = self.store.stats();
        Ok(stats.bytes_flushed + stats.bytes_merged)
    }
}

/// Puts of the records' rows.
fn versions(records: &[Record], position: CommitPosition) -> VersionRows {
    let columns = COLUMNS.iter().map(|column| cells(column, records));
    VersionRows {
        columns: columns.collect(),
        positions: vec![position.0; records.len()],
        kinds: vec![VersionKind::Put as u8; records.len()],
        unchanged: None,
    }
}

/// A column's cells.
pub fn cells(column: &Column, records: &[Record]) -> ArrayRef {
    if column.bytes == 8 {
        let cells = records
            .iter()
            .map(|r| i64::from_le_bytes(column.cell_bytes(r)));
        return Arc::new(Int64Array::from_iter_values(cells));
    }
    let cells = records
        .iter()
        .map(|r| i32::from_le_bytes(column.cell_bytes(r)));
    Arc::new(Int32Array::from_iter_values(cells))
}
