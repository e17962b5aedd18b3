//! Hedgerow as a contender: the trees of one table, with a thread to flush and one to merge, as
//! `hedgerow serve` has them; and the same under the policies that are baselines.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Result;
use arrow_array::{ArrayRef, Int32Array, Int64Array};
use contender::record::{COLUMNS, Column, Record};
use contender::{Arguments, Contender};
use env::Env;
use lsm::{CachePolicy, MergePolicy, Store, StoreOptions, Work};
use types::{CommitPosition, TableId, VersionKind, VersionRows};

use super::rows;
use super::side::OwnSide;

/// The table of readings.
pub const TABLE: TableId = TableId(1);

/// How long background work waits for something to do before it looks again.
const IDLE: Duration = Duration::from_millis(100);

/// After so long without a merge there are no more: an idle store waits less before it merges what
/// was not due. The wait counts as merging in the report.
const SETTLED: Duration = Duration::from_secs(4);

/// As in `hedgerow serve`.
const MERGE_NICENESS: i32 = 10;

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

/// What a flush, a merge and the program itself take, however small the limit.
const FIXED_BYTES: u64 = 48 << 20;

/// Rose's pages (section 2.4).
const ROSE_PAGE_BYTES: usize = 4 << 10;

/// Ten, as size ratios commonly are.
const STEPPED_MERGE: MergePolicy = MergePolicy::SteppedMerge { runs_a_level: 10 };

/// What merging ten runs at once takes beside that, where ours merges four or so.
const STEPPED_MERGE_BYTES: u64 = 16 << 20;

/// As much of the limit as leaves room for merges and the kernel.
fn options(side: OwnSide, memory_bytes: u64) -> StoreOptions {
    let fixed_bytes = match side {
        OwnSide::Hedgerow | OwnSide::Rose => FIXED_BYTES,
        OwnSide::SteppedMerge => FIXED_BYTES + STEPPED_MERGE_BYTES,
    };
    let options = StoreOptions {
        memory_bytes: (memory_bytes.saturating_sub(fixed_bytes) * 4 / 7) as usize,
        cache_bytes: (memory_bytes / 16) as usize,
        ..StoreOptions::default()
    };
    match side {
        OwnSide::Hedgerow => options,
        OwnSide::Rose => StoreOptions {
            merge_policy: MergePolicy::Rose,
            page_bytes: ROSE_PAGE_BYTES,
            cache_policy: CachePolicy::LeastRecentlyUsed,
            filter_bytes: 0, // It had none, and did not spend time on building them.
            ..options
        },
        OwnSide::SteppedMerge => StoreOptions {
            merge_policy: STEPPED_MERGE,
            ..options
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
    stop: Arc<AtomicBool>,
    workers: Vec<JoinHandle<()>>,
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
        let stop = Arc::new(AtomicBool::new(false));
        let worker = |(name, kind): (&str, Work)| {
            let (store, stop) = (Arc::clone(&store), Arc::clone(&stop));
            let thread = thread::Builder::new().name(name.to_owned());
            thread.spawn(move || work(&store, kind, &stop))
        };
        let workers = [("flush", Work::Flush), ("merge", Work::Merge)].map(worker);
        Ok(Self {
            folder: folder.to_owned(),
            settings,
            position: store.visible(),
            stop,
            workers: workers.into_iter().collect::<io::Result<_>>()?,
            store,
        })
    }

    /// The store.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Ends its threads.
    pub fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.store.shut_down();
        for worker in self.workers {
            worker.join().expect("background work does not panic");
        }
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
        let mut done = self.store.stats().merges_done;
        let mut quiet_since = Instant::now();
        while quiet_since.elapsed() < SETTLED {
            thread::sleep(IDLE);
            let stats = self.store.stats();
            if stats.merges_running > 0 || stats.merges_done > done {
                quiet_since = Instant::now();
            }
            done = stats.merges_done;
        }
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

fn work(store: &Store, kind: Work, stop: &AtomicBool) {
    if kind == Work::Merge {
        // On Linux, no process means this thread.
        let lowered = rustix::process::setpriority_process(None, MERGE_NICENESS);
        lowered.expect("a thread may lower its own priority");
    }
    while !stop.load(Ordering::Relaxed) {
        match store.work(kind) {
            Ok(true) => {}
            Ok(false) => store.wait_for_work(kind, IDLE),
            Err(error) => panic!("{kind:?}: {error}"),
        }
    }
}
