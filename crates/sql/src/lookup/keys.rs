//! Values of a statement as cells of a table's key.
//!
//! A value counts only if its type's equality with the column is that of the stored cells;
//! otherwise the planner has to say what the comparison means.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use types::{Column, ColumnType};

use super::shape::{Operand, Wanted};
use crate::functions::literals::text_as;
use crate::pg_type;

/// The value of an operand; a parameter that is missing has none.
pub(crate) fn value(operand: Operand, parameters: &[ScalarValue]) -> Option<ScalarValue> {
    match operand {
        Operand::Parameter(index) => parameters.get(index).cloned(),
        Operand::Integer(number) => Some(ScalarValue::Int64(Some(number))),
    }
}

/// The cells that a key column may have, each once, without NULLs (which equal nothing); `None`
/// if only the planner can tell.
pub(crate) fn cells(
    wanted: &Wanted,
    parameters: &[ScalarValue],
    column: &Column,
) -> Option<Vec<ScalarValue>> {
    let values: Vec<ScalarValue> = match wanted {
        Wanted::Of(operands) => {
            let values = operands.iter().map(|&operand| value(operand, parameters));
            values.collect::<Option<_>>()?
        }
        Wanted::ElementOf(index) => elements(parameters.get(*index)?)?,
    };
    let known = values.iter().filter(|value| !value.is_null());
    let mut cells = known
        .map(|value| cell(value, column))
        .collect::<Option<Vec<_>>>()?;
    if cells.len() > 1 {
        let mut seen = std::collections::HashSet::with_capacity(cells.len());
        cells.retain(|cell| seen.insert(cell.clone()));
    }
    Some(cells)
}

/// The elements of an array; a NULL array has none.
fn elements(array: &ScalarValue) -> Option<Vec<ScalarValue>> {
    let ScalarValue::List(list) = array else {
        return None;
    };
    if array.is_null() {
        return Some(Vec::new());
    }
    let items = list.value(0);
    (0..items.len())
        .map(|index| ScalarValue::try_from_array(&items, index).ok())
        .collect()
}

/// A value in the column's type.
fn cell(value: &ScalarValue, column: &Column) -> Option<ScalarValue> {
    let (wanted, found) = (column.column_type.arrow_type(), value.data_type());
    match column.column_type {
        // Stored floats are ordered by PostgreSQL's rules, compared by Arrow's.
        ColumnType::Float32 | ColumnType::Float64 => None,
        ColumnType::Text => match (value, column.source_type.oid) {
            (
                ScalarValue::Utf8(Some(text)),
                oid @ (pg_type::TEXT | pg_type::VARCHAR | pg_type::BPCHAR | pg_type::UUID),
            ) => text_as(text, oid)
                .ok()
                .map(|text| ScalarValue::Utf8(Some(text))),
            _ => None,
        },
        _ if found == wanted => Some(value.clone()),
        _ if is_signed(&found) && is_signed(&wanted) => {
            let cast = value.cast_to(&wanted).ok()?;
            (!cast.is_null()).then_some(cast)
        }
        _ => None,
    }
}

fn is_signed(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Int16 | DataType::Int32 | DataType::Int64
    )
}
