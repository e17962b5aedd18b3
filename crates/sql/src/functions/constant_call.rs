//! Calls of which all arguments are constant: computed once, not for each row of a batch.

use datafusion::arrow::array::ArrayRef;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs};

/// What a function gives for a batch. `compute` is told how many rows are wanted: one, which stands for all, of a constant call.
pub(super) fn computed(
    args: &ScalarFunctionArgs,
    compute: impl FnOnce(usize) -> Result<ArrayRef>,
) -> Result<ColumnarValue> {
    let is_constant = |argument: &ColumnarValue| matches!(argument, ColumnarValue::Scalar(_));
    if args.args.iter().all(is_constant) {
        let value = ScalarValue::try_from_array(&compute(1)?, 0)?;
        return Ok(ColumnarValue::Scalar(value));
    }
    compute(args.number_rows).map(ColumnarValue::Array)
}
