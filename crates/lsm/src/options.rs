//! Every limit and tunable of the trees.

use crate::compaction_buffer::BufferOptions;
use crate::page_cache::CachePolicy;
use crate::policy::MergePolicy;
use crate::warming::Warming;

/// Sizes in bytes and counts; see [`StoreOptions::default`] for what they are normally.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Memory for C0 of all trees together, bytes.
    pub memory_bytes: usize,
    /// Memory for the page cache (compressed pages) of all trees together, bytes.
    pub cache_bytes: usize,
    /// Which page leaves that cache when it is full.
    pub cache_policy: CachePolicy,
    /// What becomes of it when merges rewrite what is in it.
    pub warming: Warming,
    /// Whether merged segments stay for look-ups as long as their pages are cached; a baseline.
    pub compaction_buffer: Option<BufferOptions>,
    /// Memory for filters of all trees together, bytes. Only look-ups load them; see
    /// [`crate::StoreStats::filter_bytes`].
    pub filter_bytes: usize,
    /// Capacity of a page, bytes.
    pub page_bytes: usize,
    /// Size at which a segment is closed at the latest, bytes; those of small runs are smaller.
    pub segment_bytes: u64,
    /// Sorted runs a tree may have on disk before they are merged.
    pub runs_max: usize,
    /// How they are merged.
    pub merge_policy: MergePolicy,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            memory_bytes: 64 << 20,
            cache_bytes: 64 << 20,
            cache_policy: CachePolicy::default(),
            warming: Warming::default(),
            compaction_buffer: None,
            filter_bytes: 32 << 20,
            page_bytes: 32 << 10,
            segment_bytes: 32 << 20,
            runs_max: 6,
            merge_policy: MergePolicy::default(),
        }
    }
}
