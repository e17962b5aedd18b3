//! Rows that come out of lists have no key.
//!
//! ```text
//! SELECT k, tag FROM t, unnest(tags) tag ORDER BY k, tag
//! ```
//!
//! `k` is the key of `t`, and tells a row of it. It does not tell a row of the result, where each comes as often as it has tags. DataFusion's
//! [`Unnest`](LogicalPlan::Unnest) has what depends on what from its input, so that its optimizer would leave `tag` out of the order, and
//! DISTINCT out of `SELECT DISTINCT k`. [`without_keys`] puts a node above it whose schema says nothing of the kind.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchema, DFSchemaRef, FunctionalDependencies, Result};
use datafusion::logical_expr::{
    Expr, Extension, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore,
};

/// The rows of its input.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct UnnestedRows {
    input: LogicalPlan,
    schema: DFSchemaRef,
}

impl UnnestedRows {
    fn new(input: LogicalPlan) -> Result<Self> {
        let schema = DFSchema::clone(input.schema());
        let schema = schema.with_functional_dependencies(FunctionalDependencies::empty())?;
        Ok(Self {
            input,
            schema: Arc::new(schema),
        })
    }

    /// Whether a node is one.
    pub(crate) fn is(node: &dyn UserDefinedLogicalNode) -> bool {
        node.as_any().is::<Self>()
    }
}

/// The plan with such a node above every list that becomes rows, in subqueries, too.
pub(crate) fn without_keys(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut has_lists = false;
    plan.apply_with_subqueries(|node| {
        has_lists |= matches!(node, LogicalPlan::Unnest(_));
        Ok(TreeNodeRecursion::Continue)
    })?;
    if !has_lists {
        return Ok(plan);
    }
    let marked = plan.transform_up_with_subqueries(|node| {
        // What is above knows what its input has told it.
        let node = node.recompute_schema()?;
        Ok(Transformed::yes(match node {
            LogicalPlan::Unnest(_) => LogicalPlan::Extension(Extension {
                node: Arc::new(UnnestedRows::new(node)?),
            }),
            node => node,
        }))
    })?;
    Ok(marked.data)
}

impl UserDefinedLogicalNodeCore for UnnestedRows {
    fn name(&self) -> &str {
        "UnnestedRows"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        HashSet::new()
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![output_columns.to_vec()])
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UnnestedRows")
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        Self::new(inputs.swap_remove(0))
    }
}

/// Plans are compared by their inputs: the schemas follow from these.
impl PartialOrd for UnnestedRows {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.input.partial_cmp(&other.input)
    }
}
