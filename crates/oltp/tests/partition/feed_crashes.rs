//! The primary ends at any operation of the disk, and the replica asks for what it lacks.

use std::sync::{Arc, LazyLock, Mutex};

use oltp::{AntiCacheOptions, FeedStart, Partition};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sim::SimulatedDisk;
use types::CommitPosition;

use crate::crashes::{seeds, some_crash};
use crate::model::Model;
use crate::replica::Replica;
use crate::script::some_transaction;
use crate::world::{open_for_replica, run, settle, small_slices, tight};

const IDS: i64 = 400;

/// What the replica has: all that it has taken, and of that what it has confirmed.
#[derive(Clone, Default)]
struct Replicas {
    taken: Replica,
    confirmed: Replica,
}

/// A disk that would be found, and what the replica had then.
type Image = (SimulatedDisk, Replicas);

/// Makes images at one of three operations of the disk.
fn watch(
    disk: &SimulatedDisk,
    seed: u64,
    replicas: &Arc<Mutex<Replicas>>,
) -> Arc<Mutex<Vec<Image>>> {
    let images: Arc<Mutex<Vec<Image>>> = Arc::default();
    let (made, replicas) = (Arc::clone(&images), Arc::clone(replicas));
    let random = Mutex::new(StdRng::seed_from_u64(seed));
    disk.watch(Some(Arc::new(move |moment| {
        let mut random = random.lock().expect("no panic");
        if random.random_ratio(1, 3) {
            let found = moment.found_after(some_crash(&mut random), random.random());
            let replicas = replicas.lock().expect("no panic").clone();
            made.lock().expect("no panic").push((found, replicas));
        }
    })));
    images
}

fn open(disk: &SimulatedDisk, after: CommitPosition) -> Partition {
    static OPTIONS: LazyLock<AntiCacheOptions> = LazyLock::new(|| tight(IDS / 2, IDS / 4));
    let start = FeedStart {
        after,
        bytes_max: 1 << 20,
    };
    let opened = open_for_replica(disk, Some(OPTIONS.clone()), start);
    let mut partition = opened.expect("a crash damages nothing, and loses nothing the replica has");
    let set = partition.set_snapshot_options(small_slices());
    set.expect("they make sense");
    partition
}

/// Runs transactions and snapshots, noting the state at each position; the replica takes and confirms
/// now and then.
fn go(
    partition: &mut Partition,
    random: &mut StdRng,
    states: &mut Vec<Model>,
    replicas: &Mutex<Replicas>,
    steps: usize,
) {
    let feed = partition.change_feed().expect("it was asked for");
    let writer = partition.snapshot_writer().expect("it has a log");
    for _ in 0..steps {
        if random.random_ratio(1, 15) {
            partition.begin_snapshot();
        }
        if random.random_ratio(1, 2) {
            let files = partition.block_files().expect("it evicts");
            while files.write().expect("nothing fails") {}
            partition.poll(&mut Vec::new()).expect("nothing fails");
            writer.write().expect("nothing fails");
        }
        let operations = some_transaction(random, IDS);
        run(partition, &operations);
        if partition.position().0 as usize == states.len() {
            let mut state = states.last().expect("there is the empty state").clone();
            state.run(&operations);
            states.push(state);
        }
        if random.random_ratio(1, 5) {
            settle(partition);
        }
        let mut held = replicas.lock().expect("no panic");
        if random.random_ratio(1, 4) {
            held.taken.take(&feed, random.random_range(0..4_000));
        }
        if random.random_ratio(1, 12) {
            held.confirmed = held.taken.clone();
            feed.confirm(held.confirmed.position);
        }
    }
}

/// Opens what was found for a replica that has this. It has nothing that the primary has lost, and gets all that it lacks.
fn check(found: &SimulatedDisk, replica: &Replica, states: &[Model]) -> (Partition, Replica) {
    let partition = open(found, replica.position);
    let position = partition.position();
    assert!(replica.position <= position);
    assert_eq!(partition.recovery().skipped.len(), 0);
    let feed = partition.change_feed().expect("it was asked for");
    let mut replica = replica.clone();
    replica.copied_parts = 0;
    if replica.position == CommitPosition::ZERO {
        // Of a copy that was not whole nothing is used.
        replica = Replica::default();
    }
    let is_new = replica.position == CommitPosition::ZERO;
    replica.follow(&feed, |_, _| {});
    assert_eq!(replica.position, position);
    assert_eq!(replica.state, states[position.0 as usize], "at {position}");
    assert!(is_new || replica.copied_parts == 0, "the log reaches back");
    (partition, replica)
}

/// Whatever the replica had taken or confirmed when the primary ended: it has nothing that the primary
/// does not have any more, and is given what it lacks, once. `HEDGEROW_PRIMARY_RUNS` runs more histories.
#[test]
fn a_replica_agrees_with_what_is_recovered() {
    let (mut checked, mut from_snapshots, mut copied) = (0_u64, 0_u64, 0_u64);
    let seeds = seeds(10);
    let runs = seeds.end - seeds.start;
    for seed in seeds {
        let mut random = StdRng::seed_from_u64(seed);
        let disk = SimulatedDisk::new(seed);
        let replicas = Arc::new(Mutex::new(Replicas::default()));
        let images = watch(&disk, seed, &replicas);
        let mut partition = open(&disk, CommitPosition::ZERO);
        let mut states = vec![Model::default()];
        go(&mut partition, &mut random, &mut states, &replicas, 150);
        for (found, had) in images.lock().expect("no panic").drain(..) {
            let had = match random.random_range(0..5) {
                0 => Replica::default(),
                1 | 2 => had.taken,
                _ => had.confirmed,
            };
            let (mut again, replica) = check(&found, &had, &states);
            checked += 1;
            from_snapshots += u64::from(again.recovery().snapshot.is_some());
            copied += u64::from(replica.copied_parts > 0);
            if random.random_ratio(1, 10) {
                // Both go on, and the primary ends once more.
                let mut states = states[..=replica.position.0 as usize].to_vec();
                let replicas = Mutex::new(Replicas {
                    taken: replica,
                    confirmed: had,
                });
                go(&mut again, &mut random, &mut states, &replicas, 40);
                let crash = found.crash(some_crash(&mut random));
                drop(again);
                let had = replicas.into_inner().expect("no panic");
                check(&crash, &had.taken, &states);
                check(&crash, &had.confirmed, &states);
                checked += 2;
            }
        }
    }
    println!("{checked} crash states, {from_snapshots} recovered from a snapshot, {copied} copies");
    assert!(
        checked > 50 * runs && from_snapshots > checked / 4,
        "{checked}, {from_snapshots}"
    );
    assert!(copied > runs, "{copied}");
}
