//! Writes the output of a flush or merge as segments of one run.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use env::Env;
use page::PageEncoder;
use types::key::SortKey;
use types::{SortKeys, VersionRows};

use crate::error::StoreError;
use crate::museum::{self, Exhibit};
use crate::options::StoreOptions;
use crate::page_cache::PageCache;
use crate::segment::{
    FilterMemory, Segment, SegmentId, SegmentWriter, UnsyncedFiles, WrittenPage, page_encoder,
};
use crate::tree::Tree;
use crate::warming::Warmer;

/// What it takes to write and open segments of any tree.
pub(crate) struct SegmentFactory {
    /// Files.
    pub env: Env,
    /// Where segments are.
    pub directory: PathBuf,
    /// Sizes.
    pub options: StoreOptions,
    /// The next segment's number.
    pub next_segment: AtomicU64,
    /// Told of segments that go.
    pub cache: Arc<PageCache>,
    /// Where filters find room.
    pub filter_memory: Arc<FilterMemory>,
}

/// Segments that no manifest edit names yet. Dropped before [`Self::commit`], their files go.
pub(crate) struct Uncommitted {
    segments: Vec<Arc<Segment>>,
    /// Their files that are not synced.
    unsynced: UnsyncedFiles,
    cache: Arc<PageCache>,
}

impl Uncommitted {
    fn none(cache: &Arc<PageCache>) -> Self {
        Self {
            segments: Vec::new(),
            unsynced: UnsyncedFiles::default(),
            cache: Arc::clone(cache),
        }
    }

    /// The segments, keys ascending.
    pub fn segments(&self) -> &[Arc<Segment>] {
        &self.segments
    }

    /// What has to be synced before the manifest names the segments.
    pub fn unsynced(&mut self) -> &mut UnsyncedFiles {
        &mut self.unsynced
    }

    /// The manifest names the segments, or may do so: they stay.
    pub fn commit(mut self) -> Vec<Arc<Segment>> {
        assert!(self.unsynced.is_empty(), "synced before it is committed");
        std::mem::take(&mut self.segments)
    }
}

impl Drop for Uncommitted {
    fn drop(&mut self) {
        for segment in &self.segments {
            segment.retire(&self.cache);
        }
    }
}

/// A run is cut into about so many segments or more: a merge needs room for one segment of its
/// output, and one of each input that it has not used up.
const SEGMENTS_MIN: u64 = 128;

/// Segments are not made smaller for that: each has to be synced.
const SEGMENT_BYTES_MIN: u64 = 1 << 20;

/// How a run is cut into segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunShape {
    /// Size at which a segment is closed.
    pub segment_bytes: u64,
    /// Whether segments have filters in their files. Others get theirs from the first look-up that
    /// asks. Building one takes a sixth of the time of a merge, in vain where no look-up comes
    /// before the next merge.
    pub has_filters: bool,
    /// Whether those filters stay in memory as they are written: look-ups ask for them all the time.
    pub keeps_filters: bool,
}

impl RunShape {
    /// That of a run of about so many bytes. `is_base`: it will be the oldest, which lasts longest.
    /// `filters_are_used`: by look-ups, in what it is made of. Filters that there is no memory for
    /// are not built.
    pub fn of(
        options: &StoreOptions,
        run_bytes: u64,
        is_base: bool,
        filters_are_used: bool,
    ) -> Self {
        let bytes = (run_bytes / SEGMENTS_MIN).max(SEGMENT_BYTES_MIN);
        Self {
            segment_bytes: bytes.min(options.segment_bytes),
            has_filters: (is_base || filters_are_used) && options.filter_bytes > 0,
            keeps_filters: filters_are_used,
        }
    }
}

/// Rows of a batch at most.
const BATCH_ROWS_MAX: usize = 8192;

/// Rows of a batch at least.
const BATCH_ROWS_MIN: usize = 16;

/// Bytes of a segment for which a batch may have a row: as segments end between batches, those of
/// rows of 16 bytes are too long by an eighth at most, those of longer rows by more.
const SEGMENT_BYTES_PER_ROW: u64 = 128;

/// The segment that is being written.
struct CurrentSegment {
    writer: SegmentWriter,
    /// All keys before it are in segments that are finished.
    first_key: SortKey,
}

/// Writes sorted versions as segments.
pub(crate) struct RunWriter<'a> {
    factory: &'a SegmentFactory,
    tree: &'a Tree,
    shape: RunShape,
    /// `None` while a segment is being written: it has it.
    encoder: Option<PageEncoder>,
    current: Option<CurrentSegment>,
    last_key: Option<SortKey>,
    /// A segment must end before each of these keys (ascending): a segment that moves without
    /// being rewritten starts there.
    barriers: VecDeque<SortKey>,
    written: Uncommitted,
    warmer: Warmer<'a>,
    rows: usize,
}

impl<'a> RunWriter<'a> {
    /// Writes nothing yet.
    pub fn new(
        factory: &'a SegmentFactory,
        tree: &'a Tree,
        shape: RunShape,
        barriers: VecDeque<SortKey>,
        warmer: Warmer<'a>,
    ) -> Self {
        let written = Uncommitted::none(&factory.cache);
        let experience = tree.experience.lock().clone();
        let (schema, page_bytes) = (&tree.layout.schema, factory.options.page_bytes);
        Self {
            factory,
            tree,
            shape,
            encoder: Some(page_encoder(schema, page_bytes, &experience)),
            current: None,
            last_key: None,
            barriers,
            written,
            warmer,
            rows: 0,
        }
    }

    /// Versions added so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many versions to add at a time: segments end between batches.
    pub fn batch_rows(&self) -> usize {
        let rows = self.shape.segment_bytes / SEGMENT_BYTES_PER_ROW;
        (rows as usize).clamp(BATCH_ROWS_MIN, BATCH_ROWS_MAX)
    }

    /// Adds versions that follow all added so far.
    pub fn append(&mut self, rows: &VersionRows, keys: &SortKeys) -> Result<(), StoreError> {
        self.rows += rows.len();
        let mut start = 0;
        while let Some(barrier) = self.barriers.front() {
            let end = keys.lower_bound(start..keys.len(), barrier);
            if end == keys.len() {
                break;
            }
            self.barriers.pop_front();
            self.append_range(rows, keys, start..end)?;
            self.finish_segment()?;
            start = end;
        }
        self.append_range(rows, keys, start..keys.len())
    }

    fn append_range(
        &mut self,
        rows: &VersionRows,
        keys: &SortKeys,
        range: Range<usize>,
    ) -> Result<(), StoreError> {
        if range.is_empty() {
            return Ok(());
        }
        let continues_key = self
            .last_key
            .as_ref()
            .is_some_and(|last| keys.compare_key(range.start, last).is_eq());
        if self.is_full() && !continues_key {
            self.finish_segment()?;
        }
        let last_key = keys.key(range.end - 1);
        if self.current.is_none() {
            self.current = Some(self.begin_segment(keys.key(range.start))?);
        }
        let current = self.current.as_mut().expect("begun just now");
        let mut each_page = |page: WrittenPage<'_>| self.warmer.see(&page);
        if range.len() == rows.len() {
            current.writer.append(rows, keys, &mut each_page)?;
        } else {
            let mut some_keys = keys.empty_like();
            some_keys.append(keys, range.clone());
            let rows = rows.slice(range);
            current.writer.append(&rows, &some_keys, &mut each_page)?;
        }
        self.last_key = Some(last_key);
        Ok(())
    }

    fn is_full(&self) -> bool {
        let bytes = self
            .current
            .as_ref()
            .map_or(0, |current| current.writer.bytes_written());
        bytes >= self.shape.segment_bytes
    }

    fn begin_segment(&mut self, first_key: SortKey) -> Result<CurrentSegment, StoreError> {
        let id = SegmentId(self.factory.next_segment.fetch_add(1, Ordering::Relaxed));
        let encoder = self.encoder.take().expect("no segment is being written");
        let writer = SegmentWriter::create(
            &self.factory.env,
            &self.factory.directory,
            id,
            self.tree.layout.table,
            &self.tree.layout.schema,
            encoder,
            self.shape.has_filters,
        )?;
        Ok(CurrentSegment { writer, first_key })
    }

    /// Bytes of the segments that have been finished and not taken.
    pub fn finished_bytes(&self) -> u64 {
        let bytes = self
            .written
            .segments
            .iter()
            .map(|segment| segment.info().bytes);
        bytes.sum()
    }

    /// The segments that have been finished since the last call, if there are any, and the first
    /// key that is not in them or before.
    pub fn take_finished(&mut self) -> Option<(Uncommitted, SortKey)> {
        let current = self.current.as_ref()?;
        if self.written.segments.is_empty() {
            return None;
        }
        let end = current.first_key.clone();
        let rest = Uncommitted::none(&self.factory.cache);
        Some((std::mem::replace(&mut self.written, rest), end))
    }

    fn finish_segment(&mut self) -> Result<(), StoreError> {
        if let Some(current) = self.current.take() {
            let mut finished = current.writer.finish(&mut |page| self.warmer.see(&page))?;
            *self.tree.experience.lock() = finished.encoder.experience();
            let factory = self.factory;
            let opened = Segment::open_finished(
                &factory.env,
                &factory.directory,
                &finished,
                &self.tree.layout.schema,
                &factory.filter_memory,
            )?;
            self.encoder = Some(finished.encoder);
            if self.shape.keeps_filters && !finished.filter.is_empty() {
                opened.keep_filter(finished.filter);
            }
            self.written.segments.push(Arc::new(opened));
            self.written.unsynced.append(&mut finished.unsynced)?;
            self.warmer.segment_finished();
        }
        Ok(())
    }

    /// Ends the last segment. Returns those that have not been taken.
    pub fn finish(mut self) -> Result<Uncommitted, StoreError> {
        self.current
            .take_if(|_| museum::shows(Exhibit::LastSegmentLost));
        self.finish_segment()?;
        Ok(self.written)
    }
}
