//! Counterparts of H-Store's anti-cache tests, and of what those leave out. `docs/anti-cache-tests.md` says which stands
//! for which.

use std::path::Path;
use std::sync::Arc;

use oltp::{AntiCacheOptions, MergeStrategy, Outcome, Partition, PartitionPlan, Refusal, Sampling};
use sim::{Faults, SimulatedDisk, environment};

use crate::script::{GROUPS, Kind, Operation, Script, operation, tables};
use crate::world::{FOLDER, execute, open, run, settle, tight};

const ROWS: i64 = 1_000;

fn get(partition: &mut Partition, id: i64) -> Vec<u8> {
    run(partition, &[operation(Kind::Get, id)]).expect("committed")
}

/// What a row shows that was inserted by [`operation`].
fn shown(id: i64) -> Vec<u8> {
    let mut row = [id, id % GROUPS, 300].map(i64::to_le_bytes).concat();
    row.extend([id as u8; 300]);
    row
}

/// The answer to a reading statement that finds these rows.
fn answer(ids: &[i64]) -> Vec<u8> {
    let mut rows: Vec<u8> = ids.iter().flat_map(|id| shown(*id)).collect();
    rows.push(b'.');
    rows
}

fn filled(options: AntiCacheOptions) -> (SimulatedDisk, Partition) {
    let disk = SimulatedDisk::new(1);
    let mut partition = open(&disk, Some(options), false).expect("nothing fails");
    fill(&mut partition, 0);
    (disk, partition)
}

fn fill(partition: &mut Partition, table: u8) {
    for id in 0..ROWS {
        let row = Operation {
            table,
            ..operation(Kind::Insert, id)
        };
        assert!(run(partition, &[row]).is_some());
        settle(partition);
    }
}

fn block_merge() -> AntiCacheOptions {
    AntiCacheOptions {
        merge: MergeStrategy::Block,
        ..tight(ROWS, 0)
    }
}

/// Makes room: otherwise what comes back and is not wanted goes again at once.
fn make_room(partition: &mut Partition) {
    for id in ROWS - 50..ROWS {
        run(partition, &[operation(Kind::Delete, id)]).expect("committed");
    }
}

/// Reads a row: how many came back for it.
fn come_back(partition: &mut Partition, id: i64) -> u64 {
    let before = partition.anti_cache_statistics().returned_rows;
    assert_eq!(get(partition, id), answer(&[id]));
    partition.anti_cache_statistics().returned_rows - before
}

/// TestEvictionOrder, `GetTupleTimeStamp`: what was used longest ago goes first.
#[test]
fn rows_go_in_the_order_of_their_last_use() {
    let (_, mut partition) = filled(tight(ROWS, 0));
    let in_memory = partition.table_statistics()[0].rows_in_memory as i64;
    let oldest = ROWS - in_memory;
    for (id, is_evicted) in [(oldest - 1, true), (oldest, false), (ROWS - 1, false)] {
        let restarts = partition.anti_cache_statistics().restarts;
        let (outcome, _) = execute(&mut partition, &[operation(Kind::Get, id)]);
        let waits = matches!(outcome, Outcome::Waiting(_));
        assert_eq!(waits, is_evicted, "{id} of {oldest}");
        settle(&mut partition);
        let restarts_now = partition.anti_cache_statistics().restarts;
        assert_eq!(restarts_now - restarts, u64::from(is_evicted));
    }
}

/// `UpdateTuple`: an update makes the oldest row the youngest; it stays while as many others go as there were.
#[test]
fn an_update_makes_the_oldest_row_the_youngest() {
    for (sampling, stays) in [(1.0, true), (0.0, false)] {
        let options = AntiCacheOptions {
            sampling: Sampling::Transactions(sampling),
            ..tight(2 * ROWS, 0)
        };
        let (_, mut partition) = filled(options);
        let in_memory = partition.table_statistics()[0].rows_in_memory as i64;
        let oldest = ROWS - in_memory;
        assert!(run(&mut partition, &[operation(Kind::Update, oldest)]).is_some());
        for id in ROWS..ROWS + in_memory / 2 {
            assert!(run(&mut partition, &[operation(Kind::Insert, id)]).is_some());
            settle(&mut partition);
        }
        let came_back = come_back(&mut partition, oldest);
        assert_eq!(came_back == 0, stays, "{sampling}");
    }
}

/// `TestSetEntryToNewAddress`: rows that go and come back are found by every index, among others with equal keys.
#[test]
fn every_index_follows_a_row_to_disk_and_back() {
    let (_, mut partition) = filled(tight(ROWS, 0));
    let of_group = |group: i64| (0..ROWS).filter(move |id| id % GROUPS == group);
    for round in 0..2 {
        for group in 0..GROUPS {
            let count = run(&mut partition, &[operation(Kind::Count, group)]);
            let count = count.expect("committed");
            let (rows, sum) = (of_group(group).count() as i64, of_group(group).sum::<i64>());
            assert_eq!(count, [rows, sum].map(i64::to_le_bytes).concat(), "{round}");
            let up = run(&mut partition, &[operation(Kind::ScanUp, group)]);
            let first: Vec<i64> = of_group(group).take(7).collect();
            assert_eq!(up.expect("committed"), answer(&first));
        }
        for id in (0..ROWS).step_by(53) {
            assert_eq!(get(&mut partition, id), answer(&[id]));
        }
    }
}

/// `testReadEvictedTuples`, `testMultipleReadEvictedTuples`: the rows are what they were, one access to evicted data brings a
/// block back, and nine more reads of it none.
#[test]
fn a_block_that_has_come_back_is_not_read_again() {
    let (_, mut partition) = filled(block_merge());
    make_room(&mut partition);
    let of_block = come_back(&mut partition, 0) as i64;
    assert!(of_block > 3, "{of_block}");
    let before = partition.anti_cache_statistics();
    assert_eq!(before.restarts, 1);
    for read in 0..9 {
        let id = read % of_block;
        assert_eq!(get(&mut partition, id), answer(&[id]));
    }
    assert_eq!(partition.anti_cache_statistics(), before);
}

/// `testReadNonExistentBlock`: a block that is not there is named, to who needs it only.
#[test]
fn a_missing_block_is_named() {
    let (disk, mut partition) = filled(tight(ROWS, 0));
    let first = Path::new(FOLDER).join("blocks/blocks-0000000000.data");
    env::Disk::remove(&disk, &first).expect("it is there");
    let (outcome, _) = execute(&mut partition, &[operation(Kind::Get, 0)]);
    assert!(matches!(outcome, Outcome::Waiting(_)));
    let completed = settle(&mut partition);
    let Outcome::Stopped(stop) = &completed[0].outcome else {
        panic!("{completed:?}");
    };
    let message = stop.to_string();
    assert!(message.contains("blocks-0000000000.data"), "{message}");
    assert!(message.contains("found no file"), "{message}");
    assert_eq!(get(&mut partition, 500), answer(&[500]));
}

/// `FullBackingStore`: with a full disk nothing grows and everything is there; with room again it goes on.
#[test]
fn a_full_disk_refuses_and_loses_nothing() {
    let (disk, mut partition) = filled(tight(2 * ROWS, 0));
    disk.plan(Faults {
        capacity_bytes: Some(disk.occupied_bytes()),
        ..Faults::default()
    });
    let (mut added, mut refused) = (0, 0);
    for id in ROWS..ROWS + 300 {
        let (outcome, _) = execute(&mut partition, &[operation(Kind::Insert, id)]);
        match outcome {
            Outcome::Committed(_) if refused == 0 => added += 1,
            Outcome::Refused(Refusal::MemoryFull) => refused += 1,
            other => panic!("{id}: {other:?}"),
        }
        let files = partition.block_files().expect("it evicts");
        let _ = files.write();
        partition.poll(&mut Vec::new()).expect("nothing fails");
    }
    assert!(refused > 100, "{refused}");
    disk.plan(Faults::default());
    settle(&mut partition);
    for id in ROWS + added..ROWS + 300 {
        assert!(run(&mut partition, &[operation(Kind::Insert, id)]).is_some());
        settle(&mut partition);
    }
    for id in 0..ROWS + 300 {
        assert_eq!(get(&mut partition, id), answer(&[id]));
        settle(&mut partition);
    }
}

/// SeqScan and IndexScan `ReadMultiple`, the suite's IndexScan: a scan over evicted rows gets all of them after one restart.
#[test]
fn a_scan_over_evicted_rows_runs_again_once() {
    for kind in [Kind::ScanUp, Kind::ScanDown] {
        let (_, mut partition) = filled(tight(ROWS, 0));
        let mut ids: Vec<i64> = (0..ROWS)
            .filter(|id| (3..=5).contains(&(id % GROUPS)))
            .collect();
        ids.sort_by_key(|id| (id % GROUPS, *id));
        if kind == Kind::ScanDown {
            // The youngest rows are in memory: what is left is on disk.
            for id in ids.iter().filter(|id| **id >= ROWS - 300) {
                run(&mut partition, &[operation(Kind::Delete, *id)]).expect("committed");
                settle(&mut partition);
            }
            ids.retain(|id| *id < ROWS - 300);
            ids.reverse();
        }
        let before = partition.anti_cache_statistics();
        let scan = run(&mut partition, &[operation(kind, 3)]);
        assert_eq!(scan.expect("committed"), answer(&ids[..7]));
        let after = partition.anti_cache_statistics();
        assert_eq!(after.restarts - before.restarts, 1);
        assert_eq!(after.returned_rows - before.returned_rows, 7);
    }
}

/// TestAntiCacheMultiTable: tables count for themselves, and a transaction on both of them runs again once.
#[test]
fn tables_count_for_themselves() {
    let mut two = tables();
    two[1].is_evictable = true;
    let plan = PartitionPlan {
        tables: two,
        procedures: vec![Arc::new(Script)],
        // The indexes of both have room.
        anti_cache: Some(tight(2 * ROWS, 0)),
        has_log: false,
        feed: None,
    };
    let disk = SimulatedDisk::new(1);
    let opened = Partition::open(&environment(&disk), Path::new(FOLDER), plan);
    let mut partition = opened.expect("nothing fails");
    fill(&mut partition, 0);
    let before = partition.table_statistics()[1].clone();
    assert!(partition.table_statistics()[0].traffic.evicted_rows > 0);
    assert_eq!((before.rows_evicted, before.evicted_bytes), (0, 0));
    fill(&mut partition, 1);
    let tables = partition.table_statistics();
    assert!(tables[1].rows_evicted > 100, "{tables:?}");
    let both = [0, 1].map(|table| Operation {
        table,
        ..operation(Kind::Update, 0)
    });
    let restarts = partition.anti_cache_statistics().restarts;
    assert_eq!(run(&mut partition, &both).expect("committed"), [1, 1]);
    assert_eq!(partition.anti_cache_statistics().restarts, restarts + 1);
    for (before, after) in tables.iter().zip(partition.table_statistics()) {
        let (before, after) = (before.traffic, after.traffic);
        assert_eq!(after.returned_rows, before.returned_rows + 1);
        assert_eq!(after.read_blocks, before.read_blocks + 1);
    }
}

/// The fill factor: with more holes than may be a block comes back whole, and not before.
#[test]
fn a_block_with_too_many_holes_is_taken_whole() {
    for (holes_max, reads) in [(0.5, 4), (0.0, 1), (1.0, 6)] {
        let options = AntiCacheOptions {
            holes_max,
            ..tight(ROWS, 0)
        };
        let (_, mut partition) = filled(options);
        make_room(&mut partition);
        let came_back: Vec<u64> = (0..6).map(|id| come_back(&mut partition, id)).collect();
        let mut expected = [1, 1, 1, 1, 1, 1];
        expected[reads - 1] = 7 - reads as u64;
        expected[reads..].fill(0);
        assert_eq!(came_back, expected, "six rows a block, {holes_max}");
    }
}

/// Adaptive merging: a block that is wanted again comes back whole.
#[test]
fn a_block_that_is_read_again_is_taken_whole() {
    let options = AntiCacheOptions {
        merge: MergeStrategy::Adaptive,
        ..tight(ROWS, 0)
    };
    let (_, mut partition) = filled(options);
    make_room(&mut partition);
    let came_back: Vec<u64> = (0..6).map(|id| come_back(&mut partition, id)).collect();
    assert_eq!(came_back, [1, 5, 0, 0, 0, 0]);
}

/// What a transaction has done to evicted rows before it stops is undone: they are what they were, and once.
#[test]
fn a_stopped_transaction_leaves_evicted_rows_as_they_were() {
    let (_, mut partition) = filled(tight(ROWS, 0));
    for (id, kind) in [
        (0, Kind::Update),
        (50, Kind::Delete),
        (100, Kind::Refill),
        (150, Kind::TakeOut),
    ] {
        let change = Operation {
            group: 19,
            text: Some((255, 20)),
            ..operation(kind, id)
        };
        let stopped = [change, operation(Kind::Abort, 0)];
        let restarts = partition.anti_cache_statistics().restarts;
        assert_eq!(run(&mut partition, &stopped), None, "{kind:?}");
        assert!(partition.anti_cache_statistics().restarts > restarts);
        assert_eq!(get(&mut partition, id), answer(&[id]), "{kind:?}");
        // A key that is taken, by a row on disk, undoes as well.
        let stopped = [change, operation(Kind::Insert, id + 25)];
        assert_eq!(run(&mut partition, &stopped), None, "{kind:?}");
        assert_eq!(get(&mut partition, id), answer(&[id]), "{kind:?}");
    }
    for group in [0, 10, 19] {
        let count = run(&mut partition, &[operation(Kind::Count, group)]);
        assert_eq!(count.expect("committed")[..8], 50_u64.to_le_bytes());
    }
}

/// A transaction that inserts and then scans over evicted rows sees its own row, once, when it has run again.
#[test]
fn a_scan_sees_what_its_transaction_has_inserted() {
    let (_, mut partition) = filled(tight(ROWS, 0));
    let own = Operation {
        group: 3,
        ..operation(Kind::Insert, -3)
    };
    let transaction = [own, operation(Kind::ScanUp, 3), operation(Kind::Count, 3)];
    let reply = run(&mut partition, &transaction).expect("committed");
    let mut expected = vec![1];
    let mut row = shown(-3);
    row[8..16].copy_from_slice(&3_i64.to_le_bytes());
    expected.extend(row);
    expected.extend(answer(&[3, 23, 43, 63, 83, 103]));
    expected.extend(51_u64.to_le_bytes());
    expected.extend(((0..ROWS).filter(|id| id % GROUPS == 3).sum::<i64>() - 3).to_le_bytes());
    assert_eq!(reply, expected);
    assert_eq!(partition.anti_cache_statistics().restarts, 1);
}

/// Rows that just fit a block, and those that just do not: all of them are there.
#[test]
fn rows_about_as_large_as_a_block_come_back() {
    let (_, mut partition) = filled(tight(2 * ROWS, 0));
    let wide = |kind, length: u16| Operation {
        text: Some((length as u8, length)),
        ..operation(kind, 10_000 + i64::from(length))
    };
    for length in 1_960..2_040 {
        assert!(run(&mut partition, &[wide(Kind::Insert, length)]).is_some());
        settle(&mut partition);
    }
    for id in ROWS..ROWS + 300 {
        assert!(run(&mut partition, &[operation(Kind::Insert, id)]).is_some());
        settle(&mut partition);
    }
    let restarts = partition.anti_cache_statistics().restarts;
    for length in 1_960..2_040 {
        let row = run(&mut partition, &[wide(Kind::Get, length)]).expect("committed");
        let text = &row[24..row.len() - 1];
        assert_eq!(text, vec![length as u8; length.into()]);
        settle(&mut partition);
    }
    let came_back = partition.anti_cache_statistics().restarts - restarts;
    assert!((10..75).contains(&came_back), "{came_back} were on disk");
}
