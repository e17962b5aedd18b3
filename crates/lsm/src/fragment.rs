//! The wanted rows of one page, or of one run in memory, in the form that costs least to decode.
//!
//! A consumer that does not mind the order of rows (one that adds them up) takes them source by
//! source. Then nothing is copied to lie beside what comes from elsewhere: numbers come as they are
//! unpacked, and text as the codes of a page's dictionary.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Int16Type, Int32Type, Int64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use crate::batch::{Batch, GatherError, PageRows};

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
    /// The rows of a batch whose sources are all one, with the first columns in these forms.
    pub(crate) fn of(batch: &Batch<'_>, forms: &[Form]) -> Result<Self, GatherError> {
        let page = batch.page_rows();
        let cells = forms.iter().enumerate().map(|(place, form)| match form {
            Form::Array => batch.column(place).map(FragmentCells::Array),
            Form::Integers => integers(batch, page.as_ref(), place),
            Form::Codes => codes(batch, page.as_ref(), place),
        });
        Ok(Self {
            rows: batch.rows(),
            columns: cells.collect::<Result<_, _>>()?,
        })
    }
}

fn integers(
    batch: &Batch<'_>,
    page: Option<&PageRows<'_>>,
    place: usize,
) -> Result<FragmentCells, GatherError> {
    let column = batch.columns[place];
    let numbers = page.map(|rows| rows.page.integers(column, rows.slots.as_deref()));
    if let Some(numbers) = numbers.transpose()?.flatten() {
        return Ok(FragmentCells::Integers(numbers));
    }
    let array = batch.column(place)?;
    let numbers = of_array(&array);
    Ok(numbers.map_or(FragmentCells::Array(array), FragmentCells::Integers))
}

fn codes(
    batch: &Batch<'_>,
    page: Option<&PageRows<'_>>,
    place: usize,
) -> Result<FragmentCells, GatherError> {
    let column = batch.columns[place];
    let text = page.map(|rows| rows.page.text_codes(column, rows.slots.as_deref()));
    if let Some((cells, codes)) = text.transpose()?.flatten() {
        return Ok(FragmentCells::Codes { cells, codes });
    }
    batch.column(place).map(FragmentCells::Array)
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
