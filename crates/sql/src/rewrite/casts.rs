//! Casts, and literals without a type, as the parser would give them.

use datafusion::sql::sqlparser::ast::{CastKind, DataType, Expr, Value};

/// `interval`, of any units.
pub(super) const INTERVAL: DataType = DataType::Interval {
    fields: None,
    precision: None,
};

/// `(value)::to`
pub(super) fn cast(value: Expr, to: DataType) -> Expr {
    Expr::Cast {
        kind: CastKind::DoubleColon,
        expr: Box::new(Expr::Nested(Box::new(value))),
        data_type: to,
        array: false,
        format: None,
    }
}

/// Whether an expression is a quoted literal, which takes its type from what is around it.
pub(super) fn is_quoted(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(value.value, Value::SingleQuotedString(_)))
}
