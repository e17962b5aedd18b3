//! Merges go a part of the keys at a time: what that takes of the disk, and what is left of a merge
//! that is stopped on its way.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array};
use env::Env;
use lsm::{MergePolicy, ScanRequest, Store, StoreOptions, Work};
use types::{CommitPosition, TableId, VersionKind, VersionRows};

use crate::folder::Folder;
use crate::metered_disk::MeteredDisk;
use crate::rows::{Cell, Version, version_rows};
use crate::tables::{put_texts, texts, whole};

const TABLE: TableId = TableId(1);
const SEGMENT_BYTES: u64 = 64 << 10;

/// Keys of each run, and runs that are merged together.
const KEYS: i64 = 60_000;
const RUNS: u64 = 4;

fn options(merge_policy: MergePolicy) -> StoreOptions {
    StoreOptions {
        memory_bytes: 64 << 20,
        cache_bytes: 1 << 20,
        filter_bytes: 1 << 20,
        page_bytes: 4 << 10,
        segment_bytes: SEGMENT_BYTES,
        runs_max: 4,
        merge_policy,
        ..StoreOptions::default()
    }
}

/// A store of overlapping runs of many segments each that are due to be merged, on a metered disk.
struct Overlapping {
    folder: Folder,
    disk: Arc<MeteredDisk>,
    policy: MergePolicy,
    store: Arc<Store>,
    rows: BTreeMap<i64, String>,
}

impl Overlapping {
    fn new() -> Self {
        Self::under(MergePolicy::SizeTiered)
    }

    fn under(policy: MergePolicy) -> Self {
        let folder = Folder::new(options(policy));
        let disk = Arc::new(MeteredDisk::default());
        let store = open(&folder, &disk, policy);
        store.create_table(TABLE, texts()).expect("a new table");
        let mut rows = BTreeMap::new();
        for position in 1..=RUNS {
            let text = |key: i64, position: u64| {
                let digits = (key as u64 ^ position << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                format!("{digits} at {position}")
            };
            // Every run has keys of its own, and shares others with each run before.
            let keys: Vec<i64> = (0..KEYS).map(|key| key * position as i64).collect();
            rows.extend(keys.iter().map(|&key| (key, text(key, position))));
            let puts = put_texts(keys, position, text);
            store.ingest(TABLE, puts).expect("there is room");
            if position == RUNS {
                let deleted = || (1..KEYS).step_by(40);
                store
                    .ingest(TABLE, deletes(deleted(), position))
                    .expect("there is room");
                deleted().for_each(|key| drop(rows.remove(&key)));
            }
            store.publish(CommitPosition(position), Vec::new());
            store.flush().expect("flushed");
        }
        Self {
            folder,
            disk,
            policy,
            store,
            rows,
        }
    }

    fn reopen(self) -> Self {
        drop(self.store);
        let store = open(&self.folder, &self.disk, self.policy);
        Self { store, ..self }
    }

    fn check_rows(&self) {
        let mut found = BTreeMap::new();
        let scan = self.store.pin().scan(TABLE, whole(vec![0, 1], 1000));
        for batch in scan.expect("the table is there") {
            let batch = batch.expect("intact");
            let keys = batch.column(0).as_primitive::<Int64Type>().values();
            let texts = batch.column(1).as_string::<i32>().iter();
            let texts = texts.map(|text| text.expect("not null").to_owned());
            found.extend(keys.iter().copied().zip(texts));
        }
        let differs = found
            .iter()
            .zip(&self.rows)
            .find(|(found, row)| found != row);
        assert_eq!(differs, None);
        assert_eq!(found.len(), self.rows.len());
        self.check_parts();
        self.check_keys();
    }

    /// Scans in parts, as several threads would: each row is in one of them.
    fn check_parts(&self) {
        let snapshot = self.store.pin();
        for parts in [2, 7, 1_000] {
            let mut found = 0;
            for range in snapshot.split(TABLE, parts).expect("the table is there") {
                let request = ScanRequest {
                    range,
                    ..whole(vec![0], 1000)
                };
                let scan = snapshot.scan(TABLE, request).expect("the table is there");
                found += scan
                    .map(|batch| batch.expect("intact").num_rows())
                    .sum::<usize>();
            }
            assert_eq!(found, self.rows.len(), "in {parts} parts");
        }
    }

    /// Looks every key up, and those that are missing or deleted.
    fn check_keys(&self) {
        let asked = 0..KEYS * RUNS as i64;
        let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(asked.clone()));
        let found = self.store.pin().multi_get(TABLE, &[keys], &[1]);
        let found = found.expect("the table is there");
        for (key, found) in asked.zip(&found.found) {
            assert_eq!(found, self.rows.contains_key(&key), "key {key}");
        }
        let texts = found.batches.iter().flat_map(|batch| {
            let texts = batch.column(0).as_string::<i32>().iter();
            texts.map(|text| text.expect("not null"))
        });
        assert!(texts.eq(self.rows.values()));
    }

    fn runs(&self) -> usize {
        let stats = self.store.table_stats(TABLE).expect("the table is there");
        stats
            .components
            .iter()
            .map(|component| component.runs)
            .sum()
    }
}

fn deletes(keys: impl Iterator<Item = i64>, position: u64) -> VersionRows {
    let delete = |key| {
        let cells = [Cell::Number(key), Cell::Null];
        Version::new(position, VersionKind::Delete, cells)
    };
    version_rows(&texts(), keys.map(delete))
}

fn open(folder: &Folder, disk: &Arc<MeteredDisk>, policy: MergePolicy) -> Arc<Store> {
    let env = Env {
        disk: Arc::clone(disk) as _,
        ..Env::real()
    };
    Store::open(env, folder.path(), options(policy)).expect("the store opens")
}

/// Merges all runs into one; bytes on disk before, the most meanwhile, and bytes written.
fn merge_metered(runs: &Overlapping) -> [u64; 3] {
    let before = runs.disk.bytes();
    runs.disk.take_bytes_max();
    while runs.store.work(Work::Merge).expect("merged") {}
    let most = runs.disk.take_bytes_max();

    assert_eq!(runs.runs(), 1);
    runs.check_rows();
    let written = runs.store.stats().bytes_merged;
    assert!(written > 20 * SEGMENT_BYTES, "the merge was a long one");
    [before, most, written]
}

#[test]
fn a_merge_needs_room_for_a_few_segments() {
    let runs = Overlapping::new();
    let [before, most, _] = merge_metered(&runs);
    // One that is being written, one that is finished, and of each input the one that is being
    // read; the manifest besides.
    let room = (2 + RUNS + 1) * SEGMENT_BYTES * 3 / 2;
    assert!(
        most < before + room,
        "{most} bytes at most, {before} before, {room} allowed"
    );
}

#[test]
fn a_merge_that_is_stopped_keeps_what_it_has_done() {
    for segments in [1, 2, 3, 8] {
        let runs = Overlapping::new();
        let created = AtomicUsize::new(0);
        let store = Arc::downgrade(&runs.store);
        runs.disk.on_create(move |path| {
            let is_segment = path.extension().is_some_and(|ending| ending == "seg");
            if is_segment && created.fetch_add(1, Ordering::Relaxed) == segments {
                store.upgrade().expect("it is merging").shut_down();
            }
            Ok(())
        });
        let finished = runs.store.work(Work::Merge).expect("no error");
        assert!(
            !finished,
            "stopped at segment {segments}, {} bytes",
            runs.store.stats().bytes_merged
        );
        assert_eq!(runs.runs(), RUNS as usize, "no input is used up");
        let has_steps = runs.store.stats().bytes_merged > 0;
        assert_eq!(
            has_steps,
            segments > 1,
            "a step follows the next segment's start"
        );
        runs.check_rows();

        let runs = runs.reopen();
        runs.check_rows();
        while runs.store.work(Work::Merge).expect("merged") {}
        assert_eq!(runs.runs(), 1);
        runs.check_rows();
        runs.reopen().check_rows();
    }
}

/// A table is copied beside its log, whose runs are on disk before the rows come that they have deleted.
#[test]
fn a_row_that_is_copied_beside_its_log_stays_deleted() {
    const ROWS: i64 = 100;
    for copy_is_flushed in [false, true] {
        let folder = Folder::new(options(MergePolicy::default()));
        let store = folder.open();
        store.create_table(TABLE, texts()).expect("a new table");
        let hold = store.hold_history();
        for run in 0..RUNS {
            let position = 20 + run;
            let keys = (0..ROWS).filter(|key| *key as u64 % RUNS == run);
            store
                .ingest(TABLE, deletes(keys, position))
                .expect("there is room");
            store.publish(CommitPosition(position), Vec::new());
            store.flush().expect("flushed");
        }
        let text = |key: i64, position: u64| format!("{key} at {position}");
        let copied = put_texts(0..ROWS + 1, 10, text);
        store.ingest(TABLE, copied).expect("there is room");
        if copy_is_flushed {
            store.flush().expect("flushed");
        }
        drop(hold);
        for _ in 0..2 {
            while store.work(Work::Merge).expect("merged") {}
            let request = whole(vec![0], 1000);
            let scan = store
                .pin()
                .scan(TABLE, request)
                .expect("the table is there");
            let rows = scan.map(|batch| batch.expect("intact").num_rows());
            assert_eq!(rows.sum::<usize>(), 1, "flushed: {copy_is_flushed}");
            store.flush().expect("flushed");
        }
    }
}

/// Runs of the first level for which one merge is due.
const STEPPED: MergePolicy = MergePolicy::SteppedMerge {
    runs_a_level: RUNS as usize,
};

#[test]
fn a_merge_of_whole_runs_needs_room_for_all_of_its_output() {
    let runs = Overlapping::under(STEPPED);
    let [before, most, written] = merge_metered(&runs);
    assert!(
        most >= before + written,
        "{most} bytes at most, {before} before, {written} written"
    );
    assert!(runs.disk.bytes() < written + SEGMENT_BYTES, "inputs go");
}

#[test]
fn a_merge_of_whole_runs_that_is_stopped_has_done_nothing() {
    let runs = Overlapping::under(STEPPED);
    let created = AtomicUsize::new(0);
    let store = Arc::downgrade(&runs.store);
    runs.disk.on_create(move |_| {
        if created.fetch_add(1, Ordering::Relaxed) == 8 {
            store.upgrade().expect("it is merging").shut_down();
        }
        Ok(())
    });
    let before = runs.disk.bytes();
    assert!(!runs.store.work(Work::Merge).expect("no error"));
    assert_eq!(runs.store.stats().bytes_merged, 0);
    assert_eq!(runs.disk.bytes(), before, "its output is gone");
    runs.check_rows();

    let runs = runs.reopen();
    while runs.store.work(Work::Merge).expect("merged") {}
    assert_eq!(runs.runs(), 1);
    runs.check_rows();
}

/// The first flush makes C2, the second one C1, and the others are merged with that, whole.
#[test]
fn under_rose_a_flush_is_a_merge_with_all_of_c1() {
    let runs = Overlapping::under(MergePolicy::Rose);
    assert_eq!(runs.runs(), 2);
    runs.check_rows();
    let after = runs.store.stats().bytes_flushed;
    let on_disk = runs.disk.bytes();
    assert!(after > on_disk * 3 / 2, "{after} written, {on_disk} left");

    let runs = runs.reopen();
    assert_eq!(runs.runs(), 2);
    runs.check_rows();
    while runs.store.work(Work::Merge).expect("merged") {}
    runs.check_rows();
    runs.reopen().check_rows();
}

/// The table of few rows beside the one that is merged for long.
const SMALL: TableId = TableId(2);

/// A run of a few rows more on disk.
fn flush_few_rows(store: &Store, position: u64) {
    let text = |key: i64, position: u64| format!("{key} at {position}");
    let puts = put_texts(0..50, position, text);
    store.ingest(SMALL, puts).expect("there is room");
    store.publish(CommitPosition(position), Vec::new());
    store.flush().expect("flushed");
}

fn runs_of(store: &Store, table: TableId) -> usize {
    let stats = store.table_stats(table).expect("the table is there");
    let components = stats.components.iter();
    components.map(|component| component.runs).sum()
}

/// Has four runs of the small table flushed while the large one is merged; no segment can be created
/// after them while `is_full`.
fn flush_beside_merge(runs: &Overlapping, is_full: Arc<AtomicBool>) {
    runs.store
        .create_table(SMALL, texts())
        .expect("a new table");
    let created = AtomicUsize::new(0);
    let store = Arc::downgrade(&runs.store);
    runs.disk.on_create(move |path| {
        let is_segment = path.extension().is_some_and(|ending| ending == "seg");
        let created = created.fetch_add(usize::from(is_segment), Ordering::Relaxed);
        // The flushes create segments, too: four.
        if is_segment && created == 2 {
            let store = store.upgrade().expect("it is merging");
            (1..=4).for_each(|flush| flush_few_rows(&store, RUNS + flush));
            assert_eq!(runs_of(&store, SMALL), 4);
        }
        match is_segment && created > 6 && is_full.load(Ordering::Relaxed) {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    });
}

#[test]
fn a_long_merge_makes_way_for_short_ones() {
    let runs = Overlapping::new();
    flush_beside_merge(&runs, Arc::default());
    assert!(runs.store.work(Work::Merge).expect("merged"));
    assert_eq!(runs_of(&runs.store, SMALL), 1, "merged on the way");
    assert_eq!(runs.runs(), 1);
    assert_eq!(runs.store.stats().merges_done, 2);
    runs.check_rows();
}

#[test]
fn a_short_merge_that_fails_is_not_tried_again_before_the_long_one_ends() {
    let runs = Overlapping::new();
    let is_full = Arc::new(AtomicBool::new(true));
    flush_beside_merge(&runs, Arc::clone(&is_full));
    let failed = runs.store.work(Work::Merge);
    assert!(failed.is_err(), "the disk is full for the long one, too");
    assert_eq!(runs_of(&runs.store, SMALL), 4);
    is_full.store(false, Ordering::Relaxed);
    while runs.store.work(Work::Merge).expect("merged") {}
    assert_eq!((runs.runs(), runs_of(&runs.store, SMALL)), (1, 1));
    runs.check_rows();
}

#[test]
fn flushes_do_not_add_runs_for_ever() {
    let options = options(MergePolicy::SizeTiered);
    let crowded = 2 * options.runs_max;
    let folder = Folder::new(options);
    let store = folder.open();
    store.create_table(SMALL, texts()).expect("a new table");
    let most = (1..=40).map(|flush| {
        flush_few_rows(&store, flush);
        runs_of(&store, SMALL)
    });
    assert_eq!(most.max(), Some(crowded), "nobody merges");
    let scan = store.pin().scan(SMALL, whole(vec![1], 1000));
    let batches = scan.expect("the table is there");
    let batches: Vec<_> = batches.map(|batch| batch.expect("intact")).collect();
    let texts = batches.iter();
    let texts = texts.flat_map(|batch| batch.column(0).as_string::<i32>().iter().flatten());
    assert!(texts.eq((0..50).map(|key| format!("{key} at 40"))));
}
