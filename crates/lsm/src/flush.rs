//! Flush: C0 of all trees to disk, and the manifest commit that makes it durable.
//!
//! 1. Capture the last publish and the retention under the registry's lock. Everything that the
//!    publish made visible has been ingested before.
//! 2. Freeze: every tree's open runs become frozen, together with those that an earlier, failed
//!    flush left. Versions above the captured position may be among them (a large transaction
//!    that is still going on); they are written, but not published.
//! 3. Where merges of a tree are far behind, a short one comes first: so whoever adds runs is slowed down, and through
//!    the flush the writer.
//! 4. Write each tree's frozen runs as one new disk run. Files are synced many at a time: for the first the file system
//!    writes down what it knows of all.
//! 5. Commit one manifest edit: all new runs, truncations, the captured position and metadata.
//!    Recovery gives exactly that position in all trees.
//! 6. Swap each tree's frozen runs for its new disk run.
//!
//! A failure before the commit leaves the frozen runs where they are, readable; the next flush
//! writes them again with whatever has arrived since.
//!
//! A policy that is a baseline may have a tree's frozen runs merged with all of its newest disk run
//! (its *target*), which gets the output in 5. and 6.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use types::{CommitPosition, TableId};

use crate::error::StoreError;
use crate::key_range::KeyRange;
use crate::manifest::{Change, Edit, Manifest, RunId};
use crate::merge::Merger;
use crate::merge_job::reader;
use crate::museum::{self, Exhibit};
use crate::policy;
use crate::retention::{Outside, Retention};
use crate::rewrite::rewrite;
use crate::run::{DiskRun, RunSegment};
use crate::run_writer::{RunShape, RunWriter, Uncommitted};
use crate::segment::UnsyncedFiles;
use crate::snapshots::Published;
use crate::store::{Durable, Store};
use crate::tree::{Claim, Tree};
use crate::version::{Version, memory_bytes};

/// One tree's part of a flush.
struct FlushedTree {
    tree: Arc<Tree>,
    target: Option<Target>,
    /// What was written of its frozen runs and the target.
    written: Uncommitted,
}

/// The disk run that a tree's frozen runs are merged with; no merge touches it meanwhile.
struct Target {
    run: Arc<DiskRun>,
    _claim: Claim,
}

impl Store {
    /// Whether a flush should happen now.
    pub(crate) fn flush_is_due(&self) -> bool {
        let is_wanted = self.flush_requested.load(Ordering::Relaxed) || self.memory.wants_flush();
        is_wanted && !self.flush_waits()
    }

    /// Whether the policy has C0 wait for a merge.
    fn flush_waits(&self) -> bool {
        let policy = self.factory.options.merge_policy;
        let waits = |tree: &Arc<Tree>| {
            tree.has_claim(|version, taken| {
                let waits = self.ask_policy(version, taken, |runs| policy.flush_waits(runs));
                waits.then_some(0..1)
            })
        };
        policy.flushes_may_wait() && self.trees().iter().any(waits)
    }

    /// Flushes if a flush is due and none is running.
    pub(crate) fn flush_if_due(&self) -> Result<bool, StoreError> {
        if !self.flush_is_due() {
            return Ok(false);
        }
        let Some(_only) = self.flushing.try_lock() else {
            return Ok(false);
        };
        self.flush_all()?;
        Ok(true)
    }

    /// Flushes; everything published before the call is durable after it.
    pub(crate) fn flush_now(&self) -> Result<(), StoreError> {
        let _only = self.flushing.lock();
        self.flush_all()
    }

    /// The steps of the module's description. The caller holds the flush lock.
    fn flush_all(&self) -> Result<(), StoreError> {
        self.flush_requested.store(false, Ordering::Relaxed);
        let result = self.flush_captured();
        if result.is_err() {
            self.flush_requested.store(true, Ordering::Relaxed);
        }
        result
    }

    fn flush_captured(&self) -> Result<(), StoreError> {
        let (published, retention) = self.snapshots().begin_flush();
        let position = published.position;
        let result = self.flush_published(published, &retention);
        self.snapshots()
            .end_flush(result.is_ok().then_some(position));
        result
    }

    fn flush_published(
        &self,
        published: Published,
        retention: &Retention,
    ) -> Result<(), StoreError> {
        let frozen: Vec<_> = self
            .trees()
            .into_iter()
            .map(|tree| (self.freeze(&tree), tree))
            .collect();
        self.memory.begin_flush(self.factory.env.clock.monotonic());
        let result = self.flush_frozen(frozen, published, retention);
        let now = self.factory.env.clock.monotonic();
        self.memory.end_flush(now, result.is_ok());
        result
    }

    fn flush_frozen(
        &self,
        frozen: Vec<(Arc<Version>, Arc<Tree>)>,
        published: Published,
        retention: &Retention,
    ) -> Result<(), StoreError> {
        // All before anything is written: the writer has the most room then.
        for (frozen, tree) in &frozen {
            if !frozen.frozen.is_empty() {
                self.relieve(tree)?;
            }
        }
        let clock = &self.factory.env.clock;
        self.memory.begin_writing(clock.monotonic());
        let mut flushed = Vec::new();
        let mut bytes_before = 0;
        let mut unsynced = UnsyncedFiles::default();
        for (frozen, tree) in frozen {
            let mut part = self.write_tree(tree, &frozen, retention, bytes_before)?;
            bytes_before += memory_bytes(&frozen.frozen);
            self.memory.note_written(bytes_before);
            unsynced.append(part.written.unsynced())?;
            flushed.push(part);
        }
        unsynced.sync()?;
        if museum::shows(Exhibit::FlushPositionLate) {
            return self.commit_flush(flushed, self.snapshots().published());
        }
        self.commit_flush(flushed, published)
    }

    fn freeze(&self, tree: &Tree) -> Arc<Version> {
        let (before, frozen) = tree.update(Version::froze);
        self.memory.freeze(memory_bytes(&before.open));
        // Its inputs are frozen: nothing would become of it.
        self.drop_memory_merge(&mut tree.memory_merge.lock());
        frozen
    }

    /// Writes a tree's frozen runs; those of other trees, of `bytes_before`, are written already.
    fn write_tree(
        &self,
        tree: Arc<Tree>,
        version: &Version,
        retention: &Retention,
        bytes_before: usize,
    ) -> Result<FlushedTree, StoreError> {
        let mut target = self.claim_target(&tree, version);
        let write = |target: Option<&Target>| {
            self.write_frozen(&tree, target, version, retention, bytes_before)
        };
        let mut written = write(target.as_ref());
        if let (Some(_), Err(StoreError::Corrupt { .. })) = (&target, &written) {
            // What is in memory is intact: it becomes a run of its own, now and in future.
            tree.stop_merging();
            target = None;
            written = write(None);
        }
        Ok(FlushedTree {
            target,
            written: written?,
            tree,
        })
    }

    /// The run to merge a tree's frozen runs with, if the policy wants that.
    fn claim_target(&self, tree: &Arc<Tree>, version: &Version) -> Option<Target> {
        let policy = self.factory.options.merge_policy;
        if version.frozen.is_empty() {
            return None;
        }
        let claim = tree.claim(|version, taken| {
            let wants = |runs: &policy::Runs<'_>| policy.flushes_into_newest(runs);
            self.ask_policy(version, taken, wants).then_some(0..1)
        })?;
        let run = claim.runs().pop()?;
        Some(Target { run, _claim: claim })
    }

    fn write_frozen(
        &self,
        tree: &Tree,
        target: Option<&Target>,
        version: &Version,
        retention: &Retention,
        bytes_before: usize,
    ) -> Result<Uncommitted, StoreError> {
        let target = target.map(|target| &*target.run);
        let mut merger = Merger::new();
        let runs = version.frozen.iter();
        runs.filter_map(|run| run.window(&KeyRange::all()))
            .for_each(|window| merger.add_window(window));
        if let Some(target) = target {
            merger.add_cursor(reader(tree, &target.segments));
        }
        let retention = retention_of(tree, version, target, retention);
        let bytes = memory_bytes(&version.frozen);
        let target_rows = target.map_or(0, |target| target.versions() as usize);
        let rows = target_rows + version.frozen.iter().map(|run| run.rows()).sum::<usize>();
        let run_bytes = policy::run_bytes(bytes as u64) + target.map_or(0, DiskRun::bytes);
        let warmer = self.warmer(tree, &[]);
        let filters_are_used = warmer.filters_are_used();
        let shape = RunShape::of(&self.factory.options, run_bytes, false, filters_are_used);
        let barriers = Default::default();
        let mut writer = RunWriter::new(&self.factory, tree, shape, barriers, warmer);
        let columns = &tree.layout.all_columns;
        rewrite(merger, retention, columns, &mut writer, |writer| {
            let written = bytes as f64 * writer.rows() as f64 / rows.max(1) as f64;
            self.memory.note_written(bytes_before + written as usize);
            Ok(true)
        })?;
        writer.finish()
    }

    fn commit_flush(
        &self,
        flushed: Vec<FlushedTree>,
        published: Published,
    ) -> Result<(), StoreError> {
        let mut manifest = self.manifest.lock();
        let mut edit = Edit::default();
        let mut installs = Vec::new();
        // Tables dropped in the meantime take no part: their new segments go with `flushed`.
        for part in flushed.into_iter().filter(|part| self.is_live(&part.tree)) {
            let run = self.new_run(&part);
            // Not the frozen version: a merge may have forgotten truncations since, and its
            // positions with them. The manifest must not learn of those now.
            let next = part.version(run.clone());
            let idle = next.last_idle_truncation(published.position);
            edit.changes
                .extend(tree_changes(&part, &next, run.as_deref(), idle, &manifest));
            installs.push((part, run, idle));
        }
        if published != self.durable_published() {
            edit.changes.push(Change::Publish {
                position: CommitPosition(published.position),
                metadata: Arc::clone(&published.metadata),
            });
        }
        if museum::shows(Exhibit::PublishedBeforeRuns) {
            let changes = edit.changes.pop().into_iter().collect();
            manifest.commit(&Edit { changes })?;
        }
        if museum::shows(Exhibit::DurableBeforeCommit) {
            self.set_durable(published.clone());
        }
        if !edit.changes.is_empty() {
            let committed = manifest.commit(&edit);
            if let Err(error) = committed {
                let files = installs.into_iter().map(|(part, ..)| part.written);
                return Err(self.failed_commit(error, files));
            }
        }
        for (part, run, idle) in installs {
            self.install_flush(part, run, idle);
        }
        // Once: whoever waits looks at all trees.
        self.merge_signal.notify();
        let now = self.factory.env.clock.monotonic();
        self.flushed_us
            .store(now.as_micros() as u64, Ordering::Relaxed);
        self.set_durable(published);
        Ok(())
    }

    /// What a tree's part became: a run of its own, or the target with other segments.
    fn new_run(&self, part: &FlushedTree) -> Option<Arc<DiskRun>> {
        let segments = part.written.segments().iter().cloned();
        let segments: Vec<_> = segments.map(RunSegment::whole).collect();
        let new_id = || RunId(self.next_run.fetch_add(1, Ordering::Relaxed));
        let id = part
            .target
            .as_ref()
            .map_or_else(new_id, |target| target.run.id);
        (!segments.is_empty()).then(|| Arc::new(DiskRun::new(id, segments)))
    }

    fn install_flush(&self, part: FlushedTree, run: Option<Arc<DiskRun>>, idle: Option<u64>) {
        let bytes: u64 = run.as_ref().map_or(0, |run| run.bytes());
        self.counters
            .bytes_flushed
            .fetch_add(bytes, Ordering::Relaxed);
        let merged = part.merged();
        let (before, _) = part.tree.update(|version| {
            let next = version.flushed(run.clone(), merged);
            next.without_truncations(idle)
        });
        part.written.commit();
        if let Some(Target { run, _claim }) = part.target {
            for part in &run.segments {
                part.segment.retire(&self.factory.cache);
            }
        }
        self.memory.free(memory_bytes(&before.frozen));
    }

    fn set_durable(&self, published: Published) {
        *self.durable.lock() = Durable {
            position: CommitPosition(published.position),
            metadata: published.metadata,
        };
    }

    fn durable_published(&self) -> Published {
        let durable = self.durable.lock();
        Published {
            position: durable.position.0,
            metadata: Arc::clone(&durable.metadata),
        }
    }

    /// What becomes of segments whose commit failed. After a failed sync the manifest may name
    /// them all the same; otherwise it does not and they go.
    pub(crate) fn failed_commit(
        &self,
        error: StoreError,
        written: impl Iterator<Item = Uncommitted>,
    ) -> StoreError {
        if matches!(error, StoreError::Poisoned(_)) {
            written.for_each(|segments| drop(segments.commit()));
        }
        error
    }
}

impl FlushedTree {
    /// Newest disk runs that the flush replaces.
    fn merged(&self) -> usize {
        usize::from(self.target.is_some())
    }

    /// The version of the tree that `run` will make.
    fn version(&self, run: Option<Arc<DiskRun>>) -> Version {
        self.tree.version().flushed(run, self.merged())
    }
}

impl Target {
    /// What the manifest has to learn: other segments take the place of the run's.
    fn replaced_by(&self, written: &Uncommitted, table: TableId) -> Change {
        let segments = self.run.segments.iter();
        let written = written.segments().iter();
        Change::ReplaceSegments {
            table,
            removed: segments.map(|part| part.info().id).collect(),
            run: self.run.id,
            added: written.map(|segment| segment.info().clone()).collect(),
        }
    }
}

/// What a flush of a tree's frozen runs has to keep.
fn retention_of(
    tree: &Tree,
    version: &Version,
    target: Option<&DiskRun>,
    retention: &Retention,
) -> Retention {
    let is_target = |run: &Arc<DiskRun>| target.is_some_and(|target| target.id == run.id);
    let others = version.runs.iter().filter(|run| !is_target(run));
    let others: Vec<_> = others.map(|run| run.positions()).collect();
    // Runs can only be added by a flush, so none older appears while this one goes on. What is open by now was
    // ingested after the retention was captured.
    let includes_oldest = others.is_empty() && tree.damage.is_none();
    let frozen = version.frozen.iter().map(|run| run.positions());
    let inputs = frozen.chain(target.map(DiskRun::positions));
    let outside = Outside::of(includes_oldest, inputs, &others, retention.lowest());
    retention.for_merge(&version.truncations, outside, others)
}

/// What the manifest has to learn of a tree that `next` will be the version of, whose truncations up
/// to `idle` go.
fn tree_changes(
    part: &FlushedTree,
    next: &Version,
    run: Option<&DiskRun>,
    idle: Option<u64>,
    manifest: &Manifest,
) -> Vec<Change> {
    let table = part.tree.layout.table;
    let known = manifest
        .state()
        .tables
        .get(&table)
        .map_or(&[][..], |state| &state.truncations);
    let mut changes = Vec::new();
    changes.extend(match &part.target {
        None => run.map(|run| Change::PushRun {
            table,
            run: run.state(),
        }),
        Some(target) => Some(target.replaced_by(&part.written, table)),
    });
    for position in next
        .truncations
        .iter()
        .map(|&position| CommitPosition(position))
    {
        if !known.contains(&position) && idle.is_none_or(|idle| position.0 > idle) {
            changes.push(Change::Truncate { table, position });
        }
    }
    changes.extend(manifest.forgets(table, idle));
    changes
}
