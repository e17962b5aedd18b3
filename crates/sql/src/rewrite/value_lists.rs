//! `VALUES` lists whose rows are not alike.
//!
//! ```text
//! VALUES (date '2024-01-01', 1), ('2024-01-02', 2)      VALUES (date '2024-01-01', 1), ('2024-01-02'::date, 2)
//!
//! t, LATERAL (VALUES ('a', t.a), ('b', t.b)) u (name, value)
//! t, LATERAL (SELECT 'a' AS column1, t.a AS column2 UNION ALL SELECT 'b', t.b) u (name, value)
//! ```
//!
//! DataFusion wants the rows of a list to have columns alike in all that is known of them, and knows more of a
//! column or a cast than of a literal.
//!
//! 1. Quoted literals and NULLs take the type to which the others of their column are cast, if that is one.
//! 2. A list that names columns, or has casts beside what is none, becomes a query.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    DataType, Expr, Ident, Parens, Query, SelectItem, SetExpr, SetOperator, SetQuantifier,
    Statement as Ast, Value, VisitorMut,
};

use super::casts::{cast, is_quoted};
use super::made_queries::select;
use super::names_columns::names_columns;
use super::walk::walk_mut;

/// Puts queries in the place of such lists.
pub(crate) fn rewrite(statement: &mut Ast) {
    // The visitor never breaks off.
    _ = walk_mut(statement, &mut ValueLists);
}

struct ValueLists;

impl VisitorMut for ValueLists {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let SetExpr::Values(values) = query.body.as_mut() else {
            return ControlFlow::Continue(());
        };
        let columns = values.rows.iter().map(|row| row.len()).min();
        let columns = 0..columns.unwrap_or_default();
        columns
            .clone()
            .for_each(|column| type_literals(&mut values.rows, column));
        let has_mixed = columns
            .into_iter()
            .any(|column| is_mixed(&values.rows, column));
        let mut cells = values.rows.iter().flat_map(|row| row.iter());
        if has_mixed || cells.any(names_columns) {
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

/// Casts the literals of a column as the others are cast.
fn type_literals(rows: &mut [Parens<Vec<Expr>>], column: usize) {
    let mut types = rows.iter().filter_map(|row| cast_to(&row[column]));
    let Some(first) = types.next().cloned() else {
        return;
    };
    if types.any(|of| *of != first) {
        return;
    }
    for row in rows {
        let cell = &mut row[column];
        if is_quoted(cell) || is_null(cell) {
            *cell = cast(cell.clone(), first.clone());
        }
    }
}

/// Whether some cells of a column are cast and others are not, or to another type.
fn is_mixed(rows: &[Parens<Vec<Expr>>], column: usize) -> bool {
    let mut types = rows.iter().map(|row| cast_to(&row[column]));
    let first = types.next().flatten();
    types.any(|of| of != first)
}

/// The type to which a cell is cast.
fn cast_to(cell: &Expr) -> Option<&DataType> {
    match cell {
        Expr::Cast { data_type, .. } => Some(data_type),
        Expr::TypedString(text) => Some(&text.data_type),
        Expr::Nested(cell) => cast_to(cell),
        _ => None,
    }
}

fn is_null(cell: &Expr) -> bool {
    matches!(cell, Expr::Value(value) if value.value == Value::Null)
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
    fn rows_become_alike_or_queries() {
        for (list, expected) in [
            ("VALUES (1, 'a'), (2, 'b')", "VALUES (1, 'a'), (2, 'b')"),
            (
                "VALUES (1, t.a), (b, 'b')",
                "SELECT 1 AS column1, t.a AS column2 UNION ALL SELECT b AS column1, 'b' AS column2",
            ),
            (
                "VALUES (DATE '2024-01-01', 1), ('2024-01-02', 2), (NULL, 3)",
                "VALUES (DATE '2024-01-01', 1), (('2024-01-02')::DATE, 2), ((NULL)::DATE, 3)",
            ),
            (
                "VALUES (1::INT), (1.5)",
                "SELECT 1::INT AS column1 UNION ALL SELECT 1.5 AS column1",
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
