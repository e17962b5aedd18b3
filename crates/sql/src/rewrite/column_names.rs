//! The names that PostgreSQL gives to result columns without an alias.
//!
//! Every expression in a select list that has neither an alias nor a name of its own gets one
//! before planning: a function's name, the type's name of a cast, `case`, else `?column?`.
//! DataFusion wants the names of one list to be different; a name that comes again carries a
//! mark and a number, which [`result_schema`] takes off again.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, DataType, Expr, Function, Ident, Query, Select, SelectItem,
    SetExpr, Statement as Ast, Value, VisitorMut,
};

use super::walk::walk_mut;

/// Stands between a name and its number.
pub(super) const MARK: char = '\u{1}';

/// Stands before the names of columns that a `*` has again, in queries on the system catalogs.
const AGAIN: &str = "__alias_";

/// What PostgreSQL calls a column that has no better name.
const NAMELESS: &str = "?column?";

/// Gives every unnamed expression in a select list its name.
pub(crate) fn add(statement: &mut Ast) {
    // The visitor never breaks off.
    _ = walk_mut(statement, &mut Namer);
}

/// The result's columns without marks.
pub(crate) fn result_schema(schema: &Schema) -> SchemaRef {
    let fields: Vec<Field> = schema
        .fields()
        .iter()
        .map(|field| Field::clone(field).with_name(unmarked(field.name())))
        .collect();
    Arc::new(Schema::new(fields))
}

/// A name without its mark.
pub(super) fn unmarked(name: &str) -> &str {
    let name = name.split_once(MARK).map_or(name, |(name, _)| name);
    name.strip_prefix(AGAIN).unwrap_or(name)
}

/// A batch of the result with the columns of [`result_schema`].
pub(crate) fn renamed(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), batch.columns().to_vec(), &rows)
}

struct Namer;

impl VisitorMut for Namer {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        name_body(&mut query.body);
        ControlFlow::Continue(())
    }
}

fn name_body(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => name_select(select),
        SetExpr::SetOperation { left, right, .. } => {
            name_body(left);
            name_body(right);
        }
        _ => {}
    }
}

/// Gives the unnamed expressions of a select list their names.
pub(super) fn name_select(select: &mut Select) {
    let mut taken: Vec<String> = Vec::new();
    for item in &mut select.projection {
        match item {
            SelectItem::ExprWithAlias { alias, .. } => {
                let name = folded(alias);
                let name = unmarked(&name).to_owned();
                let times = taken.iter().filter(|other| **other == name).count();
                if times > 0 {
                    *alias = Ident::with_quote('"', format!("{name}{MARK}{times}"));
                }
                taken.push(name);
            }
            SelectItem::UnnamedExpr(expr) => {
                let name = name_of(expr).unwrap_or_else(|| NAMELESS.to_owned());
                let times = taken.iter().filter(|other| **other == name).count();
                let own = matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
                taken.push(name.clone());
                if own && times == 0 {
                    continue;
                }
                let alias = if times == 0 {
                    name
                } else {
                    format!("{name}{MARK}{times}")
                };
                let expr = std::mem::replace(expr, Expr::Value(Value::Null.into()));
                *item = SelectItem::ExprWithAlias {
                    expr,
                    alias: Ident::with_quote('"', alias),
                };
            }
            _ => {}
        }
    }
}

/// An identifier as names are compared: in lower case unless quoted.
pub(super) fn folded(ident: &Ident) -> String {
    if ident.quote_style.is_some() {
        ident.value.clone()
    } else {
        ident.value.to_ascii_lowercase()
    }
}

/// The name of an expression that has one of its own (PostgreSQL's `FigureColname`).
fn name_of(expr: &Expr) -> Option<String> {
    weak_name(expr).or_else(|| strong_name(expr))
}

/// The name of a cast or CASE, which gives way to the name of what it is around.
fn weak_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => weak_name(inner),
        Expr::Cast {
            expr, data_type, ..
        } => Some(strong_name(expr).unwrap_or_else(|| type_name(data_type))),
        Expr::TypedString(typed) => Some(type_name(&typed.data_type)),
        Expr::Interval(_) => Some("interval".to_owned()),
        Expr::CompoundFieldAccess { root, access_chain } => {
            field_name(access_chain).or_else(|| name_of(root))
        }
        Expr::Case { else_result, .. } => {
            let inner = else_result.as_ref().and_then(|inner| strong_name(inner));
            Some(inner.unwrap_or_else(|| "case".to_owned()))
        }
        _ => None,
    }
}

/// A name that goes through casts.
fn strong_name(expr: &Expr) -> Option<String> {
    let fixed = |name: &str| Some(name.to_owned());
    match expr {
        Expr::Cast { expr, .. } => strong_name(expr),
        Expr::Case { else_result, .. } => else_result.as_ref().and_then(|e| strong_name(e)),
        Expr::Identifier(ident) => Some(folded(ident)),
        Expr::CompoundIdentifier(idents) => idents.last().map(folded),
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => strong_name(inner),
        Expr::Function(function) => function_name(function),
        Expr::Subquery(query) => subquery_name(query),
        Expr::Exists { negated: false, .. } => fixed("exists"),
        Expr::Array(_) => fixed("array"),
        Expr::BinaryOp {
            op: BinaryOperator::Overlaps,
            ..
        } => fixed("overlaps"),
        Expr::Extract { .. } => fixed("extract"),
        Expr::Position { .. } => fixed("position"),
        Expr::Substring { shorthand, .. } => fixed(match shorthand {
            true => "substr",
            false => "substring",
        }),
        Expr::Overlay { .. } => fixed("overlay"),
        Expr::Ceil { .. } => fixed("ceil"),
        Expr::Floor { .. } => fixed("floor"),
        Expr::Trim { trim_where, .. } => fixed(match trim_where {
            Some(datafusion::sql::sqlparser::ast::TrimWhereField::Leading) => "ltrim",
            Some(datafusion::sql::sqlparser::ast::TrimWhereField::Trailing) => "rtrim",
            _ => "btrim",
        }),
        Expr::AtTimeZone { .. } => fixed("timezone"),
        Expr::CompoundFieldAccess { root, access_chain } => {
            field_name(access_chain).or_else(|| strong_name(root))
        }
        _ => None,
    }
}

/// The last field that is taken of a row.
fn field_name(access: &[AccessExpr]) -> Option<String> {
    access.iter().rev().find_map(|step| match step {
        AccessExpr::Dot(Expr::Identifier(field)) => Some(folded(field)),
        _ => None,
    })
}

fn function_name(function: &Function) -> Option<String> {
    function
        .name
        .0
        .last()
        .and_then(|part| part.as_ident())
        .map(folded)
}

fn subquery_name(query: &Query) -> Option<String> {
    match query.body.as_ref() {
        SetExpr::Select(select) => match select.projection.first()? {
            SelectItem::UnnamedExpr(expr) => name_of(expr),
            SelectItem::ExprWithAlias { alias, .. } => Some(folded(alias)),
            _ => None,
        },
        _ => None,
    }
}

fn type_name(data_type: &DataType) -> String {
    let text = data_type.to_string().to_ascii_lowercase();
    let base = text.split('(').next().unwrap_or_default().trim();
    let base = base.strip_prefix("pg_catalog.").unwrap_or(base);
    let base = base.trim_end_matches("[]");
    match base {
        "int" | "integer" => "int4",
        "bigint" => "int8",
        "smallint" => "int2",
        "real" => "float4",
        "double precision" | "float" | "double" => "float8",
        "boolean" => "bool",
        "decimal" | "dec" => "numeric",
        "character varying" | "char varying" => "varchar",
        "character" | "char" => "bpchar",
        "timestamp without time zone" => "timestamp",
        "timestamp with time zone" => "timestamptz",
        "time without time zone" => "time",
        "time with time zone" => "timetz",
        other => other,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{ArrayRef, Int64Array};
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn named(sql: &str) -> String {
        let mut statement = Parser::parse_sql(&PostgreSqlDialect {}, sql)
            .expect("parses")
            .remove(0);
        add(&mut statement);
        statement.to_string()
    }

    #[test]
    fn names_are_those_of_postgresql() {
        for (expression, name) in [
            ("count(*)", "count"),
            ("pg_catalog.lower(x)", "lower"),
            ("1 + 1", "?column?"),
            ("'x'", "?column?"),
            ("x::int", "x"),
            ("'1'::int", "int4"),
            ("date '2020-01-01'", "date"),
            ("CASE WHEN a THEN 1 END", "case"),
            ("CASE WHEN a THEN 1 ELSE b END", "b"),
            ("true", "?column?"),
            ("(d::timestamp)::date", "d"),
            ("(f(1)::timestamp)::date", "f"),
            ("(('x' || y)::date)::timestamp", "timestamp"),
            ("CASE WHEN a THEN 1 ELSE 2::int END", "case"),
            ("(SELECT max(x) FROM t)", "max"),
            ("EXISTS (SELECT 1)", "exists"),
            ("NOT EXISTS (SELECT 1)", "?column?"),
            ("substr(a, 2)", "substr"),
            ("substring(a, 2)", "substring"),
            ("sum(a) / sum(b)", "?column?"),
            ("tags[1]", "tags"),
            ("(array[1, 2])[1]", "array"),
            ("('{1}'::int[])[1]", "int4"),
            ("'{1}'::text[]", "text"),
            ("(a, b) OVERLAPS (c, d)", "overlaps"),
            ("(f(x)).n", "n"),
        ] {
            let text = named(&format!("SELECT {expression} FROM t"));
            assert!(
                text.contains(&format!(" AS \"{name}\" FROM t")),
                "{expression}: {text}"
            );
        }
    }

    #[test]
    fn names_that_come_again_are_told_apart_and_lose_their_marks_at_the_end() {
        let text = named("SELECT a, a, count(*), count(*) FROM t");
        assert_eq!(
            text,
            "SELECT a, a AS \"a\u{1}1\", count(*) AS \"count\", count(*) AS \"count\u{1}1\" FROM t"
        );
        let text = named("SELECT a AS x, b AS X FROM t");
        assert_eq!(text, "SELECT a AS x, b AS \"x\u{1}1\" FROM t");
        let field =
            |name: &str| Field::new(name, datafusion::arrow::datatypes::DataType::Int64, true);
        let schema = Schema::new(vec![field("count"), field("count\u{1}1")]);
        let names: Vec<String> = result_schema(&schema)
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect();
        assert_eq!(names, ["count", "count"]);
        let column: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let batch = RecordBatch::try_new(Arc::new(schema), vec![column.clone(), column]);
        let batch = batch.expect("is a batch");
        let renamed = renamed(&batch, &result_schema(&batch.schema())).expect("is renamed");
        assert_eq!(renamed.schema().field(1).name(), "count");
    }
}
