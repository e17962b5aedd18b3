//! What a partition counts, and what other threads see of it.

use std::thread;

use oltp::{AntiCacheOptions, MergeStrategy, Outcome, Partition};
use sim::SimulatedDisk;

use crate::script::{GROUPS, Kind, Operation};
use crate::world::{execute, open, run, settle, tight};

fn operation(kind: Kind, id: i64) -> Operation {
    Operation {
        kind,
        table: 0,
        id,
        group: id % GROUPS,
        text: Some((id as u8, 300)),
    }
}

fn new() -> Partition {
    let options = AntiCacheOptions {
        merge: MergeStrategy::Block,
        ..tight(1_000, 0)
    };
    open(&SimulatedDisk::new(1), Some(options), false).expect("nothing fails")
}

/// Inserts rows until some have gone to disk: how many there are.
fn fill_until_evicted(partition: &mut Partition) -> i64 {
    for id in 0..1_000 {
        if partition.table_statistics()[0].rows_evicted > 0 {
            // Its block is written, too.
            settle(partition);
            return id;
        }
        run(partition, &[operation(Kind::Insert, id)]).expect("committed");
        settle(partition);
    }
    panic!("nothing was evicted");
}

/// `testStats`: what is evicted is what was written, until it is read; then all of it has come back. The memory says the same.
#[test]
fn what_was_evicted_and_what_came_back_add_up() {
    let mut partition = new();
    let rows = fill_until_evicted(&mut partition);
    let full = partition.table_statistics().swap_remove(0);
    assert_eq!(full.traffic.evicted_rows, full.rows_evicted as u64);
    assert_eq!(full.rows_in_memory + full.rows_evicted, rows as usize);
    assert_eq!(
        (full.traffic.returned_rows, full.traffic.read_blocks),
        (0, 0)
    );
    assert_eq!((full.traffic.written_blocks, full.holes), (1, 0));
    let row_bytes = full.evicted_bytes / full.rows_evicted as u64;
    assert!((300..350).contains(&row_bytes), "{row_bytes} bytes a row");
    // There is room for the block again.
    for id in rows - 20..rows {
        run(&mut partition, &[operation(Kind::Delete, id)]).expect("committed");
    }
    let memory = partition.memory().live_bytes;
    run(&mut partition, &[operation(Kind::Get, 0)]).expect("committed");
    let read = partition.table_statistics().swap_remove(0);
    assert_eq!((read.rows_evicted, read.evicted_bytes), (0, 0));
    assert_eq!(read.traffic.returned_rows, full.traffic.evicted_rows);
    assert_eq!(read.traffic.read_blocks, 1);
    assert_eq!(read.holes, full.rows_evicted as u64);
    let more = partition.memory().live_bytes - memory;
    assert!(
        more as u64 > full.evicted_bytes,
        "{more} bytes have come back"
    );
}

/// `Profiling`, `EvictHistory`: who waits and how often is counted by procedure, and so are the times for which calls waited.
#[test]
fn calls_and_stalls_are_counted() {
    let mut partition = new();
    fill_until_evicted(&mut partition);
    let before = partition.statistics();
    run(&mut partition, &[operation(Kind::Abort, 0)]);
    run(&mut partition, &[operation(Kind::Get, 0)]).expect("committed");
    let after = partition.statistics();
    let (procedure, earlier) = (&after.procedures[0], &before.procedures[0]);
    assert_eq!(procedure.name, "script");
    assert_eq!(procedure.committed - earlier.committed, 1);
    assert_eq!(procedure.stopped - earlier.stopped, 1);
    assert_eq!(procedure.restarts - earlier.restarts, 1);
    assert_eq!(after.uneviction_stalls.count, 1);
    assert!(after.eviction_stalls.count > 0);
    for stalls in [after.eviction_stalls, after.uneviction_stalls] {
        assert!(stalls.longest_us <= stalls.total_us);
        assert!(stalls.longer_than_1_ms <= stalls.count);
    }
}

/// A reader in another thread gets what was counted up to a poll after it has asked, whole.
#[test]
fn others_see_what_was_counted() {
    let mut partition = new();
    let board = partition.statistics_board();
    let read = || {
        thread::scope(|scope| {
            let reader = scope.spawn(|| board.read());
            reader.join().expect("no panic")
        })
    };
    let nothing = read();
    assert!(nothing.tables.is_empty(), "it was shown nothing yet");
    fill_until_evicted(&mut partition);
    read();
    let (outcome, _) = execute(&mut partition, &[operation(Kind::Get, 0)]);
    assert!(matches!(outcome, Outcome::Waiting(_)));
    partition.poll(&mut Vec::new()).expect("nothing fails");
    let shown = read();
    assert_eq!(*shown, partition.statistics());
    assert_eq!(shown.waiting, 1);
    assert!(shown.tables[0].rows_evicted > 0 && shown.memory.live_bytes > 0);
}
