//! Functions that DataFusion has only as operators.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Statement as Ast,
    VisitMut, VisitorMut,
};

/// Puts the operator in the place of `mod(a, b)`.
pub(crate) fn rewrite(statement: &mut Ast) {
    // The visitor never breaks off.
    _ = statement.visit(&mut Operators);
}

struct Operators;

impl VisitorMut for Operators {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some((left, right)) = modulo(expr) {
            let operation = Expr::BinaryOp {
                left: Box::new(Expr::Nested(Box::new(left))),
                op: BinaryOperator::Modulo,
                right: Box::new(Expr::Nested(Box::new(right))),
            };
            *expr = Expr::Nested(Box::new(operation));
        }
        ControlFlow::Continue(())
    }
}

/// The arguments of a call of `mod`.
fn modulo(expr: &Expr) -> Option<(Expr, Expr)> {
    let Expr::Function(function) = expr else {
        return None;
    };
    let name = function.name.0.last()?.as_ident()?;
    if !name.value.eq_ignore_ascii_case("mod") {
        return None;
    }
    match &function.args {
        FunctionArguments::List(list) => match list.args.as_slice() {
            [
                FunctionArg::Unnamed(FunctionArgExpr::Expr(left)),
                FunctionArg::Unnamed(FunctionArgExpr::Expr(right)),
            ] => Some((left.clone(), right.clone())),
            _ => None,
        },
        _ => None,
    }
}
