//! The newest version of one key that counts, in one run.
//!
//! A disk run is asked from the outside in, and each step may end the search: the segment by its
//! key bounds and positions, the page by its fences, the filter, the slots by `Page::find`, then
//! the positions of the key's versions, newest first. Versions of a key may go on in the next
//! page of the segment, never in another segment.

use std::sync::Arc;

use page::{Page, PageError};
use types::key::SortKey;
use types::{Value, VersionKind};

use super::key::LookupKey;
use crate::error::StoreError;
use crate::layout::Layout;
use crate::memory_run::MemoryRun;
use crate::museum::{self, Exhibit};
use crate::page_cache::PageCache;
use crate::run::DiskRun;
use crate::segment::{PageEntry, Segment};
use crate::stats::LookupCounts;

/// The positions whose versions count, both ends included. Empty when they cross.
#[derive(Clone, Copy, Debug)]
pub(super) struct Positions {
    /// Older versions are truncated, or older than one that was found.
    pub from: u64,
    /// The snapshot's.
    pub to: u64,
}

impl Positions {
    /// Those that a snapshot at `position` sees of a tree with these truncations.
    pub fn seen_at(position: u64, truncations: &[u64]) -> Self {
        let seen = truncations
            .iter()
            .filter(|&&truncation| truncation <= position)
            .filter(|_| !museum::shows(Exhibit::LookupIgnoresTruncations));
        Self {
            from: seen.max().copied().unwrap_or(0),
            to: position,
        }
    }

    /// Those above the position of a version that was found.
    fn above(self, found: u64) -> Self {
        match found.checked_add(1) {
            Some(from) => Self { from, ..self },
            None => Self { from: 1, to: 0 },
        }
    }

    /// Whether some may lie within these bounds.
    fn meet(self, min: u64, max: u64) -> bool {
        self.from.max(min) <= self.to.min(max)
    }
}

/// A version that was found, as its row in a block or page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub row: usize,
    pub kind: VersionKind,
    position: u64,
}

impl Found {
    /// The positions of which a version would still be newer than this one.
    pub fn narrow(&self, positions: Positions) -> Positions {
        positions.above(self.position)
    }
}

/// The newest version in a memory run that counts.
pub(super) fn in_memory(run: &MemoryRun, key: &SortKey, positions: Positions) -> Option<Found> {
    let block = run.block();
    let summary = block.summary();
    if !positions.meet(summary.position_min, summary.position_max) {
        return None;
    }
    let versions = block.versions();
    let first = versions.keys.lower_bound(0..block.rows(), key);
    for row in first..block.rows() {
        let position = versions.positions.at(row);
        if versions.keys.compare_key(row, key).is_ne() || position < positions.from {
            return None;
        }
        if position <= positions.to {
            let kind = versions.kinds.at(row);
            return Some(Found {
                row,
                kind,
                position,
            });
        }
    }
    None
}

/// Which page of which segment.
#[derive(Clone)]
pub(super) struct Place<'a> {
    pub segment: &'a Arc<Segment>,
    pub index: usize,
}

impl Place<'_> {
    /// Whether it is page `index` of `segment`.
    pub fn is(&self, segment: &Arc<Segment>, index: usize) -> bool {
        self.index == index && Arc::ptr_eq(self.segment, segment)
    }
}

/// A page of a disk run.
#[derive(Clone)]
pub(super) struct RunPage<'a> {
    pub place: Place<'a>,
    pub page: Arc<Page>,
}

/// What a page says of a key.
enum InPage {
    /// The newest version that counts.
    Found(Found),
    /// It has no version of the key.
    Absent,
    /// Its versions of the key do not count, nor does any older one.
    TooOld,
    /// Its versions of the key are newer than those that count; older ones may be in the next
    /// page.
    TooNew,
}

/// Looks keys up in disk runs. Keeps the last page, so that ascending keys load each page once.
pub(super) struct DiskSearch<'a> {
    layout: &'a Layout,
    cache: &'a PageCache,
    last: Option<RunPage<'a>>,
    counts: LookupCounts,
}

impl<'a> DiskSearch<'a> {
    /// A search in runs of a tree with this layout.
    pub fn new(layout: &'a Layout, cache: &'a PageCache) -> Self {
        Self {
            layout,
            cache,
            last: None,
            counts: LookupCounts::default(),
        }
    }

    /// What the search took so far.
    pub fn counts(&self) -> LookupCounts {
        self.counts
    }

    /// Where the key's first version is in `run`, if it may have versions there that count.
    pub fn place(
        &mut self,
        run: &'a DiskRun,
        key: &LookupKey<'_>,
        positions: Positions,
    ) -> Result<Option<Place<'a>>, StoreError> {
        let Some(segment) = segment_of(run, &key.sort_key) else {
            return Ok(None);
        };
        let info = segment.info();
        if !positions.meet(info.position_min.0, info.position_max.0) {
            return Ok(None);
        }
        let index = segment.pages_in(Some(&key.sort_key), None).start;
        let is_fenced = |page: &PageEntry| page.first_key <= key.sort_key;
        if !segment.pages().get(index).is_some_and(is_fenced) {
            return Ok(None);
        }
        if !segment.may_hold(index, key.hash)? {
            self.counts.filter_negatives += 1;
            return Ok(None);
        }
        Ok(Some(Place { segment, index }))
    }

    /// Has those pages read meanwhile that are not in the cache, where there are several: all
    /// of `places` (of ascending keys) are about to be asked for.
    pub fn will_ask(&self, places: &[Option<Place<'a>>]) {
        let mut pages: Vec<&Place<'_>> = places.iter().flatten().collect();
        pages.dedup_by(|next, page| page.is(next.segment, next.index));
        pages.retain(|page| !page.segment.is_cached(page.index, self.cache));
        // The first one is read at once.
        for page in pages.iter().skip(1) {
            page.segment.will_load_page(page.index);
        }
    }

    /// The newest version in `run` that counts, and its page.
    pub fn newest(
        &mut self,
        run: &'a DiskRun,
        key: &LookupKey<'_>,
        positions: Positions,
    ) -> Result<Option<(RunPage<'a>, Found)>, StoreError> {
        let Some(place) = self.place(run, key, positions)? else {
            return Ok(None);
        };
        match self.newest_in_buffer(run, key, positions) {
            Some(found) => Ok(Some(found)),
            None => self.newest_from(&place, key, positions),
        }
    }

    /// The same from the run's compaction buffer, if there is one and it knows. A page that is
    /// damaged there is the run's to answer for.
    fn newest_in_buffer(
        &mut self,
        run: &'a DiskRun,
        key: &LookupKey<'_>,
        positions: Positions,
    ) -> Option<(RunPage<'a>, Found)> {
        let buffer = run.buffer.as_ref()?;
        for segment in buffer.segments_of(&key.sort_key) {
            let index = segment.pages_in(Some(&key.sort_key), None).start;
            if segment.may_hold(index, key.hash).ok()? {
                let place = Place { segment, index };
                let found = self.newest_from(&place, key, positions).ok()?;
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    /// The newest version that counts among those that begin at `place`, and its page.
    pub fn newest_from(
        &mut self,
        place: &Place<'a>,
        key: &LookupKey<'_>,
        positions: Positions,
    ) -> Result<Option<(RunPage<'a>, Found)>, StoreError> {
        let (segment, first) = (place.segment, place.index);
        let is_fenced = |page: &PageEntry| page.first_key <= key.sort_key;
        for (index, entry) in segment.pages().iter().enumerate().skip(first) {
            if !is_fenced(entry) || entry.position_max.0 < positions.from {
                break;
            }
            if entry.position_min.0 > positions.to {
                continue;
            }
            let page = self.load(segment, index)?;
            let in_page = self.newest_in_page(&page.page, entry, key, positions);
            match in_page.map_err(|error| segment.page_error(index, &error))? {
                InPage::Found(found) => return Ok(Some((page, found))),
                InPage::Absent => {
                    self.counts.filter_errors += u64::from(index == first);
                    break;
                }
                InPage::TooOld => break,
                InPage::TooNew => {}
            }
        }
        Ok(None)
    }

    fn load(&mut self, segment: &'a Arc<Segment>, index: usize) -> Result<RunPage<'a>, StoreError> {
        let is_last = |last: &&RunPage<'_>| last.place.is(segment, index);
        if let Some(last) = self.last.as_ref().filter(is_last) {
            return Ok(last.clone());
        }
        self.counts.pages += 1;
        let page = RunPage {
            place: Place { segment, index },
            page: segment.load_page(index, self.cache)?,
        };
        self.last = Some(page.clone());
        Ok(page)
    }

    fn newest_in_page(
        &self,
        page: &Page,
        entry: &PageEntry,
        key: &LookupKey<'_>,
        positions: Positions,
    ) -> Result<InPage, PageError> {
        let columns = self.layout.schema.key.iter().copied();
        let slots = page.find(columns.zip(key.values.iter().copied()))?;
        if slots.is_empty() {
            return Ok(InPage::Absent);
        }
        for row in slots {
            let position = self.position(page, entry, row)?;
            if position < positions.from {
                return Ok(InPage::TooOld);
            }
            if position <= positions.to {
                let kind = match entry.all_puts {
                    true => VersionKind::Put,
                    false => self.kind(page, row)?,
                };
                return Ok(InPage::Found(Found {
                    row,
                    kind,
                    position,
                }));
            }
        }
        Ok(InPage::TooNew)
    }

    fn position(&self, page: &Page, entry: &PageEntry, slot: usize) -> Result<u64, PageError> {
        // Most pages: merges forget positions that nobody needs. An opened column takes memory.
        if entry.position_min == entry.position_max {
            return Ok(entry.position_min.0);
        }
        let column = page.column(self.layout.position_column())?;
        match column.value(slot, &mut Vec::new())? {
            Value::UInt(position) => Ok(position),
            _ => Err(PageError::Malformed("a position is missing")),
        }
    }

    fn kind(&self, page: &Page, slot: usize) -> Result<VersionKind, PageError> {
        let column = page.column(self.layout.kind_column())?;
        let kind = match column.value(slot, &mut Vec::new())? {
            Value::Int(kind) => u8::try_from(kind).ok().and_then(VersionKind::from_u8),
            _ => None,
        };
        kind.ok_or(PageError::Malformed("a version kind is missing or unknown"))
    }
}

/// The segment of a run that may hold the key, where the key counts. All look-ups come to
/// segments through here.
fn segment_of<'a>(run: &'a DiskRun, key: &SortKey) -> Option<&'a Arc<Segment>> {
    let index = run.segments.partition_point(|part| part.key_max() < key);
    let part = run.segments.get(index)?;
    let counts = part.key_min() <= key || museum::shows(Exhibit::LookupIgnoresBounds);
    counts.then_some(&part.segment)
}
