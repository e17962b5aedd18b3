//! Snapshots while transactions run, and what is recovered from them.

use std::path::Path;
use std::sync::Arc;

use oltp::{
    AntiCacheOptions, Partition, PartitionPlan, Primary, PrimaryError, Refusal, SnapshotOptions,
    TableDefinition,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sim::{SimulatedDisk, environment};

use crate::model::Model;
use crate::script::{GROUPS, Kind, Operation, Script, some_transaction, tables};
use crate::world::{FOLDER, finish_snapshot, open, run, settle, small_slices, tight, try_run};

const IDS: i64 = 400;

fn options() -> AntiCacheOptions {
    let most = tight(IDS, IDS / 2);
    AntiCacheOptions {
        memory_bytes: most.memory_bytes - (44 << 10),
        ..most
    }
}

fn go(partition: &mut Partition, model: &mut Model, random: &mut StdRng, steps: usize) {
    for _ in 0..steps {
        let operations = some_transaction(random, IDS);
        match try_run(partition, &operations) {
            Ok(answer) => assert_eq!(answer, model.run(&operations)),
            // It has not happened.
            Err(refusal) => assert_eq!(refusal, Refusal::MemoryFull),
        }
        let log = partition.log_writer().expect("it has a log");
        while log.write().expect("nothing fails") {}
        while partition
            .block_files()
            .is_some_and(|files| files.write().expect("nothing fails"))
        {}
        partition.poll(&mut Vec::new()).expect("nothing fails");
        let writer = partition.snapshot_writer().expect("it has a log");
        if random.random() {
            writer.write().expect("nothing fails");
        }
    }
}

/// Transactions, with a snapshot that begins among them and is complete after as many more.
fn with_snapshot(partition: &mut Partition, model: &mut Model, random: &mut StdRng) {
    go(partition, model, random, 300);
    let before = partition.snapshot_statistics().completed;
    assert!(partition.begin_snapshot());
    go(partition, model, random, 300);
    finish_snapshot(partition, before);
    assert!(partition.snapshot_position() < Some(partition.position()));
    settle(partition);
}

fn new(disk: &SimulatedDisk) -> Partition {
    let mut partition = open(disk, Some(options()), true).expect("nothing fails");
    partition
        .set_snapshot_options(small_slices())
        .expect("they make sense");
    partition
}

fn check(partition: &mut Partition, model: &mut Model) {
    for some in Model::reads_of_all(IDS).chunks(20) {
        settle(partition);
        assert_eq!(run(partition, some), model.run(some));
    }
}

fn files(disk: &SimulatedDisk, part: &str) -> Vec<std::path::PathBuf> {
    let files = disk.files().into_iter().map(|(path, _)| path);
    let mut files: Vec<_> = files
        .filter(|path| path.to_string_lossy().contains(part))
        .collect();
    files.sort();
    files
}

/// What is recovered from a snapshot and the log after it is what was there, to the digest, and the
/// log before the kept snapshots is gone.
#[test]
fn a_snapshot_and_the_log_after_it_are_the_state() {
    for seed in 0..4 {
        let mut random = StdRng::seed_from_u64(seed);
        let disk = SimulatedDisk::new(seed);
        let (mut partition, mut model) = (new(&disk), Model::default());
        for _ in 0..3 {
            with_snapshot(&mut partition, &mut model, &mut random);
        }
        let evicted = partition.anti_cache_statistics().evicted_rows;
        assert!(evicted > 50, "{evicted}");
        assert_eq!(files(&disk, "snapshot-").len(), 2);
        assert_eq!(
            files(&disk, "commands-").len(),
            2,
            "{:?}",
            files(&disk, "commands-")
        );
        let (digests, snapshot) = (partition.digests(), partition.snapshot_position());
        let position = partition.position();
        drop(partition);
        let mut again = new(&disk);
        assert_eq!(again.digests(), digests);
        assert_eq!(again.position(), position);
        assert_eq!(again.recovery().snapshot, snapshot);
        assert!(again.recovery().replayed < 600, "{:?}", again.recovery());
        check(&mut again, &mut model);
        // It goes on as if nothing had been.
        with_snapshot(&mut again, &mut model, &mut random);
        check(&mut again, &mut model);
    }
}

/// Blocks of another size, or none at all: rows of the snapshot's blocks are taken over.
#[test]
fn a_snapshot_is_read_with_other_blocks() {
    let other = AntiCacheOptions {
        block_bytes: 4_096,
        blocks_per_file: 3,
        ..options()
    };
    for anti_cache in [Some(other), None] {
        let mut random = StdRng::seed_from_u64(5);
        let disk = SimulatedDisk::new(5);
        let (mut partition, mut model) = (new(&disk), Model::default());
        with_snapshot(&mut partition, &mut model, &mut random);
        let digests = partition.digests();
        drop(partition);
        let mut again = open(&disk, anti_cache, true).expect("nothing fails");
        assert_eq!(again.digests(), digests);
        check(&mut again, &mut model);
        with_snapshot(&mut again, &mut model, &mut random);
        drop(again);
        check(&mut new(&disk), &mut model);
    }
}

/// A damaged byte of the newest snapshot is named, and the one before it is used with its longer log;
/// when that is damaged, too, there is no way back, and the partition is not opened.
#[test]
fn a_damaged_snapshot_is_named_and_the_older_one_used() {
    let mut random = StdRng::seed_from_u64(6);
    let disk = SimulatedDisk::new(6);
    let (mut partition, mut model) = (new(&disk), Model::default());
    for _ in 0..3 {
        with_snapshot(&mut partition, &mut model, &mut random);
    }
    let digests = partition.digests();
    drop(partition);
    let data = files(&disk, "snapshot-");
    let length = disk.bytes(&data[1]).len() as u64;
    for offset in (0..length).step_by(977) {
        let found = disk.fork();
        found.flip_byte(&data[1], offset, offset as u32 % 8);
        let mut again = new(&found);
        let skipped = again.recovery().skipped[0].to_string();
        assert!(
            skipped.contains("snapshot-0000000003.data is damaged at byte"),
            "{skipped}"
        );
        assert!(
            skipped.contains("found") && skipped.contains("expected"),
            "{skipped}"
        );
        assert_eq!(again.digests(), digests, "{offset}");
        if offset == 0 {
            check(&mut again, &mut model);
        }
    }
    disk.flip_byte(&data[1], length / 2, 0);
    disk.cut(&data[0], length / 3);
    let file = damaged_file(&disk);
    assert!(file.contains("snapshot-0000000003.data"), "{file}");
}

/// The file for which the partition is not opened.
#[track_caller]
fn damaged_file(disk: &SimulatedDisk) -> String {
    match open(disk, Some(options()), true).map(drop) {
        Err(PrimaryError::Corrupt { file, .. }) => file,
        other => panic!("{other:?}"),
    }
}

/// A damaged manifest is refused: nothing says which files belong together.
#[test]
fn a_damaged_manifest_is_refused() {
    let mut random = StdRng::seed_from_u64(7);
    let disk = SimulatedDisk::new(7);
    let (mut partition, mut model) = (new(&disk), Model::default());
    with_snapshot(&mut partition, &mut model, &mut random);
    drop(partition);
    let path = &files(&disk, "snapshots.manifest")[0];
    for offset in 0..disk.bytes(path).len() as u64 {
        let found = disk.fork();
        found.flip_byte(path, offset, offset as u32 % 8);
        let refused = open(&found, Some(options()), true).map(drop);
        assert!(
            matches!(
                refused,
                Err(PrimaryError::Corrupt { .. } | PrimaryError::VersionTooNew { .. })
            ),
            "{offset}: {refused:?}"
        );
    }
}

/// A snapshot whose writer stands still is given up, memory is bounded, and the next one is complete.
#[test]
fn a_slow_writer_costs_the_snapshot_and_nothing_else() {
    let mut random = StdRng::seed_from_u64(8);
    let disk = SimulatedDisk::new(8);
    let (mut partition, mut model) = (new(&disk), Model::default());
    go(&mut partition, &mut model, &mut random, 300);
    partition
        .set_snapshot_options(SnapshotOptions {
            held_bytes_max: 4_096,
            ..small_slices()
        })
        .expect("they make sense");
    assert!(partition.begin_snapshot());
    for _ in 0..300 {
        let operations = some_transaction(&mut random, IDS);
        let (outcome, _) = crate::world::execute(&mut partition, &operations);
        if matches!(outcome, oltp::Outcome::Waiting(_)) {
            while partition.block_files().expect("it evicts").fetch() {}
        }
        let mut completed = Vec::new();
        partition.poll(&mut completed).expect("nothing fails");
        if completed
            .iter()
            .any(|done| matches!(done.outcome, oltp::Outcome::Committed(_)))
            || matches!(outcome, oltp::Outcome::Committed(_))
        {
            model.run(&operations);
        }
    }
    assert_eq!(partition.snapshot_statistics().discarded, 1);
    settle(&mut partition);
    partition
        .set_snapshot_options(small_slices())
        .expect("they make sense");
    with_snapshot(&mut partition, &mut model, &mut random);
    drop(partition);
    check(&mut new(&disk), &mut model);
}

/// Partitions are opened by threads of their own.
#[test]
fn partitions_are_recovered_in_parallel() {
    let disks: Vec<SimulatedDisk> = (0..3).map(SimulatedDisk::new).collect();
    let recovered: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = disks
            .iter()
            .map(|disk| {
                scope.spawn(move || {
                    let mut random = StdRng::seed_from_u64(1);
                    let (mut partition, mut model) = (new(disk), Model::default());
                    with_snapshot(&mut partition, &mut model, &mut random);
                    drop(partition);
                    new(disk)
                })
            })
            .collect();
        let partitions = threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"));
        partitions.collect()
    });
    let digests: Vec<_> = recovered.iter().map(Partition::digests).collect();
    assert!(digests.iter().all(|of_one| *of_one == digests[0]));
}

fn operation(kind: Kind, table: u8, id: i64) -> Operation {
    Operation {
        kind,
        table,
        id,
        group: id % GROUPS,
        text: Some((0, 300)),
    }
}

/// Replay may empty files of blocks that the manifest names. They stay: the process may end before a
/// later snapshot does without them.
#[test]
fn replay_keeps_the_blocks_that_snapshots_name() {
    let disk = SimulatedDisk::new(9);
    let open = || open(&disk, Some(tight(IDS, 0)), true).expect("nothing fails");
    let mut partition = open();
    for id in 0..IDS {
        run(&mut partition, &[operation(Kind::Insert, 0, id)]).expect("committed");
        settle(&mut partition);
    }
    for before in 0..2 {
        run(&mut partition, &[operation(Kind::Update, 0, 0)]).expect("committed");
        assert!(partition.begin_snapshot());
        finish_snapshot(&mut partition, before);
    }
    let evicted = partition.table_statistics()[0].rows_evicted;
    assert!(evicted > 100, "{evicted}");
    for id in 0..IDS {
        run(&mut partition, &[operation(Kind::Delete, 0, id)]).expect("committed");
        settle(&mut partition);
    }
    drop(partition);
    let blocks = files(&disk, "blocks-");
    for _ in 0..3 {
        let again = open();
        assert!(
            again.recovery().skipped.is_empty(),
            "{:?}",
            again.recovery()
        );
        assert!(again.recovery().replayed >= IDS as u64);
        let table = &again.table_statistics()[0];
        assert_eq!((table.rows_in_memory, table.rows_evicted), (0, 0));
        drop(again);
        assert_eq!(files(&disk, "blocks-"), blocks);
    }
}

/// After two snapshots without a commit between them there is no log at all until there is one. When
/// both are damaged, the partition is not taken for an empty one.
#[test]
fn two_damaged_snapshots_are_no_empty_partition() {
    let mut random = StdRng::seed_from_u64(10);
    let disk = SimulatedDisk::new(10);
    let (mut partition, mut model) = (new(&disk), Model::default());
    go(&mut partition, &mut model, &mut random, 100);
    settle(&mut partition);
    for before in 0..2 {
        assert!(partition.begin_snapshot());
        finish_snapshot(&mut partition, before);
    }
    drop(partition);
    assert_eq!(files(&disk, "commands-"), [] as [std::path::PathBuf; 0]);
    check(&mut new(&disk.fork()), &mut model);
    for data in files(&disk, "snapshot-") {
        disk.flip_byte(&data, 30, 0);
    }
    for _ in 0..2 {
        let file = damaged_file(&disk);
        assert!(file.contains("snapshot-0000000002.data"), "{file}");
    }
}

/// Tables of which none has a whole chunk, but which together have more than may be in memory.
#[test]
fn many_small_tables_are_copied_to_the_end() {
    let disk = SimulatedDisk::new(11);
    let numbered = |number| TableDefinition {
        name: format!("table {number}"),
        ..tables().swap_remove(1)
    };
    let plan = PartitionPlan {
        tables: (0..40).map(numbered).collect(),
        procedures: vec![Arc::new(Script)],
        anti_cache: None,
        has_log: true,
        feed: None,
    };
    let open = || Partition::open(&environment(&disk), Path::new(FOLDER), plan.clone());
    let mut partition = open().expect("nothing fails");
    let options = SnapshotOptions {
        held_bytes_max: 16_000,
        ..small_slices()
    };
    let set = partition.set_snapshot_options(options);
    set.expect("they make sense");
    for (table, id) in (0..40).flat_map(|table| (0..4).map(move |id| (table, id))) {
        run(&mut partition, &[operation(Kind::Insert, table, id)]).expect("committed");
    }
    assert!(partition.begin_snapshot());
    // The last tables are copied row by row as they change, before their turn comes.
    for table in (10..40).rev() {
        run(&mut partition, &[operation(Kind::Update, table, 0)]).expect("committed");
    }
    finish_snapshot(&mut partition, 0);
    let digests = partition.digests();
    drop(partition);
    let again = open().expect("nothing fails");
    assert!(again.recovery().snapshot.is_some());
    assert_eq!(again.digests(), digests);
}

/// Options with which a snapshot would have no end are refused.
#[test]
fn options_have_to_make_sense() {
    let mut partition = new(&SimulatedDisk::new(12));
    let good = small_slices();
    let half = good.held_bytes_max / 2;
    let mut refuses = |options: SnapshotOptions| {
        let set = partition.set_snapshot_options(options);
        matches!(set, Err(PrimaryError::Option { .. }))
    };
    for bytes in [0, half + 1] {
        assert!(refuses(SnapshotOptions {
            slice_bytes: bytes,
            ..good
        }));
        assert!(refuses(SnapshotOptions {
            chunk_bytes: bytes,
            ..good
        }));
    }
    let held_bytes_max = (1 << 30) + 1;
    assert!(refuses(SnapshotOptions {
        held_bytes_max,
        ..good
    }));
    assert!(!refuses(SnapshotOptions {
        slice_bytes: half,
        chunk_bytes: half,
        ..good
    }));
}

/// Opened without its log, or as several partitions, a folder would lose what its snapshots need.
#[test]
fn what_would_not_be_read_is_refused() {
    let mut random = StdRng::seed_from_u64(13);
    let disk = SimulatedDisk::new(13);
    let (mut partition, mut model) = (new(&disk), Model::default());
    with_snapshot(&mut partition, &mut model, &mut random);
    drop(partition);
    let refused = open(&disk, Some(options()), false).map(drop);
    assert!(
        matches!(refused, Err(PrimaryError::NotRead { .. })),
        "{refused:?}"
    );
    let plan = PartitionPlan {
        tables: tables(),
        procedures: vec![Arc::new(Script)],
        anti_cache: Some(options()),
        has_log: true,
        feed: None,
    };
    let refused = Primary::open(&environment(&disk), Path::new(FOLDER), &plan, 2).map(drop);
    let message = refused.expect_err("it has snapshots").to_string();
    assert!(message.contains("snapshots.manifest is there"), "{message}");
    check(&mut new(&disk), &mut model);
}
