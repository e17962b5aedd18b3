//! PostgreSQL's forms of statements that DataFusion takes in another form, and the names that
//! PostgreSQL gives to result columns.

use std::sync::Arc;

use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::sql::sqlparser::ast::Statement as Ast;

/// The statement in the form that the planner takes.
pub(crate) fn for_planner(statement: Ast) -> Ast {
    statement
}

/// The result's columns with the names that PostgreSQL gives them.
pub(crate) fn result_schema(_statement: &Ast, schema: &Schema) -> SchemaRef {
    Arc::new(schema.clone())
}
