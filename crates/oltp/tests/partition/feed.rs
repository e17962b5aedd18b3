//! What a replica is given: everything that has committed, net, in order, and nothing that a crash may take back.

use std::path::Path;
use std::time::Duration;

use oltp::{AntiCacheOptions, FeedStart, Partition, PartitionPlan, PrimaryError, Refusal};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sim::{SimulatedDisk, environment};
use types::CommitPosition;

use crate::model::Model;
use crate::replica::{Replica, difference};
use crate::script::{Kind, Operation, some_transaction};
use crate::world::{
    finish_snapshot, open, open_for_replica, plan, run, settle, small_slices, tight, try_run,
};

const IDS: i64 = 400;

fn start(after: CommitPosition) -> FeedStart {
    FeedStart {
        after,
        bytes_max: 1 << 20,
    }
}

fn follow_from(
    disk: &SimulatedDisk,
    anti_cache: Option<AntiCacheOptions>,
    after: u64,
) -> Partition {
    let opened = open_for_replica(disk, anti_cache, start(CommitPosition(after)));
    let mut partition = opened.expect("nothing fails");
    let set = partition.set_snapshot_options(small_slices());
    set.expect("they make sense");
    partition
}

fn operation(kind: Kind, id: i64, group: i64, text: Option<(u8, u16)>) -> Operation {
    Operation {
        kind,
        table: 0,
        id,
        group,
        text,
    }
}

/// What each transaction is said to have changed is the difference between the states before and after
/// it, whatever is evicted, fetched and rolled back meanwhile; and it is durable when it is said.
#[test]
fn changes_are_the_difference_between_states() {
    // Of few rows one is often changed several times in a transaction.
    let cases = [(IDS, Some(tight(IDS / 2, IDS / 4))), (IDS, None), (3, None)];
    for (seed, (ids, options)) in (0..).zip(cases) {
        let disk = SimulatedDisk::new(seed);
        let mut random = StdRng::seed_from_u64(seed);
        let evicts = options.is_some();
        let mut partition = follow_from(&disk, options, 0);
        let feed = partition.change_feed().expect("it was asked for");
        let (mut replica, mut states) = (Replica::default(), vec![Model::default()]);
        for _ in 0..1_500 {
            let operations = some_transaction(&mut random, ids);
            let mut state = states.last().expect("the empty state").clone();
            let answer = state.run(&operations);
            assert_eq!(run(&mut partition, &operations), answer);
            if partition.position().0 as usize == states.len() {
                states.push(state);
            }
            if random.random_ratio(1, 5) {
                settle(&mut partition);
            }
            replica.follow(&feed, |position, changed| {
                let at = position.0 as usize;
                assert_eq!(changed, difference(&states[at - 1], &states[at]), "{at}");
            });
            assert_eq!(replica.position, partition.durable());
        }
        settle(&mut partition);
        replica.follow(&feed, |_, _| {});
        assert_eq!(replica.position, partition.position());
        assert_eq!(Some(&replica.state), states.last());
        assert_eq!(feed.held_bytes(), 0);
        let statistics = partition.anti_cache_statistics();
        assert_eq!(evicts, statistics.evicted_rows > 100, "{statistics:?}");
        assert_eq!(evicts, statistics.restarts > 100, "{statistics:?}");
    }
}

/// A row that is changed several times in one transaction is one change, from what it was to what it is.
#[test]
fn a_row_has_one_change_a_transaction() {
    let disk = SimulatedDisk::new(1);
    let mut partition = follow_from(&disk, None, 0);
    let feed = partition.change_feed().expect("it was asked for");
    let (a, b, c) = (Some((1, 30)), Some((2, 30)), Some((3, 300)));
    let inserted = operation(Kind::Insert, 1, 0, a);
    let transactions = [
        // New and then changed: it comes.
        vec![inserted, operation(Kind::Refill, 1, 0, b)],
        // Changed in place, several times.
        vec![
            operation(Kind::Refill, 1, 0, a),
            operation(Kind::Refill, 1, 0, c),
        ],
        // Changed in place, replaced, changed in place again.
        vec![
            operation(Kind::Refill, 1, 0, a),
            operation(Kind::Refill, 1, 0, b),
            operation(Kind::Update, 1, 5, c),
            operation(Kind::Update, 1, 6, a),
            operation(Kind::Refill, 1, 0, b),
        ],
        // Changed and then gone.
        vec![
            operation(Kind::Refill, 1, 0, a),
            operation(Kind::Delete, 1, 0, None),
        ],
        // New and gone: nothing, but the position counts.
        vec![inserted, operation(Kind::Delete, 1, 0, None)],
        // Gone, and another one of this key comes.
        vec![inserted],
        vec![
            operation(Kind::Delete, 1, 0, None),
            operation(Kind::Insert, 1, 7, c),
        ],
        // What it was already.
        vec![operation(Kind::Update, 1, 7, c)],
    ];
    let mut states = vec![Model::default()];
    for operations in &transactions {
        let mut state = states.last().expect("the empty state").clone();
        state.run(operations).expect("committed");
        states.push(state);
        run(&mut partition, operations).expect("committed");
    }
    settle(&mut partition);
    let changes = feed.take(usize::MAX).expect("nothing fails").expect("all");
    let kinds: Vec<Vec<_>> = changes
        .transactions()
        .map(|transaction| {
            let kinds = transaction.changes();
            kinds
                .map(|change| (change.old.is_some(), change.new.is_some()))
                .collect()
        })
        .collect();
    let (comes, stays, goes) = ((false, true), (true, true), (true, false));
    let expected = [
        vec![comes],
        vec![stays],
        vec![stays],
        vec![goes],
        vec![],
        vec![comes],
        vec![goes, comes],
        vec![],
    ];
    assert_eq!(kinds, expected);
    assert_eq!(changes.last(), partition.position());
    drop(partition);
    // The same when it is run again, with the cells that each row had and has.
    let partition = follow_from(&disk, None, 0);
    let feed = partition.change_feed().expect("it was asked for");
    let mut replica = Replica::default();
    replica.follow(&feed, |position, changed| {
        let at = position.0 as usize;
        assert_eq!(changed, difference(&states[at - 1], &states[at]), "{at}");
    });
    assert_eq!(Some(&replica.state), states.last());
}

/// Rows that exchange their keys: who carries the changes out one after another has the right rows.
#[test]
fn rows_may_exchange_their_keys() {
    let mut partition = follow_from(&SimulatedDisk::new(1), None, 0);
    let feed = partition.change_feed().expect("it was asked for");
    let mut model = Model::default();
    let rename = |id, to| operation(Kind::Rename, id, to, None);
    let transactions = [
        vec![
            operation(Kind::Insert, 1, 11, Some((1, 10))),
            operation(Kind::Insert, 2, 12, Some((2, 20))),
            operation(Kind::Insert, 3, 13, None),
        ],
        vec![rename(1, 9), rename(2, 1), rename(3, 2), rename(9, 3)],
        vec![
            operation(Kind::Delete, 2, 0, None),
            rename(1, 2),
            rename(3, 1),
        ],
    ];
    for operations in &transactions {
        model.run(operations).expect("they commit");
        run(&mut partition, operations).expect("committed");
    }
    settle(&mut partition);
    let mut replica = Replica::default();
    replica.follow(&feed, |_, _| {});
    assert_eq!(replica.state, model);
}

/// A replica that takes nothing has calls refused before its changes fill the memory, those that
/// have waited for evicted data included; when it takes them, all goes on.
#[test]
fn a_replica_that_takes_nothing_holds_calls_up() {
    let disk = SimulatedDisk::new(1);
    let feed = FeedStart {
        after: CommitPosition::ZERO,
        bytes_max: 100_000,
    };
    let opened = open_for_replica(&disk, Some(tight(IDS, 0)), feed);
    let mut partition = opened.expect("nothing fails");
    let feed = partition.change_feed().expect("it was asked for");
    let mut committed = 0_i64;
    let insert = |id: i64| [operation(Kind::Insert, id, id % 20, Some((7, 1_000)))];
    let mut replica = Replica::default();
    while let Ok(answer) = try_run(&mut partition, &insert(committed)) {
        answer.expect("committed");
        settle(&mut partition);
        committed += 1;
    }
    assert!((90..110).contains(&committed), "{committed}");
    let refused = try_run(&mut partition, &[operation(Kind::Get, 0, 0, None)]);
    assert_eq!(refused, Err(Refusal::ReplicaBehind));
    assert!((100_000..102_000).contains(&feed.held_bytes()));
    let before = partition.memory().live_bytes;
    let durable = partition.durable();
    replica.follow(&feed, |_, _| {});
    assert_eq!(
        replica.position, durable,
        "what was refused has not happened"
    );
    assert!(partition.memory().live_bytes < before - 100_000);
    assert!(
        try_run(&mut partition, &insert(IDS))
            .expect("there is room")
            .is_some()
    );
}

/// Runs transactions, and notes the state at each position.
fn go(partition: &mut Partition, states: &mut Vec<Model>, random: &mut StdRng, steps: usize) {
    for _ in 0..steps {
        let operations = some_transaction(random, IDS);
        let mut state = states.last().expect("the empty state").clone();
        match try_run(partition, &operations) {
            Ok(answer) => assert_eq!(answer, state.run(&operations)),
            // It has not happened.
            Err(refusal) => assert_eq!(refusal, Refusal::MemoryFull),
        }
        if partition.position().0 as usize == states.len() {
            states.push(state);
        }
        settle(partition);
    }
}

/// As long as the replica has not confirmed what the newest snapshot has, no other one is made: the log
/// after the older one still makes all changes again that the replica lacks.
#[test]
fn the_log_keeps_what_the_replica_has_not_confirmed() {
    let disk = SimulatedDisk::new(3);
    let mut random = StdRng::seed_from_u64(3);
    let anti_cache = tight(IDS / 2, IDS / 4);
    let mut partition = follow_from(&disk, Some(anti_cache.clone()), 0);
    let mut feed = partition.change_feed().expect("it was asked for");
    let (mut replica, mut states) = (Replica::default(), vec![Model::default()]);
    let (mut made, mut refused, mut from_older) = (0, 0, 0);
    for round in 0..24 {
        go(&mut partition, &mut states, &mut random, 40);
        let newest = partition.snapshot_position();
        let may_begin = newest <= Some(feed.confirmed());
        assert_eq!(partition.begin_snapshot(), may_begin, "{newest:?}");
        // Whoever follows is told when it is time to confirm.
        assert_eq!(feed.awaited(), newest.filter(|_| !may_begin));
        if may_begin {
            let before = partition.snapshot_statistics().completed;
            finish_snapshot(&mut partition, before);
            made += 1;
        } else {
            refused += 1;
        }
        if round % 3 == 2 {
            // It does not confirm all that it has.
            let has = replica.position;
            replica.follow(&feed, |_, _| {});
            feed.confirm(has);
        }
        if round % 4 == 3 && round > 10 {
            // Both end. The replica has what it has confirmed, and asks for all after it.
            let confirmed = feed.confirmed();
            let newest = partition.snapshot_position();
            drop(partition);
            partition = follow_from(&disk, Some(anti_cache.clone()), confirmed.0);
            feed = partition.change_feed().expect("it was asked for");
            from_older += u64::from(partition.recovery().snapshot < newest);
            assert!(partition.recovery().snapshot <= Some(confirmed));
            replica = Replica {
                state: states[confirmed.0 as usize].clone(),
                position: confirmed,
                copied_parts: 0,
            };
            replica.follow(&feed, |_, _| {});
            assert_eq!(Some(&replica.state), states.last(), "from {confirmed} on");
        }
    }
    let counts = (made, refused, from_older);
    assert!(made > 3 && refused > 3 && from_older > 0, "{counts:?}");
}

/// A partition with rows on disk, whose log does not reach back to its beginning, and its states.
fn with_a_past(disk: &SimulatedDisk, random: &mut StdRng) -> Vec<Model> {
    let opened = open(disk, Some(tight(IDS, IDS / 2)), true);
    let mut partition = opened.expect("nothing fails");
    let set = partition.set_snapshot_options(small_slices());
    set.expect("they make sense");
    let mut states = vec![Model::default()];
    for id in 0..IDS {
        let insert = [operation(Kind::Insert, id, id % 20, Some((1, 350)))];
        let mut state = states[id as usize].clone();
        assert_eq!(run(&mut partition, &insert), state.run(&insert));
        states.push(state);
        settle(&mut partition);
    }
    for before in 0..3 {
        go(&mut partition, &mut states, random, 100);
        assert!(partition.begin_snapshot());
        finish_snapshot(&mut partition, before);
    }
    assert!(partition.table_statistics()[0].rows_evicted > 50);
    go(&mut partition, &mut states, random, 50);
    states
}

/// A replica that has nothing, or less than the log reaches back to, is given all rows as the newest snapshot has
/// them, and then what follows. Rows on disk stay there; and what transactions do meanwhile, also
/// to rows that were not copied yet, comes after the copy.
#[test]
fn a_new_replica_is_given_a_copy() {
    for (seed, after) in [(5, 0), (6, 1)] {
        let disk = SimulatedDisk::new(seed);
        let mut random = StdRng::seed_from_u64(seed);
        let mut states = with_a_past(&disk, &mut random);
        let mut partition = follow_from(&disk, Some(tight(IDS, IDS / 2)), after);
        let snapshot = partition.recovery().snapshot.expect("there is one");
        let feed = partition.change_feed().expect("it was asked for");
        let fetched = partition.anti_cache_statistics().returned_rows;
        let mut replica = Replica::default();
        loop {
            let changes = feed.take(2_000).expect("nothing fails").expect("a copy");
            replica.copy(&changes);
            if replica.position > CommitPosition::ZERO {
                break;
            }
            if replica.copied_parts == 3 {
                assert_eq!(partition.anti_cache_statistics().returned_rows, fetched);
            }
            if replica.copied_parts % 3 == 0 {
                go(&mut partition, &mut states, &mut random, 20);
            }
            assert!(!partition.begin_snapshot(), "the copy's files are needed");
        }
        assert!(replica.copied_parts > 20, "{}", replica.copied_parts);
        assert_eq!(replica.position, snapshot);
        assert_eq!(replica.state, states[snapshot.0 as usize]);
        replica.follow(&feed, |_, _| {});
        assert_eq!(Some(&replica.state), states.last());
        feed.confirm(replica.position);
        assert!(partition.begin_snapshot());
    }
}

/// An empty partition of which there is a snapshot makes an empty copy.
#[test]
fn a_copy_of_nothing_has_an_end() {
    let disk = SimulatedDisk::new(7);
    let mut partition = open(&disk, None, true).expect("nothing fails");
    run(&mut partition, &[operation(Kind::Insert, 1, 1, None)]).expect("committed");
    run(&mut partition, &[operation(Kind::Delete, 1, 1, None)]).expect("committed");
    assert!(partition.begin_snapshot());
    finish_snapshot(&mut partition, 0);
    let position = partition.position();
    drop(partition);
    let partition = follow_from(&disk, None, 0);
    let feed = partition.change_feed().expect("it was asked for");
    let mut replica = Replica::default();
    replica.follow(&feed, |_, _| {});
    assert_eq!((replica.position, replica.copied_parts), (position, 1));
    assert_eq!(replica.state, Model::default());
}

/// A block that cannot be read for a copy is named; when it can, the copy goes on where it was.
#[test]
fn a_copy_goes_on_after_a_failure() {
    let disk = SimulatedDisk::new(8);
    let mut random = StdRng::seed_from_u64(8);
    let states = with_a_past(&disk, &mut random);
    let partition = follow_from(&disk, Some(tight(IDS, IDS / 2)), 0);
    let feed = partition.change_feed().expect("it was asked for");
    let blocks = disk.files().into_iter().map(|(path, _)| path);
    let blocks = blocks.filter(|path| path.to_string_lossy().contains("blocks-"));
    let flip = |path: &std::path::PathBuf| {
        for block in 0..4 {
            disk.flip_byte(path, block * 2_048 + 100, 3);
        }
    };
    let blocks: Vec<_> = blocks
        .filter(|path| disk.bytes(path).len() == 4 * 2_048)
        .collect();
    blocks.iter().for_each(flip);
    let mut replica = Replica::default();
    let error = loop {
        match feed.take(1_000) {
            Ok(changes) => replica.copy(&changes.expect("a copy")),
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("blocks-"), "{error}");
    assert_eq!(replica.position, CommitPosition::ZERO);
    blocks.iter().for_each(flip);
    replica.follow(&feed, |_, _| {});
    assert_eq!(Some(&replica.state), states.last());
}

/// A replica of another primary is refused, and so is one of a primary without a log.
#[test]
fn a_replica_that_does_not_fit_is_refused() {
    let disk = SimulatedDisk::new(4);
    let mut random = StdRng::seed_from_u64(4);
    let mut partition = open(&disk, None, true).expect("nothing fails");
    let mut states = vec![Model::default()];
    go(&mut partition, &mut states, &mut random, 50);
    let end = partition.position();
    drop(partition);
    let opened = open_for_replica(&disk, None, start(CommitPosition(end.0 + 1)));
    let ahead = opened.map(drop).expect_err("it has more");
    assert!(
        matches!(ahead, PrimaryError::ReplicaAhead { .. }),
        "{ahead}"
    );
    let mut partition = follow_from(&disk, None, end.0);
    let feed = partition.change_feed().expect("it was asked for");
    assert!(feed.take(1).expect("nothing fails").is_none());
    go(&mut partition, &mut states, &mut random, 50);
    let mut replica = Replica {
        state: states[end.0 as usize].clone(),
        position: end,
        copied_parts: 0,
    };
    replica.follow(&feed, |_, _| {});
    assert_eq!(Some(&replica.state), states.last());
    let without_log = PartitionPlan {
        feed: Some(start(CommitPosition::ZERO)),
        ..plan(None, false)
    };
    let opened = Partition::open(&environment(&disk), Path::new("/other"), without_log);
    let refused = opened.map(drop).expect_err("it would forget");
    assert!(refused.to_string().contains("keeps a log"), "{refused}");
}

/// A replica's thread that waits is woken when there is something to take.
#[test]
fn a_waiting_replica_is_woken() {
    let mut partition = follow_from(&SimulatedDisk::new(5), None, 0);
    let feed = partition.change_feed().expect("it was asked for");
    feed.wait(Duration::from_millis(1));
    std::thread::scope(|scope| {
        let replica = scope.spawn(|| {
            loop {
                feed.wait(Duration::from_secs(3_600));
                if let Some(changes) = feed.take(1).expect("nothing fails") {
                    return changes.last();
                }
            }
        });
        run(&mut partition, &[operation(Kind::Insert, 1, 1, None)]).expect("committed");
        settle(&mut partition);
        assert_eq!(replica.join().expect("no panic"), partition.position());
    });
}
