//! What ROLLUP, CUBE and GROUPING SETS group by, in the forms that DataFusion takes.
//!
//! ```text
//! SELECT f(a), … GROUP BY ROLLUP (1)   ROLLUP (f(a))                            it takes the place of a column for a number
//! ROLLUP ((a, b), c)                   GROUPING SETS ((a, b, c), (a, b), ())    it knows single expressions only
//! CUBE ((a, b), c)                     GROUPING SETS ((a, b, c), (a, b), (c), ())
//! ROLLUP (a, a)                        GROUPING SETS ((a), (a), ())              a set may name an expression only once
//! ```

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Select, SelectItem, Statement as Ast, Value, VisitorMut,
};

use super::walk::walk_mut;

/// PostgreSQL's bound of CUBE.
const CUBE_MAX: usize = 12;

/// Puts expressions in the place of places, and sets in that of lists of expressions.
pub(crate) fn rewrite(statement: &mut Ast) {
    // The visitor never breaks off.
    _ = walk_mut(statement, &mut Groups);
}

struct Groups;

impl VisitorMut for Groups {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if let GroupByExpr::Expressions(groups, _) = &mut select.group_by {
            for group in groups {
                if let Expr::Rollup(sets) | Expr::Cube(sets) | Expr::GroupingSets(sets) = group {
                    let expressions = sets.iter_mut().flatten();
                    expressions.for_each(|expr| selected(expr, &select.projection));
                }
                if let Some(sets) = written_out(group) {
                    *group = Expr::GroupingSets(sets);
                }
                if let Expr::GroupingSets(sets) = group {
                    sets.iter_mut().for_each(once);
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Puts what is selected there in the place of a place.
fn selected(expr: &mut Expr, items: &[SelectItem]) {
    let Expr::Value(value) = &*expr else {
        return;
    };
    let Value::Number(place, _) = &value.value else {
        return;
    };
    let place = place.parse::<usize>().ok();
    let item = place.and_then(|place| items.get(place.checked_sub(1)?));
    if let Some(SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }) = item
    {
        *expr = item.clone();
    }
}

/// Leaves out what a set has named before.
fn once(set: &mut Vec<Expr>) {
    let mut named: Vec<Expr> = Vec::with_capacity(set.len());
    for expr in set.drain(..) {
        if !named.contains(&expr) {
            named.push(expr);
        }
    }
    *set = named;
}

/// The sets of ROLLUP and CUBE of lists of expressions, or of one twice; `None` for those of single ones, and for others.
fn written_out(group: &Expr) -> Option<Vec<Vec<Expr>>> {
    let has_lists = |lists: &[Vec<Expr>]| {
        let mut all = lists.concat();
        once(&mut all);
        lists.iter().any(|list| list.len() != 1) || all.len() != lists.len()
    };
    match group {
        Expr::Rollup(lists) if has_lists(lists) => {
            let lengths = (0..=lists.len()).rev();
            Some(lengths.map(|length| lists[..length].concat()).collect())
        }
        Expr::Cube(lists) if has_lists(lists) && lists.len() <= CUBE_MAX => {
            let sets = (0..1_usize << lists.len()).rev();
            let set = |set: usize| {
                let lists = lists.iter().rev().enumerate();
                let chosen = lists.filter(|(bit, _)| set >> bit & 1 == 1);
                let chosen: Vec<&Vec<Expr>> = chosen.map(|(_, list)| list).collect();
                chosen.into_iter().rev().flatten().cloned().collect()
            };
            Some(sets.map(set).collect())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn places_and_lists_are_written_out() {
        for (written, expected) in [
            ("ROLLUP (1, b)", "ROLLUP (f(a), b)"),
            ("ROLLUP (2, b)", "GROUPING SETS ((b), (b), ())"),
            (
                "GROUPING SETS ((2, 1), ())",
                "GROUPING SETS ((b, f(a)), ())",
            ),
            (
                "ROLLUP ((1, b), c)",
                "GROUPING SETS ((f(a), b, c), (f(a), b), ())",
            ),
            (
                "d, CUBE ((a, b), c)",
                "d, GROUPING SETS ((a, b, c), (a, b), (c), ())",
            ),
        ] {
            let text = format!("SELECT f(a) AS x, b FROM t GROUP BY {written}");
            let mut statement = Parser::parse_sql(&PostgreSqlDialect {}, &text)
                .expect("parses")
                .remove(0);
            rewrite(&mut statement);
            assert_eq!(
                statement.to_string(),
                format!("SELECT f(a) AS x, b FROM t GROUP BY {expected}")
            );
        }
    }
}
