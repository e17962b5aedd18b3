//! Operations, and the literals in them, as the parser would give them.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Value};

/// `left op right`
pub(super) fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp {
        left: Box::new(left),
        op,
        right: Box::new(right),
    }
}

/// `(left op right)`, whatever stands around it and in it.
pub(super) fn operation(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    let [left, right] = [left, right].map(|side| Expr::Nested(Box::new(side)));
    Expr::Nested(Box::new(binary(left, op, right)))
}

/// A whole number.
pub(super) fn number(value: u64) -> Expr {
    Expr::value(Value::Number(value.to_string(), false))
}

/// A quoted literal.
pub(super) fn text(text: &str) -> Expr {
    Expr::value(Value::SingleQuotedString(text.to_owned()))
}
