//! JSON: operators and functions on `json` and `jsonb`.
//!
//! Columns of both types keep the texts that the source sends, and every value of them is such a text here, with its type in the
//! field's metadata. A part of a document is a part of its text: nothing is read into a tree to be written again.
//!
//! * [`document`]: the parts of a text. [`canonical`]: the one text that a `jsonb` has.
//! * [`access`]: `->`, `->>`, `#>`, `#>>`. [`contains`]: `@>`, `?`. [`change`]: `||`, `-`. [`set`]: along paths.
//! * [`elements`]: functions that give rows. [`inspect`]: kinds and lengths. [`pretty`], [`strip_nulls`]: in another form.
//! * [`build`]: documents out of values.
//! * [`path`]: paths as JSONPath has them.
//! * [`function`]: what all of the functions have in common. [`operators`]: which function an operator is.
//!
//! Two `jsonb` are equal if their texts are: `1` and `1.0` are not.

mod access;
mod build;
pub(crate) mod canonical;
mod change;
mod contains;
mod document;
mod elements;
mod function;
mod inspect;
pub(crate) mod operators;
mod path;
mod pretty;
mod set;
mod strip_nulls;

use datafusion::logical_expr::ScalarUDF;

use crate::error::{SqlError, code};
use crate::pg_type;
use function::JsonFunction;

/// The two types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum JsonType {
    /// As it was written.
    Json,
    /// In its one form.
    Jsonb,
}

impl JsonType {
    const ALL: [Self; 2] = [Self::Json, Self::Jsonb];

    /// The type with this id.
    pub(crate) fn of(oid: u32) -> Option<Self> {
        match oid {
            pg_type::JSON => Some(Self::Json),
            pg_type::JSONB => Some(Self::Jsonb),
            _ => None,
        }
    }

    fn oid(self) -> u32 {
        match self {
            Self::Json => pg_type::JSON,
            Self::Jsonb => pg_type::JSONB,
        }
    }

    /// The first of the two names if it is `json`, else the second.
    fn name(self, json: &'static str, jsonb: &'static str) -> &'static str {
        match self {
            Self::Json => json,
            Self::Jsonb => jsonb,
        }
    }

    /// A text as a value of the type.
    pub(crate) fn read(self, text: &str) -> Result<String, SqlError> {
        match self {
            Self::Json => document::check(text).map(|()| text.to_owned()),
            Self::Jsonb => canonical::canonical(text),
        }
    }
}

/// All functions.
pub(crate) fn functions() -> Vec<ScalarUDF> {
    let functions = [
        access::functions(),
        build::functions(),
        change::functions(),
        contains::functions(),
        elements::functions(),
        inspect::functions(),
        path::functions(),
        pretty::functions(),
        set::functions(),
        strip_nulls::functions(),
    ];
    let functions = functions.into_iter().flatten();
    functions.map(JsonFunction::into_udf).collect()
}

/// `invalid input syntax for type json`
fn invalid(detail: impl ToString) -> SqlError {
    let mut error = SqlError::new(
        code::INVALID_TEXT_REPRESENTATION,
        "invalid input syntax for type json",
    );
    error.detail = Some(detail.to_string());
    error
}

/// Of a document that is not of the kind that a function is for.
fn unsuitable(message: impl Into<String>) -> SqlError {
    SqlError::new(code::INVALID_PARAMETER_VALUE, message)
}
