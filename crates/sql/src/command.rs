//! The commands of a session: transactions, settings and their like.
//!
//! They are parsed here, from tokens, because PostgreSQL's grammar for them is small and the
//! SQL parser's is that of many dialects at once (`SHOW tables` is a setting's name here). The only
//! commands that change something for others, `CREATE` and `DROP PROJECTION`, no other dialect has.
//! [`named`]: those about prepared statements and cursors, which a connection carries out.

pub(crate) mod named;
mod projection;

use datafusion::sql::sqlparser::tokenizer::Token;

use crate::error::SqlError;

/// A command of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// `BEGIN` or `START TRANSACTION`, with its tag.
    Begin {
        tag: &'static str,
        isolation: Option<String>,
    },
    /// `COMMIT`, `END`
    Commit { chain: bool },
    /// `ROLLBACK`, `ABORT`
    Rollback { chain: bool },
    /// `SAVEPOINT name`
    Savepoint(String),
    /// `RELEASE SAVEPOINT name`
    Release(String),
    /// `ROLLBACK TO SAVEPOINT name`
    RollbackTo(String),
    /// `SET name = value`; `None` for `DEFAULT`.
    Set {
        name: String,
        value: Option<String>,
        local: bool,
    },
    /// `SET TRANSACTION` and `SET SESSION CHARACTERISTICS`: the isolation level, if named.
    SetTransaction { isolation: Option<String> },
    /// `RESET name`, `None` for `ALL`.
    Reset(Option<String>),
    /// `SHOW name`
    Show(String),
    /// `SHOW ALL`
    ShowAll,
    /// `DISCARD …`
    Discard { all: bool },
    /// Something that has nothing to do here and is done, with its tag.
    Done(&'static str),
    /// `CREATE PROJECTION` or `DROP PROJECTION`
    Projection(ProjectionCommand),
}

/// A command about a projection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProjectionCommand {
    /// `CREATE PROJECTION [IF NOT EXISTS] name ON [schema.]table ORDER BY column, …`
    Create {
        name: String,
        schema: Option<String>,
        table: String,
        order_by: Vec<String>,
        /// Whether nothing is to be done if there is one of this name.
        if_not_exists: bool,
    },
    /// `DROP PROJECTION [IF EXISTS] name`
    Drop {
        name: String,
        /// Whether nothing is to be done if there is none of this name.
        if_exists: bool,
    },
}

/// Why tokens are not a command.
#[derive(Debug)]
pub(crate) enum Fault {
    /// A syntax error at this token after the first word.
    At(usize),
    /// What is wrong with a statement inside.
    Wrong(SqlError),
    /// Understood and refused.
    Refused(SqlError),
}

/// Parses the command that starts with `first` (upper case) and goes on with `rest`. `None`:
/// no command of a session.
pub(crate) fn parse(first: &str, rest: &[&Token]) -> Option<Result<Command, Fault>> {
    let mut tokens = Tokens { rest, next: 0 };
    let parsed = match first {
        "BEGIN" => tokens.begin("BEGIN"),
        "START" => tokens
            .expect("TRANSACTION")
            .and_then(|()| tokens.begin("START TRANSACTION")),
        "COMMIT" | "END" => tokens.work().map(|chain| Command::Commit { chain }),
        "ROLLBACK" | "ABORT" => tokens.rollback(),
        "SAVEPOINT" => tokens.name().map(Command::Savepoint),
        "RELEASE" => {
            tokens.accept("SAVEPOINT");
            tokens.name().map(Command::Release)
        }
        "SET" => tokens.set(),
        "RESET" => tokens.reset(),
        "SHOW" => tokens.show(),
        "DISCARD" => tokens.discard(),
        "UNLISTEN" => {
            tokens.skip();
            Ok(Command::Done("UNLISTEN"))
        }
        "CREATE" if tokens.accept("PROJECTION") => tokens.create_projection(),
        "DROP" if tokens.accept("PROJECTION") => tokens.drop_projection(),
        _ => return None,
    };
    Some(parsed.and_then(|command| tokens.end().map(|()| command)))
}

/// A cursor over the tokens after the first word.
struct Tokens<'a> {
    rest: &'a [&'a Token],
    next: usize,
}

impl Tokens<'_> {
    /// The next token as an upper-case word; empty at the end or for anything else.
    fn peek(&self) -> String {
        match self.rest.get(self.next) {
            Some(Token::Word(word)) if word.quote_style.is_none() => {
                word.value.to_ascii_uppercase()
            }
            _ => String::new(),
        }
    }

    fn accept(&mut self, word: &str) -> bool {
        let accepted = self.peek() == word;
        self.next += usize::from(accepted);
        accepted
    }

    fn expect(&mut self, word: &str) -> Result<(), Fault> {
        if self.accept(word) {
            Ok(())
        } else {
            Err(Fault::At(self.next))
        }
    }

    fn accept_token(&mut self, token: &Token) -> bool {
        let accepted = self.rest.get(self.next) == Some(&token);
        self.next += usize::from(accepted);
        accepted
    }

    fn skip(&mut self) {
        self.next = self.rest.len();
    }

    fn end(&self) -> Result<(), Fault> {
        if self.next == self.rest.len() {
            Ok(())
        } else {
            Err(Fault::At(self.next))
        }
    }

    /// An identifier, folded to lower case unless quoted.
    fn name(&mut self) -> Result<String, Fault> {
        let Some(Token::Word(word)) = self.rest.get(self.next) else {
            return Err(Fault::At(self.next));
        };
        self.next += 1;
        Ok(if word.quote_style.is_some() {
            word.value.clone()
        } else {
            word.value.to_ascii_lowercase()
        })
    }

    /// A setting's name, with its dots.
    fn dotted_name(&mut self) -> Result<String, Fault> {
        let mut name = self.name()?;
        while self.accept_token(&Token::Period) {
            name = format!("{name}.{}", self.name()?);
        }
        Ok(name)
    }

    fn begin(&mut self, tag: &'static str) -> Result<Command, Fault> {
        if !self.accept("WORK") {
            self.accept("TRANSACTION");
        }
        Ok(Command::Begin {
            tag,
            isolation: self.modes()?,
        })
    }

    /// Transaction modes; gives the isolation level, if named.
    fn modes(&mut self) -> Result<Option<String>, Fault> {
        let mut isolation = None;
        while self.next < self.rest.len() {
            match self.peek().as_str() {
                "ISOLATION" => {
                    self.next += 1;
                    self.expect("LEVEL")?;
                    isolation = Some(self.isolation_level()?);
                }
                "READ" => {
                    self.next += 1;
                    if !self.accept("ONLY") {
                        self.expect("WRITE")?;
                    }
                }
                "DEFERRABLE" => self.next += 1,
                "NOT" => {
                    self.next += 1;
                    self.expect("DEFERRABLE")?;
                }
                _ if self.accept_token(&Token::Comma) => {}
                _ => return Err(Fault::At(self.next)),
            }
        }
        Ok(isolation)
    }

    fn isolation_level(&mut self) -> Result<String, Fault> {
        for level in [
            "SERIALIZABLE",
            "REPEATABLE READ",
            "READ COMMITTED",
            "READ UNCOMMITTED",
        ] {
            let start = self.next;
            if level.split(' ').all(|word| self.accept(word)) {
                return Ok(level.to_ascii_lowercase());
            }
            self.next = start;
        }
        Err(Fault::At(self.next))
    }

    /// `[WORK | TRANSACTION] [AND [NO] CHAIN]`; whether to chain.
    fn work(&mut self) -> Result<bool, Fault> {
        if self.peek() == "PREPARED" {
            return Err(Fault::Refused(SqlError::not_supported("two-phase commit")));
        }
        if !self.accept("WORK") {
            self.accept("TRANSACTION");
        }
        if !self.accept("AND") {
            return Ok(false);
        }
        let chain = !self.accept("NO");
        self.expect("CHAIN")?;
        Ok(chain)
    }

    fn rollback(&mut self) -> Result<Command, Fault> {
        let start = self.next;
        if !self.accept("WORK") {
            self.accept("TRANSACTION");
        }
        if self.accept("TO") {
            self.accept("SAVEPOINT");
            return self.name().map(Command::RollbackTo);
        }
        self.next = start;
        self.work().map(|chain| Command::Rollback { chain })
    }

    fn set(&mut self) -> Result<Command, Fault> {
        if self.peek() == "SESSION" && self.word_after(1) == "CHARACTERISTICS" {
            self.next += 2;
            self.expect("AS")?;
            self.expect("TRANSACTION")?;
            return Ok(Command::SetTransaction {
                isolation: self.modes()?,
            });
        }
        let local = self.accept("LOCAL");
        if !local {
            self.accept("SESSION");
        }
        match self.peek().as_str() {
            "TRANSACTION" => {
                self.next += 1;
                Ok(Command::SetTransaction {
                    isolation: self.modes()?,
                })
            }
            "TIME" => {
                self.next += 1;
                self.expect("ZONE")?;
                let value = self
                    .values()?
                    .filter(|zone| !zone.eq_ignore_ascii_case("local"));
                Ok(Command::Set {
                    name: "timezone".to_owned(),
                    value,
                    local,
                })
            }
            "NAMES" => {
                self.next += 1;
                Ok(Command::Set {
                    name: "client_encoding".to_owned(),
                    value: self.values()?,
                    local,
                })
            }
            "ROLE" => {
                self.next += 1;
                Ok(Command::Set {
                    name: "role".to_owned(),
                    value: self.values()?,
                    local,
                })
            }
            "AUTHORIZATION" => Err(Fault::Refused(SqlError::not_supported(
                "SET SESSION AUTHORIZATION",
            ))),
            _ => {
                let name = self.dotted_name()?;
                if !self.accept_token(&Token::Eq) {
                    self.expect("TO")?;
                }
                Ok(Command::Set {
                    name,
                    value: self.values()?,
                    local,
                })
            }
        }
    }

    fn word_after(&self, distance: usize) -> String {
        Tokens {
            rest: self.rest,
            next: self.next + distance,
        }
        .peek()
    }

    /// A setting's value: literals and words with commas between. `None` for `DEFAULT`.
    fn values(&mut self) -> Result<Option<String>, Fault> {
        if self.accept("DEFAULT") {
            return Ok(None);
        }
        let mut values = vec![self.value()?];
        while self.accept_token(&Token::Comma) {
            values.push(self.value()?);
        }
        Ok(Some(values.join(", ")))
    }

    fn value(&mut self) -> Result<String, Fault> {
        let sign = if self.accept_token(&Token::Minus) {
            "-"
        } else {
            ""
        };
        let value = match self.rest.get(self.next) {
            Some(Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text)) => {
                text.clone()
            }
            Some(Token::Number(digits, _)) => format!("{sign}{digits}"),
            Some(Token::Word(word)) => word.value.clone(),
            _ => return Err(Fault::At(self.next)),
        };
        self.next += 1;
        Ok(value)
    }

    fn reset(&mut self) -> Result<Command, Fault> {
        if self.accept("ALL") {
            return Ok(Command::Reset(None));
        }
        self.setting_name().map(|name| Command::Reset(Some(name)))
    }

    fn show(&mut self) -> Result<Command, Fault> {
        if self.accept("ALL") {
            return Ok(Command::ShowAll);
        }
        self.setting_name().map(Command::Show)
    }

    /// A setting's name, or the words that stand for one.
    fn setting_name(&mut self) -> Result<String, Fault> {
        let spelled = [
            ("TIME ZONE", "timezone"),
            ("TRANSACTION ISOLATION LEVEL", "transaction_isolation"),
            ("SESSION AUTHORIZATION", "session_authorization"),
        ];
        for (words, name) in spelled {
            let start = self.next;
            if words.split(' ').all(|word| self.accept(word)) {
                return Ok(name.to_owned());
            }
            self.next = start;
        }
        self.dotted_name()
    }

    fn discard(&mut self) -> Result<Command, Fault> {
        match self.peek().as_str() {
            "ALL" => {
                self.next += 1;
                Ok(Command::Discard { all: true })
            }
            "PLANS" | "SEQUENCES" | "TEMP" | "TEMPORARY" => {
                self.next += 1;
                Ok(Command::Discard { all: false })
            }
            _ => Err(Fault::At(self.next)),
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

    use super::*;

    fn command(sql: &str) -> Option<Command> {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql)
            .tokenize()
            .expect("tokens");
        let words: Vec<&Token> = tokens
            .iter()
            .filter(|token| !matches!(token, Token::Whitespace(_)))
            .collect();
        parse(&words[0].to_string().to_ascii_uppercase(), &words[1..])?.ok()
    }

    fn set(name: &str, value: Option<&str>) -> Option<Command> {
        Some(Command::Set {
            name: name.to_owned(),
            value: value.map(str::to_owned),
            local: false,
        })
    }

    #[test]
    fn transactions() {
        let begin = |isolation: Option<&str>| {
            Some(Command::Begin {
                tag: "BEGIN",
                isolation: isolation.map(str::to_owned),
            })
        };
        assert_eq!(command("begin"), begin(None));
        assert_eq!(command("BEGIN READ ONLY"), begin(None));
        assert_eq!(
            command("begin isolation level repeatable read, read only not deferrable"),
            begin(Some("repeatable read"))
        );
        assert_eq!(command("end work"), Some(Command::Commit { chain: false }));
        assert_eq!(
            command("rollback and chain"),
            Some(Command::Rollback { chain: true })
        );
        assert_eq!(
            command("rollback to savepoint a"),
            Some(Command::RollbackTo("a".to_owned()))
        );
        assert_eq!(command("begin nonsense"), None);
    }

    #[test]
    fn settings() {
        assert_eq!(
            command("set extra_float_digits = 3"),
            set("extra_float_digits", Some("3"))
        );
        assert_eq!(
            command("SET search_path TO a, \"B\""),
            set("search_path", Some("a, B"))
        );
        assert_eq!(
            command("set session timezone to default"),
            set("timezone", None)
        );
        assert_eq!(command("set time zone 'UTC'"), set("timezone", Some("UTC")));
        assert_eq!(
            command("set names 'utf8'"),
            set("client_encoding", Some("utf8"))
        );
        assert_eq!(
            command("show hedgerow.position"),
            Some(Command::Show("hedgerow.position".to_owned()))
        );
        assert_eq!(
            command("show transaction isolation level"),
            Some(Command::Show("transaction_isolation".to_owned()))
        );
        assert_eq!(command("reset all"), Some(Command::Reset(None)));
    }
}
