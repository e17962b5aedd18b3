//! Copies a selection's next rows into arrays: for a scan's consumer, or for a new run.
//!
//! Sources of which few rows are wanted decode only those; folded patches join as one more
//! source. Both need other spans than the selection's, computed once a batch.

use std::ops::Range;
use std::slice;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, OffsetBuffer};
use arrow_select::concat::concat;
use page::SPARSE_ROWS_PER_SLOT;
use types::{SortKeys, VersionKind, VersionRows};

use crate::block::{Block, Cells, VersionColumns};
use crate::error::StoreError;
use crate::fold::Folded;
use crate::gather::{SourceBits, Span, Spans, TooManyBytes, gather, gather_bits, gather_keys};
use crate::retention::Collapse;

/// The source of spans that name folded patches: behind all others.
pub(crate) const FOLDED: u32 = u32::MAX;

/// Lists of slots begin with room for so many more than the rows of an average source.
const SPARE_SLOTS: usize = 8;

/// Why a batch could not be copied.
pub(crate) enum GatherError {
    /// Its text or bytes exceed one array: take fewer rows.
    TooManyBytes,
    /// A page turned out damaged.
    Store(StoreError),
}

impl From<TooManyBytes> for GatherError {
    fn from(TooManyBytes: TooManyBytes) -> Self {
        Self::TooManyBytes
    }
}

impl From<StoreError> for GatherError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// What is there of one column of a source.
pub(crate) enum SourceCells<'a> {
    /// This column of a page, encoded.
    Page(&'a Block, usize),
    /// Cells in memory.
    Array(&'a ArrayRef),
}

/// Where some of a batch's rows are.
pub(crate) enum SourceRows<'a> {
    /// Rows of a block.
    Block {
        block: &'a Block,
        /// Which, ascending; `None`: all.
        slots: Option<Vec<u32>>,
    },
    /// Folded patches, by their places among the batch's.
    Folded(Vec<u32>),
}

impl SourceRows<'_> {
    /// How many they are.
    pub fn count(&self) -> usize {
        match self {
            Self::Block { block, slots } => slots.as_ref().map_or(block.rows(), Vec::len),
            Self::Folded(places) => places.len(),
        }
    }
}

/// Which rows of a source a batch needs.
enum Need {
    Nothing,
    /// Whole columns: spans name the block's rows.
    Whole,
    /// Only these slots, ascending: spans name places in this list.
    Slots(Vec<u32>),
}

/// Where to find rows. The same for all columns.
pub(crate) struct Places {
    needs: Vec<Need>,
    /// The rows as places in what `needs` decodes, with folded patches as the last source.
    spans: Spans,
}

impl Places {
    /// Of the rows of `spans`, in order.
    pub fn of(sources: &[Arc<Block>], spans: &[Span]) -> Self {
        let mut needs = needs(sources, spans);
        let spans = Spans::new(places(&mut needs, spans));
        Self { needs, spans }
    }

    /// Bytes that they take, where whole columns are needed.
    pub fn bytes(&self) -> usize {
        self.spans.bytes()
    }
}

/// Finds ascending rows of a batch in its spans.
struct SpanWalk<'a> {
    spans: slice::Iter<'a, Span>,
    span: &'a Span,
    /// The batch's row after the last that `span` has.
    end: usize,
}

impl<'a> SpanWalk<'a> {
    fn new(spans: &'a [Span]) -> Self {
        let mut spans = spans.iter();
        let span = spans.next().expect("a batch has rows");
        Self {
            end: span.rows as usize,
            spans,
            span,
        }
    }

    /// The source of a row, and the places there of this and the following ones of its span.
    #[inline]
    fn go_to(&mut self, row: usize) -> (u32, Range<u32>) {
        while row >= self.end {
            self.span = self.spans.next().expect("as many bits as rows");
            self.end += self.span.rows as usize;
        }
        let end = self.span.start + self.span.rows;
        (self.span.source, end - (self.end - row) as u32..end)
    }

    /// Gives `take` the source of each span's part of neighbouring rows, and their places there.
    fn each_part(&mut self, mut rows: Range<usize>, mut take: impl FnMut(u32, Range<u32>)) {
        while !rows.is_empty() {
            let (source, places) = self.go_to(rows.start);
            let taken = places.len().min(rows.len());
            take(source, places.start..places.start + taken as u32);
            rows.start += taken;
        }
    }
}

/// Consecutive kept rows, about to be copied.
pub(crate) struct Batch<'a> {
    pub sources: &'a [Arc<Block>],
    pub folded: &'a [Folded],
    pub columns: &'a [usize],
    /// The rows as the selection names them.
    pub spans: &'a [Span],
    /// Of `spans`.
    pub places: &'a Places,
}

impl Batch<'_> {
    /// Others of its sources' rows.
    pub fn with_rows<'b>(&'b self, spans: &'b [Span], places: &'b Places) -> Batch<'b> {
        Batch {
            spans,
            places,
            ..*self
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.places.spans.rows()
    }

    /// The rows whose bit is set, as spans: for a batch of these alone.
    pub fn narrowed(&self, rows: &BooleanBuffer) -> Vec<Span> {
        let mut narrowed = Vec::with_capacity(self.spans.len());
        let mut spans = SpanWalk::new(self.spans);
        for (start, end) in rows.set_slices() {
            spans.each_part(start..end, |source, places| {
                narrowed.push(Span {
                    source,
                    start: places.start,
                    rows: places.len() as u32,
                });
            });
        }
        narrowed
    }

    /// Has what the first page's columns begin with come into the processor's cache while something else is done. Each column
    /// of the pages behind is asked for when that of the page before is looked at.
    pub fn prefetch(&self, places: impl Iterator<Item = usize>) {
        let mut pages = self.sources.iter().filter_map(|block| block.page());
        if let Some(first) = pages.next() {
            places.for_each(|place| first.prefetch_column(self.columns[place]));
        }
    }

    /// The same for columns of the page that rows are in, if they are in one.
    pub fn prefetch_rows(&self, rows: &SourceRows<'_>, places: Range<usize>) {
        if let SourceRows::Block { block, .. } = rows {
            places.for_each(|place| block.prefetch_column(self.columns[place]));
        }
    }

    /// The same for a column of the source behind this one.
    fn prefetch_next(&self, source: usize, column: usize) {
        if let Some(next) = self.sources.get(source + 1) {
            next.prefetch_column(column);
        }
    }

    /// The rows whose bit is set, source by source; `None`: all rows.
    pub fn by_source(&self, wanted: Option<&BooleanBuffer>) -> Vec<SourceRows<'_>> {
        let mut slots = self.slots_of(wanted);
        let folded = slots.pop().filter(|rows| !rows.is_empty());
        let blocks = self.sources.iter().zip(slots);
        let blocks = blocks.filter(|(_, slots)| !slots.is_empty());
        let blocks = blocks.map(|(block, slots)| SourceRows::Block {
            slots: (slots.len() < block.rows()).then_some(slots),
            block,
        });
        blocks.chain(folded.map(SourceRows::Folded)).collect()
    }

    /// Which rows those are of each source, and of the folded patches, which come last.
    fn slots_of(&self, wanted: Option<&BooleanBuffer>) -> Vec<Vec<u32>> {
        let folded = self.sources.len();
        let count = wanted.map_or(self.rows(), BooleanBuffer::count_set_bits);
        // Most sources have about as many as the others.
        let room = count / folded.max(1) * 5 / 4 + SPARE_SLOTS;
        let slots = self.sources.iter().map(|_| Vec::with_capacity(room));
        let mut slots: Vec<Vec<u32>> = slots.chain([Vec::new()]).collect();
        let mut spans = SpanWalk::new(self.spans);
        let list = |source: u32| folded.min(source as usize);
        let mut take = |source, places: Range<u32>| slots[list(source)].extend(places);
        match wanted {
            None => spans.each_part(0..self.rows(), take),
            Some(wanted) if count * SPARSE_ROWS_PER_SLOT <= wanted.len() => {
                for row in wanted.set_indices() {
                    let (source, places) = spans.go_to(row);
                    slots[list(source)].push(places.start);
                }
            }
            Some(wanted) => {
                for (start, end) in wanted.set_slices() {
                    spans.each_part(start..end, &mut take);
                }
            }
        }
        slots
    }

    /// The wanted columns of the rows.
    pub fn columns(&self) -> Result<Vec<ArrayRef>, GatherError> {
        (0..self.columns.len())
            .map(|index| self.column(index))
            .collect()
    }

    /// One of the wanted columns.
    pub fn column(&self, index: usize) -> Result<ArrayRef, GatherError> {
        let column = self.columns[index];
        let mut arrays = Vec::with_capacity(self.sources.len() + 1);
        for (source, (block, need)) in self.sources.iter().zip(&self.places.needs).enumerate() {
            self.prefetch_next(source, column);
            arrays.push(match need {
                Need::Nothing => None,
                Need::Whole => Some(block.column(column)?),
                Need::Slots(slots) => Some(block.column_slots(column, slots)?),
            });
        }
        if let Some(first) = self.folded.first() {
            let like = first.block.column(column)?;
            arrays.push(Some(self.folded_column(index, &like)?));
        }
        Ok(gather(&arrays, &self.places.spans)?)
    }

    /// A bit for each row: that which `bits_of` gives for its place in what is there of a source's
    /// column. `None`, if it gives none for a source.
    pub fn bits<E: From<StoreError>>(
        &self,
        index: usize,
        mut bits_of: impl FnMut(SourceCells<'_>) -> Result<Option<BooleanBuffer>, E>,
    ) -> Result<Option<BooleanBuffer>, E> {
        let column = self.columns[index];
        let mut sources = Vec::with_capacity(self.sources.len() + 1);
        let extents = self.places.spans.extents(self.sources.len());
        let blocks = self.sources.iter().zip(&self.places.needs);
        for (source, ((block, need), extent)) in blocks.zip(extents).enumerate() {
            self.prefetch_next(source, column);
            let (start, bits) = match need {
                Need::Nothing => {
                    sources.push(None);
                    continue;
                }
                Need::Whole if block.is_in_memory() => {
                    // It may have far more rows than the batch.
                    let cells = block.column(column)?;
                    let cells = cells.slice(extent.start, extent.len());
                    (extent.start, bits_of(SourceCells::Array(&cells))?)
                }
                Need::Whole => (0, bits_of(SourceCells::Page(block, column))?),
                Need::Slots(slots) => {
                    let cells = block.column_slots(column, slots)?;
                    (0, bits_of(SourceCells::Array(&cells))?)
                }
            };
            let Some(bits) = bits else {
                return Ok(None);
            };
            sources.push(Some(SourceBits { start, bits }));
        }
        if let Some(first) = self.folded.first() {
            let like = first.block.column(column)?;
            let mut all = BooleanBufferBuilder::new(self.folded.len());
            for row in self.folded {
                let Some(bits) = bits_of(SourceCells::Array(&row.cell(index, &like)))? else {
                    return Ok(None);
                };
                all.append_buffer(&bits);
            }
            let bits = all.finish();
            sources.push(Some(SourceBits { start: 0, bits }));
        }
        Ok(Some(gather_bits(&sources, &self.places.spans)))
    }

    /// The cells of all folded patches, which have the type of `like`.
    pub fn folded_column(&self, index: usize, like: &ArrayRef) -> Result<ArrayRef, GatherError> {
        let cells: Vec<ArrayRef> = self
            .folded
            .iter()
            .map(|row| row.cell(index, like))
            .collect();
        let cells: Vec<&dyn Array> = cells.iter().map(AsRef::as_ref).collect();
        // Too many bytes is the only way in which arrays of one type fail to concatenate.
        concat(&cells).map_err(|_| GatherError::TooManyBytes)
    }

    /// The rows as sorted versions with their keys. The wanted columns must be all of the
    /// table's. Positions are collapsed.
    pub fn versions(&self, collapse: Collapse) -> Result<(VersionRows, SortKeys), GatherError> {
        let kinds = self.kinds().into_each(self.rows());
        let rows = VersionRows {
            columns: self.columns()?,
            positions: self.positions(collapse).into_each(self.rows()),
            kinds: kinds.into_iter().map(|kind| kind as u8).collect(),
            unchanged: self.unchanged()?,
        };
        Ok((rows, self.keys()?))
    }

    /// The rows' keys, positions, which are collapsed, and kinds.
    pub fn version_columns(&self, collapse: Collapse) -> Result<VersionColumns, GatherError> {
        Ok(VersionColumns {
            keys: self.keys()?,
            positions: self.positions(collapse),
            kinds: self.kinds(),
        })
    }

    fn positions(&self, collapse: Collapse) -> Cells<u64> {
        let of_source = |block: &Arc<Block>| match &block.versions().positions {
            Cells::Constant(position) => Some(collapse.of(*position)),
            Cells::Each(_) => {
                let all = block.summary().position_max <= collapse.up_to;
                all.then_some(collapse.to)
            }
        };
        if let Some(position) = self.common(of_source) {
            return Cells::Constant(position);
        }
        let position = |source, row: usize| match source {
            FOLDED => {
                let folded = &self.folded[row];
                folded.block.versions().positions.at(folded.row)
            }
            source => self.sources[source as usize].versions().positions.at(row),
        };
        Cells::new(self.each_row(|source, row| collapse.of(position(source, row))))
    }

    fn kinds(&self) -> Cells<VersionKind> {
        let of_source = |block: &Arc<Block>| match &block.versions().kinds {
            Cells::Constant(kind) => Some(*kind),
            Cells::Each(_) => None,
        };
        if let Some(kind) = self.common(of_source) {
            return Cells::Constant(kind);
        }
        let kind = |source, row: usize| match source {
            FOLDED => self.folded[row].kind(),
            source => self.sources[source as usize].versions().kinds.at(row),
        };
        Cells::new(self.each_row(kind))
    }

    /// What all wanted rows have in common, if that follows from the sources.
    fn common<T: PartialEq>(&self, of_source: impl Fn(&Arc<Block>) -> Option<T>) -> Option<T> {
        if !self.folded.is_empty() {
            return None;
        }
        let wanted = self.sources.iter().zip(&self.places.needs);
        let mut wanted = wanted.filter(|(_, need)| !matches!(need, Need::Nothing));
        let first = of_source(wanted.next()?.0)?;
        wanted
            .all(|(block, _)| of_source(block).as_ref() == Some(&first))
            .then_some(first)
    }

    fn each_row<T>(&self, cell: impl Fn(u32, usize) -> T) -> Vec<T> {
        let mut cells = Vec::with_capacity(self.rows());
        for span in self.spans {
            let rows = span.start as usize..(span.start + span.rows) as usize;
            cells.extend(rows.map(|row| cell(span.source, row)));
        }
        cells
    }

    fn keys(&self) -> Result<SortKeys, GatherError> {
        let mut keys: Vec<&SortKeys> = self
            .sources
            .iter()
            .map(|block| &block.versions().keys)
            .collect();
        let folded = self.folded_keys()?;
        keys.extend(&folded);
        Ok(gather_keys(&keys, &self.spans_with_folded_last())?)
    }

    fn folded_keys(&self) -> Result<Option<SortKeys>, GatherError> {
        if self.folded.is_empty() {
            return Ok(None);
        }
        let keys: Vec<_> = self
            .folded
            .iter()
            .map(|row| &row.block.versions().keys)
            .collect();
        let row = |(source, folded): (usize, &Folded)| Span {
            source: source as u32,
            start: folded.row as u32,
            rows: 1,
        };
        let spans: Vec<Span> = self.folded.iter().enumerate().map(row).collect();
        Ok(Some(gather_keys(&keys, &Spans::new(spans))?))
    }

    /// The patches' bits of unchanged columns, if any row is a patch.
    pub fn unchanged(&self) -> Result<Option<BinaryArray>, GatherError> {
        let wanted = self.sources.iter().zip(&self.places.needs);
        let bits = wanted.map(|(block, need)| match need {
            Need::Nothing => Ok(None),
            _ => block.unchanged(),
        });
        let bits: Vec<Option<BinaryArray>> = bits.collect::<Result<_, _>>()?;
        let is_patch = |folded: &Folded| folded.kind() == VersionKind::Patch;
        if bits.iter().all(Option::is_none) && !self.folded.iter().any(is_patch) {
            return Ok(None);
        }
        let sources = bits.iter().zip(self.sources);
        let of_source = |(bits, block): (&Option<BinaryArray>, &Arc<Block>)| -> Option<ArrayRef> {
            Some(Arc::new(match bits {
                Some(bits) => without_nulls(bits),
                None => no_bits(block.rows()),
            }))
        };
        let mut arrays: Vec<Option<ArrayRef>> = sources.map(of_source).collect();
        if !self.folded.is_empty() {
            let bits = self.folded.iter().map(Folded::unchanged_bits);
            arrays.push(Some(Arc::new(BinaryArray::from_iter_values(bits))));
        }
        let bits = gather(&arrays, &self.spans_with_folded_last())?;
        Ok(Some(bits.as_binary().clone()))
    }

    /// The rows as the selection names them, with folded patches as the last source.
    fn spans_with_folded_last(&self) -> Spans {
        let last = self.sources.len() as u32;
        let place = |span: &Span| match span.source {
            FOLDED => Span {
                source: last,
                ..*span
            },
            _ => *span,
        };
        Spans::new(self.spans.iter().map(place).collect())
    }
}

/// Empty bits for versions that are no patches.
fn no_bits(rows: usize) -> BinaryArray {
    BinaryArray::new(
        OffsetBuffer::new_zeroed(rows),
        Vec::<u8>::new().into(),
        None,
    )
}

/// Pages may store "no bits" as NULL; in memory it is empty.
fn without_nulls(bits: &BinaryArray) -> BinaryArray {
    if bits.null_count() == 0 {
        return bits.clone();
    }
    BinaryArray::from_iter_values(bits.iter().map(Option::unwrap_or_default))
}

fn needs(sources: &[Arc<Block>], spans: &[Span]) -> Vec<Need> {
    let mut used = vec![0_usize; sources.len()];
    for span in spans.iter().filter(|span| span.source != FOLDED) {
        used[span.source as usize] += span.rows as usize;
    }
    let need = |(block, used): (&Arc<Block>, usize)| match used {
        0 => Need::Nothing,
        _ if block.prefers_slots(used) => Need::Slots(Vec::with_capacity(used)),
        _ => Need::Whole,
    };
    sources.iter().zip(used).map(need).collect()
}

/// Fills the slot lists of `needs` and names the rows by their places in them.
fn places(needs: &mut [Need], spans: &[Span]) -> Vec<Span> {
    let folded = needs.len() as u32;
    let mut place = |span: &Span| {
        if span.source == FOLDED {
            return Span {
                source: folded,
                ..*span
            };
        }
        let Need::Slots(slots) = &mut needs[span.source as usize] else {
            return *span;
        };
        let start = slots.len() as u32;
        slots.extend(span.start..span.start + span.rows);
        Span { start, ..*span }
    };
    spans.iter().map(&mut place).collect()
}
