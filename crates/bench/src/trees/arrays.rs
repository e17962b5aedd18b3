//! Adds the cells of Arrow arrays up.

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use contender::Cells;

/// The cells of columns of so many rows, none of them NULL.
pub fn add_up(rows: usize, columns: &[ArrayRef]) -> Cells {
    let mut cells = Cells {
        rows: rows as u64,
        sum: 0,
    };
    for column in columns {
        match column.as_primitive_opt::<Int64Type>() {
            Some(column) => cells.add_cells(column.values()),
            None => cells.add_cells(column.as_primitive::<Int32Type>().values()),
        }
    }
    cells
}
