//! The process ends at any operation of the disk. What was durable is there, nothing is half there.

use std::sync::{Arc, Mutex};

use oltp::{Outcome, Partition};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sim::{Crash, SimulatedDisk};

use crate::model::Model;
use crate::script::some_transaction;
use crate::world::{open, run, settle, small_slices, tight};

const IDS: i64 = 400;

/// Disks that would be found, each with the position that was durable then.
type Images = Arc<Mutex<Vec<(SimulatedDisk, u64)>>>;

/// A crash of some kind.
pub fn some_crash(random: &mut StdRng) -> Crash {
    match random.random_range(0..4) {
        0 => Crash::Kill,
        1 => Crash::PowerCut { keep: 0.0 },
        _ => Crash::PowerCut { keep: 0.5 },
    }
}

/// Makes images at one of three operations of the disk.
fn watch(disk: &SimulatedDisk, seed: u64, durable: &Arc<Mutex<u64>>) -> Images {
    let images = Images::default();
    let (taken, durable) = (Arc::clone(&images), Arc::clone(durable));
    let random = Mutex::new(StdRng::seed_from_u64(seed));
    disk.watch(Some(Arc::new(move |moment| {
        let mut random = random.lock().expect("no panic");
        if random.random_ratio(1, 3) {
            let found = moment.found_after(some_crash(&mut random), random.random());
            let durable = *durable.lock().expect("no panic");
            taken.lock().expect("no panic").push((found, durable));
        }
    })));
    images
}

/// Opens what was found: it is the state at some position, and not one before the durable one.
fn check(found: &SimulatedDisk, durable: u64, states: &[Model]) -> Partition {
    let mut partition =
        open(found, Some(tight(IDS / 2, IDS / 4)), true).expect("a crash damages nothing");
    let position = partition.position().0;
    assert!(
        position >= durable,
        "{position} was recovered, {durable} was durable"
    );
    let all = Model::reads_of_all(IDS);
    let expected = states[position as usize].clone().run(&all);
    assert_eq!(
        partition.recovery().skipped.len(),
        0,
        "a crash damages no snapshot"
    );
    assert_eq!(run(&mut partition, &all), expected, "at {position}");
    partition
}

/// Runs transactions, noting the state at each position.
fn go(
    partition: &mut Partition,
    random: &mut StdRng,
    states: &mut Vec<Model>,
    durable: &Mutex<u64>,
    steps: usize,
) {
    partition
        .set_snapshot_options(small_slices())
        .expect("they make sense");
    let writer = partition.snapshot_writer().expect("it has a log");
    for _ in 0..steps {
        if random.random_ratio(1, 20) {
            partition.begin_snapshot();
        }
        if random.random_ratio(1, 2) {
            let files = partition.block_files().expect("it evicts");
            while files.write().expect("nothing fails") {}
            partition.poll(&mut Vec::new()).expect("nothing fails");
            writer.write().expect("nothing fails");
        }
        let operations = some_transaction(random, IDS);
        let before = partition.position().0;
        run(partition, &operations);
        if partition.position().0 > before {
            let mut state = states.last().expect("there is the empty state").clone();
            state.run(&operations);
            states.push(state);
        }
        if random.random_ratio(1, 5) {
            settle(partition);
        }
        *durable.lock().expect("no panic") = partition.durable().0;
    }
}

/// So many histories, unless more are asked for.
pub fn seeds(runs: u64) -> std::ops::Range<u64> {
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
    };
    let first = number("HEDGEROW_PRIMARY_SEED", 0);
    first..first + number("HEDGEROW_PRIMARY_RUNS", runs)
}

/// `HEDGEROW_PRIMARY_RUNS` runs more histories, `HEDGEROW_PRIMARY_SEED` says which is the first.
#[test]
fn acknowledged_is_durable_whenever_the_process_ends() {
    let (mut checked, mut from_snapshots) = (0_u64, 0_u64);
    let (mut evicted, mut moved) = (0_u64, 0_u64);
    let mut contents = std::collections::HashSet::new();
    let seeds = seeds(12);
    let runs = seeds.end - seeds.start;
    for seed in seeds {
        let mut random = StdRng::seed_from_u64(seed);
        let disk = SimulatedDisk::new(seed);
        let durable = Arc::new(Mutex::new(0));
        let mut partition =
            open(&disk, Some(tight(IDS / 2, IDS / 4)), true).expect("nothing fails");
        let mut states = vec![Model::default()];
        // Until there are more rows than memory.
        while partition.anti_cache_statistics().evicted_rows == 0 {
            go(&mut partition, &mut random, &mut states, &durable, 1);
        }
        let images = watch(&disk, seed, &durable);
        go(&mut partition, &mut random, &mut states, &durable, 100);
        let statistics = partition.anti_cache_statistics();
        (evicted, moved) = (
            evicted + statistics.evicted_rows,
            moved + statistics.moved_rows,
        );
        for (found, durable) in images.lock().expect("no panic").drain(..) {
            if !contents.insert(found.contents()) {
                continue;
            }
            let mut again = check(&found, durable, &states);
            from_snapshots += u64::from(again.recovery().snapshot.is_some());
            checked += 1;
            if random.random_ratio(1, 10) {
                // It goes on, ends once more, and is found again.
                let mut states = states[..=again.position().0 as usize].to_vec();
                let durable = Mutex::new(again.position().0);
                go(&mut again, &mut random, &mut states, &durable, 20);
                let crash = found.crash(some_crash(&mut random));
                drop(again);
                check(&crash, durable.into_inner().expect("no panic"), &states);
                checked += 1;
            }
        }
    }
    println!("{checked} distinct crash states, {from_snapshots} recovered from a snapshot");
    println!("{evicted} rows evicted, {moved} moved in memory");
    assert!(
        checked > 25 * runs && from_snapshots > checked / 4,
        "{checked}, {from_snapshots}"
    );
    assert!(evicted > 10 * runs && moved > runs, "{evicted}, {moved}");
}

/// What waits for evicted data when the process ends has not happened.
#[test]
fn waiting_transactions_are_not_half_there() {
    let disk = SimulatedDisk::new(1);
    let mut random = StdRng::seed_from_u64(1);
    let mut partition = open(&disk, Some(tight(IDS / 2, IDS / 4)), true).expect("nothing fails");
    let mut states = vec![Model::default()];
    go(
        &mut partition,
        &mut random,
        &mut states,
        &Mutex::new(0),
        800,
    );
    settle(&mut partition);
    let before = partition.position();
    let waits = (0..1_000).any(|_| {
        let operations = some_transaction(&mut random, IDS);
        let position = partition.position();
        let (outcome, _) = crate::world::execute(&mut partition, &operations);
        assert!(partition.position() == position || !matches!(outcome, Outcome::Waiting(_)));
        matches!(outcome, Outcome::Waiting(_))
    });
    assert!(waits, "some rows are on disk");
    let found = disk.crash(Crash::PowerCut { keep: 0.0 });
    drop(partition);
    check(&found, before.0, &states);
}
