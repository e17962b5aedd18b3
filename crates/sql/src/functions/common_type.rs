//! Values of which one is taken (`coalesce`, `greatest`, `least`, the branches of a CASE) have one type, and a text literal
//! among them is read as that type.
//!
//! Values of a type that is stored as text (`uuid`, `json`, `jsonb`) stay of that type.
//!
//! DataFusion makes texts of all (`greatest(9, '10')` was `9`) or refuses them (`coalesce(day, '2024-01-01')`).
//!
//! Most of it has been done where the statement was planned (`rewrite::chosen_values`). What is left is parameters, which are literals
//! by now, and recursive queries; texts beside others are cast.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};

use super::literals::{is_text, typed};
use super::text_in::TextIn;
use crate::pg_type;

/// The functions that take one of their arguments.
pub(crate) const NAMES: [&str; 3] = ["coalesce", "greatest", "least"];

/// A function of DataFusion's that finds the type of its arguments without the texts among them.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct OneOf {
    function: Arc<ScalarUDF>,
    signature: Signature,
}

impl OneOf {
    pub(crate) fn new(function: Arc<ScalarUDF>) -> Self {
        Self {
            function,
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for OneOf {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let others = types.iter().filter(|of| !of.is_string());
        let others: Vec<DataType> = others.cloned().collect();
        if others.len() == types.len() || others.iter().all(DataType::is_null) {
            return self.function.coerce_types(types);
        }
        let common = self.function.coerce_types(&others)?;
        Ok(vec![common[0].clone(); types.len()])
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.function.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.function.return_field_from_args(args)
    }

    fn simplify(&self, args: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.function.simplify(args, context)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.function.invoke_with_args(args)
    }

    fn conditional_arguments<'a>(
        &self,
        args: &'a [Expr],
    ) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        self.function.conditional_arguments(args)
    }

    fn short_circuits(&self) -> bool {
        self.function.short_circuits()
    }
}

/// Reads text literals as the type of what stands beside them.
#[derive(Debug)]
pub(crate) struct CommonType;

impl FunctionRewrite for CommonType {
    fn name(&self) -> &str {
        "common_type"
    }

    fn rewrite(
        &self,
        expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        match expr {
            Expr::Case(mut case) => {
                let branches = case.when_then_expr.iter().map(|(_, then)| then);
                let branches = branches.chain(&case.else_expr);
                let Some(other) = typed_beside_texts(branches.map(|branch| &**branch), schema)
                else {
                    return Ok(Transformed::no(Expr::Case(case)));
                };
                let branches = case.when_then_expr.iter_mut().map(|(_, then)| then);
                for branch in branches.chain(&mut case.else_expr) {
                    **branch = typed(std::mem::take(branch), &other, schema)?;
                }
                Ok(Transformed::yes(Expr::Case(case)))
            }
            Expr::ScalarFunction(call) if NAMES.contains(&call.name()) => {
                if let Some(typed) = stored_as_text(&call, schema)? {
                    return Ok(Transformed::yes(typed));
                }
                let Some(other) = typed_beside_texts(call.args.iter(), schema) else {
                    return Ok(Transformed::no(Expr::ScalarFunction(call)));
                };
                let call = Expr::ScalarFunction(call);
                let call =
                    call.map_children(|arg| Ok(Transformed::yes(typed(arg, &other, schema)?)))?;
                Ok(call)
            }
            other => Ok(Transformed::no(other)),
        }
    }
}

/// A call whose arguments are of one type that is stored as text, or literals, as of that type.
fn stored_as_text(call: &ScalarFunction, schema: &DFSchema) -> Result<Option<Expr>> {
    let others = call.args.iter().filter(|arg| !is_literal(arg));
    let types = others.map(|arg| Ok(pg_type::field_oid(&arg.to_field(schema)?.1)));
    let types: Vec<u32> = types.collect::<Result<_>>()?;
    let Some(&oid) = types.first() else {
        return Ok(None);
    };
    let is_stored_as_text = matches!(oid, pg_type::UUID | pg_type::JSON | pg_type::JSONB);
    if !is_stored_as_text || types.iter().any(|other| *other != oid) {
        return Ok(None);
    }
    let mut others = call.args.iter().filter(|arg| !is_literal(arg));
    let other = others.next().cloned().unwrap_or_default();
    let args = call.args.iter();
    let args = args.map(|arg| typed(arg.clone(), &other, schema));
    let args = args.collect::<Result<Vec<_>>>()?;
    let call = ScalarFunction::new_udf(Arc::clone(&call.func), args);
    let as_is = Arc::new(ScalarUDF::from(TextIn::as_is(oid)));
    let call = ScalarFunction::new_udf(as_is, vec![Expr::ScalarFunction(call)]);
    Ok(Some(Expr::ScalarFunction(call)))
}

fn is_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(value, _) if value.is_null() || is_text(expr))
}

/// One of the expressions that is no text, if there are text literals beside it.
fn typed_beside_texts<'a>(
    exprs: impl Iterator<Item = &'a Expr> + Clone,
    schema: &DFSchema,
) -> Option<Expr> {
    if !exprs.clone().any(is_text) {
        return None;
    }
    let is_other = |expr: &&Expr| {
        let of = expr.get_type(schema);
        of.is_ok_and(|of| !of.is_string() && !of.is_null())
    };
    exprs.filter(|expr| !is_text(expr)).find(is_other).cloned()
}
