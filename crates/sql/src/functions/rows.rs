//! Rows as values: `row(a, b)`, and the rows of tables.
//!
//! A row is a structure whose fields keep the types of their values. Those of `row` are called `f1`, `f2` …, as in PostgreSQL; a row
//! of a table has the names of its columns, which [`whole_rows`](crate::rewrite::whole_rows) tells. Where an outer join has no row of
//! the table all of its columns are NULL, and so is the row.
//!
//! Does not: tell such a row from one of a table without a key whose columns all are NULL.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, StructArray};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

/// The name of the function that makes a row out of values.
const ROW: &str = "row";

/// The name of the function that stands for the row of a table.
pub(crate) const WHOLE_ROW: &str = "whole_row";

/// Makes a row out of its arguments.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Row {
    name: &'static str,
    /// What the fields are called, if not by their numbers.
    names: Option<Vec<String>>,
    signature: Signature,
}

impl Row {
    /// `row(a, …)`
    pub(crate) fn of_values() -> Self {
        Self::new(ROW, None)
    }

    /// Stands for the row of a table until its columns are known.
    pub(crate) fn of_some_table() -> Self {
        Self::new(WHOLE_ROW, None)
    }

    /// The row of a table with these columns.
    pub(crate) fn of_table(columns: Vec<String>) -> Self {
        Self::new(WHOLE_ROW, Some(columns))
    }

    fn new(name: &'static str, names: Option<Vec<String>>) -> Self {
        Self {
            name,
            names,
            signature: Signature::variadic_any(Volatility::Immutable),
        }
    }

    fn name_at(&self, place: usize) -> String {
        let names = self.names.as_ref();
        let name = names.and_then(|names| names.get(place));
        name.map_or_else(|| format!("f{}", place + 1), String::clone)
    }
}

impl ScalarUDFImpl for Row {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of a row is known by its fields")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let fields = args.arg_fields.iter().enumerate().map(|(place, value)| {
            let field = Field::new(self.name_at(place), value.data_type().clone(), true);
            field.with_metadata(value.metadata().clone())
        });
        let fields = fields.collect::<Fields>();
        Ok(Arc::new(Field::new(
            self.name,
            DataType::Struct(fields),
            true,
        )))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let DataType::Struct(fields) = args.return_field.data_type() else {
            return internal_err!("a row is a structure");
        };
        let values = args.args.iter();
        let values = values.map(|value| value.to_array(args.number_rows));
        let values = values.collect::<Result<Vec<_>>>()?;
        let may_be_missing =
            self.names.is_some() && args.arg_fields.iter().all(|field| field.is_nullable());
        let there = may_be_missing.then(|| there(&values)).flatten();
        let rows =
            StructArray::try_new_with_length(fields.clone(), values, there, args.number_rows)?;
        Ok(ColumnarValue::Array(Arc::new(rows)))
    }
}

/// Which rows have a value that is not NULL; `None` if all have.
fn there(columns: &[ArrayRef]) -> Option<NullBuffer> {
    let mut there: Option<NullBuffer> = None;
    for column in columns {
        let values = column
            .logical_nulls()
            .filter(|nulls| nulls.null_count() > 0)?;
        there = Some(match there {
            Some(there) => NullBuffer::new(there.inner() | values.inner()),
            None => values,
        });
    }
    there
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::Int32Array;

    use super::*;

    #[test]
    fn a_row_is_there_if_one_of_its_columns_is() {
        let columns = |columns: &[&[Option<i32>]]| {
            let columns = columns.iter().map(|column| column.to_vec());
            let columns = columns.map(|column| Arc::new(Int32Array::from(column)) as ArrayRef);
            there(&columns.collect::<Vec<_>>())
        };
        let some = columns(&[&[Some(1), None, None], &[None, None, Some(2)]]);
        let some = some.expect("one row is missing");
        assert_eq!(some.iter().collect::<Vec<_>>(), [true, false, true]);
        let all = columns(&[&[Some(1), Some(2), Some(3)], &[None, None, None]]);
        assert_eq!(all, None);
    }

    #[test]
    fn fields_have_numbers_or_the_names_of_columns() {
        let row = Row::of_values();
        assert_eq!([row.name_at(0), row.name_at(1)], ["f1", "f2"]);
        let row = Row::of_table(vec!["id".to_owned()]);
        assert_eq!(row.name_at(0), "id");
    }
}
