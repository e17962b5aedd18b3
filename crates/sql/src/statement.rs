//! Statements: SQL text cut and parsed.
//!
//! 1. The text is cut into tokens, and the tokens into statements at semicolons.
//! 2. A statement's first word tells its kind: a query is parsed by `sqlparser`, a command of
//!    the session by [`crate::command`]. What the built-in primary may take is not looked into here
//!    ([`crate::writes`]); anything else that writes is refused at once.
//!
//! A text with an error anywhere gives no statement at all, as in PostgreSQL. A refused
//! statement is no error here: it fails when it is run, in its place among the others.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{Query, SetExpr, Statement as Ast};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use crate::command::named::NamedCommand;
use crate::command::{self, Command, Fault};
use crate::copy::{self, CopyOptions};
use crate::error::{SqlError, code};
use crate::lookup::LookUp;
use crate::lookup::shape::Shape;
use crate::rewrite::system::{is_about_catalogs, plainly};
use crate::rewrite::{
    array_arguments, arrays, column_names, distinct_from, distinct_sorting, from_functions,
    grouping_sets, json_aggregates, limits, operators, quantified_arrays, row_membership,
    subquery_names, symmetric_ranges, tokens, value_lists, whole_rows,
};
use crate::writes::Write;

/// One parsed statement. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Statement {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    text: String,
    /// Characters of the text before it.
    start: usize,
    parameters: usize,
    kind: StatementKind,
    look_up: Option<LookUp>,
    copy: Option<CopyOptions>,
}

/// What a statement is, for the session.
#[derive(Debug)]
pub(crate) enum StatementKind {
    /// Gives rows.
    Query(Box<Ast>),
    /// Is about the session.
    Command(Command),
    /// Is about what has a name in a connection.
    Named(NamedCommand),
    /// Calls a procedure or changes rows, if there is a primary; with its first word.
    Write(&'static str, Write),
    /// Fails when it is run.
    Refused(SqlError),
}

impl Statement {
    /// The statement's own text, without the semicolon.
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// The largest `n` of its `$n`.
    pub fn parameter_count(&self) -> usize {
        self.inner.parameters
    }

    /// How its rows are to be written, if it is a COPY.
    pub fn copy(&self) -> Option<&CopyOptions> {
        self.inner.copy.as_ref()
    }

    /// What it says, if it is about a prepared statement or a cursor: that is for the connection to carry
    /// out.
    pub fn named(&self) -> Option<&NamedCommand> {
        match &self.inner.kind {
            StatementKind::Named(command) => Some(command),
            _ => None,
        }
    }

    /// Whether it reads or writes rows, or would.
    pub(crate) fn is_planned(&self) -> bool {
        let kind = &self.inner.kind;
        !matches!(kind, StatementKind::Command(_) | StatementKind::Named(_))
    }

    /// What it looks up, if it asks for rows by key.
    pub(crate) fn look_up(&self) -> Option<&LookUp> {
        self.inner.look_up.as_ref()
    }

    /// Characters in front of it, in the text that it was a part of.
    pub(crate) fn start(&self) -> usize {
        self.inner.start
    }

    pub(crate) fn kind(&self) -> &StatementKind {
        &self.inner.kind
    }
}

/// Cuts a text into its statements (none for an empty text).
pub fn parse(sql: &str) -> Result<Vec<Statement>, SqlError> {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql)
        .tokenize_with_location()
        .map_err(|error| syntax_error(sql, &error.message, error.location))?;
    tokens
        .split(|token| token.token == Token::SemiColon)
        .filter(|tokens| tokens.iter().any(|token| !is_blank(token)))
        .map(|tokens| parse_one(sql, tokens))
        .collect()
}

fn is_blank(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_) | Token::EOF)
}

/// Parses the tokens of one statement (at least one that is not blank).
fn parse_one(sql: &str, tokens: &[TokenWithSpan]) -> Result<Statement, SqlError> {
    let words: Vec<&TokenWithSpan> = tokens.iter().filter(|token| !is_blank(token)).collect();
    let first = words[0];
    let text = text_of(sql, tokens);
    let parameters = words
        .iter()
        .filter_map(|token| parameter_number(&token.token))
        .max();
    let parsed = match &first.token {
        Token::Word(word) if word.quote_style.is_none() => match word.keyword {
            Keyword::SELECT | Keyword::WITH | Keyword::VALUES | Keyword::TABLE => {
                parse_query(sql, tokens)?
            }
            Keyword::EXPLAIN => parse_query(sql, tokens)?,
            Keyword::COPY => parse_copy(sql, tokens)?,
            _ => Parsed::of(parse_other(sql, &word.value, tokens, &words)?),
        },
        Token::LParen => parse_query(sql, tokens)?,
        _ => return Err(near(sql, first)),
    };
    let parameters = match &parsed.kind {
        // Those in there get their values later.
        StatementKind::Named(NamedCommand::Prepare { .. }) => None,
        _ => parameters,
    };
    Ok(Statement {
        inner: Arc::new(Inner {
            text,
            start: character(sql, first.span.start) - 1,
            parameters: parameters.unwrap_or(0),
            kind: parsed.kind,
            look_up: parsed.look_up,
            copy: parsed.copy,
        }),
    })
}

fn parameter_number(token: &Token) -> Option<usize> {
    match token {
        Token::Placeholder(text) => text.strip_prefix('$')?.parse().ok(),
        _ => None,
    }
}

/// A statement's kind and what is known of it besides.
struct Parsed {
    kind: StatementKind,
    look_up: Option<LookUp>,
    copy: Option<CopyOptions>,
}

impl Parsed {
    /// Of which nothing else is known.
    fn of(kind: StatementKind) -> Self {
        Self {
            kind,
            look_up: None,
            copy: None,
        }
    }
}

fn parse_query(sql: &str, tokens: &[TokenWithSpan]) -> Result<Parsed, SqlError> {
    let statement = parse_whole(sql, tokens)?;
    if let Some(error) = refusal(&statement) {
        return Ok(Parsed::of(StatementKind::Refused(error)));
    }
    let look_up = Shape::of(&statement).map(LookUp::new);
    let words = tokens.iter().map(|token| &token.token);
    let statement = if is_about_catalogs(words) {
        plainly(&text_of(sql, tokens), statement)
    } else {
        statement
    };
    Ok(Parsed {
        look_up,
        ..Parsed::of(query(statement))
    })
}

/// COPY: a query, and how its rows are to be written.
fn parse_copy(sql: &str, tokens: &[TokenWithSpan]) -> Result<Parsed, SqlError> {
    let has = |keyword| {
        let is = |token: &TokenWithSpan| matches!(&token.token, Token::Word(word) if word.keyword == keyword);
        tokens.iter().any(is)
    };
    if has(Keyword::FROM) && !has(Keyword::TO) {
        let error = SqlError::read_only("COPY FROM");
        return Ok(Parsed::of(StatementKind::Refused(error)));
    }
    let statement = parse_whole(sql, tokens)?;
    let (statement, options) = match copy::planned(&statement) {
        Some(Ok((query, options))) => (Ast::Query(query), options),
        Some(Err(error)) => return Ok(Parsed::of(StatementKind::Refused(error))),
        None => return Err(at_end(sql)),
    };
    if let Some(error) = refusal(&statement) {
        return Ok(Parsed::of(StatementKind::Refused(error)));
    }
    Ok(Parsed {
        copy: Some(options),
        ..Parsed::of(query(statement))
    })
}

/// The syntax tree of all tokens.
fn parse_whole(sql: &str, tokens: &[TokenWithSpan]) -> Result<Ast, SqlError> {
    let dialect = PostgreSqlDialect {};
    let mut parser = Parser::new(&dialect).with_tokens_with_locations(tokens::readable(tokens));
    let statement = parser
        .parse_statement()
        .map_err(|error| parser_error(sql, error))?;
    let next = parser.peek_token();
    if next.token != Token::EOF {
        return Err(near(sql, &next));
    }
    Ok(statement)
}

/// A query in the form that the planner takes.
fn query(mut statement: Ast) -> StatementKind {
    distinct_from::rewrite(&mut statement);
    distinct_sorting::rewrite(&mut statement);
    grouping_sets::rewrite(&mut statement);
    column_names::add(&mut statement);
    value_lists::rewrite(&mut statement);
    symmetric_ranges::rewrite(&mut statement);
    row_membership::rewrite(&mut statement);
    quantified_arrays::rewrite(&mut statement);
    arrays::rewrite(&mut statement);
    from_functions::rewrite(&mut statement);
    whole_rows::rewrite(&mut statement);
    json_aggregates::rewrite(&mut statement);
    limits::rewrite(&mut statement);
    operators::rewrite(&mut statement);
    array_arguments::rewrite(&mut statement);
    subquery_names::rewrite(&mut statement);
    StatementKind::Query(Box::new(statement))
}

/// The text of a statement's tokens (at least one that is not blank).
fn text_of(sql: &str, tokens: &[TokenWithSpan]) -> String {
    let mut words = tokens.iter().filter(|token| !is_blank(token));
    let first = words.next().expect("a statement has a word");
    let last = words.next_back().unwrap_or(first);
    slice(sql, first.span.start, last.span.end).to_owned()
}

/// Why a statement that looks like a query is none that reads.
fn refusal(statement: &Ast) -> Option<SqlError> {
    match statement {
        Ast::Query(query) => query_refusal(query),
        Ast::Explain { statement, .. } => refusal(statement),
        Ast::Insert(_) => Some(SqlError::read_only("INSERT")),
        Ast::Update(_) => Some(SqlError::read_only("UPDATE")),
        Ast::Delete(_) => Some(SqlError::read_only("DELETE")),
        Ast::Merge(_) => Some(SqlError::read_only("MERGE")),
        other => Some(SqlError::not_supported(first_word(&other.to_string()))),
    }
}

fn query_refusal(query: &Query) -> Option<SqlError> {
    if !query.locks.is_empty() {
        return Some(SqlError::read_only("SELECT FOR UPDATE"));
    }
    let common = query.with.iter().flat_map(|with| &with.cte_tables);
    common
        .filter_map(|table| query_refusal(&table.query))
        .next()
        .or_else(|| body_refusal(&query.body))
}

fn body_refusal(body: &SetExpr) -> Option<SqlError> {
    match body {
        SetExpr::Insert(_) => Some(SqlError::read_only("INSERT")),
        SetExpr::Update(_) => Some(SqlError::read_only("UPDATE")),
        SetExpr::Delete(_) => Some(SqlError::read_only("DELETE")),
        SetExpr::Merge(_) => Some(SqlError::read_only("MERGE")),
        SetExpr::Select(select) if select.into.is_some() => {
            Some(SqlError::read_only("SELECT INTO"))
        }
        SetExpr::Query(query) => query_refusal(query),
        SetExpr::SetOperation { left, right, .. } => {
            body_refusal(left).or_else(|| body_refusal(right))
        }
        _ => None,
    }
}

fn first_word(text: &str) -> String {
    text.split_whitespace()
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// What a primary takes.
const WRITES: [&str; 4] = ["CALL", "INSERT", "UPDATE", "DELETE"];

/// A statement that is no query, by its first word.
fn parse_other(
    sql: &str,
    first: &str,
    tokens: &[TokenWithSpan],
    words: &[&TokenWithSpan],
) -> Result<StatementKind, SqlError> {
    let plain: Vec<&Token> = words.iter().map(|token| &token.token).collect();
    let upper = first.to_ascii_uppercase();
    let command = command::parse(&upper, &plain[1..]);
    let command = command.map(|command| command.map(StatementKind::Command));
    let command = command.or_else(|| {
        let named = parse_named(sql, &upper, tokens, words)?;
        Some(named.map(StatementKind::Named))
    });
    match command {
        Some(Ok(kind)) => return Ok(kind),
        Some(Err(Fault::At(index))) => {
            let token = words.get(index + 1);
            return Err(token.map_or_else(|| at_end(sql), |token| near(sql, token)));
        }
        Some(Err(Fault::Wrong(error))) => return Err(error),
        Some(Err(Fault::Refused(error))) => return Ok(StatementKind::Refused(error)),
        None => {}
    }
    if let Some(word) = WRITES.iter().find(|word| **word == upper) {
        return Ok(StatementKind::Write(word, Write::default()));
    }
    match upper.as_str() {
        "MERGE" | "TRUNCATE" | "GRANT" | "REVOKE" | "COMMENT" | "VACUUM" | "REINDEX"
        | "CLUSTER" | "REFRESH" | "IMPORT" | "REASSIGN" | "LOCK" => {
            Ok(StatementKind::Refused(SqlError::read_only(&upper)))
        }
        "CREATE" | "ALTER" | "DROP" => {
            let object = plain
                .get(1)
                .map(|token| token.to_string().to_ascii_uppercase());
            let what = format!("{upper} {}", object.unwrap_or_default());
            Ok(StatementKind::Refused(SqlError::read_only(what.trim_end())))
        }
        "ANALYZE" | "CHECKPOINT" | "DO" | "LISTEN" | "LOAD" | "NOTIFY" | "SECURITY" => {
            Ok(StatementKind::Refused(SqlError::not_supported(upper)))
        }
        _ => Err(near(sql, words[0])),
    }
}

/// A command about what has a name, and the statements in it. `None`: it is none.
fn parse_named(
    sql: &str,
    first: &str,
    tokens: &[TokenWithSpan],
    words: &[&TokenWithSpan],
) -> Option<Result<NamedCommand, Fault>> {
    let plain: Vec<&Token> = words[1..].iter().map(|token| &token.token).collect();
    let nested = |index: usize| {
        let first = words.get(index + 1).ok_or_else(|| at_end(sql))?;
        let starts = |token: &TokenWithSpan| token.span == first.span && !is_blank(token);
        let start = tokens.iter().position(starts);
        parse_one(sql, &tokens[start.expect("it is one of them")..])
    };
    let selected = |index: usize| {
        let (open, close) = (words[index + 1], words[words.len() - 1]);
        let values = slice(sql, open.span.end, close.span.start);
        let mut statements = parse(&format!("select {values}")).map_err(|mut error| {
            error.position = None;
            error
        })?;
        match statements.len() {
            1 => Ok(statements.remove(0)),
            _ => Err(near(sql, open)),
        }
    };
    command::named::parse(first, &plain, nested, selected)
}

/// `syntax error at or near …`
fn near(sql: &str, token: &TokenWithSpan) -> SqlError {
    if token.token == Token::EOF {
        return at_end(sql);
    }
    let shown = slice(sql, token.span.start, token.span.end);
    let mut error = SqlError::new(
        code::SYNTAX_ERROR,
        format!("syntax error at or near \"{shown}\""),
    );
    error.position = Some(character(sql, token.span.start));
    error
}

fn at_end(sql: &str) -> SqlError {
    let mut error = SqlError::new(code::SYNTAX_ERROR, "syntax error at end of input");
    error.position = Some(sql.chars().count() + 1);
    error
}

fn syntax_error(sql: &str, message: &str, location: Location) -> SqlError {
    let mut error = SqlError::new(code::SYNTAX_ERROR, format!("syntax error: {message}"));
    error.position = Some(character(sql, location));
    error
}

/// Turns `Expected: x, found: y at Line: 1, Column: 8` into PostgreSQL's form.
fn parser_error(sql: &str, error: ParserError) -> SqlError {
    let ParserError::ParserError(message) = &error else {
        return SqlError::from(error);
    };
    let Some((expected, rest)) = message.split_once(", found: ") else {
        return SqlError::new(code::SYNTAX_ERROR, format!("syntax error: {message}"));
    };
    let (found, place) = rest.rsplit_once(" at Line: ").unwrap_or((rest, ""));
    if found == "EOF" {
        return at_end(sql).with_detail(format!("{expected}."));
    }
    let mut mapped = SqlError::new(
        code::SYNTAX_ERROR,
        format!("syntax error at or near \"{found}\""),
    )
    .with_detail(format!("{expected}."));
    mapped.position = place.split_once(", Column: ").and_then(|(line, column)| {
        let location = Location {
            line: line.parse().ok()?,
            column: column.parse().ok()?,
        };
        Some(character(sql, location))
    });
    mapped
}

/// The byte at a location (lines and columns count from 1, columns in characters).
fn offset(sql: &str, location: Location) -> usize {
    let line = usize::try_from(location.line.saturating_sub(1)).unwrap_or(usize::MAX);
    let column = usize::try_from(location.column.saturating_sub(1)).unwrap_or(usize::MAX);
    let start = match line {
        0 => 0,
        _ => sql
            .match_indices('\n')
            .nth(line - 1)
            .map_or(sql.len(), |(index, _)| index + 1),
    };
    sql[start..]
        .char_indices()
        .nth(column)
        .map_or(sql.len(), |(index, _)| start + index)
}

/// The same in characters from 1, as the wire counts.
fn character(sql: &str, location: Location) -> usize {
    sql[..offset(sql, location)].chars().count() + 1
}

fn slice(sql: &str, start: Location, end: Location) -> &str {
    &sql[offset(sql, start)..offset(sql, end)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(sql: &str) -> Statement {
        let mut statements = parse(sql).expect("parses");
        assert_eq!(statements.len(), 1, "{sql}");
        statements.remove(0)
    }

    #[test]
    fn a_text_is_cut_at_semicolons_outside_of_strings_and_comments() {
        let statements = parse("select ';' -- ;\n; ;\n select $$;$$ /* ; */;").expect("parses");
        let texts: Vec<&str> = statements.iter().map(Statement::text).collect();
        assert_eq!(texts, ["select ';'", "select $$;$$"]);
        assert!(parse(" ; -- nothing").expect("parses").is_empty());
    }

    #[test]
    fn parameters_are_counted_by_number() {
        assert_eq!(only("select $2, $1, '$9'").parameter_count(), 2);
    }

    #[test]
    fn writes_are_refused_when_run_and_not_before() {
        for sql in [
            "with x as (select 1) delete from t",
            "create table t (a int)",
            "truncate t",
            "copy t from stdin",
            "select * into t from u",
            "select * from t for update",
            "explain analyze delete from t",
        ] {
            let statement = only(sql);
            let StatementKind::Refused(error) = statement.kind() else {
                panic!("{sql} is not refused");
            };
            assert_eq!(error.code, "25006", "{sql}");
        }
    }

    #[test]
    fn what_a_primary_may_take_is_left_to_it() {
        let statements = parse("select 1; call p(1); Insert nonsense").expect("parses");
        let words: Vec<_> = statements
            .iter()
            .map(|statement| match statement.kind() {
                StatementKind::Write(word, _) => *word,
                _ => "",
            })
            .collect();
        assert_eq!(words, ["", "CALL", "INSERT"]);
        assert_eq!(statements[1].start(), 10);
    }

    #[test]
    fn a_syntax_error_names_the_token_and_its_place() {
        let error = parse("select 1;\nselect 'é' frm t where").expect_err("is wrong");
        assert_eq!(error.code, "42601");
        assert_eq!(error.message, "syntax error at or near \"t\"");
        assert_eq!(error.position, Some(26));
        let error = parse("selct 1").expect_err("is wrong");
        assert_eq!(
            (error.message.as_str(), error.position),
            ("syntax error at or near \"selct\"", Some(1))
        );
    }
}
