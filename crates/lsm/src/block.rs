//! Blocks: neighbouring versions of one run, the unit in which merges and scans work.
//!
//! A block is either a whole memory run or one page of a segment. What ordering and filtering
//! need (keys, positions, kinds) is decoded when a merge has to look at the rows; every other
//! column is decoded when a consumer asks for it, and then kept. A page that passes through a
//! scan whole is never looked at: only its projected columns are decoded.
//!
//! Invariant: rows are sorted by key ascending, then position descending, and no two have the
//! same key and position.

use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BinaryArray};
use arrow_buffer::BooleanBuffer;
use page::{DistinctText, Page, PageError, SPARSE_ROWS_PER_SLOT};
use types::{ColumnType, SortKeys, ValueRange, VersionKind};

use crate::cells_in_range::rows_in_range;
use crate::error::StoreError;
use crate::layout::Layout;
use crate::segment::Segment;

/// What is known of a block without looking at its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    /// The smallest position of a version.
    pub position_min: u64,
    /// The largest position of a version.
    pub position_max: u64,
    /// Every version is a put.
    pub all_puts: bool,
    /// No key has two versions in the block.
    pub unique_keys: bool,
}

/// One value a row, or one for all rows.
#[derive(Clone, Debug)]
pub(crate) enum Cells<T> {
    /// Every row has this value.
    Constant(T),
    /// Row `i` has value `i`.
    Each(Vec<T>),
}

impl<T: Copy + PartialEq> Cells<T> {
    /// Folds equal values into a constant. `values` is not empty.
    pub fn new(values: Vec<T>) -> Self {
        let first = values[0];
        if values.iter().all(|&value| value == first) {
            Self::Constant(first)
        } else {
            Self::Each(values)
        }
    }

    /// The value of a row.
    #[inline]
    pub fn at(&self, row: usize) -> T {
        match self {
            Self::Constant(value) => *value,
            Self::Each(values) => values[row],
        }
    }

    /// Whether every row has this value. There are rows.
    pub fn all(&self, value: T) -> bool {
        match self {
            Self::Constant(constant) => *constant == value,
            Self::Each(values) => values.iter().all(|each| *each == value),
        }
    }

    /// The values of so many rows.
    pub fn into_each(self, rows: usize) -> Vec<T> {
        match self {
            Self::Constant(value) => vec![value; rows],
            Self::Each(values) => values,
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Self::Constant(_) => 0,
            Self::Each(values) => values.capacity() * size_of::<T>(),
        }
    }
}

/// The columns that order and filter versions.
#[derive(Debug)]
pub(crate) struct VersionColumns {
    /// The rows' keys.
    pub keys: SortKeys,
    /// The rows' positions.
    pub positions: Cells<u64>,
    /// The rows' kinds.
    pub kinds: Cells<VersionKind>,
}

enum Body {
    Memory {
        columns: Vec<ArrayRef>,
        unchanged: Option<BinaryArray>,
        bytes: usize,
    },
    Page(PageBody),
}

/// How many of a page's rows its reader will want in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WantedRows {
    /// Few, perhaps: a scan over newer versions, a look-up.
    Some,
    /// All but those that go: a merge.
    All,
}

struct PageBody {
    page: Arc<Page>,
    wanted: WantedRows,
    segment: Arc<Segment>,
    index: usize,
    unchanged_column: usize,
    /// A place for each column that may be decoded, made when the first one is: most scans decode none whole.
    decoded: OnceLock<Box<[OnceLock<ArrayRef>]>>,
}

/// Neighbouring versions of one run.
pub(crate) struct Block {
    rows: usize,
    summary: Summary,
    versions: OnceLock<VersionColumns>,
    body: Body,
}

impl Block {
    /// A block of sorted versions in memory.
    pub fn in_memory(
        versions: VersionColumns,
        summary: Summary,
        columns: Vec<ArrayRef>,
        unchanged: Option<BinaryArray>,
    ) -> Self {
        let bytes = columns
            .iter()
            .map(|c| c.get_buffer_memory_size())
            .sum::<usize>()
            + unchanged.as_ref().map_or(0, Array::get_buffer_memory_size)
            + versions.keys.memory_bytes()
            + versions.positions.memory_bytes()
            + versions.kinds.memory_bytes()
            + columns.len() * ARRAY_BYTES;
        Self {
            rows: versions.keys.len(),
            summary,
            versions: OnceLock::from(versions),
            body: Body::Memory {
                columns,
                unchanged,
                bytes,
            },
        }
    }

    /// A page of a segment, of which nothing is decoded yet.
    pub fn from_page(
        page: Arc<Page>,
        segment: &Arc<Segment>,
        index: usize,
        layout: &Layout,
        wanted: WantedRows,
    ) -> Self {
        let entry = &segment.pages()[index];
        Self {
            rows: page.rows(),
            summary: Summary {
                position_min: entry.position_min.0,
                position_max: entry.position_max.0,
                all_puts: entry.all_puts,
                unique_keys: entry.unique_keys,
            },
            versions: OnceLock::new(),
            body: Body::Page(PageBody {
                page,
                wanted,
                segment: Arc::clone(segment),
                index,
                unchanged_column: layout.unchanged_column(),
                decoded: OnceLock::new(),
            }),
        }
    }

    /// The number of versions.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// What is known without looking at the rows.
    pub fn summary(&self) -> Summary {
        self.summary
    }

    /// Decodes what [`Self::versions`] gives, if that has not happened yet.
    pub fn decode_versions(&self, layout: &Layout) -> Result<(), StoreError> {
        if let (Body::Page(body), None) = (&self.body, self.versions.get()) {
            let versions = body.decode_versions(layout, self.summary, self.rows)?;
            let _ = self.versions.set(versions);
        }
        Ok(())
    }

    /// Keys, positions and kinds.
    ///
    /// # Panics
    /// When [`Self::decode_versions`] has not been called.
    pub fn versions(&self) -> &VersionColumns {
        self.versions
            .get()
            .expect("rows are looked at after their versions have been decoded")
    }

    /// A stored column of the table, all rows.
    pub fn column(&self, column: usize) -> Result<ArrayRef, StoreError> {
        match &self.body {
            Body::Memory { columns, .. } => Ok(Arc::clone(&columns[column])),
            Body::Page(body) => body.column(column),
        }
    }

    /// Whether picking `wanted` rows of a column is cheaper than decoding all of it. Never in a
    /// merge: the rows that are left come with the next batches, out of what is decoded now.
    pub fn prefers_slots(&self, wanted: usize) -> bool {
        match &self.body {
            Body::Memory { .. } => false,
            Body::Page(body) => {
                body.wanted == WantedRows::Some && wanted * SPARSE_ROWS_PER_SLOT <= self.rows
            }
        }
    }

    /// The rows at `slots`, ascending, of a stored column of the table.
    ///
    /// # Panics
    /// When the block does not prefer slots.
    pub fn column_slots(&self, column: usize, slots: &[u32]) -> Result<ArrayRef, StoreError> {
        let Body::Page(body) = &self.body else {
            panic!("only pages prefer slots")
        };
        body.page
            .decode_slots(column, slots)
            .map_err(|e| body.error(&e))
    }

    /// Whether its rows are in memory as they are.
    pub fn is_in_memory(&self) -> bool {
        matches!(self.body, Body::Memory { .. })
    }

    /// Has a stored column come into the processor's cache while something else is done, if it is a page's.
    pub fn prefetch_column(&self, column: usize) {
        if let Some(page) = self.page() {
            page.prefetch_column(column);
        }
    }

    /// The page that it is, unless its rows are in memory as they are.
    pub fn page(&self) -> Option<&Page> {
        match &self.body {
            Body::Memory { .. } => None,
            Body::Page(body) => Some(&body.page),
        }
    }

    /// The rows of a page of which the cells of a stored column are in a range, found on the encoded form
    /// if nobody has decoded it.
    ///
    /// # Panics
    /// When the block is not a page.
    pub fn rows_in(
        &self,
        column: usize,
        column_type: ColumnType,
        range: ValueRange<'_>,
    ) -> Result<BooleanBuffer, StoreError> {
        let body = self.page_body();
        match body.decoded(column) {
            Some(cells) => Ok(rows_in_range(cells, column_type, range)),
            None => {
                let rows = body.page.select(column, range);
                rows.map_err(|e| body.error(&e))
            }
        }
    }

    /// The rows of a page of which the cells of a stored text column are wanted. `wanted` is asked about
    /// distinct cells; where the page does not have them, there is no answer.
    ///
    /// # Panics
    /// When the block is not a page.
    pub fn rows_with<E: From<StoreError>>(
        &self,
        column: usize,
        wanted: &mut dyn FnMut(&ArrayRef) -> Result<BooleanBuffer, E>,
    ) -> Result<Option<BooleanBuffer>, E> {
        let body = self.page_body();
        let Some(distinct) = body.distinct_text(column)? else {
            return Ok(None);
        };
        let rows = distinct.rows_of(&wanted(distinct.cells())?);
        Ok(Some(rows.map_err(|e| body.error(&e))?))
    }

    /// Appends the cells of a page's stored column at `slots` (`None`: all) as numbers, if they are numbers of
    /// up to 64 bits and none is NULL. Whether they are; else nothing is appended.
    ///
    /// # Panics
    /// When the block is not a page.
    pub fn append_integers(
        &self,
        column: usize,
        slots: Option<&[u32]>,
        numbers: &mut Vec<i64>,
    ) -> Result<bool, StoreError> {
        let body = self.page_body();
        let appended = body.page.append_integers(column, slots, numbers);
        appended.map_err(|e| body.error(&e))
    }

    /// The distinct cells of a page's stored text column, and which of them there are at `slots` (`None`:
    /// all), if that is how they are stored.
    ///
    /// # Panics
    /// When the block is not a page.
    pub fn text_codes(
        &self,
        column: usize,
        slots: Option<&[u32]>,
    ) -> Result<Option<(ArrayRef, Vec<u16>)>, StoreError> {
        let body = self.page_body();
        let Some(distinct) = body.distinct_text(column)? else {
            return Ok(None);
        };
        let codes = distinct.codes(slots).map_err(|e| body.error(&e))?;
        Ok(Some((Arc::clone(distinct.cells()), codes)))
    }

    fn page_body(&self) -> &PageBody {
        match &self.body {
            Body::Page(body) => body,
            Body::Memory { .. } => panic!("only pages are encoded"),
        }
    }

    /// The patches' bits of unchanged columns; `None` where the block has no patch.
    pub fn unchanged(&self) -> Result<Option<BinaryArray>, StoreError> {
        match &self.body {
            Body::Memory { unchanged, .. } => Ok(unchanged.clone()),
            Body::Page(_) if self.summary.all_puts => Ok(None),
            Body::Page(body) => Ok(Some(
                body.column(body.unchanged_column)?.as_binary().clone(),
            )),
        }
    }

    /// Whether there may be patches among its rows.
    pub fn has_patches(&self) -> bool {
        match &self.body {
            Body::Memory { unchanged, .. } => unchanged.is_some(),
            Body::Page(_) => !self.summary.all_puts,
        }
    }

    /// Bytes that the rows take where they are: in memory, or in a page.
    pub fn bytes(&self) -> usize {
        match &self.body {
            Body::Memory { bytes, .. } => *bytes,
            Body::Page(body) => body.page.bytes(),
        }
    }

    /// The same where these columns are wanted: long texts of a page count as they are when they are decoded.
    pub fn bytes_for(&self, columns: &[usize]) -> usize {
        match &self.body {
            Body::Memory { bytes, .. } => *bytes,
            Body::Page(body) => body.page.unbundled_bytes(columns),
        }
    }
}

/// What an array takes besides its cells, about: itself, the headers of its buffers, and what the
/// allocator rounds up. Counts where runs have a row or two: with 200 trees of which most got a row
/// at a time, 4,200 runs had 50,000 arrays (`bench many-trees`).
const ARRAY_BYTES: usize = 320;

impl PageBody {
    fn error(&self, error: &PageError) -> StoreError {
        self.segment.page_error(self.index, error)
    }

    fn distinct_text(&self, column: usize) -> Result<Option<DistinctText<'_>>, StoreError> {
        let distinct = self.page.distinct_text(column);
        distinct.map_err(|e| self.error(&e))
    }

    fn decoded(&self, column: usize) -> Option<&ArrayRef> {
        self.decoded.get()?[column].get()
    }

    fn column(&self, column: usize) -> Result<ArrayRef, StoreError> {
        if let Some(array) = self.decoded(column) {
            return Ok(Arc::clone(array));
        }
        let array = self.page.decode(column).map_err(|e| self.error(&e))?;
        let columns = 0..=self.unchanged_column;
        let places = || columns.map(|_| OnceLock::new()).collect();
        let decoded = self.decoded.get_or_init(places);
        Ok(Arc::clone(decoded[column].get_or_init(|| array)))
    }

    fn decode_versions(
        &self,
        layout: &Layout,
        summary: Summary,
        rows: usize,
    ) -> Result<VersionColumns, StoreError> {
        let key: Vec<ArrayRef> = layout
            .schema
            .key
            .iter()
            .map(|&c| self.column(c))
            .collect::<Result<_, _>>()?;
        if key
            .iter()
            .any(|cells| cells.null_count() > 0 || cells.len() != rows)
        {
            return Err(self.error(&PageError::Malformed("a key cell is NULL or missing")));
        }
        Ok(VersionColumns {
            keys: layout.sort_keys(&key),
            positions: self.decode_positions(layout.position_column(), rows)?,
            kinds: self.decode_kinds(layout.kind_column(), summary, rows)?,
        })
    }

    fn decode_positions(&self, column: usize, rows: usize) -> Result<Cells<u64>, StoreError> {
        if let Some(position) = self.page.constant(column) {
            return Ok(Cells::Constant(position));
        }
        let positions = self.page.decode(column).map_err(|e| self.error(&e))?;
        if positions.len() != rows {
            return Err(self.error(&PageError::Malformed("positions are missing")));
        }
        Ok(Cells::Each(
            positions.as_primitive::<UInt64Type>().values().to_vec(),
        ))
    }

    fn decode_kinds(
        &self,
        column: usize,
        summary: Summary,
        rows: usize,
    ) -> Result<Cells<VersionKind>, StoreError> {
        if summary.all_puts {
            return Ok(Cells::Constant(VersionKind::Put));
        }
        let kinds = self.page.decode(column).map_err(|e| self.error(&e))?;
        let kinds: Option<Vec<VersionKind>> = kinds
            .as_primitive::<Int16Type>()
            .values()
            .iter()
            .map(|&kind| VersionKind::from_u8(u8::try_from(kind).ok()?))
            .collect();
        match kinds {
            Some(kinds) if kinds.len() == rows => Ok(Cells::new(kinds)),
            _ => Err(self.error(&PageError::Malformed(
                "a version kind is missing or unknown",
            ))),
        }
    }
}
