//! Segments on the real disk: round trips, page index, damage.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Int64Array, StringArray};
use env::Env;
use tempfile::TempDir;
use types::{ColumnType, CommitPosition, SortKeys, TableId, TableSchema, VersionKind, VersionRows};

use super::format::{FOOTER_BYTES, Footer, block_checksum};
use super::*;
use crate::byte_fields::FieldReader;
use crate::error::StoreError;
use crate::page_cache::{CachePolicy, PageCache};
use crate::test_rows::{self, Cell, integer_keys, noise, put_columns, table_schema, version_rows};

const TABLE: TableId = TableId(3);
const PAGE_BYTES: usize = 4 << 10;

fn schema() -> TableSchema {
    table_schema(&[("id", ColumnType::Int64), ("note", ColumnType::Text)])
}

/// A version: key, position, kind. The text follows from the two numbers.
type Version = (i64, u64, VersionKind);

fn note(key: i64, position: u64) -> String {
    format!(
        "row {key} as of {position}, {}",
        key.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)
    )
}

fn rows(versions: &[Version]) -> (VersionRows, SortKeys) {
    let version = |&(key, position, kind): &Version| {
        let note = match kind {
            VersionKind::Put => Cell::Text(note(key, position)),
            VersionKind::Delete => Cell::Null,
            VersionKind::Patch => Cell::Unchanged,
        };
        test_rows::Version::new(position, kind, [Cell::Number(key), note])
    };
    let rows = version_rows(&schema(), versions.iter().map(version));
    let keys = integer_keys(&rows);
    (rows, keys)
}

fn puts(keys: std::ops::Range<i64>) -> Vec<Version> {
    keys.map(|key| (key, 100 + key as u64 % 7, VersionKind::Put))
        .collect()
}

struct Folder {
    env: Env,
    directory: TempDir,
    filter_memory: Arc<FilterMemory>,
}

impl Folder {
    fn new() -> Self {
        Self {
            env: Env::real(),
            directory: TempDir::new().expect("a temporary directory"),
            filter_memory: FilterMemory::new(1 << 20),
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn file(&self, info: &SegmentInfo) -> PathBuf {
        info.id.path(self.path())
    }

    fn writer(&self, id: u64) -> SegmentWriter {
        SegmentWriter::create(
            &self.env,
            self.path(),
            SegmentId(id),
            TABLE,
            &schema(),
            page_encoder(&schema(), PAGE_BYTES, &Experience::default()),
            true,
        )
        .expect("create")
    }

    fn write(&self, id: u64, versions: &[Version], batch_rows: usize) -> SegmentInfo {
        let mut writer = self.writer(id);
        for batch in versions.chunks(batch_rows) {
            let (rows, keys) = rows(batch);
            let appended = writer.append(&rows, &keys, &mut |_| {});
            appended.expect("append");
        }
        writer.finish(&mut |_| {}).expect("finish").info
    }

    fn open(&self, info: &SegmentInfo) -> Result<Segment, StoreError> {
        Segment::open(&self.env, self.path(), info, &schema(), &self.filter_memory)
    }

    /// All versions, read page by page through a cache. Asks the filter, too.
    fn read(&self, info: &SegmentInfo) -> Result<Vec<Version>, StoreError> {
        let segment = self.open(info)?;
        assert!(segment.may_hold(0, KeyHash::of(&info.key_min))?);
        let cache = PageCache::new(1 << 20, PAGE_BYTES, CachePolicy::default());
        let mut versions = Vec::new();
        for index in 0..segment.pages().len() {
            let page = segment.load_page(index, &cache)?;
            let decode = |column| -> Result<ArrayRef, StoreError> {
                page.decode(column)
                    .map_err(|error| segment.page_error(index, &error))
            };
            let (ids, notes) = (decode(0)?, decode(1)?);
            let (positions, kinds, unchanged) = (decode(2)?, decode(3)?, decode(4)?);
            for row in 0..page.rows() {
                let key = ids.as_primitive::<Int64Type>().value(row);
                let position = positions.as_primitive::<UInt64Type>().value(row);
                let kind = kinds.as_primitive::<Int16Type>().value(row);
                let kind = VersionKind::from_u8(kind as u8).expect("a kind");
                let notes = notes.as_string::<i32>();
                match kind {
                    VersionKind::Put => assert_eq!(notes.value(row), note(key, position)),
                    _ => assert!(notes.is_null(row)),
                }
                if kind == VersionKind::Patch {
                    assert_eq!(unchanged.as_binary::<i32>().value(row), [0b10]);
                }
                versions.push((key, position, kind));
            }
        }
        Ok(versions)
    }
}

fn is_damage(error: &StoreError, file: &Path) -> bool {
    match error {
        StoreError::Corrupt {
            file: named, table, ..
        } => *named == file.display().to_string() && *table == Some(TABLE),
        StoreError::VersionTooNew { file: named, .. } => *named == file.display().to_string(),
        _ => false,
    }
}

#[test]
fn versions_come_back_whatever_the_batches_were() {
    let folder = Folder::new();
    let versions = puts(-2_000..2_000);
    for (id, batch_rows) in [1, 7, 100, 4_000].into_iter().enumerate() {
        let info = folder.write(id as u64, &versions, batch_rows);
        assert!(info.pages > 3, "{info:?}");
        assert_eq!(info.versions, versions.len() as u64);
        assert_eq!(
            info.bytes,
            std::fs::metadata(folder.file(&info)).expect("a file").len()
        );
        assert_eq!(
            folder.read(&info).expect("read"),
            versions,
            "batches of {batch_rows}"
        );
    }
}

#[test]
fn small_batches_make_hardly_more_pages_than_large_ones() {
    let folder = Folder::new();
    let versions = puts(0..4_000);
    let large = folder.write(1, &versions, 4_000);
    let small = folder.write(2, &versions, 3);
    // Codecs and fill follow from what was tried before, so they differ a little.
    let (small, large) = (small.pages, large.pages);
    assert!(small * 2 <= large * 3, "{small} and {large} pages");
}

/// Many short rows let the writer wait for as many rows again; long ones must not pile up then.
#[test]
fn long_rows_do_not_wait_for_a_page_full_of_short_ones() {
    let folder = Folder::new();
    let mut writer = folder.writer(1);
    let mut append = |range: std::ops::Range<i64>, length: usize| {
        let count = (range.end - range.start) as usize;
        let rows = put_columns(vec![
            Arc::new(Int64Array::from_iter_values(range)),
            Arc::new(StringArray::from(vec![noise(7, length); count])),
        ]);
        let appended = writer.append(&rows, &integer_keys(&rows), &mut |_| {});
        appended.expect("append");
        writer.bytes_written()
    };
    append(0..40_000, 1);
    let before = append(40_000..40_001, 1);
    let (mut written, mut given) = (before, 0);
    for key in 40_001..40_101 {
        written = append(key..key + 1, 300_000);
        given += 300_000;
        let waiting = given - (written - before).min(given);
        assert!(waiting < 2_000_000, "{waiting} of {given} bytes wait");
    }
    assert!(written > before);
    let info = writer.finish(&mut |_| {}).expect("finish").info;
    let segment = folder.open(&info).expect("open");
    let cache = PageCache::new(1 << 16, PAGE_BYTES, CachePolicy::default());
    for (index, entry) in segment.pages().iter().enumerate() {
        let page = segment.load_page(index, &cache).expect("intact");
        assert!(entry.length as usize <= PAGE_BYTES || page.rows() == 1);
        assert!(cache.bytes() <= 1 << 16);
    }
}

#[test]
fn the_page_index_says_what_the_pages_hold() {
    let folder = Folder::new();
    let info = folder.write(1, &puts(0..3_000), 500);
    let segment = folder.open(&info).expect("open");
    assert_eq!(*segment.info(), info);
    let key = |value: i64| {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![value]));
        SortKeys::compute(&[column], &[ColumnType::Int64]).key(0)
    };
    assert_eq!(
        (info.key_min.clone(), info.key_max.clone()),
        (key(0), key(2_999))
    );
    assert_eq!(
        (info.position_min, info.position_max),
        (CommitPosition(100), CommitPosition(106))
    );
    let mut first = 0;
    for page in segment.pages() {
        assert_eq!(page.first_key, key(first));
        first += i64::from(page.rows);
        assert_eq!(page.last_key, key(first - 1));
        assert!(page.all_puts);
        assert!(page.unique_keys);
    }
    let second = segment.pages()[1].first_key.clone();
    assert_eq!(segment.pages_in(None, None), 0..segment.pages().len());
    assert_eq!(segment.pages_in(None, Some(&second)), 0..1);
    assert_eq!(
        segment.pages_in(Some(&second), None),
        1..segment.pages().len()
    );
    assert_eq!(segment.pages_in(Some(&key(0)), Some(&key(1))), 0..1);
    assert!(segment.pages_in(Some(&key(3_000)), None).is_empty());
    assert!(segment.pages_in(Some(&key(5)), Some(&key(-5))).is_empty());
}

#[test]
fn two_versions_of_a_key_are_noted_in_their_page_and_at_its_edges() {
    let folder = Folder::new();
    // Every page of the plain run is cut at the same rows, so the versions around the cut can
    // be chosen.
    let plain = puts(0..3_000);
    let info = folder.write(1, &plain, 3_000);
    let cut = folder.open(&info).expect("open").pages()[0].rows as i64;
    let mut doubled = plain.clone();
    doubled[cut as usize - 1] = (cut - 1, 200, VersionKind::Put);
    doubled[cut as usize] = (cut - 1, 100, VersionKind::Put);
    let info = folder.write(2, &doubled, 3_000);
    let segment = folder.open(&info).expect("open");
    let edge = segment
        .pages()
        .windows(2)
        .position(|pages| pages[0].last_key == pages[1].first_key);
    let unique: Vec<bool> = segment
        .pages()
        .iter()
        .map(|page| page.unique_keys)
        .collect();
    match edge {
        Some(edge) => assert!(!unique[edge] && !unique[edge + 1]),
        None => assert_eq!(unique.iter().filter(|&&unique| !unique).count(), 1),
    }
    assert!(unique.last() == Some(&true));
}

#[test]
fn deletes_and_patches_are_counted() {
    let folder = Folder::new();
    let versions = [
        (1, 9, VersionKind::Patch),
        (1, 5, VersionKind::Put),
        (2, 7, VersionKind::Delete),
        (3, 7, VersionKind::Put),
    ];
    let info = folder.write(1, &versions, 2);
    assert_eq!((info.versions, info.tombstones, info.patches), (4, 1, 1));
    assert_eq!(folder.read(&info).expect("read"), versions);
    let segment = folder.open(&info).expect("open");
    assert!(!segment.pages()[0].all_puts);
    assert!(!segment.pages()[0].unique_keys);
}

#[test]
fn consecutive_pages_can_be_read_with_one_access() {
    let folder = Folder::new();
    let info = folder.write(1, &puts(0..3_000), 500);
    let segment = folder.open(&info).expect("open");
    let pages = segment.read_pages(1..segment.pages().len()).expect("read");
    for (page, entry) in pages.iter().zip(&segment.pages()[1..]) {
        assert_eq!(page.rows(), entry.rows as usize);
    }
    assert_eq!(segment.read_pages(1..1).expect("read").len(), 0);
}

#[test]
fn pages_read_together_are_cached_apart_and_a_damaged_one_fails_in_its_turn() {
    let folder = Folder::new();
    let info = folder.write(1, &puts(0..3_000), 500);
    let segment = folder.open(&info).expect("open");
    assert!(segment.pages().len() >= 6, "{info:?}");
    let mut bytes = std::fs::read(folder.file(&info)).expect("read");
    bytes[segment.pages()[3].offset as usize + 20] ^= 1;
    std::fs::write(folder.file(&info), bytes).expect("write");

    let cache = PageCache::new(1 << 20, PAGE_BYTES, CachePolicy::default());
    let load = |indices| {
        let loaded = segment.load_pages(indices, &cache);
        loaded.map(|loaded| loaded.pages.len())
    };
    assert_eq!(load(0..6).expect("those before the damaged one"), 3);
    assert_eq!(load(0..6).expect("those are cached"), 3);
    assert!(load(3..6).is_err());
    assert_eq!(load(4..6).expect("those after it"), 2);
    assert_eq!(cache.misses(), 3 + 1 + 2);

    let one_by_one = PageCache::new(1 << 20, PAGE_BYTES, CachePolicy::default());
    for index in [0, 1, 2, 4, 5] {
        segment.load_page(index, &one_by_one).expect("intact");
    }
    assert_eq!(cache.bytes(), one_by_one.bytes());
    segment.retire(&cache);
    assert_eq!(load(0..3).expect("a reader goes on"), 1);
    assert_eq!(cache.bytes(), 0);
}

#[test]
fn a_file_goes_with_an_unfinished_writer_or_the_last_reader_of_a_retired_segment() {
    let folder = Folder::new();
    let files = || std::fs::read_dir(folder.path()).expect("list").count();
    let mut writer = folder.writer(1);
    let (rows, keys) = rows(&puts(0..1_000));
    writer.append(&rows, &keys, &mut |_| {}).expect("append");
    assert_eq!(files(), 1);
    drop(writer);
    assert_eq!(files(), 0);

    let info = folder.write(2, &puts(0..1_000), 1_000);
    let cache = PageCache::new(1 << 20, PAGE_BYTES, CachePolicy::default());
    let segment = Arc::new(folder.open(&info).expect("open"));
    let reader = Arc::clone(&segment);
    reader.load_page(0, &cache).expect("load");
    segment.retire(&cache);
    drop(segment);
    assert_eq!(cache.bytes(), 0, "dead pages hold no place");
    reader.load_page(0, &cache).expect("a reader goes on");
    assert_eq!(cache.bytes(), 0);
    assert_eq!(files(), 1);
    drop(reader);
    assert_eq!(files(), 0);
}

#[test]
fn every_flipped_byte_is_found() {
    let folder = Folder::new();
    let info = folder.write(1, &puts(0..300), 300);
    let file = folder.file(&info);
    assert!(info.pages > 1, "{info:?}");
    let whole = std::fs::read(&file).expect("read");
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(&file, bytes).expect("write");
        let error = folder.read(&info).expect_err("damage is found");
        assert!(is_damage(&error, &file), "byte {at}: {error}");
    }
}

#[test]
fn a_file_of_another_length_is_damage() {
    let folder = Folder::new();
    let info = folder.write(1, &puts(0..200), 200);
    let file = folder.file(&info);
    let whole = std::fs::read(&file).expect("read");
    for length in 0..whole.len() {
        std::fs::write(&file, &whole[..length]).expect("write");
        let error = folder.read(&info).expect_err("damage is found");
        assert!(is_damage(&error, &file), "length {length}: {error}");
    }
    let longer = [whole.as_slice(), &[0]].concat();
    std::fs::write(&file, longer).expect("write");
    assert!(folder.read(&info).is_err());
    std::fs::remove_file(&file).expect("remove");
    let error = folder.read(&info).expect_err("a missing file is found");
    assert!(is_damage(&error, &file), "{error}");
    assert!(error.to_string().contains("missing"), "{error}");
}

#[test]
fn an_intact_segment_in_another_ones_place_is_damage() {
    let (here, elsewhere) = (Folder::new(), Folder::new());
    let info = here.write(1, &puts(0..200), 200);
    let changed: Vec<Version> = puts(0..200)
        .into_iter()
        .map(|(k, p, v)| (k, p + 1, v))
        .collect();
    let other = elsewhere.write(1, &changed, 200);
    std::fs::copy(elsewhere.file(&other), here.file(&info)).expect("copy");
    let error = here.read(&info).expect_err("damage is found");
    assert!(is_damage(&error, &here.file(&info)), "{error}");
}

#[test]
fn a_newer_format_is_refused_by_its_number() {
    let folder = Folder::new();
    let info = folder.write(1, &puts(0..10), 10);
    let file = folder.file(&info);
    let mut bytes = std::fs::read(&file).expect("read");
    let version_at = bytes.len() - 16;
    bytes[version_at] = 9;
    std::fs::write(&file, bytes).expect("write");
    let error = folder.read(&info).expect_err("refused");
    assert!(
        matches!(
            error,
            StoreError::VersionTooNew {
                found: 9,
                supported: 2,
                ..
            }
        ),
        "{error}"
    );
}

/// The file behind `info` with its filter changed and every checksum made to fit.
fn forge_filter(folder: &Folder, info: &SegmentInfo, change: impl Fn(&mut [u8])) -> SegmentInfo {
    let file = folder.file(info);
    let mut bytes = std::fs::read(&file).expect("read");
    let footer_at = bytes.len() - FOOTER_BYTES;
    let footer = bytes[footer_at..].first_chunk().expect("a footer");
    let mut footer = Footer::decode(footer).expect("a footer");
    let filter = &mut bytes[footer.filter_offset as usize..footer.index_offset as usize];
    change(filter);
    footer.filter_checksum = block_checksum(info.id, footer.filter_offset, filter);
    let (encoded, checksum) = footer.encode();
    bytes[footer_at..].copy_from_slice(&encoded);
    std::fs::write(&file, bytes).expect("write");
    SegmentInfo {
        checksum,
        ..info.clone()
    }
}

#[test]
fn a_filter_whose_lengths_do_not_fit_is_refused() {
    let folder = Folder::new();
    let info = folder.write(1, &puts(0..300), 300);
    let field = |bytes: &mut [u8], at: usize, value: u32| {
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    };
    let same = forge_filter(&folder, &info, |_| {});
    assert_eq!(same, info, "nothing but the filter is forged");
    let cases: [(usize, u32, &str); 4] = [
        (0, info.pages + 1, "expected"),
        (4, 1 << 20, "expected"),
        (4, 48, "power of two"),
        (8, u32::MAX, "expected"),
    ];
    for (id, (at, value, words)) in (2..).zip(cases) {
        let info = folder.write(id, &puts(0..300), 300);
        let forged = forge_filter(&folder, &info, |bytes| field(bytes, at, value));
        let segment = folder.open(&forged).expect("the filter is read later");
        let Err(error) = segment.may_hold(0, KeyHash::of(&info.key_min)) else {
            panic!("field {at} is {value}")
        };
        assert!(is_damage(&error, &folder.file(&info)), "{error}");
        let text = error.to_string();
        assert!(text.contains("filter: ") && text.contains(words), "{text}");
    }
}

#[test]
fn the_filter_knows_every_key_whatever_its_versions() {
    let folder = Folder::new();
    let mut versions = puts(0..3_000);
    for (row, version) in versions.iter_mut().enumerate() {
        // Even keys only, some with many versions that go on over pages.
        let key = if row % 1_000 < 400 {
            row / 1_000 * 1_000
        } else {
            row & !1
        };
        *version = (key as i64, 10_000 - row as u64, VersionKind::Put);
    }
    let info = folder.write(1, &versions, 700);
    let segment = folder.open(&info).expect("open");
    let key = |value: i64| {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![value]));
        SortKeys::compute(&[column], &[ColumnType::Int64]).key(0)
    };
    let may_hold = |value| {
        let key = key(value);
        let page = segment.pages_in(Some(&key), None).start;
        segment
            .may_hold(page, KeyHash::of(&key))
            .expect("an intact filter")
    };
    assert!(versions.iter().all(|&(key, ..)| may_hold(key)));
    let wrong = (0..1_499).filter(|&key| may_hold(key * 2 + 1)).count();
    assert!(wrong <= 30, "{wrong} of 1499 keys pass that are not there");
    assert!(segment.filter_bytes() > 0);
}

#[test]
fn a_damaged_page_is_not_cached() {
    let folder = Folder::new();
    let info = folder.write(1, &puts(0..600), 600);
    let segment = folder.open(&info).expect("open");
    let cache = PageCache::new(1 << 20, PAGE_BYTES, CachePolicy::default());
    let file = folder.file(&info);
    let whole = std::fs::read(&file).expect("read");
    let mut bytes = whole.clone();
    bytes[40] ^= 1;
    std::fs::write(&file, bytes).expect("write");
    assert!(segment.load_page(0, &cache).is_err());
    assert_eq!(cache.bytes(), 0);
    std::fs::write(&file, whole).expect("write");
    assert!(segment.load_page(0, &cache).is_ok());
    assert!(segment.load_page(0, &cache).is_ok());
    assert_eq!((cache.hits(), cache.misses()), (1, 2));
}

#[test]
fn file_names_and_ids_go_both_ways() {
    assert_eq!(SegmentId(123).file_name(), "0000000123.seg");
    assert_eq!(
        SegmentId::from_file_name("0000000123.seg"),
        Some(SegmentId(123))
    );
    for name in ["123.seg", "0000000123.tmp", "x.seg", ".seg", "CURRENT"] {
        assert_eq!(SegmentId::from_file_name(name), None, "{name}");
    }
}

#[test]
fn long_keys_come_back_too() {
    let mut schema = schema();
    schema.key = vec![1];
    let folder = Folder::new();
    let texts: Vec<String> = (0..500)
        .map(|row| format!("{row:05} {}", "x".repeat(row)))
        .collect();
    let rows = put_columns(vec![
        Arc::new(Int64Array::from_iter_values(0..500)),
        Arc::new(StringArray::from(texts)),
    ]);
    let keys = SortKeys::compute(&rows.columns[1..], &[ColumnType::Text]);
    let id = SegmentId(1);
    let mut writer = SegmentWriter::create(
        &folder.env,
        folder.path(),
        id,
        TABLE,
        &schema,
        page_encoder(&schema, PAGE_BYTES, &Experience::default()),
        true,
    )
    .expect("create");
    writer.append(&rows, &keys, &mut |_| {}).expect("append");
    let info = writer.finish(&mut |_| {}).expect("finish").info;
    let memory = &folder.filter_memory;
    let segment = Segment::open(&folder.env, folder.path(), &info, &schema, memory).expect("open");
    assert_eq!(segment.pages_in(Some(&keys.key(499)), None).len(), 1);
    // The same file under a schema with another key would mislead every search.
    assert!(folder.open(&info).is_err());
}

/// Files of each format version, which every later release must read. `HEDGEROW_WRITE_GOLDEN=1`
/// writes the newest anew; only a new format version is a reason to. (What a later release writes may
/// differ: its pages may choose other codecs.)
#[test]
fn every_version_is_read() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let folder = Folder::new();
    let mut versions = puts(0..400);
    versions[7] = (7, 300, VersionKind::Patch);
    versions[8] = (7, 200, VersionKind::Put);
    versions[9] = (9, 200, VersionKind::Delete);
    if std::env::var_os("HEDGEROW_WRITE_GOLDEN").is_some() {
        let info = folder.write(5, &versions, 400);
        let mut bytes = Vec::new();
        info.encode(&mut bytes);
        std::fs::write(golden.join("segment-2.info"), bytes).expect("write");
        std::fs::copy(folder.file(&info), golden.join("segment-2.seg")).expect("copy");
    }
    for version in 1..=2 {
        let info = std::fs::read(golden.join(format!("segment-{version}.info")));
        let info = info.expect("a golden file");
        let info = SegmentInfo::decode(&mut FieldReader::new(&info), TABLE).expect("an info");
        let file = golden.join(format!("segment-{version}.seg"));
        std::fs::copy(file, folder.file(&info)).expect("copy");
        assert_eq!(folder.read(&info).expect("read"), versions);
        let segment = folder.open(&info).expect("open");
        assert_eq!(segment.zones().min(0).is_some(), version > 1);
    }
}
