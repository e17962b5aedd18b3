//! What `explain analyze` shows of a scan: what the key left to be read, and where it came from.

use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, Gauge, MetricBuilder,
};
use lsm::{ScanCounts, ScanExtent};

/// Figures of one partition.
pub(super) struct ScanMetrics {
    /// Rows given, and time.
    pub(super) baseline: BaselineMetrics,
    pages_from_cache: Gauge,
    pages_from_disk: Gauge,
    pages_ruled_out: Gauge,
    rows_read: Gauge,
}

impl ScanMetrics {
    /// Figures that are zero.
    pub(super) fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let gauge = |name| MetricBuilder::new(metrics).gauge(name, partition);
        Self {
            baseline: BaselineMetrics::new(metrics, partition),
            pages_from_cache: gauge("pages_from_cache"),
            pages_from_disk: gauge("pages_from_disk"),
            pages_ruled_out: gauge("pages_ruled_out"),
            rows_read: gauge("rows_read"),
        }
    }

    /// Sets what the partition has taken so far.
    pub(super) fn note(&self, counts: ScanCounts) {
        let figures = [
            (&self.pages_from_cache, counts.pages_cached),
            (&self.pages_from_disk, counts.pages_read),
            (&self.pages_ruled_out, counts.pages_ruled_out),
            (&self.rows_read, counts.versions),
        ];
        for (gauge, count) in figures {
            gauge.set(figure(count));
        }
    }
}

/// Tells what the key leaves to be read. It holds for all partitions together, so the first one
/// tells it.
pub(super) fn note_extent(metrics: &ExecutionPlanMetricsSet, extent: ScanExtent) {
    let figures = [
        ("segments", extent.segments),
        ("segments_skipped", extent.segments_skipped),
        ("pages", extent.pages),
        ("pages_skipped", extent.pages_skipped),
    ];
    for (name, count) in figures {
        MetricBuilder::new(metrics)
            .gauge(name, 0)
            .set(figure(count));
    }
}

fn figure(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
