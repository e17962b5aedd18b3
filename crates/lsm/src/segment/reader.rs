//! Reads a segment: resident page index, pages on demand through the page cache.
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use env::Env;
use page::Page;
use types::key::SortKey;
use types::{CommitPosition, TableSchema};

use super::SegmentInfo;
use crate::error::StoreError;
use crate::page_cache::PageCache;

/// What the resident page index knows of one page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageEntry {
    /// Where the page starts in the file.
    pub offset: u64,
    /// Length of the page without padding, bytes.
    pub length: u32,
    /// Versions in the page.
    pub rows: u32,
    /// Checksum of the page and its padding, as written.
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
    /// Each key in the page has one version in this segment: no two in the page, none in a neighbour.
    pub unique_keys: bool,
}

/// An open segment. Shared by readers in an `Arc`; the file of a retired segment goes when the last one is dropped.
pub struct Segment { _private: () }

impl Segment {
    /// Opens the segment that `info` describes; reads and verifies footer and page index.
    pub fn open(env: &Env, directory: &Path, info: &SegmentInfo, schema: &TableSchema) -> Result<Self, StoreError> { todo!() }
    /// What the manifest says of the segment.
    pub fn info(&self) -> &SegmentInfo { todo!() }
    /// The page index: one entry a page, in file order.
    pub fn pages(&self) -> &[PageEntry] { todo!() }
    /// The pages that may hold keys in `start..end` (`None` = unbounded).
    pub fn pages_in(&self, start: Option<&SortKey>, end: Option<&SortKey>) -> Range<usize> { todo!() }
    /// A page, from the cache or the file. Verified before it is cached or returned.
    pub fn load_page(&self, index: usize, cache: &PageCache) -> Result<Arc<Page>, StoreError> { todo!() }
    /// Reads consecutive pages with one access, past the cache: for merges.
    pub fn read_pages(&self, indices: Range<usize>) -> Result<Vec<Arc<Page>>, StoreError> { todo!() }
    /// The manifest no longer names the segment: its pages leave the cache now, its file when the
    /// last reader drops the segment.
    pub fn retire(&self, cache: &PageCache) { todo!() }
    /// Puts a page's own error in the words of the store: file, offset and table.
    pub fn page_error(&self, index: usize, error: &page::PageError) -> StoreError { todo!() }
}
