//! What becomes of reports: ratios against the better RocksDB, the worst of which is the goal's.

use anyhow::Result;
use contender::{Cells, LookUps, Present, ReadingReport, Scans, Wanted};

use super::run::Run;
use super::side::Side;
use super::{figures, rates_figure};
use crate::limits::disk::DiskProfile;
use crate::results::Results;

const ROWS: u64 = 1_000;

fn look_ups(present: Present, threads: usize, rate: f64) -> LookUps {
    LookUps {
        present,
        batch_keys: 1,
        threads,
        rates: vec![rate; 5],
        reads_a_key: vec![0.01; 5],
    }
}

fn scans(wanted: Wanted, seconds: f64) -> Scans {
    Scans {
        wanted,
        seconds: vec![seconds; 5],
        busy_seconds: vec![seconds; 5],
        bytes_read: vec![8 * ROWS; 5],
        cells: Cells { rows: ROWS, sum: 0 },
    }
}

/// Look-ups a second of existing keys by one thread and by two, and seconds of scans.
fn run(side: Side, rates: [f64; 2], seconds: [f64; 2]) -> Run {
    let look_ups = [1, 2].map(|threads| look_ups(Present::Existing, threads, rates[threads - 1]));
    let both = |factor: f64| {
        vec![
            scans(Wanted::OneColumn, factor * seconds[0]),
            scans(Wanted::AllColumns, factor * seconds[1]),
        ]
    };
    let report = ReadingReport {
        settings: String::new(),
        bytes_on_disk: 5 * ROWS,
        look_ups: look_ups.into(),
        scans: both(1.0),
        fresh_scans: both(2.0),
    };
    Run {
        side,
        profile: DiskProfile::Native,
        report,
    }
}

#[test]
fn the_worst_ratio_to_the_better_rocksdb_is_the_goals() -> Result<()> {
    let mut ours = run(Side::Hedgerow, [30.0, 40.0], [1.0, 2.0]);
    ours.report
        .look_ups
        .push(look_ups(Present::Missing, 1, 1.0));
    let runs = [
        ours,
        run(Side::RocksdbZstd, [10.0, 20.0], [12.0, 9.0]),
        run(Side::RocksdbLz4, [15.0, 16.0], [13.0, 8.0]),
        run(Side::Parquet, [1.0, 1.0], [2.0, 1.0]),
    ];
    let mut results = Results::new("trees", "quick");
    figures::note(&mut results, &runs);
    let is = |metric, peer, expected: f64| {
        let value = results.value(metric, peer);
        assert!((value - expected).abs() < 1e-9, "{metric}: {value}");
    };
    is("S3a", Some("rocksdb-lz4"), 2.0);
    is("S3b", None, 0.01);
    is("S4a", Some("rocksdb-zstd"), 12.0);
    is("S4b", Some("rocksdb-lz4"), 4.0);
    is(
        "native: existing, 1 at once, 2 thr., ratio",
        Some("rocksdb-zstd"),
        2.0,
    );
    is("native: scan 1 column, ratio", Some("parquet-zstd-3"), 2.0);
    is("native: scan 10 columns, 10 % fresh / settled", None, 0.5);
    is("native: scan 1 column", Some("rocksdb-lz4"), 1e3 / 13.0);
    is("native: on disk", None, 5.0);
    Ok(())
}

#[test]
fn the_figure_has_a_dot_for_each_rate_and_one_for_each_side_of_the_legend() {
    let runs = [
        run(Side::Hedgerow, [30.0, 40.0], [1.0, 2.0]),
        run(Side::RocksdbZstd, [10.0, 20.0], [12.0, 9.0]),
    ];
    let svg = rates_figure::draw(&runs);
    assert_eq!(svg.matches("<circle").count(), 2 * (2 + 2 + 2) + 2);
    assert_eq!(svg.matches(">scan 1 column, 10 % fresh<").count(), 1);
    assert_eq!(svg.matches("Disk profile native").count(), 1);
}
