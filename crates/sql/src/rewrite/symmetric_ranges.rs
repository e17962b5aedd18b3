//! `a BETWEEN SYMMETRIC b AND c`: between two bounds of which any may be the lower one.
//!
//! ```text
//! a BETWEEN SYMMETRIC b AND c       (a BETWEEN b AND c OR a BETWEEN c AND b)
//! a NOT BETWEEN SYMMETRIC b AND c   (a NOT BETWEEN b AND c AND a NOT BETWEEN c AND b)
//! ```
//!
//! The parser does not know the word; [`tokens`](super::tokens) puts an operator in its place that PostgreSQL has given up (`!!`), and
//! that comes before all else that the first bound begins with.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Statement as Ast, UnaryOperator, VisitorMut,
};

use super::operation::operation;
use super::walk::walk_mut;

/// Puts ranges with a first and a last value in the place of such ones.
pub(crate) fn rewrite(statement: &mut Ast) {
    // The visitor never breaks off.
    _ = walk_mut(statement, &mut Ranges);
}

struct Ranges;

impl VisitorMut for Ranges {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Between {
            expr: value,
            negated,
            low,
            high,
        } = expr
            && take_mark(low)
        {
            let range = |low: &Expr, high: &Expr| Expr::Between {
                expr: value.clone(),
                negated: *negated,
                low: Box::new(low.clone()),
                high: Box::new(high.clone()),
            };
            let joined = match negated {
                false => BinaryOperator::Or,
                true => BinaryOperator::And,
            };
            *expr = operation(range(low, high), joined, range(high, low));
        }
        ControlFlow::Continue(())
    }
}

/// Takes the mark from the beginning of an expression; whether it was there.
fn take_mark(expr: &mut Expr) -> bool {
    match expr {
        Expr::UnaryOp {
            op: UnaryOperator::PGPrefixFactorial,
            expr: marked,
        } => {
            *expr = (**marked).clone();
            true
        }
        Expr::BinaryOp { left, .. } => take_mark(left),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn both_orders_of_the_bounds_are_asked_for() {
        for (written, expected) in [
            (
                "a BETWEEN !!b - 1 AND c",
                "((a BETWEEN b - 1 AND c) OR (a BETWEEN c AND b - 1))",
            ),
            (
                "a NOT BETWEEN !!b AND c AND d",
                "((a NOT BETWEEN b AND c) AND (a NOT BETWEEN c AND b)) AND d",
            ),
            ("a BETWEEN b AND c", "a BETWEEN b AND c"),
        ] {
            let text = format!("SELECT {written}");
            let mut statement = Parser::parse_sql(&PostgreSqlDialect {}, &text)
                .expect("parses")
                .remove(0);
            rewrite(&mut statement);
            assert_eq!(statement.to_string(), format!("SELECT {expected}"));
        }
    }
}
