//! Memory runs: the immutable sorted batches that C0 is made of.
//!
//! A batch of versions arrives in log order. It is sorted by key, then position descending, then
//! arrival descending, by an argsort on the folded keys; batches that arrive sorted (a copy in
//! key order) are taken as they are. Versions of equal key and position (several writes of one
//! row in one transaction) are then folded into one, the last write winning.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray};
use types::{SortKeys, VersionKind, VersionRows};

use crate::block::{Block, Cells, Summary, VersionColumns};
use crate::cursor::Window;
use crate::gather::{Span, Spans, TooManyBytes, gather, gather_keys};
use crate::key_form::{BytesForm, KeyForm, U64Form, U128Form};
use crate::key_range::KeyRange;
use crate::layout::Layout;
use crate::retention::PositionRange;

/// A sorted, immutable batch of versions in memory.
pub(crate) struct MemoryRun {
    block: Arc<Block>,
}

impl MemoryRun {
    /// Sorts a batch that arrived in log order. The result may have several versions of equal
    /// key and position, the last to arrive first: [`crate::c0`] folds them.
    ///
    /// # Panics
    /// When a key cell is NULL or a kind is unknown: the source made the batch.
    pub fn sort(rows: VersionRows, layout: &Layout) -> Self {
        let keys = layout.sort_keys_of_row(&rows.columns);
        let sorted = match sorted_order(&keys, &rows.positions) {
            None => Some((rows, keys)),
            Some(order) => reorder(&rows, &keys, &order).ok(),
        };
        let (rows, keys) = sorted.expect("a batch in another order has the same size");
        Self::from_sorted(rows, keys)
    }

    /// # Panics
    /// When a kind is unknown.
    fn from_sorted(rows: VersionRows, keys: SortKeys) -> Self {
        let versions = VersionColumns {
            keys,
            positions: Cells::new(rows.positions),
            kinds: Cells::new(rows.kinds.into_iter().map(version_kind).collect()),
        };
        Self::of(versions, rows.columns, rows.unchanged)
    }

    /// Takes versions that are sorted already.
    pub fn of(
        versions: VersionColumns,
        columns: Vec<ArrayRef>,
        unchanged: Option<BinaryArray>,
    ) -> Self {
        let (position_min, position_max) = extremes(&versions.positions);
        let summary = Summary {
            position_min,
            position_max,
            all_puts: versions.kinds.all(VersionKind::Put),
            unique_keys: are_unique(&versions.keys),
        };
        let block = Block::in_memory(versions, summary, columns, unchanged);
        Self {
            block: Arc::new(block),
        }
    }

    /// The versions as one block.
    pub fn block(&self) -> &Arc<Block> {
        &self.block
    }

    /// The versions in `range`; `None` if there are none.
    pub fn window(&self, range: &KeyRange) -> Option<Window> {
        Window::new(Arc::clone(&self.block), range)
    }

    /// The number of versions.
    pub fn rows(&self) -> usize {
        self.block.rows()
    }

    /// The positions of the versions.
    pub fn positions(&self) -> PositionRange {
        let summary = self.block.summary();
        PositionRange {
            min: summary.position_min,
            max: summary.position_max,
        }
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.block.bytes()
    }

    /// Whether two versions have the same key and position.
    pub fn has_duplicates(&self) -> bool {
        let versions = self.block.versions();
        let duplicate = |row: usize| {
            versions.keys.compare(row - 1, &versions.keys, row).is_eq()
                && versions.positions.at(row - 1) == versions.positions.at(row)
        };
        !self.block.summary().unique_keys && (1..self.rows()).any(duplicate)
    }
}

fn extremes(positions: &Cells<u64>) -> (u64, u64) {
    match positions {
        Cells::Constant(position) => (*position, *position),
        Cells::Each(positions) => {
            let least = positions.iter().copied().min().unwrap_or(0);
            (least, positions.iter().copied().max().unwrap_or(0))
        }
    }
}

/// Whether no two of the keys, which are in order, are equal.
fn are_unique(keys: &SortKeys) -> bool {
    match keys {
        SortKeys::U64(keys) => keys.is_sorted_by(|one, next| one < next),
        SortKeys::U128(keys) => keys.is_sorted_by(|one, next| one < next),
        SortKeys::Bytes { .. } => {
            (1..keys.len()).all(|row| keys.compare(row - 1, keys, row).is_lt())
        }
    }
}

fn version_kind(number: u8) -> VersionKind {
    VersionKind::from_u8(number).expect("sources make versions of known kinds")
}

/// The rows in merge order; `None` if they are in it already.
fn sorted_order(keys: &SortKeys, positions: &[u64]) -> Option<Vec<u32>> {
    match keys {
        SortKeys::U64(_) => order::<U64Form>(keys, positions, |key| key),
        SortKeys::U128(_) => order::<U128Form>(keys, positions, |key| (key >> 64) as u64),
        SortKeys::Bytes { .. } => order::<BytesForm>(keys, positions, prefix),
    }
}

/// The first eight bytes of a key, as an integer that orders alike.
fn prefix(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let bytes = key.len().min(8);
    first[..bytes].copy_from_slice(&key[..bytes]);
    u64::from_be_bytes(first)
}

/// Sorts (first 64 bits of the key, row): nearly all comparisons end at the integer and stay
/// within the sorted memory.
fn order<F: KeyForm>(
    keys: &SortKeys,
    positions: &[u64],
    prefix: impl Fn(F::Key<'_>) -> u64,
) -> Option<Vec<u32>> {
    let view = F::view(keys);
    let compare = |a: usize, b: usize| {
        let by_key = F::key(view, a).cmp(&F::key(view, b));
        // Position and arrival descending: the newest version first.
        by_key
            .then_with(|| positions[b].cmp(&positions[a]))
            .then_with(|| b.cmp(&a))
    };
    if (1..positions.len()).all(|row| compare(row - 1, row).is_lt()) {
        return None;
    }
    let rows = u32::try_from(positions.len()).expect("a batch has fewer than 2^32 rows");
    let mut order: Vec<(u64, u32)> = (0..rows)
        .map(|row| (prefix(F::key(view, row as usize)), row))
        .collect();
    order.sort_unstable_by(|&(a_prefix, a), &(b_prefix, b)| {
        a_prefix
            .cmp(&b_prefix)
            .then_with(|| compare(a as usize, b as usize))
    });
    Some(order.into_iter().map(|(_, row)| row).collect())
}

fn reorder(
    rows: &VersionRows,
    keys: &SortKeys,
    order: &[u32],
) -> Result<(VersionRows, SortKeys), TooManyBytes> {
    let spans = Spans::new(spans_of(order));
    let column = |array: &ArrayRef| gather(&[Some(Arc::clone(array))], &spans);
    let pick = |row: &u32| *row as usize;
    let unchanged = match &rows.unchanged {
        None => None,
        Some(bits) => {
            let bits: ArrayRef = Arc::new(bits.clone());
            Some(BinaryArray::from(column(&bits)?.to_data()))
        }
    };
    let sorted = VersionRows {
        columns: rows.columns.iter().map(column).collect::<Result<_, _>>()?,
        positions: order.iter().map(|row| rows.positions[pick(row)]).collect(),
        kinds: order.iter().map(|row| rows.kinds[pick(row)]).collect(),
        unchanged,
    };
    let keys = gather_keys(&[keys], &spans)?;
    Ok((sorted, keys))
}

/// Joins neighbouring rows of an order into spans.
fn spans_of(order: &[u32]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for &row in order {
        match spans.last_mut() {
            Some(last) if last.start + last.rows == row => last.rows += 1,
            _ => spans.push(Span {
                source: 0,
                start: row,
                rows: 1,
            }),
        }
    }
    spans
}
