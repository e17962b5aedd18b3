//! A tree: one table's versions, as a swappable list of runs.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use page::Experience;
use parking_lot::{Mutex, RwLock};

use crate::error::StoreError;
use crate::layout::Layout;
use crate::manifest::RunId;
use crate::memory_merge::MemoryMerge;
use crate::run::DiskRun;
use crate::version::Version;

/// One table's tree.
pub(crate) struct Tree {
    /// Where its columns are.
    pub layout: Arc<Layout>,
    /// Why the tree cannot be read: a file was damaged or missing at open. It can still be
    /// written to and dropped; merges leave it alone.
    pub damage: Option<StoreError>,
    /// The merge of memory runs that goes on piece by piece. Held by the writer during a piece.
    pub memory_merge: Mutex<Option<MemoryMerge>>,
    /// What flushes and merges have learned about its pages.
    pub experience: Mutex<Experience>,
    /// Held for the moment of a swap only.
    version: RwLock<Arc<Version>>,
    /// Runs that merges are working on.
    merging: Mutex<HashSet<RunId>>,
    /// A merge met a damaged page: no further merge of this tree would succeed.
    unmergeable: AtomicBool,
}

impl Tree {
    /// A tree that consists of `version`.
    pub fn new(layout: Layout, version: Version, damage: Option<StoreError>) -> Self {
        Self {
            layout: Arc::new(layout),
            unmergeable: AtomicBool::new(damage.is_some()),
            damage,
            memory_merge: Mutex::default(),
            experience: Mutex::default(),
            version: RwLock::new(Arc::new(version)),
            merging: Mutex::default(),
        }
    }

    /// The damage that was met at open, or by a read of what the tree consists of now.
    pub fn known_damage(&self) -> Option<StoreError> {
        let version = self.version();
        let mut segments = version.runs.iter().flat_map(|run| &run.segments);
        let met = || segments.find_map(|run_segment| run_segment.segment.damage().cloned());
        self.damage.clone().or_else(met)
    }

    /// The current version.
    pub fn version(&self) -> Arc<Version> {
        Arc::clone(&self.version.read())
    }

    /// Swaps in the version that `change` makes of the current one, and returns both.
    pub fn update(&self, change: impl FnOnce(&Version) -> Version) -> (Arc<Version>, Arc<Version>) {
        let mut version = self.version.write();
        let next = Arc::new(change(&version));
        let before = std::mem::replace(&mut *version, Arc::clone(&next));
        (before, next)
    }

    /// Swaps in the version that `change` makes of the current one, if it makes one.
    pub fn try_update(&self, change: impl FnOnce(&Version) -> Option<Version>) -> bool {
        let mut version = self.version.write();
        let next = change(&version);
        let changed = next.is_some();
        if let Some(next) = next {
            *version = Arc::new(next);
        }
        changed
    }

    /// Takes the disk runs that `choose` wants to merge, so that no other merge touches them. It
    /// learns which of the version's runs are taken.
    pub fn claim(
        self: &Arc<Self>,
        choose: impl FnOnce(&Version, &[bool]) -> Option<Range<usize>>,
    ) -> Option<Claim> {
        if self.unmergeable.load(Ordering::Relaxed) {
            return None;
        }
        let mut merging = self.merging.lock();
        let version = self.version();
        let taken: Vec<bool> = version
            .runs
            .iter()
            .map(|run| merging.contains(&run.id))
            .collect();
        let chosen = choose(&version, &taken)?;
        let includes_oldest = chosen.end == version.runs.len();
        let inputs: Vec<RunId> = version.runs[chosen].iter().map(|run| run.id).collect();
        merging.extend(&inputs);
        Some(Claim {
            tree: Arc::clone(self),
            inputs,
            includes_oldest,
        })
    }

    /// Whether `choose` would find something to merge.
    pub fn has_claim(
        &self,
        choose: impl FnOnce(&Version, &[bool]) -> Option<Range<usize>>,
    ) -> bool {
        if self.unmergeable.load(Ordering::Relaxed) {
            return false;
        }
        let merging = self.merging.lock();
        let version = self.version();
        let taken: Vec<bool> = version
            .runs
            .iter()
            .map(|run| merging.contains(&run.id))
            .collect();
        choose(&version, &taken).is_some()
    }

    /// Whether a merge is under way.
    pub fn is_merging(&self) -> bool {
        !self.merging.lock().is_empty()
    }

    /// Gives up merging this tree until the store is opened again.
    pub fn stop_merging(&self) {
        self.unmergeable.store(true, Ordering::Relaxed);
    }
}

/// Neighbouring runs that one merge owns until this is dropped.
pub(crate) struct Claim {
    /// The tree.
    pub tree: Arc<Tree>,
    /// The runs, newest first. Those that the merge has used up are gone from the tree.
    pub inputs: Vec<RunId>,
    /// Whether the tree's oldest run is one of them. Stays so: newer runs come, older ones do not.
    pub includes_oldest: bool,
}

impl Claim {
    /// The runs as they are now.
    pub fn runs(&self) -> Vec<Arc<DiskRun>> {
        let version = self.tree.version();
        let is_input = |run: &&Arc<DiskRun>| self.inputs.contains(&run.id);
        version.runs.iter().filter(is_input).cloned().collect()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut merging = self.tree.merging.lock();
        for run in &self.inputs {
            merging.remove(run);
        }
    }
}
