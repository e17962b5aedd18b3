//! A set of whole numbers, as a bit for each number of their range.

use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::arrow::compute::{max, min};
use datafusion::arrow::datatypes::{DataType, Date32Type, Int16Type, Int32Type, Int64Type};

/// A range of so many numbers is a set for however few keys: 1 MiB.
const SMALL_RANGE: u64 = 1 << 23;
/// Else at most so many numbers for each cell, repeated ones included: 32 bytes each, twice what it has in the
/// join's table.
const RANGE_PER_CELL: u64 = 256;

/// Which numbers of a range are there.
#[derive(Debug)]
pub(crate) struct KeySet {
    extent: Extent,
    /// The bit of a number is its distance from the first one, lowest bits first.
    words: Box<[u64]>,
}

/// A range of numbers that is worth a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    first: i64,
    last: i64,
}

impl Extent {
    /// What the bits take.
    pub(super) fn bytes(self) -> usize {
        self.words() * size_of::<u64>()
    }

    fn words(self) -> usize {
        // It fits: the range is at most a few hundred times as long as arrays that are in memory.
        (self.last.abs_diff(self.first) / u64::from(u64::BITS)) as usize + 1
    }
}

/// Calls `$call::<T>($arguments)` for the type of whole numbers that an array has; `None` for others.
macro_rules! with_number_type {
    ($data_type:expr, $call:ident($($argument:expr),*)) => {
        match $data_type {
            DataType::Int16 => Some($call::<Int16Type>($($argument),*)),
            DataType::Int32 => Some($call::<Int32Type>($($argument),*)),
            DataType::Int64 => Some($call::<Int64Type>($($argument),*)),
            DataType::Date32 => Some($call::<Date32Type>($($argument),*)),
            _ => None,
        }
    };
}

impl KeySet {
    /// Whether cells of a type can be a set.
    pub(super) fn is_of(data_type: &DataType) -> bool {
        const fn known<T: ArrowPrimitiveType>() {}
        with_number_type!(data_type, known()).is_some()
    }

    /// The range of some cells; `None`, if there are no cells but NULLs, or they are too far apart.
    pub(super) fn extent(cells: &[ArrayRef]) -> Option<Extent> {
        let ends = cells
            .iter()
            .filter_map(|cells| with_number_type!(cells.data_type(), ends(cells)).flatten());
        let (first, last) =
            ends.reduce(|(low, high), (first, last)| (low.min(first), high.max(last)))?;
        let count: usize = cells
            .iter()
            .map(|cells| cells.len() - cells.null_count())
            .sum();
        let range_max = SMALL_RANGE.max(RANGE_PER_CELL.saturating_mul(count as u64));
        (last.abs_diff(first) < range_max).then_some(Extent { first, last })
    }

    /// The set of cells that have this extent.
    pub(super) fn of(extent: Extent, cells: &[ArrayRef]) -> Self {
        let mut words = vec![0; extent.words()].into_boxed_slice();
        for cells in cells {
            with_number_type!(cells.data_type(), add(cells, extent.first, &mut words));
        }
        Self { extent, words }
    }

    /// The smallest and the largest key.
    pub(crate) fn ends(&self) -> (i64, i64) {
        (self.extent.first, self.extent.last)
    }

    /// A bit for each cell, set if it is in the set. NULLs are not.
    ///
    /// # Panics
    /// When they are no whole numbers.
    pub(crate) fn contained(&self, cells: &ArrayRef) -> BooleanBuffer {
        let contained = with_number_type!(
            cells.data_type(),
            contained(cells, self.extent.first, &self.words)
        );
        let contained = contained.expect("cells of the column that was told of");
        match cells.nulls() {
            Some(nulls) => &contained & nulls.inner(),
            None => contained,
        }
    }
}

fn ends<T: ArrowPrimitiveType>(cells: &ArrayRef) -> Option<(i64, i64)>
where
    T::Native: Into<i64>,
{
    let cells = cells.as_primitive::<T>();
    Some((min(cells)?.into(), max(cells)?.into()))
}

fn add<T: ArrowPrimitiveType>(cells: &ArrayRef, first: i64, words: &mut [u64])
where
    T::Native: Into<i64>,
{
    let cells = cells.as_primitive::<T>();
    let mut add = |key: T::Native| {
        let (word, bit) = place(key.into(), first);
        words[word] |= 1 << bit;
    };
    match cells.null_count() {
        0 => cells.values().iter().for_each(|&key| add(key)),
        _ => cells.iter().flatten().for_each(add),
    }
}

fn contained<T: ArrowPrimitiveType>(cells: &ArrayRef, first: i64, words: &[u64]) -> BooleanBuffer
where
    T::Native: Into<i64>,
{
    let cells = cells.as_primitive::<T>().values();
    BooleanBuffer::collect_bool(cells.len(), |row| {
        let (word, bit) = place(cells[row].into(), first);
        words.get(word).is_some_and(|word| word >> bit & 1 == 1)
    })
}

/// The word and the bit of a number. No two numbers have the same: distances wrap around just as numbers do.
#[inline]
fn place(key: i64, first: i64) -> (usize, u32) {
    let distance = key.wrapping_sub(first).cast_unsigned();
    (
        (distance / u64::from(u64::BITS)) as usize,
        (distance % u64::from(u64::BITS)) as u32,
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use datafusion::arrow::array::{Int16Array, Int32Array, Int64Array};
    use proptest::prelude::*;

    use super::*;

    fn set(cells: &[ArrayRef]) -> Option<KeySet> {
        KeySet::extent(cells).map(|extent| KeySet::of(extent, cells))
    }

    proptest! {
        #[test]
        fn a_set_has_what_was_added_and_nothing_else(
            base in prop::sample::select(vec![i64::MIN, -70, 0, 1 << 40, i64::MAX - 1000]),
            added in prop::collection::vec(prop::option::of(0..1000_i64), 1..60),
            asked in prop::collection::vec(prop::option::of(-1000..3000_i64), 1..200),
        ) {
            let at = |step: &Option<i64>| step.map(|step| base.wrapping_add(step));
            let keys: BTreeSet<i64> = added.iter().filter_map(at).collect();
            let batches: Vec<ArrayRef> = added
                .chunks(7)
                .map(|cells| Arc::new(Int64Array::from_iter(cells.iter().map(at))) as ArrayRef)
                .collect();
            let Some(set) = set(&batches) else {
                prop_assert!(keys.is_empty());
                return Ok(());
            };
            let ends = keys.first().copied().zip(keys.last().copied());
            prop_assert_eq!(Some(set.ends()), ends);
            let cells: Vec<Option<i64>> = asked.iter().map(at).collect();
            let contained = set.contained(&(Arc::new(Int64Array::from(cells.clone())) as ArrayRef));
            for (row, cell) in cells.iter().enumerate() {
                let expected = cell.is_some_and(|cell| keys.contains(&cell));
                prop_assert_eq!(contained.value(row), expected, "{:?}", cell);
            }
        }
    }

    #[test]
    fn keys_of_all_widths_are_told_apart() {
        let narrow: ArrayRef = Arc::new(Int16Array::from(vec![i16::MIN, 7, i16::MAX]));
        let contained = set(&[Arc::clone(&narrow)])
            .expect("a short range")
            .contained(&narrow);
        assert_eq!(contained.count_set_bits(), 3);
        let ends: ArrayRef = Arc::new(Int32Array::from(vec![i32::MIN, i32::MAX]));
        let few: ArrayRef = Arc::new(Int32Array::from(vec![0, 1, 70]));
        let set = set(&[few]).expect("a short range");
        assert_eq!(set.contained(&ends).count_set_bits(), 0);
    }

    #[test]
    fn keys_that_are_far_apart_are_no_set() {
        let range = i64::try_from(SMALL_RANGE).expect("it is small");
        let within: ArrayRef = Arc::new(Int64Array::from(vec![5, 4 + range]));
        let beyond: ArrayRef = Arc::new(Int64Array::from(vec![5, 5 + range]));
        let all: ArrayRef = Arc::new(Int64Array::from(vec![i64::MIN, i64::MAX]));
        assert!(set(&[within]).is_some());
        assert!(set(&[beyond]).is_none());
        assert!(set(&[all]).is_none());
        let many = (0..40_000).map(|key| key * 250);
        let many: ArrayRef = Arc::new(Int64Array::from_iter_values(many));
        assert!(set(&[many]).is_some());
    }
}
