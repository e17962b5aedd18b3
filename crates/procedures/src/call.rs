//! What a client sends, prepared: `CALL procedure(…)`, or a statement on its own.

use std::sync::Arc;

use oltp::{ProcedureNumber, Rejection, Stop};
use sqlparser::ast::Expr;
use sqlparser::tokenizer::Token;

use crate::application::Application;
use crate::datum::Datum;
use crate::encoding::put;
use crate::expression::Node;
use crate::expression::evaluate::{Context, RowAtHand};
use crate::expression::scope::{Scope, Slots};
use crate::fault::{Fault, code, listed};
use crate::procedure::SqlProcedure;
use crate::reply::ReplyColumn;
use crate::sql_type::SqlType;
use crate::statement::Statements;
use crate::syntax::Name;
use crate::syntax::cursor::Cursor;

/// A call or a statement that can be sent to the primary as often as one likes.
pub struct Prepared {
    /// The types of `$1`, `$2`, …
    pub parameters: Vec<SqlType>,
    /// The columns of what it answers, if it answers rows.
    pub answers: Option<Vec<ReplyColumn>>,
    /// What it does.
    pub kind: PreparedKind,
    procedure: ProcedureNumber,
    sent: Sent,
}

/// What a client has asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreparedKind {
    /// CALL
    Call,
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
}

enum Sent {
    /// A procedure's parameters.
    Arguments(Vec<Node>),
    /// A statement's text.
    Text(String),
}

impl Application {
    /// A statement that begins with CALL, INSERT, UPDATE or DELETE. The types of some parameters may be known.
    pub fn prepare(&self, text: &str, declared: &[Option<SqlType>]) -> Result<Prepared, Fault> {
        let mut cursor = Cursor::new(text)?;
        if cursor.accept("CALL") {
            return self.prepare_call(&mut cursor, declared);
        }
        let (kind, procedure, statements) = if cursor.sees("DELETE") {
            (PreparedKind::Delete, Self::DELETIONS, &self.deletions)
        } else if cursor.sees("UPDATE") {
            (PreparedKind::Update, Self::STATEMENTS, &self.statements)
        } else {
            (PreparedKind::Insert, Self::STATEMENTS, &self.statements)
        };
        let statement = statements.compiled(text, declared)?;
        Ok(Prepared {
            parameters: statement.parameters.clone(),
            answers: None,
            kind,
            procedure,
            sent: Sent::Text(text.to_owned()),
        })
    }

    fn prepare_call(
        &self,
        cursor: &mut Cursor,
        declared: &[Option<SqlType>],
    ) -> Result<Prepared, Fault> {
        let name = cursor.public_name("the name of a procedure")?;
        let arguments = arguments(cursor)?;
        while cursor.accept_semicolon() {}
        if !cursor.is_at_end() {
            return Err(cursor.fault("the end of the statement"));
        }
        let (procedure, number) = self.callable(&name)?;
        if arguments.len() != procedure.parameters.len() {
            let message = format!(
                "procedure {} has {} parameters, and the call {} arguments",
                procedure.name,
                procedure.parameters.len(),
                arguments.len()
            );
            return Err(Fault::new(code::UNDEFINED_FUNCTION, message)
                .with_hint(format!("Write CALL {}", procedure.signature()))
                .at(name.location));
        }
        let mut slots = Slots::of_statement(declared);
        let mut nodes = Vec::new();
        for (argument, parameter) in arguments.iter().zip(&procedure.parameters) {
            let mut scope = Scope {
                slots: &mut slots,
                columns: None,
                has_time: false,
                depth: 0,
            };
            let to = format!("parameter \"{}\"", parameter.name);
            nodes.push(scope.assigned(argument, parameter.sql_type, &to)?);
        }
        Ok(Prepared {
            parameters: slots.parameter_types()?,
            answers: procedure.answers.clone(),
            kind: PreparedKind::Call,
            procedure: number,
            sent: Sent::Arguments(nodes),
        })
    }

    fn callable(&self, name: &Name) -> Result<(&Arc<SqlProcedure>, ProcedureNumber), Fault> {
        self.procedure(&name.text).ok_or_else(|| {
            let message = format!("procedure {} does not exist", name.text);
            let signatures: Vec<String> = self.current().map(|p| p.signature()).collect();
            let signatures = listed(signatures.iter().map(String::as_str));
            Fault::new(code::UNDEFINED_FUNCTION, message)
                .with_hint(format!("Procedures: {signatures}"))
                .at(name.location)
        })
    }
}

fn arguments(cursor: &mut Cursor) -> Result<Vec<Expr>, Fault> {
    cursor.expect_token(&Token::LParen)?;
    if cursor.accept_token(&Token::RParen) {
        return Ok(Vec::new());
    }
    let arguments = cursor.separated(Cursor::expression)?;
    if cursor.accept_token(&Token::RParen) {
        Ok(arguments)
    } else {
        Err(cursor.fault("\",\" or \")\""))
    }
}

impl Prepared {
    /// The procedure to call, and its parameters as bytes, for these values of `$1`, `$2`, …
    pub fn call(&self, values: &[Datum<'_>]) -> Result<(ProcedureNumber, Vec<u8>), Rejection> {
        let bytes = match &self.sent {
            Sent::Text(text) => Statements::encode(text, &self.parameters, values),
            Sent::Arguments(arguments) => encode(arguments, values)?,
        };
        Ok((self.procedure, bytes))
    }
}

/// The values of arguments behind their number.
fn encode(arguments: &[Node], values: &[Datum<'_>]) -> Result<Vec<u8>, Rejection> {
    let mut bytes = (arguments.len() as u16).to_le_bytes().to_vec();
    let context = Context {
        slots: values,
        row: RowAtHand::None,
        time_us: 0,
    };
    for argument in arguments {
        match argument.evaluate(&context) {
            Ok(datum) => put(&datum, &mut bytes),
            Err(Stop::Rejected(rejection)) => return Err(*rejection),
            Err(_) => unreachable!("there is no row that could be on disk"),
        }
    }
    Ok(bytes)
}
