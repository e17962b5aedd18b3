//! The scans of a partition's ranges, one after the other.

use lsm::{KeyRange, Scan, ScanCounts};

use super::checked_scan::CheckedScan;
use super::partition_ranges::PartitionRanges;

/// What is read of one range.
pub(super) trait RangeScan {
    /// What it has taken so far.
    fn counts(&self) -> ScanCounts;
}

impl RangeScan for Scan {
    fn counts(&self) -> ScanCounts {
        Scan::counts(self)
    }
}

impl RangeScan for CheckedScan {
    fn counts(&self) -> ScanCounts {
        CheckedScan::counts(self)
    }
}

/// RangeScans of which one is open at a time.
pub(super) struct RangeScans<S> {
    ranges: PartitionRanges,
    open: Option<S>,
    /// What those have taken that have ended.
    ended: ScanCounts,
}

impl<S: RangeScan> RangeScans<S> {
    /// Nothing is opened yet.
    pub(super) fn new(ranges: PartitionRanges) -> Self {
        Self {
            ranges,
            open: None,
            ended: ScanCounts::default(),
        }
    }

    /// The next that `read` finds in a scan that `open` makes of a range; `None` after the last range.
    pub(super) fn next<T, E>(
        &mut self,
        open: impl Fn(KeyRange) -> Result<S, E>,
        read: impl Fn(&mut S) -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        loop {
            let scan = match &mut self.open {
                Some(scan) => scan,
                none => match self.ranges.next() {
                    Some(range) => none.insert(open(range)?),
                    None => return Ok(None),
                },
            };
            if let Some(found) = read(scan)? {
                return Ok(Some(found));
            }
            self.ended = self.counts();
            self.open = None;
        }
    }

    /// Leaves out what is left.
    pub(super) fn end(&mut self) {
        self.ended = self.counts();
        self.open = None;
        self.ranges = PartitionRanges::own(None);
    }

    /// What all of them have taken so far.
    pub(super) fn counts(&self) -> ScanCounts {
        let open = self.open.as_ref().map(RangeScan::counts);
        open.into_iter().fold(self.ended, |sum, open| sum + open)
    }

    /// The ranges, of which those that have been read come again.
    pub(super) fn into_ranges_again(self) -> PartitionRanges {
        self.ranges.again()
    }
}
