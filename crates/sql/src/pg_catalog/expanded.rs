//! `information_schema._pg_expandarray`: the elements of an array with their numbers.
//!
//! PostgreSQL's gives rows of `(x, n)`. This one gives a list of them, which
//! [`from_functions`](crate::rewrite::from_functions) has unnested.

use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{Array, Int32Array, ListArray, StructArray};
use datafusion::arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

/// Its name, without the schema.
pub(crate) const NAME: &str = "_pg_expandarray";

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct ExpandArray {
    signature: Signature,
}

impl ExpandArray {
    pub(crate) fn new() -> Self {
        Self {
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

/// What an element and its number are called.
fn fields(element: &DataType) -> Fields {
    let field = |name, data_type| Field::new(name, data_type, true);
    [field("x", element.clone()), field("n", DataType::Int32)]
        .into_iter()
        .collect()
}

impl ScalarUDFImpl for ExpandArray {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [DataType::List(item)] => Ok(DataType::new_list(
                DataType::Struct(fields(item.data_type())),
                true,
            )),
            _ => exec_err!("_pg_expandarray takes an array"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let lists = args.args[0].to_array(args.number_rows)?;
        let lists = lists.as_list::<i32>();
        // Numbers for all elements, those before the first list's included.
        let mut numbers = vec![0; lists.values().len()];
        for bounds in lists.offsets().windows(2) {
            for (number, place) in (1..).zip(bounds[0]..bounds[1]) {
                numbers[usize::try_from(place).unwrap_or_default()] = number;
            }
        }
        let elements = lists.values().clone();
        let rows = StructArray::try_new(
            fields(elements.data_type()),
            vec![elements, Arc::new(Int32Array::from(numbers))],
            None,
        )?;
        let item = Arc::new(Field::new_list_field(rows.data_type().clone(), true));
        let expanded = ListArray::try_new(
            item,
            lists.offsets().clone(),
            Arc::new(rows),
            lists.nulls().cloned(),
        )?;
        Ok(ColumnarValue::Array(Arc::new(expanded)))
    }
}
