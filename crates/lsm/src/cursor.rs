//! Walks one run, block by block, within a range of keys.
//!
//! A cursor tells the keys that lie ahead from the page index alone, so that whoever drives it
//! can leave a page alone until its turn comes, or pass it on without looking at its rows. With a
//! [`ZoneFilter`] it also tells which pages have no wanted row.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use page::Page;
use types::key::SortKey;

use crate::block::{Block, Summary, WantedRows};
use crate::error::StoreError;
use crate::key_range::KeyRange;
use crate::layout::Layout;
use crate::page_cache::PageCache;
use crate::run::RunSegment;
use crate::scan_counts::ScanMeter;
use crate::segment::{PageEntry, Segment};
use crate::zone_filter::ZoneFilter;

/// Bytes that a merge reads with one access: large enough that a disk streams, and one request to Linux, which
/// makes two of more.
const MERGE_READ_BYTES: usize = 512 << 10;

/// Bytes that a scan reads with one access, at most: a virtual disk gave 1,000 MB/s in pieces of 256
/// KiB, and 1,480 in pieces of 1 MiB. Not more, because there may be many scans at a time, each over
/// all runs, and what they have read ahead is in nobody's budget.
const SCAN_READ_BYTES: usize = 1 << 20;

/// A scan that has come so far that it reads as much with one access has the next one begin before it is
/// asked for. Shorter ones may be at their end.
const READ_AHEAD_BYTES_MIN: usize = 256 << 10;

/// Rows of a block that are in a cursor's range.
#[derive(Clone)]
pub(crate) struct Window {
    /// The block.
    pub block: Arc<Block>,
    /// The first row that is still to come.
    pub at: usize,
    /// The row after the last.
    pub end: usize,
}

/// The next block, as the page index describes it.
pub(crate) struct Ahead<'a> {
    /// Its first key.
    pub first_key: &'a SortKey,
    /// Its last key.
    pub last_key: &'a SortKey,
    /// What else is known of it.
    pub summary: Summary,
    /// Whether all its rows are in the cursor's range.
    pub in_range: bool,
    /// Whether no row in it is wanted, as its zone's bounds tell.
    pub is_ruled_out: bool,
}

/// Where a cursor gets pages from.
#[derive(Clone)]
pub(crate) enum PageSource {
    /// The cache; missing pages are read and kept, at first one, then ever more at a time. For
    /// scans, which may end early, and which are told what was taken.
    Cache(Arc<PageCache>, Arc<ScanMeter>),
    /// The file, many pages at a time, past the cache, and the next ones while those are used. For
    /// merges, which read all.
    File,
}

impl PageSource {
    /// Whether a page need not be read.
    fn holds(&self, segment: &Segment, page: usize) -> bool {
        match self {
            Self::Cache(cache, _) => segment.is_cached(page, cache),
            Self::File => false,
        }
    }
}

/// Walks segments with disjoint, ascending keys.
pub(crate) struct Cursor {
    layout: Arc<Layout>,
    range: KeyRange,
    source: PageSource,
    /// Bytes that the next access may read, unless one page has more.
    read_bytes_max: usize,
    zone_filter: Option<Arc<dyn ZoneFilter>>,
    has_patches: bool,
    position_min: u64,
    /// Segments after the current one and the one that comes next, last first.
    later: Vec<RunSegment>,
    current: Option<Current>,
    /// What comes after it, if it has been looked at to read ahead.
    upcoming: Option<Current>,
}

/// What came of an access.
struct Read {
    /// Bytes of the pages that were asked for.
    bytes: usize,
    /// Whether those that came were in the cache.
    from_cache: bool,
}

struct Current {
    segment: Arc<Segment>,
    /// The cursor's range within the keys of the segment that count.
    range: KeyRange,
    pages: Range<usize>,
    /// For each zone whether it may have a wanted row; empty where all may.
    wanted_zones: Vec<bool>,
    read_ahead: VecDeque<Arc<Page>>,
}

impl Cursor {
    /// A cursor over those rows of `segments` (keys ascending) that are in `range`.
    pub fn new(
        layout: &Arc<Layout>,
        segments: &[RunSegment],
        range: KeyRange,
        source: PageSource,
        zone_filter: Option<Arc<dyn ZoneFilter>>,
    ) -> Self {
        let in_range = |segment: &&RunSegment| {
            !range.is_after(segment.key_max()) && !range.is_before(segment.key_min())
        };
        let later: Vec<RunSegment> = segments.iter().filter(in_range).rev().cloned().collect();
        let has_patches = |part: &RunSegment| part.segment.info().patches > 0;
        let position_min = |part: &RunSegment| part.segment.info().position_min.0;
        let mut cursor = Self {
            layout: Arc::clone(layout),
            range,
            read_bytes_max: match source {
                PageSource::Cache(..) => 0,
                PageSource::File => MERGE_READ_BYTES,
            },
            source,
            zone_filter,
            has_patches: later.iter().any(has_patches),
            position_min: later.iter().map(position_min).min().unwrap_or(u64::MAX),
            later,
            current: None,
            upcoming: None,
        };
        cursor.enter_segment();
        if let PageSource::File = cursor.source {
            // The inputs of a merge are asked for one after the other: so they come at once.
            cursor.announce_next();
        }
        cursor
    }

    /// Moves on until a page lies ahead or no segment is left.
    fn enter_segment(&mut self) {
        while self
            .current
            .as_ref()
            .is_none_or(|current| current.pages.is_empty())
        {
            self.current = self.upcoming.take().or_else(|| self.next_segment());
            if self.current.is_none() {
                return;
            }
        }
    }

    /// The next segment, of which there may be no pages in range.
    fn next_segment(&mut self) -> Option<Current> {
        let RunSegment { segment, bound } = self.later.pop()?;
        let range = self.range.from(bound.as_ref());
        let pages = segment.pages_in(range.start.as_ref(), range.end.as_ref());
        let filter = self.zone_filter.as_ref();
        let wanted_zones = filter.map(|filter| filter.may_have_wanted(segment.zones()));
        Some(Current {
            segment,
            range,
            pages,
            wanted_zones: wanted_zones.unwrap_or_default(),
            read_ahead: VecDeque::new(),
        })
    }

    /// Whether what comes next will be wanted from the disk, too. A scan reads more with the next access.
    fn goes_on_reading(&mut self, read: &Read) -> bool {
        match self.source {
            PageSource::Cache(..) => {
                self.read_bytes_max = SCAN_READ_BYTES.min(2 * read.bytes);
                !read.from_cache && self.read_bytes_max >= READ_AHEAD_BYTES_MIN
            }
            PageSource::File => true,
        }
    }

    /// Has the pages that come after those that have just been read, in this segment or the next, be
    /// on their way from the disk while those are looked at.
    fn announce_next(&mut self) {
        let current = self.current.as_ref();
        let is_all_read = current.is_none_or(|current| current.unread().is_empty());
        if is_all_read && self.upcoming.is_none() {
            self.upcoming = self.next_segment();
        }
        let next = match is_all_read {
            true => self.upcoming.as_ref(),
            false => self.current.as_ref(),
        };
        if let Some(next) = next
            && let mut pages = next.unread()
            && let Some(first) = pages.find(|&page| !next.is_ruled_out(page))
            && !self.source.holds(&next.segment, first)
        {
            let (pages, _) = next.pages_to_read(first..pages.end, self.read_bytes_max);
            next.segment.will_load_pages(pages);
        }
    }

    /// The next block, if there is one.
    pub fn ahead(&self) -> Option<Ahead<'_>> {
        let current = self.current.as_ref()?;
        let entry = &current.segment.pages()[current.pages.start];
        Some(Ahead {
            first_key: &entry.first_key,
            last_key: &entry.last_key,
            summary: summary(entry),
            in_range: current.range.contains(&entry.first_key, &entry.last_key),
            is_ruled_out: current.is_ruled_out(current.pages.start),
        })
    }

    /// Whether there may be patches among its rows.
    pub fn has_patches(&self) -> bool {
        self.has_patches
    }

    /// None of its rows has a smaller position.
    pub fn position_min(&self) -> u64 {
        self.position_min
    }

    /// Leaves the next page out.
    ///
    /// # Panics
    /// When there is no next block.
    pub fn skip_page(&mut self) {
        let current = self.current.as_mut().expect("a block lies ahead");
        current.read_ahead.pop_front();
        current.pages.start += 1;
        if let PageSource::Cache(_, meter) = &self.source {
            meter.add_ruled_out();
        }
        self.enter_segment();
    }

    /// Takes the next block without looking at its rows.
    ///
    /// # Panics
    /// When there is no next block.
    pub fn next_block(&mut self) -> Result<Arc<Block>, StoreError> {
        let current = self.current.as_mut().expect("a block lies ahead");
        if current.read_ahead.is_empty() {
            let read = current.read(&self.source, self.read_bytes_max)?;
            if self.goes_on_reading(&read) {
                self.announce_next();
            }
        }
        let current = self.current.as_mut().expect("a block lies ahead");
        let page = current.read_ahead.pop_front();
        let page = page.expect("at least one was read");
        let index = current.pages.start;
        let wanted = match &self.source {
            PageSource::Cache(_, meter) => {
                meter.add_versions(page.rows());
                // Who scans asks soon for some of its columns.
                page.prefetch_directory();
                WantedRows::Some
            }
            PageSource::File => WantedRows::All,
        };
        let block = Block::from_page(page, &current.segment, index, &self.layout, wanted);
        current.pages.start += 1;
        self.enter_segment();
        Ok(Arc::new(block))
    }

    /// Takes the next block with its versions decoded; `None` when it turns out that none of its
    /// rows is in range.
    ///
    /// # Panics
    /// When there is no next block.
    pub fn next_window(&mut self) -> Result<Option<Window>, StoreError> {
        let in_range = self.ahead().expect("a block lies ahead").in_range;
        let current = self.current.as_ref();
        let cut = current.filter(|_| !in_range).map(|c| c.range.clone());
        let block = self.next_block()?;
        block.decode_versions(&self.layout)?;
        Ok(match cut {
            None => Some(Window {
                at: 0,
                end: block.rows(),
                block,
            }),
            Some(range) => Window::new(block, &range),
        })
    }
}

impl Current {
    fn is_ruled_out(&self, page: usize) -> bool {
        let zone = self.segment.zones().of_page(page);
        self.wanted_zones.get(zone).is_some_and(|wanted| !wanted)
    }

    /// The pages behind those that have been read.
    fn unread(&self) -> Range<usize> {
        self.pages.start + self.read_ahead.len()..self.pages.end
    }

    /// The first ones of some pages to be read with one access, at least one, and their bytes.
    fn pages_to_read(
        &self,
        Range { start, end }: Range<usize>,
        bytes_max: usize,
    ) -> (Range<usize>, usize) {
        let extent = |index: usize| self.segment.pages()[index].extent();
        let mut bytes = extent(start);
        let mut next = start + 1;
        while next < end && bytes + extent(next) <= bytes_max && !self.is_ruled_out(next) {
            bytes += extent(next);
            next += 1;
        }
        (start..next, bytes)
    }

    /// Gets the next page, and others with it up to so many bytes.
    fn read(&mut self, source: &PageSource, bytes_max: usize) -> Result<Read, StoreError> {
        let (pages, bytes) = self.pages_to_read(self.pages.clone(), bytes_max);
        let mut from_cache = false;
        self.read_ahead = match source {
            PageSource::Cache(cache, meter) => {
                let loaded = self.segment.load_pages(pages, cache)?;
                meter.add_pages(loaded.pages.len(), loaded.from_cache);
                from_cache = loaded.from_cache;
                loaded.pages
            }
            PageSource::File => self.segment.read_pages(pages)?.into(),
        };
        Ok(Read { bytes, from_cache })
    }
}

impl Window {
    /// The rows of `block`, whose versions are decoded, that are in `range`; `None` if there are
    /// none.
    pub fn new(block: Arc<Block>, range: &KeyRange) -> Option<Self> {
        let keys = &block.versions().keys;
        let rows = block.rows();
        let at = range
            .start
            .as_ref()
            .map_or(0, |start| keys.lower_bound(0..rows, start));
        let end = range
            .end
            .as_ref()
            .map_or(rows, |end| keys.lower_bound(at..rows, end));
        (at < end).then_some(Self { block, at, end })
    }
}

fn summary(entry: &PageEntry) -> Summary {
    Summary {
        position_min: entry.position_min.0,
        position_max: entry.position_max.0,
        all_puts: entry.all_puts,
        unique_keys: entry.unique_keys,
    }
}
