//! What is wrong with a text: where, what was found, what is possible instead.

use std::fmt;

use sqlparser::ast::Spanned;
use sqlparser::tokenizer::{Location, Span};

/// SQLSTATEs by their names in PostgreSQL's manual.
pub(crate) mod code {
    pub const CARDINALITY_VIOLATION: &str = "21000";
    pub const STRING_DATA_RIGHT_TRUNCATION: &str = "22001";
    pub const NUMERIC_VALUE_OUT_OF_RANGE: &str = "22003";
    pub const INVALID_DATETIME_FORMAT: &str = "22007";
    pub const DATETIME_FIELD_OVERFLOW: &str = "22008";
    pub const DIVISION_BY_ZERO: &str = "22012";
    pub const INVALID_ROW_COUNT_IN_LIMIT: &str = "2201W";
    pub const INVALID_TEXT_REPRESENTATION: &str = "22P02";
    pub const NOT_NULL_VIOLATION: &str = "23502";
    pub const UNIQUE_VIOLATION: &str = "23505";
    pub const CHECK_VIOLATION: &str = "23514";
    pub const FEATURE_NOT_SUPPORTED: &str = "0A000";
    pub const SYNTAX_ERROR: &str = "42601";
    pub const DUPLICATE_COLUMN: &str = "42701";
    pub const AMBIGUOUS_COLUMN: &str = "42702";
    pub const UNDEFINED_COLUMN: &str = "42703";
    pub const DUPLICATE_OBJECT: &str = "42710";
    pub const DUPLICATE_FUNCTION: &str = "42723";
    pub const DATATYPE_MISMATCH: &str = "42804";
    pub const UNDEFINED_FUNCTION: &str = "42883";
    pub const UNDEFINED_TABLE: &str = "42P01";
    pub const UNDEFINED_PARAMETER: &str = "42P02";
    pub const DUPLICATE_TABLE: &str = "42P07";
    pub const INVALID_TABLE_DEFINITION: &str = "42P16";
    pub const INDETERMINATE_DATATYPE: &str = "42P18";
    pub const PROGRAM_LIMIT_EXCEEDED: &str = "54000";
    pub const INTERNAL_ERROR: &str = "XX000";
}

/// A text that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// SQLSTATE
    pub code: &'static str,
    /// What was found, and what is expected.
    pub message: String,
    /// What is possible.
    pub hint: Option<String>,
    /// Line and column, counted from 1; `None` where it is about no place.
    pub place: Option<(u64, u64)>,
}

impl Fault {
    /// A fault without a place.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            place: None,
        }
    }

    /// With what is possible.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// At a place, unless it has one.
    #[must_use]
    pub(crate) fn at(mut self, location: Location) -> Self {
        if location.line > 0 {
            self.place.get_or_insert((location.line, location.column));
        }
        self
    }

    /// Where something stands.
    #[must_use]
    pub(crate) fn of(self, syntax: &impl Spanned) -> Self {
        let Span { start, .. } = syntax.span();
        self.at(start)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.place {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, ". {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}

/// Names one after the other.
pub(crate) fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        _ => names.join(", "),
    }
}
