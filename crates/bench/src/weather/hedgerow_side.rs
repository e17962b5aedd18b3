//! Hedgerow as a contender: the trees of one table, with a thread to flush and one to merge, as
//! `hedgerow serve` has them.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use arrow_array::{ArrayRef, Int32Array, Int64Array};
use clap::Args;
use env::Env;
use lsm::{Store, StoreOptions, Work};
use types::{ColumnType, CommitPosition, TableId, TableSchema, VersionKind, VersionRows};

use super::report::Report;
use super::rows::{self, RECORD_BYTES};
use super::{BATCH_ROWS, WINDOW_ROWS};

/// What the contender is told.
#[derive(Debug, Args)]
pub struct SideArguments {
    /// Where the data go
    #[arg(long)]
    folder: PathBuf,
    /// The memory limit, bytes
    #[arg(long)]
    memory_bytes: u64,
    /// The control group that has the limit
    #[arg(long)]
    memory_group: Option<PathBuf>,
}

const TABLE: TableId = TableId(1);

/// How long background work waits for something to do before it looks again.
const IDLE: Duration = Duration::from_millis(100);

/// As in `hedgerow serve`.
const MERGE_NICENESS: i32 = 10;

/// How often the disk is looked at.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// Inserts the rows of standard input, and prints the report.
pub fn run(arguments: &SideArguments) -> Result<()> {
    if let Some(group) = &arguments.memory_group {
        let members = group.join("cgroup.procs");
        std::fs::write(&members, std::process::id().to_string())
            .with_context(|| format!("could not join {}", group.display()))?;
    }
    std::fs::create_dir_all(&arguments.folder)?;
    let schema = rows::schema()?;
    let store = Store::open(
        Env::real(),
        &arguments.folder,
        options(arguments.memory_bytes),
    )?;
    store.create_table(TABLE, schema.clone())?;
    let background = Background::start(&store, &arguments.folder);
    let mut insertion = Insertion::start(&store, &schema, background);
    insertion.insert_all(io::stdin().lock())?;
    store.flush()?;
    let report = insertion.finish()?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// As much of the limit as leaves room for merges and the kernel.
fn options(memory_bytes: u64) -> StoreOptions {
    StoreOptions {
        memory_bytes: (memory_bytes / 2) as usize,
        cache_bytes: (memory_bytes / 16) as usize,
        ..StoreOptions::default()
    }
}

/// Insertion of batches, watched.
struct Insertion<'a> {
    store: &'a Arc<Store>,
    schema: &'a TableSchema,
    background: Background,
    started: Instant,
    rows: usize,
    batch_micros: Vec<u32>,
    window_ends: Vec<f64>,
}

impl<'a> Insertion<'a> {
    fn start(store: &'a Arc<Store>, schema: &'a TableSchema, background: Background) -> Self {
        Self {
            store,
            schema,
            background,
            started: Instant::now(),
            rows: 0,
            batch_micros: Vec::new(),
            window_ends: Vec::new(),
        }
    }

    fn insert_all(&mut self, mut input: impl Read) -> Result<()> {
        let mut batch = Vec::with_capacity(BATCH_ROWS * RECORD_BYTES);
        loop {
            batch.clear();
            let bytes = (BATCH_ROWS * RECORD_BYTES) as u64;
            input.by_ref().take(bytes).read_to_end(&mut batch)?;
            if batch.is_empty() {
                return Ok(());
            }
            self.insert(batch.as_chunks().0)?;
        }
    }

    fn insert(&mut self, records: &[[u8; RECORD_BYTES]]) -> Result<()> {
        let begin = Instant::now();
        let position = CommitPosition(self.batch_micros.len() as u64 + 1);
        while !self.store.wait_for_memory(IDLE)? {}
        let versions = versions(self.schema, records, position);
        self.store.ingest(TABLE, versions)?;
        self.store.publish(position, Vec::new());
        let micros = begin.elapsed().as_micros();
        self.batch_micros
            .push(u32::try_from(micros).unwrap_or(u32::MAX));
        self.rows += records.len();
        self.background.rows.store(self.rows, Ordering::Relaxed);
        if self.rows.is_multiple_of(WINDOW_ROWS) {
            self.window_ends.push(self.started.elapsed().as_secs_f64());
        }
        Ok(())
    }

    /// Everything is durable. Waits for merges.
    fn finish(mut self) -> Result<Report> {
        let seconds = self.started.elapsed().as_secs_f64();
        let settling = Instant::now();
        self.background.settle(self.store);
        let settle_seconds = settling.elapsed().as_secs_f64();
        let stats = self.store.stats();
        let (bytes_at_end, space) = self.background.stop(self.store)?;
        self.batch_micros.sort_unstable();
        let last = self.batch_micros.len() - 1;
        let ms = |index: usize| f64::from(self.batch_micros[index]) / 1_000.0;
        Ok(Report {
            rows: self.rows,
            window_ends: self.window_ends,
            seconds,
            batch_ms_p9999: ms(last * 9_999 / 10_000),
            batch_ms_max: ms(last),
            space,
            bytes_at_end,
            bytes_written: stats.bytes_flushed + stats.bytes_merged,
            settle_seconds,
        })
    }
}

/// Puts of the records' rows.
fn versions(
    schema: &TableSchema,
    records: &[[u8; RECORD_BYTES]],
    position: CommitPosition,
) -> VersionRows {
    let mut at = 0;
    let columns = schema.columns.iter().map(|column| {
        let (array, bytes): (ArrayRef, _) = match column.column_type {
            ColumnType::Int64 => {
                let number = |record| i64::from_le_bytes(cell(record, at));
                (
                    Arc::new(Int64Array::from_iter_values(records.iter().map(number))),
                    8,
                )
            }
            _ => {
                let number = |record| i32::from_le_bytes(cell(record, at));
                (
                    Arc::new(Int32Array::from_iter_values(records.iter().map(number))),
                    4,
                )
            }
        };
        at += bytes;
        array
    });
    VersionRows {
        columns: columns.collect(),
        positions: vec![position.0; records.len()],
        kinds: vec![VersionKind::Put as u8; records.len()],
        unchanged: None,
    }
}

fn cell<const N: usize>(record: &[u8; RECORD_BYTES], at: usize) -> [u8; N] {
    let bytes = record[at..].first_chunk();
    *bytes.expect("a record has all columns")
}

/// Threads beside the inserting one: to flush, to merge, and to look at the disk.
struct Background {
    stop: Arc<AtomicBool>,
    /// Rows inserted so far.
    rows: Arc<AtomicUsize>,
    workers: Vec<JoinHandle<()>>,
    sampler: JoinHandle<Vec<(usize, u64)>>,
    folder: PathBuf,
}

impl Background {
    fn start(store: &Arc<Store>, folder: &Path) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let rows = Arc::new(AtomicUsize::new(0));
        let worker = |(name, kind)| {
            let (store, stop) = (Arc::clone(store), Arc::clone(&stop));
            spawn(name, move || work(&store, kind, &stop))
        };
        let workers = [("flush", Work::Flush), ("merge", Work::Merge)].map(worker);
        let sampler = {
            let (stop, rows, folder) = (Arc::clone(&stop), Arc::clone(&rows), folder.to_owned());
            spawn("sampler", move || sample(&folder, &rows, &stop))
        };
        Self {
            workers: workers.into(),
            stop,
            rows,
            sampler,
            folder: folder.to_owned(),
        }
    }

    /// Waits until no merge is going on or due.
    fn settle(&self, store: &Store) {
        let mut done = u64::MAX;
        loop {
            thread::sleep(2 * IDLE);
            let stats = store.stats();
            if stats.merges_running == 0 && stats.merges_done == done {
                return;
            }
            done = stats.merges_done;
        }
    }

    /// Ends the threads. Bytes on disk now, and all samples.
    fn stop(self, store: &Store) -> Result<(u64, Vec<(usize, u64)>)> {
        let bytes = bytes_on_disk(&self.folder)?;
        self.stop.store(true, Ordering::Relaxed);
        store.shut_down();
        for worker in self.workers {
            worker.join().expect("background work does not panic");
        }
        let samples = self.sampler.join().expect("the sampler does not panic");
        Ok((bytes, samples))
    }
}

fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(body);
    thread.expect("the machine has room for a thread")
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

fn sample(folder: &Path, rows: &AtomicUsize, stop: &AtomicBool) -> Vec<(usize, u64)> {
    let mut samples = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        // A file may go while it is looked at: then the next sample tells.
        if let Ok(bytes) = bytes_on_disk(folder) {
            samples.push((rows.load(Ordering::Relaxed), bytes));
        }
        thread::sleep(SAMPLE_EVERY);
    }
    samples
}

/// Bytes of all files, as the file system allots them.
fn bytes_on_disk(folder: &Path) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    const BLOCK_BYTES: u64 = 512; // The unit of `st_blocks`, whatever the file system.
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += match metadata.is_dir() {
            true => bytes_on_disk(&entry.path())?,
            false => metadata.blocks() * BLOCK_BYTES,
        };
    }
    Ok(bytes)
}
