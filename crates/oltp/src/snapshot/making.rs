//! A snapshot from its beginning to its end, on the partition's thread.
//!
//! 1. It begins between two transactions: position and places are noted, all tables' captures begin,
//!    and the next group of the log starts a new segment.
//! 2. Slices of the tables are copied, not more than the writer keeps up with; what was copied goes to
//!    the writer chunk by chunk, the rest of a table when it is copied.
//! 3. When all tables are copied, the blocks written and the log durable up to the snapshot's position,
//!    the writer syncs the blocks and finishes it. Then the oldest snapshot beyond those that are kept is forgotten.
//! 4. One that fails, or holds too much memory because its writer is slow, is discarded: the rest of
//!    the tables is visited without copying, and the next one may begin.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use env::Env;
use types::CommitPosition;
use xxhash_rust::xxh3::xxh3_64;

use super::chunk::ChunkKind;
use super::manifest::{BlockGeometry, SnapshotRecord, TableRecord};
use super::snapshot_writer::{Event, Job, Left, SnapshotWriter};
use super::{KEPT_MAX, SnapshotNumber};
use crate::anti_cache::{AntiCache, BlockFiles, FileNumber};
use crate::command_log::CommandLog;
use crate::error::PrimaryError;
use crate::evicted_entries::BlockId;
use crate::partition::Partition;
use crate::schema::TableDefinition;
use crate::table::Table;

/// When snapshots are made, and how much at a time.
#[derive(Clone, Copy, Debug)]
pub struct SnapshotOptions {
    /// One begins when the log since the last one has so many bytes. `None`: however many. None begins by itself before
    /// [`SnapshotWriter::write`] was called: nobody would write it.
    pub log_bytes: Option<u64>,
    /// One begins when the log since the last one would take so long to replay, as far as can be told. `None`:
    /// however long.
    pub replay_ms: Option<u64>,
    /// Bytes that are copied at a time: what the partition stands still for. At most half of
    /// `held_bytes_max`.
    pub slice_bytes: usize,
    /// Bytes of a chunk, about. At most half of `held_bytes_max`.
    pub chunk_bytes: usize,
    /// Copies that may be in memory. Slices stop at half of it; rows that change have the other half,
    /// and when that is full the snapshot is discarded. At most 1 GiB.
    pub held_bytes_max: usize,
}

impl Default for SnapshotOptions {
    fn default() -> Self {
        Self {
            log_bytes: Some(64 << 20),
            replay_ms: Some(4_000),
            slice_bytes: 16 << 10,
            // Each wakes the thread of its writer, and the partition's when it is written.
            chunk_bytes: 512 << 10,
            held_bytes_max: 8 << 20,
        }
    }
}

impl SnapshotOptions {
    /// Whether one should begin.
    fn is_due(&self, log_bytes: u64, replay_time: Duration) -> bool {
        let is_long = |most| replay_time >= Duration::from_millis(most);
        self.log_bytes.is_some_and(|most| log_bytes >= most) || self.replay_ms.is_some_and(is_long)
    }

    /// Whether the numbers make sense: with others a snapshot would have no end.
    fn check(&self) -> Result<(), PrimaryError> {
        let fail = |option, problem: &str| {
            Err(PrimaryError::Option {
                option,
                problem: problem.to_owned(),
            })
        };
        let within = 1..=self.held_bytes_max / 2;
        if !within.contains(&self.slice_bytes) {
            return fail(
                "slice_bytes",
                "it is not between 1 byte and half of held_bytes_max",
            );
        }
        if !within.contains(&self.chunk_bytes) {
            return fail(
                "chunk_bytes",
                "it is not between 1 byte and half of held_bytes_max",
            );
        }
        if self.held_bytes_max > HELD_BYTES_MAX {
            return fail("held_bytes_max", "it is more than 1 GiB");
        }
        Ok(())
    }
}

/// A chunk is never larger than what may be held, and its length has 32 bits.
const HELD_BYTES_MAX: usize = 1 << 30;

/// Counts since the partition was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotStatistics {
    /// Snapshots that are complete.
    pub completed: u64,
    /// Snapshots that were given up.
    pub discarded: u64,
}

/// The snapshots of a partition.
pub(crate) struct Snapshots {
    pub(crate) writer: Arc<SnapshotWriter>,
    pub(crate) options: SnapshotOptions,
    pub(crate) statistics: SnapshotStatistics,
    /// Those of the manifest, in order.
    kept: Vec<SnapshotRecord>,
    /// Damaged ones that the manifest names until the next snapshot is complete.
    passed_over: Vec<SnapshotRecord>,
    last_number: SnapshotNumber,
    current: Option<Current>,
    /// Why there can be no more.
    failed: Option<PrimaryError>,
    in_flight_bytes: usize,
    /// Whether there is more to copy, and room for it.
    is_copying: bool,
}

/// The snapshot that is being made.
struct Current {
    record: SnapshotRecord,
    /// It may name blocks before this one.
    next_block: Option<BlockId>,
    is_discarded: bool,
    is_finishing: bool,
}

impl Snapshots {
    /// The snapshots of a partition's folder: those of the manifest, and of them the newer ones, which
    /// are damaged.
    pub(crate) fn new(
        env: &Env,
        folder: PathBuf,
        tables: &[TableDefinition],
        kept: Vec<SnapshotRecord>,
        passed_over: Vec<SnapshotRecord>,
        blocks: Option<Arc<BlockFiles>>,
    ) -> Self {
        let last = passed_over.last().or(kept.last());
        Self {
            last_number: last.map_or(SnapshotNumber(0), |last| last.number),
            writer: SnapshotWriter::new(env.clone(), folder, tables, blocks),
            options: SnapshotOptions::default(),
            statistics: SnapshotStatistics::default(),
            kept,
            passed_over,
            current: None,
            failed: None,
            in_flight_bytes: 0,
            is_copying: false,
        }
    }

    /// Whether evicted rows of a snapshot that the manifest names, or will name, are in the file.
    pub(crate) fn needs(&self, file: FileNumber) -> bool {
        let current = self.current.iter().map(|current| &current.record);
        let mut all = self.kept.iter().chain(&self.passed_over).chain(current);
        all.any(|snapshot| snapshot.block_files.binary_search(&file).is_ok())
    }

    /// Bytes on their way to the writer.
    pub(crate) fn held_bytes(&self) -> usize {
        self.in_flight_bytes
    }

    /// The newest complete snapshot.
    pub(crate) fn newest(&self) -> Option<&SnapshotRecord> {
        self.kept.last()
    }

    fn begin(
        &mut self,
        tables: &mut [Table],
        log: &mut CommandLog,
        anti_cache: Option<&AntiCache>,
        mut record: SnapshotRecord,
    ) {
        self.last_number = SnapshotNumber(self.last_number.0 + 1);
        record.number = self.last_number;
        record.segment = log.begin_segment();
        if let Some(anti_cache) = anti_cache {
            record.geometry = anti_cache.geometry();
            record.block_files = anti_cache.files_in_use();
        }
        for table in tables {
            table.begin_capture();
            record.tables.push(TableRecord {
                digest: table.evicted_digest,
                schema: schema_hash(&table.definition),
                ..TableRecord::default()
            });
        }
        self.writer.queue.submit(Job::Begin(record.number));
        self.current = Some(Current {
            record,
            next_block: anti_cache.map(AntiCache::next_block),
            is_discarded: false,
            is_finishing: false,
        });
    }

    fn take_events(&mut self, tables: &mut [Table]) {
        for event in self.writer.queue.take_done() {
            match event {
                Event::Appended(bytes) => self.in_flight_bytes -= bytes,
                Event::Finished(record) => {
                    self.kept.push(record);
                    let more = self.kept.len().saturating_sub(KEPT_MAX);
                    self.kept.drain(..more);
                    self.passed_over.clear();
                    self.current = None;
                    self.statistics.completed += 1;
                }
                Event::Failed { error, left } => {
                    if left == Left::Unknown {
                        // The manifest may name it already: what it needs stays.
                        let record = self.current.as_ref().map(|current| current.record.clone());
                        self.kept.extend(record);
                    }
                    if left != Left::Nothing {
                        self.failed = Some(error);
                    }
                    self.discard(tables);
                }
            }
        }
    }

    fn discard(&mut self, tables: &mut [Table]) {
        let Some(current) = self
            .current
            .as_mut()
            .filter(|current| !current.is_discarded)
        else {
            return;
        };
        current.is_discarded = true;
        self.statistics.discarded += 1;
        tables.iter_mut().for_each(|table| table.capture.discard());
        self.writer.queue.submit(Job::Discard);
    }

    fn advance(
        &mut self,
        tables: &mut [Table],
        anti_cache: Option<&AntiCache>,
        durable: CommitPosition,
    ) {
        self.take_events(tables);
        self.is_copying = false;
        if self.current.is_none() {
            return;
        }
        let copied = tables.iter().map(|table| table.capture.held_bytes());
        let held = self.in_flight_bytes + copied.sum::<usize>();
        let is_finishing = self
            .current
            .as_ref()
            .is_some_and(|current| current.is_finishing);
        if held > self.options.held_bytes_max && !is_finishing {
            self.discard(tables);
        }
        if held <= self.options.held_bytes_max / 2 {
            copy_slice(tables, self.options.slice_bytes);
        }
        let is_copied = tables.iter().all(|table| table.capture.is_done());
        self.is_copying = !is_copied && held <= self.options.held_bytes_max / 2;
        let is_discarded = self.current.as_ref().is_some_and(|c| c.is_discarded);
        if !is_discarded {
            self.submit_chunks(tables);
        }
        let current = self.current.as_mut().expect("it was looked at");
        if current.is_discarded {
            if is_copied {
                self.current = None;
            }
            return;
        }
        let is_durable = durable >= current.record.position;
        if current.is_finishing || !is_copied || !is_durable {
            return;
        }
        let blocks = anti_cache.zip(current.next_block);
        if blocks.is_none_or(|(anti_cache, next)| anti_cache.has_written(next)) {
            current.is_finishing = true;
            let first = (self.kept.len() + 1).saturating_sub(KEPT_MAX);
            self.writer.queue.submit(Job::Finish {
                record: current.record.clone(),
                kept: self.kept[first.min(self.kept.len())..].to_vec(),
            });
        }
    }

    /// Hands whole chunks to the writer, and the rest of each table that is copied. When many tables
    /// hold so much together that slices would stop, though none has a chunk, all of it goes.
    fn submit_chunks(&mut self, tables: &mut [Table]) {
        let held = tables.iter().map(|table| table.capture.held_bytes());
        let is_much = held.sum::<usize>() > self.options.held_bytes_max / 4;
        for table in tables {
            let number = table.number;
            let capture = &mut table.capture;
            let least = if is_much || capture.is_done() {
                1
            } else {
                self.options.chunk_bytes
            };
            for (kind, copied) in [
                (ChunkKind::Rows, &mut capture.rows),
                (ChunkKind::Evicted, &mut capture.evicted),
            ] {
                if copied.bytes.len() >= least {
                    let copied = std::mem::take(copied);
                    self.in_flight_bytes += copied.bytes.len();
                    self.writer.queue.submit(Job::Append(kind, number, copied));
                }
            }
        }
    }
}

fn copy_slice(tables: &mut [Table], slice_bytes: usize) {
    let mut left = Some(slice_bytes);
    for table in tables {
        let Some(bytes) = left else { return };
        left = table.capture_slice(bytes);
    }
}

/// A hash of everything that a declaration says.
pub(super) fn schema_hash(definition: &TableDefinition) -> u64 {
    let columns = definition.columns.iter().map(|column| {
        format!(
            "{}:{:?}:{}",
            column.name, column.column_type, column.is_nullable
        )
    });
    let indexes = definition
        .indexes
        .iter()
        .map(|index| format!("{:?}:{:?}:{}", index.columns, index.kind, index.is_unique));
    let parts: Vec<String> = columns.chain(indexes).collect();
    xxh3_64(format!("{}|{}", definition.name, parts.join("|")).as_bytes())
}

impl Partition {
    /// Begins a snapshot of the state as it is. `false` when one is being made, the replica that follows has
    /// not confirmed what the newest one has, the partition has no log, or an earlier failure leaves no way to make one. Partitions whose snapshots begin while
    /// no transaction of several of them is on its way are consistent with one another.
    pub fn begin_snapshot(&mut self) -> bool {
        let (Some(snapshots), Some(log)) = (&mut self.snapshots, &self.log) else {
            return false;
        };
        if let (Some(feed), Some(newest)) = (&self.feed, snapshots.newest())
            && newest.position > feed.confirmed()
        {
            feed.wait_for(newest.position);
            return false;
        }
        let mut log = log.lock();
        if snapshots.current.is_some() || snapshots.failed.is_some() || log.poisoned().is_some() {
            return false;
        }
        let record = SnapshotRecord {
            number: SnapshotNumber(0),
            position: self.position,
            last_number: self.next_number,
            time_us: self.time_us,
            segment: crate::command_log::SegmentNumber(0),
            data_bytes: 0,
            geometry: BlockGeometry::default(),
            block_files: Vec::new(),
            tables: Vec::new(),
        };
        snapshots.begin(&mut self.tables, &mut log, self.anti_cache.as_ref(), record);
        self.replay_time.set_back();
        true
    }

    /// Goes on with the snapshot that is being made, a slice, or begins one if it is time.
    pub(crate) fn advance_snapshot(&mut self) {
        let replay_time = self.replay_time();
        let (Some(snapshots), Some(log)) = (&mut self.snapshots, &self.log) else {
            return;
        };
        let (grown, durable) = {
            let log = log.lock();
            (log.bytes_since_segment(), log.durable())
        };
        snapshots.advance(&mut self.tables, self.anti_cache.as_ref(), durable);
        let is_served = snapshots.current.is_none() && snapshots.writer.is_served();
        if is_served && snapshots.options.is_due(grown, replay_time) {
            self.begin_snapshot();
        }
    }

    /// Whether the next [`Self::poll`] would go on copying for a snapshot: whoever has nothing else to do should poll
    /// soon.
    pub fn is_copying(&self) -> bool {
        let snapshots = self.snapshots.as_ref();
        snapshots.is_some_and(|snapshots| snapshots.is_copying)
    }

    /// How long the log since the last snapshot would take to replay, about.
    fn replay_time(&self) -> Duration {
        let files = self.anti_cache.as_ref().map(|anti_cache| &anti_cache.files);
        let read_time = files.map_or(Duration::ZERO, |files| files.read_time());
        self.replay_time.estimate(read_time)
    }

    /// What writes snapshots for this partition, when it has a log.
    pub fn snapshot_writer(&self) -> Option<Arc<SnapshotWriter>> {
        let snapshots = self.snapshots.as_ref();
        snapshots.map(|snapshots| Arc::clone(&snapshots.writer))
    }

    /// Sets when snapshots are made, and how much at a time.
    pub fn set_snapshot_options(&mut self, options: SnapshotOptions) -> Result<(), PrimaryError> {
        options.check()?;
        if let Some(snapshots) = &mut self.snapshots {
            snapshots.options = options;
        }
        Ok(())
    }

    /// What became of snapshots.
    pub fn snapshot_statistics(&self) -> SnapshotStatistics {
        let snapshots = self.snapshots.as_ref();
        snapshots.map_or_else(SnapshotStatistics::default, |snapshots| {
            snapshots.statistics
        })
    }

    /// The position of the newest complete snapshot.
    pub fn snapshot_position(&self) -> Option<CommitPosition> {
        self.snapshots
            .as_ref()?
            .newest()
            .map(|snapshot| snapshot.position)
    }

    /// A digest of each table's rows. Looks at every row in memory.
    pub fn digests(&self) -> Vec<crate::digest::RowsDigest> {
        self.tables.iter().map(Table::digest).collect()
    }
}
