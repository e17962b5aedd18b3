//! Cuts a scan into ranges of keys that are read at the same time.
//!
//! Where the key starts with an integer, a date or a time, cuts are moved to where a value of it starts,
//! the one that they are in or the next, so that all rows with one value are in one part: the planner is
//! told, and groups by that column, or by more, without bringing rows of several parts together. They stay
//! where they are if the parts would become uneven: few values have many rows each.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::common::{Result, ScalarValue};
use lsm::{KeyRange, Snapshot, StoreError};
use replication::projection::layout::KeyColumn;
use types::key::SortKey;
use types::{ColumnType, TableId};

use super::key_range::intersect;
use super::tree_key::TreeKey;

/// The largest part has at most so many times the pages of an even one.
const UNEVEN_MAX: f64 = 1.25;

/// Small ranges that partitions share, for each of them. The last ones are a thirty-second each of what two
/// partitions read.
const SMALL_RANGES: usize = 16;
/// A range has so many pages at least: opening it has to be little beside reading it.
const SMALL_RANGE_PAGES: u64 = 4;
/// A range of keys is cut so many times as finely as wanted before it is joined to even ones.
const FINER: usize = 8;

/// Ranges of keys, ascending, without anything between them.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) ranges: Vec<KeyRange>,
    /// The value of the key's first column with which each range but the first one starts; `None`
    /// where two ranges may have rows with the same value.
    pub(crate) starts: Option<Vec<ScalarValue>>,
}

impl Parts {
    /// One part.
    pub(crate) fn whole(range: KeyRange) -> Self {
        Self {
            ranges: vec![range],
            starts: None,
        }
    }

    /// Nothing to read.
    pub(crate) fn none() -> Self {
        Self {
            ranges: Vec::new(),
            starts: None,
        }
    }

    /// At most `parts` of the rows of a tree that are in `range`.
    pub(crate) fn cut(
        snapshot: &Snapshot,
        (table, key): (TableId, &TreeKey),
        range: &KeyRange,
        parts: usize,
    ) -> Result<Self, StoreError> {
        let cuts = even_ranges(snapshot, table, range, parts)?;
        let pages = |start: &SortKey, end: &SortKey| {
            let (start, end) = (Some(start.clone()), Some(end.clone()));
            pages_in(snapshot, table, &KeyRange { start, end })
        };
        if let Some(aligned) = aligned(&cuts, key, pages)? {
            let moved = aligned.within(range);
            let as_many = moved.ranges.len() == cuts.len();
            if as_many && are_even(snapshot, table, &moved.ranges)? {
                return Ok(moved);
            }
        }
        let (ranges, starts) = (cuts, None);
        Ok(Self { ranges, starts })
    }

    /// What they have in `range`.
    fn within(self, range: &KeyRange) -> Self {
        let first = |part: &KeyRange| intersect(part, range).is_some();
        // What the range leaves is without gaps: the parts that it leaves out are the first and last.
        let first = self.ranges.iter().position(first).unwrap_or(0);
        let ranges = self.ranges.iter();
        let ranges: Vec<_> = ranges.filter_map(|part| intersect(part, range)).collect();
        let starts = self.starts.map(|starts| {
            let between = starts.into_iter().skip(first);
            between.take(ranges.len().saturating_sub(1)).collect()
        });
        Self { ranges, starts }
    }

    /// Everything from the first to the last, if there is anything.
    pub(crate) fn bounds(&self) -> Option<KeyRange> {
        let (first, last) = (self.ranges.first()?, self.ranges.last()?);
        Some(KeyRange {
            start: first.start.clone(),
            end: last.end.clone(),
        })
    }

    /// The same keys in many small ranges, for partitions to share; `None` where there is too little to be
    /// read for that.
    pub(crate) fn cut_small(
        &self,
        snapshot: &Snapshot,
        table: TableId,
    ) -> Result<Option<Vec<KeyRange>>, StoreError> {
        let partitions = self.ranges.len();
        let Some(bounds) = self.bounds().filter(|_| partitions > 1) else {
            return Ok(None);
        };
        let worth = pages_in(snapshot, table, &bounds)? / SMALL_RANGE_PAGES;
        let worth = usize::try_from(worth).unwrap_or(usize::MAX);
        let wanted = worth.min(SMALL_RANGES * partitions);
        if wanted < 2 * partitions {
            return Ok(None);
        }
        even_ranges(snapshot, table, &bounds, wanted).map(Some)
    }
}

/// A range of keys in at most so many with about as many pages each, ascending, without anything between
/// them. One that leaves pages of the table out is cut into fewer where it has few pages.
fn even_ranges(
    snapshot: &Snapshot,
    table: TableId,
    range: &KeyRange,
    wanted: usize,
) -> Result<Vec<KeyRange>, StoreError> {
    let within = |cuts: &[KeyRange]| -> Vec<KeyRange> {
        let cuts = cuts.iter();
        cuts.filter_map(|cut| intersect(cut, range)).collect()
    };
    let extent = snapshot.extent(table, range)?;
    let pages = extent.pages - extent.pages_skipped;
    if pages == extent.pages {
        return Ok(within(&snapshot.split(table, wanted)?));
    }
    let worth = usize::try_from(pages / SMALL_RANGE_PAGES).unwrap_or(usize::MAX);
    let wanted = wanted.min(worth);
    if wanted <= 1 {
        return Ok(vec![range.clone()]);
    }
    // All of the table is cut: finely, and what is in the range is joined again.
    let fine = extent.pages.saturating_mul((wanted * FINER) as u64) / pages;
    let fine = fine.min(extent.pages);
    let fine = within(&snapshot.split(table, usize::try_from(fine).unwrap_or(wanted))?);
    let joined = (0..wanted).filter_map(|place| {
        let these = &fine[place * fine.len() / wanted..(place + 1) * fine.len() / wanted];
        let (first, last) = (these.first()?, these.last()?);
        Some(KeyRange {
            start: first.start.clone(),
            end: last.end.clone(),
        })
    });
    Ok(joined.collect())
}

fn pages_in(snapshot: &Snapshot, table: TableId, range: &KeyRange) -> Result<u64, StoreError> {
    let extent = snapshot.extent(table, range)?;
    Ok(extent.pages - extent.pages_skipped)
}

/// The parts between cuts that have moved to starts of values of the key's first column; `None` where some
/// would be the same. `pages` tells how much there is between two keys.
fn aligned(
    cuts: &[KeyRange],
    key: &TreeKey,
    pages: impl Fn(&SortKey, &SortKey) -> Result<u64, StoreError>,
) -> Result<Option<Parts>, StoreError> {
    let Some(first) = FirstColumn::of(key) else {
        return Ok(None);
    };
    let mut starts: Vec<SortKey> = Vec::new();
    let mut values = Vec::new();
    for cut in cuts.iter().skip(1).filter_map(|cut| cut.start.as_ref()) {
        let Some((value, start)) = first.nearest_start(cut, &pages)? else {
            return Ok(None);
        };
        if starts.last().is_some_and(|last| *last >= start) {
            return Ok(None);
        }
        starts.push(start);
        values.push(value);
    }
    let ends = starts.iter().cloned().map(Some).chain([None]);
    let starts = [None].into_iter().chain(starts.iter().cloned().map(Some));
    let ranges = starts.zip(ends);
    let ranges = ranges.map(|(start, end)| KeyRange { start, end });
    Ok(Some(Parts {
        ranges: ranges.collect(),
        starts: Some(values),
    }))
}

/// The first column of a key.
struct FirstColumn {
    types: Vec<ColumnType>,
    /// Its place, behind the mark of NULLs if there is one.
    place: usize,
    /// Cells in front of it in a row that has a value there.
    marks: Vec<ArrayRef>,
    /// Where rows without a value start: all of them have one value.
    end: Option<SortKey>,
}

impl FirstColumn {
    fn of(key: &TreeKey) -> Option<Self> {
        let types = key.types();
        let is_mark = |column: &KeyColumn| matches!(column, KeyColumn::NullMark(_));
        let place = key.columns.iter().position(|column| !is_mark(column))?;
        let not_null: ArrayRef = Arc::new(BooleanArray::from(vec![false]));
        let marks = vec![not_null; place];
        let end = match place {
            0 => None,
            _ => SortKey::prefix_range(&marks, &types).1,
        };
        Some(Self {
            types,
            place,
            marks,
            end,
        })
    }

    /// The value that starts nearest to a key, and where.
    fn nearest_start(
        &self,
        key: &SortKey,
        pages: impl Fn(&SortKey, &SortKey) -> Result<u64, StoreError>,
    ) -> Result<Option<(ScalarValue, SortKey)>, StoreError> {
        if self.end.as_ref().is_some_and(|end| key >= end) {
            return Ok(None);
        }
        let Some(value) = key.integer_at(self.place, &self.types) else {
            return Ok(None);
        };
        let here = self.start_of(value);
        let next = value.checked_add(1).and_then(|next| self.start_of(next));
        let is_next_nearer = match (&here, &next) {
            (Some((_, here)), Some((_, next))) => pages(key, next)? < pages(here, key)?,
            _ => false,
        };
        Ok(if is_next_nearer { next } else { here })
    }

    fn start_of(&self, value: i64) -> Option<(ScalarValue, SortKey)> {
        let value = scalar(value, self.types[self.place])?;
        let mut cells = self.marks.clone();
        cells.push(value.to_array().ok()?);
        let (start, _) = SortKey::prefix_range(&cells, &self.types);
        Some((value, start))
    }
}

/// A cell of the column type with this integer.
fn scalar(value: i64, column_type: ColumnType) -> Option<ScalarValue> {
    Some(match column_type {
        ColumnType::Int16 => ScalarValue::Int16(Some(value.try_into().ok()?)),
        ColumnType::Int32 => ScalarValue::Int32(Some(value.try_into().ok()?)),
        ColumnType::Date => ScalarValue::Date32(Some(value.try_into().ok()?)),
        ColumnType::Int64 => ScalarValue::Int64(Some(value)),
        ColumnType::Time => ScalarValue::Time64Microsecond(Some(value)),
        ColumnType::Timestamp => ScalarValue::TimestampMicrosecond(Some(value), None),
        ColumnType::TimestampTz => {
            ScalarValue::TimestampMicrosecond(Some(value), Some(Arc::from("+00:00")))
        }
        _ => return None,
    })
}

fn are_even(snapshot: &Snapshot, table: TableId, ranges: &[KeyRange]) -> Result<bool, StoreError> {
    let pages = ranges.iter().map(|range| pages_in(snapshot, table, range));
    let pages: Vec<u64> = pages.collect::<Result<_, StoreError>>()?;
    let (most, all) = (pages.iter().max(), pages.iter().sum::<u64>());
    #[expect(
        clippy::cast_precision_loss,
        reason = "pages of a table are far below 2^52"
    )]
    let even = all as f64 / pages.len().max(1) as f64;
    #[expect(
        clippy::cast_precision_loss,
        reason = "pages of a table are far below 2^52"
    )]
    Ok(most.is_none_or(|&most| most as f64 <= UNEVEN_MAX * even + 1.0))
}

#[cfg(test)]
mod tests {
    use types::{Column, TableName, TableSchema};

    use super::*;

    fn tree_key(key: &[ColumnType]) -> TreeKey {
        let schema = TableSchema {
            name: TableName {
                schema: "public".to_owned(),
                name: "t".to_owned(),
            },
            columns: key.iter().map(|&each| Column::new("k", each)).collect(),
            key: (0..key.len()).collect(),
        };
        TreeKey::of_table(&Arc::new(schema))
    }

    fn key(first: i32, second: i32) -> SortKey {
        let part = |value: i32| u64::from(value as u32 ^ (1 << 31));
        SortKey::U64(part(first) << 32 | part(second))
    }

    fn cuts(keys: &[SortKey]) -> Vec<KeyRange> {
        let bounds: Vec<_> = [None]
            .into_iter()
            .chain(keys.iter().cloned().map(Some))
            .collect();
        let ends = bounds[1..].iter().cloned().chain([None]);
        let cut = |(start, end): (&Option<SortKey>, Option<SortKey>)| KeyRange {
            start: start.clone(),
            end,
        };
        bounds.iter().zip(ends).map(cut).collect()
    }

    /// Cuts at these keys, moved; there are as many pages between two keys as there are keys.
    fn moved(keys: &[SortKey], tree_key: &TreeKey) -> Option<Parts> {
        let pages = |start: &SortKey, end: &SortKey| match (start, end) {
            (SortKey::U64(start), SortKey::U64(end)) => Ok(end - start),
            _ => Ok(1),
        };
        aligned(&cuts(keys), tree_key, pages).expect("pages are known")
    }

    #[test]
    fn cuts_move_to_where_their_value_starts() {
        let tree_key = tree_key(&[ColumnType::Int32; 2]);
        let moved = moved(&[key(-3, i32::MIN + 9), key(7, i32::MIN)], &tree_key);
        let moved = moved.expect("two values");
        assert_eq!(moved.ranges, cuts(&[key(-3, i32::MIN), key(7, i32::MIN)]));
        let starts = [-3, 7].map(|value| ScalarValue::Int32(Some(value)));
        assert_eq!(moved.starts, Some(starts.to_vec()));
    }

    #[test]
    fn cuts_move_on_to_the_next_value_where_that_is_nearer() {
        let tree_key = tree_key(&[ColumnType::Int32; 2]);
        let moved = moved(&[key(-3, i32::MAX), key(7, 1)], &tree_key);
        let moved = moved.expect("two values");
        assert_eq!(moved.ranges, cuts(&[key(-2, i32::MIN), key(8, i32::MIN)]));
    }

    #[test]
    fn cuts_within_one_value_stay() {
        let tree_key = tree_key(&[ColumnType::Int32; 2]);
        assert!(moved(&[key(5, -9), key(5, -1)], &tree_key).is_none());
        assert!(moved(&[key(5, 1), key(5, -1)], &tree_key).is_none());
    }

    #[test]
    fn texts_have_no_next_value() {
        let tree_key = tree_key(&[ColumnType::Text]);
        let cut = SortKey::Bytes(b"m".to_vec());
        assert!(moved(&[cut], &tree_key).is_none());
    }
}
