//! Which rows have other cells than the row before.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanBufferBuilder, Float32Array, Float64Array,
};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::arrow::compute::kernels::cmp::distinct;
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::Result;

/// Compares rows with those before them, across batches.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// The cells of the last row, an array of one each.
    last: Vec<ArrayRef>,
}

impl Changes {
    /// Whether cells of a type can be compared.
    pub(super) fn are_known_of(data_type: &DataType) -> bool {
        !data_type.is_nested() && !matches!(data_type, DataType::Dictionary(..))
    }

    /// A bit for each of the next rows: set if it has other cells in `columns` than the row before. Not set
    /// for the first row of all.
    pub(super) fn of(&mut self, columns: &[ArrayRef], rows: usize) -> Result<BooleanBuffer> {
        if rows == 0 {
            return Ok(BooleanBuffer::new_unset(0));
        }
        let columns: Vec<ArrayRef> = columns.iter().map(comparable).collect();
        let mut changes = BooleanBuffer::new_unset(rows);
        for (place, column) in columns.iter().enumerate() {
            changes = &changes | &differences(self.last.get(place), column)?;
        }
        self.last = columns
            .iter()
            .map(|column| column.slice(rows - 1, 1))
            .collect();
        Ok(changes)
    }
}

fn differences(last: Option<&ArrayRef>, column: &ArrayRef) -> Result<BooleanBuffer> {
    let rows = column.len();
    let mut differences = BooleanBufferBuilder::new(rows);
    differences.append(match last {
        Some(last) => distinct(last, &column.slice(0, 1))?.value(0),
        None => false,
    });
    let others = distinct(&column.slice(0, rows - 1), &column.slice(1, rows - 1))?;
    differences.append_buffer(others.values());
    Ok(differences.finish())
}

/// The same cells, of which equal ones have equal bits.
fn comparable(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Float32 => {
            let cells = column.as_primitive::<Float32Type>();
            let one_zero = |cell: f32| if cell.is_nan() { f32::NAN } else { cell + 0.0 };
            Arc::new(cells.unary::<_, Float32Type>(one_zero)) as Arc<Float32Array>
        }
        DataType::Float64 => {
            let cells = column.as_primitive::<Float64Type>();
            let one_zero = |cell: f64| if cell.is_nan() { f64::NAN } else { cell + 0.0 };
            Arc::new(cells.unary::<_, Float64Type>(one_zero)) as Arc<Float64Array>
        }
        _ => Arc::clone(column),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Int32Array, StringArray};

    use super::*;

    fn changes(batches: &[Vec<ArrayRef>]) -> Vec<bool> {
        let mut changes = Changes::default();
        let of_batch = |columns: &Vec<ArrayRef>| changes.of(columns, columns[0].len());
        let bits = batches.iter().map(of_batch);
        let bits: Vec<BooleanBuffer> = bits.collect::<Result<_>>().expect("comparable");
        bits.iter().flat_map(|bits| bits.iter()).collect()
    }

    #[test]
    fn rows_are_compared_across_batches_and_nulls_are_equal() {
        let batch = |numbers: &[Option<i32>], texts: &[&str]| -> Vec<ArrayRef> {
            let numbers = Int32Array::from(numbers.to_vec());
            vec![
                Arc::new(numbers),
                Arc::new(StringArray::from(texts.to_vec())),
            ]
        };
        let batches = [
            batch(&[Some(1), Some(1), Some(1)], &["a", "a", "b"]),
            batch(&[Some(1)], &["b"]),
            batch(&[Some(2), None, None], &["b", "b", "b"]),
        ];
        let expected = [false, false, true, false, true, true, false];
        assert_eq!(changes(&batches), expected);
    }

    #[test]
    fn zeros_are_equal_and_so_is_what_is_not_a_number() {
        let cells = [-0.0, 0.0, f64::NAN, -f64::NAN, 1.0];
        let column: ArrayRef = Arc::new(Float64Array::from(cells.to_vec()));
        assert_eq!(changes(&[vec![column]]), [false, false, true, false, true]);
    }
}
