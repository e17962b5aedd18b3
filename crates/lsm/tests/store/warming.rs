//! What merges leave of the page cache: rows that were read before are read from memory after.

use std::sync::Arc;

use lsm::{Store, StoreOptions, StoreStats, Warming, Work};
use types::{CommitPosition, TableId, Value};

use crate::folder::Folder;
use crate::tables::{put_texts, texts};

const TABLE: TableId = TableId(1);

/// Rows, and those of them that are read.
const KEYS: i64 = 20_000;
const HOT: std::ops::Range<i64> = 8_000..10_000;

/// A store that has been flushed once, and whose hot rows have been read.
struct Read {
    _folder: Folder,
    store: Arc<Store>,
    position: u64,
}

impl Read {
    fn new(warming: Warming, cache_bytes: usize) -> Self {
        let read = Self::unread(warming, cache_bytes);
        for key in HOT {
            read.look_up(key);
        }
        read
    }

    fn unread(warming: Warming, cache_bytes: usize) -> Self {
        let folder = Folder::new(StoreOptions {
            cache_bytes,
            warming,
            page_bytes: 4 << 10,
            segment_bytes: 64 << 10,
            ..StoreOptions::default()
        });
        let store = folder.open();
        store.create_table(TABLE, texts()).expect("a new table");
        let mut read = Self {
            _folder: folder,
            store,
            position: 0,
        };
        read.write(0..KEYS);
        read
    }

    /// Puts rows with texts of random digits, and flushes.
    fn write(&mut self, keys: impl IntoIterator<Item = i64>) {
        self.position += 1;
        let text = |key: i64, position: u64| {
            let noise = |part: u64| (key as u64 ^ position << 32 ^ part << 48).wrapping_pow(11);
            (0..8)
                .map(|part| format!("{:016x}", noise(part).wrapping_mul(0x9E37_79B9_7F4A_7C15)))
                .collect()
        };
        let rows = put_texts(keys, self.position, text);
        self.store.ingest(TABLE, rows).expect("there is room");
        self.store
            .publish(CommitPosition(self.position), Vec::new());
        self.store.flush().expect("flushed");
    }

    fn look_up(&self, key: i64) {
        let row = self.store.pin().get(TABLE, &[Value::Int(key)], &[1]);
        assert!(row.expect("intact").is_some());
    }

    /// Overwrites some rows everywhere, and merges everything into one run.
    fn overwrite_and_merge(&mut self) {
        for start in 0..3 {
            self.write((start..KEYS).step_by(7));
        }
        while self.store.work(Work::Merge).expect("merged") {}
        let stats = self.store.table_stats(TABLE).expect("the table is there");
        let runs: usize = stats.components[1..]
            .iter()
            .map(|component| component.runs)
            .sum();
        assert_eq!(runs, 1);
    }

    fn stats(&self) -> StoreStats {
        self.store.stats()
    }

    /// Pages that have to be read for the hot rows.
    fn misses(&self) -> u64 {
        let before = self.stats().cache_misses;
        for key in HOT {
            self.look_up(key);
        }
        self.stats().cache_misses - before
    }
}

/// A page has about 57 rows: of hexadecimal digits two fit into a byte.
const HOT_PAGES: u64 = 35;

/// Large enough for all hot pages, not for all pages.
const CACHE_BYTES: usize = 1 << 20;

#[test]
fn hot_rows_are_in_the_cache_after_a_merge_and_others_are_not() {
    let mut read = Read::new(Warming::Inherited, CACHE_BYTES);
    read.overwrite_and_merge();
    let warmed = read.stats().pages_warmed;
    assert!(read.misses() <= 2, "at the ends of the range");
    assert!(warmed > HOT_PAGES / 2);
    // A key far away is not there.
    let before = read.stats().cache_misses;
    read.look_up(100);
    assert_eq!(read.stats().cache_misses, before + 1);
}

#[test]
fn without_warming_every_hot_page_has_to_be_read_again() {
    for warming in [Warming::None, Warming::NoneDeadPagesStay] {
        let mut read = Read::new(warming, CACHE_BYTES);
        let cached = read.stats().cache_bytes;
        read.overwrite_and_merge();
        assert_eq!(read.stats().pages_warmed, 0);
        assert_eq!(
            read.stats().cache_bytes > cached / 2,
            warming == Warming::NoneDeadPagesStay
        );
        assert!(read.misses() > HOT_PAGES / 2);
    }
}

#[test]
fn what_is_only_written_is_not_warmed() {
    let mut written = Read::unread(Warming::Inherited, 64 << 20);
    written.overwrite_and_merge();
    let stats = written.stats();
    assert_eq!((stats.pages_warmed, stats.cache_bytes), (0, 0));
}

#[test]
fn where_the_cache_has_room_to_spare_everything_that_is_read_stays_warm() {
    let mut read = Read::new(Warming::Inherited, 64 << 20);
    for key in 0..KEYS {
        read.look_up(key);
    }
    read.overwrite_and_merge();
    let before = read.stats().cache_misses;
    for key in 0..KEYS {
        read.look_up(key);
    }
    assert_eq!(read.stats().cache_misses, before);
}

#[test]
fn of_many_pages_around_one_that_is_written_some_are_asked() {
    // Room for the half of the rows that is read, and little more.
    let mut read = Read::unread(Warming::Inherited, 800 << 10);
    let half = KEYS / 2;
    (half..KEYS).for_each(|key| read.look_up(key));
    // Pages of 57 rows, each among as many pages.
    let sparse = || (0..KEYS).step_by(57);
    read.write(sparse());
    let misses_of = |keys: &mut dyn Iterator<Item = i64>| {
        let before = read.stats().cache_misses;
        keys.for_each(|key| read.look_up(key));
        read.stats().cache_misses - before
    };
    let in_read_half = misses_of(&mut sparse().filter(|&key| key >= half));
    assert!(
        in_read_half <= 1,
        "{in_read_half} at the border of the halves"
    );
    let elsewhere = misses_of(&mut sparse().filter(|&key| key < half));
    assert!(elsewhere >= 2, "{elsewhere} of three pages or so");
}

#[test]
fn warmed_pages_that_are_asked_for_are_counted() {
    let mut read = Read::unread(Warming::Everything, 64 << 20);
    read.overwrite_and_merge();
    let warmed = read.stats();
    assert_eq!(warmed.warmed_pages_used, 0);
    read.misses();
    read.misses();
    let used = read.stats().warmed_pages_used;
    assert!((HOT_PAGES / 2..2 * HOT_PAGES).contains(&used), "{used}");
}
