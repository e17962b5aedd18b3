//! Cuts a scan into ranges of keys that are read at the same time.
//!
//! Where the key starts with an integer, a date or a time, cuts are moved to where the next value of
//! it starts, so that all rows with one value are in one part: the planner is told, and groups by that
//! column, or by more, without bringing rows of several parts together. They stay where they are if the
//! parts would become uneven: few values have many rows each.

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
        let cuts = snapshot.split(table, parts)?;
        let aligned = match aligned(&cuts, key) {
            Some((cuts, starts)) if are_even(snapshot, table, &cuts)? => Some((cuts, starts)),
            _ => None,
        };
        let (cuts, starts) = match aligned {
            Some((cuts, starts)) => (cuts, Some(starts)),
            None => (cuts, None),
        };
        // What the range leaves is without gaps: the cuts that it leaves out are the first and last.
        let first = cuts.iter().position(|cut| intersect(cut, range).is_some());
        let ranges: Vec<KeyRange> = cuts
            .iter()
            .filter_map(|cut| intersect(cut, range))
            .collect();
        let starts = starts.map(|starts| {
            let between = starts.into_iter().skip(first.unwrap_or(0));
            between.take(ranges.len().saturating_sub(1)).collect()
        });
        Ok(Self { ranges, starts })
    }
}

/// The cuts at the next values of the key's first column, with these values; `None` where some would
/// be the same.
fn aligned(cuts: &[KeyRange], key: &TreeKey) -> Option<(Vec<KeyRange>, Vec<ScalarValue>)> {
    let types = key.types();
    let is_mark = |column: &KeyColumn| matches!(column, KeyColumn::NullMark(_));
    let place = key.columns.iter().position(|column| !is_mark(column))?;
    // All rows with NULL in the first column have one value.
    let not_null: ArrayRef = Arc::new(BooleanArray::from(vec![false]));
    let marks = vec![not_null; place];
    let end = match place {
        0 => None,
        _ => SortKey::prefix_range(&marks, &types).1,
    };
    let mut starts = Vec::new();
    let mut values: Vec<ScalarValue> = Vec::new();
    for cut in cuts.get(1..)? {
        let start = cut.start.as_ref()?;
        if end.as_ref().is_some_and(|end| start >= end) {
            return None;
        }
        let value = scalar(start.integer_at(place, &types)?, types[place])?;
        let mut cells = marks.clone();
        cells.push(value.to_array().ok()?);
        let (start, _) = SortKey::prefix_range(&cells, &types);
        if values.last() == Some(&value) {
            return None;
        }
        starts.push(start);
        values.push(value);
    }
    let ends = starts.iter().cloned().map(Some).chain([None]);
    let starts = [None].into_iter().chain(starts.iter().cloned().map(Some));
    let ranges = starts.zip(ends);
    let ranges = ranges.map(|(start, end)| KeyRange { start, end });
    Some((ranges.collect(), values))
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
    let pages = ranges.iter().map(|range| {
        let extent = snapshot.extent(table, range)?;
        Ok(extent.pages - extent.pages_skipped)
    });
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

    #[test]
    fn cuts_move_to_where_their_value_starts() {
        let tree_key = tree_key(&[ColumnType::Int32; 2]);
        let moved = aligned(&cuts(&[key(-3, 9), key(7, i32::MIN)]), &tree_key);
        let (ranges, starts) = moved.expect("two values");
        assert_eq!(ranges, cuts(&[key(-3, i32::MIN), key(7, i32::MIN)]));
        assert_eq!(starts, [-3, 7].map(|value| ScalarValue::Int32(Some(value))));
    }

    #[test]
    fn cuts_within_one_value_stay() {
        let tree_key = tree_key(&[ColumnType::Int32; 2]);
        assert!(aligned(&cuts(&[key(5, 1), key(5, 9)]), &tree_key).is_none());
    }

    #[test]
    fn texts_have_no_next_value() {
        let tree_key = tree_key(&[ColumnType::Text]);
        let cut = SortKey::Bytes(b"m".to_vec());
        assert!(aligned(&cuts(&[cut]), &tree_key).is_none());
    }
}
