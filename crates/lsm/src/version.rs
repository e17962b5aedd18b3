//! Versions of a tree: which runs it consists of at one moment.
//!
//! A version is immutable. Whoever changes the tree makes a new version from the current one and
//! swaps it in; readers go on with the one that they found. What a reader sees does not depend on
//! which of two neighbouring versions it found, because a change never alters what a live
//! snapshot can see: frozen runs stay until the disk run that replaces them takes their place in
//! one swap.

use std::sync::Arc;

use crate::memory_run::MemoryRun;
use crate::museum::{self, Exhibit};
use crate::run::DiskRun;

/// The runs of a tree, newest first in every list and from list to list.
#[derive(Clone, Default)]
pub(crate) struct Version {
    /// Memory runs that take part in C0's merging.
    pub open: Vec<Arc<MemoryRun>>,
    /// Memory runs that a flush is writing, or has to write again after it failed.
    pub frozen: Vec<Arc<MemoryRun>>,
    /// Runs on disk.
    pub runs: Vec<Arc<DiskRun>>,
    /// Positions of truncations that some run may still need, ascending.
    pub truncations: Vec<u64>,
}

/// Bytes of memory that some runs hold.
pub(crate) fn memory_bytes(runs: &[Arc<MemoryRun>]) -> usize {
    runs.iter().map(|run| run.bytes()).sum()
}

fn is_same<T>(a: &[Arc<T>], b: &[Arc<T>]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| Arc::ptr_eq(a, b))
}

impl Version {
    /// All memory runs, newest first.
    pub fn memory_runs(&self) -> impl Iterator<Item = &Arc<MemoryRun>> {
        self.open.iter().chain(&self.frozen)
    }

    /// The position of the newest version, visible or not, or a later one.
    pub fn newest_position(&self) -> u64 {
        let in_memory = self.memory_runs().map(|run| run.positions().max);
        let on_disk = self.runs.iter().map(|run| run.positions().max);
        in_memory.chain(on_disk).max().unwrap_or(0)
    }

    /// Adds the newest memory run.
    pub fn ingested(&self, run: Arc<MemoryRun>) -> Self {
        let mut next = self.clone();
        next.open.insert(0, run);
        next
    }

    /// Where these neighbouring runs are among the open ones; `None` when a flush has taken them.
    pub fn place_of(&self, runs: &[Arc<MemoryRun>]) -> Option<usize> {
        let newest = runs.first()?;
        let place = self.open.iter().position(|run| Arc::ptr_eq(run, newest))?;
        let found = self.open.get(place..place + runs.len());
        found
            .is_some_and(|found| is_same(found, runs))
            .then_some(place)
    }

    /// Replaces neighbouring open runs by what they were merged into; `None` when a flush has
    /// taken them in the meantime.
    pub fn compacted(
        &self,
        inputs: &[Arc<MemoryRun>],
        output: Option<Arc<MemoryRun>>,
    ) -> Option<Self> {
        let place = self.place_of(inputs)?;
        let mut next = self.clone();
        next.open.splice(place..place + inputs.len(), output);
        Some(next)
    }

    /// Hands all open runs over to a flush.
    pub fn froze(&self) -> Self {
        let mut next = self.clone();
        if museum::shows(Exhibit::FailedFlushForgotten) {
            next.frozen.clear();
        }
        next.frozen = next.memory_runs().cloned().collect();
        next.open.clear();
        next
    }

    /// Puts the disk run that a flush wrote (`None` when nothing was worth writing) in the place
    /// of the frozen runs and of the newest disk runs, `merged` of them, that it has merged with
    /// them.
    pub fn flushed(&self, run: Option<Arc<DiskRun>>, merged: usize) -> Self {
        let mut next = self.clone();
        next.frozen.clear();
        next.runs.splice(0..merged, run);
        next
    }

    /// Puts other runs in the place of all runs on disk.
    pub fn with_runs(&self, runs: Vec<Arc<DiskRun>>) -> Self {
        let mut next = self.clone();
        next.runs = runs;
        next
    }

    /// Adds a truncation.
    pub fn truncated(&self, position: u64) -> Self {
        let mut next = self.clone();
        if let Err(place) = next.truncations.binary_search(&position) {
            next.truncations.insert(place, position);
        }
        next
    }

    /// The last truncation that hides nothing, because no run holds versions below it, and none will
    /// come: `visible` is a visible position from before this version was found, and what is
    /// ingested lies above. After a restart a truncation may be known before what it hides has come
    /// again.
    pub fn last_idle_truncation(&self, visible: u64) -> Option<u64> {
        let in_memory = self.memory_runs().map(|run| run.positions().min);
        let on_disk = self.runs.iter().map(|run| run.positions().min);
        let on_disk = on_disk.filter(|_| !museum::shows(Exhibit::TruncationForgottenEarly));
        let oldest = in_memory.chain(on_disk).min().unwrap_or(u64::MAX);
        let idle_max = oldest.min(visible);
        self.truncations
            .iter()
            .copied()
            .rfind(|&truncation| truncation <= idle_max)
    }

    /// Forgets truncations up to `position`.
    pub fn without_truncations(&self, position: Option<u64>) -> Self {
        let mut next = self.clone();
        next.truncations
            .retain(|&truncation| position.is_none_or(|position| truncation > position));
        if next.truncations.len() < self.truncations.len() {
            next.forget_buffers();
        }
        next
    }

    /// Drops all compaction buffers: they may have rows that a truncation hid.
    fn forget_buffers(&mut self) {
        for run in self.runs.iter_mut().filter(|run| run.buffer.is_some()) {
            *run = Arc::new(run.with_buffer(None));
        }
    }
}
