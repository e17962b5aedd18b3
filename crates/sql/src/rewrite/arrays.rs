//! `ARRAY(SELECT …)`: a subquery's rows as an array; and arrays of columns.
//!
//! DataFusion has no such expression. A subquery becomes one that aggregates its rows; one
//! that only goes through the elements of another array becomes a transformation of that array,
//! because DataFusion cannot go through an array of the query around it.
//!
//! `ARRAY[a, b]` becomes a call of `make_array`: in brackets DataFusion looks for no columns of queries around.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments, GroupByExpr,
    Ident, LambdaFunction, LambdaFunctionParameter, LambdaSyntax, ObjectName, OneOrManyWithParens,
    OrderBy, OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, Statement as Ast,
    TableAlias, TableFactor, TableWithJoins, Value, VisitorMut,
};

use super::function_call::call;
use super::names_columns::names_columns;
use super::walk::walk_mut;

/// Puts what DataFusion knows in the place of every array out of a subquery.
pub(crate) fn rewrite(statement: &mut Ast) {
    // The visitor never breaks off.
    _ = walk_mut(statement, &mut Collector);
}

struct Collector;

impl VisitorMut for Collector {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && is_array(&function.name)
            && let FunctionArguments::Subquery(query) = &mut function.args
        {
            let array = transformed(query).or_else(|| aggregated(query));
            if let Some(array) = array {
                *expr = array;
            }
        } else if let Expr::Array(array) = expr
            && array.elem.iter().any(names_columns)
        {
            *expr = call("make_array", std::mem::take(&mut array.elem), Vec::new());
        }
        ControlFlow::Continue(())
    }
}

fn is_array(name: &ObjectName) -> bool {
    name.0
        .last()
        .and_then(|part| part.as_ident())
        .is_some_and(|name| name.value.eq_ignore_ascii_case("array"))
}

/// `ARRAY(SELECT f(x) FROM unnest(a) x)` as `array_transform(a, x -> f(x))`.
fn transformed(query: &Query) -> Option<Expr> {
    let select = plain_select(query)?;
    let [TableWithJoins { relation, joins }] = select.from.as_slice() else {
        return None;
    };
    if !joins.is_empty() || select.selection.is_some() || query.order_by.is_some() {
        return None;
    }
    let (array, element) = unnested(relation)?;
    let lambda = LambdaFunction {
        params: OneOrManyWithParens::One(LambdaFunctionParameter {
            name: element,
            data_type: None,
        }),
        body: Box::new(only_column(select)?.clone()),
        syntax: LambdaSyntax::Arrow,
    };
    let arguments = [array, Expr::Lambda(lambda)];
    Some(call("array_transform", arguments, Vec::new()))
}

/// The array that a relation goes through, and the name of its elements.
fn unnested(relation: &TableFactor) -> Option<(Expr, Ident)> {
    let (array, alias) = match relation {
        TableFactor::UNNEST {
            array_exprs, alias, ..
        } => match array_exprs.as_slice() {
            [array] => (array.clone(), alias),
            _ => return None,
        },
        TableFactor::Table {
            name,
            args: Some(arguments),
            alias,
            ..
        } => {
            let function = name.0.last()?.as_ident()?;
            match arguments.args.as_slice() {
                [FunctionArg::Unnamed(FunctionArgExpr::Expr(array))]
                    if function.value.eq_ignore_ascii_case("unnest") =>
                {
                    (array.clone(), alias)
                }
                _ => return None,
            }
        }
        _ => return None,
    };
    let TableAlias { name, columns, .. } = alias.as_ref()?;
    let element = columns.first().map_or(name, |column| &column.name);
    Some((array, element.clone()))
}

/// A subquery that gives the rows of `query` as one array, empty without rows.
fn aggregated(query: &mut Query) -> Option<Expr> {
    let order = ordering(query)?;
    plain_select(query)?;
    let SetExpr::Select(select) = query.body.as_mut() else {
        return None;
    };
    let column = only_column(select)?.clone();
    query.order_by = None;
    let order: Vec<OrderByExpr> = order.into_iter().map(|by| by_value(by, &column)).collect();
    let order = (!order.is_empty()).then_some(FunctionArgumentClause::OrderBy(order));
    let array = call("array_agg", [column], Vec::from_iter(order));
    select.projection = vec![SelectItem::UnnamedExpr(array)];
    let rows = Expr::Subquery(Box::new(query.clone()));
    let empty = call("make_array", [], Vec::new());
    Some(call("coalesce", [rows, empty], Vec::new()))
}

/// What a query is ordered by; `None` for an order that is not a list of expressions.
fn ordering(query: &Query) -> Option<Vec<OrderByExpr>> {
    match &query.order_by {
        None => Some(Vec::new()),
        Some(OrderBy {
            kind: OrderByKind::Expressions(order),
            ..
        }) => Some(order.clone()),
        Some(_) => None,
    }
}

/// `ORDER BY 1` is an order by the only column.
fn by_value(mut by: OrderByExpr, column: &Expr) -> OrderByExpr {
    if matches!(&by.expr, Expr::Value(value) if matches!(value.value, Value::Number(..))) {
        by.expr = column.clone();
    }
    by
}

/// The SELECT of a query that is nothing more than one, without groups.
fn plain_select(query: &Query) -> Option<&Select> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let grouped = !matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    let more = query.with.is_some()
        || query.limit_clause.is_some()
        || query.fetch.is_some()
        || select.distinct.is_some()
        || select.having.is_some()
        || grouped;
    (!more).then_some(select)
}

fn only_column(select: &Select) -> Option<&Expr> {
    match select.projection.as_slice() {
        [SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }] => Some(expr),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn a_subquery_is_aggregated_and_an_array_transformed() {
        for (array, expected) in [
            (
                "ARRAY(SELECT a + 1 FROM u WHERE u.k = t.k ORDER BY 1 DESC, b)",
                "coalesce((SELECT array_agg(a + 1 ORDER BY a + 1 DESC, b) FROM u WHERE u.k = t.k), make_array())",
            ),
            (
                "array(SELECT 'x' || e FROM pg_catalog.unnest(t.list) e)",
                "array_transform(t.list, e -> 'x' || e)",
            ),
            ("ARRAY[1, 2]", "ARRAY[1, 2]"),
        ] {
            let text = format!("SELECT {array} FROM t");
            let mut statement = Parser::parse_sql(&PostgreSqlDialect {}, &text)
                .expect("parses")
                .remove(0);
            rewrite(&mut statement);
            assert_eq!(statement.to_string(), format!("SELECT {expected} FROM t"));
        }
    }
}
