//! The type of a CASE is that which all its branches agree on, before other rules look at it.
//!
//! DataFusion makes branches agree after the rules of this crate have run, and until then says that a CASE
//! has the type of its first branch: `ceil(case when b then 3.1::numeric(5,2) else n end)` had `n`
//! rounded to two digits.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNodeRewriter};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::optimizer::analyzer::type_coercion::TypeCoercionRewriter;

/// Gives all branches of a CASE one type. Has to come before rules that ask for types.
#[derive(Debug)]
pub(crate) struct CaseTypes;

impl FunctionRewrite for CaseTypes {
    fn name(&self) -> &str {
        "case_types"
    }

    fn rewrite(
        &self,
        expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        if agrees(&expr, schema) {
            return Ok(Transformed::no(expr));
        }
        TypeCoercionRewriter::new(schema).f_up(expr)
    }
}

/// Whether all branches of a CASE have one type, or it is no CASE.
fn agrees(expr: &Expr, schema: &DFSchema) -> bool {
    let Expr::Case(case) = expr else {
        return true;
    };
    let branches = case.when_then_expr.iter().map(|(_, then)| then);
    let branches = branches.chain(&case.else_expr);
    let mut types = branches.map(|branch| branch.get_type(schema));
    let Some(Ok(first)) = types.next() else {
        return true;
    };
    types.all(|other| other.is_ok_and(|other| other == first))
}
