//! A replica: one source, the apply loop, and the threads that run them.
//!
//! The source's thread prepares the store, starts the apply loop's thread and then runs the
//! source until it is told to stop. When either ends with an error, the other is stopped too
//! and the error is kept for whoever asks. A source that cannot be followed any further is no such
//! error: what was copied stays readable.

use std::path::PathBuf;
use std::sync::Arc;

use env::{Clock, Disk};
use lsm::Store;
use parking_lot::{Condvar, Mutex};

use crate::apply::{Apply, ApplyOptions};
use crate::catalog::Catalog;
use crate::checkpoint::Checkpoint;
use crate::source::{Confirmed, Feed, Source, SourceError, Spawner, Stop, Target, batch_channel};
use crate::status::{SourceHandle, SourceState, Status};

/// What a replica is made of.
pub struct ReplicaParts {
    /// The trees.
    pub store: Arc<Store>,
    /// Filled and kept current by the replica.
    pub catalog: Arc<Catalog>,
    /// Where the replica reports.
    pub status: Arc<Status>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Files, for what cannot be applied yet.
    pub disk: Arc<dyn Disk>,
    /// The folder for those files, which is for nothing else.
    pub spool_directory: PathBuf,
    /// Starts the replica's threads.
    pub spawner: Spawner,
    /// How often changes are made durable.
    pub options: ApplyOptions,
}

/// A running replica.
pub struct Replica {
    shared: Arc<Shared>,
}

/// What the replica's threads and its owner share.
struct Shared {
    stop: Stop,
    status: Arc<SourceHandle>,
    ended: Mutex<Ended>,
    changed: Condvar,
}

#[derive(Default)]
struct Ended {
    threads: usize,
    failure: Option<String>,
}

impl Replica {
    /// Starts to replicate `source`, which is shown as `name` of a `kind` such as
    /// `postgresql`. Tables that the store already has are in the catalog when it returns.
    pub fn start(
        parts: ReplicaParts,
        name: &str,
        kind: &str,
        source: Box<dyn Source>,
    ) -> Result<Self, SourceError> {
        let status = parts.status.register(name, kind);
        if let Some(checkpoint) = Checkpoint::load(&parts.store)? {
            checkpoint.fill_catalog(&parts.store, &parts.catalog);
            status.set_visible(parts.store.visible(), checkpoint.commit_time_us);
            status.set_durable(parts.store.durable().position);
        }
        let shared = Arc::new(Shared {
            stop: Stop::new(),
            status,
            ended: Mutex::new(Ended {
                threads: 1,
                failure: None,
            }),
            changed: Condvar::new(),
        });
        let spawner = parts.spawner.clone();
        let thread = SourceThread {
            parts,
            shared: shared.clone(),
            source,
        };
        spawner("source", Box::new(move || thread.run()));
        Ok(Self { shared })
    }

    /// Why the replica cannot go on, if it cannot.
    pub fn failed(&self) -> Option<String> {
        self.shared.ended.lock().failure.clone()
    }

    /// Stops the replica and waits until its threads have ended. Nothing is flushed: what was
    /// not durable is sent again by the source.
    pub fn shut_down(&self) {
        self.shared.stop.set();
        let mut ended = self.shared.ended.lock();
        while ended.threads > 0 {
            self.shared.changed.wait(&mut ended);
        }
    }
}

impl Shared {
    /// Notes that a thread begins.
    fn begin(&self) {
        self.ended.lock().threads += 1;
    }

    /// Waits until this thread is the only one.
    fn wait_for_apply(&self) {
        let mut ended = self.ended.lock();
        while ended.threads > 1 {
            self.changed.wait(&mut ended);
        }
    }

    /// Notes that a thread has ended, and stops the other if it failed.
    fn end(&self, result: Result<(), SourceError>) {
        let mut ended = self.ended.lock();
        ended.threads -= 1;
        match result {
            Ok(()) | Err(SourceError::Stopped) => {
                let is_over = ended.threads == 0 && self.status.state() != SourceState::Stale;
                if ended.failure.is_none() && is_over {
                    self.status.set_state(SourceState::Stopped, None);
                }
            }
            // The store is as good as before: readers go on.
            Err(SourceError::Stale(reason)) => {
                tracing::error!(reason, "the source is not followed any more");
                self.status.set_stale(reason);
            }
            Err(error) => {
                tracing::error!(%error, "replication stopped");
                self.status
                    .set_state(SourceState::Failed, Some(error.to_string()));
                ended.failure.get_or_insert(error.to_string());
                self.stop.set();
            }
        }
        self.changed.notify_all();
    }
}

/// What runs in the source's thread.
struct SourceThread {
    parts: ReplicaParts,
    shared: Arc<Shared>,
    source: Box<dyn Source>,
}

impl SourceThread {
    fn run(mut self) {
        let result = self.replicate();
        self.shared.end(result);
    }

    /// Prepares and follows, as often as the source can mend what keeps it from going on.
    fn replicate(&mut self) -> Result<(), SourceError> {
        loop {
            match self.follow() {
                Err(SourceError::BeginAgain(reason)) => {
                    tracing::warn!(reason, "beginning again");
                    self.shared.wait_for_apply();
                }
                result => return result,
            }
        }
    }

    fn follow(&mut self) -> Result<(), SourceError> {
        let target = Target {
            store: self.parts.store.clone(),
            catalog: self.parts.catalog.clone(),
            status: self.shared.status.clone(),
            clock: self.parts.clock.clone(),
            spawner: self.parts.spawner.clone(),
            stop: self.shared.stop.clone(),
        };
        let checkpoint = self.source.prepare(&target)?;
        target.status.set_durable(target.store.durable().position);
        let (sender, receiver) = batch_channel();
        let mut apply = Apply::new(&target, self.parts.options.clone(), checkpoint.clone())?;
        let shared = self.shared.clone();
        shared.begin();
        let run_apply = move || {
            let result = apply
                .run(&receiver, &shared.stop)
                .map_err(SourceError::Store);
            shared.end(result);
        };
        (self.parts.spawner)("apply", Box::new(run_apply));
        let feed = Feed {
            store: target.store.clone(),
            spawner: target.spawner,
            disk: self.parts.disk.clone(),
            spool_directory: self.parts.spool_directory.clone(),
            batches: sender,
            confirmed: Confirmed::new(target.store.clone()),
            catalog: target.catalog,
            status: target.status,
            clock: target.clock,
            stop: target.stop,
        };
        self.source.run(&checkpoint, &feed)
    }
}

#[cfg(test)]
mod tests;
