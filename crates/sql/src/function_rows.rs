//! The rows of a function in FROM, told apart from those that it gives for other arguments.
//!
//! DataFusion (55.2) names a function's scan after the function alone, and takes scans for equal that have one name,
//! one schema and the same conditions. Of two subqueries as values it then ran one:
//! `select (select count(*) from generate_series(1, 10)), (select count(*) from generate_series(1, 20))` gave 10
//! twice. So the arguments stand in the metadata of the schema.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;

/// A call.
#[derive(Debug)]
pub(crate) struct FunctionRows {
    called: Arc<dyn TableProvider>,
    schema: SchemaRef,
}

impl FunctionRows {
    /// What `called` gives, which is function `name` of `arguments`.
    pub(crate) fn new(called: Arc<dyn TableProvider>, name: &str, arguments: &[Expr]) -> Self {
        let schema = called.schema();
        let mut metadata = schema.metadata().clone();
        // The key is the call: joins keep all keys of their sides, and one value of each.
        metadata.insert(format!("{name}{arguments:?}"), String::new());
        let schema = Schema::new_with_metadata(schema.fields().clone(), metadata);
        Self {
            called,
            schema: Arc::new(schema),
        }
    }
}

#[async_trait]
impl TableProvider for FunctionRows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        self.called.table_type()
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.called.scan(session, projection, filters, limit).await
    }
}
