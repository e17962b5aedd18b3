//! Pages that a scan leaves out because nothing in their zone is wanted: as many as may be, and none
//! whose rows decide what a wanted row is.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_buffer::BooleanBuffer;
use lsm::{
    EncodedRows, KeyRange, RowTest, ScanCounts, Sifted, Snapshot, Store, StoreError, StoreOptions,
    ZoneFilter, Zones,
};
use types::{ColumnType, CommitPosition, TableId, TableSchema, VersionKind};

use crate::folder::Folder;
use crate::rows::{Cell, Version, table_schema, version_rows};
use crate::tables::whole;

const TABLE: TableId = TableId(1);
const ROWS: i64 = 60_000;
/// The column with what is asked for.
const TIME: usize = 1;

/// Rows in the order in which they happen: keys and times ascend together.
fn events() -> TableSchema {
    table_schema(&[
        ("id", ColumnType::Int64),
        ("time", ColumnType::Int64),
        ("note", ColumnType::Text),
    ])
}

fn event(position: u64, id: i64, time: i64) -> Version {
    let note = format!("event {:x}", id.wrapping_mul(0x1E37_79B9_7F4A_7C15));
    let cells = [Cell::Number(id), Cell::Number(time), Cell::Text(note)];
    Version::new(position, VersionKind::Put, cells)
}

fn commit(store: &Store, position: u64, versions: impl IntoIterator<Item = Version>) {
    let rows = version_rows(&events(), versions);
    store.ingest(TABLE, rows).expect("ingest works");
    store.publish(CommitPosition(position), Vec::new());
}

/// A store with [`ROWS`] events on disk, one each moment.
fn stored(folder: &Folder) -> Arc<Store> {
    let store = folder.open();
    store.create_table(TABLE, events()).expect("a new table");
    commit(&store, 5, (0..ROWS).map(|id| event(5, id, id)));
    store.flush().expect("the flush works");
    store
}

fn folder() -> Folder {
    Folder::new(StoreOptions {
        memory_bytes: 16 << 20,
        cache_bytes: 16 << 20,
        page_bytes: 4 << 10,
        ..StoreOptions::default()
    })
}

/// Wants what happened from a time on.
struct Since(i64);

impl ZoneFilter for Since {
    fn may_have_wanted(&self, zones: &Zones) -> Vec<bool> {
        let latest = zones.max(TIME).expect("times have bounds");
        let latest = latest.as_primitive::<Int64Type>();
        latest
            .iter()
            .map(|time| time.is_none_or(|time| time >= self.0))
            .collect()
    }
}

impl RowTest for Since {
    type Error = StoreError;

    fn sift(&mut self, _: &EncodedRows<'_>) -> Result<Sifted, StoreError> {
        Ok(Sifted {
            rows: None,
            checked: vec![0],
        })
    }

    fn check(&mut self, columns: &[ArrayRef], _: usize) -> Result<BooleanBuffer, StoreError> {
        let times = columns[0].as_primitive::<Int64Type>().values();
        Ok(times.iter().map(|&time| time >= self.0).collect())
    }
}

/// The keys of the events since a time, ascending, and what the scan took.
fn since(snapshot: &Snapshot, time: i64) -> (Vec<i64>, ScanCounts) {
    let zones: Arc<dyn ZoneFilter> = Arc::new(Since(time));
    let scan = snapshot.scan_wanted(TABLE, whole(vec![0], 1_000), &[TIME], &zones);
    let mut scan = scan.expect("the table is there");
    let mut keys = Vec::new();
    loop {
        let next = scan.next_wanted(&mut Since(time));
        let Some(batch) = next.expect("pages are sound") else {
            return (keys, scan.counts());
        };
        keys.extend_from_slice(batch.column(0).as_primitive::<Int64Type>().values());
    }
}

fn pages(snapshot: &Snapshot) -> u64 {
    let extent = snapshot.extent(TABLE, &KeyRange::all());
    extent.expect("the table is there").pages
}

#[test]
fn a_scan_for_the_newest_rows_reads_the_last_zones_only() {
    let folder = folder();
    let store = stored(&folder);
    let snapshot = store.pin();
    let (keys, counts) = since(&snapshot, ROWS - 100);
    assert!(keys.iter().copied().eq(ROWS - 100..ROWS));
    let pages = pages(&snapshot);
    assert!(pages > 100, "{pages} pages");
    assert_eq!(
        counts.pages_ruled_out + counts.pages_cached + counts.pages_read,
        pages
    );
    assert!(
        counts.pages_ruled_out >= pages - 32,
        "{counts:?} of {pages}"
    );
    let (keys, counts) = since(&snapshot, ROWS);
    assert_eq!((keys.len(), counts.pages_ruled_out), (0, pages));
}

/// Newer versions of rows all over the table, on disk and in memory, do not bring the pages back that
/// they override.
#[test]
fn overwritten_rows_do_not_keep_pages_from_being_left_out() {
    let folder = folder();
    let store = stored(&folder);
    let base = pages(&store.pin());
    let older = store.pin();
    commit(
        &store,
        6,
        (0..ROWS).step_by(100).map(|id| event(6, id, ROWS + id)),
    );
    store.flush().expect("the flush works");
    let back = |id| event(7, id, id);
    commit(&store, 7, (0..ROWS).step_by(1_000).map(back));

    let (keys, counts) = since(&store.pin(), ROWS);
    let expected = (0..ROWS).step_by(100).filter(|id| id % 1_000 > 0);
    assert!(keys.into_iter().eq(expected));
    assert_eq!(counts.pages_ruled_out, base, "{counts:?}");
    let (keys, _) = since(&older, ROWS - 3);
    assert_eq!(keys, [ROWS - 3, ROWS - 2, ROWS - 1]);
}

/// A version that is not wanted still hides the one that was.
#[test]
fn pages_that_hide_older_rows_are_read() {
    let folder = folder();
    let store = stored(&folder);
    // Whole zones of rows that were wanted, and are not any more.
    commit(&store, 6, (ROWS - 20_000..ROWS).map(|id| event(6, id, 0)));
    store.flush().expect("the flush works");
    let (keys, counts) = since(&store.pin(), ROWS - 20_050);
    assert!(keys.into_iter().eq(ROWS - 20_050..ROWS - 20_000));
    assert!(counts.pages_ruled_out > 0, "{counts:?}");
}

/// A copy of rows comes after changes that are newer than it: its run is in front, its rows are older.
#[test]
fn rows_of_a_late_copy_stay_hidden() {
    let folder = folder();
    let store = folder.open();
    store.create_table(TABLE, events()).expect("a new table");
    // As long as older rows may come, positions are kept.
    let hold = store.hold_history();
    commit(&store, 9, (0..ROWS).step_by(2).map(|id| event(9, id, 0)));
    store.flush().expect("the flush works");
    let copied = version_rows(&events(), (0..ROWS).map(|id| event(5, id, ROWS)));
    store.ingest(TABLE, copied).expect("ingest works");
    let read = |store: &Arc<Store>| {
        let (keys, _) = since(&store.pin(), ROWS);
        let expected: Vec<i64> = (1..ROWS).step_by(2).collect();
        assert_eq!(keys.len(), expected.len());
        assert_eq!(keys, expected);
    };
    store.publish(CommitPosition(10), Vec::new());
    read(&store);
    store.flush().expect("the flush works");
    read(&store);
    drop(hold);
}

/// A patch has not all cells: the row that it changes has to be read.
#[test]
fn pages_that_patches_build_upon_are_read() {
    let folder = folder();
    let store = stored(&folder);
    let late = |id| {
        let cells = [Cell::Number(id), Cell::Number(ROWS + id), Cell::Unchanged];
        Version::new(6, VersionKind::Patch, cells)
    };
    commit(&store, 6, [late(7), late(30_000)]);
    let read = |store: &Arc<Store>| {
        let (keys, _) = since(&store.pin(), ROWS);
        assert_eq!(keys, [7, 30_000]);
    };
    read(&store);
    store.flush().expect("the flush works");
    read(&store);
}
