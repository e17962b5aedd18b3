//! The simulated disk keeps its own promises.

use super::*;

const FILE: &str = "/d/file";

fn disk_with(bytes: &[u8]) -> (SimulatedDisk, Box<dyn WritableFile>) {
    let disk = SimulatedDisk::new(7);
    disk.create_directories(Path::new("/d")).expect("mkdir");
    let mut file = disk.create(Path::new(FILE)).expect("create");
    file.append(bytes).expect("append");
    (disk, file)
}

fn read(disk: &SimulatedDisk) -> io::Result<Vec<u8>> {
    let file = disk.open(Path::new(FILE))?;
    let mut bytes = vec![0; file.len()? as usize];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

#[test]
fn only_what_was_synced_with_its_name_survives_a_power_cut_for_certain() {
    let nothing = Crash::PowerCut { keep: 0.0 };
    let (disk, mut file) = disk_with(b"abc");
    assert!(
        read(&disk.crash(nothing)).is_err(),
        "neither name nor bytes"
    );

    let (disk, mut synced) = disk_with(b"abc");
    synced.sync().expect("sync");
    assert!(read(&disk.crash(nothing)).is_err(), "bytes without a name");

    let (disk, mut named) = disk_with(b"abc");
    disk.sync_directory(Path::new("/d")).expect("sync");
    assert_eq!(read(&disk.fork()).expect("read"), b"abc");
    assert_eq!(
        read(&disk.crash(nothing)).expect("a name"),
        b"",
        "a name without bytes"
    );
    assert!(named.append(b"d").is_err(), "the old process is dead");

    let (disk, mut both) = disk_with(b"abc");
    both.sync().expect("sync");
    disk.sync_directory(Path::new("/d")).expect("sync");
    both.append(b"def").expect("append");
    assert_eq!(read(&disk.crash(nothing)).expect("read"), b"abc");
    assert!(file.append(b"x").is_err());
}

#[test]
fn a_kill_keeps_everything_but_makes_nothing_durable() {
    let (disk, _file) = disk_with(b"abc");
    let killed = disk.crash(Crash::Kill);
    assert_eq!(read(&killed).expect("read"), b"abc");
    assert!(read(&killed.crash(Crash::PowerCut { keep: 0.0 })).is_err());
}

#[test]
fn a_power_cut_never_touches_what_was_synced_and_tears_the_rest_at_sectors() {
    let mut distinct = BTreeSet::new();
    for seed in 0..200 {
        let disk = SimulatedDisk::new(seed);
        disk.create_directories(Path::new("/d")).expect("mkdir");
        let mut file = disk.create(Path::new(FILE)).expect("create");
        file.append(&[1; 700]).expect("append");
        file.sync().expect("sync");
        disk.sync_directory(Path::new("/d")).expect("sync");
        file.append(&[2; 2_000]).expect("append");
        let bytes = read(&disk.crash(Crash::PowerCut { keep: 0.5 })).expect("read");
        assert!(bytes.len() >= 700);
        assert_eq!(bytes[..700], [1; 700]);
        for (index, sector) in bytes.chunks(SECTOR).enumerate().skip(2) {
            let uniform = sector.iter().all(|byte| *byte == sector[0]);
            assert!(uniform, "sector {index} is there or not");
        }
        distinct.insert(bytes);
    }
    assert!(distinct.len() > 50, "{} different ends", distinct.len());
}

const SECTOR: usize = 512;

#[test]
fn bytes_of_a_failed_sync_are_readable_but_never_durable() {
    let (disk, mut file) = disk_with(b"abc");
    disk.sync_directory(Path::new("/d")).expect("sync");
    file.sync().expect("sync");
    file.append(b"def").expect("append");
    let changes = BTreeMap::from([(disk.changes(), Fault::Error)]);
    disk.plan(Faults {
        changes,
        ..Faults::default()
    });
    assert!(file.sync().is_err());
    assert_eq!(read(&disk).expect("read"), b"abcdef");
    file.append(b"ghi").expect("append");
    file.sync().expect("the next sync reports success");
    let after = disk.crash(Crash::PowerCut { keep: 1.0 });
    assert_eq!(read(&after).expect("read"), b"abc\0\0\0ghi");
}

/// Room reads as zeros. What is written there and not synced may be lost, sector by sector; what was synced before it
/// stays.
#[test]
fn a_power_cut_leaves_room_that_was_made_as_zeros_or_as_written() {
    let mut distinct = BTreeSet::new();
    for seed in 0..50 {
        let disk = SimulatedDisk::new(seed);
        disk.create_directories(Path::new("/d")).expect("mkdir");
        let mut file = disk.create(Path::new(FILE)).expect("create");
        file.append(&[1; SECTOR]).expect("append");
        file.reserve(2 * SECTOR);
        file.sync().expect("sync");
        disk.sync_directory(Path::new("/d")).expect("sync");
        file.append(&[2; SECTOR]).expect("append");
        let bytes = read(&disk).expect("read");
        assert_eq!(bytes, [[1; SECTOR], [2; SECTOR], [0; SECTOR]].concat());
        let bytes = read(&disk.crash(Crash::PowerCut { keep: 0.5 })).expect("read");
        assert_eq!(bytes.len(), 3 * SECTOR);
        assert_eq!(bytes[..SECTOR], [1; SECTOR]);
        assert_eq!(bytes[2 * SECTOR..], [0; SECTOR]);
        distinct.insert(bytes[SECTOR]);
    }
    assert_eq!(distinct, BTreeSet::from([0, 2]));
}

#[test]
fn faults_come_when_they_are_planned() {
    let (disk, mut file) = disk_with(b"abc");
    let changes = BTreeMap::from([(disk.changes(), Fault::DiskFull)]);
    disk.plan(Faults {
        changes,
        crash_at: Some(disk.changes() + 2),
        ..Faults::default()
    });
    assert_eq!(
        file.append(b"d").expect_err("full").kind(),
        ErrorKind::StorageFull
    );
    file.append(b"e").expect("there is space again");
    assert!(!disk.has_crashed());
    assert!(file.append(b"f").is_err());
    assert!(disk.has_crashed());
    assert!(read(&disk).is_err());

    let (disk, mut file) = disk_with(b"abc");
    disk.plan(Faults {
        capacity_bytes: Some(4096),
        ..Faults::default()
    });
    file.append(b"def").expect("there is space in the block");
    assert!(file.append(&[0; 4096]).is_err());
    disk.remove(Path::new(FILE)).expect("remove");
    let mut other = disk.create(Path::new(FILE)).expect("create");
    other.append(b"defgh").expect("there is space again");
}

#[test]
fn a_directory_is_held_once() {
    let (disk, _file) = disk_with(b"");
    let held = disk.lock(Path::new("/d")).expect("lock");
    let again = disk.lock(Path::new("/d")).err().expect("held");
    assert_eq!(again.kind(), ErrorKind::WouldBlock);
    drop(held);
    assert!(disk.lock(Path::new("/d")).is_ok());
}

#[test]
fn equal_runs_have_equal_digests() {
    let run = |last: &[u8]| {
        let (disk, mut file) = disk_with(b"abc");
        file.append(last).expect("append");
        disk.crash(Crash::PowerCut { keep: 0.5 }).digest()
    };
    assert_eq!(run(b"d"), run(b"d"));
    assert_ne!(run(b"d"), run(b"de"));
}
