//! The compaction buffer: merged segments stay on disk for look-ups as long as their pages are cached,
//! and no longer.

use std::path::Path;
use std::sync::Arc;

use lsm::{BufferOptions, MergePolicy, Store, StoreOptions, Warming, Work};
use types::{CommitPosition, TableId, Value};

use crate::folder::Folder;
use crate::tables::{put_texts, texts};

const TABLE: TableId = TableId(1);
const KEYS: i64 = 40_000;
const HOT: std::ops::Range<i64> = 8_000..12_000;

/// A store with a large last run, and one in front of it that gets what is written next.
struct TwoLevels {
    folder: Folder,
    store: Arc<Store>,
    position: u64,
}

impl TwoLevels {
    fn new(cached_share_min: f64) -> Self {
        let folder = Folder::new(StoreOptions {
            cache_bytes: 8 << 20,
            page_bytes: 4 << 10,
            segment_bytes: 64 << 10,
            merge_policy: MergePolicy::Leveled { ratio: 10 },
            warming: Warming::NoneDeadPagesStay,
            compaction_buffer: Some(BufferOptions {
                cached_share_min,
                trim_period_ms: 0,
            }),
            ..StoreOptions::default()
        });
        let store = folder.open();
        store.create_table(TABLE, texts()).expect("a new table");
        let mut levels = Self {
            folder,
            store,
            position: 0,
        };
        levels.write(0..KEYS);
        // A hundredth of the keys fills the first level, and begins the second one.
        levels.write((0..KEYS).step_by(80));
        levels.write((0..KEYS).step_by(90));
        levels.merge();
        levels
    }

    /// Puts rows with texts that nothing compresses, and flushes.
    fn write(&mut self, keys: impl IntoIterator<Item = i64>) {
        self.position += 1;
        let text = |key: i64, position: u64| {
            let noise = |part: u64| (key as u64 ^ position << 32 ^ part << 48).wrapping_pow(11);
            let digits = |part| format!("{:016x}", noise(part).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            (0..8).map(digits).collect()
        };
        let rows = put_texts(keys, self.position, text);
        self.store.ingest(TABLE, rows).expect("there is room");
        self.store
            .publish(CommitPosition(self.position), Vec::new());
        self.store.flush().expect("flushed");
    }

    fn merge(&self) {
        while self.store.work(Work::Merge).expect("merged") {}
    }

    /// Looks all hot rows up; how many pages had to be read.
    fn read_hot_rows(&self) -> u64 {
        let before = self.store.stats().cache_misses;
        for key in HOT {
            let row = self.store.pin().get(TABLE, &[Value::Int(key)], &[1]);
            assert!(row.expect("intact").is_some());
        }
        self.store.stats().cache_misses - before
    }

    fn buffered_bytes(&self) -> u64 {
        let stats = self.store.table_stats(TABLE).expect("the table is there");
        stats.bytes_in_buffers
    }

    /// Files of segments.
    fn files(&self) -> usize {
        fn count(folder: &Path) -> usize {
            let entries = std::fs::read_dir(folder).expect("a folder");
            let paths = entries.map(|entry| entry.expect("readable").path());
            let files = paths.map(|path| match path.is_dir() {
                true => count(&path),
                false => usize::from(path.extension().is_some_and(|end| end == "seg")),
            });
            files.sum()
        }
        count(self.folder.path())
    }
}

#[test]
fn hot_rows_of_merged_segments_are_found_where_they_are_cached() {
    let mut levels = TwoLevels::new(0.0);
    levels.write((0..KEYS).step_by(100));
    levels.read_hot_rows();
    assert_eq!(levels.read_hot_rows(), 0);
    levels.merge();
    assert!(levels.buffered_bytes() > 0);
    // Those that were merged are cached where they were; the others were rewritten beside them.
    let rewritten = levels.read_hot_rows();
    assert!(rewritten < 30, "{rewritten}");
}

#[test]
fn what_is_not_cached_goes_from_the_disk() {
    let mut levels = TwoLevels::new(1.1);
    let files = levels.files();
    for start in 0..4 {
        levels.write((start..KEYS).step_by(100));
        levels.merge();
    }
    // The newest table is spared.
    let newest = levels.buffered_bytes();
    levels.merge();
    assert_eq!(levels.buffered_bytes(), newest);
    assert!(levels.files() <= files + 20, "{} files", levels.files());
}

#[test]
fn a_restart_ends_the_buffer_and_its_files() {
    let mut levels = TwoLevels::new(0.0);
    levels.write((0..KEYS).step_by(100));
    levels.read_hot_rows();
    levels.merge();
    assert!(levels.buffered_bytes() > 0);
    let with_buffer = levels.files();
    let TwoLevels { folder, store, .. } = levels;
    drop(store);
    let store = folder.open();
    let levels = TwoLevels {
        folder,
        store,
        position: 0,
    };
    assert_eq!(levels.buffered_bytes(), 0);
    assert!(levels.files() < with_buffer);
    levels.read_hot_rows();
}

#[test]
fn what_a_frozen_buffer_does_not_take_goes_from_the_disk() {
    let mut levels = TwoLevels::new(0.0);
    let mut overwrite = |times| {
        for _ in 0..times {
            levels.write((0..KEYS).step_by(100));
            levels.merge();
        }
        (levels.buffered_bytes(), levels.files())
    };
    // The run stays as large as it is, so it is soon a smaller part of what came.
    let (frozen_bytes, files) = overwrite(8);
    assert!(frozen_bytes > 0);
    assert_eq!(overwrite(8), (frozen_bytes, files));
}
