//! Figures over all runs: each side's own, and the ratios that have a goal.
//!
//! RocksDB is whichever of its settings does best in that figure. Where a goal names no disk
//! profile, number of threads or size of batch, the worst of all counts.

use contender::{LookUps, Present, ReadingReport, Scans, Wanted};

use super::run::Run;
use super::side::Side;
use crate::limits::disk::DiskProfile;
use crate::results::{Results, median};

/// Notes all figures.
pub fn note(results: &mut Results, runs: &[Run]) {
    note_goals(results, runs);
    let profiles = [DiskProfile::Native, DiskProfile::Cloud];
    for profile in profiles {
        note_ratios(results, runs, profile);
    }
    for run in runs {
        note_run(results, run);
        let name = format!("{}: {}", run.profile, run.side);
        results.setting(&name, &run.report.settings);
    }
}

/// A side's own figures.
fn note_run(results: &mut Results, run: &Run) {
    let (profile, report) = (run.profile, &run.report);
    let peer = run.side.peer();
    let peer = peer.as_deref();
    let rows = report.scans.first().map_or(0, |scans| scans.cells.rows);
    let bytes_a_row = report.bytes_on_disk as f64 / rows as f64;
    results.figure(&format!("{profile}: on disk"), bytes_a_row, "B/row", peer);
    for look_ups in &report.look_ups {
        let name = format!("{profile}: {}", look_ups_name(look_ups));
        results.median_figure(&name, &look_ups.rates, "keys/s", peer);
        let name = format!("{name}, reads");
        results.median_figure(&name, &look_ups.reads_a_key, "a key", peer);
    }
    for (fresh, scans) in [(false, &report.scans), (true, &report.fresh_scans)] {
        for scans in scans {
            note_scans(results, profile, scans, fresh, peer);
        }
    }
}

fn note_scans(
    results: &mut Results,
    profile: DiskProfile,
    scans: &Scans,
    fresh: bool,
    peer: Option<&str>,
) {
    let name = format!("{profile}: {}", scans_name(scans.wanted, fresh));
    let rates = scans.rates();
    results.median_figure(&name, &rates, "rows/s", peer);
    let row_bytes = scans.wanted.row_bytes() as f64;
    let megabytes: Vec<f64> = rates.iter().map(|rate| rate * row_bytes / 1e6).collect();
    results.median_figure(&format!("{name}, bytes"), &megabytes, "MB/s", peer);
    let rows = scans.cells.rows as f64;
    let busy: Vec<f64> = scans.busy_seconds.iter().map(|s| s * 1e9 / rows).collect();
    results.median_figure(&format!("{name}, processor"), &busy, "ns/row", peer);
    let read: Vec<f64> = scans.bytes_read.iter().map(|&b| b as f64 / rows).collect();
    results.median_figure(&format!("{name}, read"), &read, "B/row", peer);
}

/// What such look-ups are called in the results.
pub fn look_ups_name(look_ups: &LookUps) -> String {
    let present = match look_ups.present {
        Present::Existing => "existing",
        Present::Missing => "missing",
    };
    format!(
        "{present}, {} at once, {} thr.",
        look_ups.batch_keys, look_ups.threads
    )
}

/// What such scans are called in the results.
pub fn scans_name(wanted: Wanted, fresh: bool) -> String {
    let columns = match wanted {
        Wanted::OneColumn => "scan 1 column",
        Wanted::AllColumns => "scan 10 columns",
    };
    let fresh = if fresh { ", 10 % fresh" } else { "" };
    format!("{columns}{fresh}")
}

/// A ratio and whom it is taken against.
type Ratio = (f64, Side);

/// The figures of `goals.md`.
fn note_goals(results: &mut Results, runs: &[Run]) {
    let ours = || runs.iter().filter(|run| run.side == Side::Hedgerow);
    let kinds = || ours().flat_map(|run| run.report.look_ups.iter().map(move |l| (run, l)));
    let ratios = kinds().filter_map(|(run, look_ups)| look_up_ratio(runs, run.profile, look_ups));
    note_worst(results, "S3a", ratios);
    let missing = kinds().filter(|(_, look_ups)| look_ups.present == Present::Missing);
    let reads = missing.map(|(_, look_ups)| median(&look_ups.reads_a_key));
    if let Some(worst) = reads.max_by(f64::total_cmp) {
        results.figure("S3b", worst, "a key", None);
    }
    for (metric, wanted) in [("S4a", Wanted::OneColumn), ("S4b", Wanted::AllColumns)] {
        let ratios = ours().filter_map(|run| rocksdb_scan_ratio(runs, run.profile, wanted));
        note_worst(results, metric, ratios);
    }
}

fn note_worst(results: &mut Results, metric: &str, ratios: impl Iterator<Item = Ratio>) {
    if let Some((worst, side)) = ratios.min_by(|a, b| a.0.total_cmp(&b.0)) {
        results.figure(metric, worst, "x", side.peer().as_deref());
    }
}

/// All ratios under a profile.
fn note_ratios(results: &mut Results, runs: &[Run], profile: DiskProfile) {
    let Some(ours) = of(runs, Side::Hedgerow, profile) else {
        return;
    };
    let mut figure = |name: String, ratio: Option<Ratio>| {
        if let Some((ratio, side)) = ratio {
            let peer = side.peer();
            results.figure(&format!("{profile}: {name}"), ratio, "x", peer.as_deref());
        }
    };
    for look_ups in &ours.look_ups {
        let ratio = look_up_ratio(runs, profile, look_ups);
        figure(format!("{}, ratio", look_ups_name(look_ups)), ratio);
    }
    for wanted in [Wanted::OneColumn, Wanted::AllColumns] {
        let name = format!("{}, ratio", scans_name(wanted, false));
        figure(name.clone(), rocksdb_scan_ratio(runs, profile, wanted));
        let parquet = of(runs, Side::Parquet, profile).and_then(|theirs| {
            let ratio = scan_rate(&ours.scans, wanted)? / scan_rate(&theirs.scans, wanted)?;
            Some((ratio, Side::Parquet))
        });
        figure(name, parquet);
        let fresh = scan_rate(&ours.fresh_scans, wanted).and_then(|fresh| {
            let ratio = fresh / scan_rate(&ours.scans, wanted)?;
            Some((ratio, Side::Hedgerow))
        });
        figure(format!("{} / settled", scans_name(wanted, true)), fresh);
    }
}

/// Our rate of such look-ups against RocksDB's.
fn look_up_ratio(runs: &[Run], profile: DiskProfile, ours: &LookUps) -> Option<Ratio> {
    let is_like = |theirs: &&LookUps| {
        (theirs.present, theirs.batch_keys, theirs.threads)
            == (ours.present, ours.batch_keys, ours.threads)
    };
    against_rocksdb(runs, profile, median(&ours.rates), |theirs| {
        theirs
            .look_ups
            .iter()
            .find(is_like)
            .map(|l| median(&l.rates))
    })
}

fn rocksdb_scan_ratio(runs: &[Run], profile: DiskProfile, wanted: Wanted) -> Option<Ratio> {
    let ours = scan_rate(&of(runs, Side::Hedgerow, profile)?.scans, wanted)?;
    against_rocksdb(runs, profile, ours, |theirs| {
        scan_rate(&theirs.scans, wanted)
    })
}

fn scan_rate(scans: &[Scans], wanted: Wanted) -> Option<f64> {
    let scans = scans.iter().find(|scans| scans.wanted == wanted)?;
    Some(median(&scans.rates()))
}

/// A rate of ours against the best that RocksDB has.
fn against_rocksdb(
    runs: &[Run],
    profile: DiskProfile,
    ours: f64,
    rate: impl Fn(&ReadingReport) -> Option<f64>,
) -> Option<Ratio> {
    let of_profile = runs.iter().filter(|run| run.profile == profile);
    let rocksdb = of_profile.filter(|run| run.side.is_rocksdb());
    let rates = rocksdb.filter_map(|run| Some((rate(&run.report)?, run.side)));
    let (best, side) = rates.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some((ours / best, side))
}

fn of(runs: &[Run], side: Side, profile: DiskProfile) -> Option<&ReadingReport> {
    let run = runs
        .iter()
        .find(|run| run.side == side && run.profile == profile);
    run.map(|run| &run.report)
}
