//! An error as a client is told of it.

use protocol::binary_value::BinaryError;
use protocol::encode::EncodeError;
use protocol::frontend::ProtocolError;
use sql::SqlError;

/// Content of an ErrorResponse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Whether the connection ends with it.
    pub fatal: bool,
    /// SQLSTATE
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

impl Failure {
    /// An error that ends a statement.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            fatal: false,
            code,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
        }
    }

    /// An error that ends the connection.
    pub fn fatal(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            fatal: true,
            ..Self::new(code, message)
        }
    }

    /// The same, ending the connection.
    pub fn into_fatal(self) -> Self {
        Self {
            fatal: true,
            ..self
        }
    }

    /// With more about it.
    pub fn with_detail(self, detail: impl Into<String>) -> Self {
        Self {
            detail: Some(detail.into()),
            ..self
        }
    }

    /// With what can be done about it.
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Self {
        Self {
            fatal: false,
            code: error.code,
            message: error.message,
            detail: error.detail,
            hint: error.hint,
            position: error.position,
        }
    }
}

impl From<EncodeError> for Failure {
    fn from(error: EncodeError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

impl From<BinaryError> for Failure {
    fn from(error: BinaryError) -> Self {
        let failure = Self::new(error.code(), error.to_string());
        match error {
            BinaryError::Value(_) => failure.with_hint("Send it as text."),
            _ => failure,
        }
    }
}

impl From<ProtocolError> for Failure {
    fn from(error: ProtocolError) -> Self {
        let code = match error {
            ProtocolError::Version { .. } => "0A000",
            _ => "08P01",
        };
        Self::fatal(code, error.to_string())
    }
}
