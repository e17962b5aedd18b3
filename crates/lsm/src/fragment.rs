//! The wanted rows of one page, or of one run in memory, in the form that costs least to decode.
//!
//! A consumer that does not mind the order of rows (one that adds them up) takes them source by
//! source. Then nothing is copied to lie beside what comes from elsewhere: numbers come as they are
//! unpacked, and text as the codes of a page's dictionary. Of pages with few wanted rows, all of them numbers, several
//! are unpacked into one fragment.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Int16Type, Int32Type, Int64Type,
};
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_schema::DataType;
use arrow_select::take::take;

use crate::batch::{Batch, GatherError, SourceRows};
use crate::block::Block;
use crate::error::StoreError;

/// What a consumer asks for of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An Arrow array.
    Array,
    /// Numbers of 64 bits, where the cells are numbers that fit and none is NULL.
    Integers,
    /// Distinct texts and their codes, where the page has them so.
    Codes,
}

/// The cells of a column, in the form that was asked for or as an array.
#[derive(Clone, Debug)]
pub enum FragmentCells {
    /// A cell a row.
    Array(ArrayRef),
    /// A number a row: decimals without their scale, dates as days.
    Integers(Vec<i64>),
    /// Distinct cells, and for each row which of them it has.
    Codes {
        /// Text, the last perhaps NULL. There may be some that no row has.
        cells: ArrayRef,
        /// Below the number of cells.
        codes: Vec<u16>,
    },
}

impl FragmentCells {
    fn as_integers(&mut self) -> Option<&mut Vec<i64>> {
        match self {
            Self::Integers(numbers) => Some(numbers),
            Self::Array(_) | Self::Codes { .. } => None,
        }
    }
}

/// Some rows of a batch: of one source, or of several whose columns are all numbers.
#[derive(Clone, Debug)]
pub struct Fragment {
    /// How many.
    pub rows: usize,
    /// The projected columns.
    pub columns: Vec<FragmentCells>,
}

/// Numbers of several pages are handed out together up to so many rows. Of more, what a fragment takes besides its
/// rows is no longer felt.
const ROWS_TOGETHER_MAX: usize = 1024;

impl Fragment {
    /// Rows of a batch by their sources, with the first columns in these forms.
    pub(crate) fn of_sources(
        batch: &Batch<'_>,
        sources: &[SourceRows<'_>],
        forms: &[Form],
    ) -> Result<Vec<Self>, GatherError> {
        let mut fragments: Vec<Self> = Vec::new();
        let mut left: usize = sources.iter().map(SourceRows::count).sum();
        for (source, rows) in sources.iter().enumerate() {
            if let Some(next) = sources.get(source + 1) {
                batch.prefetch_rows(next, 0..forms.len());
            }
            let last = fragments.last_mut();
            if !last.map_or(Ok(false), |last| last.append(batch, rows))? {
                let room = left.min(ROWS_TOGETHER_MAX).max(rows.count());
                fragments.push(Self::of(batch, rows, forms, room)?);
            }
            left -= rows.count();
        }
        Ok(fragments)
    }

    /// Rows of one source. There is room for so many numbers, with what may be appended.
    fn of(
        batch: &Batch<'_>,
        rows: &SourceRows<'_>,
        forms: &[Form],
        room: usize,
    ) -> Result<Self, GatherError> {
        let cells = forms.iter().enumerate().map(|(place, form)| match form {
            Form::Array => array(batch, rows, place).map(FragmentCells::Array),
            Form::Integers => integers(batch, rows, place, room),
            Form::Codes => codes(batch, rows, place),
        });
        Ok(Self {
            columns: cells.collect::<Result<_, _>>()?,
            rows: rows.count(),
        })
    }

    /// Takes in the same columns of few rows of another source, if all of both are numbers. Whether it has.
    fn append(&mut self, batch: &Batch<'_>, rows: &SourceRows<'_>) -> Result<bool, GatherError> {
        let columns = self.columns.iter_mut();
        let columns: Option<Vec<&mut Vec<i64>>> = columns.map(FragmentCells::as_integers).collect();
        let Some(mut columns) = columns.filter(|_| self.rows + rows.count() <= ROWS_TOGETHER_MAX)
        else {
            return Ok(false);
        };
        for place in 0..columns.len() {
            if !append_integers(batch, rows, place, columns[place])? {
                for appended in &mut columns[..place] {
                    appended.truncate(self.rows);
                }
                return Ok(false);
            }
        }
        self.rows += rows.count();
        Ok(true)
    }
}

fn array(batch: &Batch<'_>, rows: &SourceRows<'_>, place: usize) -> Result<ArrayRef, GatherError> {
    let column = batch.columns[place];
    let (all, slots) = match rows {
        SourceRows::Block { block, slots: None } => return Ok(block.column(column)?),
        SourceRows::Block {
            block,
            slots: Some(slots),
        } => {
            if block.prefers_slots(slots.len()) {
                return Ok(block.column_slots(column, slots)?);
            }
            (block.column(column)?, slots)
        }
        SourceRows::Folded(places) => {
            let like = batch.folded[0].block.column(column)?;
            (batch.folded_column(place, &like)?, places)
        }
    };
    let (first, last) = (slots[0] as usize, slots[slots.len() - 1] as usize);
    if last - first + 1 == slots.len() {
        return Ok(all.slice(first, slots.len()));
    }
    let slots = UInt32Array::from(slots.clone());
    // Too many bytes is the only way in which rows that are there fail to be taken.
    take(&all, &slots, None).map_err(|_| GatherError::TooManyBytes)
}

/// The page that the rows are in, if it is one, and which they are.
fn page_rows<'a>(rows: &'a SourceRows<'_>) -> Option<(&'a Block, Option<&'a [u32]>)> {
    match rows {
        SourceRows::Block { block, slots } if !block.is_in_memory() => {
            Some((block, slots.as_deref()))
        }
        _ => None,
    }
}

fn integers(
    batch: &Batch<'_>,
    rows: &SourceRows<'_>,
    place: usize,
    room: usize,
) -> Result<FragmentCells, GatherError> {
    let mut numbers = Vec::with_capacity(room);
    if append_integers(batch, rows, place, &mut numbers)? {
        return Ok(FragmentCells::Integers(numbers));
    }
    let array = array(batch, rows, place)?;
    let numbers = of_array(&array);
    Ok(numbers.map_or(FragmentCells::Array(array), FragmentCells::Integers))
}

/// Appends cells of a page that are numbers, if they are.
fn append_integers(
    batch: &Batch<'_>,
    rows: &SourceRows<'_>,
    place: usize,
    numbers: &mut Vec<i64>,
) -> Result<bool, StoreError> {
    match page_rows(rows) {
        Some((page, slots)) => page.append_integers(batch.columns[place], slots, numbers),
        None => Ok(false),
    }
}

fn codes(
    batch: &Batch<'_>,
    rows: &SourceRows<'_>,
    place: usize,
) -> Result<FragmentCells, GatherError> {
    let column = batch.columns[place];
    let text = page_rows(rows).map(|(page, slots)| page.text_codes(column, slots));
    if let Some((cells, codes)) = text.transpose()?.flatten() {
        return Ok(FragmentCells::Codes { cells, codes });
    }
    array(batch, rows, place).map(FragmentCells::Array)
}

/// The numbers of an array without NULLs, if it has numbers that all fit.
fn of_array(array: &ArrayRef) -> Option<Vec<i64>> {
    fn widened<T: ArrowPrimitiveType>(array: &ArrayRef) -> Vec<i64>
    where
        T::Native: Into<i64>,
    {
        let cells = array.as_primitive::<T>().values();
        cells.iter().map(|&cell| cell.into()).collect()
    }
    if array.null_count() > 0 {
        return None;
    }
    match array.data_type() {
        DataType::Int16 => Some(widened::<Int16Type>(array)),
        DataType::Int32 => Some(widened::<Int32Type>(array)),
        DataType::Int64 => Some(widened::<Int64Type>(array)),
        DataType::Date32 => Some(widened::<Date32Type>(array)),
        DataType::Decimal128(..) => {
            let cells = array.as_primitive::<Decimal128Type>().values().iter();
            cells.map(|&cell| i64::try_from(cell).ok()).collect()
        }
        _ => None,
    }
}
