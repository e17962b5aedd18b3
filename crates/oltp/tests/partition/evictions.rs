//! What goes to disk, what comes back, and within which bounds.

use std::path::Path;

use oltp::{AntiCacheOptions, MergeStrategy, Outcome, Partition, PartitionPlan, Refusal, Sampling};
use sim::{SimulatedDisk, environment};

use crate::script::{Kind, Operation, operation, tables};
use crate::world::{FOLDER, execute, open, plan, run, settle, tight};

fn filled(options: AntiCacheOptions, rows: i64) -> (SimulatedDisk, Partition) {
    let disk = SimulatedDisk::new(1);
    let mut partition = open(&disk, Some(options), false).expect("nothing fails");
    for id in 0..rows {
        assert!(run(&mut partition, &[operation(Kind::Insert, id)]).is_some());
        settle(&mut partition);
    }
    (disk, partition)
}

/// Nothing there, nothing to evict.
#[test]
fn an_empty_table_has_nothing_to_evict() {
    let options = AntiCacheOptions {
        memory_bytes: 0,
        ..tight(1_000, 0)
    };
    let disk = SimulatedDisk::new(1);
    let mut partition = open(&disk, Some(options), false).expect("nothing fails");
    settle(&mut partition);
    assert_eq!(partition.anti_cache_statistics().evicted_rows, 0);
}

/// Memory stays within the budget however many rows come, and all of them are there.
#[test]
fn memory_stays_within_the_budget() {
    let (_, mut partition) = filled(tight(2_000, 0), 2_000);
    let table = &partition.table_statistics()[0];
    assert_eq!(table.rows_in_memory + table.rows_evicted, 2_000);
    assert!(table.rows_evicted > 1_500, "{table:?}");
    let budget = tight(2_000, 0).memory_bytes;
    let used = partition.memory().held_bytes;
    assert!(used <= budget + budget / 100, "{used} of {budget}");
    for id in (0..2_000).step_by(37) {
        assert!(
            run(&mut partition, &[operation(Kind::Get, id)])
                .expect("a row")
                .len()
                > 300
        );
    }
}

/// When blocks are not written, rows cannot leave; so none come, and memory stays within the budget.
#[test]
fn a_writer_that_stands_still_holds_fetches_back() {
    let options = tight(1_000, 0);
    let (_, mut partition) = filled(options.clone(), 1_000);
    let files = partition.block_files().expect("it evicts");
    let (mut refused, mut completed) = (0, Vec::new());
    for id in (0..1_000).cycle().take(5_000) {
        let (outcome, _) = execute(&mut partition, &[operation(Kind::Get, id)]);
        refused += u32::from(outcome == Outcome::Refused(Refusal::MemoryFull));
        while files.fetch() {}
        partition.poll(&mut completed).expect("nothing fails");
        let used = partition.memory().held_bytes;
        assert!(
            used <= options.memory_bytes * 101 / 100,
            "{used} of {}",
            options.memory_bytes
        );
    }
    assert!(refused > 1_000, "{refused}");
    settle(&mut partition);
    assert!(run(&mut partition, &[operation(Kind::Get, 0)]).is_some());
}

/// When nothing can be evicted, what would grow is refused, and what does not still runs.
#[test]
fn full_memory_refuses_and_loses_nothing() {
    let disk = SimulatedDisk::new(1);
    let mut partition = open(&disk, Some(tight(1_000, 0)), false).expect("nothing fails");
    let mut inserted = 0;
    loop {
        let warm = Operation {
            table: 1,
            ..operation(Kind::Insert, inserted)
        };
        match execute(&mut partition, &[warm]).0 {
            Outcome::Committed(_) => inserted += 1,
            Outcome::Refused(refusal) => break assert_eq!(refusal, Refusal::MemoryFull),
            other => panic!("{other:?}"),
        }
    }
    assert!(inserted > 50);
    assert_eq!(
        partition.table_statistics()[1].rows_in_memory,
        inserted as usize
    );
}

/// The rows that were used are those that stay.
#[test]
fn hot_rows_stay() {
    let options = AntiCacheOptions {
        sampling: Sampling::Transactions(1.0),
        ..tight(1_000, 0)
    };
    let (_, mut partition) = filled(options, 100);
    for id in 100..1_000 {
        run(&mut partition, &[operation(Kind::Get, id % 10)]);
        run(&mut partition, &[operation(Kind::Insert, id)]);
        settle(&mut partition);
    }
    let before = partition.anti_cache_statistics().restarts;
    (0..10).for_each(|id| drop(run(&mut partition, &[operation(Kind::Get, id)])));
    assert_eq!(partition.anti_cache_statistics().restarts, before);
}

/// What has come from disk at once comes back in steps, and what goes for it goes in steps: none stops the
/// partition for long. All calls end, and memory stays within the budget.
#[test]
fn rows_come_and_go_some_at_a_time() {
    const CALLS: usize = 400;
    // So many rows a step, and a block that was begun.
    const MOVED_MAX: u64 = 128 + 6;
    let mut options = tight(2_000, 0);
    options.memory_bytes += CALLS * 600;
    options.buffers_max = 100;
    options.memory_bytes += options.buffers_max * options.block_bytes;
    let budget = options.memory_bytes;
    let (_, mut partition) = filled(options, 2_000);
    let files = partition.block_files().expect("it evicts");
    for id in 0..CALLS as i64 {
        let (outcome, _) = execute(&mut partition, &[operation(Kind::Get, id)]);
        assert!(matches!(outcome, Outcome::Waiting(_)), "{outcome:?}");
    }
    while files.write().expect("nothing fails") || files.fetch() {}
    let (mut completed, mut polls) = (Vec::new(), 0);
    while completed.len() < CALLS {
        let before = partition.anti_cache_statistics();
        partition.poll(&mut completed).expect("nothing fails");
        let after = partition.anti_cache_statistics();
        assert!(after.returned_rows - before.returned_rows <= MOVED_MAX);
        assert!(after.evicted_rows - before.evicted_rows <= MOVED_MAX);
        assert!(partition.memory().held_bytes <= budget);
        polls += 1;
    }
    assert!(polls >= 4, "{polls}");
    let mut outcomes = completed.iter().map(|completion| &completion.outcome);
    assert!(outcomes.all(|outcome| matches!(outcome, Outcome::Committed(_))));
}

/// One run through a whole transaction finds all that is evicted, in all statements.
#[test]
fn one_pre_pass_gathers_everything() {
    let (_, mut partition) = filled(tight(1_000, 0), 1_000);
    let transaction: Vec<_> = (0..40)
        .map(|number| operation(Kind::Update, number * 7))
        .collect();
    let before = partition.anti_cache_statistics().restarts;
    assert!(run(&mut partition, &transaction).is_some());
    assert_eq!(partition.anti_cache_statistics().restarts, before + 1);
}

/// Two transactions that need one block wait for one read.
#[test]
fn waiters_share_a_read() {
    let (_, mut partition) = filled(tight(1_000, 0), 1_000);
    for _ in 0..3 {
        let (outcome, _) = execute(&mut partition, &[operation(Kind::Get, 0)]);
        assert!(matches!(outcome, Outcome::Waiting(_)));
    }
    let before = partition.anti_cache_statistics().read_blocks;
    assert_eq!(settle(&mut partition).len(), 3);
    assert_eq!(partition.anti_cache_statistics().read_blocks, before + 1);
}

/// Counts, existence and uniqueness are answered from the indexes.
#[test]
fn answers_from_indexes_fetch_nothing() {
    let (_, mut partition) = filled(tight(1_000, 0), 1_000);
    let before = partition.anti_cache_statistics();
    let count = run(&mut partition, &[operation(Kind::Count, 3)]).expect("committed");
    assert_eq!(count[..8], 50_u64.to_le_bytes());
    // The key is on disk, and taken.
    assert_eq!(run(&mut partition, &[operation(Kind::Insert, 0)]), None);
    assert_eq!(partition.anti_cache_statistics(), before);
}

/// A range ends where it ends: rows behind it stay on disk.
#[test]
fn a_scan_fetches_nothing_behind_its_end() {
    let (_, mut partition) = filled(tight(1_000, 0), 1_000);
    let before = partition.anti_cache_statistics().returned_rows;
    run(&mut partition, &[operation(Kind::ScanUp, 3)]).expect("committed");
    let returned = partition.anti_cache_statistics().returned_rows - before;
    assert!(returned <= 7, "{returned} rows");
}

/// Under tuple-merge one row of a block comes back, under block-merge all.
#[test]
fn strategies_differ_in_what_comes_back() {
    for (merge, least, most) in [(MergeStrategy::Tuple, 1, 1), (MergeStrategy::Block, 3, 9)] {
        let (_, mut partition) = filled(
            AntiCacheOptions {
                merge,
                ..tight(1_000, 0)
            },
            1_000,
        );
        let before = partition.anti_cache_statistics().returned_rows;
        run(&mut partition, &[operation(Kind::Get, 0)]);
        let returned = partition.anti_cache_statistics().returned_rows - before;
        assert!((least..=most).contains(&returned), "{merge:?}: {returned}");
    }
}

/// Rows that come back leave holes; blocks with many are taken whole, and disk space comes back.
#[test]
fn disk_space_comes_back() {
    let (disk, mut partition) = filled(tight(1_000, 0), 1_000);
    let full = disk.occupied_bytes();
    for id in 0..1_000 {
        run(&mut partition, &[operation(Kind::Delete, id)]);
    }
    settle(&mut partition);
    let left = disk.occupied_bytes();
    assert!(left < full / 4, "{left} of {full} bytes are left");
    assert_eq!(partition.table_statistics()[0].rows_evicted, 0);
}

/// Rows that no block can hold stay in memory.
#[test]
fn rows_larger_than_a_block_stay() {
    let (_, mut partition) = filled(tight(1_000, 0), 10);
    let wide = Operation {
        text: Some((1, 4_000)),
        ..operation(Kind::Insert, 5_000)
    };
    assert!(run(&mut partition, &[wide]).is_some());
    for id in 10..1_000 {
        run(&mut partition, &[operation(Kind::Insert, id)]);
        settle(&mut partition);
    }
    let before = partition.anti_cache_statistics().restarts;
    assert!(
        run(&mut partition, &[operation(Kind::Get, 5_000)])
            .expect("a row")
            .len()
            > 4_000
    );
    assert_eq!(partition.anti_cache_statistics().restarts, before);
}

/// A block that cannot be read stops the transactions that need it, with the reason, and no others.
#[test]
fn a_damaged_block_is_named() {
    let (disk, mut partition) = filled(tight(1_000, 0), 1_000);
    let blocks = disk.files().into_iter().map(|(path, _)| path);
    let first = blocks
        .filter(|path| path.to_string_lossy().contains("blocks-"))
        .min();
    let path = first.expect("there are blocks");
    disk.flip_byte(&path, 100, 3);
    let (outcome, _) = execute(&mut partition, &[operation(Kind::Get, 0)]);
    assert!(matches!(outcome, Outcome::Waiting(_)));
    let completed = settle(&mut partition);
    let Outcome::Stopped(stop) = &completed[0].outcome else {
        panic!("{completed:?}");
    };
    assert!(
        stop.to_string()
            .contains("blocks-0000000000.data is damaged"),
        "{stop}"
    );
    assert!(run(&mut partition, &[operation(Kind::Get, 500)]).is_some());
}

/// What one large transaction needed beside its rows is not in use any more after it.
#[test]
fn a_large_transaction_leaves_room() {
    let (_, mut partition) = filled(tight(1_000, 0), 1_000);
    let before = partition.memory().held_bytes;
    let large = vec![operation(Kind::Update, 999); 10_000];
    assert!(run(&mut partition, &large).is_some());
    settle(&mut partition);
    let after = partition.memory().held_bytes;
    assert!(after < before + (64 << 10), "{after}, {before} before it");
    assert!(run(&mut partition, &[operation(Kind::Insert, 1_000)]).is_some());
}

/// A few rows that every transaction uses stay, although the rows of the other table, all together, are used more
/// often: what counts is the use of a row.
#[test]
fn a_small_table_of_hot_rows_keeps_them() {
    const HOT_ROWS: i64 = 5;
    const COLD_ROWS: i64 = 2_000;
    let mut two = tables();
    two[1].is_evictable = true;
    let plan = PartitionPlan {
        tables: two,
        ..plan(Some(tight(COLD_ROWS, HOT_ROWS)), false)
    };
    let disk = SimulatedDisk::new(1);
    let opened = Partition::open(&environment(&disk), Path::new(FOLDER), plan);
    let mut partition = opened.expect("nothing fails");
    let hot = |kind, id| Operation {
        table: 1,
        ..operation(kind, id)
    };
    for id in 0..HOT_ROWS {
        run(&mut partition, &[hot(Kind::Insert, id)]).expect("committed");
    }
    for id in 0..COLD_ROWS {
        run(&mut partition, &[operation(Kind::Insert, id)]).expect("committed");
        let recent = (1..=3).map(|back| operation(Kind::Get, (id - back).max(0)));
        let all: Vec<_> = recent.chain([hot(Kind::Get, id % HOT_ROWS)]).collect();
        run(&mut partition, &all).expect("committed");
        settle(&mut partition);
    }
    let [cold, hot] = [0, 1].map(|table| partition.table_statistics()[table].traffic);
    assert!(cold.evicted_rows > 1_500, "{cold:?}");
    assert!(
        2 * hot.evicted_rows < cold.evicted_rows,
        "{hot:?} beside {cold:?}"
    );
}
