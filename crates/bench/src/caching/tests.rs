//! What becomes of reports: medians over seeds, ratios, and the policy that ours is held against.

use contender::caching::{CachingReport, Phase, Second};

use super::figures;
use super::hit_ratio_figure;
use super::run::Run;
use super::side::Side;
use crate::results::Results;

fn phase(reads: u64, misses: &[u64]) -> Phase {
    let second = |&misses: &u64| Second {
        seconds: 1.0,
        reads,
        misses,
        is_merging: misses > 0,
        ..Second::default()
    };
    Phase {
        seconds: misses.iter().map(second).collect(),
        ..Phase::default()
    }
}

fn run(side: Side, load: &str, seed: u64, reads: u64, misses: &[u64]) -> Run {
    Run {
        side,
        load: load.to_owned(),
        seed,
        report: CachingReport {
            settings: String::new(),
            quiet: phase(reads, &[0, 0]),
            written: phase(reads, misses),
            rows_written: 100,
            recovered: phase(reads, &[0]),
            inserts_a_second: 10.0,
            insert_busy_seconds: 1.0,
            bytes_at_end: 0,
        },
    }
}

fn runs() -> Vec<Run> {
    let mut runs = Vec::new();
    for seed in 1..=3 {
        let reads = 1_000 * seed;
        runs.push(run(Side::Hedgerow, "hot", seed, reads, &[0, 20]));
        runs.push(run(Side::PlainLsm, "hot", seed, reads / 4, &[0, 40]));
        runs.push(run(Side::RocksdbLru, "hot", seed, reads / 5, &[0, 40]));
        runs.push(run(Side::RocksdbClock, "hot", seed, reads / 2, &[0, 40]));
        runs.push(run(Side::Hedgerow, "wide", seed, 1_000, &[500]));
        runs.push(run(Side::PlainLsm, "wide", seed, 1_000, &[510]));
        runs.push(run(Side::DeadPagesErased, "wide", seed, 1_000, &[490]));
    }
    runs
}

#[test]
fn a_goal_is_the_ratio_of_medians_in_the_first_load() {
    let mut results = Results::new("rangehot", "quick");
    figures::note(&mut results, &runs());
    let is = |metric, peer, expected: f64| {
        let value = results.value(metric, peer);
        assert!((value - expected).abs() < 1e-9, "{metric}: {value}");
    };
    is("L1a", Some("plain-lsm"), 4.0);
    is("L1c", Some("rocksdb-clock"), 2.0);
    is("L2", None, 0.995);
    is("L4b", Some("plain-lsm"), 1.0);
    is("hot: reads", None, 2_000.0);
    is("hot: hit ratio", None, 99.5);
}

#[test]
fn the_best_policy_of_the_worst_load_counts() {
    let mut results = Results::new("zipfian", "quick");
    figures::note(&mut results, &runs());
    let below = results.value("L3", Some("dead-pages-erased"));
    assert!((below - 1.0).abs() < 1e-9, "{below}");
}

#[test]
fn the_figure_has_a_curve_and_a_name_for_each_side_of_a_load() {
    let svg = hit_ratio_figure::draw(&runs());
    assert_eq!(svg.matches("<polyline").count(), 4 + 3);
    assert_eq!(svg.matches(">plain-lsm<").count(), 2);
    assert_eq!(svg.matches("stroke-width=\"6\"").count(), 4 + 3);
}
