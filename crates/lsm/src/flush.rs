//! Flush: C0 of all trees to disk, and the manifest commit that makes it durable.
//!
//! 1. Capture the last publish and the retention under the registry's lock. Everything that the
//!    publish made visible has been ingested before.
//! 2. Freeze: every tree's open runs become frozen, together with those that an earlier, failed
//!    flush left. Versions above the captured position may be among them (a large transaction
//!    that is still going on); they are written, but not published.
//! 3. Write each tree's frozen runs as one new disk run, synced.
//! 4. Commit one manifest edit: all new runs, truncations, the captured position and metadata.
//!    Recovery gives exactly that position in all trees.
//! 5. Swap each tree's frozen runs for its new disk run.
//!
//! A failure before the commit leaves the frozen runs where they are, readable; the next flush
//! writes them again with whatever has arrived since.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use types::CommitPosition;

use crate::error::StoreError;
use crate::key_range::KeyRange;
use crate::manifest::{Change, Edit, Manifest, RunId};
use crate::merge::Merger;
use crate::museum::{self, Exhibit};
use crate::retention::{Outside, Retention};
use crate::rewrite::rewrite;
use crate::run::{DiskRun, RunSegment};
use crate::run_writer::{RunShape, RunWriter, Uncommitted};
use crate::snapshots::Published;
use crate::store::{Durable, Store};
use crate::tree::Tree;
use crate::version::{Version, memory_bytes};

/// By which rows shrink on their way to disk, about.
const COMPRESSION: u64 = 8;

/// One tree's part of a flush.
struct FlushedTree {
    tree: Arc<Tree>,
    /// What was written of its frozen runs.
    written: Uncommitted,
}

impl Store {
    /// Whether a flush should happen now.
    pub(crate) fn flush_is_due(&self) -> bool {
        self.flush_requested.load(Ordering::Relaxed) || self.memory.wants_flush()
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
        let mut flushed = Vec::new();
        let mut bytes_before = 0;
        self.memory.note_written(0);
        for (frozen, tree) in frozen {
            let written = self.write_frozen(&tree, &frozen, retention, bytes_before)?;
            bytes_before += memory_bytes(&frozen.frozen);
            flushed.push(FlushedTree { tree, written });
        }
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
    fn write_frozen(
        &self,
        tree: &Tree,
        version: &Version,
        retention: &Retention,
        bytes_before: usize,
    ) -> Result<Uncommitted, StoreError> {
        let mut merger = Merger::new();
        let runs = version.frozen.iter();
        runs.filter_map(|run| run.window(&KeyRange::all()))
            .for_each(|window| merger.add_window(window));
        let retention = retention_of(tree, version, retention);
        let bytes = memory_bytes(&version.frozen);
        let rows: usize = version.frozen.iter().map(|run| run.rows()).sum();
        let shape = RunShape::of(&self.factory.options, bytes as u64 / COMPRESSION, false);
        let mut writer = RunWriter::new(&self.factory, &tree.layout, shape, Default::default());
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
            let run = self.new_run(&part.written);
            // Not the frozen version: a merge may have forgotten truncations since, and its
            // positions with them. The manifest must not learn of those now.
            let next = part.tree.version().flushed(run.clone());
            edit.changes
                .extend(tree_changes(&part.tree, &next, run.as_deref(), &manifest));
            let idle = next.last_idle_truncation();
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
        let now = self.factory.env.clock.monotonic();
        self.flushed_us
            .store(now.as_micros() as u64, Ordering::Relaxed);
        self.set_durable(published);
        Ok(())
    }

    fn new_run(&self, written: &Uncommitted) -> Option<Arc<DiskRun>> {
        let segments = written.segments().iter().cloned();
        let segments: Vec<_> = segments.map(RunSegment::whole).collect();
        let id = RunId(self.next_run.fetch_add(1, Ordering::Relaxed));
        (!segments.is_empty()).then(|| Arc::new(DiskRun::new(id, segments)))
    }

    fn install_flush(&self, part: FlushedTree, run: Option<Arc<DiskRun>>, idle: Option<u64>) {
        let bytes: u64 = run.as_ref().map_or(0, |run| run.bytes());
        self.counters
            .bytes_flushed
            .fetch_add(bytes, Ordering::Relaxed);
        let (before, _) = part
            .tree
            .update(|version| version.flushed(run.clone()).without_truncations(idle));
        part.written.commit();
        self.memory.free(memory_bytes(&before.frozen));
        self.merge_signal.notify();
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

/// What a flush of a tree's frozen runs has to keep.
fn retention_of(tree: &Tree, version: &Version, retention: &Retention) -> Retention {
    // Runs can only be added by a flush, so none older appears while this one goes on.
    let is_oldest = version.runs.is_empty() && tree.damage.is_none();
    let outside = match is_oldest {
        true => Outside::NoneOlder,
        false => {
            // What is open by now was ingested after the retention was captured.
            let frozen = version.frozen.iter().map(|run| run.positions());
            let others = version.runs.iter().map(|run| run.positions());
            Outside::of(frozen, others, retention.lowest())
        }
    };
    retention.for_merge(&version.truncations, outside)
}

/// What the manifest has to learn of a tree that `next` will be the version of.
fn tree_changes(
    tree: &Tree,
    next: &Version,
    run: Option<&DiskRun>,
    manifest: &Manifest,
) -> Vec<Change> {
    let table = tree.layout.table;
    let known = manifest
        .state()
        .tables
        .get(&table)
        .map_or(&[][..], |state| &state.truncations);
    let idle = next.last_idle_truncation();
    let mut changes = Vec::new();
    if let Some(run) = run {
        changes.push(Change::PushRun {
            table,
            run: run.state(),
        });
    }
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
