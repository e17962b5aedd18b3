//! Reads a segment: page index resident, filter and pages on demand.
//!
//! Opening reads footer and page index and checks them against what the manifest says. The first
//! look-up of a key reads the filter, or builds it where the file has none; it stays if [`FilterMemory`] has room for it: whoever only
//! writes and scans pays nothing for filters.
//! A page is checked when it is read, before it is cached or returned: its extent against the
//! index (which finds an intact page from elsewhere), the page against itself.
//!
//! Invariants: no byte that failed a check leaves this module; every error names the file, the
//! offset and the table; a file disappears only after its last reader.
//!
//! Does not: decode cells, or know what a snapshot sees.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use arrow_array::{Array, ArrayRef};
use arrow_buffer::{Buffer, MutableBuffer};
use env::{Disk, Env, ReadableFile};
use page::{Page, PageError, PageIdentity};
use types::key::SortKey;
use types::{ColumnType, CommitPosition, SortKeys, TableSchema};

use super::filter::{Filter, FilterBuilder};
use super::filter_memory::{FilterMemory, FilterRoom};
use super::format::{self, FOOTER_BYTES, Footer, FooterError, aligned};
use super::zones::Zones;
use super::{FinishedSegment, KeyHash, SYSTEM_COLUMNS, SegmentInfo, page_column_types, page_index};
use crate::byte_fields::{FieldReader, Malformed};
use crate::disk_error::{checksum_mismatch, damaged, io_failed, read_failed};
use crate::error::StoreError;
use crate::museum::{self, Exhibit};
use crate::page_cache::{PageCache, PageKey};

/// Pages that one access reads to build a filter.
const PAGES_PER_READ: usize = 16;

/// What the resident page index knows of one page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageEntry {
    /// Where the page starts in the file.
    pub offset: u64,
    /// Length of the page without padding, bytes.
    pub length: u32,
    /// Versions in the page.
    pub rows: u32,
    /// Checksum of the page and its padding.
    pub checksum: u32,
    /// The first version's key.
    pub first_key: SortKey,
    /// The last version's key.
    pub last_key: SortKey,
    /// The smallest position of a version.
    pub position_min: CommitPosition,
    /// The largest position of a version.
    pub position_max: CommitPosition,
    /// Every version is a put.
    pub all_puts: bool,
    /// Each key in the page has one version in this segment: no other in the page, none in a
    /// neighbour.
    pub unique_keys: bool,
}

impl PageEntry {
    /// Bytes from the page's start to the next one's.
    pub(crate) fn extent(&self) -> usize {
        aligned(self.length as usize)
    }
}

/// An open segment, shared by its readers.
pub struct Segment {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    file: Arc<dyn ReadableFile>,
    info: SegmentInfo,
    types: Arc<[ColumnType]>,
    /// The key columns, in key order.
    key: Vec<usize>,
    pages: Vec<PageEntry>,
    zones: Zones,
    filter_place: FilterPlace,
    filter: OnceLock<LoadedFilter>,
    filter_memory: Arc<FilterMemory>,
    retired: AtomicBool,
    /// Pages were asked for through the cache.
    was_read: AtomicBool,
    /// The first damage that was met.
    damage: OnceLock<StoreError>,
}

/// Where the filter is in the file.
#[derive(Default)]
struct FilterPlace {
    offset: u64,
    bytes: u64,
    checksum: u32,
}

/// Pages for whoever scans.
#[derive(Debug)]
pub struct LoadedPages {
    /// The pages, at least one.
    pub pages: VecDeque<Arc<Page>>,
    /// Whether they were in the cache. Otherwise all came from disk.
    pub from_cache: bool,
}

struct LoadedFilter {
    filter: Filter,
    _room: FilterRoom,
}

/// The last bytes of a segment's file, as its writer has them.
#[derive(Debug)]
pub struct FileEnd {
    /// Where they begin: with the page index.
    pub offset: u64,
    /// The bytes.
    pub bytes: Buffer,
}

impl FileEnd {
    /// The bytes at a place of the file, if they are among these.
    fn get(&self, offset: u64, length: usize) -> Option<Buffer> {
        let at = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        let is_there = at.checked_add(length)? <= self.bytes.len();
        is_there.then(|| self.bytes.slice_with_length(at, length))
    }
}

impl Segment {
    /// Opens the segment that `info` describes, of a table with this schema.
    pub fn open(
        env: &Env,
        directory: &Path,
        info: &SegmentInfo,
        schema: &TableSchema,
        filter_memory: &Arc<FilterMemory>,
    ) -> Result<Self, StoreError> {
        Self::open_with(env, directory, info, None, schema, filter_memory)
    }

    /// The same for one that was written a moment ago: nothing is read again.
    pub fn open_finished(
        env: &Env,
        directory: &Path,
        finished: &FinishedSegment,
        schema: &TableSchema,
        filter_memory: &Arc<FilterMemory>,
    ) -> Result<Self, StoreError> {
        let (info, end) = (&finished.info, Some(&finished.end));
        Self::open_with(env, directory, info, end, schema, filter_memory)
    }

    fn open_with(
        env: &Env,
        directory: &Path,
        info: &SegmentInfo,
        end: Option<&FileEnd>,
        schema: &TableSchema,
        filter_memory: &Arc<FilterMemory>,
    ) -> Result<Self, StoreError> {
        let path = info.id.path(directory);
        let table = Some(info.table);
        let file = env
            .disk
            .open(&path)
            .map_err(|error| read_failed(&path, 0, table, &error))?;
        let mut segment = Self {
            disk: Arc::clone(&env.disk),
            path,
            file,
            info: info.clone(),
            types: page_column_types(schema),
            key: schema.key.clone(),
            pages: Vec::new(),
            zones: Zones::unknown(0),
            filter_place: FilterPlace::default(),
            filter: OnceLock::new(),
            filter_memory: Arc::clone(filter_memory),
            retired: AtomicBool::new(false),
            was_read: AtomicBool::new(false),
            damage: OnceLock::new(),
        };
        let footer = segment.read_footer(end)?;
        (segment.pages, segment.zones) = segment.read_index(&footer, end)?;
        segment.check_fences(schema, &footer)?;
        segment.filter_place = FilterPlace {
            offset: footer.filter_offset,
            bytes: footer.filter_bytes,
            checksum: footer.filter_checksum,
        };
        Ok(segment)
    }

    /// What the manifest says of the segment.
    pub fn info(&self) -> &SegmentInfo {
        &self.info
    }

    /// The page index: one entry a page, in file order, which is key order.
    pub fn pages(&self) -> &[PageEntry] {
        &self.pages
    }

    /// What is known of the cells of neighbouring pages.
    pub fn zones(&self) -> &Zones {
        &self.zones
    }

    /// The pages that may hold keys in `start..end` (`None` = unbounded).
    pub fn pages_in(&self, start: Option<&SortKey>, end: Option<&SortKey>) -> Range<usize> {
        let first = start.map_or(0, |start| {
            self.pages.partition_point(|page| page.last_key < *start)
        });
        let last = end.map_or(self.pages.len(), |end| {
            self.pages.partition_point(|page| page.first_key < *end)
        });
        first..last.max(first)
    }

    /// The pages that may hold keys from `first` to `last`, both included.
    pub fn pages_through(&self, first: &SortKey, last: &SortKey) -> Range<usize> {
        let start = self.pages.partition_point(|page| page.last_key < *first);
        let behind = &self.pages[start..];
        start..start + behind.partition_point(|page| page.first_key <= *last)
    }

    /// Whether a key may be in the segment, if its first version is in `page` (where
    /// [`Self::pages_in`] finds it). True where there is no room for the filter.
    ///
    /// # Panics
    /// When the segment has no such page.
    #[inline]
    pub fn may_hold(&self, page: usize, key: KeyHash) -> Result<bool, StoreError> {
        match self.filter.get() {
            Some(loaded) => Ok(loaded.filter.may_hold(page, key)),
            None => self.load_filter_and_ask(page, key),
        }
    }

    /// Two look-ups may load the filter at once; one of them stays.
    #[cold]
    fn load_filter_and_ask(&self, page: usize, key: KeyHash) -> Result<bool, StoreError> {
        let in_file = self.filter_place.bytes;
        let bytes = match in_file {
            0 => Filter::bytes_of(self.info.versions),
            bytes => bytes,
        };
        let Some(room) = self.filter_memory.take(bytes) else {
            return Ok(true);
        };
        let filter = match in_file {
            0 => self.build_filter()?,
            _ => self.read_filter()?,
        };
        let loaded = LoadedFilter {
            filter,
            _room: room,
        };
        let loaded = self.filter.get_or_init(|| loaded);
        Ok(loaded.filter.may_hold(page, key))
    }

    /// Whether look-ups ask the filter, and it is in memory.
    pub fn has_loaded_filter(&self) -> bool {
        self.filter.get().is_some()
    }

    /// Keeps the filter that was written to the file a moment ago, so that the first look-up need
    /// not read it, if there is room.
    pub fn keep_filter(&self, written: Vec<u8>) {
        let Some(room) = self.filter_memory.take(written.len() as u64) else {
            return;
        };
        let filter = Filter::decode(&written.into(), self.info.pages);
        let filter = filter.expect("built just now");
        self.filter.get_or_init(|| LoadedFilter {
            filter,
            _room: room,
        });
    }

    /// Bytes of the filter in the file; zero where it has none.
    pub fn filter_bytes(&self) -> u64 {
        self.filter_place.bytes
    }

    /// A page, from the cache or the file. Checked before it is cached or returned.
    ///
    /// # Panics
    /// When the segment has no page `index`.
    pub fn load_page(&self, index: usize, cache: &PageCache) -> Result<Arc<Page>, StoreError> {
        if self.retired.load(Ordering::Acquire) {
            return self.read_page(index).map(Arc::new);
        }
        self.cached_page(index, cache, || self.read_page(index))
    }

    /// Whether a page was ever asked for through the cache.
    pub fn was_read(&self) -> bool {
        self.was_read.load(Ordering::Relaxed)
    }

    /// Has a page that is not in the cache read from the file meanwhile: it will be loaded soon.
    ///
    /// # Panics
    /// When the segment has no page `index`.
    pub fn will_load_page(&self, index: usize) {
        let entry = &self.pages[index];
        self.file.will_read(entry.offset, entry.extent());
    }

    /// The same for consecutive pages that will be loaded with one access.
    ///
    /// # Panics
    /// When the segment has not so many pages.
    pub fn will_load_pages(&self, indices: Range<usize>) {
        let pages = &self.pages[indices];
        if let Some(first) = pages.first() {
            let bytes = pages.iter().map(PageEntry::extent).sum();
            self.file.will_read(first.offset, bytes);
        }
    }

    /// Whether a page is in the cache.
    pub fn is_cached(&self, index: usize, cache: &PageCache) -> bool {
        cache.holds(self.page_key(index))
    }

    /// A page like [`Self::load_page`], and those after it among `indices` of which the same is true:
    /// if it is in the cache, those that are, else those that are not, read with one access, and
    /// cached. Whoever scans wants them next.
    ///
    /// # Panics
    /// When `indices` is empty, or the segment has not so many pages.
    pub fn load_pages(
        &self,
        indices: Range<usize>,
        cache: &PageCache,
    ) -> Result<LoadedPages, StoreError> {
        let first = indices.start;
        let cached = indices.clone().map_while(|index| self.cached(index, cache));
        let cached: VecDeque<Arc<Page>> = cached.collect();
        if !cached.is_empty() {
            return Ok(LoadedPages {
                pages: cached,
                from_cache: true,
            });
        }
        let is_missing = |&index: &usize| !self.is_cached(index, cache);
        let missing = first..first + indices.take_while(is_missing).count();
        // Nothing is kept of a retired segment, so nothing is read before it is needed.
        let extents = match missing.len() > 1 && !self.retired.load(Ordering::Acquire) {
            true => self.read_extents(missing.clone()).unwrap_or_default(),
            false => Vec::new(),
        };
        // A damaged page is an error when its turn comes, not before: then it is read alone.
        let checked = missing.zip(extents).map_while(|(index, extent)| {
            // Of its own: a page must not keep its neighbours in memory.
            let extent = Buffer::from_slice_ref(extent.as_slice());
            Some((index, self.check_page(index, extent).ok()?))
        });
        let loaded = checked.map(|(index, page)| self.cached_page(index, cache, || Ok(page)));
        let pages: VecDeque<Arc<Page>> = loaded.collect::<Result<_, _>>()?;
        let pages = match pages.is_empty() {
            true => [self.load_page(first, cache)?].into(),
            false => pages,
        };
        Ok(LoadedPages {
            pages,
            from_cache: false,
        })
    }

    /// A page, if it is in the cache.
    fn cached(&self, index: usize, cache: &PageCache) -> Option<Arc<Page>> {
        self.note_read();
        cache.get(self.page_key(index))
    }

    fn note_read(&self) {
        if !self.was_read() {
            self.was_read.store(true, Ordering::Relaxed);
        }
    }

    fn page_key(&self, index: usize) -> PageKey {
        PageKey {
            segment: self.info.id,
            page: u32::try_from(index).expect("a segment has less than 2^32 pages"),
        }
    }

    /// A page from the cache, else from `load`, which is then kept unless the segment retires.
    fn cached_page(
        &self,
        index: usize,
        cache: &PageCache,
        load: impl FnOnce() -> Result<Page, StoreError>,
    ) -> Result<Arc<Page>, StoreError> {
        self.note_read();
        let key = self.page_key(index);
        let page = cache.get_or_load(key, load)?;
        if self.retired.load(Ordering::Acquire) {
            // It was retired meanwhile, perhaps before the page entered the cache.
            cache.remove_dead(key);
        }
        Ok(page)
    }

    /// Reads consecutive pages with one access, past the cache: for merges.
    pub fn read_pages(&self, indices: Range<usize>) -> Result<Vec<Arc<Page>>, StoreError> {
        let extents = self.read_extents(indices.clone())?;
        let check = |(index, extent)| self.check_page(index, extent).map(Arc::new);
        indices.zip(extents).map(check).collect()
    }

    /// Consecutive pages with their padding, unchecked, as slices of one buffer.
    fn read_extents(&self, indices: Range<usize>) -> Result<Vec<Buffer>, StoreError> {
        let pages = &self.pages[indices];
        let Some(first) = pages.first() else {
            return Ok(Vec::new());
        };
        let bytes = self.read(first.offset, pages.iter().map(PageEntry::extent).sum())?;
        let extent = |entry: &PageEntry| {
            let at = (entry.offset - first.offset) as usize;
            bytes.slice_with_length(at, entry.extent())
        };
        Ok(pages.iter().map(extent).collect())
    }

    /// The manifest no longer names the segment: its pages leave the cache now, its file when
    /// the last reader drops the segment.
    pub fn retire(&self, cache: &PageCache) {
        self.retired.store(true, Ordering::Release);
        cache.remove_segment(self.info.id, self.info.pages);
    }

    /// Puts an error that a page gave while it was decoded in the words of the store.
    pub fn page_error(&self, index: usize, error: &PageError) -> StoreError {
        if let PageError::VersionTooNew { found, supported } = error {
            return self.too_new((*found).into(), (*supported).into());
        }
        self.damaged(self.pages[index].offset, format!("page {index}: {error}"))
    }

    fn too_new(&self, found: u32, supported: u32) -> StoreError {
        StoreError::VersionTooNew {
            file: self.path.display().to_string(),
            found,
            supported,
        }
    }

    /// The first damage that a read of the segment has met.
    pub fn damage(&self) -> Option<&StoreError> {
        self.damage.get()
    }

    fn damaged(&self, offset: u64, detail: String) -> StoreError {
        self.noted(damaged(&self.path, offset, Some(self.info.table), detail))
    }

    /// The error, which is remembered if it is damage.
    fn noted(&self, error: StoreError) -> StoreError {
        if let StoreError::Corrupt { .. } = &error {
            self.damage.get_or_init(|| error.clone());
        }
        error
    }

    fn read(&self, offset: u64, length: usize) -> Result<Buffer, StoreError> {
        let mut bytes = MutableBuffer::from_len_zeroed(length);
        self.file
            .read_exact_at(bytes.as_slice_mut(), offset)
            .map_err(|error| {
                self.noted(read_failed(
                    &self.path,
                    offset,
                    Some(self.info.table),
                    &error,
                ))
            })?;
        Ok(bytes.into())
    }

    /// Bytes of the file, from `end` if they are there.
    fn read_end(
        &self,
        offset: u64,
        length: usize,
        end: Option<&FileEnd>,
    ) -> Result<Buffer, StoreError> {
        match end.and_then(|end| end.get(offset, length)) {
            Some(bytes) => Ok(bytes),
            None => self.read(offset, length),
        }
    }

    fn read_footer(&self, end: Option<&FileEnd>) -> Result<Footer, StoreError> {
        let length = self
            .file
            .len()
            .map_err(|error| io_failed("stat", &self.path, &error))?;
        let offset = length.saturating_sub(FOOTER_BYTES as u64);
        if length != self.info.bytes || length < FOOTER_BYTES as u64 {
            let detail = format!("{length} bytes long, expected {}", self.info.bytes);
            return Err(self.damaged(offset, detail));
        }
        let bytes = self.read_end(offset, FOOTER_BYTES, end)?;
        let bytes = bytes.as_slice().first_chunk().expect("read as many");
        let footer = Footer::decode(bytes).map_err(|error| match error {
            FooterError::VersionTooNew(found) => self.too_new(found, format::VERSION),
            FooterError::Checksum { expected, found } => self.damaged(
                offset,
                format!("footer: {}", checksum_mismatch(expected, found)),
            ),
            FooterError::Malformed(detail) => self.damaged(offset, format!("footer: {detail}")),
        })?;
        let found = Footer::checksum_of(bytes);
        if found != self.info.checksum || !footer.matches(&self.info) {
            let mismatch = checksum_mismatch(self.info.checksum, found);
            let detail =
                format!("an intact footer, but not the one the manifest names: {mismatch}");
            return Err(self.damaged(offset, detail));
        }
        Ok(footer)
    }

    /// The bytes of the filter or the page index.
    fn read_block(
        &self,
        what: &str,
        offset: u64,
        length: u64,
        checksum: u32,
        end: Option<&FileEnd>,
    ) -> Result<Buffer, StoreError> {
        let bytes = self.read_end(offset, length as usize, end)?;
        let found = format::block_checksum(self.info.id, offset, &bytes);
        if found == checksum || museum::shows(Exhibit::BlockChecksumIgnored) {
            return Ok(bytes);
        }
        let mismatch = checksum_mismatch(checksum, found);
        Err(self.damaged(offset, format!("{what}: {mismatch}")))
    }

    fn read_filter(&self) -> Result<Filter, StoreError> {
        let FilterPlace {
            offset,
            bytes,
            checksum,
        } = self.filter_place;
        let bytes = self.read_block("filter", offset, bytes, checksum, None)?;
        Filter::decode(&bytes, self.info.pages).map_err(|error| {
            self.damaged(
                offset + error.at as u64,
                format!("filter: {}", error.detail),
            )
        })
    }

    /// The filter of a segment whose file has none, from its keys.
    fn build_filter(&self) -> Result<Filter, StoreError> {
        let mut builder = FilterBuilder::new();
        let mut key_before = None;
        for start in (0..self.pages.len()).step_by(PAGES_PER_READ) {
            let indices = start..self.pages.len().min(start + PAGES_PER_READ);
            for (index, page) in indices.clone().zip(self.read_pages(indices)?) {
                let keys = self.keys_of(&page);
                let keys = keys.map_err(|error| self.page_error(index, &error))?;
                builder.add_page(&keys, 0..keys.len(), key_before.as_ref());
                key_before = Some(self.pages[index].last_key.clone());
            }
        }
        let filter = Filter::decode(&builder.finish().into(), self.info.pages);
        Ok(filter.expect("built just now"))
    }

    fn keys_of(&self, page: &Page) -> Result<SortKeys, PageError> {
        let types: Vec<ColumnType> = self.key.iter().map(|&column| self.types[column]).collect();
        let columns = self.key.iter().map(|&column| page.decode(column));
        let columns: Vec<ArrayRef> = columns.collect::<Result<_, _>>()?;
        match columns.iter().all(|cells| cells.null_count() == 0) {
            true => Ok(SortKeys::compute(&columns, &types)),
            false => Err(PageError::Malformed("a key cell is NULL")),
        }
    }

    fn read_index(
        &self,
        footer: &Footer,
        end: Option<&FileEnd>,
    ) -> Result<(Vec<PageEntry>, Zones), StoreError> {
        let (offset, length) = (footer.index_offset, footer.index_bytes);
        let bytes = self.read_block("page index", offset, length, footer.index_checksum, end)?;
        self.decode_index(footer, &bytes)
            .map_err(|error| self.damaged(offset, format!("page index: {error}")))
    }

    fn decode_index(
        &self,
        footer: &Footer,
        bytes: &[u8],
    ) -> Result<(Vec<PageEntry>, Zones), Malformed> {
        let mut fields = FieldReader::new(bytes);
        let pages = page_index::decode(&mut fields, footer.pages, footer.filter_offset)?;
        let columns = &self.types[..self.types.len() - SYSTEM_COLUMNS];
        let zones = match footer.version >= format::VERSION_WITH_ZONES {
            true => Zones::decode(&mut fields, pages.len(), columns)?,
            false => Zones::unknown(pages.len()),
        };
        fields.finish()?;
        Ok((pages, zones))
    }

    /// Keys of another form, or outside what the manifest says, would mislead every search.
    fn check_fences(&self, schema: &TableSchema, footer: &Footer) -> Result<(), StoreError> {
        let key_types: Vec<ColumnType> = schema
            .key
            .iter()
            .map(|&column| schema.columns[column].column_type)
            .collect();
        let form = SortKeys::empty(&key_types);
        let of_form = |key: &SortKey| {
            matches!(
                (&form, key),
                (SortKeys::U64(_), SortKey::U64(_))
                    | (SortKeys::U128(_), SortKey::U128(_))
                    | (SortKeys::Bytes { .. }, SortKey::Bytes(_))
            )
        };
        let forms = self
            .pages
            .iter()
            .all(|p| of_form(&p.first_key) && of_form(&p.last_key));
        let edges = self.pages.first().map(|page| &page.first_key) == Some(&self.info.key_min)
            && self.pages.last().map(|page| &page.last_key) == Some(&self.info.key_max);
        let rows = self
            .pages
            .iter()
            .map(|page| u64::from(page.rows))
            .sum::<u64>();
        if forms && edges && rows == self.info.versions {
            Ok(())
        } else {
            let detail = "page index: not the keys and versions that the manifest names";
            Err(self.damaged(footer.index_offset, detail.to_owned()))
        }
    }

    fn read_page(&self, index: usize) -> Result<Page, StoreError> {
        let entry = &self.pages[index];
        self.check_page(index, self.read(entry.offset, entry.extent())?)
    }

    /// `extent` is the page with its padding, as it came from the file.
    fn check_page(&self, index: usize, extent: Buffer) -> Result<Page, StoreError> {
        let entry = &self.pages[index];
        let found = crc32c::crc32c(&extent);
        if found != entry.checksum {
            let mismatch = checksum_mismatch(entry.checksum, found);
            return Err(self.damaged(entry.offset, format!("page {index}: {mismatch}")));
        }
        let identity = PageIdentity {
            file: self.info.id.0,
            offset: entry.offset,
        };
        let bytes = extent.slice_with_length(0, entry.length as usize);
        let page = Page::open(bytes, &self.types, identity)
            .map_err(|error| self.page_error(index, &error))?;
        if page.rows() != entry.rows as usize {
            let detail = format!(
                "page {index}: {} rows, expected {}",
                page.rows(),
                entry.rows
            );
            return Err(self.damaged(entry.offset, detail));
        }
        Ok(page)
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        if *self.retired.get_mut() {
            // Should this fail, opening the store deletes what no manifest names.
            let removed = self.disk.remove(&self.path);
            tracing::debug!(path = %self.path.display(), ?removed, "retired segment deleted");
        }
    }
}
