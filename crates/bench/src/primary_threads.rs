//! The threads that the primary leaves to its process: one writes the log, for each partition one writes
//! blocks and sixteen read them, and one writes snapshots where any are made.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use oltp::{BlockFiles, LogWriter, SnapshotWriter};

/// Threads that read blocks, for each partition: a solid-state disk serves many reads at once, and they sleep meanwhile.
const FETCHERS: usize = 16;

/// How long a thread waits for work before it looks whether all is over.
const PATIENCE: Duration = Duration::from_millis(10);

/// Runs `work` beside them.
pub fn beside<T>(
    log: Option<Arc<LogWriter>>,
    files: &[Arc<BlockFiles>],
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let mut threads = Vec::new();
        if let Some(log) = &log {
            threads.push(scope.spawn(|| until(&is_over, || write_log(log))));
        }
        for files in files {
            threads.push(scope.spawn(|| until(&is_over, || write_blocks(files))));
            for _ in 0..FETCHERS {
                threads.push(scope.spawn(|| until(&is_over, || fetch_blocks(files))));
            }
        }
        let result = work();
        is_over.store(true, Ordering::Relaxed);
        for thread in threads {
            let written = thread.join().expect("threads of the primary do not panic");
            written.context("the primary's files could not be written")?;
        }
        result
    })
}

/// Runs `work` beside a thread that writes snapshots.
pub fn beside_snapshots<T>(
    snapshots: &SnapshotWriter,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let thread = scope.spawn(|| until(&is_over, || write_snapshots(snapshots)));
        let result = work();
        is_over.store(true, Ordering::Relaxed);
        let written = thread.join().expect("threads of the primary do not panic");
        written.context("a snapshot could not be written")?;
        result
    })
}

fn until(is_over: &AtomicBool, step: impl Fn() -> Result<()>) -> Result<()> {
    while !is_over.load(Ordering::Relaxed) {
        step()?;
    }
    Ok(())
}

fn write_log(log: &LogWriter) -> Result<()> {
    if !log.write()? {
        log.wait(PATIENCE);
    }
    Ok(())
}

fn write_snapshots(snapshots: &SnapshotWriter) -> Result<()> {
    if !snapshots.write()? {
        snapshots.wait(PATIENCE);
    }
    Ok(())
}

fn write_blocks(files: &BlockFiles) -> Result<()> {
    if !files.write()? {
        files.wait_to_write(PATIENCE);
    }
    Ok(())
}

fn fetch_blocks(files: &BlockFiles) -> Result<()> {
    if !files.fetch() {
        files.wait_to_fetch(PATIENCE);
    }
    Ok(())
}
