//! What is bounded by itself: what one call fetches, and how long the log grows.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use oltp::{
    AntiCacheOptions, Call, ColumnDefinition, IndexKind, Outcome, Partition, PartitionPlan,
    Procedure, ProcedureNumber, SnapshotOptions, Stop, TableDefinition, TableNumber, Transaction,
};
use sim::{SimulatedClock, SimulatedDisk, environment_with};
use types::{ColumnType, Value};

use crate::script::{Kind, operation};
use crate::world::{execute, open, run, settle, small_slices, tight};

const ROWS: i64 = 1_000;

fn fill(partition: &mut Partition, rows: std::ops::Range<i64>) {
    for id in rows {
        assert!(run(partition, &[operation(Kind::Insert, id)]).is_some());
        settle(partition);
    }
}

fn bounded(fetched_bytes_max: usize) -> AntiCacheOptions {
    AntiCacheOptions {
        fetched_bytes_max,
        ..tight(ROWS, 0)
    }
}

/// The rows of a transaction have to be in memory together; one that needs more is stopped before it fetches anything.
#[test]
fn a_call_that_needs_too_much_is_stopped() {
    let disk = SimulatedDisk::new(1);
    let mut partition = open(&disk, Some(bounded(8_000)), false).expect("nothing fails");
    fill(&mut partition, 0..ROWS);
    let before = partition.anti_cache_statistics();
    let updates = |rows: i64| -> Vec<_> {
        let ids = (0..rows).map(|number| number * 7);
        ids.map(|id| operation(Kind::Update, id)).collect()
    };
    let (outcome, reply) = execute(&mut partition, &updates(40));
    let Outcome::Stopped(Stop::TooMuchEvicted { bytes, most }) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(most == 8_000 && bytes > 40 * 300, "{bytes} of {most}");
    assert_eq!((reply.len(), partition.waiting()), (0, 0));
    settle(&mut partition);
    assert_eq!(partition.anti_cache_statistics(), before);
    assert!(run(&mut partition, &updates(20)).is_some());
}

/// What has committed is replayed, whatever a call may fetch now.
#[test]
fn replay_fetches_what_it_needs() {
    let disk = SimulatedDisk::new(1);
    let mut partition = open(&disk, Some(bounded(1 << 20)), true).expect("nothing fails");
    fill(&mut partition, 0..ROWS);
    let updates: Vec<_> = (0..40).map(|id| operation(Kind::Update, id * 7)).collect();
    assert!(run(&mut partition, &updates).is_some());
    settle(&mut partition);
    let digests = partition.digests();
    drop(partition);
    let again = open(&disk, Some(bounded(1_000)), true).expect("it had happened");
    assert_eq!(again.digests(), digests);
}

/// Bytes of the log, without the room at the ends of its segments.
fn log_bytes(disk: &SimulatedDisk) -> usize {
    let files = disk.files().into_iter().map(|(path, _)| path);
    let of_log = files.filter(|path| path.to_string_lossy().contains("commands-"));
    let used = |bytes: Vec<u8>| {
        bytes
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |last| last + 1)
    };
    of_log.map(|path| used(disk.bytes(&path))).sum()
}

fn paced(most: u64) -> SnapshotOptions {
    SnapshotOptions {
        log_bytes: Some(most),
        ..small_slices()
    }
}

/// Snapshots begin by themselves, and the log does not grow; not even when no process lives long enough to write so much.
#[test]
fn the_log_is_kept_short() {
    let disk = SimulatedDisk::new(1);
    for life in 0..8 {
        let mut partition = open(&disk, Some(tight(ROWS, 0)), true).expect("nothing fails");
        let options = paced(20_000);
        partition
            .set_snapshot_options(options)
            .expect("they make sense");
        fill(&mut partition, life * 100..(life + 1) * 100);
        if life >= 3 {
            let snapshot = partition.snapshot_position();
            assert!(snapshot.is_some(), "in life {life}");
        }
        assert!(log_bytes(&disk) < 60_000, "{} bytes", log_bytes(&disk));
    }
}

/// Where nobody writes snapshots none begins by itself: it would hold memory and have no end.
#[test]
fn no_snapshot_begins_that_nobody_writes() {
    let disk = SimulatedDisk::new(1);
    let mut partition = open(&disk, None, true).expect("nothing fails");
    let options = paced(1_000);
    partition
        .set_snapshot_options(options)
        .expect("they make sense");
    let log = partition.log_writer().expect("it has a log");
    for id in 0..100 {
        let (outcome, _) = execute(&mut partition, &[operation(Kind::Insert, id)]);
        assert!(matches!(outcome, Outcome::Committed(_)));
        partition.poll(&mut Vec::new()).expect("nothing fails");
        log.write().expect("nothing fails");
    }
    assert!(log_bytes(&disk) > 5_000);
    let writer = partition.snapshot_writer().expect("it has a log");
    assert!(!writer.write().expect("nothing fails"), "it has begun");
    for id in 100..200 {
        assert!(run(&mut partition, &[operation(Kind::Insert, id)]).is_some());
        settle(&mut partition);
    }
    assert!(partition.snapshot_statistics().completed > 0);
}

/// Adds a row in 1 ms.
struct Slow(Arc<SimulatedClock>);

impl Procedure for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        id: &[u8],
        _: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        self.0.advance(Duration::from_millis(1));
        let id = i64::from_le_bytes(id.try_into().expect("eight bytes"));
        transaction.insert(TableNumber(0), &[Value::Int(id)])?;
        transaction.execute().map(drop)
    }
}

/// A log of few bytes can take long to replay: it is kept short, too.
#[test]
fn the_time_of_replay_is_kept_short() {
    for replay_ms in [Some(200), None] {
        let clock = Arc::new(SimulatedClock::new());
        let columns = vec![ColumnDefinition::new("id", ColumnType::Int64)];
        let plan = PartitionPlan {
            tables: vec![TableDefinition::new("rows", columns).index(IndexKind::Hash, true, &[0])],
            procedures: vec![Arc::new(Slow(Arc::clone(&clock)))],
            anti_cache: None,
            has_log: true,
            feed: None,
        };
        let (disk, mut replayed) = (SimulatedDisk::new(1), 0);
        for life in 0_i64..11 {
            let env = environment_with(&disk, &clock);
            let opened = Partition::open(&env, Path::new("/primary"), plan.clone());
            let mut partition = opened.expect("nothing fails");
            replayed = partition.recovery().replayed;
            let options = SnapshotOptions {
                replay_ms,
                ..small_slices()
            };
            let set = partition.set_snapshot_options(options);
            set.expect("they make sense");
            for id in life * 100..(life + 1) * 100 {
                let call = Call {
                    procedure: ProcedureNumber(0),
                    parameters: &id.to_le_bytes(),
                };
                let outcome = partition.execute(call, &mut Vec::new());
                assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}");
                settle(&mut partition);
            }
        }
        assert_eq!(replayed < 400, replay_ms.is_some(), "{replayed}");
    }
}
