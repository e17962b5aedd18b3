//! One error type with what a PostgreSQL client is told: SQLSTATE, message, detail, hint.
//!
//! Everything that can go wrong below arrives as one of three types: the parser's, the
//! planner's and executor's ([`DataFusionError`]), the store's. Each is mapped here, in one
//! place. An [`SqlError`] raised inside the planner or executor (by a table or a function of
//! this crate) travels through DataFusion untouched and comes out as it went in.

use std::fmt;

use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;
use datafusion::common::{DataFusionError, SchemaError};
use datafusion::sql::sqlparser::parser::ParserError;
use lsm::StoreError;

use crate::pg_type;

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

/// SQLSTATEs by their names in PostgreSQL's manual.
pub mod code {
    /// No error: a notice that nothing was to be done.
    pub const SUCCESSFUL: &str = "00000";
    /// Not carried out: something that this release does not do.
    pub const FEATURE_NOT_SUPPORTED: &str = "0A000";
    /// More than one row where one is allowed.
    pub const CARDINALITY_VIOLATION: &str = "21000";
    /// A number does not fit its type.
    pub const NUMERIC_VALUE_OUT_OF_RANGE: &str = "22003";
    /// A text is not a date or a time.
    pub const INVALID_DATETIME_FORMAT: &str = "22007";
    /// A date, time or interval does not fit its type.
    pub const DATETIME_FIELD_OVERFLOW: &str = "22008";
    /// x / 0
    pub const DIVISION_BY_ZERO: &str = "22012";
    /// LIMIT below zero.
    pub const INVALID_ROW_COUNT_IN_LIMIT: &str = "2201W";
    /// OFFSET below zero.
    pub const INVALID_ROW_COUNT_IN_OFFSET: &str = "2201X";
    /// A logarithm of zero or less.
    pub const INVALID_ARGUMENT_FOR_LOG: &str = "2201E";
    /// A root or power that there is not.
    pub const INVALID_ARGUMENT_FOR_POWER: &str = "2201F";
    /// A NULL where a value is needed.
    pub const NULL_VALUE_NOT_ALLOWED: &str = "22004";
    /// No such element, or no such array.
    pub const ARRAY_SUBSCRIPT_ERROR: &str = "2202E";
    /// A pattern that is none.
    pub const INVALID_REGULAR_EXPRESSION: &str = "2201B";
    /// More than there can be.
    pub const PROGRAM_LIMIT_EXCEEDED: &str = "54000";
    /// Bytes that are no text.
    pub const CHARACTER_NOT_IN_REPERTOIRE: &str = "22021";
    /// A character that an encoding has not.
    pub const UNTRANSLATABLE_CHARACTER: &str = "22P05";
    /// `width_bucket` of what is no range.
    pub const INVALID_ARGUMENT_FOR_WIDTH_BUCKET: &str = "2201G";
    /// A setting's value is not one of those allowed.
    pub const INVALID_PARAMETER_VALUE: &str = "22023";
    /// An escape that is more than one character.
    pub const INVALID_ESCAPE_SEQUENCE: &str = "22025";
    /// A text is not a value of the wanted type.
    pub const INVALID_TEXT_REPRESENTATION: &str = "22P02";
    /// A subscript of a jsonpath is no number, or outside of the array.
    pub const INVALID_SQL_JSON_SUBSCRIPT: &str = "22033";
    /// A method of a jsonpath for numbers, on something else.
    pub const NON_NUMERIC_SQL_JSON_ITEM: &str = "22036";
    /// A jsonpath finds no item or several where one is needed.
    pub const SINGLETON_SQL_JSON_ITEM_REQUIRED: &str = "22038";
    /// A step of a jsonpath for arrays, on something else.
    pub const SQL_JSON_ARRAY_NOT_FOUND: &str = "22039";
    /// A key of a jsonpath that is not there.
    pub const SQL_JSON_MEMBER_NOT_FOUND: &str = "2203A";
    /// A sign in a jsonpath before something that is no number.
    pub const SQL_JSON_NUMBER_NOT_FOUND: &str = "2203B";
    /// A step of a jsonpath for objects, on something else.
    pub const SQL_JSON_OBJECT_NOT_FOUND: &str = "2203C";
    /// BEGIN inside a transaction.
    pub const ACTIVE_SQL_TRANSACTION: &str = "25001";
    /// A write where only reads are allowed.
    pub const READ_ONLY_SQL_TRANSACTION: &str = "25006";
    /// A savepoint or SET LOCAL outside a transaction.
    pub const NO_ACTIVE_SQL_TRANSACTION: &str = "25P01";
    /// A statement after an error inside a transaction.
    pub const IN_FAILED_SQL_TRANSACTION: &str = "25P02";
    /// ROLLBACK TO a savepoint that is not there.
    pub const INVALID_SAVEPOINT: &str = "3B001";
    /// Refused by the planner, for no more precise reason.
    pub const SYNTAX_OR_ACCESS_RULE: &str = "42000";
    /// Not SQL.
    pub const SYNTAX_ERROR: &str = "42601";
    /// A column name with several meanings.
    pub const AMBIGUOUS_COLUMN: &str = "42702";
    /// A column name twice where once is allowed.
    pub const DUPLICATE_COLUMN: &str = "42701";
    /// No such column.
    pub const UNDEFINED_COLUMN: &str = "42703";
    /// There is one of this name already.
    pub const DUPLICATE_OBJECT: &str = "42710";
    /// No such setting, type or other object.
    pub const UNDEFINED_OBJECT: &str = "42704";
    /// A column outside an aggregate that is not grouped by.
    pub const GROUPING_ERROR: &str = "42803";
    /// Types that do not go together.
    pub const DATATYPE_MISMATCH: &str = "42804";
    /// No such function or operator for these types.
    pub const UNDEFINED_FUNCTION: &str = "42883";
    /// Something is not of the kind that a statement needs.
    pub const WRONG_OBJECT_TYPE: &str = "42809";
    /// No such table.
    pub const UNDEFINED_TABLE: &str = "42P01";
    /// No such parameter, or not given.
    pub const UNDEFINED_PARAMETER: &str = "42P02";
    /// A column is not where it has to be.
    pub const INVALID_COLUMN_REFERENCE: &str = "42P10";
    /// A window function where none may be.
    pub const WINDOWING_ERROR: &str = "42P20";
    /// Nested too deeply.
    pub const STATEMENT_TOO_COMPLEX: &str = "54001";
    /// The disk is full.
    pub const DISK_FULL: &str = "53100";
    /// Over the memory bound.
    pub const OUT_OF_MEMORY: &str = "53200";
    /// Not now: the object's state does not allow it.
    pub const OBJECT_NOT_IN_PREREQUISITE_STATE: &str = "55000";
    /// Cancelled by the client or the statement timeout.
    pub const QUERY_CANCELED: &str = "57014";
    /// Ends because the server does.
    pub const ADMIN_SHUTDOWN: &str = "57P01";
    /// Not yet.
    pub const CANNOT_CONNECT_NOW: &str = "57P03";
    /// The system (disk) failed.
    pub const IO_ERROR: &str = "58030";
    /// A bug.
    pub const INTERNAL_ERROR: &str = "XX000";
    /// A file is damaged.
    pub const DATA_CORRUPTED: &str = "XX001";
}

impl SqlError {
    /// An error without detail and hint.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
        }
    }

    /// The same with a detail.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The same with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// There is no function of this name that takes such arguments.
    pub(crate) fn undefined_function(name: &str, arguments: &[DataType]) -> Self {
        let types = arguments
            .iter()
            .map(|of| pg_type::names(pg_type::oid(of)).0);
        let types = types.collect::<Vec<_>>().join(", ");
        let message = format!("function {name}({types}) does not exist");
        Self::new(code::UNDEFINED_FUNCTION, message)
    }

    /// No such table.
    pub fn undefined_table(name: impl fmt::Display) -> Self {
        Self::new(
            code::UNDEFINED_TABLE,
            format!("relation \"{name}\" does not exist"),
        )
    }

    /// A statement that changes data, schema or rights.
    pub fn read_only(statement: &str) -> Self {
        Self::new(
            code::READ_ONLY_SQL_TRANSACTION,
            format!("cannot execute {statement} in a read-only transaction"),
        )
        .with_hint("Hedgerow holds a copy. Write to the source; the change arrives here.")
    }

    /// Something that this release does not do.
    pub fn not_supported(what: impl fmt::Display) -> Self {
        Self::new(
            code::FEATURE_NOT_SUPPORTED,
            format!("{what} is not supported"),
        )
    }

    /// Ended on the client's request.
    pub fn canceled() -> Self {
        Self::new(
            code::QUERY_CANCELED,
            "canceling statement due to user request",
        )
    }

    /// Ended by `statement_timeout`.
    pub fn timed_out() -> Self {
        Self::new(
            code::QUERY_CANCELED,
            "canceling statement due to statement timeout",
        )
    }

    /// What a failed read of `table` (a name for people) means.
    pub fn from_store(error: &StoreError, table: Option<&str>) -> Self {
        let of_table = table.map(|name| format!("while reading table {name}"));
        let mut mapped = match error {
            StoreError::Corrupt { .. } => Self::new(code::DATA_CORRUPTED, error.to_string())
                .with_hint("Other tables can still be read. Copying the table again repairs it."),
            StoreError::VersionTooNew { .. } => {
                Self::new(code::FEATURE_NOT_SUPPORTED, error.to_string())
            }
            StoreError::DiskFull { .. } => Self::new(code::DISK_FULL, error.to_string()),
            StoreError::NoSuchTable(_) => Self::new(
                code::UNDEFINED_TABLE,
                format!(
                    "table {} has been dropped at the source",
                    table.unwrap_or("?")
                ),
            ),
            StoreError::Poisoned(_) => Self::new(code::ADMIN_SHUTDOWN, error.to_string()),
            _ => Self::new(code::IO_ERROR, error.to_string()),
        };
        mapped.detail = of_table;
        mapped
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLSTATE {})", self.message, self.code)
    }
}

impl std::error::Error for SqlError {}

impl From<SqlError> for DataFusionError {
    fn from(error: SqlError) -> Self {
        Self::External(Box::new(error))
    }
}

impl From<ParserError> for SqlError {
    fn from(error: ParserError) -> Self {
        match error {
            ParserError::TokenizerError(message) | ParserError::ParserError(message) => {
                Self::new(code::SYNTAX_ERROR, format!("syntax error: {message}"))
            }
            ParserError::RecursionLimitExceeded => Self::new(
                code::STATEMENT_TOO_COMPLEX,
                "the statement is nested too deeply",
            ),
        }
    }
}

impl From<DataFusionError> for SqlError {
    fn from(error: DataFusionError) -> Self {
        Self::from(&error)
    }
}

impl From<&DataFusionError> for SqlError {
    fn from(error: &DataFusionError) -> Self {
        match error {
            DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => {
                Self::from(inner.as_ref())
            }
            DataFusionError::Shared(inner) => Self::from(inner.as_ref()),
            DataFusionError::Collection(errors) => errors.first().map_or_else(
                || Self::new(code::INTERNAL_ERROR, "unknown error"),
                Self::from,
            ),
            DataFusionError::External(inner) => from_external(inner.as_ref()),
            DataFusionError::ArrowError(inner, _) => from_arrow(inner),
            DataFusionError::SQL(inner, _) => Self::from(inner.as_ref().clone()),
            DataFusionError::SchemaError(inner, _) => from_schema(inner),
            DataFusionError::NotImplemented(message) => {
                Self::new(code::FEATURE_NOT_SUPPORTED, first_line(message))
            }
            DataFusionError::Plan(message) => from_plan(message),
            DataFusionError::Execution(message) => from_execution(message),
            DataFusionError::ResourcesExhausted(message) => from_exhausted(message),
            DataFusionError::IoError(inner) => Self::new(code::IO_ERROR, inner.to_string()),
            DataFusionError::ExecutionJoin(inner) if inner.is_cancelled() => Self::canceled(),
            other => Self::new(code::INTERNAL_ERROR, first_line(&other.strip_backtrace())),
        }
    }
}

fn from_external(error: &(dyn std::error::Error + Send + Sync + 'static)) -> SqlError {
    if let Some(error) = error.downcast_ref::<SqlError>() {
        error.clone()
    } else if let Some(error) = error.downcast_ref::<DataFusionError>() {
        SqlError::from(error)
    } else if let Some(error) = error.downcast_ref::<StoreError>() {
        SqlError::from_store(error, None)
    } else {
        SqlError::new(code::INTERNAL_ERROR, error.to_string())
    }
}

impl SqlError {
    /// What an error of a computation means.
    pub(crate) fn from_arrow(error: &ArrowError) -> Self {
        from_arrow(error)
    }
}

fn from_arrow(error: &ArrowError) -> SqlError {
    match error {
        ArrowError::DivideByZero => SqlError::new(code::DIVISION_BY_ZERO, "division by zero"),
        ArrowError::ArithmeticOverflow(message) => SqlError::new(
            code::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("value out of range: {message}"),
        ),
        ArrowError::CastError(message) if message.starts_with("Can't cast value") => {
            let wanted = message.rsplit(' ').next().unwrap_or_default();
            let name = match wanted {
                "Int16" => "smallint",
                "Int32" => "integer",
                "Int64" => "bigint",
                _ => "value",
            };
            SqlError::new(
                code::NUMERIC_VALUE_OUT_OF_RANGE,
                format!("{name} out of range"),
            )
        }
        ArrowError::CastError(message) | ArrowError::ParseError(message) => {
            SqlError::new(code::INVALID_TEXT_REPRESENTATION, first_line(message))
        }
        ArrowError::InvalidArgumentError(message) if message.contains("too large to store") => {
            SqlError::new(code::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow")
                .with_detail(first_line(message))
        }
        ArrowError::NotYetImplemented(message) => {
            SqlError::new(code::FEATURE_NOT_SUPPORTED, first_line(message))
        }
        ArrowError::ExternalError(inner) => from_external(inner.as_ref()),
        other => from_execution(&other.to_string()),
    }
}

fn from_schema(error: &SchemaError) -> SqlError {
    match error {
        SchemaError::FieldNotFound {
            field,
            valid_fields,
        } => {
            let quoted = match &field.relation {
                Some(relation) => format!("{}.{}", relation.table(), field.name),
                None => format!("\"{}\"", field.name),
            };
            let error = SqlError::new(
                code::UNDEFINED_COLUMN,
                format!("column {quoted} does not exist"),
            );
            match valid_fields
                .iter()
                .find(|valid| valid.name.eq_ignore_ascii_case(&field.name))
            {
                Some(valid) => error.with_hint(format!(
                    "Perhaps you meant to reference the column \"{}\".",
                    valid.flat_name()
                )),
                None => error,
            }
        }
        SchemaError::AmbiguousReference { field } => SqlError::new(
            code::AMBIGUOUS_COLUMN,
            format!("column reference \"{}\" is ambiguous", field.name),
        ),
        SchemaError::DuplicateQualifiedField { name, .. }
        | SchemaError::DuplicateUnqualifiedField { name } => SqlError::new(
            code::DUPLICATE_COLUMN,
            format!("column name \"{name}\" is specified more than once"),
        ),
    }
}

/// LIMIT or OFFSET below zero.
fn negative(line: &str) -> Option<SqlError> {
    [
        ("LIMIT", code::INVALID_ROW_COUNT_IN_LIMIT),
        ("OFFSET", code::INVALID_ROW_COUNT_IN_OFFSET),
    ]
    .into_iter()
    .find(|(clause, _)| line.starts_with(&format!("{clause} must be >=")))
    .map(|(clause, sqlstate)| SqlError::new(sqlstate, format!("{clause} must not be negative")))
}

fn from_plan(message: &str) -> SqlError {
    let line = first_line(message);
    if let Some(position) = position_out_of_bounds(&line) {
        let message = format!("ORDER BY position {position} is not in select list");
        return SqlError::new(code::INVALID_COLUMN_REFERENCE, message);
    }
    if let Some(error) = out_of_place(&line).or_else(|| negative(&line)) {
        return error;
    }
    let sqlstate = if line.starts_with("Invalid function")
        || line.contains("does not support zero arguments")
        || line.contains("No function matches")
        || line.contains("Failed to coerce arguments")
        || line.contains("Cannot infer common argument type")
        || line.contains("Cannot coerce arithmetic expression")
        || line.contains("Cannot get result type for")
    {
        code::UNDEFINED_FUNCTION
    } else if line.contains("GROUP BY") {
        code::GROUPING_ERROR
    } else if line.contains("unique expression names") {
        code::DUPLICATE_COLUMN
    } else if line.contains("type_coercion") || line.contains("coerce") {
        code::DATATYPE_MISMATCH
    } else if line.contains("laceholder") {
        code::UNDEFINED_PARAMETER
    } else {
        code::SYNTAX_OR_ACCESS_RULE
    };
    let message = match line.strip_prefix("Invalid function '") {
        Some(rest) => {
            let name = rest.split('\'').next().unwrap_or(rest);
            format!("function {name} does not exist")
        }
        None => line,
    };
    SqlError::new(sqlstate, message)
}

/// Something where the standard wants another thing, by what DataFusion says of it and PostgreSQL does.
const OUT_OF_PLACE: [(&str, &str, &str); 8] = [
    (
        "Cannot infer common argument type for logical",
        code::DATATYPE_MISMATCH,
        "arguments of AND and OR must be type boolean",
    ),
    (
        "Unary operator 'NOT' requires a boolean",
        code::DATATYPE_MISMATCH,
        "argument of NOT must be type boolean",
    ),
    (
        "Cannot create filter with non-boolean",
        code::DATATYPE_MISMATCH,
        "argument of WHERE must be type boolean",
    ),
    (
        "Filter condition must be boolean",
        code::DATATYPE_MISMATCH,
        "argument of WHERE must be type boolean",
    ),
    (
        "Join condition must be boolean",
        code::DATATYPE_MISMATCH,
        "argument of JOIN/ON must be type boolean",
    ),
    (
        "Aggregate function calls cannot be nested",
        code::GROUPING_ERROR,
        "aggregate function calls cannot be nested",
    ),
    (
        "Aggregate function calls cannot contain window",
        code::GROUPING_ERROR,
        "aggregate function calls cannot contain window function calls",
    ),
    (
        "Window function calls cannot be nested",
        code::WINDOWING_ERROR,
        "window function calls cannot be nested",
    ),
];

fn out_of_place(line: &str) -> Option<SqlError> {
    let mut all = OUT_OF_PLACE.iter();
    let (_, code, message) = all.find(|(start, ..)| line.starts_with(start))?;
    Some(SqlError::new(code, *message))
}

/// The `n` of an ORDER BY n that is more than there are columns.
fn position_out_of_bounds(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("Order by column out of bounds, specified: ")?;
    rest.split(',').next()
}

fn from_execution(message: &str) -> SqlError {
    let line = first_line(message);
    let lower = line.to_ascii_lowercase();
    let sqlstate = if lower.contains("divide by zero") || lower.contains("division by zero") {
        return SqlError::new(code::DIVISION_BY_ZERO, "division by zero");
    } else if lower.contains("overflow") || lower.contains("out of range") {
        code::NUMERIC_VALUE_OUT_OF_RANGE
    } else if lower.contains("cast") || lower.contains("parse") {
        code::INVALID_TEXT_REPRESENTATION
    } else if lower.contains("more than one row") {
        code::CARDINALITY_VIOLATION
    } else {
        code::INVALID_PARAMETER_VALUE
    };
    SqlError::new(sqlstate, line)
}

fn from_exhausted(message: &str) -> SqlError {
    if message.contains("disk space") {
        return SqlError::new(code::DISK_FULL, "the space for temporary files is used up")
            .with_detail(first_line(message));
    }
    SqlError::new(code::OUT_OF_MEMORY, "out of memory")
        .with_detail(first_line(message))
        .with_hint("Give queries more memory, or let fewer run at a time.")
}

/// DataFusion's messages may go on with suggestions and backtraces; one line is the message.
fn first_line(message: &str) -> String {
    message
        .lines()
        .next()
        .unwrap_or_default()
        .trim_end_matches('.')
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_own_error_comes_out_as_it_went_in() {
        let error = SqlError::undefined_table("t").with_hint("h");
        let inside = DataFusionError::Context(
            "somewhere".to_owned(),
            Box::new(DataFusionError::from(error.clone())),
        );
        assert_eq!(SqlError::from(inside), error);
    }

    #[test]
    fn damage_names_the_file_and_the_table() {
        let error = StoreError::Corrupt {
            file: "7.seg".to_owned(),
            offset: 4096,
            table: None,
            detail: "checksum".to_owned(),
        };
        let mapped = SqlError::from_store(&error, Some("public.t"));
        assert_eq!(mapped.code, "XX001");
        assert!(mapped.message.contains("7.seg") && mapped.message.contains("4096"));
        assert!(
            mapped
                .detail
                .is_some_and(|detail| detail.contains("public.t"))
        );
    }

    #[test]
    fn division_by_zero_has_its_own_code() {
        let error = DataFusionError::ArrowError(Box::new(ArrowError::DivideByZero), None);
        assert_eq!(SqlError::from(error).code, "22012");
    }
}
