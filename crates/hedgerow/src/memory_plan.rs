//! How one limit on memory is divided.

use crate::byte_size::ByteSize;

/// What the process needs whatever the limit: code, threads, sockets, catalog, bytes.
const FIXED_BYTES: u64 = 32 << 20;

/// So many bytes of changes are as good as more where memory is ample: they are made durable after some
/// seconds in any case, while pages are read again and again.
const AMPLE_CHANGES_BYTES: usize = 256 << 20;

/// The parts of the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPlan {
    /// Changes that are not yet on disk (C0), bytes.
    pub changes: usize,
    /// Cached pages, bytes.
    pub cache: usize,
    /// Filters of segments, bytes.
    pub filters: usize,
    /// Operators of running statements, bytes.
    pub statements: usize,
}

impl MemoryPlan {
    /// Divides a limit: a quarter of what is left after the fixed part stays free for what no
    /// budget counts (batches in flight, merge buffers, the allocator's slack); of the rest,
    /// changes and pages get six parts together, filters one and statements four. Of the six, changes get
    /// four while that is little, and at least one.
    pub fn new(limit: ByteSize) -> Self {
        let left = limit.0.saturating_sub(FIXED_BYTES) / 4 * 3;
        let part = |parts: u64| ByteSize(left / 11 * parts).bytes();
        let changes = part(4).min(AMPLE_CHANGES_BYTES.max(part(1)));
        Self {
            changes,
            cache: part(6) - changes,
            filters: part(1),
            statements: part(4),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_stay_below_the_limit() {
        for limit in [ByteSize::mib(128), ByteSize::mib(512), ByteSize(64 << 30)] {
            let MemoryPlan {
                changes,
                cache,
                filters,
                statements,
            } = MemoryPlan::new(limit);
            assert!(((changes + cache + filters + statements) as u64) < limit.0 * 3 / 4);
            assert!(cache > 4 << 20, "{cache}");
        }
    }

    #[test]
    fn the_more_memory_the_more_of_it_caches_pages() {
        let shares = [ByteSize::mib(512), ByteSize::mib(2048), ByteSize(64 << 30)].map(|limit| {
            let plan = MemoryPlan::new(limit);
            plan.cache as f64 / (plan.cache + plan.changes) as f64
        });
        assert!(shares.is_sorted_by(|one, next| one < next), "{shares:?}");
    }
}
