//! Names in a statement: tables, functions, types.
//!
//! A statement's tables all read its one snapshot. A name without a schema is looked for in
//! `pg_catalog`, then along the search path. Functions may carry `pg_catalog.` in front.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::catalog::default_table_source::provider_as_source;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{DFSchema, Result, TableReference, plan_datafusion_err};
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::planner::{
    ContextProvider, ExprPlanner, RelationPlanner, TypePlanner,
};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{
    AggregateUDF, Expr, HigherOrderUDF, ScalarUDF, TableSource, WindowUDF,
};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use lsm::Snapshot;
use replication::catalog::{TableEntry, TableState};

use crate::engine::Engine;
use crate::error::{SqlError, code};
use crate::function_rows::FunctionRows;
use crate::functions::session::SessionFacts;
use crate::functions::types::SqlTypes;
use crate::pg_catalog::PG_CATALOG;
use crate::table::provider::Table;

/// Everything a statement's names may mean.
pub(crate) struct StatementContext<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) state: &'a SessionState,
    pub(crate) facts: &'a SessionFacts,
    /// `None` while a statement is only described.
    pub(crate) snapshot: Option<Arc<Snapshot>>,
}

impl StatementContext<'_> {
    /// Whether the name is that of a system table or a function that makes one.
    pub(crate) fn is_system_table(&self, name: &TableReference) -> bool {
        let table = name.table();
        match name.schema() {
            Some(schema) => self.engine.system.has(schema, table),
            None => {
                self.state.table_functions().contains_key(table)
                    || self
                        .schemas()
                        .any(|schema| self.engine.system.has(schema, table))
            }
        }
    }

    /// Where a name without a schema is looked for, in this order.
    fn schemas(&self) -> impl Iterator<Item = &str> {
        let path = self.facts.search_path.iter().map(String::as_str);
        std::iter::once(PG_CATALOG).chain(path)
    }

    fn find(&self, name: &TableReference) -> Result<Arc<dyn TableProvider>, SqlError> {
        if let Some(database) = name.catalog()
            && database != self.engine.options.database
        {
            return Err(SqlError::not_supported(format!(
                "a reference to another database ({name})"
            )));
        }
        let found = match name.schema() {
            Some(schema) => self.find_in(schema, name.table())?,
            None => self
                .schemas()
                .find_map(|schema| self.find_in(schema, name.table()).transpose())
                .transpose()?,
        };
        found.ok_or_else(|| SqlError::undefined_table(name))
    }

    fn find_in(
        &self,
        schema: &str,
        table: &str,
    ) -> Result<Option<Arc<dyn TableProvider>>, SqlError> {
        if let Some(system) = self.engine.system.table(self, schema, table)? {
            return Ok(Some(system));
        }
        let catalog = &self.engine.catalog;
        let found = match &self.snapshot {
            Some(snapshot) => catalog.by_name_at(schema, table, snapshot.position()),
            None => catalog.by_name(schema, table),
        };
        match found {
            Some(entry) => self.replicated(&entry).map(Some),
            None => Ok(None),
        }
    }

    fn replicated(&self, entry: &TableEntry) -> Result<Arc<dyn TableProvider>, SqlError> {
        if self.snapshot.is_some() {
            readable(entry)?;
        }
        let table = Table::new(
            self.engine.store.clone(),
            entry.id,
            entry.schema.clone(),
            self.snapshot.clone(),
        );
        let projections = self.engine.catalog.projections_of(entry.id);
        Ok(Arc::new(table.with_projections(&projections)))
    }
}

/// Whether a table can be read.
pub(crate) fn readable(entry: &TableEntry) -> Result<(), SqlError> {
    let name = &entry.schema.name;
    match &entry.state {
        TableState::Live => Ok(()),
        TableState::Copying => Err(SqlError::new(
            code::OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("table {name} is still being copied"),
        )
        .with_hint("Try again later; hedgerow.sources shows the progress.")),
        TableState::Stopped { position, reason } => Err(SqlError::new(
            code::OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("replication of table {name} stopped at {position}"),
        )
        .with_detail(reason.clone())
        .with_hint(format!(
            "Remove the reason at the source, then copy the table again. See hedgerow.tables \
             for the state of all tables; {name} equals the source up to {position} only."
        ))),
    }
}

/// A function's name without `pg_catalog.`; a name with quotes loses them.
fn plain(name: &str) -> &str {
    name.strip_prefix("pg_catalog.").unwrap_or(name)
}

impl ContextProvider for StatementContext<'_> {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        Ok(provider_as_source(self.find(&name)?))
    }

    fn get_table_function_source(
        &self,
        name: &str,
        args: Vec<Expr>,
    ) -> Result<Arc<dyn TableSource>> {
        let function = self
            .state
            .table_functions()
            .get(plain(name))
            .cloned()
            .ok_or_else(|| {
                SqlError::new(
                    code::UNDEFINED_FUNCTION,
                    format!("function {name} does not exist"),
                )
            })?;
        let context = SimplifyContext::builder()
            .with_config_options(self.state.config_options().clone())
            .with_query_execution_start_time(
                self.state.execution_props().query_execution_start_time,
            )
            .build();
        let simplifier = ExprSimplifier::new(context);
        let schema = DFSchema::empty();
        let args = args
            .into_iter()
            .map(|arg| {
                simplifier
                    .coerce(arg, &schema)
                    .and_then(|arg| simplifier.simplify(arg))
            })
            .collect::<Result<Vec<_>>>()?;
        let called = function.create_table_provider_with_args(
            datafusion::catalog::TableFunctionArgs::new(&args, self.state),
        )?;
        let rows = FunctionRows::new(called, plain(name), &args);
        Ok(provider_as_source(Arc::new(rows)))
    }

    fn create_cte_work_table(&self, name: &str, schema: SchemaRef) -> Result<Arc<dyn TableSource>> {
        Ok(provider_as_source(Arc::new(CteWorkTable::new(
            name, schema,
        ))))
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        self.state.expr_planners()
    }

    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        self.state.relation_planners()
    }

    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        Some(Arc::new(SqlTypes))
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        let name = plain(name);
        self.facts
            .function(name)
            .or_else(|| self.state.scalar_functions().get(name).cloned())
    }

    fn get_higher_order_meta(&self, name: &str) -> Option<Arc<HigherOrderUDF>> {
        self.state
            .higher_order_functions()
            .get(plain(name))
            .cloned()
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        self.state.aggregate_functions().get(plain(name)).cloned()
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        self.state.window_functions().get(plain(name)).cloned()
    }

    fn get_variable_type(&self, _: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        self.state.config_options()
    }

    fn udf_names(&self) -> Vec<String> {
        self.state.scalar_functions().keys().cloned().collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        self.state
            .higher_order_functions()
            .keys()
            .cloned()
            .collect()
    }

    fn udaf_names(&self) -> Vec<String> {
        self.state.aggregate_functions().keys().cloned().collect()
    }

    fn udwf_names(&self) -> Vec<String> {
        self.state.window_functions().keys().cloned().collect()
    }

    fn get_file_type(
        &self,
        extension: &str,
    ) -> Result<Arc<dyn datafusion::common::file_options::file_type::FileType>> {
        Err(plan_datafusion_err!(
            "files ({extension}) are not read here"
        ))
    }
}
