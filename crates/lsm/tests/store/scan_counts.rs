//! What scans tell of the segments and pages that they took.

use lsm::{KeyRange, ScanCounts, ScanRequest, Snapshot, StoreOptions};
use types::{CommitPosition, TableId};

use crate::folder::Folder;
use crate::tables::{put_texts, texts};

const TABLE: TableId = TableId(1);
const ROWS: i64 = 5_000;

fn scan(snapshot: &Snapshot, range: &KeyRange) -> (u64, ScanCounts) {
    let request = ScanRequest {
        projection: vec![0],
        range: range.clone(),
        batch_rows: 1_000,
    };
    let mut scan = snapshot.scan(TABLE, request).expect("the table is there");
    let rows = scan.by_ref().map(|batch| batch.expect("sound").num_rows());
    (rows.sum::<usize>() as u64, scan.counts())
}

#[test]
fn a_scan_takes_the_pages_of_its_range_from_disk_and_then_from_the_cache() {
    let folder = Folder::new(StoreOptions {
        memory_bytes: 4 << 20,
        cache_bytes: 4 << 20,
        page_bytes: 4 << 10,
        segment_bytes: 16 << 10,
        ..StoreOptions::default()
    });
    let store = folder.open();
    store.create_table(TABLE, texts()).expect("a new table");
    let text = |key: i64, position| format!("{} at {position}", key.wrapping_mul(0x9E37_79B9));
    let rows = put_texts(0..ROWS, 5, text);
    store.ingest(TABLE, rows).expect("ingest works");
    store.publish(CommitPosition(5), Vec::new());

    let snapshot = store.pin();
    let (rows, in_memory) = scan(&snapshot, &KeyRange::all());
    assert_eq!(rows, ROWS as u64);
    assert_eq!(in_memory.versions, rows);
    assert_eq!(in_memory.pages_cached + in_memory.pages_read, 0);
    drop(snapshot);

    store.flush().expect("the flush works");
    drop(store);
    // Opened again, so that nothing is left in the cache.
    let store = folder.open();
    let snapshot = store.pin();
    let parts = snapshot.split(TABLE, 4).expect("the table is there");
    let part = &parts[1];
    let extent = snapshot.extent(TABLE, part).expect("the table is there");
    assert!(extent.segments_skipped > 0 && extent.segments_skipped < extent.segments);
    assert!(extent.pages_skipped > 0 && extent.pages_skipped < extent.pages);

    let (rows, first) = scan(&snapshot, part);
    assert!(rows > 0 && first.versions >= rows, "{rows} of {first:?}");
    assert_eq!(first.pages_read, extent.pages - extent.pages_skipped);
    assert_eq!(first.pages_cached, 0);
    let (rows_again, second) = scan(&snapshot, part);
    assert_eq!(rows_again, rows);
    assert_eq!(second.pages_cached, first.pages_read);
    assert_eq!(second.pages_read, 0);
    assert_eq!(second.versions, first.versions);
}
