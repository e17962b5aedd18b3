//! What describing and executing a statement give back.

use std::borrow::Cow;
use std::pin::Pin;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use futures::Stream;
use types::CommitPosition;

use crate::error::SqlError;

/// The batches of a result. Dropping it ends the statement.
pub type RowStream = Pin<Box<dyn Stream<Item = Result<RecordBatch, SqlError>> + Send>>;

/// The type of a parameter (`$1`, `$2`, …).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterType {
    /// How its value is handed to [`crate::Session::execute`].
    pub data_type: DataType,
    /// PostgreSQL's id of the type as a client sees it.
    pub oid: u32,
}

/// What a statement takes and gives.
#[derive(Clone, Debug)]
pub struct Description {
    /// One a parameter.
    pub parameters: Vec<ParameterType>,
    /// The result's columns; `None` for a command that gives no rows.
    pub schema: Option<SchemaRef>,
}

/// Something to tell the client that is not an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// `WARNING` or `NOTICE`
    pub severity: &'static str,
    /// SQLSTATE
    pub code: &'static str,
    /// For people.
    pub message: String,
}

/// The result of a statement.
pub enum Outcome {
    /// Rows, as a stream.
    Rows {
        /// The state that the rows are a part of: equal to the source's at this position.
        position: CommitPosition,
        /// The columns. Field metadata `pg.oid`, `pg.modifier` and `pg.type` tell the source's
        /// type where a column comes straight from a table.
        schema: SchemaRef,
        /// The rows.
        stream: RowStream,
        /// First word of the completion tag: `SELECT`, `SHOW`, `EXPLAIN`, `CALL`.
        tag: &'static str,
    },
    /// A command has been carried out.
    Command {
        /// The completion tag, such as `SET` or `INSERT 0 1`; empty for an empty statement.
        tag: Cow<'static, str>,
        /// Something to tell the client.
        notice: Option<Notice>,
        /// Settings that the client is told of (name, new value).
        changed: Vec<(String, String)>,
    },
}
