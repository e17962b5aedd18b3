//! Threads: the store's background work, and what becomes of a thread that panics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use lsm::{STATEMENT_NICENESS, Store, StoreError, Work};
use parking_lot::Mutex;
use replication::source::Spawner;

/// How long an idle worker sleeps before it looks around.
const IDLE: Duration = Duration::from_secs(1);
/// Pause before work that failed is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// The first reason why the process cannot go on, shared by all threads.
#[derive(Clone, Default)]
pub struct Fatal(Arc<Mutex<Option<String>>>);

impl Fatal {
    /// Notes a reason, unless there is one already.
    pub fn set(&self, reason: String) {
        self.0.lock().get_or_insert(reason);
    }

    /// The reason, if there is one.
    pub fn get(&self) -> Option<String> {
        self.0.lock().clone()
    }
}

/// Says so when the thread that holds it panics.
struct PanicNotice {
    thread: String,
    fatal: Fatal,
}

impl Drop for PanicNotice {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let reason = format!("the thread {:?} failed unexpectedly (a bug)", self.thread);
            self.fatal.set(reason);
        }
    }
}

/// Starts a thread; its panic is noted as fatal.
fn spawn(
    name: &str,
    fatal: &Fatal,
    work: impl FnOnce() + Send + 'static,
) -> Option<JoinHandle<()>> {
    let notice = PanicNotice {
        thread: name.to_owned(),
        fatal: fatal.clone(),
    };
    let body = move || {
        let _notice = notice;
        work();
    };
    match std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)
    {
        Ok(handle) => Some(handle),
        Err(error) => {
            fatal.set(format!("cannot start the thread {name:?}: {error}"));
            None
        }
    }
}

/// Starts threads for a replica.
pub fn spawner(fatal: &Fatal) -> Spawner {
    let fatal = fatal.clone();
    Arc::new(move |name, work| drop(spawn(name, &fatal, work)))
}

/// The threads that flush and merge.
pub struct Workers {
    store: Arc<Store>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts a thread for each kind of work.
    pub fn start(store: &Arc<Store>, fatal: &Fatal) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let kinds = [("flush", Work::Flush), ("merge", Work::Merge)];
        let threads = kinds.into_iter().filter_map(|(name, kind)| {
            let worker = Worker {
                store: store.clone(),
                kind,
                stop: stop.clone(),
                fatal: fatal.clone(),
            };
            spawn(name, fatal, move || worker.run())
        });
        let threads = threads.collect();
        Self {
            store: store.clone(),
            stop,
            threads,
        }
    }

    /// Ends the threads; work in progress stops at the next chance.
    pub fn stop(self) {
        self.stop.store(true, Ordering::Release);
        self.store.shut_down();
        for thread in self.threads {
            // A thread that panicked has been noted already.
            _ = thread.join();
        }
    }
}

/// Lowers the calling thread's priority: on Linux, no process means this thread.
fn lower_priority(niceness: i32) {
    if let Err(error) = rustix::process::setpriority_process(None, niceness) {
        let thread = std::thread::current();
        tracing::warn!(%error, thread = thread.name(), "a thread runs at full priority");
    }
}

/// Lowers that of a thread that runs statements.
pub fn lower_query_priority() {
    lower_priority(STATEMENT_NICENESS);
}

struct Worker {
    store: Arc<Store>,
    kind: Work,
    stop: Arc<AtomicBool>,
    fatal: Fatal,
}

impl Worker {
    fn run(&self) {
        lower_priority(self.kind.niceness());
        while !self.stop.load(Ordering::Acquire) {
            match self.store.work(self.kind) {
                Ok(true) => {}
                Ok(false) => self.store.wait_for_work(self.kind, IDLE),
                Err(error @ StoreError::Poisoned(_)) => {
                    self.fatal.set(error.to_string());
                    return;
                }
                // Nothing is lost: what was being written is not named by the manifest, and
                // readers go on. The work is tried again, as space may return.
                Err(error) => {
                    tracing::error!(work = ?self.kind, %error, "background work failed; trying again");
                    std::thread::sleep(RETRY);
                }
            }
        }
    }
}
