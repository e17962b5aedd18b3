//! The threads that do the primary's work on files: one writes its log, one its blocks, one its snapshots,
//! and sixteen read blocks.
//!
//! Each does steps until it is told to stop, and wakes the primary's thread after a step. A failure of the
//! log is the primary's to see: it acknowledges nothing any more. Blocks and snapshots that cannot be
//! written, say because the disk is full, are tried again.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use oltp::{Partition, PrimaryError};

use super::signal::Signal;
use crate::source::{Spawner, Stop};

/// Threads that read blocks: a solid-state disk serves many reads at once, and they sleep meanwhile.
const FETCHERS: usize = 16;
/// How long a thread waits for work before it looks whether to stop.
const PATIENCE: Duration = Duration::from_millis(100);
/// Pause before a step that has failed is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Does a step if there is one to do.
type Step = Box<dyn Fn() -> Result<bool, PrimaryError> + Send>;
/// Waits until there may be a step to do.
type Wait = Box<dyn Fn() + Send>;

/// Tells when all threads have ended: each holds a sender for as long as it runs.
pub(super) struct FileThreads {
    stop: Stop,
    running: Receiver<()>,
}

impl FileThreads {
    /// Starts the threads that a partition needs.
    pub(super) fn start(partition: &Partition, spawner: &Spawner, signal: &Arc<Signal>) -> Self {
        let stop = Stop::new();
        let (runs, running) = bounded(0);
        let start = |name: &str, step: Step, wait: Wait| {
            let thread = FileThread {
                name: name.to_owned(),
                step,
                wait,
                signal: Arc::clone(signal),
                stop: stop.clone(),
                _runs: runs.clone(),
            };
            spawner(name, Box::new(move || thread.run()));
        };
        if let Some(log) = partition.log_writer() {
            let waited = Arc::clone(&log);
            let wait = move || waited.wait(PATIENCE);
            start("primary log", Box::new(move || log.write()), Box::new(wait));
        }
        if let Some(files) = partition.block_files() {
            let (written, waited) = (Arc::clone(&files), Arc::clone(&files));
            let wait = move || waited.wait_to_write(PATIENCE);
            let write = move || written.write();
            start("primary blocks", Box::new(write), Box::new(wait));
            for _ in 0..FETCHERS {
                let (read, waited) = (Arc::clone(&files), Arc::clone(&files));
                let wait = move || waited.wait_to_fetch(PATIENCE);
                let fetch = move || Ok(read.fetch());
                start("primary fetch", Box::new(fetch), Box::new(wait));
            }
        }
        if let Some(snapshots) = partition.snapshot_writer() {
            let waited = Arc::clone(&snapshots);
            let wait = move || waited.wait(PATIENCE);
            let write = move || snapshots.write();
            start("primary snapshot", Box::new(write), Box::new(wait));
        }
        Self { stop, running }
    }

    /// Ends the threads and waits for that.
    pub(super) fn stop(self) {
        self.stop.set();
        // Nobody sends: it returns when the last thread has dropped its sender.
        _ = self.running.recv();
    }
}

struct FileThread {
    name: String,
    step: Step,
    wait: Wait,
    signal: Arc<Signal>,
    stop: Stop,
    _runs: Sender<()>,
}

impl FileThread {
    fn run(&self) {
        while !self.stop.is_set() {
            match (self.step)() {
                Ok(true) => self.signal.set(),
                Ok(false) => (self.wait)(),
                Err(error) => {
                    tracing::error!(thread = self.name, %error, "the primary's file could not be written");
                    self.signal.set();
                    self.stop.wait(RETRY);
                }
            }
        }
    }
}
