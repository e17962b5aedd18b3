//! `CREATE PROCEDURE`.

use sqlparser::ast::Expr;
use sqlparser::tokenizer::Token;

use super::Name;
use super::cursor::Cursor;
use super::statement::{self, StatementSyntax};
use crate::fault::Fault;
use crate::sql_type::SqlType;

/// A procedure.
pub(crate) struct ProcedureSyntax {
    pub(crate) name: Name,
    pub(crate) parameters: Vec<VariableSyntax>,
    pub(crate) variables: Vec<VariableSyntax>,
    pub(crate) body: Vec<StatementSyntax>,
}

/// A parameter or a variable.
pub(crate) struct VariableSyntax {
    pub(crate) name: Name,
    pub(crate) sql_type: SqlType,
    /// What a variable begins with.
    pub(crate) default: Option<Expr>,
}

/// What comes after `CREATE PROCEDURE`.
pub(crate) fn parse(cursor: &mut Cursor) -> Result<ProcedureSyntax, Fault> {
    let name = cursor.public_name("the name of the procedure")?;
    let parameters = parameters(cursor)?;
    if cursor.accept("LANGUAGE") {
        cursor.expect("SQL")?;
    }
    // PostgreSQL has no AS in front of a body in SQL, the standard neither.
    cursor.accept("AS");
    cursor.expect("BEGIN ATOMIC")?;
    let variables = declarations(cursor)?;
    let body = statement::list(cursor, &["END"])?;
    cursor.expect("END")?;
    Ok(ProcedureSyntax {
        name,
        parameters,
        variables,
        body,
    })
}

fn parameters(cursor: &mut Cursor) -> Result<Vec<VariableSyntax>, Fault> {
    cursor.expect_token(&Token::LParen)?;
    if cursor.accept_token(&Token::RParen) {
        return Ok(Vec::new());
    }
    let parameters = cursor.separated(|cursor| {
        cursor.accept("IN");
        variable(cursor, "the name of a parameter")
    })?;
    if cursor.accept_token(&Token::RParen) {
        Ok(parameters)
    } else {
        Err(cursor.fault("\",\" or \")\""))
    }
}

fn variable(cursor: &mut Cursor, what: &str) -> Result<VariableSyntax, Fault> {
    let name = cursor.name(what)?;
    let location = cursor.location();
    let sql_type = SqlType::of(&cursor.data_type()?).map_err(|fault| fault.at(location))?;
    Ok(VariableSyntax {
        name,
        sql_type,
        default: None,
    })
}

/// `DECLARE name type [DEFAULT expression];`, any number of them.
fn declarations(cursor: &mut Cursor) -> Result<Vec<VariableSyntax>, Fault> {
    let mut variables = Vec::new();
    while cursor.accept("DECLARE") {
        let mut declared = variable(cursor, "the name of a variable")?;
        if cursor.accept("DEFAULT") {
            declared.default = Some(cursor.expression()?);
        }
        cursor.expect_semicolon()?;
        variables.push(declared);
    }
    Ok(variables)
}
