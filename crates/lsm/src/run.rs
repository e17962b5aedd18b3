//! Disk runs: sorted sequences of segments with disjoint keys.

use std::sync::Arc;

use types::key::SortKey;

use crate::compaction_buffer::{CompactionBuffer, Consumed};
use crate::manifest::{RunId, RunState};
use crate::retention::PositionRange;
use crate::segment::{PageEntry, Segment, SegmentInfo};

/// One sorted run on disk. Immutable: a merge makes a new one.
pub(crate) struct DiskRun {
    /// The run.
    pub id: RunId,
    /// Its segments, keys ascending.
    pub segments: Vec<RunSegment>,
    /// What was merged into it, where that is kept.
    pub buffer: Option<Arc<CompactionBuffer>>,
}

/// A segment of a run.
#[derive(Clone)]
pub(crate) struct RunSegment {
    /// The segment.
    pub segment: Arc<Segment>,
    /// The first key that counts, where that is not the segment's first one: what is below has
    /// been merged into another segment.
    pub bound: Option<SortKey>,
}

impl RunSegment {
    /// All of a segment.
    pub fn whole(segment: Arc<Segment>) -> Self {
        Self {
            segment,
            bound: None,
        }
    }

    /// What the manifest says of the whole segment.
    pub fn info(&self) -> &SegmentInfo {
        self.segment.info()
    }

    /// The first key that counts.
    pub fn key_min(&self) -> &SortKey {
        self.bound.as_ref().unwrap_or(&self.info().key_min)
    }

    /// The last key.
    pub fn key_max(&self) -> &SortKey {
        &self.info().key_max
    }

    /// The pages that hold keys that count; the first one perhaps others, too.
    pub fn pages(&self) -> &[PageEntry] {
        &self.segment.pages()[self.segment.pages_in(self.bound.as_ref(), None)]
    }
}

impl DiskRun {
    /// A run of segments in any order.
    pub fn new(id: RunId, mut segments: Vec<RunSegment>) -> Self {
        segments.sort_by(|a, b| a.key_max().cmp(b.key_max()));
        Self {
            id,
            segments,
            buffer: None,
        }
    }

    /// Its buffer after a step of a merge into it.
    pub fn buffer_after(&self, consumed: &[Consumed]) -> CompactionBuffer {
        let nothing = CompactionBuffer::default();
        let buffer = self.buffer.as_deref().unwrap_or(&nothing);
        buffer.after(consumed, self.bytes())
    }

    /// The same run with another buffer.
    pub fn with_buffer(&self, buffer: Option<CompactionBuffer>) -> Self {
        Self {
            id: self.id,
            segments: self.segments.clone(),
            buffer: buffer.map(Arc::new),
        }
    }

    /// What the manifest records of the run.
    pub fn state(&self) -> RunState {
        let segments = self.segments.iter();
        let bound = |part: &RunSegment| Some((part.info().id, part.bound.clone()?));
        RunState {
            id: self.id,
            segments: segments.clone().map(|part| part.info().clone()).collect(),
            bounds: segments.filter_map(bound).collect(),
        }
    }

    /// The segments that have keys from `first` to `last` that count.
    pub fn parts_in<'a>(
        &'a self,
        first: &SortKey,
        last: &'a SortKey,
    ) -> impl Iterator<Item = &'a RunSegment> {
        let start = self.segments.partition_point(|part| part.key_max() < first);
        let parts = self.segments[start..].iter();
        parts.take_while(move |part| part.key_min() <= last)
    }

    /// Bytes on disk.
    pub fn bytes(&self) -> u64 {
        self.segments
            .iter()
            .map(|segment| segment.info().bytes)
            .sum()
    }

    /// The number of versions; more than count where segments have bounds.
    pub fn versions(&self) -> u64 {
        self.segments
            .iter()
            .map(|segment| segment.info().versions)
            .sum()
    }

    /// The positions of its versions, or more.
    pub fn positions(&self) -> PositionRange {
        let infos = self.segments.iter().map(RunSegment::info);
        let (min, max) = infos.fold((u64::MAX, 0), |(min, max), info| {
            (min.min(info.position_min.0), max.max(info.position_max.0))
        });
        PositionRange { min, max }
    }
}
