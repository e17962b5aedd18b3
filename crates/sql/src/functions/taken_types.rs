//! The types in which a function of DataFusion's takes its arguments, for those that stand before it.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::ScalarUDF;
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;

/// What arguments of these types become, or why the function does not take them.
pub(super) fn taken_types(function: &ScalarUDF, types: &[DataType]) -> Result<Vec<DataType>> {
    let fields = types
        .iter()
        .map(|of| Arc::new(Field::new("", of.clone(), true)));
    let fields: Vec<FieldRef> = fields.collect();
    let taken = fields_with_udf(&fields, function)?;
    Ok(taken
        .iter()
        .map(|field| field.data_type().clone())
        .collect())
}
