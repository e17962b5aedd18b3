//! Columns of the tables around a subquery whose tables have a column of such a table's name.
//!
//! ```text
//! SELECT 1 FROM status WHERE EXISTS (SELECT 1 FROM tickets WHERE tickets.status = status.id)
//!
//! status.id    public.status.id
//! ```
//!
//! DataFusion looks among the columns of `tickets` first, and takes `status.id` for a field of the column `status`. To PostgreSQL a field
//! has parentheses, `(status).id`. With a schema in front the name is that of a table, and any schema does for one that is
//! written without.

use std::ops::ControlFlow;

use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr as PlanExpr, ExprSchemable, LogicalPlan};
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Select, Statement as Ast, TableFactor, TableWithJoins, VisitorMut,
};

use super::column_names::folded;
use super::from_functions::GET_FIELD;
use super::walk::walk_mut;

/// Whether a plan takes fields of columns that have none.
pub(crate) fn takes_fields_of_others(plan: &LogicalPlan) -> Result<bool> {
    let mut takes = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            let others = |part: &PlanExpr| {
                Ok(value_of_field(part).is_some_and(|value| !has_fields(value, node)))
            };
            takes |= expr.exists(others)?;
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(takes)
}

fn value_of_field(expr: &PlanExpr) -> Option<&PlanExpr> {
    match expr {
        PlanExpr::ScalarFunction(call) if call.name() == GET_FIELD => call.args.first(),
        _ => None,
    }
}

fn has_fields(value: &PlanExpr, node: &LogicalPlan) -> bool {
    let of = value.get_type(&merge_schema(&node.inputs()));
    of.is_ok_and(|of| of.is_nested() || of.is_null())
}

/// The statement with a schema in front of the tables around.
pub(crate) fn with_schema(statement: &Ast) -> Ast {
    let mut statement = statement.clone();
    let mut scopes = Scopes { tables: Vec::new() };
    // The visitor never breaks off.
    _ = walk_mut(&mut statement, &mut scopes);
    statement
}

struct Scopes {
    /// The tables of each SELECT that is visited, outermost first: what they are called, and a schema.
    tables: Vec<Vec<(String, Ident)>>,
}

impl VisitorMut for Scopes {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let mut tables = Vec::new();
        select.from.iter().for_each(|from| add(from, &mut tables));
        self.tables.push(tables);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<()> {
        self.tables.pop();
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [table, _] = parts.as_slice()
            && let Some(schema) = self.schema_around(&folded(table))
        {
            parts.insert(0, schema);
        }
        ControlFlow::Continue(())
    }
}

impl Scopes {
    /// The schema of a table of a query around; `None` for one of the query itself, and for what is none.
    fn schema_around(&self, name: &str) -> Option<Ident> {
        let found = self.tables.iter().rev().enumerate();
        let mut found = found.filter_map(|(distance, tables)| {
            let table = tables.iter().find(|(table, _)| table == name)?;
            Some((distance, table.1.clone()))
        });
        found
            .next()
            .filter(|(distance, _)| *distance > 0)
            .map(|(_, schema)| schema)
    }
}

fn add(from: &TableWithJoins, tables: &mut Vec<(String, Ident)>) {
    let joined = from.joins.iter().map(|join| &join.relation);
    for factor in std::iter::once(&from.relation).chain(joined) {
        match factor {
            TableFactor::NestedJoin {
                table_with_joins, ..
            } => add(table_with_joins, tables),
            factor => tables.extend(named(factor)),
        }
    }
}

fn named(factor: &TableFactor) -> Option<(String, Ident)> {
    let any = || Ident::new("public");
    match factor {
        TableFactor::Table {
            name, alias: None, ..
        } => {
            let (last, before) = name.0.split_last()?;
            let schema = before.last().and_then(|schema| schema.as_ident());
            let schema = schema.cloned().unwrap_or_else(any);
            Some((folded(last.as_ident()?), schema))
        }
        TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } => {
            Some((folded(&alias.as_ref()?.name), any()))
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
    fn tables_around_have_a_schema() {
        for (written, expected) in [
            (
                "SELECT s.a FROM status AS s WHERE EXISTS (SELECT 1 FROM t WHERE t.s = s.id)",
                "SELECT s.a FROM status AS s WHERE EXISTS (SELECT 1 FROM t WHERE t.s = public.s.id)",
            ),
            (
                "SELECT (SELECT s.x FROM s WHERE s.y = u.id) FROM a.s, u",
                "SELECT (SELECT s.x FROM s WHERE s.y = public.u.id) FROM a.s, u",
            ),
            (
                "SELECT (SELECT s.x FROM t) FROM a.s",
                "SELECT (SELECT a.s.x FROM t) FROM a.s",
            ),
        ] {
            let statement = Parser::parse_sql(&PostgreSqlDialect {}, written)
                .expect("parses")
                .remove(0);
            assert_eq!(with_schema(&statement).to_string(), expected);
        }
    }
}
