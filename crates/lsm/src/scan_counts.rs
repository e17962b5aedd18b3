//! What scans had to touch, for `explain analyze`.
//!
//! Counting costs an atomic addition a page, none a row.

use std::ops::Add;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::key_range::KeyRange;
use crate::version::Version;

/// What one scan has taken so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanCounts {
    /// Pages that were in the cache.
    pub pages_cached: u64,
    /// Pages that were read from disk.
    pub pages_read: u64,
    /// Pages that were left out because their zone has no wanted row.
    pub pages_ruled_out: u64,
    /// Versions in the pages taken, and in its range in memory.
    pub versions: u64,
}

impl Add for ScanCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            pages_cached: self.pages_cached + other.pages_cached,
            pages_read: self.pages_read + other.pages_read,
            pages_ruled_out: self.pages_ruled_out + other.pages_ruled_out,
            versions: self.versions + other.versions,
        }
    }
}

/// The same while scans run.
#[derive(Default)]
pub(crate) struct ScanMeter {
    pages_cached: AtomicU64,
    pages_read: AtomicU64,
    pages_ruled_out: AtomicU64,
    versions: AtomicU64,
}

impl ScanMeter {
    /// Counts pages that came from the cache, or from disk.
    pub fn add_pages(&self, pages: usize, from_cache: bool) {
        let counter = match from_cache {
            true => &self.pages_cached,
            false => &self.pages_read,
        };
        counter.fetch_add(pages as u64, Ordering::Relaxed);
    }

    /// Counts a page that is left out.
    pub fn add_ruled_out(&self) {
        self.pages_ruled_out.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts versions that are looked at.
    pub fn add_versions(&self, versions: usize) {
        self.versions.fetch_add(versions as u64, Ordering::Relaxed);
    }

    /// What has been counted.
    pub fn counts(&self) -> ScanCounts {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ScanCounts {
            pages_cached: load(&self.pages_cached),
            pages_read: load(&self.pages_read),
            pages_ruled_out: load(&self.pages_ruled_out),
            versions: load(&self.versions),
        }
    }
}

/// How much of a tree's runs on disk a range of keys leaves to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanExtent {
    /// Segments in all.
    pub segments: u64,
    /// Those that have no key in the range.
    pub segments_skipped: u64,
    /// Pages in all segments.
    pub pages: u64,
    /// Those that have no key in the range.
    pub pages_skipped: u64,
}

impl ScanExtent {
    pub(crate) fn of(version: &Version, range: &KeyRange) -> Self {
        let mut extent = Self::default();
        for part in version.runs.iter().flat_map(|run| &run.segments) {
            let pages = part.segment.pages().len();
            let is_outside = range.is_after(part.key_max()) || range.is_before(part.key_min());
            let within = match is_outside {
                true => 0,
                false => {
                    let range = range.from(part.bound.as_ref());
                    let (start, end) = (range.start.as_ref(), range.end.as_ref());
                    part.segment.pages_in(start, end).len()
                }
            };
            extent.segments += 1;
            extent.segments_skipped += u64::from(within == 0);
            extent.pages += pages as u64;
            extent.pages_skipped += (pages - within) as u64;
        }
        extent
    }
}
