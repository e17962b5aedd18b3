//! Finds equal subplans.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use datafusion::catalog::default_table_source::source_as_provider;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, Result};
use datafusion::logical_expr::{
    Expr, Extension, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore,
};

use crate::table::provider::Table;
use crate::unnested_rows::UnnestedRows;

/// A subplan with equal ones elsewhere in the statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd)]
pub(super) struct SharedSubplan {
    /// That of all equal ones, and of no others.
    pub(super) number: usize,
    input: LogicalPlan,
}

/// `plan`, which is optimized, with its equal subplans marked.
pub(super) fn marked(plan: &LogicalPlan) -> Result<LogicalPlan> {
    let mut uses = HashMap::<LogicalPlan, usize>::new();
    plan.apply_with_subqueries(|node| {
        if is_result(node) {
            *uses.entry(node.clone()).or_default() += 1;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    uses.retain(|subplan, uses| *uses > 1 && can_be_shared(subplan));
    if uses.is_empty() {
        return Ok(plan.clone());
    }
    let numbers = uses.into_keys().zip(1..).collect();
    Ok(marked_in(plan.clone(), &numbers)?.data)
}

/// Marks the subplans that have a number.
fn marked_in(
    plan: LogicalPlan,
    numbers: &HashMap<LogicalPlan, usize>,
) -> Result<Transformed<LogicalPlan>> {
    let number = numbers.get(&plan).copied();
    let inner = |inner| marked_in(inner, numbers);
    let plan = plan.map_subqueries(inner)?.data.map_children(inner)?.data;
    Ok(Transformed::yes(match number {
        Some(number) => {
            let node = SharedSubplan {
                number,
                input: plan,
            };
            LogicalPlan::Extension(Extension {
                node: Arc::new(node),
            })
        }
        None => plan,
    }))
}

/// Whether it is the kind of subplan whose result is short more often than not.
fn is_result(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Aggregate(_) | LogicalPlan::Limit(_))
}

/// Whether equal plans have equal rows: plans that read nothing but tables, and say everything about them.
fn can_be_shared(plan: &LogicalPlan) -> bool {
    let differs = plan.exists(|node| {
        Ok(match node {
            LogicalPlan::TableScan(scan) => !source_as_provider(&scan.source)?.is::<Table>(),
            LogicalPlan::Extension(extension) => !UnnestedRows::is(extension.node.as_ref()),
            LogicalPlan::RecursiveQuery(_) => true,
            _ => false,
        } || node.expressions().iter().any(varies))
    });
    differs.is_ok_and(|differs| !differs)
}

/// Whether an expression may have another value elsewhere.
fn varies(expression: &Expr) -> bool {
    let varies = expression.exists(|expression| {
        Ok(expression.is_volatile_node()
            || matches!(
                expression,
                Expr::ScalarSubquery(_)
                    | Expr::InSubquery(_)
                    | Expr::Exists(_)
                    | Expr::SetComparison(_)
                    | Expr::OuterReferenceColumn(..)
            ))
    });
    varies.unwrap_or(true)
}

impl SharedSubplan {
    /// The node, if it is one.
    pub(super) fn of(node: &dyn UserDefinedLogicalNode) -> Option<&Self> {
        node.as_any().downcast_ref()
    }
}

impl UserDefinedLogicalNodeCore for SharedSubplan {
    fn name(&self) -> &str {
        "SharedSubplan"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedSubplan: {}", self.number)
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        Ok(Self {
            number: self.number,
            input: inputs.swap_remove(0),
        })
    }
}
