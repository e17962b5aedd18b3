//! The command log's side of the feed: changes that wait for their group to become durable.
//!
//! Whoever has the log has this, so changes are in its order, of whatever partition they are.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use types::CommitPosition;

use super::ChangeFeed;
use super::changed_rows::{ChangeKind, ChangedRows};
use super::committed_changes::{Chunk, begin_transaction, set_changes};

/// A chunk that has so many bytes gets no more transactions: about as little is taken at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// See the module.
pub(crate) struct FeedWriter {
    feed: Arc<ChangeFeed>,
    /// The replica has everything up to here, or its copy.
    after: CommitPosition,
    /// Of the pending group.
    pending: Vec<Chunk>,
    /// Of the group that is being written.
    writing: Vec<Chunk>,
}

impl FeedWriter {
    /// Nothing yet.
    pub(crate) fn new(feed: Arc<ChangeFeed>) -> Self {
        Self {
            after: feed.begins_after(),
            feed,
            pending: Vec::new(),
            writing: Vec::new(),
        }
    }

    /// The feed.
    pub(crate) fn feed(&self) -> &Arc<ChangeFeed> {
        &self.feed
    }

    /// A transaction has committed; `rows` is what it has changed, partition by partition.
    pub(crate) fn push<'r>(
        &mut self,
        position: CommitPosition,
        time_us: i64,
        rows: impl Iterator<Item = &'r ChangedRows> + Clone,
    ) {
        let chunk = self.open_chunk();
        debug_assert!(position > chunk.last);
        let before = chunk.bytes.len();
        let changes: u32 = rows.clone().map(ChangedRows::changes).sum();
        begin_transaction(&mut chunk.bytes, position, time_us);
        set_changes(&mut chunk.bytes[before..], changes);
        for kind in [ChangeKind::Goes, ChangeKind::Stays, ChangeKind::Comes] {
            for of_partition in rows.clone() {
                chunk.bytes.extend_from_slice(of_partition.list(kind));
            }
        }
        chunk.last = position;
        let added = chunk.bytes.len() - before;
        if chunk.bytes.len() >= CHUNK_BYTES {
            chunk.bytes.shrink_to_fit();
        }
        self.feed.held_bytes.fetch_add(added, Ordering::Relaxed);
    }

    /// The same of a transaction that has run again, unless the replica has it, or its copy.
    pub(crate) fn push_again<'r>(
        &mut self,
        position: CommitPosition,
        time_us: i64,
        rows: impl Iterator<Item = &'r ChangedRows> + Clone,
    ) {
        if position > self.after {
            self.push(position, time_us, rows);
        }
    }

    /// The chunk for the next transaction.
    fn open_chunk(&mut self) -> &mut Chunk {
        let is_full = |chunk: &Chunk| chunk.bytes.len() >= CHUNK_BYTES;
        if self.pending.last().is_none_or(is_full) {
            self.pending.push(Chunk {
                bytes: Vec::new(),
                last: CommitPosition::ZERO,
            });
        }
        self.pending.last_mut().expect("it was added")
    }

    /// The pending group is handed to the log's writer.
    pub(crate) fn begin_writing(&mut self) {
        debug_assert!(self.writing.is_empty(), "one group at a time");
        std::mem::swap(&mut self.pending, &mut self.writing);
    }

    /// The group that was handed over is durable.
    pub(crate) fn written(&mut self) {
        if self.writing.is_empty() {
            return;
        }
        self.feed
            .durable
            .lock()
            .chunks
            .extend(self.writing.drain(..));
        self.feed.is_durable.notify_all();
    }
}
