//! `PREPARE`, `EXECUTE`, `DEALLOCATE`, `DECLARE`, `FETCH`, `MOVE` and `CLOSE`.
//!
//! What they name belongs to a connection, where the protocol's own messages name the same things:
//! a session only knows what they say.

use datafusion::sql::sqlparser::tokenizer::Token;

use super::{Fault, Tokens};
use crate::error::{SqlError, code};
use crate::pg_type;
use crate::statement::Statement;

/// A command about a prepared statement or a cursor.
#[derive(Clone, Debug)]
pub enum NamedCommand {
    /// `PREPARE name [(type, …)] AS statement`
    Prepare {
        /// Of the statement.
        name: String,
        /// The types that are declared of its parameters; 0: to be found out.
        parameter_oids: Vec<u32>,
        /// What is prepared.
        statement: Statement,
    },
    /// `EXECUTE name [(value, …)]`
    Execute {
        /// Of a prepared statement.
        name: String,
        /// A query that gives the values as its only row.
        values: Option<Statement>,
    },
    /// `DEALLOCATE [PREPARE] name`; `None` for `ALL`.
    Deallocate(Option<String>),
    /// `DECLARE name CURSOR FOR query`
    Declare {
        /// Of the cursor.
        name: String,
        /// Whether it outlives its transaction (`WITH HOLD`).
        is_held: bool,
        /// What it goes through.
        query: Statement,
    },
    /// `FETCH [direction] [FROM | IN] name`
    Fetch(Steps),
    /// `MOVE [direction] [FROM | IN] name`
    Move(Steps),
    /// `CLOSE name`; `None` for `ALL`.
    Close(Option<String>),
}

/// How a cursor goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The cursor's name.
    pub cursor: String,
    /// Rows to pass over first.
    pub skipped: u64,
    /// Rows to go through then, at most.
    pub rows: u64,
}

/// Parses the command that starts with `first` (upper case) and goes on with `rest`. `nested` parses the
/// statement that begins at one of these tokens, `selected` a list of values there as a query of them.
/// `None`: no such command.
pub(crate) fn parse(
    first: &str,
    rest: &[&Token],
    nested: impl Fn(usize) -> Result<Statement, SqlError>,
    selected: impl Fn(usize) -> Result<Statement, SqlError>,
) -> Option<Result<NamedCommand, Fault>> {
    let mut tokens = Tokens { rest, next: 0 };
    let parsed = match first {
        "PREPARE" if tokens.peek() == "TRANSACTION" => {
            Err(Fault::Refused(SqlError::not_supported("two-phase commit")))
        }
        "PREPARE" => tokens.prepare(nested),
        "EXECUTE" => tokens.execute(selected),
        "DEALLOCATE" => {
            tokens.accept("PREPARE");
            tokens.name_or_all().map(NamedCommand::Deallocate)
        }
        "DECLARE" => tokens.declare(nested),
        "FETCH" => tokens.steps().map(NamedCommand::Fetch),
        "MOVE" => tokens.steps().map(NamedCommand::Move),
        "CLOSE" => tokens.name_or_all().map(NamedCommand::Close),
        _ => return None,
    };
    Some(parsed.and_then(|command| tokens.end().map(|()| command)))
}

impl Tokens<'_> {
    fn name_or_all(&mut self) -> Result<Option<String>, Fault> {
        match self.accept("ALL") {
            true => Ok(None),
            false => self.name().map(Some),
        }
    }

    fn prepare(
        &mut self,
        nested: impl Fn(usize) -> Result<Statement, SqlError>,
    ) -> Result<NamedCommand, Fault> {
        let name = self.name()?;
        let mut parameter_oids = Vec::new();
        if self.accept_token(&Token::LParen) {
            loop {
                parameter_oids.push(self.type_oid()?);
                if !self.accept_token(&Token::Comma) {
                    break;
                }
            }
            if !self.accept_token(&Token::RParen) {
                return Err(Fault::At(self.next));
            }
        }
        self.expect("AS")?;
        let statement = self.nested(nested)?;
        Ok(NamedCommand::Prepare {
            name,
            parameter_oids,
            statement,
        })
    }

    /// The statement that the rest is.
    fn nested(
        &mut self,
        nested: impl Fn(usize) -> Result<Statement, SqlError>,
    ) -> Result<Statement, Fault> {
        let begin = self.next;
        let statement = nested(begin).map_err(Fault::Wrong)?;
        // Only what reads or writes has a plan that could be kept.
        if !statement.is_planned() {
            return Err(Fault::At(begin));
        }
        self.skip();
        Ok(statement)
    }

    /// A type: words, and what is in parentheses or brackets behind them. That of a source's own is found
    /// out from what the parameter is compared with.
    fn type_oid(&mut self) -> Result<u32, Fault> {
        let mut name = self.name()?;
        if name == "pg_catalog" && self.accept_token(&Token::Period) {
            name = self.name()?;
        }
        loop {
            match self.rest.get(self.next) {
                Some(Token::Word(_)) => name = format!("{name} {}", self.name()?),
                Some(Token::LParen) => {
                    while !self.accept_token(&Token::RParen) {
                        if self.next >= self.rest.len() {
                            return Err(Fault::At(self.next));
                        }
                        self.next += 1;
                    }
                }
                _ => break,
            }
        }
        let item = pg_type::by_name(&name).unwrap_or(0);
        if !self.accept_token(&Token::LBracket) {
            return Ok(item);
        }
        match self.accept_token(&Token::RBracket) {
            true => Ok(pg_type::array_oid(item)),
            false => Err(Fault::At(self.next)),
        }
    }

    fn execute(
        &mut self,
        selected: impl Fn(usize) -> Result<Statement, SqlError>,
    ) -> Result<NamedCommand, Fault> {
        let name = self.name()?;
        let mut values = None;
        if self.rest.get(self.next) == Some(&&Token::LParen) {
            if self.rest.last() != Some(&&Token::RParen) {
                return Err(Fault::At(self.rest.len()));
            }
            values = Some(selected(self.next).map_err(Fault::Wrong)?);
            self.skip();
        }
        Ok(NamedCommand::Execute { name, values })
    }

    /// `name [ASENSITIVE | INSENSITIVE] [NO SCROLL] CURSOR [WITH HOLD | WITHOUT HOLD] FOR query`
    fn declare(
        &mut self,
        nested: impl Fn(usize) -> Result<Statement, SqlError>,
    ) -> Result<NamedCommand, Fault> {
        let name = self.name()?;
        loop {
            match self.peek().as_str() {
                "ASENSITIVE" | "INSENSITIVE" => self.next += 1,
                "NO" => {
                    self.next += 1;
                    self.expect("SCROLL")?;
                }
                "SCROLL" => return Err(refused("scrollable cursors")),
                "BINARY" => return Err(refused("DECLARE BINARY CURSOR")),
                _ => break,
            }
        }
        self.expect("CURSOR")?;
        let is_held = self.accept("WITH");
        if is_held || self.accept("WITHOUT") {
            self.expect("HOLD")?;
        }
        self.expect("FOR")?;
        let query = self.nested(nested)?;
        Ok(NamedCommand::Declare {
            name,
            is_held,
            query,
        })
    }

    /// `[direction] [FROM | IN] cursor`
    fn steps(&mut self) -> Result<Steps, Fault> {
        // A cursor may be called like a direction: then nothing comes behind its name.
        let has_direction =
            self.next + 1 < self.rest.len() && self.peek() != "FROM" && self.peek() != "IN";
        let (skipped, rows) = match has_direction {
            true => self.direction()?,
            false => (0, 1),
        };
        if !self.accept("FROM") {
            self.accept("IN");
        }
        let cursor = self.name()?;
        Ok(Steps {
            cursor,
            skipped,
            rows,
        })
    }

    /// Rows to pass over, and to go through.
    fn direction(&mut self) -> Result<(u64, u64), Fault> {
        if self.accept("NEXT") {
            return Ok((0, 1));
        }
        if self.accept("RELATIVE") {
            return match self.count()? {
                0 => Err(backward()),
                rows => Ok((rows - 1, 1)),
            };
        }
        let rows = match self.peek().as_str() {
            "PRIOR" | "FIRST" | "LAST" | "ABSOLUTE" | "BACKWARD" => return Err(backward()),
            "FORWARD" if matches!(self.word_after(1).as_str(), "FROM" | "IN") => 1,
            _ => 0,
        };
        let is_forward = self.accept("FORWARD");
        if rows > 0 {
            return Ok((0, rows));
        }
        if self.accept("ALL") {
            return Ok((0, u64::MAX));
        }
        if is_forward && matches!(self.rest.get(self.next), Some(Token::Word(_))) {
            return Ok((0, 1));
        }
        match self.count()? {
            0 => Err(backward()),
            rows => Ok((0, rows)),
        }
    }

    fn count(&mut self) -> Result<u64, Fault> {
        if self.accept_token(&Token::Minus) {
            return Err(backward());
        }
        self.accept_token(&Token::Plus);
        let count = match self.rest.get(self.next) {
            Some(Token::Number(digits, _)) => digits.parse().ok(),
            _ => None,
        };
        let count = count.ok_or(Fault::At(self.next))?;
        self.next += 1;
        Ok(count)
    }
}

fn refused(what: &str) -> Fault {
    Fault::Refused(SqlError::not_supported(what))
}

/// Rows that have been given are not kept.
fn backward() -> Fault {
    let message = "cursor can only scan forward";
    Fault::Refused(SqlError::new(
        code::OBJECT_NOT_IN_PREREQUISITE_STATE,
        message,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::parse;

    fn named(sql: &str) -> NamedCommand {
        let statements = parse(sql).expect("parses");
        statements[0].named().expect("is one").clone()
    }

    fn steps(sql: &str) -> (String, u64, u64) {
        match named(sql) {
            NamedCommand::Fetch(steps) | NamedCommand::Move(steps) => {
                (steps.cursor, steps.skipped, steps.rows)
            }
            other => panic!("{other:?} has no steps"),
        }
    }

    #[test]
    fn cursors_go_forward_so_many_rows() {
        let c = |skipped, rows| ("c".to_owned(), skipped, rows);
        for (sql, expected) in [
            ("fetch c", c(0, 1)),
            ("fetch from c", c(0, 1)),
            ("FETCH NEXT IN c", c(0, 1)),
            ("fetch 10 from c", c(0, 10)),
            ("fetch 10 c", c(0, 10)),
            ("fetch forward c", c(0, 1)),
            ("fetch forward from \"c\"", c(0, 1)),
            ("fetch forward 7 from c", c(0, 7)),
            ("fetch forward all from c", c(0, u64::MAX)),
            ("fetch all in c", c(0, u64::MAX)),
            ("move relative 3 from c", c(2, 1)),
        ] {
            assert_eq!(steps(sql), expected, "{sql}");
        }
        assert_eq!(steps("fetch next"), ("next".to_owned(), 0, 1));
        for sql in [
            "fetch prior from c",
            "fetch -1 from c",
            "move backward all in c",
        ] {
            let statements = parse(sql).expect("parses");
            assert!(statements[0].named().is_none(), "{sql}");
        }
    }

    #[test]
    fn what_is_prepared_or_declared_is_a_statement_of_its_own() {
        let NamedCommand::Prepare {
            name,
            parameter_oids,
            statement,
        } = named("prepare p (int, character varying(3), uuid[], mood) as select $1, $2")
        else {
            panic!("it is a PREPARE");
        };
        assert_eq!((name.as_str(), statement.text()), ("p", "select $1, $2"));
        assert_eq!(parameter_oids, [23, 1043, 2951, 0]);
        let NamedCommand::Declare { is_held, query, .. } =
            named("declare c insensitive no scroll cursor with hold for select 1")
        else {
            panic!("it is a DECLARE");
        };
        assert!(is_held && query.text() == "select 1");
        let NamedCommand::Execute { values, .. } = named("execute p (1, f(2, 3))") else {
            panic!("it is an EXECUTE");
        };
        assert_eq!(values.expect("two").text(), "select 1, f(2, 3)");
    }

    #[test]
    fn wrong_ones_are_told_where() {
        for (sql, message, position) in [
            ("prepare p as show all", "\"show\"", 14),
            ("declare c cursor for select 1 frm t where", "\"t\"", 35),
            ("fetch 1 from", "end of input", 13),
        ] {
            let error = parse(sql).expect_err(sql);
            assert!(error.message.contains(message), "{sql}: {error}");
            assert_eq!(error.position, Some(position), "{sql}");
        }
    }
}
