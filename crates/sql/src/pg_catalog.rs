//! System tables: PostgreSQL's catalogs and Hedgerow's own views.

use std::sync::Arc;

use datafusion::catalog::TableProvider;

use crate::context::StatementContext;
use crate::error::SqlError;

/// The system schemas.
pub(crate) struct SystemCatalog {}

impl SystemCatalog {
    pub(crate) fn new() -> Result<Self, SqlError> {
        Ok(Self {})
    }

    /// The system table with this name, as of now.
    pub(crate) fn table(
        &self,
        _context: &StatementContext<'_>,
        _schema: &str,
        _table: &str,
    ) -> Result<Option<Arc<dyn TableProvider>>, SqlError> {
        Ok(None)
    }
}
