//! A store's background work as `hedgerow serve` has it: one thread flushes, one merges.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lsm::{Store, StoreOptions, Work};

/// How long background work waits for something to do before it looks again.
pub const IDLE: Duration = Duration::from_millis(100);

/// After so long without a merge there are no more: an idle store waits less before it merges what
/// was not due. The wait counts as merging in reports.
const SETTLED: Duration = Duration::from_secs(4);

/// What a flush, a merge and the program itself take, however small the limit.
const FIXED_BYTES: u64 = 48 << 20;

/// As much of a memory limit as leaves room for merges and the kernel.
pub fn options(memory_bytes: u64) -> StoreOptions {
    StoreOptions {
        memory_bytes: (memory_bytes.saturating_sub(FIXED_BYTES) * 4 / 7) as usize,
        cache_bytes: (memory_bytes / 16) as usize,
        ..StoreOptions::default()
    }
}

/// A store's threads.
pub struct Background {
    store: Arc<Store>,
    stop: Arc<AtomicBool>,
    flushes: JoinHandle<Vec<Duration>>,
    merges: JoinHandle<Vec<Duration>>,
}

/// How long each piece of work took.
#[derive(Debug)]
pub struct WorkTimes {
    /// Each flush.
    pub flushes: Vec<Duration>,
    /// Each merge.
    pub merges: Vec<Duration>,
}

impl Background {
    /// Starts the threads.
    pub fn start(store: &Arc<Store>) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let worker = |name: &str, kind: Work| {
            let (store, stop) = (Arc::clone(store), Arc::clone(&stop));
            let thread = thread::Builder::new().name(name.to_owned());
            thread.spawn(move || work(&store, kind, &stop))
        };
        Ok(Self {
            flushes: worker("flush", Work::Flush)?,
            merges: worker("merge", Work::Merge)?,
            store: Arc::clone(store),
            stop,
        })
    }

    /// Returns when no merge is going on or due.
    pub fn settle(&self) {
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
    }

    /// Ends the threads.
    pub fn stop(self) -> WorkTimes {
        self.stop.store(true, Ordering::Relaxed);
        self.store.shut_down();
        let times = |worker: JoinHandle<_>| worker.join().expect("background work does not panic");
        WorkTimes {
            flushes: times(self.flushes),
            merges: times(self.merges),
        }
    }
}

fn work(store: &Store, kind: Work, stop: &AtomicBool) -> Vec<Duration> {
    // As in `hedgerow serve`. On Linux, no process means this thread.
    let lowered = rustix::process::setpriority_process(None, kind.niceness());
    lowered.expect("a thread may lower its own priority");
    let mut times = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let begin = Instant::now();
        match store.work(kind) {
            Ok(true) => times.push(begin.elapsed()),
            Ok(false) => store.wait_for_work(kind, IDLE),
            Err(error) => panic!("{kind:?}: {error}"),
        }
    }
    times
}
