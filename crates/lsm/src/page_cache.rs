//! One cache of compressed pages for all trees, bounded in bytes.
use std::sync::Arc;

use page::Page;

use crate::error::StoreError;
use crate::segment::SegmentId;

/// Which page: segment and index in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageKey {
    /// The segment.
    pub segment: SegmentId,
    /// The page's index in the segment.
    pub page: u32,
}

/// Shared by all readers of a store.
pub struct PageCache { _private: () }

impl PageCache {
    /// An empty cache of at most `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Self { todo!() }
    /// The page from the cache, else from `load`, which is then kept. Errors are not kept.
    pub fn get_or_load(&self, key: PageKey, load: impl FnOnce() -> Result<Page, StoreError>) -> Result<Arc<Page>, StoreError> { todo!() }
    /// Forgets all pages of a segment.
    pub fn remove_segment(&self, segment: SegmentId, pages: u32) { todo!() }
    /// Bytes held.
    pub fn bytes(&self) -> u64 { todo!() }
    /// Look-ups served from memory.
    pub fn hits(&self) -> u64 { todo!() }
    /// Look-ups that had to load.
    pub fn misses(&self) -> u64 { todo!() }
}
