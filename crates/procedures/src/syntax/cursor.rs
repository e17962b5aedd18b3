//! The tokens of a text, one after the other.

use sqlparser::ast::{DataType, Expr};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use super::Name;
use crate::fault::{Fault, code};

/// Tokens that an expression may have: it is a tree as deep as a chain of operators is long, and stacks have an end.
const EXPRESSION_TOKENS_MAX: usize = 4_000;

static DIALECT: PostgreSqlDialect = PostgreSqlDialect {};

/// See the module.
pub(crate) struct Cursor {
    parser: Parser<'static>,
    tokens: Vec<TokenWithSpan>,
}

impl Cursor {
    /// At the beginning of a text.
    pub(crate) fn new(text: &str) -> Result<Self, Fault> {
        let tokens = Tokenizer::new(&DIALECT, text).tokenize_with_location();
        let tokens = tokens.map_err(|error| {
            Fault::new(code::SYNTAX_ERROR, error.message.clone()).at(error.location)
        })?;
        Ok(Self {
            parser: Parser::new(&DIALECT).with_tokens_with_locations(tokens.clone()),
            tokens,
        })
    }

    /// How many tokens have been taken, blanks among them.
    pub(crate) fn index(&self) -> usize {
        self.parser.index()
    }

    /// The tokens that have been taken since then.
    pub(crate) fn tokens_since(&self, start: usize) -> &[TokenWithSpan] {
        let end = self.parser.index().min(self.tokens.len());
        &self.tokens[start..end]
    }

    /// Where the next token is.
    pub(crate) fn location(&self) -> Location {
        self.parser.peek_token_ref().span.start
    }

    /// Whether nothing is left.
    pub(crate) fn is_at_end(&self) -> bool {
        self.parser.peek_token_ref().token == Token::EOF
    }

    /// The unquoted word that comes after so many others, in upper case; empty for anything else.
    fn word(&self, distance: usize) -> String {
        match &self.parser.peek_nth_token_ref(distance).token {
            Token::Word(word) if word.quote_style.is_none() => word.value.to_ascii_uppercase(),
            _ => String::new(),
        }
    }

    /// Whether these words, in upper case, come next.
    pub(crate) fn sees(&self, words: &str) -> bool {
        let mut numbered = words.split(' ').enumerate();
        numbered.all(|(distance, word)| self.word(distance) == word)
    }

    /// Takes these words if they come next.
    pub(crate) fn accept(&mut self, words: &str) -> bool {
        let sees = self.sees(words);
        if sees {
            for _ in words.split(' ') {
                self.parser.advance_token();
            }
        }
        sees
    }

    /// Takes these words.
    pub(crate) fn expect(&mut self, words: &str) -> Result<(), Fault> {
        if self.accept(words) {
            Ok(())
        } else {
            Err(self.fault(words))
        }
    }

    /// Whether a token comes next.
    pub(crate) fn sees_token(&self, token: &Token) -> bool {
        self.parser.peek_token_ref().token == *token
    }

    /// Takes a token if it comes next.
    pub(crate) fn accept_token(&mut self, token: &Token) -> bool {
        self.parser.consume_token(token)
    }

    /// Takes a token.
    pub(crate) fn expect_token(&mut self, token: &Token) -> Result<(), Fault> {
        if self.accept_token(token) {
            Ok(())
        } else {
            Err(self.fault(&format!("\"{token}\"")))
        }
    }

    pub(crate) fn accept_semicolon(&mut self) -> bool {
        self.accept_token(&Token::SemiColon)
    }

    pub(crate) fn expect_semicolon(&mut self) -> Result<(), Fault> {
        self.expect_token(&Token::SemiColon)
    }

    /// A name of something.
    pub(crate) fn name(&mut self, what: &str) -> Result<Name, Fault> {
        let Token::Word(word) = &self.parser.peek_token_ref().token else {
            return Err(self.fault(what));
        };
        let text = match word.quote_style {
            None => word.value.to_lowercase(),
            Some(_) => word.value.clone(),
        };
        let location = self.location();
        self.parser.advance_token();
        Ok(Name { text, location })
    }

    /// A name that may stand behind the schema `public`.
    pub(crate) fn public_name(&mut self, what: &str) -> Result<Name, Fault> {
        let name = self.name(what)?;
        if !self.accept_token(&Token::Period) {
            return Ok(name);
        }
        if name.text != "public" {
            let message = format!("schema \"{}\" is not there", name.text);
            return Err(Fault::new(code::FEATURE_NOT_SUPPORTED, message)
                .with_hint("All tables and procedures are in schema public")
                .at(name.location));
        }
        self.name(what)
    }

    /// Names in parentheses.
    pub(crate) fn names(&mut self, what: &str) -> Result<Vec<Name>, Fault> {
        self.in_parentheses(|cursor| cursor.name(what))
    }

    /// Things with commas between them, in parentheses.
    pub(crate) fn in_parentheses<T>(
        &mut self,
        one: impl FnMut(&mut Self) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        self.expect_token(&Token::LParen)?;
        let all = self.separated(one)?;
        if self.accept_token(&Token::RParen) {
            Ok(all)
        } else {
            Err(self.fault("\",\" or \")\""))
        }
    }

    /// Things with commas between them.
    pub(crate) fn separated<T>(
        &mut self,
        mut one: impl FnMut(&mut Self) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let mut all = vec![one(self)?];
        while self.accept_token(&Token::Comma) {
            all.push(one(self)?);
        }
        Ok(all)
    }

    /// An expression.
    pub(crate) fn expression(&mut self) -> Result<Expr, Fault> {
        let start = self.location();
        if self.expression_tokens() > EXPRESSION_TOKENS_MAX {
            let message = format!("an expression has more than {EXPRESSION_TOKENS_MAX} words");
            return Err(Fault::new(code::PROGRAM_LIMIT_EXCEEDED, message).at(start));
        }
        self.parser
            .parse_expr()
            .map_err(|error| fault_of(error, start))
    }

    /// The tokens that an expression which begins here can have at most.
    fn expression_tokens(&self) -> usize {
        let mut depth = 0u32;
        let is_inside = |token: &&TokenWithSpan| {
            match token.token {
                Token::LParen => depth += 1,
                Token::RParen if depth == 0 => return false,
                Token::RParen => depth -= 1,
                Token::Comma | Token::SemiColon if depth == 0 => return false,
                _ => {}
            }
            true
        };
        let tokens = self.tokens[self.parser.index().min(self.tokens.len())..].iter();
        tokens.take_while(is_inside).count()
    }

    /// A type.
    pub(crate) fn data_type(&mut self) -> Result<DataType, Fault> {
        let start = self.location();
        self.parser
            .parse_data_type()
            .map_err(|error| fault_of(error, start))
    }

    /// A text in quotes.
    pub(crate) fn string(&mut self, what: &str) -> Result<String, Fault> {
        match self.parser.peek_token_ref().token.clone() {
            Token::SingleQuotedString(text) => {
                self.parser.advance_token();
                Ok(text)
            }
            _ => Err(self.fault(what)),
        }
    }

    /// Something else is expected where the cursor is.
    pub(crate) fn fault(&self, expected: &str) -> Fault {
        let next = self.parser.peek_token_ref();
        let found = match &next.token {
            Token::EOF => "the end of the text".to_owned(),
            token => format!("\"{token}\""),
        };
        let location = match next.token {
            Token::EOF => self
                .tokens
                .last()
                .map_or(next.span.start, |last| last.span.end),
            _ => next.span.start,
        };
        let message = format!("expected {expected}, found {found}");
        Fault::new(code::SYNTAX_ERROR, message).at(location)
    }
}

/// Turns `Expected: x, found: y at Line: 1, Column: 8` into our form.
fn fault_of(error: ParserError, start: Location) -> Fault {
    let message = match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
        ParserError::RecursionLimitExceeded => {
            return Fault::new(code::PROGRAM_LIMIT_EXCEEDED, "it is nested too deeply").at(start);
        }
    };
    let (rest, place) = message.rsplit_once(" at Line: ").unwrap_or((&message, ""));
    let location = place.split_once(", Column: ").and_then(|(line, column)| {
        let (line, column) = (line.parse().ok()?, column.parse().ok()?);
        Some(Location { line, column })
    });
    let text = match rest
        .strip_prefix("Expected: ")
        .and_then(|rest| rest.split_once(", found: "))
    {
        Some((expected, "EOF")) => format!("expected {expected}, found the end of the text"),
        Some((expected, found)) => format!("expected {expected}, found \"{found}\""),
        None => rest.to_owned(),
    };
    Fault::new(code::SYNTAX_ERROR, text).at(location.unwrap_or(start))
}
