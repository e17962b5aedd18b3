//! Opening a partition: empty, or as its newest snapshot and its command log say.
//!
//! 1. The folder is taken for this process, and the manifest of snapshots read.
//! 2. The newest snapshot is loaded; when a replica follows, the newest that is not newer than what the replica
//!    has. There may be none: then the replica is given a copy of the newest one. If it is damaged the one before it is, and when there is none any
//!    more the partition starts empty, provided that the log still has everything since.
//! 3. Every later transaction of the log runs again, in order, with its time and random numbers. When
//!    memory is full rows are evicted and come back as they do in operation. What the manifest names
//!    stays: the process may end before there is a later snapshot. What the replica does not have yet goes into
//!    the feed.
//! 4. Files that nothing needs are removed.
//!
//! Partitions know nothing of one another, so they are opened in parallel by as many threads as the
//! process has for it.

use std::path::Path;
use std::sync::Arc;

use env::{DirectoryLock, Env};
use parking_lot::Mutex;
use types::CommitPosition;

use crate::anti_cache::{AntiCache, BlockFiles};
use crate::attempt::changed_rows;
use crate::call::Call;
use crate::change_feed::{ChangeFeed, ChangedRows, FeedStart, FeedWriter};
use crate::chunk_memory::CHUNK_BYTES_UNBOUND;
use crate::command_log::{
    CommandLog, LogWriter, ReadLog, SegmentNumber, check_reaches, read_segments,
};
use crate::error::{PrimaryError, damaged, io_failed};
use crate::eviction_chain::ChainKind;
use crate::expected_calls::{Declared, ExpectedCalls};
use crate::options::AntiCacheOptions;
use crate::partition::Partition;
use crate::partition_set::PartitionPlace;
use crate::procedure::{Procedure, find_procedure};
use crate::random::Random;
use crate::schema::{TableDefinition, TableNumber};
use crate::snapshot::{
    KEPT_MAX, MANIFEST_NAME, ReplayTime, SnapshotRecord, Snapshots, read_manifest, remove_leftovers,
};
use crate::statistics::PartitionCounts;
use crate::table::Table;
use crate::transaction::Workspace;
use crate::waiting::WaitingCalls;

/// What a partition is made of.
#[derive(Clone)]
pub struct PartitionPlan {
    /// Its tables; numbered in this order.
    pub tables: Vec<TableDefinition>,
    /// Its procedures; numbered in this order.
    pub procedures: Vec<Arc<dyn Procedure>>,
    /// Its anti-cache; without one everything stays in memory.
    pub anti_cache: Option<AntiCacheOptions>,
    /// Whether it keeps a command log; without one it forgets everything when it ends.
    pub has_log: bool,
    /// Where a replica goes on that follows it, if one does. It needs a log.
    pub feed: Option<FeedStart>,
}

impl PartitionPlan {
    /// A feed without a log would give what the next start has forgotten.
    pub(crate) fn check_feed(&self) -> Result<(), PrimaryError> {
        if self.feed.is_none() || self.has_log {
            return Ok(());
        }
        Err(PrimaryError::Option {
            option: "feed",
            problem: "a replica follows only a primary that keeps a log".into(),
        })
    }

    /// With how many of these snapshots recovery may go on, the best first, and whether the replica has to
    /// be given a copy of the last one of them. It is not if the log after that snapshot has all that it lacks.
    fn beginnings(&self, named: &[SnapshotRecord]) -> Vec<(usize, bool)> {
        let Some(start) = self.feed else {
            return (0..=named.len()).rev().map(|from| (from, false)).collect();
        };
        let old = named.partition_point(|snapshot| snapshot.position <= start.after);
        // A copy is less than the whole log.
        let from_nothing = start.after == CommitPosition::ZERO;
        let reaches_back = named.len() < KEPT_MAX && !from_nothing;
        let first = usize::from(!reaches_back);
        let mut all: Vec<_> = (first..=old).rev().map(|from| (from, false)).collect();
        all.extend((old + 1..=named.len()).rev().map(|from| (from, true)));
        if from_nothing {
            all.push((0, false));
        }
        all
    }

    /// Refuses a replica that has more than was recovered.
    pub(crate) fn check_reaches_replica(&self, end: CommitPosition) -> Result<(), PrimaryError> {
        match self.feed {
            Some(start) if start.after > end => Err(PrimaryError::ReplicaAhead {
                replica: start.after.0,
                primary: end.0,
            }),
            _ => Ok(()),
        }
    }
}

/// How a partition was recovered.
#[derive(Clone, Debug, Default)]
pub struct Recovery {
    /// The position of the snapshot that it started from.
    pub snapshot: Option<CommitPosition>,
    /// What was wrong with newer snapshots.
    pub skipped: Vec<PrimaryError>,
    /// Transactions of the log that ran again.
    pub replayed: u64,
}

impl Partition {
    /// Opens the partition in `folder`, or makes it.
    pub fn open(env: &Env, folder: &Path, plan: PartitionPlan) -> Result<Self, PrimaryError> {
        plan.check_feed()?;
        let lock = take(env, folder, &plan)?;
        let mut partition = if plan.has_log {
            Self::recover(env, folder, &plan)?
        } else {
            Self::empty(env, folder, &plan, PartitionPlace::ALONE)?
        };
        let named = match plan.has_log {
            true => read_manifest(&*env.disk, folder)?,
            false => Vec::new(),
        };
        if plan.has_log {
            remove_leftovers(&*env.disk, folder, &named);
        }
        partition.remove_blocks_but(&named)?;
        partition.folder_lock = lock;
        Ok(partition)
    }

    /// A partition without rows and without a log.
    pub(crate) fn empty(
        env: &Env,
        folder: &Path,
        plan: &PartitionPlan,
        place: PartitionPlace,
    ) -> Result<Self, PrimaryError> {
        let options = plan.anti_cache.clone();
        let chain = options
            .as_ref()
            .map_or(ChainKind::None, |options| options.chain);
        let chunk_bytes = options
            .as_ref()
            .map_or(CHUNK_BYTES_UNBOUND, AntiCacheOptions::chunk_bytes);
        let mut made = Vec::new();
        for (number, definition) in plan.tables.iter().enumerate() {
            definition.check()?;
            let number = TableNumber(number as u16);
            made.push(Table::new(number, definition, chain, chunk_bytes));
        }
        let anti_cache = match options {
            Some(options) => {
                options.check()?;
                let (bytes, blocks) = (options.block_bytes, options.blocks_per_file);
                let files = BlockFiles::open(env.clone(), folder.join("blocks"), bytes, blocks)?;
                Some(AntiCache::new(options, Arc::new(files), made.len()))
            }
            None => None,
        };
        Ok(Self {
            place,
            tables: made,
            procedures: plan.procedures.clone(),
            anti_cache,
            log: None,
            feed: None,
            changed_rows: None,
            snapshots: None,
            replay_time: ReplayTime::default(),
            recovery: Recovery::default(),
            clock: Arc::clone(&env.clock),
            next_number: 0,
            position: CommitPosition::ZERO,
            time_us: env.clock.wall_us(),
            work: Workspace::default(),
            declared: Declared::default(),
            expected: ExpectedCalls::default(),
            waiting: WaitingCalls::default(),
            chance: Random::new(0),
            counts: PartitionCounts::new(plan.procedures.len()),
            calls_until_look: 1,
            is_full: false,
            folder_lock: None,
        })
    }

    fn recover(env: &Env, folder: &Path, plan: &PartitionPlan) -> Result<Self, PrimaryError> {
        let named = read_manifest(&*env.disk, folder)?;
        let mut skipped = Vec::new();
        for (from, is_copied) in plan.beginnings(&named) {
            let fresh = Self::empty(env, folder, plan, PartitionPlace::ALONE)?;
            let (kept, passed_over) = named.split_at(from);
            match fresh.recover_from(env, folder, plan, (kept, passed_over), is_copied) {
                Ok(mut partition) => {
                    partition.recovery.skipped = skipped;
                    return Ok(partition);
                }
                Err(error @ PrimaryError::Corrupt { .. }) => skipped.push(error),
                Err(error) => return Err(error),
            }
        }
        // What is wrong with the newest tells most.
        Err(skipped.swap_remove(0))
    }

    /// Goes on with the last snapshot that is kept, or with nothing, and the log after it. The replica may
    /// need a copy of that snapshot.
    fn recover_from(
        mut self,
        env: &Env,
        folder: &Path,
        plan: &PartitionPlan,
        (kept, passed_over): (&[SnapshotRecord], &[SnapshotRecord]),
        is_copied: bool,
    ) -> Result<Self, PrimaryError> {
        self.snapshots = Some(Snapshots::new(
            env,
            folder.into(),
            &plan.tables,
            kept.to_vec(),
            passed_over.to_vec(),
            self.block_files(),
        ));
        let mut first = SegmentNumber(0);
        if let Some(snapshot) = kept.last() {
            self.load(env, folder, snapshot)?;
            first = snapshot.segment;
            self.recovery.snapshot = Some(snapshot.position);
        }
        if let Some(newest) = passed_over.last() {
            check_reaches(&*env.disk, folder, first, newest.segment)?;
        }
        let mut feed = plan.feed.map(|start| ChangeFeed::new(&plan.tables, start));
        if let (true, Some(snapshot)) = (is_copied, kept.last()) {
            let with_copy = |feed: ChangeFeed| feed.with_copy(env, folder, snapshot);
            feed = feed.map(with_copy).transpose()?;
        }
        let mut feed = feed.map(|feed| FeedWriter::new(Arc::new(feed)));
        if let Some(feed) = &feed {
            self.follow_with(feed.feed());
        }
        let (begun, mut log_bytes) = (env.clock.monotonic(), 0);
        let writer = open_log(env, folder, first, |read| {
            log_bytes += read.bytes();
            self.replay_all(read, feed.as_mut())
        })?;
        // As long as there is no later snapshot it would take as long again.
        let took = env.clock.monotonic().saturating_sub(begun);
        self.replay_time.add_replay(took);
        plan.check_reaches_replica(self.position)?;
        let mut log = CommandLog::new(writer, self.position).with_feed(feed);
        log.count_replayed(log_bytes);
        self.log = Some(Arc::new(Mutex::new(log)));
        Ok(self)
    }

    /// A replica follows it.
    pub(crate) fn follow_with(&mut self, feed: &Arc<ChangeFeed>) {
        self.feed = Some(Arc::clone(feed));
        self.changed_rows = Some(ChangedRows::default());
    }

    /// Removes the files of blocks that neither these snapshots nor this process need.
    pub(crate) fn remove_blocks_but(&self, named: &[SnapshotRecord]) -> Result<(), PrimaryError> {
        if let Some(anti_cache) = &self.anti_cache {
            let is_needed = |file| {
                let mut files = named.iter().flat_map(|snapshot| &snapshot.block_files);
                files.any(|needed| *needed == file)
            };
            anti_cache.files.remove_others(is_needed)?;
        }
        Ok(())
    }

    /// How it was recovered.
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    fn replay_all(
        &mut self,
        read: &ReadLog,
        mut feed: Option<&mut FeedWriter>,
    ) -> Result<(), PrimaryError> {
        for record in read.records() {
            if record.position <= self.position {
                // The snapshot has it.
                continue;
            }
            let call = Call {
                procedure: find_procedure(&self.procedures, record.procedure)?,
                parameters: record.parameters,
            };
            let not_replayed = |reason: String| PrimaryError::NotReplayed {
                position: record.position.0,
                reason,
            };
            self.replay(&mut [], call, record.circumstances)
                .map_err(|stop| not_replayed(stop.to_string()))?;
            self.recovery.replayed += 1;
            if self.position != record.position {
                return Err(not_replayed(format!("it came out at {}", self.position.0)));
            }
            if let Some(feed) = &mut feed {
                let time_us = record.circumstances.time_us;
                feed.push_again(record.position, time_us, changed_rows(self, &[]));
            }
            self.write_blocks()?;
        }
        Ok(())
    }

    /// Writes what was evicted: during recovery nobody else does.
    pub(crate) fn write_blocks(&mut self) -> Result<(), PrimaryError> {
        if let Some(files) = self.block_files() {
            while files.write()? {}
            self.take_arrivals();
        }
        Ok(())
    }
}

/// Hands what the log has from a segment on to `replay`, in order; the log then goes on.
pub(crate) fn open_log(
    env: &Env,
    folder: &Path,
    first: SegmentNumber,
    mut replay: impl FnMut(&ReadLog) -> Result<(), PrimaryError>,
) -> Result<Arc<LogWriter>, PrimaryError> {
    let segments = read_segments(&*env.disk, folder, first)?;
    let last = segments.last().copied().unwrap_or(first);
    let mut writer = None;
    for segment in segments {
        match ReadLog::read(&*env.disk, folder, segment)? {
            Some(read) if segment == last => {
                replay(&read)?;
                writer = Some(LogWriter::resume(env.clone(), folder.into(), &read)?);
            }
            Some(read) => {
                read.check_whole(folder)?;
                replay(&read)?;
            }
            None if segment == last => {}
            None => {
                let path = folder.join(segment.name());
                let detail = "found no header, expected a whole segment";
                return Err(damaged(&path, 0, detail));
            }
        }
    }
    let writer = match writer {
        Some(writer) => writer,
        None => LogWriter::create(env.clone(), folder.into(), last)?,
    };
    Ok(Arc::new(writer))
}

/// Takes the folder, if anything will be kept in it. Without a log the blocks in it count for nothing,
/// so a folder with a log or with snapshots, which need them, is refused then.
pub(crate) fn take(
    env: &Env,
    folder: &Path,
    plan: &PartitionPlan,
) -> Result<Option<Box<dyn DirectoryLock>>, PrimaryError> {
    if plan.anti_cache.is_none() && !plan.has_log {
        return Ok(None);
    }
    let made = env.disk.create_directories(folder);
    made.map_err(|error| io_failed("create", folder, &error))?;
    let lock = env.disk.lock(folder);
    let lock = lock.map_err(|error| io_failed("lock", folder, &error))?;
    if !plan.has_log {
        refuse(env, folder, "without a log", |name| {
            name == MANIFEST_NAME || SegmentNumber::of_name(name).is_some()
        })?;
    }
    Ok(Some(lock))
}

/// Refuses a folder with a file that would not be read when it is opened so.
pub(crate) fn refuse(
    env: &Env,
    folder: &Path,
    opened: &'static str,
    is_unread: impl Fn(&str) -> bool,
) -> Result<(), PrimaryError> {
    let files = env.disk.list(folder);
    let files = files.map_err(|error| io_failed("list", folder, &error))?;
    let name = |path: &Path| path.file_name()?.to_str().map(str::to_owned);
    let mut names = files.iter().filter_map(|path| name(path));
    match names.find(|name| is_unread(name)) {
        None => Ok(()),
        Some(found) => Err(PrimaryError::NotRead {
            file: folder.join(found).display().to_string(),
            opened,
        }),
    }
}
