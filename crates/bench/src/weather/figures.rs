//! Figures over all runs: each side's own, and the ratios that have a goal.
//!
//! The ratios to RocksDB are taken against whichever of its settings does best in that figure.
//! Where a goal names no disk profile, the worse of all profiles counts.
//!
//! *Undisturbed* are windows during which the host of the virtual machine took nothing from its processors, which
//! the kernel counts in hundredths of a second.

use contender::Report;
use contender::record::RECORD_BYTES;

use super::live_data::LiveData;
use super::run::Run;
use super::side::Side;
use crate::limits::disk::DiskProfile;
use crate::results::Results;

/// Notes all figures, and the raw data that the throughput is drawn from.
pub fn note(results: &mut Results, runs: &[Run], live_data: &LiveData, memory_bytes: u64) {
    note_ratios(results, runs, live_data);
    for run in runs {
        note_run(results, run);
        note_space(results, run, live_data);
        note_model(results, run, memory_bytes);
        results.setting(&run.side.to_string(), &run.report.settings);
    }
}

/// A side's own figures.
fn note_run(results: &mut Results, run: &Run) {
    let Run {
        side,
        profile,
        report,
    } = run;
    let peer = side.peer();
    let peer = peer.as_deref();
    let mut figure = |name: &str, value, unit| {
        results.figure(&format!("{profile}: {name}"), value, unit, peer);
    };
    figure("inserts", report.rate(), "rows/s");
    figure("inserts, last tenth", report.rate_at_end(), "rows/s");
    figure("inserted", report.rows as f64, "rows");
    if !report.window_ends.is_empty() {
        figure("slowest window / mean", report.slowest_window(), "x");
        figure("taken by the host", report.stolen_seconds(), "s");
    }
    if let Some(slowest) = report.slowest_undisturbed_window() {
        figure("slowest undisturbed window / mean", slowest, "x");
    }
    if let Some(times) = &report.batch_times {
        figure("batch p99.99", times.ms_p9999, "ms");
        figure("slowest batch", times.ms_max, "ms");
    }
    if let Some(times) = &report.undisturbed_batch_times {
        figure("batch p99.99, undisturbed", times.ms_p9999, "ms");
    }
    figure("on disk", report.bytes_a_row(), "B/row");
    figure("write amplification", report.write_amplification(), "x");
    figure("merges went on for", report.settle_seconds, "s");
    let metric = format!("{profile}: seconds at the end of each window");
    results.series(&metric, report.window_ends.clone(), "s", peer);
}

/// The most that was on disk at a time. What was live then is measured for our pages. Of a peer it is
/// only known what a row takes in the end, when there are most.
fn note_space(results: &mut Results, run: &Run, live_data: &LiveData) {
    let peer = run.side.peer();
    let mut figure = |name: &str, value| {
        results.figure(
            &format!("{}: {name}", run.profile),
            value,
            "x",
            peer.as_deref(),
        );
    };
    let of_final_size = run.report.space_max(|_| 1.0);
    figure("most on disk / rows at their final size", of_final_size);
    if run.side.is_our_engine() {
        figure("most on disk / live", space_max(run, live_data));
    }
}

fn space_max(run: &Run, live_data: &LiveData) -> f64 {
    run.report.space_max(|rows| live_data.relative(rows))
}

/// How often each byte is written beside Rose's model (sections 2.3 and 5.2): two merges write `R`
/// tuples for each that is inserted, `R` being the root of |C2| / |C0|, counted in tuples. C0 is
/// taken as large as the memory limit would allow, which is in the model's favour.
fn note_model(results: &mut Results, run: &Run, memory_bytes: u64) {
    let c0_rows = memory_bytes as f64 / RECORD_BYTES as f64;
    let ratio = (run.report.rows as f64 / c0_rows).sqrt().max(1.0);
    let beside = run.report.write_amplification() / (2.0 * ratio);
    let metric = format!("{}: write amplification / Rose's model", run.profile);
    results.figure(&metric, beside, "x", run.side.peer().as_deref());
}

/// The figures of `goals.md`.
fn note_ratios(results: &mut Results, runs: &[Run], live_data: &LiveData) {
    for (profile, rocksdb, innodb) in [
        (DiskProfile::Cloud, "R6a", "R6b"),
        (DiskProfile::Native, "R6c", "R6d"),
    ] {
        note_rates(results, runs, profile, rocksdb, innodb);
    }
    let ours = || runs.iter().filter(|run| run.side == Side::Hedgerow);
    let slowest = ours().map(|run| run.report.slowest_window());
    if let Some(worst) = slowest.min_by(f64::total_cmp) {
        results.figure("R7", worst, "x", None);
    }
    let space = ours().map(|run| space_max(run, live_data));
    if let Some(worst) = space.max_by(f64::total_cmp) {
        results.figure("R8", worst, "x", None);
    }
    for peer in [Side::RocksdbZstd, Side::Innodb] {
        let bytes = |profile| Some((of(runs, Side::Hedgerow, profile)?, of(runs, peer, profile)?));
        let ratios = [DiskProfile::Native, DiskProfile::Cloud]
            .into_iter()
            .filter_map(bytes)
            .map(|(ours, theirs)| ours.bytes_a_row() / theirs.bytes_a_row());
        if let Some(worst) = ratios.max_by(f64::total_cmp) {
            results.figure("R9", worst, "x", Some(&peer.to_string()));
        }
    }
}

/// Ours against RocksDB over the whole run, and against InnoDB at the end of both.
fn note_rates(
    results: &mut Results,
    runs: &[Run],
    profile: DiskProfile,
    rocksdb: &str,
    innodb: &str,
) {
    let Some(ours) = of(runs, Side::Hedgerow, profile) else {
        return;
    };
    let best = runs
        .iter()
        .filter(|run| run.profile == profile && run.side.is_rocksdb())
        .max_by(|one, other| one.report.rate().total_cmp(&other.report.rate()));
    if let Some(best) = best {
        let ratio = ours.rate() / best.report.rate();
        results.figure(rocksdb, ratio, "x", Some(&best.side.to_string()));
    }
    if let Some(theirs) = of(runs, Side::Innodb, profile) {
        let ratio = ours.rate_at_end() / theirs.rate_at_end();
        results.figure(innodb, ratio, "x", Some(&Side::Innodb.to_string()));
    }
}

fn of(runs: &[Run], side: Side, profile: DiskProfile) -> Option<&Report> {
    let run = runs
        .iter()
        .find(|run| run.side == side && run.profile == profile);
    run.map(|run| &run.report)
}
