//! What becomes of reports: figures with the right peers, and a curve for each side.

use anyhow::Result;
use contender::record::RECORD_BYTES;
use contender::{Report, WINDOW_ROWS};

use super::live_data::LiveData;
use super::run::Run;
use super::side::Side;
use super::{figures, throughput};
use crate::limits::disk::DiskProfile;
use crate::results::Results;

/// A run whose first window took one second and the second one so many.
fn run(side: Side, profile: DiskProfile, second_window: f64, bytes_a_row: u64) -> Run {
    let rows = 2 * WINDOW_ROWS;
    let report = Report {
        settings: String::new(),
        rows,
        window_ends: vec![1.0, 1.0 + second_window],
        window_stolen: Vec::new(),
        insert_seconds: 1.0 + second_window,
        seconds: 1.0 + second_window,
        batch_times: None,
        undisturbed_batch_times: None,
        space: vec![
            (rows / 2, 3 * bytes_a_row * rows as u64 / 2),
            (rows, 2 * bytes_a_row * rows as u64),
        ],
        bytes_at_end: bytes_a_row * rows as u64,
        bytes_written: 4 * bytes_a_row * rows as u64,
        settle_seconds: 0.0,
    };
    Run {
        side,
        profile,
        report,
    }
}

fn runs() -> Vec<Run> {
    use DiskProfile::{Cloud, Native};
    vec![
        run(Side::Hedgerow, Native, 1.0, 6),
        run(Side::Rose, Native, 0.5, 7),
        run(Side::RocksdbZstd, Native, 7.0, 12),
        run(Side::RocksdbLz4, Native, 5.0, 24),
        run(Side::Innodb, Native, 99.0, 60),
        run(Side::Hedgerow, Cloud, 3.0, 6),
        run(Side::RocksdbZstd, Cloud, 7.0, 24),
        run(Side::RocksdbLz4, Cloud, 11.0, 24),
    ]
}

#[test]
fn ratios_are_against_the_best_rocksdb_and_the_end_of_innodb() -> Result<()> {
    let mut results = Results::new("weather", "quick");
    // A quarter of the rows: R is 2, the model writes each four times.
    let memory_bytes = 2 * WINDOW_ROWS * RECORD_BYTES / 4;
    let live_data = LiveData::of_prefixes(vec![(WINDOW_ROWS, 2.0), (2 * WINDOW_ROWS, 1.0)]);
    figures::note(&mut results, &runs(), &live_data, memory_bytes as u64);
    let json = serde_json::to_value(&results)?;
    let is = |metric, peer, expected: f64| {
        let value = results.value(metric, peer);
        assert!((value - expected).abs() < 1e-9, "{metric}: {value}");
    };
    is("R6c", Some("rocksdb-lz4"), 3.0);
    is("R6a", Some("rocksdb-zstd"), 2.0);
    is("R6d", Some("innodb"), 99.0);
    is("R7", None, 2.0 / 3.0);
    is("R8", None, 2.0);
    is("native: most on disk / rows at their final size", None, 3.0);
    is("native: most on disk / live", Some("rose"), 2.0);
    is("R9", Some("rocksdb-zstd"), 0.5);
    is("R9", Some("innodb"), 0.1);
    is("native: inserts", None, WINDOW_ROWS as f64);
    is("cloud: write amplification / Rose's model", None, 1.0);
    assert_eq!(json["series"].as_array().map(Vec::len), Some(runs().len()));
    Ok(())
}

#[test]
fn the_figure_has_two_curves_a_run_and_a_row_of_panels_a_profile() {
    let svg = throughput::draw(&runs());
    assert_eq!(svg.matches("<polyline").count(), 2 * runs().len());
    assert_eq!(svg.matches("Disk profile native").count(), 2);
    assert_eq!(svg.matches("Disk profile cloud").count(), 2);
    assert_eq!(svg.matches(">innodb<").count(), 1);
    assert_eq!(svg.matches(">rose<").count(), 1);
}
