//! Which ranges of keys each partition of a scan reads.
//!
//! Every partition has a range of its own, or all of them share a list: who is done with one takes the next.
//! Sharing keeps all processors busy to the end where ranges turn out to take unequally long (one has more
//! wanted rows, or the processor of one partition has something else to do, a source above all).
//!
//! ```text
//!   keys       ────────────────────────────────────────────▶
//!   fixed      A A A A A A A A A A A B B B B B B B B B B B
//!   shared     A A A A A B B B B A A A B B B A A B A B A B     large ranges first, small ones in the end
//! ```
//!
//! For who reads all partitions in the order of keys ([`crate::range_merge`]) all ranges are small: while one partition's
//! is handed on, the other's waits in memory.
//!
//! Invariants: each range is read by one partition; a partition's ranges ascend.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lsm::KeyRange;
use parking_lot::Mutex;

/// A range is one part in so many of what is left for a partition.
const PARTS_OF_REST: usize = 2;

/// Ranges that the partitions of a scan share.
pub(super) struct SharedRanges {
    ranges: Arc<[KeyRange]>,
    partitions: usize,
    execution: Mutex<Execution>,
}

/// One run of the scan through all ranges.
struct Execution {
    list: Arc<List>,
    /// Whether each partition has joined.
    joined: Vec<bool>,
}

/// Ranges, some of which have been taken.
struct List {
    ranges: Arc<[KeyRange]>,
    next: AtomicUsize,
}

impl List {
    fn take(&self) -> Option<KeyRange> {
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        self.ranges.get(place).cloned()
    }
}

impl SharedRanges {
    /// Ranges for so many partitions out of small ones that lie side by side, the largest first.
    pub(super) fn falling(small: &[KeyRange], partitions: usize) -> Self {
        Self::new(in_falling_sizes(small, partitions), partitions)
    }

    /// The small ranges as they are.
    pub(super) fn even(small: &[KeyRange], partitions: usize) -> Self {
        Self::new(small.to_vec(), partitions)
    }

    fn new(ranges: Vec<KeyRange>, partitions: usize) -> Self {
        let ranges = ranges.into();
        let execution = Mutex::new(Execution::new(&ranges, partitions));
        Self {
            ranges,
            partitions,
            execution,
        }
    }

    /// What a partition reads. One that asks again begins another run through all ranges: of a recursive
    /// statement the same operators run many times.
    pub(super) fn of_partition(&self, partition: usize) -> PartitionRanges {
        let mut execution = self.execution.lock();
        if execution.joined[partition] {
            *execution = Execution::new(&self.ranges, self.partitions);
        }
        execution.joined[partition] = true;
        PartitionRanges {
            own: VecDeque::new(),
            shared: Some(Arc::clone(&execution.list)),
            taken: Vec::new(),
        }
    }
}

impl Execution {
    fn new(ranges: &Arc<[KeyRange]>, partitions: usize) -> Self {
        let list = List {
            ranges: Arc::clone(ranges),
            next: AtomicUsize::new(0),
        };
        Self {
            list: Arc::new(list),
            joined: vec![false; partitions],
        }
    }
}

/// Joins neighbours to ranges that become smaller: opening one costs as much as reading some pages, but the
/// last ones decide how long partitions wait for each other.
fn in_falling_sizes(small: &[KeyRange], partitions: usize) -> Vec<KeyRange> {
    let mut joined = Vec::new();
    let mut rest = small;
    while !rest.is_empty() {
        let size = rest.len().div_ceil(PARTS_OF_REST * partitions);
        let (these, others) = rest.split_at(size);
        joined.push(KeyRange {
            start: these[0].start.clone(),
            end: these[size - 1].end.clone(),
        });
        rest = others;
    }
    joined
}

/// Iterator of the ranges that a partition reads, in one run, ascending.
pub(super) struct PartitionRanges {
    /// Those that nobody else takes.
    own: VecDeque<KeyRange>,
    shared: Option<Arc<List>>,
    taken: Vec<KeyRange>,
}

impl PartitionRanges {
    /// Nothing, or one range.
    pub(super) fn own(range: Option<KeyRange>) -> Self {
        Self {
            own: range.into_iter().collect(),
            shared: None,
            taken: Vec::new(),
        }
    }

    /// Those that have been taken so far, and what is to come.
    pub(super) fn again(self) -> Self {
        let mut own = VecDeque::from(self.taken);
        own.extend(self.own);
        Self {
            own,
            shared: self.shared,
            taken: Vec::new(),
        }
    }
}

impl Iterator for PartitionRanges {
    type Item = KeyRange;

    fn next(&mut self) -> Option<KeyRange> {
        let take = |list: &Arc<List>| list.take();
        let range = self.own.pop_front();
        let range = range.or_else(|| self.shared.as_ref().and_then(take))?;
        self.taken.push(range.clone());
        Some(range)
    }
}

#[cfg(test)]
mod tests {
    use types::key::SortKey;

    use super::*;

    /// Ranges that start at 0, 1, 2 and so on.
    fn small(count: u64) -> Vec<KeyRange> {
        let start = |place: u64| (place > 0).then_some(SortKey::U64(place));
        let range = |place| KeyRange {
            start: start(place),
            end: start((place + 1) % count),
        };
        (0..count).map(range).collect()
    }

    fn starts(ranges: impl Iterator<Item = KeyRange>) -> Vec<Option<SortKey>> {
        ranges.map(|range| range.start).collect()
    }

    #[test]
    fn ranges_become_smaller_and_leave_nothing_out() {
        let joined = in_falling_sizes(&small(32), 2);
        let bounds = |range: &KeyRange| (range.start.clone(), range.end.clone());
        assert!(joined.len() < 16, "{joined:?}");
        assert_eq!(bounds(&joined[0]), (None, Some(SortKey::U64(8))));
        assert_eq!(bounds(joined.last().expect("some")).1, None);
        for pair in joined.windows(2) {
            assert_eq!(pair[0].end, pair[1].start);
        }
    }

    #[test]
    fn partitions_take_what_is_left() {
        let shared = SharedRanges::falling(&small(32), 2);
        let mut first = shared.of_partition(0);
        let mut second = shared.of_partition(1);
        let alone = [first.next(), second.next()];
        assert_ne!(alone[0], alone[1]);
        let rest = first.count();
        assert_eq!(rest + 2, shared.ranges.len());
        assert_eq!(second.next(), None);
    }

    #[test]
    fn a_partition_that_begins_again_reads_its_own_ranges_and_no_others() {
        let shared = SharedRanges::falling(&small(32), 2);
        let (mut first, mut second) = (shared.of_partition(0), shared.of_partition(1));
        let read: Vec<_> = [first.next(), first.next()].into_iter().flatten().collect();
        let theirs = second.next().expect("some are left");
        let again: Vec<_> = first.again().collect();
        assert_eq!(again[..2], read);
        assert!(!again.contains(&theirs));
        assert_eq!(again.len() + 1, shared.ranges.len());
    }

    #[test]
    fn another_execution_reads_everything_again() {
        let shared = SharedRanges::falling(&small(8), 2);
        let all = || {
            let partitions = [shared.of_partition(0), shared.of_partition(1)];
            starts(partitions.into_iter().flatten())
        };
        assert_eq!(all(), all());
        assert_eq!(all().len(), shared.ranges.len());
    }
}
