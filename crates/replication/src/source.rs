//! The interface that a source of changes implements.
//!
//! A source prepares the store once (creates and fills its tables on the first start, checks on
//! later ones that continuing is safe) and then sends batches until it is told to stop. The
//! channel is bounded: a slow store makes the source read more slowly, nothing else.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, SendTimeoutError, Sender};
use env::{Clock, Disk};
use lsm::{Store, StoreError};
use parking_lot::{Condvar, Mutex};
use types::{ChangeBatch, CommitPosition};

use crate::catalog::Catalog;
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::status::SourceHandle;

/// Batches that wait between a source and the apply loop at most. A batch holds a few MiB.
const CHANNEL_BATCHES: usize = 3;

/// How long to wait for room in the channel before looking whether to stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// The bounded channel between a source and the apply loop.
pub fn batch_channel() -> (Sender<ChangeBatch>, Receiver<ChangeBatch>) {
    crossbeam_channel::bounded(CHANNEL_BATCHES)
}

/// A source cannot go on. (What may pass by itself a source deals with before it gives up.)
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The source or its settings do not permit it; says what, why and how to mend it.
    #[error("{0}")]
    Refused(String),
    /// The connection was lost, or the server is not ready: trying again may help.
    #[error("{0}")]
    Lost(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The stored state of the replica cannot be understood.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The log cannot be followed any further. What was copied stays as it is.
    #[error("{0}")]
    Stale(String),
    /// The log cannot be followed any further, and [`Source::prepare`] can mend that.
    #[error("{0}")]
    BeginAgain(String),
    /// It was told to stop before it was ready.
    #[error("shut down")]
    Stopped,
}

/// Where changes come from.
pub trait Source: Send {
    /// Makes the store ready: after it, the catalog holds the source's tables, everything that
    /// the returned checkpoint says is published, and [`Source::run`] continues from there.
    fn prepare(&mut self, target: &Target) -> Result<Checkpoint, SourceError>;

    /// Sends batches, from `start.resume` on, until told to stop or the channel closes.
    fn run(&mut self, start: &Checkpoint, feed: &Feed) -> Result<(), SourceError>;
}

/// A source hands a batch of commits on at most this often, unless it is large: a batch takes time of its
/// own in every table that it changes, however few the rows.
pub const PUBLISH_INTERVAL: Duration = Duration::from_millis(5);

/// Starts a thread with a name. The binary provides it: engines start no threads themselves.
pub type Spawner = Arc<dyn Fn(&str, Box<dyn FnOnce() + Send>) + Send + Sync>;

/// What a source prepares.
#[derive(Clone)]
pub struct Target {
    /// The trees.
    pub store: Arc<Store>,
    /// The tables, for readers.
    pub catalog: Arc<Catalog>,
    /// Where to report.
    pub status: Arc<SourceHandle>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// For work that is worth a second thread.
    pub spawner: Spawner,
    /// Set when the process ends.
    pub stop: Stop,
}

/// What a running source sends to and learns from.
pub struct Feed {
    /// The trees, for copies that are made while the log is followed.
    pub store: Arc<Store>,
    /// For those copies.
    pub spawner: Spawner,
    /// Files, for what cannot be applied yet.
    pub disk: Arc<dyn Disk>,
    /// The folder for those files, which is for nothing else.
    pub spool_directory: PathBuf,
    /// Where batches go. When it is closed, the apply loop has failed.
    pub batches: Sender<ChangeBatch>,
    /// What the source may be told.
    pub confirmed: Confirmed,
    /// The tables, to see which are stopped. Only the apply loop changes their states.
    pub catalog: Arc<Catalog>,
    /// Where to report.
    pub status: Arc<SourceHandle>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Set when the process ends.
    pub stop: Stop,
}

impl Feed {
    /// Hands a batch to the apply loop; false when that is no longer wanted.
    pub fn hand_over(&self, mut batch: ChangeBatch) -> bool {
        loop {
            if self.stop.is_set() {
                return false;
            }
            match self.batches.send_timeout(batch, PATIENCE) {
                Ok(()) => return true,
                Err(SendTimeoutError::Timeout(unsent)) => batch = unsent,
                Err(SendTimeoutError::Disconnected(_)) => return false,
            }
        }
    }

    /// What a copy needs.
    pub fn target(&self) -> Target {
        Target {
            store: self.store.clone(),
            catalog: self.catalog.clone(),
            status: self.status.clone(),
            clock: self.clock.clone(),
            spawner: self.spawner.clone(),
            stop: self.stop.clone(),
        }
    }
}

/// The one place that decides what a source is told: only what the store would recover if the
/// process ended now.
pub struct Confirmed {
    store: Arc<Store>,
    last: Mutex<Confirmation>,
}

/// A position that a source may be told.
#[derive(Clone, Debug)]
pub struct Confirmation {
    /// Everything up to here is durable.
    pub position: CommitPosition,
    /// Where the source would continue.
    pub resume: u64,
    metadata: Arc<[u8]>,
}

impl Confirmed {
    /// What `store` has made durable.
    pub fn new(store: Arc<Store>) -> Self {
        let nothing = Confirmation {
            position: CommitPosition::ZERO,
            resume: 0,
            metadata: Arc::from(Vec::new()),
        };
        Self {
            store,
            last: Mutex::new(nothing),
        }
    }

    /// The latest position that the source may be told.
    pub fn latest(&self) -> Result<Confirmation, CheckpointError> {
        let durable = self.store.durable();
        let mut last = self.last.lock();
        if durable.metadata.is_empty() || Arc::ptr_eq(&durable.metadata, &last.metadata) {
            return Ok(last.clone());
        }
        let resume = Checkpoint::from_bytes(&durable.metadata)?.resume;
        let (position, metadata) = (durable.position, durable.metadata);
        *last = Confirmation {
            position,
            resume,
            metadata,
        };
        Ok(last.clone())
    }
}

/// A request to stop, shared by threads.
#[derive(Clone, Default)]
pub struct Stop {
    inner: Arc<(Mutex<bool>, Condvar)>,
}

impl Stop {
    /// Nothing has to stop yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Everyone who asks is told to stop from now on.
    pub fn set(&self) {
        *self.inner.0.lock() = true;
        self.inner.1.notify_all();
    }

    /// Whether to stop.
    pub fn is_set(&self) -> bool {
        *self.inner.0.lock()
    }

    /// Waits for `time` or until told to stop; returns whether to stop.
    pub fn wait(&self, time: Duration) -> bool {
        let mut set = self.inner.0.lock();
        if !*set {
            self.inner.1.wait_for(&mut set, time);
        }
        *set
    }
}
