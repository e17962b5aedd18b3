//! The command log: what was asked for, not what it changed (Anti-Caching, section 2).
//!
//! * [`record`]: one committed transaction; [`group`]: those that are made durable together.
//! * [`log_reader`]: what is in the file, and where it ends.
//! * [`log_writer`]: group commit.
//!
//! 1. A transaction that has changed something is appended to the pending group.
//! 2. When no group is on its way, the pending one is handed to the writer; transactions that commit
//!    while it is written make the next one. So groups grow with the load and with the disk's delay.
//! 3. The writer appends the group and syncs. What it holds is durable then, and may be acknowledged.
//! 4. When the writer does not keep pace calls are refused, and those that have waited for evicted data
//!    wait on, before the groups fill the memory.
//!
//! The log is a sequence of segments, files with numbers. A snapshot has the next group start a new one,
//! so that those before can go when no snapshot needs them.
//!
//! **Invariants:** a group is written only when the one before it is durable. After a failed sync
//! nothing is acknowledged any more. Transactions that have changed nothing are not in the log.
//!
//! The partitions of a primary share one log: it is the one order in which everything happened, and a
//! transaction on several partitions is one record.

mod group;
mod log_reader;
mod log_writer;
mod record;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use types::CommitPosition;

use crate::call::Refusal;
use crate::change_feed::{ChangedRows, FeedWriter};
use crate::error::PrimaryError;
use crate::partition_set::PARTITIONS_MAX;
use crate::transaction::Circumstances;
use group::Group;
pub(crate) use log_reader::{ReadLog, check_reaches, read_segments};
pub use log_writer::LogWriter;
use record::Record;

/// Bytes of memory of the groups that are not durable: with more, calls are refused.
const HELD_BYTES_MAX: usize = 64 << 20;

/// Bytes of parameters that one call may have.
const PARAMETERS_BYTES_MAX: usize = 16 << 20;

/// Bytes of a record beside its parameters, at most.
const RECORD_BYTES_MAX: usize = 128 << 10;

/// Every partition may have found room at the same moment. Even then a group's length fits its 32 bits.
const _: () = assert!(
    HELD_BYTES_MAX + PARTITIONS_MAX as usize * (PARAMETERS_BYTES_MAX + RECORD_BYTES_MAX)
        < u32::MAX as usize
);

const PREFIX: &str = "commands-";
const SUFFIX: &str = ".log";

/// Numbers a segment of the log. Each is one more than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SegmentNumber(pub(crate) u64);

impl SegmentNumber {
    /// Name of its file in the partition's folder.
    pub(crate) fn name(self) -> String {
        format!("{PREFIX}{:010}{SUFFIX}", self.0)
    }

    /// The segment whose file has this name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let number = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
        number.parse().ok().map(Self)
    }
}

/// A group for the writer.
pub(crate) struct LogJob {
    group: Group,
    /// Whether it is the first of a new segment.
    starts_segment: bool,
}

/// The partitions' side of the log.
pub(crate) struct CommandLog {
    pub(crate) writer: Arc<LogWriter>,
    pending: Group,
    /// Memory of a group that was written, for the one after next.
    spare: Option<Group>,
    is_writing: bool,
    /// Bytes that the group which is being written holds.
    writing_bytes: usize,
    /// The segment of the pending group.
    segment: SegmentNumber,
    starts_segment: bool,
    bytes_since_segment: u64,
    last: CommitPosition,
    durable: CommitPosition,
    poisoned: Option<PrimaryError>,
    /// What a replica follows, when there is to be one.
    feed: Option<FeedWriter>,
}

impl CommandLog {
    /// The log after what is durable already.
    pub(crate) fn new(writer: Arc<LogWriter>, durable: CommitPosition) -> Self {
        Self {
            feed: None,
            segment: writer.segment(),
            starts_segment: false,
            bytes_since_segment: 0,
            writer,
            pending: Group::new(),
            spare: None,
            is_writing: false,
            writing_bytes: 0,
            last: durable,
            durable,
            poisoned: None,
        }
    }

    /// With a feed for a replica. What it has already is durable.
    #[must_use]
    pub(crate) fn with_feed(mut self, feed: Option<FeedWriter>) -> Self {
        self.feed = feed;
        if let Some(feed) = &mut self.feed {
            feed.begin_writing();
            feed.written();
        }
        self
    }

    /// Whether a call with these parameters may run, and be appended then.
    pub(crate) fn admit(&self, parameters: &[u8]) -> Result<(), Refusal> {
        if self.poisoned.is_some() {
            return Err(Refusal::Poisoned);
        }
        if parameters.len() > PARAMETERS_BYTES_MAX {
            return Err(Refusal::ParametersTooLong);
        }
        if self.is_full() {
            return Err(Refusal::LogBehind);
        }
        Ok(())
    }

    /// Whether so much is not durable that nothing should be appended.
    pub(crate) fn is_full(&self) -> bool {
        self.held_bytes() > HELD_BYTES_MAX
    }

    /// A transaction has committed: its position.
    pub(crate) fn append(
        &mut self,
        circumstances: Circumstances,
        procedure: &str,
        parameters: &[u8],
    ) -> CommitPosition {
        self.last = CommitPosition(self.last.0 + 1);
        let before = self.pending.bytes();
        self.pending.push(&Record {
            position: self.last,
            circumstances,
            procedure,
            parameters,
        });
        self.bytes_since_segment += (self.pending.bytes() - before) as u64;
        self.last
    }

    /// What the transaction that was appended last has changed, partition by partition. Without a feed
    /// there is nothing to do.
    pub(crate) fn append_changes<'r>(
        &mut self,
        time_us: i64,
        rows: impl Iterator<Item = &'r ChangedRows> + Clone,
    ) {
        if let Some(feed) = &mut self.feed {
            feed.push(self.last, time_us, rows);
        }
    }

    /// Has the next group start a new segment, which has everything that commits from now on, unless
    /// the last one that was begun is still without groups.
    pub(crate) fn begin_segment(&mut self) -> SegmentNumber {
        if !self.starts_segment {
            self.starts_segment = true;
            self.segment = SegmentNumber(self.segment.0 + 1);
        }
        self.bytes_since_segment = 0;
        self.segment
    }

    /// So many bytes were there already since a snapshot began the segment that is the first one now.
    pub(crate) fn count_replayed(&mut self, bytes: u64) {
        self.bytes_since_segment += bytes;
    }

    /// Bytes of records since a snapshot began a segment.
    pub(crate) fn bytes_since_segment(&self) -> u64 {
        self.bytes_since_segment
    }

    /// Looks what became durable, and hands the pending group over when none is on its way.
    pub(crate) fn advance(&mut self) -> Result<(), PrimaryError> {
        for (mut group, result) in self.writer.queue.take_done() {
            self.is_writing = false;
            self.writing_bytes = 0;
            match result {
                Ok(()) => {
                    self.durable = group.last();
                    if let Some(feed) = &mut self.feed {
                        feed.written();
                    }
                    group.clear();
                    self.spare = Some(group);
                }
                Err(error) => self.poisoned = Some(error),
            }
        }
        if let Some(error) = &self.poisoned {
            return Err(error.clone());
        }
        if !self.is_writing && !self.pending.is_empty() {
            self.writing_bytes = self.pending.held_bytes();
            let next = self.spare.take().unwrap_or_else(Group::new);
            self.writer.queue.submit(LogJob {
                group: std::mem::replace(&mut self.pending, next),
                starts_segment: std::mem::take(&mut self.starts_segment),
            });
            if let Some(feed) = &mut self.feed {
                feed.begin_writing();
            }
            self.is_writing = true;
        }
        Ok(())
    }

    /// Everything up to here is on disk.
    pub(crate) fn durable(&self) -> CommitPosition {
        self.durable
    }

    /// Why nothing is acknowledged any more.
    pub(crate) fn poisoned(&self) -> Option<&PrimaryError> {
        self.poisoned.as_ref()
    }

    /// Bytes of the groups that are not durable.
    pub(crate) fn held_bytes(&self) -> usize {
        let spare = self.spare.as_ref().map_or(0, Group::held_bytes);
        self.pending.held_bytes() + self.writing_bytes + spare
    }
}
