//! Rows beside those of a subquery.
//!
//! ```text
//! (a, b) IN (q)         EXISTS (SELECT 1 FROM (q) AS found (field_1, field_2) WHERE field_1 = a AND field_2 = b)
//! (a, b) NOT IN (q)     NOT EXISTS (… WHERE (field_1 = a AND field_2 = b) IS NOT FALSE)
//! (a, b) = ANY (q)      (a, b) IN (q)
//! (a, b) <> ALL (q)     (a, b) NOT IN (q)
//! (a, b) < (q)          (SELECT (a, b) < (field_1, field_2) FROM (q) AS found (field_1, field_2))
//! ```
//!
//! DataFusion knows one column. Where NULLs leave open whether a row is there, PostgreSQL says NULL and this says false, which
//! is the same to a condition.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Query, Statement as Ast, VisitorMut};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;

use super::row_comparisons::fields_of_row;
use super::walk::walk_mut;

/// Puts what goes field by field in the place of such conditions.
pub(crate) fn rewrite(statement: &mut Ast) {
    // The visitor never breaks off.
    _ = walk_mut(statement, &mut Memberships);
}

struct Memberships;

impl VisitorMut for Memberships {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(other) = by_fields(expr) {
            *expr = other;
        }
        ControlFlow::Continue(())
    }
}

fn by_fields(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::InSubquery {
            expr: row,
            subquery,
            negated,
        } => exists(row, subquery, *negated),
        Expr::AnyOp {
            left,
            compare_op: BinaryOperator::Eq,
            right,
            ..
        } => exists(left, query(right)?, false),
        Expr::AllOp {
            left,
            compare_op: BinaryOperator::NotEq,
            right,
        } => exists(left, query(right)?, true),
        Expr::BinaryOp { left, op, right } => compared(left, op, query(right)?),
        _ => None,
    }
}

fn query(expr: &Expr) -> Option<&Query> {
    match expr {
        Expr::Subquery(query) => Some(query),
        _ => None,
    }
}

fn exists(row: &Expr, subquery: &Query, negated: bool) -> Option<Expr> {
    let fields = fields_of_row(row)?;
    let names = names(&fields);
    let equal = names.iter().zip(fields);
    let equal: Vec<String> = equal
        .map(|(name, field)| format!("found.{name} = ({field})"))
        .collect();
    let (not, condition) = match negated {
        false => ("", equal.join(" AND ")),
        true => ("NOT ", format!("({}) IS NOT FALSE", equal.join(" AND "))),
    };
    let names = names.join(", ");
    read(&format!(
        "({not}EXISTS (SELECT 1 FROM ({subquery}) AS found ({names}) WHERE {condition}))"
    ))
}

/// A row compared with the one of a subquery; NULL if that has none.
fn compared(row: &Expr, op: &BinaryOperator, subquery: &Query) -> Option<Expr> {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    if !matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq) {
        return None;
    }
    let fields = fields_of_row(row)?;
    let names = names(&fields);
    let found: Vec<String> = names.iter().map(|name| format!("found.{name}")).collect();
    let fields: Vec<String> = fields.iter().map(|field| format!("({field})")).collect();
    let [fields, found, names] = [fields, found, names].map(|parts| parts.join(", "));
    read(&format!(
        "(SELECT ({fields}) {op} ({found}) FROM ({subquery}) AS found ({names}))"
    ))
}

fn names(fields: &[Expr]) -> Vec<String> {
    let places = 1..=fields.len();
    places.map(|place| format!("field_{place}")).collect()
}

fn read(text: &str) -> Option<Expr> {
    let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(text).ok()?;
    parser.parse_expr().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_looked_for_field_by_field() {
        for (text, expected) in [
            (
                "SELECT 1 FROM t WHERE (a, b + 1) IN (SELECT x, y FROM u)",
                "SELECT 1 FROM t WHERE (EXISTS (SELECT 1 FROM (SELECT x, y FROM u) AS found (field_1, field_2) \
                 WHERE found.field_1 = (a) AND found.field_2 = (b + 1)))",
            ),
            (
                "SELECT 1 FROM t WHERE (a, b) NOT IN (SELECT x, y FROM u)",
                "SELECT 1 FROM t WHERE (NOT EXISTS (SELECT 1 FROM (SELECT x, y FROM u) AS found (field_1, field_2) \
                 WHERE (found.field_1 = (a) AND found.field_2 = (b)) IS NOT FALSE))",
            ),
            (
                "SELECT 1 FROM t WHERE row(a, b) = ANY(SELECT x, y FROM u)",
                "SELECT 1 FROM t WHERE (EXISTS (SELECT 1 FROM (SELECT x, y FROM u) AS found (field_1, field_2) \
                 WHERE found.field_1 = (a) AND found.field_2 = (b)))",
            ),
            (
                "SELECT 1 FROM t WHERE (a, b) >= (SELECT x, y FROM u)",
                "SELECT 1 FROM t WHERE (SELECT ((a), (b)) >= (found.field_1, found.field_2) \
                 FROM (SELECT x, y FROM u) AS found (field_1, field_2))",
            ),
            (
                "SELECT 1 FROM t WHERE a IN (SELECT x FROM u) AND (a, b) IN ((1, 2))",
                "SELECT 1 FROM t WHERE a IN (SELECT x FROM u) AND (a, b) IN ((1, 2))",
            ),
        ] {
            let parsed = Parser::parse_sql(&PostgreSqlDialect {}, text);
            let mut statement = parsed.expect("parses").remove(0);
            rewrite(&mut statement);
            assert_eq!(statement.to_string(), expected);
        }
    }
}
