//! The side: a process with a memory limit that has a store of all tables.
//!
//! 1. All rows that are there before are loaded; merges end.
//! 2. Batches are written. A batch has changes of many tables, in 100 commits, which become
//!    visible together, as a replica's do. Its time is that of waiting for memory, ingesting and
//!    publishing; making the rows is left out of it, but not of the rate.
//! 3. Meanwhile a thread reads ([`super::reader`]) and one looks at the trees
//!    ([`super::starvation`]).
//! 4. When all is durable and merges have ended, all tables are scanned and checked.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use contender::disk_use::bytes_on_disk;
use contender::{Arguments, BatchTimes, Report, WINDOW_ROWS};
use env::Env;
use lsm::{Store, StoreOptions};
use types::{CommitPosition, TableId};

use super::Sizes;
use super::reader::{self, ReadTimes};
use super::report::{TreeReport, TreesReport};
use super::rows_maker::RowsMaker;
use super::starvation::{self, Watched};
use super::tables::{BATCH_ROWS, CLASSES, Class, LOADED, Table, end_of, tables};
use crate::background::{Background, IDLE};
use crate::quantiles::Quantiles;
use crate::resident_memory;

/// Rows that are loaded at a time.
const LOADED_ROWS: u64 = 4 << 10;

/// Writes and reads, and prints the report.
pub fn run(arguments: &Arguments, sizes: &Sizes) -> Result<()> {
    arguments.enter()?;
    allocator::give_back_early()?;
    let report = measure(&arguments.folder, options(arguments.memory_bytes), sizes)?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// The parts of the limit that `hedgerow serve` would give them, about (its `memory_plan.rs`): it
/// keeps another third for statements, of which there are none here.
fn options(memory_bytes: u64) -> StoreOptions {
    let memory_bytes = memory_bytes as usize;
    StoreOptions {
        memory_bytes: memory_bytes / 4,
        cache_bytes: memory_bytes / 8,
        filter_bytes: memory_bytes / 16,
        ..StoreOptions::default()
    }
}

/// See the module.
pub fn measure(folder: &Path, options: StoreOptions, sizes: &Sizes) -> Result<TreesReport> {
    let tables = tables(sizes);
    let loading = Instant::now();
    load(folder, &options, &tables)?;
    let load_seconds = loading.elapsed().as_secs_f64();
    // Opened again: what loading took counts nowhere.
    let store = Store::open(Env::real(), folder, options.clone())?;
    let background = Background::start(&store)?;
    let (written, read, watched) = write_and_read(&store, &tables, sizes)?;
    let settling = Instant::now();
    background.settle();
    let settle_seconds = settling.elapsed().as_secs_f64();
    let rows_checked = reader::check_all(&store, &tables)?;
    let stats = store.stats();
    let settings = format!(
        "C0 {} MiB, page cache {} MiB, one thread to flush, one to merge, one reader",
        options.memory_bytes >> 20,
        options.cache_bytes >> 20
    );
    let insertion = Report {
        settings,
        rows: sizes.batches() as usize * BATCH_ROWS as usize,
        batch_times: Some(BatchTimes::of(&micros(&written.batches))),
        undisturbed_batch_times: None,
        window_ends: written.window_ends,
        window_stolen: Vec::new(),
        insert_seconds: written.insert_seconds,
        seconds: written.seconds,
        space: Vec::new(),
        bytes_at_end: bytes_on_disk(folder)?,
        bytes_written: stats.bytes_flushed + stats.bytes_merged,
        settle_seconds,
    };
    let work = background.stop();
    Ok(TreesReport {
        insertion,
        batches: Quantiles::of(written.batches),
        flushes: Quantiles::of(work.flushes),
        merges: Quantiles::of(work.merges),
        merges_done: stats.merges_done,
        look_ups: CLASSES
            .into_iter()
            .zip(read.look_ups.map(Quantiles::of))
            .collect(),
        scans: Quantiles::of(read.scans),
        resident_bytes_max: resident_memory::peak_bytes(std::process::id())?,
        open_files_max: watched.open_files_max,
        rows_checked,
        load_seconds,
        runs_max: options.runs_max,
        trees: trees(&store, &tables, &watched, sizes),
    })
}

/// Fills all tables with the rows that are there before, and lets merges end.
fn load(folder: &Path, options: &StoreOptions, tables: &[Table]) -> Result<()> {
    let store = Store::open(Env::real(), folder, options.clone())?;
    let background = Background::start(&store)?;
    let mut position = CommitPosition::ZERO;
    for table in tables {
        store.create_table(table.id, table.shape.schema(table.tenant))?;
        let mut maker = RowsMaker::new(table);
        let rows = table.history.rows_before();
        for start in (0..rows).step_by(LOADED_ROWS as usize) {
            while !store.wait_for_memory(IDLE)? {}
            position.0 += 1;
            let some = start..rows.min(start + LOADED_ROWS);
            store.ingest(table.id, maker.before(table, some, position))?;
            store.publish(position, Vec::new());
        }
    }
    store.publish(LOADED, Vec::new());
    store.flush()?;
    background.settle();
    background.stop();
    Ok(())
}

/// Writes all batches; meanwhile somebody reads and somebody watches.
fn write_and_read(
    store: &Arc<Store>,
    tables: &[Table],
    sizes: &Sizes,
) -> Result<(Written, ReadTimes, Watched)> {
    let stop = AtomicBool::new(false);
    let is_written = |table: &&Table| table.class != Class::Idle;
    let ids: Vec<TableId> = tables
        .iter()
        .filter(is_written)
        .map(|table| table.id)
        .collect();
    thread::scope(|scope| {
        let reading = scope.spawn(|| reader::read(store, tables, &stop));
        let watching = scope.spawn(|| starvation::watch(store, &ids, &stop));
        let written = write(store, tables, sizes.batches());
        stop.store(true, Ordering::Relaxed);
        let read = reading.join().expect("the reader does not panic")?;
        let watched = watching.join().expect("looking does not panic")?;
        Ok((written?, read, watched))
    })
}

/// What the writer saw.
struct Written {
    batches: Vec<Duration>,
    window_ends: Vec<f64>,
    insert_seconds: f64,
    seconds: f64,
}

fn write(store: &Store, tables: &[Table], batches: u64) -> Result<Written> {
    const WINDOW_BATCHES: u64 = WINDOW_ROWS as u64 / BATCH_ROWS;
    let written = tables.iter().filter(|table| table.class != Class::Idle);
    let mut makers: Vec<(&Table, RowsMaker)> = written
        .map(|table| (table, RowsMaker::new(table)))
        .collect();
    let begin = Instant::now();
    let mut times = Vec::with_capacity(batches as usize);
    let mut window_ends = Vec::new();
    for batch in 0..batches {
        let changed = makers
            .iter_mut()
            .filter(|(table, _)| !table.changes_of(batch).is_empty());
        let rows = changed.map(|(table, maker)| (table.id, maker.batch(table, batch)));
        let rows: Vec<_> = rows.collect();
        let before = Instant::now();
        while !store.wait_for_memory(IDLE)? {}
        for (table, rows) in rows {
            store.ingest(table, rows)?;
        }
        store.publish(end_of(batch), Vec::new());
        times.push(before.elapsed());
        if (batch + 1).is_multiple_of(WINDOW_BATCHES) {
            window_ends.push(begin.elapsed().as_secs_f64());
        }
    }
    let insert_seconds = begin.elapsed().as_secs_f64();
    store.flush()?;
    Ok(Written {
        batches: times,
        window_ends,
        insert_seconds,
        seconds: begin.elapsed().as_secs_f64(),
    })
}

fn micros(times: &[Duration]) -> Vec<u32> {
    times.iter().map(|time| time.as_micros() as u32).collect()
}

fn trees(store: &Store, tables: &[Table], watched: &Watched, sizes: &Sizes) -> Vec<TreeReport> {
    let report = |table: &Table| {
        let stats = store.table_stats(table.id);
        let seen = watched.trees.get(&table.id).cloned().unwrap_or_default();
        let components = stats.iter().flat_map(|stats| &stats.components);
        TreeReport {
            class: table.class,
            changes: table.changes(sizes.batches()),
            runs_max: seen.runs_max,
            wait_ms_max: seen.wait_max.as_secs_f64() * 1e3,
            waits: seen.waits,
            files: components.map(|component| component.segments).sum(),
            bytes: stats.as_ref().map_or(0, |stats| stats.bytes_on_disk),
        }
    };
    tables.iter().map(report).collect()
}
