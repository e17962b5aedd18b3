//! One error type with what a PostgreSQL client is told: SQLSTATE, message, detail, hint.

use std::fmt;

/// Why a statement failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// SQLSTATE, five characters.
    pub code: &'static str,
    /// One line.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
    /// What can be done about it.
    pub hint: Option<String>,
    /// Where in the statement, in characters from 1.
    pub position: Option<usize>,
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLSTATE {})", self.message, self.code)
    }
}

impl std::error::Error for SqlError {}
