//! The groups of rows, found once for each combination of codes that a page has.

use std::borrow::Cow;
use std::hash::Hash;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, StringArray};
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Int16Type, Int32Type, Int64Type,
};
use datafusion::common::{HashMap, Result, ScalarValue, internal_err};
use lsm::FragmentCells;

/// Groups that are worth to be found by codes.
pub(super) const GROUPS_MAX: usize = 1024;

/// Combinations of codes that a fragment may have.
const COMBINATIONS_MAX: usize = 1 << 16;

/// No group has been looked up yet.
const UNKNOWN: u16 = u16::MAX;

/// The group of each row of a fragment.
#[derive(Debug)]
pub(super) enum GroupIds {
    /// All rows are of this one.
    All(usize),
    /// Below the number of groups.
    Each(Vec<u16>),
}

/// The groups that have been found.
#[derive(Debug)]
pub(super) struct Groups {
    types: Vec<DataType>,
    known: HashMap<Vec<ScalarValue>, u16>,
    keys: Vec<Vec<ScalarValue>>,
}

/// Distinct cells and which of them each row has.
struct Coded<'a> {
    cells: ArrayRef,
    codes: Cow<'a, [u16]>,
}

/// Whether rows can be grouped by a column of this type.
pub(super) fn is_groupable(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8 | DataType::Int16 | DataType::Int32 | DataType::Int64 | DataType::Date32
    )
}

impl Groups {
    /// No groups by columns of these types. By no columns all rows are one group.
    pub(super) fn new(types: Vec<DataType>) -> Self {
        Self {
            types,
            known: HashMap::new(),
            keys: Vec::new(),
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.keys.len()
    }

    /// Takes all groups: for each column its cells.
    pub(super) fn take(&mut self) -> Result<Vec<ArrayRef>> {
        self.known.clear();
        let keys = std::mem::take(&mut self.keys);
        let column = |place: usize| {
            let cells = keys.iter().map(|key| key[place].clone());
            ScalarValue::iter_to_array(cells)
        };
        (0..self.types.len()).map(column).collect()
    }

    /// The groups of a fragment's rows; `None` if there would be too many, and then no new ones.
    pub(super) fn ids(&mut self, columns: &[&FragmentCells]) -> Result<Option<GroupIds>> {
        let before = self.keys.len();
        let ids = self.find_ids(columns)?;
        if ids.is_none() {
            for key in self.keys.drain(before..) {
                self.known.remove(&key);
            }
        }
        Ok(ids)
    }

    fn find_ids(&mut self, columns: &[&FragmentCells]) -> Result<Option<GroupIds>> {
        let mut coded = Vec::with_capacity(columns.len());
        for (cells, data_type) in columns.iter().zip(&self.types) {
            match coded_of(cells, data_type)? {
                Some(column) => coded.push(column),
                None => return Ok(None),
            }
        }
        let combinations = coded.iter().try_fold(1_usize, |combinations, column| {
            combinations
                .checked_mul(column.cells.len())
                .filter(|&combinations| combinations <= COMBINATIONS_MAX)
        });
        let Some(combinations) = combinations else {
            return Ok(None);
        };
        if combinations == 1 {
            let group = self.group_of(&coded, 0)?;
            return Ok(group.map(|group| GroupIds::All(group.into())));
        }
        let mut groups = vec![UNKNOWN; combinations];
        let combined = combined(&coded);
        let mut ids = Vec::with_capacity(combined.len());
        for &combination in &*combined {
            let known = &mut groups[usize::from(combination)];
            if *known == UNKNOWN {
                match self.group_of(&coded, combination.into())? {
                    Some(group) => *known = group,
                    None => return Ok(None),
                }
            }
            ids.push(*known);
        }
        Ok(Some(GroupIds::Each(ids)))
    }

    /// The group of a combination of codes, a new one if need be; `None` if there are too many.
    fn group_of(&mut self, coded: &[Coded<'_>], combination: usize) -> Result<Option<u16>> {
        let mut key = Vec::with_capacity(coded.len());
        let mut rest = combination;
        for column in coded.iter().rev() {
            let code = rest % column.cells.len();
            rest /= column.cells.len();
            key.push(ScalarValue::try_from_array(&column.cells, code)?);
        }
        key.reverse();
        if let Some(&known) = self.known.get(&key) {
            return Ok(Some(known));
        }
        if self.keys.len() == GROUPS_MAX {
            return Ok(None);
        }
        let group = self.keys.len() as u16;
        self.keys.push(key.clone());
        self.known.insert(key, group);
        Ok(Some(group))
    }
}

/// One code for all columns: the last one's counts least.
fn combined<'a>(coded: &'a [Coded<'_>]) -> Cow<'a, [u16]> {
    let Some((first, others)) = coded.split_first() else {
        return Cow::Owned(Vec::new());
    };
    let mut combined = Cow::Borrowed(&*first.codes);
    for column in others {
        // There are at most 2^16 combinations, or nobody asks.
        let count = column.cells.len() as u32;
        let pairs = combined.iter().zip(&*column.codes);
        let pairs = pairs.map(|(&high, &low)| (u32::from(high) * count + u32::from(low)) as u16);
        combined = Cow::Owned(pairs.collect());
    }
    combined
}

/// Distinct cells and codes of a column; `None` if there are too many.
fn coded_of<'a>(cells: &'a FragmentCells, data_type: &DataType) -> Result<Option<Coded<'a>>> {
    let numbered = |array: &ArrayRef| match data_type {
        DataType::Utf8 => Ok(number_texts(array)),
        DataType::Int16 => Ok(number_cells::<Int16Type>(array)),
        DataType::Int32 => Ok(number_cells::<Int32Type>(array)),
        DataType::Int64 => Ok(number_cells::<Int64Type>(array)),
        DataType::Date32 => Ok(number_cells::<Date32Type>(array)),
        other => internal_err!("rows are not grouped by cells of type {other}"),
    };
    match cells {
        FragmentCells::Codes { cells, codes } => Ok(Some(Coded {
            cells: cells.clone(),
            codes: Cow::Borrowed(codes),
        })),
        FragmentCells::Array(array) => numbered(array),
        FragmentCells::Integers(numbers) => Ok(number_integers(numbers, data_type)?),
    }
}

/// Numbers equal values alike, in the order in which they come; `None` if there are too many.
fn number<T: Copy + Eq + Hash>(
    values: impl ExactSizeIterator<Item = T>,
) -> Option<(Vec<T>, Vec<u16>)> {
    let mut codes = Vec::with_capacity(values.len());
    let mut distinct = Vec::new();
    let mut known = HashMap::new();
    let mut last = None;
    for value in values {
        let code = match last {
            Some((before, code)) if before == value => code,
            _ => {
                let next = distinct.len() as u16;
                let code = *known.entry(value).or_insert(next);
                if code == next {
                    if distinct.len() == GROUPS_MAX {
                        return None;
                    }
                    distinct.push(value);
                }
                code
            }
        };
        last = Some((value, code));
        codes.push(code);
    }
    Some((distinct, codes))
}

fn number_texts(array: &ArrayRef) -> Option<Coded<'static>> {
    let (distinct, codes) = number(array.as_string::<i32>().iter())?;
    let cells: StringArray = distinct.into_iter().collect();
    Some(Coded {
        cells: Arc::new(cells),
        codes: Cow::Owned(codes),
    })
}

fn number_cells<T: ArrowPrimitiveType>(array: &ArrayRef) -> Option<Coded<'static>>
where
    T::Native: Eq + Hash,
{
    let (distinct, codes) = number(array.as_primitive::<T>().iter())?;
    let cells: PrimitiveArray<T> = distinct.into_iter().collect();
    Some(Coded {
        cells: Arc::new(cells),
        codes: Cow::Owned(codes),
    })
}

fn number_integers(numbers: &[i64], data_type: &DataType) -> Result<Option<Coded<'static>>> {
    let Some((distinct, codes)) = number(numbers.iter().copied()) else {
        return Ok(None);
    };
    let scalars = distinct.into_iter().map(|number| match data_type {
        DataType::Int16 => ScalarValue::Int16(Some(number as i16)),
        DataType::Int32 => ScalarValue::Int32(Some(number as i32)),
        DataType::Date32 => ScalarValue::Date32(Some(number as i32)),
        _ => ScalarValue::Int64(Some(number)),
    });
    Ok(Some(Coded {
        cells: ScalarValue::iter_to_array(scalars)?,
        codes: Cow::Owned(codes),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(numbers: impl Iterator<Item = i64>) -> FragmentCells {
        FragmentCells::Integers(numbers.collect())
    }

    #[test]
    fn a_fragment_with_too_many_groups_leaves_none_behind() {
        let mut groups = Groups::new(vec![DataType::Int64]);
        let most = GROUPS_MAX as i64 - 10;
        let first = numbers(0..most);
        assert!(groups.ids(&[&first]).expect("numbers").is_some());
        let more = numbers(most - 5..most + 20);
        assert!(groups.ids(&[&more]).expect("numbers").is_none());
        assert_eq!(groups.count(), GROUPS_MAX - 10);
        let few = numbers(most..most + 10);
        let Some(GroupIds::Each(ids)) = groups.ids(&[&few]).expect("numbers") else {
            panic!("there is room for ten")
        };
        assert!(ids.into_iter().map(i64::from).eq(most..most + 10));
        let [cells] = groups
            .take()
            .expect("cells")
            .try_into()
            .expect("one column");
        let cells = cells.as_primitive::<Int64Type>().values();
        assert!(cells.iter().copied().eq(0..most + 10));
    }
}
