//! How one limit on memory is divided.

use crate::byte_size::ByteSize;

/// What the process needs whatever the limit: code, threads, sockets, catalog, bytes.
const FIXED_BYTES: u64 = 32 << 20;

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
    /// changes get four parts, pages two, filters one and statements four.
    pub fn new(limit: ByteSize) -> Self {
        let left = limit.0.saturating_sub(FIXED_BYTES) / 4 * 3;
        let part = |parts: u64| ByteSize(left / 11 * parts).bytes();
        Self {
            changes: part(4),
            cache: part(2),
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
}
