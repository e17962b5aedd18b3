//! A partition on a simulated disk, with the steps of its threads.

use std::path::Path;
use std::sync::Arc;

use oltp::{
    AntiCacheOptions, Call, Completion, FeedStart, Outcome, Partition, PartitionPlan, PrimaryError,
    ProcedureNumber, Refusal, SnapshotOptions,
};
use sim::{SimulatedDisk, environment};

use crate::script::{GROUPS, Kind, Operation, Script, encode, tables};

/// Where it is.
pub const FOLDER: &str = "/primary";

/// Opens the partition.
pub fn open(
    disk: &SimulatedDisk,
    anti_cache: Option<AntiCacheOptions>,
    has_log: bool,
) -> Result<Partition, PrimaryError> {
    Partition::open(
        &environment(disk),
        Path::new(FOLDER),
        plan(anti_cache, has_log),
    )
}

/// Opens the partition, with its log, for a replica.
pub fn open_for_replica(
    disk: &SimulatedDisk,
    anti_cache: Option<AntiCacheOptions>,
    feed: FeedStart,
) -> Result<Partition, PrimaryError> {
    let plan = PartitionPlan {
        feed: Some(feed),
        ..plan(anti_cache, true)
    };
    Partition::open(&environment(disk), Path::new(FOLDER), plan)
}

/// What the partition is made of.
pub fn plan(anti_cache: Option<AntiCacheOptions>, has_log: bool) -> PartitionPlan {
    PartitionPlan {
        tables: tables(),
        procedures: vec![Arc::new(Script)],
        anti_cache,
        has_log,
        feed: None,
    }
}

/// Options with which about a hundred rows of the evictable table have room, beside what can never go:
/// the indexes of so many rows, and the rows of the other table.
pub fn tight(cold: i64, warm: i64) -> AntiCacheOptions {
    let mut partition = open(&SimulatedDisk::new(0), None, false).expect("nothing fails");
    for (table, rows, text) in [(0, cold, 0), (1, warm, 400)] {
        for id in 0..rows {
            let row = Operation {
                kind: Kind::Insert,
                table,
                id,
                group: id % GROUPS,
                text: Some((0, text)),
            };
            run(&mut partition, &[row]).expect("committed");
        }
    }
    AntiCacheOptions {
        block_bytes: 2_048,
        blocks_per_file: 4,
        buffers_max: 8,
        ..AntiCacheOptions::new(partition.memory().live_bytes + (100 << 10))
    }
}

/// Runs a transaction, without waiting for it. It was expected, which changes nothing.
pub fn execute(partition: &mut Partition, operations: &[Operation]) -> (Outcome, Vec<u8>) {
    let parameters = encode(operations);
    let mut reply = Vec::new();
    let call = Call {
        procedure: ProcedureNumber(0),
        parameters: &parameters,
    };
    partition.expect(call);
    (partition.execute(call, &mut reply), reply)
}

/// Lets the other threads do all they have to do, and the partition take note of it.
pub fn settle(partition: &mut Partition) -> Vec<Completion> {
    let mut completed = Vec::new();
    loop {
        let mut worked = false;
        if let Some(files) = partition.block_files() {
            while files.write().expect("nothing fails") || files.fetch() {
                worked = true;
            }
        }
        if let Some(writer) = partition.log_writer() {
            while writer.write().expect("nothing fails") {
                worked = true;
            }
        }
        if let Some(writer) = partition.snapshot_writer() {
            while writer.write().expect("nothing fails") {
                worked = true;
            }
        }
        let before = completed.len();
        partition.poll(&mut completed).expect("nothing fails");
        let is_durable =
            partition.log_writer().is_none() || partition.durable() == partition.position();
        if !worked && completed.len() == before && partition.waiting() == 0 && is_durable {
            return completed;
        }
    }
}

/// Slices and chunks so small that snapshots take many of them.
pub fn small_slices() -> SnapshotOptions {
    SnapshotOptions {
        slice_bytes: 600,
        chunk_bytes: 2_000,
        held_bytes_max: 1 << 20,
        log_bytes: None,
        replay_ms: None,
    }
}

/// Goes on until there are more complete snapshots than before.
pub fn finish_snapshot(partition: &mut Partition, before: u64) {
    for _ in 0..10_000 {
        settle(partition);
        if partition.snapshot_statistics().completed > before {
            return;
        }
    }
    panic!("it has no end: {:?}", partition.snapshot_statistics());
}

/// Runs a transaction to its end. While memory is full it is refused, and made room for.
pub fn run(partition: &mut Partition, operations: &[Operation]) -> Option<Vec<u8>> {
    for _ in 0..100 {
        match try_run(partition, operations) {
            Ok(reply) => return reply,
            Err(Refusal::MemoryFull) => drop(settle(partition)),
            Err(refusal) => panic!("{refusal}"),
        }
    }
    panic!(
        "there is no room: {:?} {:?} {:?}",
        partition.memory(),
        partition.table_statistics(),
        partition.anti_cache_statistics()
    );
}

/// Runs a transaction to its end, unless it is refused.
pub fn try_run(
    partition: &mut Partition,
    operations: &[Operation],
) -> Result<Option<Vec<u8>>, Refusal> {
    let (outcome, reply) = execute(partition, operations);
    Ok(match outcome {
        Outcome::Committed(_) => Some(reply),
        Outcome::Stopped(_) => None,
        Outcome::Refused(refusal) => return Err(refusal),
        Outcome::Waiting(ticket) => {
            let mut completed = settle(partition);
            let at = completed
                .iter()
                .position(|completion| completion.ticket == ticket);
            let completion = completed.swap_remove(at.expect("it has ended"));
            matches!(completion.outcome, Outcome::Committed(_)).then_some(completion.reply)
        }
    })
}
