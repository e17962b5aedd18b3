//! The row of a table as a value, by the table's name.
//!
//! ```text
//! SELECT json_agg(x) FROM (SELECT id, name FROM t) x        json_agg(whole_row('x', x.*))
//! SELECT t FROM t                                           whole_row('t', t.*) AS t
//! SELECT to_json(t.*) FROM t                                to_json(whole_row(t.*))
//! SELECT (t).id FROM t                                      t.id
//! ```
//!
//! 1. [`rewrite`], in the statement: a name in a select list, or an argument of a function that takes rows, becomes a call if it is the
//!    name of a table in FROM.
//! 2. [`resolved`], in the plan, where the columns are known: the call gets them. A name that is a column's as well means the column.
//!
//! Rows of tables of a query around, and rows in other places (comparisons, ORDER BY, casts), are not known here.

use std::ops::ControlFlow;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result, ScalarValue, TableReference};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr as PlanExpr, LogicalPlan, ScalarUDF};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName,
    ObjectNamePart, Query, Select, SelectItem, SetExpr, Statement as Ast, TableAlias, TableFactor,
    TableWithJoins, Value, VisitorMut,
};

use super::column_names::{folded, unmarked};
use super::from_functions::GET_FIELD;
use super::function_call::{arguments, call_with};
use super::walk::walk_mut;
use crate::error::{SqlError, code};
use crate::functions::rows::{Row, WHOLE_ROW};

/// Functions that people give rows to.
const FUNCTIONS: [&str; 13] = [
    "array_agg",
    "count",
    "json_agg",
    "json_build_array",
    "json_build_object",
    "json_object_agg",
    "jsonb_agg",
    "jsonb_build_array",
    "jsonb_build_object",
    "jsonb_object_agg",
    "row_to_json",
    "to_json",
    "to_jsonb",
];

/// Puts a call in the place of the name of a table where a value is wanted.
pub(crate) fn rewrite(statement: &mut Ast) {
    // The visitor never breaks off.
    _ = walk_mut(statement, &mut Selects);
}

struct Selects;

impl VisitorMut for Selects {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let mut tables = Tables::default();
        select.from.iter().for_each(|from| tables.add(from));
        if tables.names.is_empty() {
            return ControlFlow::Continue(());
        }
        tables.in_select_list(select);
        walk_mut(select, &mut tables)
    }
}

/// The tables in FROM of one SELECT.
#[derive(Default)]
struct Tables {
    /// What each is called in the statement, and its whole name.
    names: Vec<(String, ObjectName)>,
    /// Subqueries around what is visited, in which the names are not those of tables.
    depth: usize,
}

impl Tables {
    fn add(&mut self, from: &TableWithJoins) {
        let joined = from.joins.iter().map(|join| &join.relation);
        for factor in std::iter::once(&from.relation).chain(joined) {
            match factor {
                TableFactor::NestedJoin {
                    table_with_joins, ..
                } => self.add(table_with_joins),
                factor => self.names.extend(name_of(factor)),
            }
        }
    }

    fn named(&self, name: &Ident) -> Option<&ObjectName> {
        let name = folded(name);
        let mut names = self.names.iter();
        let found = names.find(|(known, _)| *known == name);
        found.map(|(_, table)| table)
    }

    /// The column that `(t).c` is, which [`from_functions`](super::from_functions) takes for a value's field: `get_field(t, 'c')`.
    fn column(&self, expr: &Expr) -> Option<Expr> {
        let Expr::Function(function) = expr else {
            return None;
        };
        let name = function.name.0.last()?.as_ident()?;
        match arguments(function)?.as_slice() {
            [Expr::Identifier(table), Expr::Value(field)] if name.value == GET_FIELD => {
                self.named(table)?;
                let field = field.value.clone().into_string()?;
                let parts = vec![table.clone(), Ident::with_quote('"', field)];
                Some(Expr::CompoundIdentifier(parts))
            }
            _ => None,
        }
    }

    fn in_select_list(&self, select: &mut Select) {
        for item in &mut select.projection {
            match item {
                SelectItem::UnnamedExpr(Expr::Identifier(name)) => {
                    if let Some(table) = self.named(name) {
                        let alias = Ident::with_quote('"', folded(name));
                        let expr = named_row(name, table);
                        *item = SelectItem::ExprWithAlias { expr, alias };
                    }
                }
                SelectItem::ExprWithAlias {
                    expr: expr @ Expr::Identifier(_),
                    ..
                } => {
                    if let Expr::Identifier(name) = &*expr
                        && let Some(table) = self.named(name)
                    {
                        *expr = named_row(name, table);
                    }
                }
                _ => {}
            }
        }
    }

    fn in_arguments(&self, function: &mut Function) {
        let name = function.name.0.last().and_then(ObjectNamePart::as_ident);
        let takes_rows = name.is_some_and(|name| FUNCTIONS.contains(&folded(name).as_str()));
        let FunctionArguments::List(list) = &mut function.args else {
            return;
        };
        for argument in list.args.iter_mut().filter(|_| takes_rows) {
            let FunctionArg::Unnamed(argument) = argument else {
                continue;
            };
            let row = match argument {
                FunctionArgExpr::Expr(Expr::Identifier(name)) => {
                    self.named(name).map(|table| named_row(name, table))
                }
                FunctionArgExpr::QualifiedWildcard(table) => Some(row(Vec::new(), table.clone())),
                _ => None,
            };
            if let Some(row) = row {
                *argument = FunctionArgExpr::Expr(row);
            }
        }
    }
}

impl VisitorMut for Tables {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth > 0 {
            return ControlFlow::Continue(());
        }
        if let Some(column) = self.column(expr) {
            *expr = column;
        }
        if let Expr::Function(function) = expr {
            self.in_arguments(function);
        }
        ControlFlow::Continue(())
    }
}

/// What a table is called, if it can be meant by its name: where one of the columns has it, that is meant.
fn name_of(factor: &TableFactor) -> Option<(String, ObjectName)> {
    match factor {
        TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } => match alias {
            Some(alias) => named_by(alias),
            None => Some((folded(name.0.last()?.as_ident()?), name.clone())),
        },
        TableFactor::Derived {
            subquery,
            alias: Some(alias),
            ..
        } => named_by(alias).filter(|(name, _)| !has_column(&subquery.body, name)),
        _ => None,
    }
}

fn named_by(alias: &TableAlias) -> Option<(String, ObjectName)> {
    let name = folded(&alias.name);
    let mut columns = alias.columns.iter();
    let is_column = columns.any(|column| folded(&column.name) == name);
    (!is_column).then(|| (name, ObjectName::from(vec![alias.name.clone()])))
}

/// Whether a subquery says that it has such a column.
fn has_column(body: &SetExpr, name: &str) -> bool {
    match body {
        SetExpr::Select(select) => select.projection.iter().any(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => folded(alias) == name,
            SelectItem::UnnamedExpr(Expr::Identifier(column)) => folded(column) == name,
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(column)) => {
                column.last().is_some_and(|column| folded(column) == name)
            }
            _ => false,
        }),
        SetExpr::Query(query) => has_column(&query.body, name),
        SetExpr::SetOperation { left, .. } => has_column(left, name),
        _ => false,
    }
}

/// `whole_row('name', table.*)`: what has this name.
fn named_row(name: &Ident, table: &ObjectName) -> Expr {
    let name = Expr::value(Value::SingleQuotedString(folded(name)));
    let name = FunctionArg::Unnamed(FunctionArgExpr::Expr(name));
    row(vec![name], table.clone())
}

fn row(mut arguments: Vec<FunctionArg>, table: ObjectName) -> Expr {
    let columns = FunctionArgExpr::QualifiedWildcard(table);
    arguments.push(FunctionArg::Unnamed(columns));
    let function = ObjectName::from(vec![Ident::new(WHOLE_ROW)]);
    call_with(function, arguments, Vec::new())
}

/// The plan with the columns of every such row.
pub(crate) fn resolved(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut has_rows = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            has_rows |= expr.exists(|part| Ok(is_row(part)))?;
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    if !has_rows {
        return Ok(plan);
    }
    let plan = plan.transform_up_with_subqueries(|plan| {
        let schema = merge_schema(&plan.inputs());
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let expr = expr.transform_up(|expr| one(expr, &schema))?;
            Ok(expr.update_data(|expr| name.restore(expr)))
        })
    })?;
    Ok(plan.data)
}

fn is_row(expr: &PlanExpr) -> bool {
    matches!(expr, PlanExpr::ScalarFunction(call) if call.func.name() == WHOLE_ROW)
}

fn one(expr: PlanExpr, schema: &DFSchema) -> Result<Transformed<PlanExpr>> {
    let PlanExpr::ScalarFunction(call) = &expr else {
        return Ok(Transformed::no(expr));
    };
    if !is_row(&expr) {
        return Ok(Transformed::no(expr));
    }
    let (name, table) = match call.args.as_slice() {
        [PlanExpr::Literal(ScalarValue::Utf8(Some(name)), _), columns] => {
            (Some(name), table(columns))
        }
        [columns] => (None, table(columns)),
        _ => (None, None),
    };
    let Some(table) = table else {
        return Ok(Transformed::no(expr));
    };
    let same = name.map(|name| schema.columns_with_unqualified_name(name));
    match same.unwrap_or_default().as_slice() {
        [] => Ok(Transformed::yes(row_of(table, schema)?)),
        [column] => Ok(Transformed::yes(PlanExpr::Column(column.clone()))),
        [column, ..] => {
            let message = format!("column reference \"{}\" is ambiguous", column.name);
            Err(SqlError::new(code::AMBIGUOUS_COLUMN, message).into())
        }
    }
}

/// The table whose columns are meant.
fn table(columns: &PlanExpr) -> Option<&TableReference> {
    #[expect(
        deprecated,
        reason = "the planner makes no other of the columns of a table"
    )]
    match columns {
        PlanExpr::Wildcard { qualifier, .. } => qualifier.as_ref(),
        _ => None,
    }
}

fn row_of(table: &TableReference, schema: &DFSchema) -> Result<PlanExpr> {
    let columns = schema.fields_with_qualified(table);
    if columns.is_empty() {
        let message = format!("row of \"{table}\" must appear in the GROUP BY clause");
        return Err(SqlError::new(code::GROUPING_ERROR, message).into());
    }
    let names = columns.iter();
    let names = names.map(|column| unmarked(column.name()).to_owned());
    let row = ScalarUDF::from(Row::of_table(names.collect()));
    let columns = columns.into_iter();
    let columns = columns.map(|column| Column::new(Some(table.clone()), column.name()));
    let call = ScalarFunction::new_udf(row.into(), columns.map(PlanExpr::Column).collect());
    Ok(PlanExpr::ScalarFunction(call))
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn the_name_of_a_table_is_its_row_where_a_value_is_wanted() {
        for (text, expected) in [
            (
                "SELECT row_to_json(u), count(*) FROM a.t AS u",
                "SELECT row_to_json(whole_row('u', u.*)), count(*) FROM a.t AS u",
            ),
            (
                "SELECT t, T AS x, t.id FROM a.t, u",
                "SELECT whole_row('t', a.t.*) AS \"t\", whole_row('t', a.t.*) AS x, t.id FROM a.t, u",
            ),
            (
                "SELECT to_json(t.*), json_agg(DISTINCT v ORDER BY v.id) FROM t JOIN u v ON t.id = v.id",
                "SELECT to_json(whole_row(t.*)), json_agg(DISTINCT whole_row('v', v.*) ORDER BY v.id) \
                 FROM t JOIN u v ON t.id = v.id",
            ),
            (
                "SELECT json_agg(x) FROM (SELECT 1 AS x) x",
                "SELECT json_agg(x) FROM (SELECT 1 AS x) x",
            ),
            (
                "SELECT id FROM t WHERE id IN (SELECT count(t) FROM u)",
                "SELECT id FROM t WHERE id IN (SELECT count(t) FROM u)",
            ),
            (
                "SELECT g FROM generate_series(1, 2) g",
                "SELECT g FROM generate_series(1, 2) g",
            ),
        ] {
            let parsed = Parser::parse_sql(&PostgreSqlDialect {}, text);
            let mut statement = parsed.expect("parses").remove(0);
            rewrite(&mut statement);
            assert_eq!(statement.to_string(), expected);
        }
    }
}
