//! The compaction buffer of LSbM-tree (ICDCS 2017): what has been merged into a run, kept for look-ups
//! as long as its old pages are cached.
//!
//! A baseline that experiments are held against; `warming` is the product's answer. The algorithm,
//! with the paper's gaps closed:
//!
//! 1. Each merge into a run begins *tables* in front of the run's others, one for each run that is
//!    merged into it. A step of the merge adds the segments that it consumed to them, as far as
//!    their keys were merged. They leave the manifest, not the disk.
//! 2. A look-up that the run itself does not rule out asks the tables first, the newest first. It
//!    stops at a *hole*: older tables may have an older version of what was there.
//! 3. Every so often each segment of all but the last merge's tables is looked at. One of which too few
//!    pages are cached becomes a hole, and its file goes.
//! 4. Where keys repeat, the run grows by less than what was merged into it. Then the buffer is of
//!    less use than the run itself, and *frozen*: what comes is a hole at once. The last run, which
//!    has all keys, has no buffer for that reason.
//!
//! What the paper keeps in its index, holes above all, is in memory only: after a restart the cache is
//! empty, too, and so is the buffer.
//!
//! Invariant: a table has for every key below its end all versions that its merge brought, or a hole.
//! A segment that may have older versions than what was merged before it (a table's first copy) is
//! a hole.
//!
//! Does not: serve scans, which read the run.

use std::ops::Range;
use std::sync::Arc;

use types::key::SortKey;

use crate::museum::{self, Exhibit};
use crate::page_cache::PageCache;
use crate::run::RunSegment;
use crate::segment::{Segment, SegmentId};

/// How the buffer is trimmed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BufferOptions {
    /// A segment with a smaller share of its pages in the cache becomes a hole. The paper's authors
    /// had 0.12 to 0.49.
    pub cached_share_min: f64,
    /// Milliseconds between two looks; 30,000 in their code.
    pub trim_period_ms: u64,
}

/// The buffer is frozen when its run has less than this share of what was merged into it.
const GROWTH_SHARE_MIN: f64 = 0.75;

/// The tables of one run. Immutable, like the run.
#[derive(Clone, Default)]
pub(crate) struct CompactionBuffer {
    /// The newest first.
    tables: Vec<Table>,
    /// How many of them the last merge into the run began.
    newest_tables: usize,
    /// Bytes that were merged into the run since the buffer began.
    merged_bytes: u64,
    is_frozen: bool,
}

/// What one merge brought.
#[derive(Clone)]
struct Table {
    /// Keys ascending; no two share one.
    entries: Vec<Entry>,
    /// The last position in the run before: what is older may have come out of order.
    position_before: u64,
}

/// A part of the keys of a segment that was merged.
#[derive(Clone)]
struct Entry {
    first: SortKey,
    /// The first key behind it.
    end: Option<SortKey>,
    /// The segment's last key.
    last: SortKey,
    content: Content,
}

#[derive(Clone)]
enum Content {
    /// The segment was merged in part, and belongs to another run.
    Part(Arc<Segment>),
    /// Only buffers have it.
    Whole(Arc<BufferedSegment>),
    /// It is gone.
    Hole,
}

/// A segment that only buffers have. Its pages leave the cache, and its file the disk, with the last
/// of them.
struct BufferedSegment {
    segment: Arc<Segment>,
    cache: Arc<PageCache>,
}

/// A segment of the newer run that has keys in the step.
struct ConsumedPart {
    part: RunSegment,
    /// Set if all of its keys have been merged now: it has left the tree.
    buffered: Option<Arc<BufferedSegment>>,
}

/// What a step of a merge has consumed of one of its newer inputs. It owns the segments that left the tree: those that no
/// buffer takes go with it.
pub(crate) struct Consumed {
    /// Keys ascending.
    parts: Vec<ConsumedPart>,
    /// The first key of the step; `None`: the merge begins.
    start: Option<SortKey>,
    /// The first key behind it.
    end: Option<SortKey>,
    /// The last position in all older inputs before the step.
    position_before: u64,
}

impl Consumed {
    /// `parts` of the newer run have `keys` of a step that was committed, so that those which end
    /// there are in no file list any more. `position_before` is the last one in all older inputs
    /// before the step.
    pub fn new(
        parts: Vec<RunSegment>,
        keys: Range<Option<SortKey>>,
        position_before: u64,
        cache: &Arc<PageCache>,
    ) -> Self {
        let is_whole = |part: &RunSegment| keys.end.as_ref().is_none_or(|end| part.key_max() < end);
        let parts = parts.into_iter().map(|part| ConsumedPart {
            buffered: is_whole(&part).then(|| {
                Arc::new(BufferedSegment {
                    segment: Arc::clone(&part.segment),
                    cache: Arc::clone(cache),
                })
            }),
            part,
        });
        Self {
            parts: parts.collect(),
            start: keys.start,
            end: keys.end,
            position_before,
        }
    }

    /// The segments that it owns.
    pub fn owned(&self) -> impl Iterator<Item = SegmentId> {
        let owned = self.parts.iter().filter(|part| part.buffered.is_some());
        owned.map(|part| part.part.info().id)
    }

    fn entry(&self, ConsumedPart { part, buffered }: &ConsumedPart, is_hole: bool) -> Entry {
        let start = self.start.as_ref();
        let content = match buffered {
            _ if is_hole => Content::Hole,
            None => Content::Part(Arc::clone(&part.segment)),
            Some(buffered) => Content::Whole(Arc::clone(buffered)),
        };
        Entry {
            first: start
                .map_or(part.key_min(), |start| start.max(part.key_min()))
                .clone(),
            end: self.end.clone().filter(|_| buffered.is_none()),
            last: part.key_max().clone(),
            content,
        }
    }
}

impl CompactionBuffer {
    /// The buffer after a step of a merge into its run, which has `run_bytes` now; what was consumed
    /// of each newer input, the newest first.
    pub fn after(&self, consumed: &[Consumed], run_bytes: u64) -> Self {
        let mut next = self.clone();
        if consumed.iter().all(|consumed| consumed.start.is_none()) {
            let begun = consumed.iter().map(|c| Table::new(c.position_before));
            next.tables.splice(..0, begun);
            next.newest_tables = consumed.len();
        }
        if next.newest_tables != consumed.len() {
            return next; // The merge began before the run had a buffer.
        }
        for (table, consumed) in next.tables.iter_mut().zip(consumed) {
            next.merged_bytes += table.take(consumed, self.is_frozen);
        }
        let growth = run_bytes as f64 / next.merged_bytes.max(1) as f64;
        next.is_frozen |= growth < GROWTH_SHARE_MIN;
        next
    }

    /// The segments to ask for a key before its run is asked, the newest first.
    pub fn segments_of(&self, key: &SortKey) -> impl Iterator<Item = &Arc<Segment>> {
        let entries = self.tables.iter().filter_map(|table| table.entry_of(key));
        let entries = entries.filter(|entry| {
            let is_hole = matches!(entry.content, Content::Hole);
            !(is_hole && museum::shows(Exhibit::BufferHoleSkipped))
        });
        entries.map_while(|entry| match &entry.content {
            Content::Part(segment) => Some(segment),
            Content::Whole(buffered) => Some(&buffered.segment),
            Content::Hole => None,
        })
    }

    /// The buffer without segments of which less than this share is cached; `None` where nothing
    /// changes.
    pub fn trimmed(&self, cached_share_min: f64, cache: &PageCache) -> Option<Self> {
        let mut next = self.clone();
        let mut has_changed = false;
        let older = next.tables.iter_mut().skip(self.newest_tables);
        for entry in older.flat_map(|table| &mut table.entries) {
            if let Content::Whole(buffered) = &entry.content
                && cached_share(&buffered.segment, cache) < cached_share_min
            {
                entry.content = Content::Hole;
                has_changed = true;
            }
        }
        // Behind the oldest table comes the run itself, as behind a hole.
        while next.tables.len() > self.newest_tables
            && next.tables.last().is_some_and(Table::is_empty)
        {
            next.tables.pop();
        }
        has_changed.then_some(next)
    }

    /// Bytes on disk that only the buffer has.
    pub fn bytes(&self) -> u64 {
        let entries = self.tables.iter().flat_map(|table| &table.entries);
        let bytes = entries.map(|entry| match &entry.content {
            Content::Whole(buffered) => buffered.segment.info().bytes,
            Content::Part(_) | Content::Hole => 0,
        });
        bytes.sum()
    }
}

impl Table {
    fn new(position_before: u64) -> Self {
        Self {
            entries: Vec::new(),
            position_before,
        }
    }

    /// Takes what a step has consumed; the bytes of segments of which all keys have been merged now.
    fn take(&mut self, consumed: &Consumed, is_frozen: bool) -> u64 {
        let mut merged_bytes = 0;
        for part in &consumed.parts {
            let info = part.part.info();
            let is_whole = part.buffered.is_some();
            merged_bytes += u64::from(is_whole) * info.bytes;
            let is_out_of_order = info.position_min.0 < self.position_before;
            let is_left_out = match is_whole {
                true => is_frozen && museum::shows(Exhibit::BufferFrozenWithoutHoles),
                false => museum::shows(Exhibit::BufferLacksParts),
            };
            if !is_left_out {
                self.add(consumed.entry(part, is_frozen || is_out_of_order));
            }
        }
        merged_bytes
    }

    /// Adds what follows all that was added before, but for a segment whose first part was.
    fn add(&mut self, entry: Entry) {
        let continues = |before: &Entry| before.last == entry.last;
        match self.entries.last_mut().filter(|before| continues(before)) {
            Some(before) => {
                let first = before.first.clone();
                let was_hole = matches!(before.content, Content::Hole);
                *before = Entry { first, ..entry };
                if was_hole {
                    before.content = Content::Hole;
                }
            }
            None => self.entries.push(entry),
        }
    }

    fn entry_of(&self, key: &SortKey) -> Option<&Entry> {
        let index = self.entries.partition_point(|entry| entry.last < *key);
        let entry = self.entries.get(index)?;
        let is_before_end = entry.end.as_ref().is_none_or(|end| key < end);
        (entry.first <= *key && is_before_end).then_some(entry)
    }

    fn is_empty(&self) -> bool {
        let is_hole = |entry: &Entry| matches!(entry.content, Content::Hole);
        self.entries.iter().all(is_hole)
    }
}

fn cached_share(segment: &Segment, cache: &PageCache) -> f64 {
    let pages = segment.pages().len();
    let cached = (0..pages).filter(|&page| segment.is_cached(page, cache));
    cached.count() as f64 / pages as f64
}

impl Drop for BufferedSegment {
    fn drop(&mut self) {
        self.segment.retire(&self.cache);
    }
}
