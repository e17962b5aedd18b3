//! Aggregates that build JSON, by `array_agg`, which knows orders, DISTINCT, filters and windows.
//!
//! ```text
//! json_agg(x ORDER BY y)        json_values(array_agg(json_value(x) ORDER BY y))
//! jsonb_object_agg(k, v)        jsonb_members(array_agg(jsonb_member(k, v)))
//! ```

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName,
    Statement as Ast, VisitorMut,
};

use super::function_call::{arguments, call};
use super::walk::walk_mut;

/// An aggregate, the function of what it is given, and that of all of these.
const AGGREGATES: [(&str, &str, &str); 4] = [
    ("json_agg", "json_value", "json_values"),
    ("jsonb_agg", "jsonb_value", "jsonb_values"),
    ("json_object_agg", "json_member", "json_members"),
    ("jsonb_object_agg", "jsonb_member", "jsonb_members"),
];

/// Puts `array_agg` in the place of such aggregates.
pub(crate) fn rewrite(statement: &mut Ast) {
    // The visitor never breaks off.
    _ = walk_mut(statement, &mut Aggregates);
}

struct Aggregates;

impl VisitorMut for Aggregates {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && let Some(aggregate) = by_arrays(function)
        {
            *expr = aggregate;
        }
        ControlFlow::Continue(())
    }
}

fn by_arrays(function: &Function) -> Option<Expr> {
    let name = function.name.0.last()?.as_ident()?;
    let mut aggregates = AGGREGATES.iter();
    let (_, of_one, of_all) =
        aggregates.find(|(aggregate, ..)| name.value.eq_ignore_ascii_case(aggregate))?;
    let part = call(of_one, arguments(function)?, Vec::new());
    let mut function = function.clone();
    if let FunctionArguments::List(list) = &mut function.args {
        list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(part))];
    }
    function.name = ObjectName::from(vec![Ident::new("array_agg")]);
    Some(call(of_all, [Expr::Function(function)], Vec::new()))
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn all_but_the_arguments_stays_with_the_array() {
        for (text, expected) in [
            (
                "SELECT json_agg(DISTINCT a ORDER BY a) FILTER (WHERE b) FROM t",
                "SELECT json_values(array_agg(DISTINCT json_value(a) ORDER BY a) FILTER (WHERE b)) FROM t",
            ),
            (
                "SELECT JSONB_OBJECT_AGG(k, v) OVER (PARTITION BY a) FROM t",
                "SELECT jsonb_members(array_agg(jsonb_member(k, v)) OVER (PARTITION BY a)) FROM t",
            ),
            ("SELECT json_agg(*) FROM t", "SELECT json_agg(*) FROM t"),
        ] {
            let parsed = Parser::parse_sql(&PostgreSqlDialect {}, text);
            let mut statement = parsed.expect("parses").remove(0);
            rewrite(&mut statement);
            assert_eq!(statement.to_string(), expected);
        }
    }
}
