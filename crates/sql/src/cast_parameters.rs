//! The types of parameters that a statement casts.
//!
//! `$1::int` is a parameter of that type for PostgreSQL, and drivers send values of the types that they are
//! told. DataFusion only finds out the types of parameters that stand beside something.

use std::collections::HashMap;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::{Cast, Placeholder};
use datafusion::logical_expr::{Expr, LogicalPlan};

/// What each parameter of unknown type is cast to first, by its name with the dollar sign. Intervals and lists
/// are left out: their values are read by the cast itself.
pub(crate) fn types(plan: &LogicalPlan) -> Result<HashMap<String, FieldRef>> {
    let mut types = HashMap::new();
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                if let Expr::Cast(Cast { expr, field }) = part
                    && let Expr::Placeholder(Placeholder { id, field: None }) = expr.as_ref()
                    && is_read_alike(field.data_type())
                {
                    types.entry(id.clone()).or_insert_with(|| field.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(types)
}

/// Whether a parameter of this type takes the texts that a cast takes.
fn is_read_alike(data_type: &DataType) -> bool {
    !data_type.is_nested() && !matches!(data_type, DataType::Interval(_) | DataType::Utf8)
}
