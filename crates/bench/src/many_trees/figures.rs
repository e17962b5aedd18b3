//! Figures of one run.

use super::report::{TreeReport, TreesReport};
use super::tables::{CLASSES, Class};
use crate::limits::disk::DiskProfile;
use crate::quantiles::Quantiles;
use crate::results::{Results, median};

/// What the driver knows of a run.
#[derive(Debug)]
pub struct Run {
    /// Where.
    pub profile: DiskProfile,
    /// The limit, bytes.
    pub memory_bytes: u64,
    /// The most that the process and its cached pages took, where that is known.
    pub memory_bytes_max: Option<u64>,
    /// What the side saw.
    pub report: TreesReport,
}

/// Notes all figures.
pub fn note(results: &mut Results, run: &Run) {
    let mut figures = Figures {
        results,
        profile: run.profile,
    };
    figures.memory(run);
    figures.insertion(&run.report);
    figures.background(&run.report);
    figures.reading(&run.report);
    figures.starvation(&run.report);
    figures.files(&run.report);
    figures
        .results
        .setting("hedgerow", &run.report.insertion.settings);
}

struct Figures<'a> {
    results: &'a mut Results,
    profile: DiskProfile,
}

impl Figures<'_> {
    fn figure(&mut self, name: &str, value: f64, unit: &'static str) {
        let metric = format!("{}: {name}", self.profile);
        self.results.figure(&metric, value, unit, None);
    }

    fn memory(&mut self, run: &Run) {
        let share = |bytes: u64| bytes as f64 / run.memory_bytes as f64;
        self.figure(
            "most memory resident / limit",
            share(run.report.resident_bytes_max),
            "x",
        );
        if let Some(bytes) = run.memory_bytes_max {
            self.figure("the same with cached files / limit", share(bytes), "x");
        }
    }

    fn insertion(&mut self, report: &TreesReport) {
        let insertion = &report.insertion;
        self.figure("rows loaded within", report.load_seconds, "s");
        self.figure("changes", insertion.rate(), "rows/s");
        if !insertion.window_ends.is_empty() {
            self.figure("slowest window / mean", insertion.slowest_window(), "x");
        }
        self.quantiles("batch", &report.batches);
        self.figure("on disk", insertion.bytes_at_end as f64 / 1e6, "MB");
        self.figure("write amplification", insertion.write_amplification(), "x");
        self.figure("merges went on for", insertion.settle_seconds, "s");
        self.figure(
            "rows in the end, checked",
            report.rows_checked as f64,
            "rows",
        );
        let metric = format!("{}: seconds at the end of each window", self.profile);
        self.results
            .series(&metric, insertion.window_ends.clone(), "s", None);
    }

    fn quantiles(&mut self, name: &str, quantiles: &Quantiles) {
        self.figure(&format!("{name} p50"), quantiles.ms_p50, "ms");
        self.figure(&format!("{name} p99"), quantiles.ms_p99, "ms");
        self.figure(&format!("{name} p99.99"), quantiles.ms_p9999, "ms");
        self.figure(&format!("{name}, slowest"), quantiles.ms_max, "ms");
    }

    fn background(&mut self, report: &TreesReport) {
        for (name, quantiles) in [("flush", &report.flushes), ("merge", &report.merges)] {
            self.figure(&format!("{name} p50"), quantiles.ms_p50, "ms");
            self.figure(&format!("{name}, slowest"), quantiles.ms_max, "ms");
        }
        self.figure("flushes", report.flushes.count as f64, "");
        self.figure("merges", report.merges_done as f64, "");
    }

    fn reading(&mut self, report: &TreesReport) {
        for (class, quantiles) in &report.look_ups {
            self.figure(&format!("look-up p50, {class}"), quantiles.ms_p50, "ms");
            self.figure(&format!("look-up p99, {class}"), quantiles.ms_p99, "ms");
        }
        let look_ups = report.look_ups.iter().map(|(_, quantiles)| quantiles.count);
        self.figure("look-ups, how many", look_ups.sum::<usize>() as f64, "");
        self.figure("short scan p99", report.scans.ms_p99, "ms");
    }

    fn starvation(&mut self, report: &TreesReport) {
        let most = report
            .trees
            .iter()
            .map(|tree| tree.runs_max)
            .max()
            .unwrap_or(0);
        self.figure("most runs of a tree", most as f64, "runs");
        self.figure(
            "the same / most allowed",
            most as f64 / report.runs_max as f64,
            "x",
        );
        let waits = waits(report, |tree| tree.class != Class::Idle);
        let longest = waits.iter().copied().fold(0.0, f64::max);
        self.figure("longest wait for a merge", longest / 1e3, "s");
        self.figure(
            "the same, the median tree = 1",
            longest / median(&waits),
            "x",
        );
        for class in CLASSES.into_iter().filter(|class| *class != Class::Idle) {
            let waits = waits_of(report, class);
            let longest = waits.iter().copied().fold(0.0, f64::max);
            self.figure(&format!("longest wait, {class}"), longest / 1e3, "s");
            self.figure(
                &format!("longest wait, median {class}"),
                median(&waits) / 1e3,
                "s",
            );
        }
        self.tree_series("longest wait of each tree", report, "ms", |tree| {
            tree.wait_ms_max
        });
        self.tree_series("most runs of each tree", report, "runs", |tree| {
            tree.runs_max as f64
        });
        self.tree_series("changes of each tree", report, "rows", |tree| {
            tree.changes as f64
        });
    }

    fn files(&mut self, report: &TreesReport) {
        let files = |tree: &TreeReport| tree.files as f64;
        let all: f64 = report.trees.iter().map(files).sum();
        let most = report.trees.iter().map(files).fold(0.0, f64::max);
        self.figure("most files open", report.open_files_max as f64, "");
        self.figure("files in the end", all, "");
        self.figure("files a tree", all / report.trees.len() as f64, "");
        self.figure("files of the tree with most", most, "");
        let mut bytes: Vec<f64> = report.trees.iter().map(|tree| tree.bytes as f64).collect();
        bytes.sort_by(f64::total_cmp);
        self.figure("bytes of the median tree", median(&bytes), "B");
        self.figure(
            "bytes of the largest tree",
            bytes.last().copied().unwrap_or(0.0),
            "B",
        );
        self.tree_series("files of each tree", report, "", files);
        self.tree_series("bytes of each tree", report, "B", |tree| tree.bytes as f64);
    }

    fn tree_series(
        &mut self,
        name: &str,
        report: &TreesReport,
        unit: &'static str,
        of: impl Fn(&TreeReport) -> f64,
    ) {
        let metric = format!("{}: {name}", self.profile);
        let values = report.trees.iter().map(of).collect();
        self.results.series(&metric, values, unit, None);
    }
}

fn waits(report: &TreesReport, counts: impl Fn(&TreeReport) -> bool) -> Vec<f64> {
    let trees = report.trees.iter().filter(|tree| counts(tree));
    trees.map(|tree| tree.wait_ms_max).collect()
}

fn waits_of(report: &TreesReport, class: Class) -> Vec<f64> {
    waits(report, |tree| tree.class == class)
}
