//! Writes a segment file front to back.
//!
//! 1. Batches of sorted versions come in; rows wait until they certainly fill a page.
//! 2. A page is cut, its index entry computed, its keys hashed for the filter, its bytes
//!    collected; collected pages go to the file in large writes.
//! 3. `finish` cuts the last page, writes filter, page index and footer. The file is yet to be synced.
//!
//! Invariants: nothing is written in place; a file that was not finished is deleted; what the
//! returned [`SegmentInfo`] says is what the footer and the index say.
//!
//! Does not: make the file's name durable. The manifest commit that names it does.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_buffer::Buffer;
use env::{Disk, Env, WritableFile};
use page::{Page, PageEncoder, PageIdentity};
use types::{ColumnType, CommitPosition, SortKeys, TableId, TableSchema, VersionKind, VersionRows};

use super::filter::FilterBuilder;
use super::format::{self, Footer, aligned};
use super::pending::PendingRows;
use super::unsynced_files::{UnsyncedFile, UnsyncedFiles};
use super::zones::ZonesBuilder;
use super::{FileEnd, PageEntry, SegmentId, SegmentInfo, page_column_types, page_index};
use crate::disk_error::io_failed;
use crate::error::StoreError;
use crate::row_length::longest_column;

/// Pages are collected to writes of about this size.
const WRITE_BYTES: usize = 1 << 20;

/// Counts over all versions of the segment.
#[derive(Default)]
struct Totals {
    versions: u64,
    tombstones: u64,
    patches: u64,
}

/// A page that has just become part of a segment.
pub struct WrittenPage<'a> {
    /// Its index in the segment.
    pub index: u32,
    /// What the page index knows of it.
    pub entry: &'a PageEntry,
    /// The segment.
    pub segment: SegmentId,
    bytes: &'a [u8],
    types: &'a Arc<[ColumnType]>,
}

impl WrittenPage<'_> {
    /// The page as a reader of the file would have it.
    pub fn open(&self) -> Page {
        let identity = PageIdentity {
            file: self.segment.0,
            offset: self.entry.offset,
        };
        let page = Page::open(Buffer::from(self.bytes), self.types, identity);
        page.expect("encoded just now")
    }
}

/// What a finished segment is.
pub struct FinishedSegment {
    /// What the manifest has to say of it.
    pub info: SegmentInfo,
    /// The filter in its file, if it has one.
    pub filter: Vec<u8>,
    /// What was written last, so that whoever opens it need not read it.
    pub end: FileEnd,
    /// For the next segment of the same table.
    pub encoder: PageEncoder,
    /// What has to be synced before a manifest names the segment.
    pub unsynced: UnsyncedFiles,
}

/// Writes one segment. Dropped before [`Self::finish`], it deletes the half-written file.
pub struct SegmentWriter {
    file: UnfinishedFile,
    id: SegmentId,
    table: TableId,
    types: Arc<[ColumnType]>,
    encoder: PageEncoder,
    pending: PendingRows,
    /// Waiting rows at which the next page is tried; see [`Self::cut_full_pages`].
    rows_tried_next: usize,
    /// Bytes that go to the file with the next write.
    collected: Vec<u8>,
    file_bytes: u64,
    pages: Vec<PageEntry>,
    zones: ZonesBuilder,
    filter: Option<FilterBuilder>,
    totals: Totals,
}

impl SegmentWriter {
    /// Creates the segment's file in `directory`, with pages of a
    /// [`page_encoder`](super::page_encoder) for the schema. Without a filter in the file, readers
    /// build one when they need it.
    pub fn create(
        env: &Env,
        directory: &Path,
        id: SegmentId,
        table: TableId,
        schema: &TableSchema,
        encoder: PageEncoder,
        has_filter: bool,
    ) -> Result<Self, StoreError> {
        let file = UnfinishedFile::create(&env.disk, id.path(directory))?;
        let types = page_column_types(schema);
        let key_types: Vec<ColumnType> = schema
            .key
            .iter()
            .map(|&column| schema.columns[column].column_type)
            .collect();
        Ok(Self {
            file,
            id,
            table,
            encoder,
            zones: ZonesBuilder::new(&types[..schema.columns.len()]),
            types,
            pending: PendingRows::new(SortKeys::empty(&key_types)),
            rows_tried_next: 1,
            collected: Vec::new(),
            file_bytes: 0,
            pages: Vec::new(),
            filter: has_filter.then(FilterBuilder::new),
            totals: Totals::default(),
        })
    }

    /// Adds versions. They and everything added before are sorted by key ascending, position
    /// descending. One key's versions must not be spread over two segments of a run: close a
    /// segment only where the key changes. `each_page` sees the pages that this completes.
    pub fn append(
        &mut self,
        rows: &VersionRows,
        keys: &SortKeys,
        each_page: &mut dyn FnMut(WrittenPage<'_>),
    ) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        if rows.len() > 1 && !self.pending.has_room_for(longest_column(&rows.columns)) {
            let middle = rows.len() / 2;
            for half in [0..middle, middle..rows.len()] {
                let mut some_keys = keys.empty_like();
                some_keys.append(keys, half.clone());
                self.append(&rows.slice(half), &some_keys, each_page)?;
            }
            return Ok(());
        }
        self.count(rows);
        self.pending.push(rows, keys);
        self.cut_full_pages(each_page)
    }

    /// Bytes of pages so far (waiting rows not counted).
    pub fn bytes_written(&self) -> u64 {
        self.file_bytes + self.collected.len() as u64
    }

    /// Versions added so far.
    pub fn versions(&self) -> u64 {
        self.totals.versions
    }

    /// Writes what is waiting, the filter, the page index and the footer. The file is yet to be synced; its name in
    /// the directory becomes durable with the manifest commit that names the segment.
    ///
    /// # Panics
    /// When no version was added.
    pub fn finish(
        mut self,
        each_page: &mut dyn FnMut(WrittenPage<'_>),
    ) -> Result<FinishedSegment, StoreError> {
        assert!(
            self.totals.versions > 0,
            "a segment has at least one version"
        );
        while self.pending.len() > 0 {
            let (rows, bytes) = self.encode_page();
            self.accept_page(rows, &bytes, each_page)?;
        }
        let filter = self
            .filter
            .take()
            .map_or_else(Vec::new, FilterBuilder::finish);
        let (end, checksum) = self.write_end(&filter)?;
        let info = self.info(checksum);
        Ok(FinishedSegment {
            info,
            filter,
            end,
            encoder: self.encoder,
            unsynced: UnsyncedFiles::of(self.file.finish()),
        })
    }

    fn count(&mut self, rows: &VersionRows) {
        let of_kind = |kind: VersionKind| {
            rows.kinds
                .iter()
                .filter(|&&number| number == kind as u8)
                .count() as u64
        };
        self.totals.versions += rows.len() as u64;
        self.totals.tombstones += of_kind(VersionKind::Delete);
        self.totals.patches += of_kind(VersionKind::Patch);
    }

    /// Cuts pages as long as rows are left after the page: only then is it full. A page that
    /// takes all waiting rows is thrown away and tried again when there are twice as many, so
    /// small batches cost at most one extra encoding in all. Rows with more text than a page
    /// could unfold to do not wait for that: after short rows, long ones would fill the memory.
    fn cut_full_pages(
        &mut self,
        each_page: &mut dyn FnMut(WrittenPage<'_>),
    ) -> Result<(), StoreError> {
        while self.pending.len() >= self.rows_tried_next || self.has_settled_page() {
            let waiting = self.pending.len();
            let (rows, bytes) = self.encode_page();
            if rows == waiting {
                self.rows_tried_next = waiting * 2;
                break;
            }
            self.accept_page(rows, &bytes, each_page)?;
            self.rows_tried_next = rows + rows / 4 + 1;
        }
        Ok(())
    }

    /// Whether the next page is certain, and not all waiting rows are in it.
    fn has_settled_page(&self) -> bool {
        let (columns, start) = (self.pending.columns(), self.pending.start());
        // Exactly as many rows as a page may have could all be in it.
        let may_leave_rows = self.pending.len() > 1 && self.pending.len() != page::ROWS_MAX;
        may_leave_rows && self.encoder.is_settled(columns, start)
    }

    /// Encodes the next page; nothing is taken yet.
    fn encode_page(&mut self) -> (usize, Vec<u8>) {
        let identity = PageIdentity {
            file: self.id.0,
            offset: self.bytes_written(),
        };
        let mut bytes = Vec::new();
        let start = self.pending.start();
        let rows = self
            .encoder
            .encode(self.pending.columns(), start, identity, &mut bytes);
        assert!(rows > 0, "a page takes at least one row");
        (rows, bytes)
    }

    fn accept_page(
        &mut self,
        rows: usize,
        bytes: &[u8],
        each_page: &mut dyn FnMut(WrittenPage<'_>),
    ) -> Result<(), StoreError> {
        let offset = self.bytes_written();
        let page_at = self.collected.len();
        self.collected.extend_from_slice(bytes);
        self.collected.resize(page_at + aligned(bytes.len()), 0);
        let checksum = crc32c::crc32c(&self.collected[page_at..]);
        let length = u32::try_from(bytes.len()).expect("a page is smaller than 4 GiB");
        let entry = self.entry(rows, offset, length, checksum);
        let range = self.pending.start()..self.pending.start() + rows;
        self.zones
            .add_page(self.pending.columns(), range.start, rows);
        let key_before = self.pages.last().map(|page| &page.last_key);
        if let Some(filter) = &mut self.filter {
            filter.add_page(self.pending.keys(), range, key_before);
        }
        each_page(WrittenPage {
            index: self.page_count(),
            entry: &entry,
            bytes,
            types: &self.types,
            segment: self.id,
        });
        self.pages.push(entry);
        self.pending.advance(rows);
        if self.collected.len() >= WRITE_BYTES {
            self.write_collected()
        } else {
            Ok(())
        }
    }

    fn entry(&self, rows: usize, offset: u64, length: u32, checksum: u32) -> PageEntry {
        let range = self.pending.start()..self.pending.start() + rows;
        let positions = &self.pending.positions()[range.clone()];
        let extreme = |position: Option<&u64>| CommitPosition(*position.expect("a row"));
        let kinds = &self.pending.kinds()[range.clone()];
        PageEntry {
            offset,
            length,
            rows: u32::try_from(rows).expect("a page has less than 2^32 rows"),
            checksum,
            first_key: self.pending.keys().key(range.start),
            last_key: self.pending.keys().key(range.end - 1),
            position_min: extreme(positions.iter().min()),
            position_max: extreme(positions.iter().max()),
            all_puts: kinds.iter().all(|&kind| kind == VersionKind::Put as i16),
            unique_keys: self.keys_are_unique(range),
        }
    }

    /// Whether each key of these rows has no other version in the page before, the page or the
    /// page after.
    fn keys_are_unique(&self, range: Range<usize>) -> bool {
        let keys = self.pending.keys();
        let differs_from_next = |row: usize| keys.compare(row, keys, row + 1).is_ne();
        let last_with_next = range.end.min(keys.len() - 1);
        let in_page_and_after = (range.start..last_with_next).all(differs_from_next);
        let before = self.pages.last().map(|page| &page.last_key);
        in_page_and_after && before.is_none_or(|key| keys.compare_key(range.start, key).is_ne())
    }

    fn write_collected(&mut self) -> Result<(), StoreError> {
        self.file.append(&self.collected)?;
        self.file_bytes += self.collected.len() as u64;
        self.collected.clear();
        Ok(())
    }

    /// Writes what comes behind the pages. Returns page index and footer, and the footer's checksum.
    fn write_end(&mut self, filter: &[u8]) -> Result<(FileEnd, u32), StoreError> {
        let index = [page_index::encode(&self.pages), self.zones.finish()].concat();
        let filter_offset = self.bytes_written();
        let index_offset = filter_offset + filter.len() as u64;
        let footer = Footer {
            version: format::VERSION,
            id: self.id,
            table: self.table,
            pages: self.page_count(),
            versions: self.totals.versions,
            filter_offset,
            filter_bytes: filter.len() as u64,
            index_offset,
            index_bytes: index.len() as u64,
            filter_checksum: format::block_checksum(self.id, filter_offset, filter),
            index_checksum: format::block_checksum(self.id, index_offset, &index),
        };
        let (bytes, checksum) = footer.encode();
        let end = FileEnd {
            offset: index_offset,
            bytes: [&index[..], &bytes].concat().into(),
        };
        self.collected.extend_from_slice(filter);
        self.collected.extend_from_slice(&end.bytes);
        self.write_collected()?;
        assert_eq!(self.file_bytes, end.offset + end.bytes.len() as u64);
        Ok((end, checksum))
    }

    fn page_count(&self) -> u32 {
        u32::try_from(self.pages.len()).expect("a segment has less than 2^32 pages")
    }

    fn info(&self, checksum: u32) -> SegmentInfo {
        let has_pages = "a segment has at least one page";
        let position_min = self.pages.iter().map(|page| page.position_min).min();
        let position_max = self.pages.iter().map(|page| page.position_max).max();
        SegmentInfo {
            id: self.id,
            table: self.table,
            bytes: self.file_bytes,
            pages: self.page_count(),
            versions: self.totals.versions,
            tombstones: self.totals.tombstones,
            patches: self.totals.patches,
            key_min: self.pages.first().expect(has_pages).first_key.clone(),
            key_max: self.pages.last().expect(has_pages).last_key.clone(),
            position_min: position_min.expect(has_pages),
            position_max: position_max.expect(has_pages),
            checksum,
        }
    }
}

/// The file of a segment that no manifest will name before it is finished.
struct UnfinishedFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// `None` once finished.
    file: Option<Box<dyn WritableFile>>,
}

impl UnfinishedFile {
    fn create(disk: &Arc<dyn Disk>, path: PathBuf) -> Result<Self, StoreError> {
        let file = disk
            .create(&path)
            .map_err(|error| io_failed("create", &path, &error))?;
        Ok(Self {
            disk: Arc::clone(disk),
            path,
            file: Some(file),
        })
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let file = self.file.as_mut().expect("a file until finished");
        file.append(bytes)
            .map_err(|error| io_failed("write", &self.path, &error))
    }

    /// Everything is written: from now on the file stays.
    fn finish(&mut self) -> UnsyncedFile {
        let mut file = self.file.take().expect("a file until finished");
        file.will_sync();
        UnsyncedFile {
            path: self.path.clone(),
            file,
        }
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            drop(file);
            // Should this fail too, opening the store deletes what no manifest names.
            let removed = self.disk.remove(&self.path);
            tracing::debug!(path = %self.path.display(), ?removed, "unfinished segment deleted");
        }
    }
}
