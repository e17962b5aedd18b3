//! The wanted rows of one page, or of one run in memory, in the form that costs least to decode.
//!
//! A consumer that does not mind the order of rows (one that adds them up) takes them source by
//! source. Then nothing is copied to lie beside what comes from elsewhere: numbers come as they are
//! unpacked, and text as the codes of a page's dictionary.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Int16Type, Int32Type, Int64Type,
};
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_schema::DataType;
use arrow_select::take::take;

use crate::batch::{Batch, GatherError, SourceRows};
use crate::block::Block;

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

/// Some rows of a batch.
#[derive(Clone, Debug)]
pub struct Fragment {
    /// How many.
    pub rows: usize,
    /// The projected columns.
    pub columns: Vec<FragmentCells>,
}

impl Fragment {
    /// Some rows of a batch that have one source, with the first columns in these forms.
    pub(crate) fn of(
        batch: &Batch<'_>,
        rows: &SourceRows<'_>,
        forms: &[Form],
    ) -> Result<Self, GatherError> {
        let cells = forms.iter().enumerate().map(|(place, form)| match form {
            Form::Array => array(batch, rows, place).map(FragmentCells::Array),
            Form::Integers => integers(batch, rows, place),
            Form::Codes => codes(batch, rows, place),
        });
        Ok(Self {
            columns: cells.collect::<Result<_, _>>()?,
            rows: match rows {
                SourceRows::Block { block, slots } => slots.as_ref().map_or(block.rows(), Vec::len),
                SourceRows::Folded(places) => places.len(),
            },
        })
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
) -> Result<FragmentCells, GatherError> {
    let column = batch.columns[place];
    let numbers = page_rows(rows).map(|(page, slots)| page.integers(column, slots));
    if let Some(numbers) = numbers.transpose()?.flatten() {
        return Ok(FragmentCells::Integers(numbers));
    }
    let array = array(batch, rows, place)?;
    let numbers = of_array(&array);
    Ok(numbers.map_or(FragmentCells::Array(array), FragmentCells::Integers))
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
