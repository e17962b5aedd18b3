//! The log's bytes, its torn ends and its damage.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use env::Env;
use sim::{SimulatedDisk, environment};

use super::group::{GROUP_MAGIC, HeaderProblem, file_header, parse_file_header};
use super::*;
use crate::transaction::Circumstances;

const PATH: &str = "/commands-0000000000.log";
const FIRST: SegmentNumber = SegmentNumber(0);

fn record(position: u64, parameters: &[u8]) -> Record<'_> {
    Record {
        position: CommitPosition(position),
        circumstances: Circumstances {
            number: position + 100,
            time_us: -7,
        },
        procedure: "transfer",
        parameters,
    }
}

/// Appends the next record.
fn append(log: &mut CommandLog, parameters: &[u8]) {
    let next = record(log.last.0 + 1, parameters);
    let position = log.append(next.circumstances, next.procedure, next.parameters);
    assert_eq!(position, next.position);
}

/// A disk with a log of three groups of two records each.
fn written() -> (SimulatedDisk, Env) {
    let disk = SimulatedDisk::new(1);
    let env = environment(&disk);
    let writer = LogWriter::create(env.clone(), "/".into(), FIRST).expect("nothing fails");
    let mut log = CommandLog::new(Arc::new(writer), CommitPosition::ZERO);
    for group in 0..3 {
        for _ in 0..2 {
            append(&mut log, b"parameters");
        }
        log.advance().expect("nothing fails");
        assert!(log.writer.write().expect("nothing fails"));
        log.advance().expect("nothing fails");
        assert_eq!(log.durable(), CommitPosition(group * 2 + 2));
    }
    (disk, env)
}

fn positions(disk: &SimulatedDisk) -> Result<Vec<u64>, PrimaryError> {
    let read = ReadLog::read(disk, Path::new("/"), FIRST)?;
    let read = read.expect("there is a log");
    Ok(read.records().map(|record| record.position.0).collect())
}

#[test]
fn what_was_appended_is_read_again() {
    let (disk, _) = written();
    let read = ReadLog::read(&disk, Path::new("/"), FIRST)
        .expect("intact")
        .expect("there");
    let found: Vec<Record<'_>> = read.records().collect();
    let expected: Vec<_> = (1..=6)
        .map(|position| record(position, b"parameters"))
        .collect();
    assert_eq!(found, expected);
}

/// Bytes of the log of three groups, without the room after them.
fn written_bytes() -> usize {
    let read = ReadLog::read(&written().0, Path::new("/"), FIRST);
    read.expect("intact").expect("there").length as usize
}

/// The file may end anywhere: everything up to the last whole group is there, and the log goes on.
#[test]
fn a_torn_end_is_cut_at_every_length() {
    let whole = written_bytes();
    let header = file_header(group::LogNumber(0)).len();
    let group = (whole - header) / 3;
    for length in 0..whole {
        let (disk, env) = written();
        disk.cut(Path::new(PATH), length as u64);
        if length < header {
            assert!(
                ReadLog::read(&disk, Path::new("/"), FIRST)
                    .expect("torn")
                    .is_none()
            );
            continue;
        }
        let groups = (length - header) / group;
        let expected: Vec<u64> = (1..=2 * groups as u64).collect();
        assert_eq!(positions(&disk).expect("torn"), expected, "{length} bytes");
        let read = ReadLog::read(&disk, Path::new("/"), FIRST)
            .expect("torn")
            .expect("there");
        let writer = LogWriter::resume(env, "/".into(), &read).expect("nothing fails");
        let mut log = CommandLog::new(Arc::new(writer), CommitPosition(2 * groups as u64));
        append(&mut log, b"");
        log.advance().expect("nothing fails");
        log.writer.write().expect("nothing fails");
        assert_eq!(
            positions(&disk).expect("whole").last(),
            Some(&(2 * groups as u64 + 1))
        );
    }
}

/// A flipped bit before the last group is damage; in the last group it may be a torn end.
#[test]
fn damage_is_told_from_a_torn_end() {
    let whole = written_bytes();
    let header = file_header(group::LogNumber(0)).len();
    let group = (whole - header) / 3;
    for offset in 0..whole {
        let (disk, _) = written();
        disk.flip_byte(Path::new(PATH), offset as u64, offset as u32 % 8);
        match positions(&disk) {
            Err(PrimaryError::Corrupt { .. } | PrimaryError::VersionTooNew { .. }) => {
                assert!(offset < header + 2 * group, "{offset}");
            }
            Ok(found) => {
                assert!(offset >= header + 2 * group, "{offset}");
                assert_eq!(found, [1, 2, 3, 4]);
            }
            Err(other) => panic!("{other}"),
        }
    }
}

/// A sync that failed poisons the log: nothing after it is acknowledged.
#[test]
fn a_failed_sync_ends_the_log() {
    let disk = SimulatedDisk::new(1);
    let env = environment(&disk);
    let writer = LogWriter::create(env, "/".into(), FIRST).expect("nothing fails");
    let mut log = CommandLog::new(Arc::new(writer), CommitPosition::ZERO);
    append(&mut log, b"");
    log.advance().expect("nothing fails");
    // The group, room for more, the sync.
    let sync = disk.changes() + 2;
    let mut faults = sim::Faults::default();
    faults.changes.insert(sync, sim::Fault::Error);
    disk.plan(faults);
    assert!(matches!(log.writer.write(), Err(PrimaryError::Poisoned(_))));
    assert!(log.advance().is_err());
    append(&mut log, b"");
    assert!(log.advance().is_err(), "it stays so");
    assert_eq!(log.durable(), CommitPosition::ZERO);
}

/// Both the group that is written and the one that is pending count, and their memory comes back.
#[test]
fn groups_that_are_not_durable_are_bounded() {
    let disk = SimulatedDisk::new(1);
    let writer = LogWriter::create(environment(&disk), "/".into(), FIRST).expect("nothing fails");
    let mut log = CommandLog::new(Arc::new(writer), CommitPosition::ZERO);
    let parameters = vec![0; 4 << 20];
    let mut appended = 0;
    while log.admit(&parameters).is_ok() {
        append(&mut log, &parameters);
        log.advance().expect("nothing fails");
        appended += 1;
        assert!(appended < 20, "{} bytes are held", log.held_bytes());
    }
    assert_eq!(log.admit(b""), Err(Refusal::LogBehind));
    assert!(appended * parameters.len() <= HELD_BYTES_MAX + parameters.len());
    while log.writer.write().expect("nothing fails") {
        log.advance().expect("nothing fails");
    }
    assert_eq!(log.durable(), log.last);
    assert_eq!(log.admit(&parameters), Ok(()));
    assert!(log.held_bytes() < parameters.len());
}

/// A segment that another one follows is whole, and none is missing.
#[test]
fn segments_follow_one_another() {
    let (disk, env) = written();
    let read = ReadLog::read(&disk, Path::new("/"), FIRST);
    let read = read.expect("intact").expect("there");
    let writer = LogWriter::resume(env, "/".into(), &read).expect("nothing fails");
    let mut log = CommandLog::new(Arc::new(writer), CommitPosition(6));
    assert_eq!(log.begin_segment(), SegmentNumber(1));
    assert_eq!(log.begin_segment(), SegmentNumber(1), "it has nothing yet");
    for number in 7..=8 {
        append(&mut log, b"");
        log.advance().expect("nothing fails");
        log.writer.write().expect("nothing fails");
        log.advance().expect("nothing fails");
        assert_eq!(log.begin_segment(), SegmentNumber(number - 5));
    }
    let folder = Path::new("/");
    let all: Vec<_> = (0..3).map(SegmentNumber).collect();
    assert_eq!(
        read_segments(&disk, folder, FIRST).expect("none is missing"),
        all
    );
    read.check_whole(folder).expect("whole");
    let second = folder.join(SegmentNumber(1).name());
    let whole = ReadLog::read(&disk, folder, SegmentNumber(1));
    let whole = whole.expect("intact").expect("there");
    assert!(
        whole.length < disk.bytes(&second).len() as u64,
        "it has room"
    );
    whole.check_whole(folder).expect("room is no torn end");
    disk.cut(&second, whole.length - 1);
    let cut = ReadLog::read(&disk, folder, SegmentNumber(1));
    let error = cut.expect("torn").expect("there").check_whole(folder);
    assert!(
        error
            .expect_err("torn")
            .to_string()
            .contains("segment 2 follows")
    );
    let gap = disk.fork();
    env::Disk::remove(&gap, &second).expect("it is there");
    let error = read_segments(&gap, folder, FIRST).expect_err("one is missing");
    assert!(
        error.to_string().contains("commands-0000000001.log"),
        "{error}"
    );
}

/// The process ends before the name of a new segment is durable, and the next one goes on with it. What
/// that makes durable is there after a power cut.
#[test]
fn a_segment_that_is_gone_on_with_keeps_its_name() {
    let disk = SimulatedDisk::new(1);
    let env = environment(&disk);
    let writer = LogWriter::create(env, "/".into(), FIRST).expect("nothing fails");
    let mut log = CommandLog::new(Arc::new(writer), CommitPosition::ZERO);
    let second = log.begin_segment();
    append(&mut log, b"");
    log.advance().expect("nothing fails");
    let found = Arc::new(std::sync::Mutex::new(None));
    let taken = Arc::clone(&found);
    disk.watch(Some(Arc::new(move |moment| {
        // The folder is about to be synced.
        if moment.path == Path::new("/") {
            let image = moment.found_after(sim::Crash::Kill, 1);
            *taken.lock().expect("no panic") = Some(image);
        }
    })));
    log.writer.write().expect("nothing fails");
    let found = found.lock().expect("no panic").take();
    let found = found.expect("the folder was synced");
    let read = ReadLog::read(&found, Path::new("/"), second);
    let read = read.expect("intact").expect("it has its header");
    let writer = LogWriter::resume(environment(&found), "/".into(), &read);
    let writer = writer.expect("nothing fails");
    let mut log = CommandLog::new(Arc::new(writer), CommitPosition::ZERO);
    append(&mut log, b"");
    log.advance().expect("nothing fails");
    log.writer.write().expect("nothing fails");
    let found = found.crash(sim::Crash::PowerCut { keep: 0.0 });
    let read = ReadLog::read(&found, Path::new("/"), second);
    let read = read.expect("intact").expect("it was acknowledged");
    assert_eq!(read.records().count(), 1);
}

/// Version 1, byte for byte.
#[test]
fn version_1_is_written_byte_for_byte() {
    let header = file_header(group::LogNumber(0x0102_0304_0506_0708));
    assert_eq!(header[..12], *b"HEDGECMD\x01\0\0\0");
    assert_eq!(header[16..], [8, 7, 6, 5, 4, 3, 2, 1]);
    let mut newer = header;
    newer[8] = 2;
    assert_eq!(parse_file_header(&newer), Err(HeaderProblem::TooNew(2)));
    let mut group = Group::new();
    group.push(&record(1, b"xyz"));
    let golden = include_bytes!("../../golden/command-group-1");
    let bytes = group.finish(group::LogNumber(5), 24);
    assert_eq!(bytes[..4], GROUP_MAGIC);
    assert_eq!(bytes, golden, "{bytes:02x?}");
}

/// Most syncs find room for their group: the file gets longer once in many groups. A power cut in the middle of any
/// write leaves what was acknowledged, and at most the group that was being written.
#[test]
fn groups_are_written_into_room_that_was_made() {
    let disk = SimulatedDisk::new(1);
    let env = environment(&disk);
    let writer = LogWriter::create(env, "/".into(), FIRST).expect("nothing fails");
    let mut log = CommandLog::new(Arc::new(writer), CommitPosition::ZERO);
    let (found, durable) = (Arc::default(), Arc::new(AtomicU64::new(0)));
    let (list, acknowledged): (Arc<std::sync::Mutex<Vec<_>>>, _) =
        (Arc::clone(&found), Arc::clone(&durable));
    disk.watch(Some(Arc::new(move |moment| {
        let durable = acknowledged.load(Ordering::Relaxed);
        for seed in 0..4 {
            let image = moment.found_after(sim::Crash::PowerCut { keep: 0.5 }, seed);
            list.lock().expect("no panic").push((durable, image));
        }
    })));
    let mut lengths = std::collections::BTreeSet::new();
    for _ in 0..60 {
        append(&mut log, &[7; 3_000]);
        log.advance().expect("nothing fails");
        log.writer.write().expect("nothing fails");
        log.advance().expect("nothing fails");
        durable.store(log.durable().0, Ordering::Relaxed);
        lengths.insert(disk.bytes(Path::new(PATH)).len());
    }
    disk.watch(None);
    assert!((2..=4).contains(&lengths.len()), "{lengths:?}");
    for (durable, image) in found.lock().expect("no panic").iter() {
        let last = positions(image).expect("torn at most").last().copied();
        let last = last.unwrap_or_default();
        assert!(
            (*durable..=durable + 1).contains(&last),
            "{last} of {durable}"
        );
    }
}
