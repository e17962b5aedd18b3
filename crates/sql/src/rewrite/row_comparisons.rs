//! Comparisons of rows, field by field.
//!
//! DataFusion compares rows as values of a struct, for which NULL is a value like others. PostgreSQL goes from field to field, and does not
//! know what comes of a NULL that it meets before rows are told apart:
//!
//! ```text
//! (a, b) = (c, d)                 a = c AND b = d
//! (a, b) <> (c, d)                a <> c OR b <> d
//! (a, b) < (c, d)                 a < c OR (a = c AND b < d)       the same with <=, >, >=
//! (a, b) IN ((c, d), …)           (a, b) = (c, d) OR …
//! (a, b) BETWEEN (c, d) AND (e, f)  (a, b) >= (c, d) AND (a, b) <= (e, f)
//! (a, b) IS DISTINCT FROM (c, d)  a IS DISTINCT FROM c OR …
//! ```
//!
//! Does not: compare rows of different lengths, which are left to be refused; rows among those of a subquery
//! ([`super::row_membership`]).

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use super::function_call::arguments;
use super::operation::operation;

/// What says the same without comparing rows as a whole; `None` if no rows are compared.
pub(super) fn by_fields(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::BinaryOp { left, op, right } => compared(left, op, right),
        Expr::InList {
            expr: row,
            list,
            negated,
        } => {
            let equal = list.iter();
            let equal = equal.map(|other| compared(row, &BinaryOperator::Eq, other));
            let equal: Vec<Expr> = equal.collect::<Option<_>>()?;
            negated_if(*negated, joined(equal, BinaryOperator::Or))
        }
        Expr::Between {
            expr: row,
            negated,
            low,
            high,
        } => {
            let from = compared(row, &BinaryOperator::GtEq, low)?;
            let to = compared(row, &BinaryOperator::LtEq, high)?;
            negated_if(*negated, Some(operation(from, BinaryOperator::And, to)))
        }
        Expr::IsDistinctFrom(left, right) => {
            let fields = pairs(left, right)?;
            let differ = fields.map(|(a, b)| Expr::IsDistinctFrom(a.into(), b.into()));
            joined(differ, BinaryOperator::Or)
        }
        Expr::IsNotDistinctFrom(left, right) => {
            let fields = pairs(left, right)?;
            let same = fields.map(|(a, b)| Expr::IsNotDistinctFrom(a.into(), b.into()));
            joined(same, BinaryOperator::And)
        }
        _ => None,
    }
}

/// The fields of `(a, b)` or `ROW(a, b)`.
pub(super) fn fields_of_row(row: &Expr) -> Option<Vec<Expr>> {
    match row {
        Expr::Nested(row) => fields_of_row(row),
        Expr::Tuple(fields) => Some(fields.clone()),
        Expr::Function(function) => {
            let name = function.name.0.last()?.as_ident()?;
            let is_row = name.value.eq_ignore_ascii_case("row");
            is_row.then(|| arguments(function)).flatten()
        }
        _ => None,
    }
}

fn compared(left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<Expr> {
    use BinaryOperator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or};
    let strict = match op {
        Eq | NotEq => op.clone(),
        Lt | LtEq => Lt,
        Gt | GtEq => Gt,
        _ => return None,
    };
    let mut fields = pairs(left, right)?.rev();
    let (last_left, last_right) = fields.next()?;
    let last = field(&last_left, op, &last_right);
    Some(fields.fold(last, |rest, (left, right)| {
        let strictly = field(&left, &strict, &right);
        match op {
            Eq => operation(strictly, And, rest),
            NotEq => operation(strictly, Or, rest),
            _ => {
                let so_far_equal = operation(field(&left, &Eq, &right), And, rest);
                operation(strictly, Or, so_far_equal)
            }
        }
    }))
}

/// A field may be a row itself.
fn field(left: &Expr, op: &BinaryOperator, right: &Expr) -> Expr {
    let by_fields = compared(left, op, right);
    by_fields.unwrap_or_else(|| operation(left.clone(), op.clone(), right.clone()))
}

/// The fields of two rows of one length, side by side.
fn pairs(left: &Expr, right: &Expr) -> Option<std::vec::IntoIter<(Expr, Expr)>> {
    let (left, right) = (fields_of_row(left)?, fields_of_row(right)?);
    let is_pair = left.len() == right.len();
    let pairs: Vec<(Expr, Expr)> = left.into_iter().zip(right).collect();
    is_pair.then(|| pairs.into_iter())
}

fn joined(terms: impl IntoIterator<Item = Expr>, by: BinaryOperator) -> Option<Expr> {
    let terms = terms.into_iter();
    terms.reduce(|all, term| operation(all, by.clone(), term))
}

fn negated_if(negated: bool, condition: Option<Expr>) -> Option<Expr> {
    let condition = Box::new(condition?);
    Some(match negated {
        false => *condition,
        true => Expr::Nested(Box::new(Expr::UnaryOp {
            op: UnaryOperator::Not,
            expr: condition,
        })),
    })
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn rewritten(text: &str) -> Option<String> {
        let mut parser = Parser::new(&PostgreSqlDialect {})
            .try_with_sql(text)
            .expect("tokens");
        let expr = parser.parse_expr().expect("an expression");
        let plain = |expr: Expr| expr.to_string().replace(['(', ')'], "");
        by_fields(&expr).map(plain)
    }

    #[test]
    fn rows_are_compared_field_by_field() {
        for (rows, fields) in [
            ("(a, b) = ROW(c, d)", "a = c AND b = d"),
            ("(a, b) <> (c, d)", "a <> c OR b <> d"),
            (
                "(a, b, c) <= (d, e, f)",
                "a < d OR a = d AND b < e OR b = e AND c <= f",
            ),
            ("(a, (b, c)) = (d, (e, f))", "a = d AND b = e AND c = f"),
            (
                "(a, b) NOT IN ((c, d), (e, f))",
                "NOT a = c AND b = d OR a = e AND b = f",
            ),
            (
                "(a, b) IS DISTINCT FROM (c, d)",
                "a IS DISTINCT FROM c OR b IS DISTINCT FROM d",
            ),
        ] {
            assert_eq!(rewritten(rows).as_deref(), Some(fields), "{rows}");
        }
    }

    #[test]
    fn other_comparisons_stay() {
        for text in [
            "a = b",
            "(a, b) = (c, d, e)",
            "a IN (b, c)",
            "(a, b) + (c, d)",
        ] {
            assert_eq!(rewritten(text), None, "{text}");
        }
    }
}
