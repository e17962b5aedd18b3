//! Functions in FROM, and functions that give rows in a select list.
//!
//! PostgreSQL takes any function for a table: one that gives a value has one row and one column,
//! which has the table's name where the list has no other. DataFusion knows tables that are
//! functions, and no others; a value's function becomes a subquery, and a series' only column
//! gets its name. `_pg_expandarray` gives a list here, which is unnested, and the field of a row
//! is a call. A name made up as the query runs is looked up by a call, too.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, FunctionArguments, Ident, ObjectName, ObjectNamePart, Query,
    Select, SelectItem, SetExpr, Statement as Ast, TableAlias, TableAliasColumnDef, TableFactor,
    Value, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;

use super::function_call::{call, call_with};
use crate::pg_catalog::expanded;

/// Functions that give rows.
const SERIES: [&str; 2] = ["generate_series", "range"];

/// Functions that give a value, and that clients ask as tables.
const VALUES: [&str; 3] = ["string_to_array", "current_schemas", "current_setting"];

/// Puts what DataFusion knows in the place of functions that are used as tables.
pub(crate) fn rewrite(statement: &mut Ast) {
    // The visitor never breaks off.
    _ = statement.visit(&mut Tables);
}

struct Tables;

impl VisitorMut for Tables {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let TableFactor::Table {
            name,
            alias: Some(alias),
            args: Some(args),
            ..
        } = factor
        else {
            return ControlFlow::Continue(());
        };
        let Some(function) = last_word(name) else {
            return ControlFlow::Continue(());
        };
        if SERIES.contains(&function.as_str()) && alias.columns.is_empty() {
            alias.columns = vec![column(alias.name.clone())];
        } else if VALUES.contains(&function.as_str()) {
            let call = call_with(name.clone(), args.args.clone(), Vec::new());
            *factor = one_row(call, alias.clone());
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(field) = field_of_row(expr) {
            *expr = field;
        }
        if let Expr::Cast {
            expr: name,
            data_type,
            ..
        } = expr
            && data_type
                .to_string()
                .to_ascii_lowercase()
                .ends_with("regclass")
            && is_made_up(name)
        {
            *expr = call("to_regclass", [name.as_ref().clone()], Vec::new());
        }
        if let Some(numbers) = subscripts(expr) {
            *expr = numbers;
        }
        if let Expr::Function(function) = expr
            && last_word(&function.name).is_some_and(|word| word == expanded::NAME)
        {
            *expr = call("unnest", [expr.clone()], Vec::new());
        }
        ControlFlow::Continue(())
    }
}

/// `generate_subscripts(a, 1)` as the numbers from 1 to the length of `a`, unnested.
fn subscripts(expr: &Expr) -> Option<Expr> {
    let Expr::Function(function) = expr else {
        return None;
    };
    if last_word(&function.name)? != "generate_subscripts" {
        return None;
    }
    let FunctionArguments::List(arguments) = &function.args else {
        return None;
    };
    let array = arguments.args.first()?.clone();
    let cardinality = ObjectName::from(vec![Ident::new("cardinality")]);
    let one = Value::Number("1".to_owned(), false).with_empty_span();
    let bounds = [
        Expr::Value(one),
        call_with(cardinality, vec![array], Vec::new()),
    ];
    let numbers = call("generate_series", bounds, Vec::new());
    Some(call("unnest", [numbers], Vec::new()))
}

/// Whether an expression surely gives a text, and not always the same.
fn is_made_up(expr: &Expr) -> bool {
    match expr {
        Expr::Function(function) => {
            last_word(&function.name).is_some_and(|word| word == "format" || word == "concat")
        }
        Expr::BinaryOp { op, .. } => *op == BinaryOperator::StringConcat,
        Expr::Nested(inner) => is_made_up(inner),
        _ => false,
    }
}

/// `(row).field` as a call.
fn field_of_row(expr: &Expr) -> Option<Expr> {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else {
        return None;
    };
    let (Expr::Nested(row), [AccessExpr::Dot(Expr::Identifier(field))]) =
        (root.as_ref(), access_chain.as_slice())
    else {
        return None;
    };
    let name = Value::SingleQuotedString(field.value.clone()).with_empty_span();
    let arguments = [row.as_ref().clone(), Expr::Value(name)];
    Some(call("get_field", arguments, Vec::new()))
}

fn last_word(name: &ObjectName) -> Option<String> {
    let word = name.0.last().and_then(ObjectNamePart::as_ident)?;
    Some(word.value.to_ascii_lowercase())
}

fn column(name: Ident) -> TableAliasColumnDef {
    TableAliasColumnDef {
        name,
        data_type: None,
    }
}

/// A table of one row and one column out of a value.
fn one_row(value: Expr, alias: TableAlias) -> TableFactor {
    let name = alias
        .columns
        .first()
        .map_or(&alias.name, |column| &column.name);
    let item = SelectItem::ExprWithAlias {
        expr: value,
        alias: name.clone(),
    };
    TableFactor::Derived {
        lateral: false,
        subquery: Box::new(select(item)),
        alias: Some(alias),
        sample: None,
    }
}

/// `SELECT item`, read from text: by hand it would be a page of parts that are not there.
fn select(item: SelectItem) -> Query {
    let mut parser = Parser::new(&PostgreSqlDialect {})
        .try_with_sql("SELECT 1")
        .expect("a text of two tokens");
    let mut query = *parser.parse_query().expect("a query");
    if let SetExpr::Select(select) = query.body.as_mut() {
        let select: &mut Select = select;
        select.projection = vec![item];
    }
    query
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_tables_of_a_row_and_series_name_their_column() {
        for (from, expected) in [
            (
                "SELECT s[i] FROM generate_series(1, 2) AS i, string_to_array('a,b', ',') s",
                "SELECT s[i] FROM generate_series(1, 2) AS i (i), (SELECT string_to_array('a,b', ',') AS s) s",
            ),
            (
                "SELECT (_pg_expandarray(k)).n FROM t",
                "SELECT get_field(unnest(_pg_expandarray(k)), 'n') FROM t",
            ),
            (
                "SELECT generate_subscripts(k, 1) FROM t",
                "SELECT unnest(generate_series(1, cardinality(k))) FROM t",
            ),
            ("SELECT * FROM t AS u", "SELECT * FROM t AS u"),
        ] {
            let mut statement = Parser::parse_sql(&PostgreSqlDialect {}, from)
                .expect("parses")
                .remove(0);
            rewrite(&mut statement);
            assert_eq!(statement.to_string(), expected);
        }
    }
}
