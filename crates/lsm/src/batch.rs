//! Copies a selection's next rows into arrays: for a scan's consumer, or for a new run.
//!
//! Sources of which few rows are wanted decode only those; folded patches join as one more
//! source. Both need other spans than the selection's, computed once a batch.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray};
use arrow_buffer::OffsetBuffer;
use arrow_select::concat::concat;
use types::{SortKeys, VersionKind, VersionRows};

use crate::block::Block;
use crate::error::StoreError;
use crate::fold::Folded;
use crate::gather::{Span, TooManyBytes, gather, gather_keys};

/// The source of spans that name folded patches.
pub(crate) const FOLDED: u32 = u32::MAX;

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

/// Which rows of a source a batch needs.
enum Need {
    Nothing,
    /// Whole columns: spans name the block's rows.
    Whole,
    /// Only these slots, ascending: spans name places in this list.
    Slots(Vec<u32>),
}

/// Consecutive kept rows, about to be copied.
pub(crate) struct Batch<'a> {
    sources: &'a [Arc<Block>],
    folded: &'a [Folded],
    columns: &'a [usize],
    rows: usize,
    /// The rows as the selection names them.
    spans: &'a [Span],
    needs: Vec<Need>,
    /// The rows as places in what `needs` decodes, with folded patches as the last source.
    places: Vec<Span>,
}

impl<'a> Batch<'a> {
    /// The rows of `spans`, in order.
    pub fn new(
        sources: &'a [Arc<Block>],
        folded: &'a [Folded],
        columns: &'a [usize],
        spans: &'a [Span],
    ) -> Self {
        let rows = spans.iter().map(|span| span.rows as usize).sum();
        let mut needs = needs(sources, spans);
        let places = places(&mut needs, spans);
        Self {
            sources,
            folded,
            columns,
            rows,
            spans,
            needs,
            places,
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The wanted columns of the rows.
    pub fn columns(&self) -> Result<Vec<ArrayRef>, GatherError> {
        let wanted = self.columns.iter().enumerate();
        wanted
            .map(|(index, &column)| self.column(index, column))
            .collect()
    }

    fn column(&self, index: usize, column: usize) -> Result<ArrayRef, GatherError> {
        let mut arrays = Vec::with_capacity(self.sources.len() + 1);
        for (block, need) in self.sources.iter().zip(&self.needs) {
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
        Ok(gather(&arrays, &self.places, self.rows)?)
    }

    fn folded_column(&self, index: usize, like: &ArrayRef) -> Result<ArrayRef, GatherError> {
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
    /// table's. Positions up to `forget_positions` become zero.
    pub fn versions(&self, forget_positions: u64) -> Result<(VersionRows, SortKeys), GatherError> {
        let mut rows = VersionRows {
            columns: self.columns()?,
            positions: Vec::with_capacity(self.rows),
            kinds: Vec::with_capacity(self.rows),
            unchanged: self.unchanged()?,
        };
        for span in self.spans {
            for row in span.start as usize..(span.start + span.rows) as usize {
                let (position, kind) = self.version(span.source, row);
                rows.positions.push(if position <= forget_positions {
                    0
                } else {
                    position
                });
                rows.kinds.push(kind as u8);
            }
        }
        Ok((rows, self.keys()?))
    }

    fn version(&self, source: u32, row: usize) -> (u64, VersionKind) {
        if source == FOLDED {
            let folded = &self.folded[row];
            let position = folded.block.versions().positions.at(folded.row);
            (position, folded.kind())
        } else {
            let versions = self.sources[source as usize].versions();
            (versions.positions.at(row), versions.kinds.at(row))
        }
    }

    fn keys(&self) -> Result<SortKeys, GatherError> {
        let mut keys: Vec<&SortKeys> = self
            .sources
            .iter()
            .map(|block| &block.versions().keys)
            .collect();
        let folded = self.folded_keys()?;
        keys.extend(&folded);
        Ok(gather_keys(
            &keys,
            &self.spans_with_folded_last(),
            self.rows,
        )?)
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
        Ok(Some(gather_keys(&keys, &spans, spans.len())?))
    }

    /// The patches' bits of unchanged columns, if any row is a patch.
    fn unchanged(&self) -> Result<Option<BinaryArray>, GatherError> {
        let mut any = self
            .folded
            .iter()
            .any(|folded| folded.kind() == VersionKind::Patch);
        let mut arrays: Vec<Option<ArrayRef>> = Vec::with_capacity(self.sources.len() + 1);
        for (block, need) in self.sources.iter().zip(&self.needs) {
            let array: Option<ArrayRef> = match need {
                Need::Nothing => None,
                _ => match block.unchanged()? {
                    Some(bits) => {
                        any = true;
                        Some(Arc::new(without_nulls(&bits)))
                    }
                    None => Some(Arc::new(no_bits(block.rows()))),
                },
            };
            arrays.push(array);
        }
        if !any {
            return Ok(None);
        }
        if !self.folded.is_empty() {
            let bits = self.folded.iter().map(Folded::unchanged_bits);
            arrays.push(Some(Arc::new(BinaryArray::from_iter_values(bits))));
        }
        let bits = gather(&arrays, &self.spans_with_folded_last(), self.rows)?;
        Ok(Some(bits.as_binary().clone()))
    }

    /// The rows as the selection names them, with folded patches as the last source.
    fn spans_with_folded_last(&self) -> Vec<Span> {
        let last = self.sources.len() as u32;
        let place = |span: &Span| match span.source {
            FOLDED => Span {
                source: last,
                ..*span
            },
            _ => *span,
        };
        self.spans.iter().map(place).collect()
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
