//! The value of a subquery whose rows have been collected in a list.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, UInt64Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::constant_call::computed;
use crate::error::{SqlError, code};

/// The only element of a list, NULL of none; more are an error.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct OnlyElement {
    signature: Signature,
}

impl OnlyElement {
    pub(crate) fn new() -> Self {
        Self {
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for OnlyElement {
    fn name(&self) -> &str {
        "only_element"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match &arguments[0] {
            DataType::List(item) => Ok(item.data_type().clone()),
            _ => Err(SqlError::undefined_function(self.name(), arguments).into()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        computed(&args, |rows| only_elements(&args.args[0].to_array(rows)?))
    }
}

fn only_elements(lists: &ArrayRef) -> Result<ArrayRef> {
    let lists = lists.as_list::<i32>();
    let places = (0..lists.len()).map(|row| {
        let length = lists.value_length(row);
        if lists.is_null(row) || length == 0 {
            Ok(None)
        } else if length == 1 {
            Ok(u64::try_from(lists.value_offsets()[row]).ok())
        } else {
            Err(SqlError::new(
                code::CARDINALITY_VIOLATION,
                "more than one row returned by a subquery used as an expression",
            ))
        }
    });
    let places = places.collect::<Result<UInt64Array, SqlError>>()?;
    Ok(take(Arc::clone(lists.values()).as_ref(), &places, None)?)
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::ListArray;
    use datafusion::arrow::datatypes::Int32Type;

    use super::*;

    #[test]
    fn one_element_is_the_value_and_two_are_an_error() {
        let lists = |rows: Vec<Option<Vec<Option<i32>>>>| {
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(rows)) as ArrayRef
        };
        let values = only_elements(&lists(vec![
            Some(vec![Some(7)]),
            None,
            Some(vec![]),
            Some(vec![None]),
            Some(vec![Some(8)]),
        ]));
        let values = values.expect("no list has two");
        let values: Vec<Option<i32>> = values.as_primitive::<Int32Type>().iter().collect();
        assert_eq!(values, [Some(7), None, None, None, Some(8)]);
        let error = only_elements(&lists(vec![Some(vec![Some(1), Some(2)])])).expect_err("two");
        assert_eq!(SqlError::from(error).code, "21000");
    }
}
