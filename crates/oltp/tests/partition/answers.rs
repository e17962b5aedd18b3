//! Whatever is on disk, answers are those of a model.

use std::collections::HashMap;

use oltp::{AntiCacheOptions, ChainKind, MergeStrategy, Outcome, Refusal, Sampling};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sim::SimulatedDisk;

use crate::model::Model;
use crate::script::some_transaction;
use crate::world::{execute, open, run, settle, tight};

const IDS: i64 = 600;

/// Calls are made while others wait; each must answer as the model does in the order of their ends. Gives the
/// number of rows that moved in memory.
fn compare_with_model(seed: u64, options: Option<AntiCacheOptions>) -> u64 {
    let mut random = StdRng::seed_from_u64(seed);
    let evicts = options.is_some();
    let mut partition = open(&SimulatedDisk::new(seed), options, false).expect("nothing fails");
    let mut model = Model::default();
    let mut waiting = HashMap::new();
    for step in 0..4_000 {
        let operations = some_transaction(&mut random, IDS);
        let (outcome, reply) = execute(&mut partition, &operations);
        match outcome {
            Outcome::Committed(_) => assert_eq!(model.run(&operations), Some(reply), "{step}"),
            Outcome::Stopped(_) => assert_eq!(model.run(&operations), None, "{step}"),
            Outcome::Waiting(ticket) => drop(waiting.insert(ticket, operations)),
            // It may be tried again when there is room; nothing happened.
            Outcome::Refused(refusal) => assert_eq!(refusal, Refusal::MemoryFull),
        }
        if random.random_ratio(1, 4) {
            for completion in settle(&mut partition) {
                let operations = waiting.remove(&completion.ticket).expect("it waited");
                let committed = matches!(completion.outcome, Outcome::Committed(_));
                let answer = committed.then_some(completion.reply);
                assert_eq!(model.run(&operations), answer, "{step}, waited");
            }
        }
    }
    settle(&mut partition).into_iter().for_each(|completion| {
        let operations = waiting.remove(&completion.ticket).expect("it waited");
        let committed = matches!(completion.outcome, Outcome::Committed(_));
        assert_eq!(
            model.run(&operations),
            committed.then_some(completion.reply)
        );
    });
    assert!(waiting.is_empty(), "every call has an end");
    let all = Model::reads_of_all(IDS);
    assert_eq!(run(&mut partition, &all), model.run(&all));
    let statistics = partition.anti_cache_statistics();
    assert_eq!(evicts, statistics.restarts > 50, "{statistics:?}");
    statistics.moved_rows
}

#[test]
fn without_eviction() {
    compare_with_model(1, None);
}

#[test]
fn with_every_strategy_chain_and_sampling() {
    let mut seed = 10;
    for merge in [
        MergeStrategy::Tuple,
        MergeStrategy::Block,
        MergeStrategy::Adaptive,
    ] {
        for chain in [ChainKind::Single, ChainKind::Double, ChainKind::TwoQueues] {
            for sampling in [Sampling::Transactions(0.1), Sampling::Accesses(1.0)] {
                seed += 1;
                let options = AntiCacheOptions {
                    merge,
                    chain,
                    sampling,
                    ..tight(IDS * 2 / 3, IDS / 2)
                };
                let moved_rows = compare_with_model(seed, Some(options));
                assert!(
                    moved_rows > 0,
                    "of both tables, or of the one that is not evicted"
                );
            }
        }
    }
}

/// A transaction that restarts do not help waits for the disk inside the partition.
#[test]
fn without_restarts() {
    let options = AntiCacheOptions {
        restarts_max: 0,
        ..tight(IDS * 2 / 3, IDS / 2)
    };
    compare_with_model(30, Some(options));
}
