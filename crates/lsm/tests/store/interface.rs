//! The store's interface: tables, durability, damage, limits.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use lsm::{Store, StoreError, StoreOptions, Work};
use types::{CommitPosition, TableId, VersionRows};

use crate::folder::Folder;
use crate::tables::{put_texts, texts, whole};

const A: TableId = TableId(1);
const B: TableId = TableId(2);

fn puts(keys: impl IntoIterator<Item = i64>, position: u64) -> VersionRows {
    put_texts(keys, position, |key, position| {
        let digits = key.wrapping_mul(0x9E37_79B9);
        format!("row {key} at {position}, {digits}")
    })
}

fn options() -> StoreOptions {
    StoreOptions {
        memory_bytes: 1 << 20,
        cache_bytes: 1 << 20,
        filter_bytes: 1 << 20,
        page_bytes: 4 << 10,
        segment_bytes: 16 << 10,
        runs_max: 4,
        ..StoreOptions::default()
    }
}

/// A store with tables A and B.
fn new_store() -> (Folder, Arc<Store>) {
    let folder = Folder::new(options());
    let store = folder.open();
    store.create_table(A, texts()).expect("a new table");
    store.create_table(B, texts()).expect("a new table");
    (folder, store)
}

fn scan(store: &Arc<Store>, table: TableId) -> Result<Vec<i64>, StoreError> {
    let mut ids = Vec::new();
    for batch in store.pin().scan(table, whole(vec![0, 1], 100))? {
        ids.extend(batch?.column(0).as_primitive::<Int64Type>().values());
    }
    Ok(ids)
}

fn segment_files(directory: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(directory.join("segments")).expect("the segments folder");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    files
}

#[test]
fn scans_and_snapshots_go_from_thread_to_thread() {
    fn assert_send<T: Send>() {}
    fn assert_shared<T: Send + Sync>() {}
    assert_send::<lsm::Scan>();
    assert_shared::<lsm::Snapshot>();
    assert_shared::<lsm::HistoryHold>();
    assert_shared::<Store>();
}

#[test]
fn only_published_rows_are_seen() {
    let (_folder, store) = new_store();
    store.ingest(A, puts(0..10, 5)).expect("ingest works");
    assert_eq!(scan(&store, A).expect("sound"), Vec::<i64>::new());
    store.publish(CommitPosition(5), b"five".to_vec());
    assert_eq!(scan(&store, A).expect("sound"), (0..10).collect::<Vec<_>>());
    assert_eq!(
        (store.visible(), &*store.metadata()),
        (CommitPosition(5), &b"five"[..])
    );
    assert_eq!(store.durable().position, CommitPosition(0));
}

#[test]
fn a_flush_without_rows_makes_the_position_durable() {
    let (folder, store) = new_store();
    store.publish(CommitPosition(9), b"nine".to_vec());
    store.request_flush();
    assert!(store.work(Work::Flush).expect("the flush works"));
    assert!(!store.work(Work::Flush).expect("nothing to do"));
    drop(store);
    let store = folder.open();
    assert_eq!(
        (store.visible(), &*store.metadata()),
        (CommitPosition(9), &b"nine"[..])
    );
}

#[test]
fn tables_come_back_and_dropped_ones_leave_nothing() {
    let (folder, store) = new_store();
    store.ingest(A, puts(0..1000, 5)).expect("ingest works");
    store.ingest(B, puts(0..1000, 5)).expect("ingest works");
    store.publish(CommitPosition(5), Vec::new());
    store.flush().expect("the flush works");
    let files = segment_files(folder.path()).len();
    store.ingest(A, puts(0..1000, 6)).expect("ingest works");
    store.drop_table(A).expect("the table goes");
    assert_eq!(store.stats().memory_bytes, 0);
    assert!(segment_files(folder.path()).len() < files);
    assert!(matches!(scan(&store, A), Err(StoreError::NoSuchTable(A))));
    assert!(matches!(
        store.ingest(A, puts(0..1, 7)),
        Err(StoreError::NoSuchTable(A))
    ));
    drop(store);
    let store = folder.open();
    assert_eq!(
        store
            .tables()
            .iter()
            .map(|(table, _)| *table)
            .collect::<Vec<_>>(),
        [B]
    );
    assert_eq!(store.schema(B).as_deref(), Some(&texts()));
    assert_eq!(scan(&store, B).expect("sound").len(), 1000);
}

#[test]
fn merged_away_files_go_when_the_last_reader_lets_go() {
    let (folder, store) = new_store();
    for position in 1..=4 {
        store
            .ingest(A, puts(0..500, position))
            .expect("ingest works");
        store.publish(CommitPosition(position), Vec::new());
        store.flush().expect("the flush works");
    }
    let before = segment_files(folder.path());
    let snapshot = store.pin();
    let reader = snapshot.scan(A, whole(vec![0, 1], 50));
    let mut reader = reader.expect("the table can be read");
    assert_eq!(reader.next().expect("rows").expect("sound").num_rows(), 50);
    assert!(store.work(Work::Merge).expect("the merge works"));
    assert!(
        before.iter().all(|file| file.exists()),
        "a reader still needs them"
    );
    assert_eq!(
        reader
            .map(|batch| batch.expect("sound").num_rows())
            .sum::<usize>(),
        450
    );
    assert!(!before.iter().any(|file| file.exists()));
    assert_eq!(store.table_stats(A).expect("a table").versions, 500);
}

#[test]
fn a_damaged_file_stops_its_table_only() {
    let (folder, store) = new_store();
    store.ingest(A, puts(0..1000, 5)).expect("ingest works");
    store.publish(CommitPosition(5), Vec::new());
    store.flush().expect("the flush works");
    let of_a = segment_files(folder.path());
    store.ingest(B, puts(0..1000, 6)).expect("ingest works");
    store.publish(CommitPosition(6), Vec::new());
    store.flush().expect("the flush works");
    drop(store);
    std::fs::remove_file(&of_a[0]).expect("the file goes");
    let store = folder.open();
    let name = of_a[0]
        .file_name()
        .and_then(|name| name.to_str())
        .expect("a name");
    let error = scan(&store, A).expect_err("a file is missing");
    assert!(
        matches!(&error, StoreError::Corrupt { file, table: Some(A), .. } if file.contains(name)),
        "{error}"
    );
    assert_eq!(scan(&store, B).expect("sound").len(), 1000);
    let damaged = store.damaged_tables();
    assert!(matches!(damaged[..], [(A, _)]), "{damaged:?}");
    // Writing goes on, and the table can be replaced.
    store.ingest(A, puts(0..10, 7)).expect("ingest works");
    store.publish(CommitPosition(7), Vec::new());
    store.flush().expect("the flush works");
    while store
        .work(Work::Merge)
        .expect("merges leave the table alone")
    {}
    store.drop_table(A).expect("the table goes");
    drop(store);
    folder.open().schema(B).expect("the other table is there");
}

#[test]
fn damage_is_known_once_a_read_has_met_it() {
    let (folder, store) = new_store();
    store.ingest(A, puts(0..1000, 5)).expect("ingest works");
    store.publish(CommitPosition(5), Vec::new());
    store.flush().expect("the flush works");
    drop(store);
    let file = &segment_files(folder.path())[0];
    let mut bytes = std::fs::read(file).expect("the file is there");
    bytes[100] ^= 1;
    std::fs::write(file, bytes).expect("the file can be written");
    let store = folder.open();
    assert!(store.damaged_tables().is_empty(), "nothing was read");
    let error = scan(&store, A).expect_err("the page is damaged");
    let [(A, known)] = &store.damaged_tables()[..] else {
        panic!("one table is damaged");
    };
    assert_eq!(known.to_string(), error.to_string());
    store.drop_table(A).expect("the table goes");
    assert!(store.damaged_tables().is_empty());
}

#[test]
fn leftover_files_are_deleted_and_a_second_process_is_kept_out() {
    let (folder, store) = new_store();
    assert!(matches!(folder.try_open(), Err(StoreError::Locked { .. })));
    drop(store);
    let leftover = folder.path().join("segments/0000000099.seg");
    std::fs::write(&leftover, b"half a segment").expect("the file can be written");
    folder.open();
    assert!(!leftover.exists());
}

#[test]
fn memory_over_the_budget_is_waited_for() {
    let (_folder, store) = new_store();
    let mut position = 0;
    while store
        .wait_for_memory(Duration::ZERO)
        .expect("no sync failed")
    {
        position += 1;
        store
            .ingest(
                A,
                puts(
                    position as i64 * 1000..(position as i64 + 1) * 1000,
                    position,
                ),
            )
            .expect("ingest works");
        assert!(position < 1000, "the budget is never reached");
    }
    assert!(store.work(Work::Flush).expect("the flush works"));
    assert!(
        store
            .wait_for_memory(Duration::ZERO)
            .expect("no sync failed")
    );
    assert_eq!(store.stats().memory_bytes, 0);
}

#[test]
fn nothing_is_done_after_shut_down() {
    let (_folder, store) = new_store();
    store.publish(CommitPosition(1), Vec::new());
    store.request_flush();
    store.shut_down();
    assert!(!store.work(Work::Flush).expect("nothing to do"));
    store.wait_for_work(Work::Flush, Duration::from_secs(60));
    store
        .flush()
        .expect("a flush asked for by name still works");
    assert_eq!(store.durable().position, CommitPosition(1));
}

#[test]
fn truncated_data_leaves_the_disk() {
    let (folder, store) = new_store();
    store.ingest(A, puts(0..1000, 5)).expect("ingest works");
    store.publish(CommitPosition(5), Vec::new());
    store.flush().expect("the flush works");
    let before = store.pin();
    store
        .truncate(A, CommitPosition(8))
        .expect("truncation works");
    store.ingest(A, puts(0..3, 8)).expect("ingest works");
    store.publish(CommitPosition(8), Vec::new());
    assert_eq!(scan(&store, A).expect("sound"), [0, 1, 2]);
    store.flush().expect("the flush works");
    assert!(
        !store.work(Work::Merge).expect("sound"),
        "a snapshot still sees the old rows"
    );
    drop(before);
    assert!(store.work(Work::Merge).expect("the merge works"));
    assert!(
        !store.work(Work::Merge).expect("sound"),
        "nothing is left to collect"
    );
    assert_eq!(store.table_stats(A).expect("a table").versions, 3);
    drop(store);
    let store = folder.open();
    assert_eq!(scan(&store, A).expect("sound"), [0, 1, 2]);
}
