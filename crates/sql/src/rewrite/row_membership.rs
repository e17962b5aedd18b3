//! `(a, b) IN (SELECT x, y …)`: rows among rows.
//!
//! ```text
//! (a, b) IN (q)         EXISTS (SELECT 1 FROM (q) AS found (field_1, field_2) WHERE field_1 = a AND field_2 = b)
//! (a, b) NOT IN (q)     NOT EXISTS (… WHERE (field_1 = a AND field_2 = b) IS NOT FALSE)
//! ```
//!
//! DataFusion knows one column. Where NULLs leave open whether a row is there, PostgreSQL says NULL and this says false, which
//! is the same to a condition.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Statement as Ast, VisitorMut};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;

use super::walk::walk_mut;

/// Puts EXISTS in the place of such conditions.
pub(crate) fn rewrite(statement: &mut Ast) {
    // The visitor never breaks off.
    _ = walk_mut(statement, &mut Memberships);
}

struct Memberships;

impl VisitorMut for Memberships {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(exists) = exists(expr) {
            *expr = exists;
        }
        ControlFlow::Continue(())
    }
}

fn exists(expr: &Expr) -> Option<Expr> {
    let Expr::InSubquery {
        expr: row,
        subquery,
        negated,
    } = expr
    else {
        return None;
    };
    let Expr::Tuple(fields) = row.as_ref() else {
        return None;
    };
    let names: Vec<String> = (1..=fields.len())
        .map(|place| format!("field_{place}"))
        .collect();
    let equal = names.iter().zip(fields);
    let equal: Vec<String> = equal
        .map(|(name, field)| format!("found.{name} = ({field})"))
        .collect();
    let (not, condition) = match negated {
        false => ("", equal.join(" AND ")),
        true => ("NOT ", format!("({}) IS NOT FALSE", equal.join(" AND "))),
    };
    let names = names.join(", ");
    let text =
        format!("({not}EXISTS (SELECT 1 FROM ({subquery}) AS found ({names}) WHERE {condition}))");
    let mut parser = Parser::new(&PostgreSqlDialect {})
        .try_with_sql(&text)
        .ok()?;
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
