//! What becomes of runs, and our side at a tiny scale.

use anyhow::Result;
use contender::Arguments;
use contender::ycsb::{Counts, Loaded, Task, TaskReport, YcsbArguments};

use super::grid::{Cell, GridChoice, Mix};
use super::run::Run;
use super::sides::Side;
use super::{figures, grid_figure, hedgerow_side};
use crate::limits::disk::DiskProfile;
use crate::results::Results;

fn run(side: Side, times: u64, cell: Cell, rate: f64) -> Run {
    Run {
        side,
        times,
        cell,
        loaded: Loaded {
            settings: String::new(),
            bytes_on_disk: 0,
        },
        report: TaskReport {
            rates: vec![rate / 2.0, rate, rate * 2.0],
            transactions: 100,
            counts: Counts {
                disk_reads: 25,
                cache_hits: 50,
            },
            busy_seconds: 1.0,
            marks: Vec::new(),
        },
        resident: Some(0.5),
    }
}

/// Ours does 1,200 everywhere, InnoDB 100 but 120 on `cloud` at a skew of 1.5, memcached 200 or 400.
fn runs() -> Vec<Run> {
    let mut runs = Vec::new();
    let profiles = [DiskProfile::Native, DiskProfile::Cloud];
    for cell in GridChoice::default().cells(&profiles) {
        let is_better = cell.profile == DiskProfile::Cloud && cell.skew == 1.5;
        runs.push(run(Side::Hedgerow, 8, cell, 1_200.0));
        runs.push(run(
            Side::Innodb,
            8,
            cell,
            if is_better { 120.0 } else { 100.0 },
        ));
        runs.push(run(Side::InnodbMemcached25, 8, cell, 200.0));
        runs.push(run(Side::InnodbMemcached50, 8, cell, 400.0));
        runs.push(run(Side::Innodb, 4, cell, 100.0));
    }
    runs
}

#[test]
fn goals_are_the_worst_ratio_of_both_skews_and_all_profiles() {
    let mut results = Results::new("anticache", "quick");
    figures::note(&mut results, &runs());
    let is = |metric, peer, expected: f64| {
        let value = results.value(metric, peer);
        assert!((value - expected).abs() < 1e-9, "{metric}: {value}");
    };
    for id in ["A4a", "A4b", "A4c"] {
        is(id, Some("innodb"), 10.0);
    }
    for id in ["A4d", "A4e", "A4f"] {
        is(id, Some("innodb-memcached"), 3.0);
    }
    is(
        "8 x memory, native, read-only, skew 0.5: ours by theirs",
        Some("innodb"),
        12.0,
    );
    is("8 x memory, cloud, read-heavy, skew 1: rate", None, 1_200.0);
    is(
        "8 x memory, cloud, read-heavy, skew 1: disk reads a transaction",
        None,
        0.25,
    );
}

/// One cell of those that count is missing.
#[test]
fn a_goal_needs_all_of_its_cells() -> Result<()> {
    let mut runs = runs();
    let cell = Cell {
        profile: DiskProfile::Cloud,
        mix: Mix::ReadOnly,
        skew: 1.25,
    };
    runs.retain(|run| run.side != Side::Innodb || run.cell != cell);
    let mut results = Results::new("anticache", "quick");
    figures::note(&mut results, &runs);
    let text = serde_json::to_string(&results)?;
    assert!(!text.contains("A4a") && text.contains("A4b"));
    Ok(())
}

#[test]
fn the_figure_has_a_panel_for_each_mix_size_and_profile() {
    let svg = grid_figure::draw(&runs());
    assert_eq!(svg.matches("data 8 x memory").count(), 6);
    assert_eq!(svg.matches("data 4 x memory").count(), 6);
    // Four sides of each row, though not all have done all sizes.
    assert_eq!(svg.matches("<polyline").count(), 6 * 2 * 4);
}

/// Several times as many rows as fit: all answers are right, some rows come from disk, and the budget holds.
#[test]
fn our_side_answers_rightly_within_its_budget() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let arguments = YcsbArguments {
        common: Arguments {
            folder: folder.path().join("side"),
            memory_bytes: 24 << 20,
            memory_group: None,
            seconds_max: None,
        },
        rows: 40_000,
    };
    let task = Task {
        updates: 0.5,
        skew: 0.75,
        warm_seconds: 0.1,
        windows: 2,
        window_seconds: 0.2,
        seed: 1,
    };
    let mut output = Vec::new();
    let input = serde_json::to_string(&task)?;
    hedgerow_side::serve(&arguments, input.as_bytes(), &mut output)?;
    let output = String::from_utf8(output)?;
    let (_, report) = output.trim().split_once('\n').expect("it answers");
    let report: TaskReport = serde_json::from_str(report)?;
    assert_eq!(report.rates.len(), 2);
    assert!(report.counts.disk_reads > 0, "{report:?}");
    let marks: std::collections::HashMap<_, _> = report.marks.into_iter().collect();
    assert!(marks["memory by budget, at most"] <= 1.01, "{marks:?}");
    assert!(marks["calls that missed, by all"] > 0.0, "{marks:?}");
    Ok(())
}
