//! System tables: PostgreSQL's catalogs, `information_schema`, and Hedgerow's own views.
//!
//! Tables whose content never changes (`pg_type`, `pg_proc`, …) come from the crate
//! `datafusion-pg-catalog`, and so do many of the functions that clients call on them. Tables
//! about what there is here are made when a statement names them:
//!
//! * [`relations`]: `pg_class` and its like.
//! * [`information_schema`]: the standard's views.
//! * [`oids`]: object ids.
//! * [`row_batch`]: rows from the few columns that say something.
//! * [`functions`]: functions that the crate lacks or that must know our tables.
//! * [`expanded`]: an array's elements with their numbers.
//! * [`sizes`]: how large tables are.

pub(crate) mod expanded;
pub(crate) mod functions;
pub(crate) mod information_schema;
pub(crate) mod oids;
pub(crate) mod relations;
pub(crate) mod row_batch;
pub(crate) mod sizes;

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::empty::EmptyTable;
use datafusion::catalog::{MemTable, SchemaProvider, TableProvider};
use datafusion::execution::session_state::SessionState;
use datafusion::prelude::SessionContext;
use datafusion_pg_catalog::pg_catalog::context::EmptyContextProvider;
use datafusion_pg_catalog::setup_pg_catalog;
use futures::FutureExt;

use crate::context::StatementContext;
use crate::error::{SqlError, code};
use crate::views::{self, View};

use row_batch::RowBatch;

/// The schema of PostgreSQL's catalogs.
pub(crate) const PG_CATALOG: &str = "pg_catalog";

/// The system schemas.
pub(crate) struct SystemCatalog {
    pg_catalog: Arc<dyn SchemaProvider>,
    /// Names of all tables in `pg_catalog`, in the order of their ids.
    names: Vec<String>,
}

impl SystemCatalog {
    /// Adds the catalog's functions to `state` and gives its tables.
    pub(crate) fn install(
        state: SessionState,
        database: &str,
    ) -> Result<(Self, SessionState), SqlError> {
        let context = SessionContext::new_with_state(state);
        let catalog = Arc::new(datafusion::catalog::MemoryCatalogProvider::new());
        context.register_catalog(database, catalog.clone());
        setup_pg_catalog(&context, database, EmptyContextProvider)
            .map_err(|error| SqlError::from(*error))?;
        let pg_catalog = datafusion::catalog::CatalogProvider::schema(catalog.as_ref(), PG_CATALOG)
            .ok_or_else(|| SqlError::new(code::INTERNAL_ERROR, "pg_catalog has not been set up"))?;
        let mut names = pg_catalog.table_names();
        names.sort();
        Ok((Self { pg_catalog, names }, context.state()))
    }

    /// Whether there is a system table with this name.
    pub(crate) fn has(&self, schema: &str, table: &str) -> bool {
        match schema {
            views::SCHEMA => View::named(table).is_some(),
            PG_CATALOG => self.has_catalog(table),
            information_schema::SCHEMA => information_schema::has(table),
            _ => false,
        }
    }

    fn has_catalog(&self, table: &str) -> bool {
        let found = self.names.binary_search_by(|name| name.as_str().cmp(table));
        found.is_ok()
    }

    /// The system table with this name, as of now.
    pub(crate) fn table(
        &self,
        context: &StatementContext<'_>,
        schema: &str,
        table: &str,
    ) -> Result<Option<Arc<dyn TableProvider>>, SqlError> {
        match schema {
            views::SCHEMA => match View::named(table) {
                Some(view) => in_memory(view.schema(), view.batch(context.engine)?).map(Some),
                None => Ok(None),
            },
            PG_CATALOG => self.pg_catalog_table(context, table),
            information_schema::SCHEMA => match information_schema::batch(context.engine, table)? {
                Some(batch) => in_memory(batch.schema(), batch).map(Some),
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn pg_catalog_table(
        &self,
        context: &StatementContext<'_>,
        table: &str,
    ) -> Result<Option<Arc<dyn TableProvider>>, SqlError> {
        if !self.has_catalog(table) {
            return Ok(None);
        }
        // The provider's function is asynchronous for others' sake; this one never waits.
        let Some(provider) = self
            .pg_catalog
            .table(table)
            .now_or_never()
            .transpose()?
            .flatten()
        else {
            return Ok(None);
        };
        let schema = relations::columns(table, &provider.schema());
        if table == "pg_settings" {
            let batch = settings(context, &schema)?;
            return in_memory(schema, batch).map(Some);
        }
        match relations::batch(context.engine, table, &schema, &self.names) {
            Some(batch) => in_memory(schema, batch?).map(Some),
            None if has_no_rows(provider.as_ref()) => Ok(Some(Arc::new(EmptyTable::new(schema)))),
            None => Ok(Some(provider)),
        }
    }
}

/// The settings of the session, as SHOW tells them.
fn settings(context: &StatementContext<'_>, schema: &SchemaRef) -> Result<RecordBatch, SqlError> {
    let mut rows = RowBatch::new(schema.clone());
    for (name, value) in context.facts.settings.all() {
        rows.push(&[
            ("name", name.as_str().into()),
            ("setting", value.as_str().into()),
            ("context", "user".into()),
            ("vartype", "string".into()),
            ("source", "default".into()),
            ("reset_val", value.as_str().into()),
            ("pending_restart", false.into()),
        ])?;
    }
    rows.finish()
}

/// Whether a table whose content never changes has none.
fn has_no_rows(provider: &dyn TableProvider) -> bool {
    let provider: &dyn std::any::Any = provider;
    provider.downcast_ref::<MemTable>().is_some_and(|table| {
        table.batches.iter().all(|partition| {
            let batches = partition.try_read();
            batches.is_ok_and(|batches| batches.iter().all(|batch| batch.num_rows() == 0))
        })
    })
}

fn in_memory(schema: SchemaRef, batch: RecordBatch) -> Result<Arc<dyn TableProvider>, SqlError> {
    if batch.num_rows() == 0 {
        return Ok(Arc::new(EmptyTable::new(schema)));
    }
    Ok(Arc::new(MemTable::try_new(schema, vec![vec![batch]])?))
}
