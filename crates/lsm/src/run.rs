//! Disk runs: sorted sequences of segments with disjoint keys.

use std::sync::Arc;

use crate::manifest::{RunId, RunState};
use crate::segment::Segment;

/// One sorted run on disk. Immutable: a merge makes a new one.
pub(crate) struct DiskRun {
    /// The run.
    pub id: RunId,
    /// Its segments, keys ascending.
    pub segments: Vec<Arc<Segment>>,
}

impl DiskRun {
    /// What the manifest records of the run.
    pub fn state(&self) -> RunState {
        let segments = self
            .segments
            .iter()
            .map(|segment| segment.info().clone())
            .collect();
        RunState {
            id: self.id,
            segments,
        }
    }

    /// Bytes on disk.
    pub fn bytes(&self) -> u64 {
        self.segments
            .iter()
            .map(|segment| segment.info().bytes)
            .sum()
    }

    /// The number of versions.
    pub fn versions(&self) -> u64 {
        self.segments
            .iter()
            .map(|segment| segment.info().versions)
            .sum()
    }

    /// The smallest position of a version.
    pub fn position_min(&self) -> Option<u64> {
        self.segments
            .iter()
            .map(|segment| segment.info().position_min.0)
            .min()
    }
}
