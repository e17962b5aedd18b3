//! Queries on the system catalogs, in a form that DataFusion takes.
//!
//! Clients write these with all that PostgreSQL's grammar offers: casts to `regclass`,
//! `OPERATOR(pg_catalog.~)`, `COLLATE`, arrays out of subqueries. `datafusion-pg-catalog` knows
//! how to put them plainly. Its rules are for these queries only; they would change what a
//! user's own query means in small ways.

use std::sync::OnceLock;

use datafusion::sql::sqlparser::ast::Statement as Ast;
use datafusion::sql::sqlparser::tokenizer::Token;
use datafusion_pg_catalog::sql::PostgresCompatibilityParser;

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

/// The statement in plain form; `None` where that cannot be done.
pub(crate) fn plainly(text: &str) -> Option<Ast> {
    static PARSER: OnceLock<PostgresCompatibilityParser> = OnceLock::new();
    let parser = PARSER.get_or_init(PostgresCompatibilityParser::new);
    let mut statements = parser.parse(text).ok()?;
    match statements.len() {
        1 => statements.pop(),
        _ => None,
    }
}
