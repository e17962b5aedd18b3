//! `SELECT DISTINCT upper(a) … ORDER BY upper(a)`: sorted by a column of the result.
//!
//! What DISTINCT leaves can only be sorted by what is selected. DataFusion compares the two expressions, and does not see that they are the
//! same where the column has got [its name](super::column_names). So the place of the column stands for it: `ORDER BY 1`.
//!
//! Does not: take `t.a` for `a`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, OrderByKind, Query, SelectItem, SetExpr, Statement as Ast, VisitorMut,
};

use super::operation::number;
use super::walk::walk_mut;

/// Puts places of columns where a query that is DISTINCT sorts by an expression that it selects.
pub(crate) fn rewrite(statement: &mut Ast) {
    // The visitor never breaks off.
    _ = walk_mut(statement, &mut DistinctSorting);
}

struct DistinctSorting;

impl VisitorMut for DistinctSorting {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = query.body.as_ref()
            && let Some(Distinct::Distinct) = select.distinct
            && let Some(order) = &mut query.order_by
            && let OrderByKind::Expressions(keys) = &mut order.kind
        {
            for key in keys {
                if !matches!(key.expr, Expr::Identifier(_) | Expr::Value(_))
                    && let Some(place) = place_of(&key.expr, &select.projection)
                {
                    key.expr = number(place);
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Which column of the result an expression is, from 1; `None` where `*` before it makes that unknown.
fn place_of(expr: &Expr, selected: &[SelectItem]) -> Option<u64> {
    let known = selected.iter().map_while(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    });
    (1..)
        .zip(known)
        .find(|(_, selected)| *selected == expr)
        .map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn an_expression_that_is_selected_is_told_by_its_place() {
        for (text, expected) in [
            (
                "SELECT DISTINCT a, upper(b) AS u FROM t ORDER BY upper(b) DESC, a",
                "SELECT DISTINCT a, upper(b) AS u FROM t ORDER BY 2 DESC, a",
            ),
            (
                "SELECT DISTINCT *, a + 1 FROM t ORDER BY a + 1",
                "SELECT DISTINCT *, a + 1 FROM t ORDER BY a + 1",
            ),
            (
                "SELECT upper(b) FROM t ORDER BY upper(b)",
                "SELECT upper(b) FROM t ORDER BY upper(b)",
            ),
        ] {
            let parsed = Parser::parse_sql(&PostgreSqlDialect {}, text);
            let mut statement = parsed.expect("parses").remove(0);
            rewrite(&mut statement);
            assert_eq!(statement.to_string(), expected);
        }
    }
}
