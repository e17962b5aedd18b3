//! Reading a page: checks once, then columns on demand.
//!
//! A column from which single cells are read is opened (parsed, not decoded) when that first
//! happens, and stays open as long as the page stays in memory, unless the page is small. Decoding opens nothing: a page
//! that is only scanned pays for no column but the one that is decoded.
//!
//! Invariant: a column that could not be opened is not kept; it is an error each time.

use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use arrow_array::ArrayRef;
use arrow_buffer::{BooleanBuffer, Buffer};
use prefetch::prefetch;
use self_cell::self_cell;
use types::{ColumnType, Value, ValueRange};

use crate::column::Column;
use crate::column_reader::{ColumnReader, Selection};
use crate::cursor::Cursor;
use crate::distinct_text::DistinctText;
use crate::error::PageError;
use crate::header::{Header, PageIdentity};
use crate::memory::ColumnMemory;
use crate::text::TextCodec;

/// A page whose checksum, header and directory have been checked.
#[derive(Debug)]
pub struct Page {
    bytes: Buffer,
    header: Header,
    /// The schema's, shared by all its pages: whoever goes from page to page has it in the processor's cache.
    types: Arc<[ColumnType]>,
    /// For each column of the schema a place for it to be kept in once it is opened.
    opened: Box<[OnceLock<OpenedColumn>]>,
    /// What opened columns take in memory. Kept, because the cache asks at each look-up: to add it up is to
    /// load all of `opened`.
    opened_bytes: AtomicUsize,
}

self_cell! {
    /// An opened column beside a share in the bytes that it points into.
    struct OpenedColumn {
        owner: Buffer,
        #[covariant]
        dependent: Column,
    }

    impl {Debug}
}

/// A column that can be read by slot.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "it lives on the stack, for a moment"
)]
pub enum OpenColumn<'a> {
    /// The page's.
    Kept(&'a Column<'a>),
    /// Opened for this once.
    Passing(Column<'a>),
}

impl<'a> Deref for OpenColumn<'a> {
    type Target = Column<'a>;

    #[inline]
    fn deref(&self) -> &Column<'a> {
        match self {
            Self::Kept(column) => column,
            Self::Passing(column) => column,
        }
    }
}

/// Smaller pages keep no opened columns: each would take a sixth of the room of a page of 4 KiB in
/// the cache, and has so few rows that opening it again takes about as long as searching it.
const KEEPS_COLUMNS_BYTES_MIN: usize = 12 << 10;

/// What an opened column takes in memory.
const OPENED_COLUMN_BYTES: usize = size_of::<Buffer>() + size_of::<Column<'_>>();

/// More of a column than this is not asked for at a time: it might be gone again before it is read.
const PREFETCHED_BYTES_MAX: usize = 4 << 10;

impl Page {
    /// Checks a page. `bytes` are exactly its bytes, `types` those of the table's columns and
    /// `identity` the place from which it was read.
    pub fn open(
        bytes: Buffer,
        types: &Arc<[ColumnType]>,
        identity: PageIdentity,
    ) -> Result<Self, PageError> {
        let header = Header::open(&bytes, types.len(), identity)?;
        Ok(Self {
            bytes,
            header,
            types: Arc::clone(types),
            opened: types.iter().map(|_| OnceLock::new()).collect(),
            opened_bytes: AtomicUsize::new(0),
        })
    }

    /// The number of rows, 1 to [`ROWS_MAX`](crate::ROWS_MAX).
    pub fn rows(&self) -> usize {
        self.header.rows
    }

    /// The number of bytes.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The number of bytes, with the bundles among these columns unpacked: other cells are a few times as many when they
    /// are decoded, those may be sixteen times. Damage is left to who decodes them.
    ///
    /// # Panics
    /// When the schema has no such column.
    pub fn unbundled_bytes(&self, columns: &[usize]) -> usize {
        let is_bundled = |column: &&usize| {
            // Of columns that cannot be, nothing of the page is looked at.
            matches!(
                self.column_type(**column),
                ColumnType::Text | ColumnType::Bytes
            ) && self.header.encoding(&self.bytes, **column).codec == TextCodec::Bundles as u8
        };
        let bundled = columns.iter().filter(is_bundled);
        let text_bytes = bundled.map(|&column| {
            let opened = Column::open(self.reader(&self.bytes, column));
            opened.map_or(0, |column| column.bundled_text_bytes())
        });
        self.bytes() + text_bytes.sum::<usize>()
    }

    /// What the page takes in memory now: its bytes and the columns that have been opened. Grows
    /// with each column that is opened, by less than two kilobytes: its parsed parts, and less than
    /// one of what is unpacked to look cells up.
    pub fn memory_bytes(&self) -> usize {
        let opened_bytes = self.opened_bytes.load(Ordering::Relaxed);
        self.bytes.len() + size_of_val(&*self.opened) + opened_bytes
    }

    /// Decodes a whole column into an array of its type's
    /// [`arrow_type`](ColumnType::arrow_type).
    pub fn decode(&self, column: usize) -> Result<ArrayRef, PageError> {
        self.decode_into(column, &mut ColumnMemory::default())
    }

    /// As [`decode`](Self::decode), in the memory of an array of the same column that is not
    /// needed any more.
    pub fn decode_into(
        &self,
        column: usize,
        memory: &mut ColumnMemory,
    ) -> Result<ArrayRef, PageError> {
        self.reader(&self.bytes, column)
            .decode(Selection::All, memory)
    }

    /// Decodes the given slots of a column.
    ///
    /// # Panics
    /// When a slot is not below [`rows`](Self::rows), or slots do not ascend strictly.
    pub fn decode_slots(&self, column: usize, slots: &[u32]) -> Result<ArrayRef, PageError> {
        assert!(slots.is_sorted_by(|a, b| a < b), "slots ascend");
        assert!(
            slots
                .last()
                .is_none_or(|&slot| (slot as usize) < self.rows()),
            "slots are rows"
        );
        if slots.len() == self.rows() {
            return self.decode(column);
        }
        let memory = &mut ColumnMemory::default();
        self.reader(&self.bytes, column)
            .decode(Selection::Slots(slots), memory)
    }

    /// The value of every cell of an integer, date or time column, where the page stores it just
    /// once (positions and kinds, mostly) and it is not negative.
    pub fn constant(&self, column: usize) -> Option<u64> {
        let word = self.reader(&self.bytes, column).constant()?;
        match self.column_type(column) {
            ColumnType::UInt64 => Some(word),
            ColumnType::Float32 | ColumnType::Float64 => None,
            _ => i64::try_from(word).is_ok().then_some(word),
        }
    }

    /// The slots whose cells lie in a range (see [`Column::select`]). Opens nothing that stays open.
    ///
    /// # Panics
    /// When a bound is NULL or of another type.
    pub fn select(&self, column: usize, range: ValueRange<'_>) -> Result<BooleanBuffer, PageError> {
        Column::open(self.reader(&self.bytes, column))?.select(range)
    }

    /// Appends the cells of a column at the given slots (`None`: all) as numbers, where it has numbers of up to
    /// 64 bits and none is NULL: decimals without their scale, dates as days. Whether it has; else nothing is
    /// appended.
    ///
    /// # Panics
    /// When a slot is not below [`rows`](Self::rows).
    pub fn append_integers(
        &self,
        column: usize,
        slots: Option<&[u32]>,
        numbers: &mut Vec<i64>,
    ) -> Result<bool, PageError> {
        let reader = self.reader(&self.bytes, column);
        reader.append_integers(slots, numbers)
    }

    /// The distinct cells of a text column and which rows have them, if that is how it is encoded.
    pub fn distinct_text(&self, column: usize) -> Result<Option<DistinctText<'_>>, PageError> {
        DistinctText::open(self.reader(&self.bytes, column))
    }

    /// A column to read cells by slot or to find slots, without decoding it. A page that is not
    /// small opens it when it is first asked for, and keeps it as long as it is there.
    ///
    /// # Panics
    /// When the schema has no such column.
    #[inline]
    pub fn column(&self, column: usize) -> Result<OpenColumn<'_>, PageError> {
        match self.place(column).get() {
            Some(opened) => Ok(OpenColumn::Kept(opened.borrow_dependent())),
            None => self.open_column(column),
        }
    }

    #[cold]
    fn open_column(&self, column: usize) -> Result<OpenColumn<'_>, PageError> {
        if self.bytes.len() < KEEPS_COLUMNS_BYTES_MIN {
            return Column::open(self.reader(&self.bytes, column)).map(OpenColumn::Passing);
        }
        let opened = OpenedColumn::try_new(self.bytes.clone(), |bytes| {
            Column::open(self.reader(bytes, column)).map(Column::prepare)
        })?;
        let bytes = OPENED_COLUMN_BYTES + opened.borrow_dependent().memory_bytes();
        let place = &self.opened[column];
        // Whoever opened the column meanwhile opened the same.
        if place.set(opened).is_ok() {
            self.opened_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        let opened = place.get().expect("somebody has set it");
        Ok(OpenColumn::Kept(opened.borrow_dependent()))
    }

    /// Has what says where the columns are come into the processor's cache, while something else is done.
    #[inline]
    pub fn prefetch_directory(&self) {
        let directory = self.header.directory();
        prefetch(&self.bytes[directory], PREFETCHED_BYTES_MAX);
    }

    /// The same for a column, the beginning of it if it is long.
    ///
    /// # Panics
    /// When the schema has no such column.
    #[inline]
    pub fn prefetch_column(&self, column: usize) {
        let segment = self.header.segment(&self.bytes, column);
        prefetch(&self.bytes[segment], PREFETCHED_BYTES_MAX);
    }

    /// The slots of a key, where rows ascend by the given columns: narrowed column by column, so
    /// that columns behind the one that decides are not looked at (Rose section 3.3). An empty
    /// range says where the key would be.
    ///
    /// # Panics
    /// When the schema has no such column, or a value is not of its column's type.
    pub fn find<'v>(
        &self,
        key: impl IntoIterator<Item = (usize, Value<'v>)>,
    ) -> Result<Range<usize>, PageError> {
        let mut slots = 0..self.rows();
        for (column, value) in key {
            slots = self.column(column)?.find(slots, &value)?;
            if slots.is_empty() {
                break;
            }
        }
        Ok(slots)
    }

    #[inline]
    fn place(&self, column: usize) -> &OnceLock<OpenedColumn> {
        let place = self.opened.get(column);
        place.unwrap_or_else(|| panic!("the schema has no column {column}"))
    }

    #[inline]
    fn column_type(&self, column: usize) -> ColumnType {
        let column_type = self.types.get(column);
        *column_type.unwrap_or_else(|| panic!("the schema has no column {column}"))
    }

    /// `bytes` are the page's.
    fn reader<'a>(&self, bytes: &'a [u8], column: usize) -> ColumnReader<'a> {
        let segment = self.header.segment(bytes, column);
        ColumnReader {
            column_type: self.column_type(column),
            encoding: self.header.encoding(bytes, column),
            rows: self.header.rows,
            segment: Cursor::before(&bytes[segment.start..], segment.len()),
            section: &bytes[self.header.section(bytes)],
        }
    }
}
