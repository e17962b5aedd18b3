//! The change feed: everything that has committed, row by row, for a replica.
//!
//! * [`changed_rows`]: what one transaction has changed; [`committed_changes`]: what the replica takes.
//! * [`feed_writer`]: from a commit to the feed, beside the command log; [`snapshot_copy`]: all rows, for a
//!   replica that has nothing.
//!
//! 1. When a transaction commits, each row that it has changed is copied as it was before and as it is now.
//! 2. The copies wait for the group of the command log that has the transaction. When it is durable they
//!    are in the feed.
//! 3. The replica takes them, in a thread of its own, and confirms what it has made durable.
//! 4. Snapshots wait for the confirmation: of those that are kept one at least is not newer, so the log after
//!    it makes all changes again that the replica may ask for after a restart (decision 0022). The feed says which
//!    position one waits for, so that the replica need not take its time.
//! 5. When the replica does not keep pace calls are refused before the feed fills the memory.
//!
//! **Invariants:** what the feed gives is durable in the command log. Transactions come in the log's order,
//! each once and none left out, up to the end of the process; after the next start they come again
//! from the position on that the replica names.
//!
//! Does not: keep anything on disk.

mod changed_rows;
mod committed_changes;
mod feed_writer;
mod snapshot_copy;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use env::Env;
use parking_lot::{Condvar, Mutex};
use types::CommitPosition;

use crate::error::PrimaryError;
use crate::row_layout::RowLayout;
use crate::schema::TableDefinition;
use crate::snapshot::SnapshotRecord;
pub(crate) use changed_rows::ChangedRows;
use committed_changes::Chunk;
pub use committed_changes::{
    ChangedRow, CommittedChanges, CommittedTransaction, CopyPart, RowImage,
};
pub(crate) use feed_writer::FeedWriter;
use snapshot_copy::SnapshotCopy;

/// Where a replica goes on, and how far it may stay behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedStart {
    /// What the replica has; [`CommitPosition::ZERO`] of a new one. If the log does not reach back to it
    /// the feed begins with a copy of all rows.
    pub after: CommitPosition,
    /// Bytes of changes that may be in memory: with more, calls are refused. One transaction may exceed it.
    pub bytes_max: usize,
}

/// What a replica follows; see the module. The partition and the replica's thread share it.
pub struct ChangeFeed {
    layouts: Arc<[RowLayout]>,
    bytes_max: usize,
    /// Of all that was not taken, durable or not.
    held_bytes: AtomicUsize,
    confirmed: AtomicU64,
    /// What a snapshot waits for.
    awaited: AtomicU64,
    /// What comes before everything else, until it is whole.
    copy: Mutex<Option<SnapshotCopy>>,
    durable: Mutex<Durable>,
    is_durable: Condvar,
}

/// What may be taken.
struct Durable {
    chunks: VecDeque<Chunk>,
    /// Everything up to here was taken.
    taken: CommitPosition,
}

impl ChangeFeed {
    /// A feed of these tables, with nothing in it.
    pub(crate) fn new(tables: &[TableDefinition], start: FeedStart) -> Self {
        let layouts = tables.iter().map(|table| RowLayout::new(&table.columns));
        Self {
            layouts: layouts.collect(),
            bytes_max: start.bytes_max,
            held_bytes: AtomicUsize::new(0),
            confirmed: AtomicU64::new(start.after.0),
            awaited: AtomicU64::new(start.after.0),
            copy: Mutex::new(None),
            durable: Mutex::new(Durable {
                chunks: VecDeque::new(),
                taken: start.after,
            }),
            is_durable: Condvar::new(),
        }
    }

    /// A feed that begins with a copy of a snapshot.
    pub(crate) fn with_copy(
        self,
        env: &Env,
        folder: &Path,
        snapshot: &SnapshotRecord,
    ) -> Result<Self, PrimaryError> {
        let copy = SnapshotCopy::open(env, folder, snapshot)?;
        *self.copy.lock() = Some(copy);
        Ok(self)
    }

    /// The replica has everything up to here before it takes any changes.
    pub(crate) fn begins_after(&self) -> CommitPosition {
        let copy = self.copy.lock();
        let copied = copy.as_ref().map(SnapshotCopy::position);
        copied.unwrap_or_else(|| self.confirmed())
    }

    /// Takes the changes of the next transactions, about so many bytes, but one transaction at least;
    /// `None` when there is nothing new. They are whole, and durable in the command log.
    ///
    /// A replica that has nothing, or less than the log reaches back to, is given a copy of all rows first, in
    /// parts of about so many bytes ([`CommittedChanges::copy`]). An error says what could not be read for
    /// it; the next call tries again.
    pub fn take(&self, bytes_max: usize) -> Result<Option<CommittedChanges>, PrimaryError> {
        if let Some(copied) = self.take_copied(bytes_max)? {
            return Ok(Some(copied));
        }
        let mut durable = self.durable.lock();
        let (mut taken, mut bytes) = (Vec::new(), 0);
        while bytes < bytes_max.max(1)
            && let Some(chunk) = durable.chunks.pop_front()
        {
            bytes += chunk.bytes.len();
            durable.taken = chunk.last;
            taken.push(chunk);
        }
        drop(durable);
        self.held_bytes.fetch_sub(bytes, Ordering::Relaxed);
        let layouts = Arc::clone(&self.layouts);
        Ok(CommittedChanges::new(taken, layouts))
    }

    fn take_copied(&self, bytes_max: usize) -> Result<Option<CommittedChanges>, PrimaryError> {
        let mut copy = self.copy.lock();
        let Some(begun) = &mut *copy else {
            return Ok(None);
        };
        let rows = begun.next(bytes_max, &self.layouts)?;
        if rows.is_last {
            self.durable.lock().taken = rows.chunk.last;
            *copy = None;
        }
        let layouts = Arc::clone(&self.layouts);
        Ok(Some(CommittedChanges::copied(rows, layouts)))
    }

    /// Waits until there may be something to take, but not longer than this.
    pub fn wait(&self, most: Duration) {
        if self.copy.lock().is_some() {
            return;
        }
        let mut durable = self.durable.lock();
        if durable.chunks.is_empty() {
            self.is_durable.wait_for(&mut durable, most);
        }
    }

    /// The replica has everything up to here durable, and will not ask for it again.
    ///
    /// # Panics
    /// When it was not taken.
    pub fn confirm(&self, position: CommitPosition) {
        let taken = self.durable.lock().taken;
        assert!(position <= taken, "{position} of {taken} is confirmed");
        self.confirmed.fetch_max(position.0, Ordering::Release);
    }

    /// What the replica has confirmed.
    pub fn confirmed(&self) -> CommitPosition {
        CommitPosition(self.confirmed.load(Ordering::Acquire))
    }

    /// A snapshot cannot begin before this is confirmed.
    pub(crate) fn wait_for(&self, position: CommitPosition) {
        self.awaited.fetch_max(position.0, Ordering::Relaxed);
    }

    /// What the replica should make durable and confirm soon, because the log grows until it does; `None` when
    /// there is no hurry.
    pub fn awaited(&self) -> Option<CommitPosition> {
        let awaited = CommitPosition(self.awaited.load(Ordering::Relaxed));
        (awaited > self.confirmed()).then_some(awaited)
    }

    /// Bytes of changes that were not taken.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes.load(Ordering::Relaxed)
    }

    /// Whether so much was not taken that nothing should be added.
    pub(crate) fn is_full(&self) -> bool {
        self.held_bytes() > self.bytes_max
    }
}
