//! Zones: the smallest and the largest cell of each column in sixteen neighbouring pages.
//!
//! A scan that looks for one day's rows leaves the zones alone that have none, with the pages and
//! what reading them costs. Columns of fixed width that order like integers have bounds: integers,
//! decimals, dates, times and timestamps. Keys of any type have theirs in the page index.
//!
//! ```text
//! pages a zone (LEB128), then for each zone, for each column with bounds:
//! 0: none │ 1 + zigzag(smallest − smallest of the zone before) · largest − smallest (LEB128)
//! ```
//!
//! NULL has no part in bounds. A zone without bounds of a column may have any cells: all NULL, or
//! decimals beyond 64 bits.
//!
//! Why sixteen pages: bounds stay in memory. Of ten columns they take 240 bytes a zone, 1/2,000 of
//! the pages, and a scan reads about as much with one access.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use types::{ColumnType, ValueRange};

use crate::byte_fields::{FieldReader, Malformed, put_leb};
use crate::cells_in_range::integer_bounds;
use crate::museum::{self, Exhibit};

/// Pages of a zone, as this release writes them.
const PAGES: usize = 16;

/// The smallest and the largest cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    min: i64,
    max: i64,
}

impl Bounds {
    fn of_both(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

/// What is known of the cells of a segment's zones.
#[derive(Debug, PartialEq, Eq)]
pub struct Zones {
    /// Pages of each zone but perhaps the last.
    pages: usize,
    count: usize,
    /// Columns with bounds, ascending, and their types.
    columns: Vec<(usize, ColumnType)>,
    /// Zone by zone, column by column.
    bounds: Vec<Option<Bounds>>,
}

/// The columns with bounds among all columns of a table.
fn bounded(types: &[ColumnType]) -> Vec<(usize, ColumnType)> {
    let is_bounded = |(_, column_type): &(usize, ColumnType)| {
        matches!(
            column_type,
            ColumnType::Int16
                | ColumnType::Int32
                | ColumnType::Int64
                | ColumnType::Decimal { .. }
                | ColumnType::Date
                | ColumnType::Time
                | ColumnType::Timestamp
                | ColumnType::TimestampTz
        )
    };
    types
        .iter()
        .copied()
        .enumerate()
        .filter(is_bounded)
        .collect()
}

impl Zones {
    /// Nothing is known: one zone has all pages.
    pub(super) fn unknown(pages: usize) -> Self {
        Self {
            pages: pages.max(1),
            count: 1,
            columns: Vec::new(),
            bounds: Vec::new(),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The zone that has a page.
    pub fn of_page(&self, page: usize) -> usize {
        page / self.pages
    }

    /// The smallest cell of a column in each zone, NULL where that is not known; `None` where the
    /// column has no bounds.
    pub fn min(&self, column: usize) -> Option<ArrayRef> {
        self.extremes(column, |bounds| bounds.min)
    }

    /// The largest cell, likewise.
    pub fn max(&self, column: usize) -> Option<ArrayRef> {
        self.extremes(column, |bounds| bounds.max)
    }

    /// Clears the bit of each zone that has no cell of a column in a range, as far as bounds tell. `wanted` has a
    /// bit for each zone.
    ///
    /// # Panics
    /// When a bound of the range is not a value of the column's type, and the column has bounds.
    pub fn narrow(&self, column: usize, range: ValueRange<'_>, wanted: &mut [bool]) {
        let Some(place) = self.place(column) else {
            return;
        };
        let (low, high) = integer_bounds(range);
        let zones = self.bounds.chunks(self.columns.len());
        for (wanted, zone) in wanted.iter_mut().zip(zones) {
            if let Some(Bounds { min, max }) = zone[place] {
                *wanted &= low <= i128::from(max) && i128::from(min) <= high;
            }
        }
    }

    /// The column's place among those with bounds.
    fn place(&self, column: usize) -> Option<usize> {
        let mut columns = self.columns.iter();
        columns.position(|&(known, _)| known == column)
    }

    fn extremes(&self, column: usize, extreme: impl Fn(&Bounds) -> i64) -> Option<ArrayRef> {
        let place = self.place(column)?;
        let zones = self.bounds.chunks(self.columns.len());
        let words = zones.map(|zone| zone[place].as_ref().map(&extreme));
        Some(array(self.columns[place].1, words))
    }

    /// Reads the zones of `pages` pages of a table with these columns.
    pub(super) fn decode(
        fields: &mut FieldReader<'_>,
        pages: usize,
        types: &[ColumnType],
    ) -> Result<Self, Malformed> {
        let columns = bounded(types);
        let pages_each = fields.leb_u32()? as usize;
        if pages_each == 0 {
            return Err(Malformed("a zone without a page"));
        }
        let count = pages.div_ceil(pages_each);
        let mut before = vec![0; columns.len()];
        let mut bounds = Vec::new();
        for _ in 0..count {
            for before in &mut before {
                let read = decode_bounds(fields, *before)?;
                *before = read.map_or(*before, |bounds| bounds.min);
                bounds.push(read);
            }
        }
        bounds.shrink_to_fit();
        Ok(Self {
            pages: pages_each,
            count,
            columns,
            bounds,
        })
    }
}

fn decode_bounds(fields: &mut FieldReader<'_>, before: i64) -> Result<Option<Bounds>, Malformed> {
    const OUT_OF_RANGE: Malformed = Malformed("a bound exceeds 64 bits");
    let Some(folded) = fields.leb()?.checked_sub(1) else {
        return Ok(None);
    };
    let step = (folded >> 1) as i128 ^ -((folded & 1) as i128);
    let min = i128::from(before).checked_add(step).ok_or(OUT_OF_RANGE)?;
    let max = min + i128::from(fields.leb_u64()?);
    let word = |word: i128| i64::try_from(word).map_err(|_| OUT_OF_RANGE);
    Ok(Some(Bounds {
        min: word(min)?,
        max: word(max)?,
    }))
}

fn encode_bounds(bounds: Bounds, before: i64, out: &mut Vec<u8>) {
    let step = i128::from(bounds.min) - i128::from(before);
    let folded = ((step << 1) ^ (step >> 127)) as u128;
    put_leb(out, folded + 1);
    put_leb(out, u128::from(bounds.max.abs_diff(bounds.min)));
}

/// Collects the bounds of a segment that is written.
pub(super) struct ZonesBuilder {
    columns: Vec<(usize, ColumnType)>,
    /// Of the zones that are complete, encoded.
    encoded: Vec<u8>,
    before: Vec<i64>,
    /// Of the current zone: as far as cells have been seen, and whether they stand for all.
    current: Vec<Seen>,
    pages: usize,
}

#[derive(Clone, Copy, Debug)]
enum Seen {
    /// No cell but NULL.
    Nothing,
    Cells(Bounds),
    /// A cell that no bound can be told of.
    Unknown,
}

impl ZonesBuilder {
    /// Of a table with these columns.
    pub fn new(types: &[ColumnType]) -> Self {
        let columns = bounded(types);
        let mut encoded = Vec::new();
        put_leb(&mut encoded, PAGES as u128);
        Self {
            before: vec![0; columns.len()],
            current: vec![Seen::Nothing; columns.len()],
            encoded,
            columns,
            pages: 0,
        }
    }

    /// Takes the cells of the next page: rows `start..start + rows` of the table's columns.
    pub fn add_page(&mut self, columns: &[ArrayRef], start: usize, rows: usize) {
        for (&(column, _), seen) in self.columns.iter().zip(&mut self.current) {
            let cells = seen_in(&columns[column].slice(start, rows));
            *seen = match museum::shows(Exhibit::ZoneLacksPages) {
                true => cells,
                false => seen.and(cells),
            };
        }
        self.pages += 1;
        if self.pages == PAGES {
            self.end_zone();
        }
    }

    fn end_zone(&mut self) {
        for (seen, before) in self.current.iter_mut().zip(&mut self.before) {
            match std::mem::replace(seen, Seen::Nothing) {
                Seen::Cells(bounds) => {
                    encode_bounds(bounds, *before, &mut self.encoded);
                    *before = bounds.min;
                }
                Seen::Nothing | Seen::Unknown => put_leb(&mut self.encoded, 0),
            }
        }
        self.pages = 0;
    }

    /// The bytes of all zones.
    pub fn finish(&mut self) -> Vec<u8> {
        if self.pages > 0 {
            self.end_zone();
        }
        std::mem::take(&mut self.encoded)
    }
}

impl Seen {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, seen) | (seen, Self::Nothing) => seen,
            (Self::Cells(bounds), Self::Cells(others)) => Self::Cells(bounds.of_both(others)),
            _ => Self::Unknown,
        }
    }
}

fn seen_in(cells: &ArrayRef) -> Seen {
    use arrow_schema::DataType;
    match cells.data_type() {
        DataType::Int16 => words::<Int16Type>(cells),
        DataType::Int32 => words::<Int32Type>(cells),
        DataType::Int64 => words::<Int64Type>(cells),
        DataType::Date32 => words::<Date32Type>(cells),
        DataType::Time64(_) => words::<Time64MicrosecondType>(cells),
        DataType::Timestamp(..) => words::<TimestampMicrosecondType>(cells),
        DataType::Decimal128(..) => decimals(cells),
        other => panic!("no column with bounds travels as {other}"),
    }
}

fn words<T: ArrowPrimitiveType<Native: Ord + Into<i64>>>(cells: &ArrayRef) -> Seen {
    extremes(cells.as_primitive::<T>()).map_or(Seen::Nothing, |(min, max)| {
        Seen::Cells(Bounds {
            min: min.into(),
            max: max.into(),
        })
    })
}

fn decimals(cells: &ArrayRef) -> Seen {
    let Some((min, max)) = extremes(cells.as_primitive::<Decimal128Type>()) else {
        return Seen::Nothing;
    };
    match (i64::try_from(min), i64::try_from(max)) {
        (Ok(min), Ok(max)) => Seen::Cells(Bounds { min, max }),
        _ => Seen::Unknown,
    }
}

/// The smallest and the largest cell that is not NULL.
fn extremes<T: ArrowPrimitiveType<Native: Ord>>(
    cells: &PrimitiveArray<T>,
) -> Option<(T::Native, T::Native)> {
    let Some(nulls) = cells.nulls().filter(|nulls| nulls.null_count() > 0) else {
        return extremes_of(cells.values());
    };
    let runs = nulls.inner().set_slices();
    let of_run = |(start, end): (usize, usize)| extremes_of(&cells.values()[start..end]);
    let both = |a: (T::Native, T::Native), b: (T::Native, T::Native)| (a.0.min(b.0), a.1.max(b.1));
    runs.filter_map(of_run).reduce(both)
}

/// Without a branch a value, so that the compiler takes several at a time.
fn extremes_of<N: Copy + Ord>(values: &[N]) -> Option<(N, N)> {
    let first = *values.first()?;
    Some(values.iter().fold((first, first), |(min, max), &value| {
        (min.min(value), max.max(value))
    }))
}

/// Words as cells of a column.
fn array(column_type: ColumnType, words: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    macro_rules! narrow {
        ($type:ty) => {
            // What was written fits; what damage wrote is of no column's type, so nothing is known.
            Arc::new(PrimitiveArray::<$type>::from_iter(
                words.map(|word| word?.try_into().ok()),
            ))
        };
    }
    match column_type {
        ColumnType::Int16 => narrow!(Int16Type),
        ColumnType::Int32 => narrow!(Int32Type),
        ColumnType::Date => narrow!(Date32Type),
        ColumnType::Int64 => Arc::new(PrimitiveArray::<Int64Type>::from_iter(words)),
        ColumnType::Time => Arc::new(PrimitiveArray::<Time64MicrosecondType>::from_iter(words)),
        ColumnType::Timestamp | ColumnType::TimestampTz => {
            let array = PrimitiveArray::<TimestampMicrosecondType>::from_iter(words);
            Arc::new(array.with_data_type(column_type.arrow_type()))
        }
        ColumnType::Decimal { .. } => {
            let words = words.map(|word| word.map(i128::from));
            let array = PrimitiveArray::<Decimal128Type>::from_iter(words);
            Arc::new(array.with_data_type(column_type.arrow_type()))
        }
        other => panic!("{other:?} has no bounds"),
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use arrow_array::{Decimal128Array, Int16Array, StringArray, TimestampMicrosecondArray};
    use types::Value;

    use super::*;

    const TYPES: [ColumnType; 4] = [
        ColumnType::Int16,
        ColumnType::Text,
        ColumnType::Timestamp,
        ColumnType::Decimal {
            precision: 38,
            scale: 2,
        },
    ];

    fn page(
        numbers: &[Option<i16>],
        times: &[Option<i64>],
        decimals: &[Option<i128>],
    ) -> Vec<ArrayRef> {
        let texts = StringArray::new_null(numbers.len());
        let decimals = Decimal128Array::from_iter(decimals.iter().copied());
        vec![
            Arc::new(Int16Array::from_iter(numbers.iter().copied())),
            Arc::new(texts),
            Arc::new(TimestampMicrosecondArray::from_iter(times.iter().copied())),
            Arc::new(decimals.with_data_type(TYPES[3].arrow_type())),
        ]
    }

    fn decoded(mut builder: ZonesBuilder, pages: usize) -> Zones {
        let bytes = builder.finish();
        let mut fields = FieldReader::new(&bytes);
        let zones = Zones::decode(&mut fields, pages, &TYPES).expect("sound");
        fields.finish().expect("nothing is left");
        zones
    }

    fn numbers(array: &ArrayRef) -> Vec<Option<i16>> {
        array.as_primitive::<Int16Type>().iter().collect()
    }

    #[test]
    fn bounds_are_those_of_sixteen_pages() {
        let mut builder = ZonesBuilder::new(&TYPES);
        for number in 0..40 {
            let cells = [Some(number), None, Some(-number)];
            let times = [None, Some(i64::MAX), Some(i64::MIN)];
            let large = if number < 16 { 5 } else { i128::MAX };
            builder.add_page(&page(&cells, &times, &[Some(large), None, Some(-7)]), 0, 3);
        }
        let zones = decoded(builder, 40);
        assert_eq!(zones.count(), 3);
        assert_eq!(
            [0, 15, 16, 39].map(|page| zones.of_page(page)),
            [0, 0, 1, 2]
        );
        assert_eq!(
            numbers(&zones.max(0).expect("bounds")),
            [Some(15), Some(31), Some(39)]
        );
        assert_eq!(
            numbers(&zones.min(0).expect("bounds")),
            [Some(-15), Some(-31), Some(-39)]
        );
        assert!(zones.min(1).is_none() && zones.max(1).is_none(), "text");
        let times = zones.min(2).expect("bounds");
        assert_eq!(
            times.as_primitive::<TimestampMicrosecondType>().value(2),
            i64::MIN
        );
        let decimals = zones.max(3).expect("bounds");
        let decimals = decimals.as_primitive::<Decimal128Type>();
        assert_eq!((decimals.value(0), decimals.is_null(1)), (5, true));
    }

    /// Of 40 pages zone 0 has the numbers from -15 to 15, zone 1 those from 16 to 31 and their opposites, zone 2
    /// the others; a decimal that is too large leaves zone 1 and 2 without bounds of decimals.
    #[test]
    fn zones_whose_bounds_lie_outside_of_a_range_are_not_wanted() {
        let mut builder = ZonesBuilder::new(&TYPES);
        for number in 0..40 {
            let large = if number < 16 { 5 } else { i128::MAX };
            let cells = page(
                &[Some(number), Some(-number)],
                &[None; 2],
                &[Some(large); 2],
            );
            builder.add_page(&cells, 0, 2);
        }
        let zones = decoded(builder, 40);
        let narrowed = |column, low, high| {
            let mut wanted = vec![true, true, false];
            zones.narrow(column, ValueRange { low, high }, &mut wanted);
            [wanted[0], wanted[1], wanted[2]]
        };
        let (number, decimal) = (Value::Int, Value::Decimal);
        let (from, above) = (Bound::Included(number(15)), Bound::Excluded(number(15)));
        assert_eq!(narrowed(0, from, Bound::Unbounded), [true, true, false]);
        assert_eq!(narrowed(0, above, Bound::Unbounded), [false, true, false]);
        assert_eq!(narrowed(0, Bound::Unbounded, above), [true, true, false]);
        let beyond = Bound::Excluded(number(-31));
        assert_eq!(narrowed(0, Bound::Unbounded, beyond), [false; 3]);
        assert_eq!(narrowed(0, above, beyond), [false; 3], "no number is there");
        assert_eq!(narrowed(1, from, from), [true, true, false], "no bounds");
        let six = Bound::Included(decimal(6));
        assert_eq!(narrowed(3, six, Bound::Unbounded), [false, true, false]);
    }

    #[test]
    fn only_the_rows_of_a_page_count() {
        let mut builder = ZonesBuilder::new(&TYPES);
        let cells = page(&[Some(1), Some(2), Some(3), None], &[None; 4], &[None; 4]);
        builder.add_page(&cells, 1, 1);
        builder.add_page(&cells, 3, 1);
        let zones = decoded(builder, 2);
        assert_eq!(numbers(&zones.min(0).expect("bounds")), [Some(2)]);
        assert!(
            zones.min(2).expect("bounds").is_null(0),
            "all cells are NULL"
        );
    }

    #[test]
    fn zones_that_cannot_be_are_refused() {
        let decode = |bytes: &[u8]| Zones::decode(&mut FieldReader::new(bytes), 1, &TYPES);
        assert_eq!(decode(&[0]), Err(Malformed("a zone without a page")));
        assert!(decode(&[16, 3]).is_err(), "the block ends inside a field");
        let beyond = [&[16][..], &[0xFF; 17][..], &[3]].concat();
        assert!(decode(&beyond).is_err());
        let mut out = vec![16];
        put_leb(&mut out, 1);
        put_leb(&mut out, u128::from(u64::MAX));
        assert_eq!(decode(&out), Err(Malformed("a bound exceeds 64 bits")));
    }
}
