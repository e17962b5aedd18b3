//! The grammar: texts become trees of names and expressions, of which nothing has been looked up yet.
//!
//! Expressions and types are read by `sqlparser`. The frame around them is read here, from its tokens: its
//! grammar is small, so an error can say what is possible, and whatever else the many dialects of
//! `sqlparser` know is refused instead of being passed over.
//!
//! * [`cursor`]: the tokens. [`declaration`]: tables and indexes; [`procedure`]: procedures;
//!   [`statement`]: what procedures are made of.
//! * [`canonical`]: a text without what means nothing.

pub(crate) mod canonical;
pub(crate) mod cursor;
pub(crate) mod declaration;
pub(crate) mod procedure;
pub(crate) mod statement;

use sqlparser::tokenizer::Location;

use cursor::Cursor;
use declaration::{IndexSyntax, TableSyntax};
use procedure::ProcedureSyntax;

use crate::fault::Fault;

/// A name with its place. What is not quoted is in lower case.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) location: Location,
}

/// A statement of a schema file.
pub(crate) enum Declaration {
    Table(TableSyntax),
    Index(IndexSyntax),
    Procedure(ProcedureSyntax),
}

/// A declaration with its canonical text.
pub(crate) struct Declared {
    pub(crate) declaration: Declaration,
    pub(crate) text: String,
}

/// Reads a schema file.
pub(crate) fn declarations(text: &str) -> Result<Vec<Declared>, Fault> {
    let mut cursor = Cursor::new(text)?;
    let mut declared = Vec::new();
    loop {
        while cursor.accept_semicolon() {}
        if cursor.is_at_end() {
            return Ok(declared);
        }
        let start = cursor.index();
        let declaration = declaration::parse(&mut cursor)?;
        declared.push(Declared {
            declaration,
            text: canonical::text(cursor.tokens_since(start)),
        });
        if !cursor.is_at_end() {
            cursor.expect_semicolon()?;
        }
    }
}
