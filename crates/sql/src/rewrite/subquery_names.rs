//! Subqueries in the place of a value have columns whose names nothing else has.
//!
//! DataFusion calls such a subquery by the name of its column. Of
//! `SELECT (SELECT count(*) …), count(*) FROM t GROUP BY 1 ORDER BY 2` the grouped one and the aggregate both were
//! `count`, and the rows sorted by the wrong one; two grouped ones were refused. The name gets a mark, which
//! [`column_names`](super::column_names) takes off again, and a number: the same one for the same text, so that
//! what is selected is still found in GROUP BY.
//!
//! Does not: subqueries that are sorted or grouped, which may name their column; unions.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Ident, Query, SelectItem, SetExpr, Statement as Ast, VisitorMut,
};

use super::column_names::{MARK, folded, unmarked};
use super::walk::walk_mut;

/// Numbers the columns of such subqueries. All that have no names of their own have been given one.
pub(crate) fn rewrite(statement: &mut Ast) {
    // The visitor never breaks off.
    _ = walk_mut(statement, &mut Numbers::default());
}

#[derive(Default)]
struct Numbers(HashMap<String, usize>);

impl VisitorMut for Numbers {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Subquery(query) = expr {
            let (text, next) = (query.to_string(), self.0.len() + 1);
            if let Some(alias) = name(query) {
                let number = *self.0.entry(text).or_insert(next);
                let name = folded(alias);
                *alias =
                    Ident::with_quote('"', format!("{}{MARK}subquery {number}", unmarked(&name)));
            }
        }
        ControlFlow::Continue(())
    }
}

/// The name of a query's only column, where nothing else can name it.
fn name(query: &mut Query) -> Option<&mut Ident> {
    if query.order_by.is_some() {
        return None;
    }
    let SetExpr::Select(select) = query.body.as_mut() else {
        return None;
    };
    let is_grouped = !matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    if is_grouped || select.distinct.is_some() {
        return None;
    }
    match select.projection.as_mut_slice() {
        [item @ SelectItem::UnnamedExpr(_)] => {
            let SelectItem::UnnamedExpr(expr) = item else {
                return None;
            };
            let name = match expr {
                Expr::Identifier(name) => name.clone(),
                Expr::CompoundIdentifier(names) => names.last()?.clone(),
                _ => return None,
            };
            *item = SelectItem::ExprWithAlias {
                expr: expr.clone(),
                alias: name,
            };
            alias_of(item)
        }
        [item] => alias_of(item),
        _ => None,
    }
}

fn alias_of(item: &mut SelectItem) -> Option<&mut Ident> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn the_same_subquery_has_the_same_number() {
        let text = "SELECT (SELECT max(x) AS \"max\" FROM a), (SELECT max(x) AS \"max\" FROM b) FROM t \
                    GROUP BY (SELECT max(x) AS \"max\" FROM a), (SELECT y FROM c ORDER BY y)";
        let mut statement = Parser::parse_sql(&PostgreSqlDialect {}, text)
            .expect("parses")
            .remove(0);
        rewrite(&mut statement);
        let expected = "SELECT (SELECT max(x) AS \"max\u{1}subquery 1\" FROM a), (SELECT max(x) AS \"max\u{1}subquery 2\" FROM b) FROM t \
                        GROUP BY (SELECT max(x) AS \"max\u{1}subquery 1\" FROM a), (SELECT y FROM c ORDER BY y)";
        assert_eq!(statement.to_string(), expected);
    }
}
