//! Queries on the system catalogs, in a form that DataFusion takes.
//!
//! Clients write these with all that PostgreSQL's grammar offers: casts to `regclass`,
//! `OPERATOR(pg_catalog.~)`, `COLLATE`, lists with `ANY`. `datafusion-pg-catalog` knows
//! how to put them plainly. Its rules are for these queries only; they would change what a
//! user's own query means in small ways.

use std::ops::ControlFlow;
use std::sync::OnceLock;

use datafusion::sql::sqlparser::ast::{
    Expr, ObjectNamePart, Query, SetExpr, Statement as Ast, TableFactor, TableWithJoins, Value,
    ValueWithSpan, VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::Token;
use datafusion_pg_catalog::sql::PostgresCompatibilityParser;
use datafusion_pg_catalog::sql::rules::{
    AliasDuplicatedProjectionRewrite, CurrentUserVariableToSessionUserFunctionCall,
    FixArrayLiteral, FixVersionColumnName, PrependUnqualifiedPgTableName,
    ResolveUnqualifiedIdentifier, RewriteArrayAnyAllOperation, RewritePgCatalogOperator,
    RewriteRegCastToSubquery, SqlStatementRewriteRule, StripCallableQualifier, StripCollate,
};

use super::walk::walk_mut;

/// Types of names that stand for an object's id.
const OBJECT_TYPES: &[&str] = &[
    "regclass",
    "regcollation",
    "regconfig",
    "regdictionary",
    "regnamespace",
    "regoper",
    "regoperator",
    "regproc",
    "regprocedure",
    "regrole",
    "regtype",
];

/// Whether a statement's words are about the system catalogs.
pub(crate) fn is_about_catalogs<'a>(mut tokens: impl Iterator<Item = &'a Token>) -> bool {
    tokens.any(|token| match token {
        Token::Word(word) => {
            let word = word.value.to_ascii_lowercase();
            word.starts_with("pg_")
                || word == "information_schema"
                || OBJECT_TYPES.contains(&word.as_str())
        }
        _ => false,
    })
}

/// Tables that say nothing of the tables here: columns have no defaults and no sequences, and
/// collations no names.
const SILENT_TABLES: [&str; 3] = ["pg_attrdef", "pg_collation", "pg_sequence"];

/// The statement, read from `text`, in plain form.
pub(crate) fn plainly(text: &str, statement: Ast) -> Ast {
    if let Some(known) = known(text) {
        return known;
    }
    static RULES: OnceLock<Vec<Box<dyn SqlStatementRewriteRule>>> = OnceLock::new();
    let rules = RULES.get_or_init(rules);
    // The visitor never breaks off.
    let mut statement = statement;
    _ = walk_mut(&mut statement, &mut Simplifier);
    rules
        .iter()
        .fold(statement, |statement, rule| rule.rewrite(statement))
}

/// psql's question after publications, for which the crate has an answer ready: DataFusion cannot
/// plan it.
fn known(text: &str) -> Option<Ast> {
    if !text.contains("pg_publication_rel") {
        return None;
    }
    let mut statements = PostgresCompatibilityParser::new().parse(text).ok()?;
    match statements.len() {
        1 => statements.pop(),
        _ => None,
    }
}

/// Puts NULL in the place of subqueries that ask silent tables for a value, which DataFusion
/// cannot plan if they are about the row of the query around them; and names in the place of
/// functions' ids, because the catalogs have functions by their names.
struct Simplifier;

impl VisitorMut for Simplifier {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Subquery(query) = expr
            && asks_silent_table(query)
        {
            *expr = Expr::Value(Value::Null.with_empty_span());
        }
        if let Some(name) = function_name(expr) {
            *expr = Expr::Value(Value::SingleQuotedString(name).with_empty_span());
        }
        ControlFlow::Continue(())
    }
}

/// The name in `'pg_catalog.name'::regproc`.
fn function_name(expr: &Expr) -> Option<String> {
    let Expr::Cast {
        expr, data_type, ..
    } = expr
    else {
        return None;
    };
    let Expr::Value(ValueWithSpan {
        value: Value::SingleQuotedString(name),
        ..
    }) = expr.as_ref()
    else {
        return None;
    };
    let type_name = data_type.to_string().to_ascii_lowercase();
    let is_function = type_name.trim_start_matches("pg_catalog.") == "regproc";
    is_function.then(|| name.trim_start_matches("pg_catalog.").to_owned())
}

fn asks_silent_table(query: &Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return false;
    };
    let joined = |from: &TableWithJoins| {
        let others = from.joins.iter().map(|join| &join.relation);
        [&from.relation].into_iter().chain(others).any(is_silent)
    };
    select.from.iter().any(joined)
}

fn is_silent(factor: &TableFactor) -> bool {
    let TableFactor::Table { name, .. } = factor else {
        return false;
    };
    let name = name.0.last().and_then(ObjectNamePart::as_ident);
    name.is_some_and(|name| SILENT_TABLES.contains(&name.value.to_ascii_lowercase().as_str()))
}

/// The crate's rules, but for those that give up: one has NULL in the place of every correlated
/// subquery, and whole questions of some tools get an answer without rows.
fn rules() -> Vec<Box<dyn SqlStatementRewriteRule>> {
    vec![
        Box::new(AliasDuplicatedProjectionRewrite),
        Box::new(ResolveUnqualifiedIdentifier),
        Box::new(RewriteArrayAnyAllOperation),
        Box::new(PrependUnqualifiedPgTableName),
        Box::new(StripCallableQualifier),
        Box::new(FixArrayLiteral),
        Box::new(CurrentUserVariableToSessionUserFunctionCall),
        Box::new(StripCollate),
        Box::new(RewritePgCatalogOperator),
        Box::new(RewriteRegCastToSubquery::new()),
        Box::new(FixVersionColumnName),
    ]
}
