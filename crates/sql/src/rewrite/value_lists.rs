//! `VALUES` lists that name columns, as queries.
//!
//! ```text
//! t, LATERAL (VALUES ('a', t.a), ('b', t.b)) u (name, value)
//! t, LATERAL (SELECT 'a' AS column1, t.a AS column2 UNION ALL SELECT 'b', t.b) u (name, value)
//! ```
//!
//! DataFusion wants the rows of a list to have columns alike in all that is known of them, and knows more of a
//! column than of a literal.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Query, SelectItem, SetExpr, SetOperator, SetQuantifier, Statement as Ast,
    VisitMut, VisitorMut,
};

use super::made_queries::select;
use super::names_columns::names_columns;

/// Puts queries in the place of such lists.
pub(crate) fn rewrite(statement: &mut Ast) {
    // The visitor never breaks off.
    _ = walk_mut(statement, &mut ValueLists);
}
use super::walk::walk_mut;

struct ValueLists;

impl VisitorMut for ValueLists {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Values(values) = query.body.as_ref()
            && values
                .rows
                .iter()
                .flat_map(|row| row.iter())
                .any(names_columns)
        {
            let rows = values.rows.iter().map(|row| body(row));
            let union = rows.reduce(|left, right| SetExpr::SetOperation {
                op: SetOperator::Union,
                set_quantifier: SetQuantifier::All,
                left: Box::new(left),
                right: Box::new(right),
            });
            *query.body = union.expect("a list has a row");
        }
        ControlFlow::Continue(())
    }
}

/// `SELECT a AS column1, …`.
fn body(row: &[Expr]) -> SetExpr {
    let items = row
        .iter()
        .zip(1..)
        .map(|(expr, place)| SelectItem::ExprWithAlias {
            expr: expr.clone(),
            alias: Ident::new(format!("column{place}")),
        });
    *select(items.collect()).body
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn lists_that_name_columns_become_queries() {
        for (list, expected) in [
            ("VALUES (1, 'a'), (2, 'b')", "VALUES (1, 'a'), (2, 'b')"),
            (
                "VALUES (1, t.a), (b, 'b')",
                "SELECT 1 AS column1, t.a AS column2 UNION ALL SELECT b AS column1, 'b' AS column2",
            ),
        ] {
            let text = format!("SELECT * FROM t, LATERAL ({list}) u");
            let mut statement = Parser::parse_sql(&PostgreSqlDialect {}, &text)
                .expect("parses")
                .remove(0);
            rewrite(&mut statement);
            let expected = format!("SELECT * FROM t, LATERAL ({expected}) u");
            assert_eq!(statement.to_string(), expected);
        }
    }
}
