//! Figures over all runs: each side's own, and those that have a goal.
//!
//! A figure is the median over the seeds. RocksDB is whichever of its settings does best.

use contender::caching::CachingReport;

use super::run::Run;
use super::side::Side;
use crate::results::{Results, median};

/// Seconds of a window of which the worst one counts.
const WINDOW_SECONDS: usize = 10;

/// What is taken of a report.
type Measure = fn(&CachingReport) -> f64;

/// The measures that are noted for each side: name, unit, measure.
const MEASURES: [(&str, &str, Measure); 15] = [
    ("reads", "1/s", |report| report.written.rate()),
    ("reads, quiet", "1/s", |report| report.quiet.rate()),
    ("hit ratio", "%", |report| 100.0 * hit_ratio(report)),
    ("hit ratio, quiet", "%", |report| {
        100.0 * quiet_hit_ratio(report)
    }),
    ("hit ratio, worst 10 s", "%", |report| {
        100.0 * worst_hit_ratio(report)
    }),
    ("hit ratio, right after", "%", |report| {
        100.0 * report.recovered.total().hit_ratio()
    }),
    ("p99", "us", |report| report.written.micros_p99),
    ("p99, quiet", "us", |report| report.quiet.micros_p99),
    ("pages warmed a read", "", |report| {
        let total = report.written.total();
        total.warmed as f64 / total.reads as f64
    }),
    ("warmed pages used", "%", |report| {
        let total = report.written.total();
        100.0 * total.warmed_used as f64 / total.warmed.max(1) as f64
    }),
    ("overwritten", "rows", |report| report.rows_written as f64),
    ("merged", "MB", |report| {
        report.written.total().bytes_merged as f64 / 1e6
    }),
    ("most on disk", "MB", |report| {
        report.written.bytes_on_disk_max() as f64 / 1e6
    }),
    ("inserts alone", "1/s", |report| report.inserts_a_second),
    ("inserts alone, processors", "s", |report| {
        report.insert_busy_seconds
    }),
];

fn hit_ratio(report: &CachingReport) -> f64 {
    report.written.total().hit_ratio()
}

fn quiet_hit_ratio(report: &CachingReport) -> f64 {
    report.quiet.total().hit_ratio()
}

fn worst_hit_ratio(report: &CachingReport) -> f64 {
    report.written.worst_hit_ratio(WINDOW_SECONDS)
}

/// Notes all figures.
pub fn note(results: &mut Results, runs: &[Run]) {
    note_goals(results, runs);
    for load in loads(runs) {
        for side in sides(runs) {
            note_side(results, runs, load, side);
        }
    }
    for run in runs.iter().filter(|run| run.seed == 1) {
        results.setting(&run.side.to_string(), &run.report.settings);
    }
}

fn note_side(results: &mut Results, runs: &[Run], load: &str, side: Side) {
    let peer = side.peer();
    for (name, unit, measure) in MEASURES {
        let samples = samples(runs, load, side, measure);
        if !samples.is_empty() {
            let name = format!("{load}: {name}");
            results.median_figure(&name, &samples, unit, peer.as_deref());
        }
    }
    let first = runs.iter().find(|run| run.load == load && run.side == side);
    if let Some(run) = first {
        let seconds = run.report.written.seconds.iter();
        let ratios = seconds.map(|second| 100.0 * second.hit_ratio()).collect();
        let name = format!("{load}: hit ratio each second");
        results.series(&name, ratios, "%", peer.as_deref());
    }
}

/// The figures of `goals.md`.
fn note_goals(results: &mut Results, runs: &[Run]) {
    let Some(load) = loads(runs).first().copied() else {
        return;
    };
    let of = |side: Side, measure: Measure| {
        let samples = samples(runs, load, side, measure);
        (!samples.is_empty()).then(|| median(&samples))
    };
    let rate: Measure = |report| report.written.rate();
    let ours = of(Side::Hedgerow, rate);
    let mut ratio = |metric: &str, side: Side, ours: Option<f64>, theirs: Option<f64>| {
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            results.figure(metric, ours / theirs, "x", side.peer().as_deref());
        }
    };
    ratio("L1a", Side::PlainLsm, ours, of(Side::PlainLsm, rate));
    let rocksdb = sides(runs).into_iter().filter(|side| side.is_rocksdb());
    let rocksdb = rocksdb.filter_map(|side| Some((side, of(side, rate)?)));
    if let Some((side, theirs)) = rocksdb.max_by(|a, b| a.1.total_cmp(&b.1)) {
        ratio("L1c", side, ours, Some(theirs));
    }
    let worst = of(Side::Hedgerow, worst_hit_ratio);
    ratio(
        "L2",
        Side::Hedgerow,
        worst,
        of(Side::Hedgerow, quiet_hit_ratio),
    );
    let costs: [(&str, Measure); 3] = [
        ("L4a", |report| report.written.bytes_on_disk_max() as f64),
        ("L4b", |report| report.inserts_a_second),
        ("L4c", |report| report.insert_busy_seconds),
    ];
    for (metric, measure) in costs {
        let plain = of(Side::PlainLsm, measure);
        ratio(metric, Side::PlainLsm, of(Side::Hedgerow, measure), plain);
    }
    note_points_below_best(results, runs);
}

/// How far ours lies below the best other policy of our trees, in the load where that is most.
fn note_points_below_best(results: &mut Results, runs: &[Run]) {
    let others = || {
        sides(runs)
            .into_iter()
            .filter(|side| side.is_fixed_policy())
    };
    let below = loads(runs).into_iter().filter_map(|load| {
        let points = |side| {
            let samples = samples(runs, load, side, hit_ratio);
            (!samples.is_empty()).then(|| 100.0 * median(&samples))
        };
        let ours = points(Side::Hedgerow)?;
        let best = others().filter_map(|side| Some((points(side)? - ours, side)));
        best.max_by(|a, b| a.0.total_cmp(&b.0))
    });
    if let Some((points, side)) = below.max_by(|a, b| a.0.total_cmp(&b.0)) {
        results.figure("L3", points, "points", side.peer().as_deref());
    }
}

fn samples(runs: &[Run], load: &str, side: Side, measure: Measure) -> Vec<f64> {
    let of = runs
        .iter()
        .filter(|run| run.load == load && run.side == side);
    of.map(|run| measure(&run.report)).collect()
}

/// The loads, in the order in which they were run.
pub fn loads(runs: &[Run]) -> Vec<&str> {
    let mut loads: Vec<&str> = Vec::new();
    for run in runs {
        if !loads.contains(&run.load.as_str()) {
            loads.push(&run.load);
        }
    }
    loads
}

/// The sides, in the order in which they were run.
pub fn sides(runs: &[Run]) -> Vec<Side> {
    let mut sides = Vec::new();
    for run in runs {
        if !sides.contains(&run.side) {
            sides.push(run.side);
        }
    }
    sides
}
