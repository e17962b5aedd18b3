//! Reads a path, by descent.
//!
//! What binds least stands first:
//!
//! ```text
//! any         conjunction || …
//! conjunction negation && …
//! negation    ! (any) | ! exists (…) | comparison
//! comparison  sum [== sum | starts with "…" | like_regex "…" [flag "…"]]
//! sum         product + …
//! product     signed * …
//! signed      - signed | primary step …
//! primary     scalar | $ | $name | @ | last | (any) [is unknown] | exists (any)
//! step        .key | .* | .** | [*] | [any to any, …] | .method() | ? (any)
//! ```
//!
//! A predicate is no operand unless steps follow its parentheses, as in PostgreSQL's grammar (jsonpath_gram.y).
//!
//! Does not: `datetime()`, `keyvalue()` and the methods that came with PostgreSQL 17 (0A000).

use super::number::Number;
use super::syntax::{Comparison, Expr, LEAVES, Method, Operation, Path, Predicate, Step};
use super::words::{Word, invalid, syntax_error, words};
use crate::error::{SqlError, code};
use crate::functions::json::canonical::write_string;
use crate::functions::regular_expressions::matcher;

/// Parentheses in each other; PostgreSQL's bound is its stack.
const DEPTH_MAX: usize = 128;

/// Operations in a path: a chain of them is as deep as it is long when it is computed.
const OPERATIONS_MAX: usize = 256;

/// Methods that are not read.
const OTHER_METHODS: [&str; 13] = [
    "bigint",
    "boolean",
    "date",
    "datetime",
    "decimal",
    "integer",
    "keyvalue",
    "number",
    "string",
    "time",
    "time_tz",
    "timestamp",
    "timestamp_tz",
];

/// The path that a text is.
pub(super) fn parse(text: &str) -> Result<Path, SqlError> {
    let words = words(text)?;
    if words.is_empty() {
        return Err(SqlError::new(
            code::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type jsonpath: \"{text}\""),
        ));
    }
    let mut parser = Parser {
        words,
        place: 0,
        depth: 0,
        operations: 0,
        filters: 0,
        subscripts: 0,
    };
    let is_lax = parser.takes_name("lax") || !parser.takes_name("strict");
    let expr = parser.any()?.into_expr();
    match parser.next() {
        None => Ok(Path { is_lax, expr }),
        Some(word) => Err(syntax_error(Some(&word))),
    }
}

/// What a part of a path is.
enum Part {
    Expr(Expr),
    Predicate {
        predicate: Predicate,
        /// Whether it is `exists (…)` or in parentheses: only such a one is negated.
        is_closed: bool,
    },
}

impl Part {
    fn open(predicate: Predicate) -> Self {
        Self::Predicate {
            predicate,
            is_closed: false,
        }
    }

    fn closed(predicate: Predicate) -> Self {
        Self::Predicate {
            predicate,
            is_closed: true,
        }
    }

    /// What a whole path, or what is in parentheses before steps, gives.
    fn into_expr(self) -> Expr {
        match self {
            Self::Expr(expr) => expr,
            Self::Predicate { predicate, .. } => Expr::Predicate(Box::new(predicate)),
        }
    }
}

struct Parser {
    words: Vec<Word>,
    place: usize,
    /// Parentheses around.
    depth: usize,
    /// Operations until here.
    operations: usize,
    /// Filters around.
    filters: usize,
    /// Brackets around.
    subscripts: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Word> {
        self.words.get(self.place)
    }

    fn next(&mut self) -> Option<Word> {
        let word = self.words.get(self.place).cloned();
        self.place += 1;
        word
    }

    fn wrong<T>(&self) -> Result<T, SqlError> {
        Err(syntax_error(self.peek()))
    }

    /// Whether this symbol comes next, which is then behind us.
    fn takes(&mut self, symbol: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Word::Symbol(next)) if *next == symbol);
        self.place += usize::from(is_next);
        is_next
    }

    /// Whether this key word comes next, in any case.
    fn takes_name(&mut self, name: &str) -> bool {
        let is_next =
            matches!(self.peek(), Some(Word::Name(next)) if next.eq_ignore_ascii_case(name));
        self.place += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, symbol: &str) -> Result<(), SqlError> {
        match self.takes(symbol) {
            true => Ok(()),
            false => self.wrong(),
        }
    }

    fn text(&mut self) -> Result<String, SqlError> {
        match self.peek() {
            Some(Word::Text(text)) => {
                let text = text.clone();
                self.place += 1;
                Ok(text)
            }
            _ => self.wrong(),
        }
    }

    fn expr_of(&self, part: Part) -> Result<Expr, SqlError> {
        match part {
            Part::Expr(expr) => Ok(expr),
            Part::Predicate { .. } => self.wrong(),
        }
    }

    fn predicate_of(&self, part: Part) -> Result<Box<Predicate>, SqlError> {
        match part {
            Part::Predicate { predicate, .. } => Ok(Box::new(predicate)),
            Part::Expr(_) => self.wrong(),
        }
    }

    fn any(&mut self) -> Result<Part, SqlError> {
        let mut left = self.conjunction()?;
        while self.takes("||") {
            self.count_operation()?;
            let one = self.predicate_of(left)?;
            let other = self.conjunction()?;
            left = Part::open(Predicate::Or(one, self.predicate_of(other)?));
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Part, SqlError> {
        let mut left = self.negation()?;
        while self.takes("&&") {
            self.count_operation()?;
            let one = self.predicate_of(left)?;
            let other = self.negation()?;
            left = Part::open(Predicate::And(one, self.predicate_of(other)?));
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Part, SqlError> {
        if !self.takes("!") {
            return self.comparison();
        }
        match self.primary()? {
            Part::Predicate {
                predicate,
                is_closed: true,
            } => Ok(Part::open(Predicate::Not(Box::new(predicate)))),
            _ => self.wrong(),
        }
    }

    fn comparison(&mut self) -> Result<Part, SqlError> {
        let left = self.sum()?;
        if let Some(comparison) = self.comparison_symbol() {
            let left = self.expr_of(left)?;
            let right = self.sum()?;
            let right = self.expr_of(right)?;
            return Ok(Part::open(Predicate::Compare(comparison, left, right)));
        }
        if self.takes_name("starts") {
            if !self.takes_name("with") {
                return self.wrong();
            }
            let left = self.expr_of(left)?;
            return Ok(Part::open(Predicate::StartsWith(left, self.beginning()?)));
        }
        if self.takes_name("like_regex") {
            let left = self.expr_of(left)?;
            return self.pattern(left);
        }
        Ok(left)
    }

    fn comparison_symbol(&mut self) -> Option<Comparison> {
        const SYMBOLS: [(&str, Comparison); 7] = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<>", Comparison::NotEqual),
            ("<", Comparison::Less),
            ("<=", Comparison::LessOrEqual),
            (">", Comparison::Greater),
            (">=", Comparison::GreaterOrEqual),
        ];
        let mut symbols = SYMBOLS.into_iter();
        let found = symbols.find(|(symbol, _)| self.takes(symbol));
        found.map(|(_, comparison)| comparison)
    }

    /// What a text is to start with.
    fn beginning(&mut self) -> Result<Expr, SqlError> {
        match self.peek() {
            Some(Word::Variable(name)) => {
                let name = name.clone();
                self.place += 1;
                Ok(Expr::Variable(name))
            }
            _ => Ok(Expr::Literal(json(&self.text()?))),
        }
    }

    fn pattern(&mut self, text: Expr) -> Result<Part, SqlError> {
        let pattern = self.text()?;
        let flags = match self.takes_name("flag") {
            true => self.text()?,
            false => String::new(),
        };
        let is_match = matcher(&pattern, &flags_of(&flags)?)?;
        Ok(Part::open(Predicate::Matches(text, is_match)))
    }

    fn sum(&mut self) -> Result<Part, SqlError> {
        let symbols = [("+", Operation::Add), ("-", Operation::Subtract)];
        self.chain(&symbols, Self::product)
    }

    fn product(&mut self) -> Result<Part, SqlError> {
        let symbols = [
            ("*", Operation::Multiply),
            ("/", Operation::Divide),
            ("%", Operation::Modulo),
        ];
        self.chain(&symbols, Self::signed)
    }

    /// Operands with operations of one rank between them.
    fn chain(
        &mut self,
        symbols: &[(&str, Operation)],
        operand: fn(&mut Self) -> Result<Part, SqlError>,
    ) -> Result<Part, SqlError> {
        let mut left = operand(self)?;
        while let Some((_, operation)) = symbols.iter().find(|(symbol, _)| self.takes(symbol)) {
            self.count_operation()?;
            let one = Box::new(self.expr_of(left)?);
            let other = operand(self)?;
            let other = Box::new(self.expr_of(other)?);
            left = Part::Expr(Expr::Arithmetic(*operation, one, other));
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<Part, SqlError> {
        let is_negative = self.takes("-");
        if !is_negative && !self.takes("+") {
            let part = self.primary()?;
            return self.stepped(part);
        }
        self.enter()?;
        let operand = self.signed()?;
        self.depth -= 1;
        let operand = Box::new(self.expr_of(operand)?);
        Ok(Part::Expr(Expr::Sign {
            is_negative,
            operand,
        }))
    }

    fn enter(&mut self) -> Result<(), SqlError> {
        self.depth += 1;
        match self.depth > DEPTH_MAX {
            true => Err(too_complex("levels", DEPTH_MAX)),
            false => Ok(()),
        }
    }

    fn count_operation(&mut self) -> Result<(), SqlError> {
        self.operations += 1;
        match self.operations > OPERATIONS_MAX {
            true => Err(too_complex("operations", OPERATIONS_MAX)),
            false => Ok(()),
        }
    }

    /// What is between parentheses, the first of which is behind us.
    fn enclosed(&mut self) -> Result<Part, SqlError> {
        self.enter()?;
        let part = self.any()?;
        self.depth -= 1;
        self.expect(")")?;
        Ok(part)
    }

    fn primary(&mut self) -> Result<Part, SqlError> {
        let place = self.place;
        let expr = match self.next() {
            Some(Word::Text(text)) => Expr::Literal(json(&text)),
            Some(Word::Number(text)) => Expr::Literal(Number::parse(&text)?.text()),
            Some(Word::Variable(name)) => Expr::Variable(name),
            Some(Word::Symbol("$")) => Expr::Root,
            Some(Word::Symbol("@")) if self.filters > 0 => Expr::Current,
            Some(Word::Symbol("@")) => {
                return Err(invalid("@ is not allowed in root expressions"));
            }
            Some(Word::Symbol("(")) => return self.parenthesis(),
            Some(Word::Name(name)) => match name.to_ascii_lowercase().as_str() {
                // Unlike other words these are written in small letters only.
                lower @ ("true" | "false" | "null") if lower == name => Expr::Literal(name),
                "last" if self.subscripts > 0 => Expr::Last,
                "last" => return Err(invalid("LAST is allowed only in array subscripts")),
                "exists" => {
                    self.expect("(")?;
                    let part = self.enclosed()?;
                    let expr = self.expr_of(part)?;
                    return Ok(Part::closed(Predicate::Exists(expr)));
                }
                _ => return self.wrong_at(place),
            },
            _ => return self.wrong_at(place),
        };
        Ok(Part::Expr(expr))
    }

    fn wrong_at<T>(&self, place: usize) -> Result<T, SqlError> {
        Err(syntax_error(self.words.get(place)))
    }

    fn parenthesis(&mut self) -> Result<Part, SqlError> {
        let part = self.enclosed()?;
        let Part::Predicate { predicate, .. } = part else {
            return Ok(part);
        };
        if !self.takes_name("is") {
            return Ok(Part::closed(predicate));
        }
        match self.takes_name("unknown") {
            true => Ok(Part::open(Predicate::IsUnknown(Box::new(predicate)))),
            false => self.wrong(),
        }
    }

    /// A part with the steps that follow it.
    fn stepped(&mut self, part: Part) -> Result<Part, SqlError> {
        let mut steps = Vec::new();
        while let Some(step) = self.step()? {
            steps.push(step);
        }
        if steps.is_empty() {
            return Ok(part);
        }
        Ok(Part::Expr(match part.into_expr() {
            Expr::Steps(base, mut first) => {
                first.extend(steps);
                Expr::Steps(base, first)
            }
            base => Expr::Steps(Box::new(base), steps),
        }))
    }

    fn step(&mut self) -> Result<Option<Step>, SqlError> {
        if self.takes(".") {
            return self.member().map(Some);
        }
        if self.takes("[") {
            return self.elements().map(Some);
        }
        if !self.takes("?") {
            return Ok(None);
        }
        self.expect("(")?;
        self.filters += 1;
        let part = self.enclosed()?;
        self.filters -= 1;
        Ok(Some(Step::Filter(*self.predicate_of(part)?)))
    }

    /// What follows a point.
    fn member(&mut self) -> Result<Step, SqlError> {
        let place = self.place;
        match self.next() {
            Some(Word::Symbol("*")) => Ok(Step::AnyKey),
            Some(Word::Symbol("**")) => self.levels(),
            Some(Word::Text(key)) => Ok(Step::Key(key)),
            Some(Word::Name(name)) => match self.takes("(") {
                true => self.method(&name, place),
                false => Ok(Step::Key(name)),
            },
            _ => self.wrong_at(place),
        }
    }

    fn method(&mut self, name: &str, place: usize) -> Result<Step, SqlError> {
        if let Some(method) = Method::named(name) {
            self.expect(")")?;
            return Ok(Step::Method(method));
        }
        let mut others = OTHER_METHODS.iter();
        match others.find(|other| other.eq_ignore_ascii_case(name)) {
            Some(other) => Err(SqlError::not_supported(format!(
                "the jsonpath method .{other}()"
            ))),
            None => self.wrong_at(place + 1),
        }
    }

    /// The levels of `.**`.
    fn levels(&mut self) -> Result<Step, SqlError> {
        if !self.takes("{") {
            let (first, last) = (0, LEAVES);
            return Ok(Step::Descendants { first, last });
        }
        let first = self.level()?;
        let last = match self.takes_name("to") {
            true => self.level()?,
            false => first,
        };
        self.expect("}")?;
        Ok(Step::Descendants { first, last })
    }

    fn level(&mut self) -> Result<u32, SqlError> {
        if self.takes_name("last") {
            return Ok(LEAVES);
        }
        let place = self.place;
        match self.next() {
            Some(Word::Number(text)) => text.parse().or_else(|_| self.wrong_at(place)),
            _ => self.wrong_at(place),
        }
    }

    /// What follows a bracket.
    fn elements(&mut self) -> Result<Step, SqlError> {
        if self.takes("*") {
            self.expect("]")?;
            return Ok(Step::AnyElement);
        }
        self.subscripts += 1;
        let mut ranges = Vec::new();
        loop {
            let from = self.subscript()?;
            let to = match self.takes_name("to") {
                true => Some(self.subscript()?),
                false => None,
            };
            ranges.push((from, to));
            if !self.takes(",") {
                break;
            }
        }
        self.subscripts -= 1;
        self.expect("]")?;
        Ok(Step::Elements(ranges))
    }

    fn subscript(&mut self) -> Result<Expr, SqlError> {
        self.enter()?;
        let part = self.sum()?;
        self.depth -= 1;
        self.expr_of(part)
    }
}

fn too_complex(what: &str, most: usize) -> SqlError {
    let message = format!("a jsonpath of more than {most} {what}");
    SqlError::new(code::STATEMENT_TOO_COMPLEX, message)
}

/// A text as JSON.
fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_string(text, &mut out);
    out
}

/// PostgreSQL's letters for those of XQuery.
fn flags_of(flags: &str) -> Result<String, SqlError> {
    let has = |letter| flags.contains(letter);
    if let Some(other) = flags.chars().find(|letter| !"ismxq".contains(*letter)) {
        let mut error = invalid("invalid input syntax for type jsonpath");
        error.detail = Some(format!(
            "Unrecognized flag character \"{other}\" in LIKE_REGEX predicate."
        ));
        return Err(error);
    }
    if has('x') && !has('q') {
        let what = "XQuery \"x\" flag (expanded regular expressions)";
        return Err(SqlError::not_supported(what));
    }
    let lines = match (has('q'), has('s'), has('m')) {
        (true, ..) => "q",
        (_, true, true) => "w",
        (_, true, false) => "s",
        (_, false, true) => "n",
        (_, false, false) => "p",
    };
    let ignores_case = if has('i') { "i" } else { "" };
    Ok(format!("{lines}{ignores_case}"))
}
