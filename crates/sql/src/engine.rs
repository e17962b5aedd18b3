//! The engine: what all sessions share.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::error::SqlError;
use crate::session::{Session, SessionStart};

/// Limits and identity of an [`Engine`].
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Memory for the operators of all running statements together, bytes.
    pub memory_bytes: usize,
    /// Where sorts, joins and aggregations spill what exceeds it; `None`: they fail (53200).
    pub spill_directory: Option<PathBuf>,
    /// Disk space for that, bytes.
    pub spill_bytes: u64,
    /// Threads that a statement is spread over.
    pub threads: usize,
    /// How long a statement waits after a start until the replica has caught up (57P03 then).
    pub catch_up_timeout: Duration,
    /// The name of the one database.
    pub database: String,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            memory_bytes: 256 << 20,
            spill_directory: None,
            spill_bytes: 16 << 30,
            threads: std::thread::available_parallelism().map_or(2, usize::from),
            catch_up_timeout: Duration::from_secs(30),
            database: "hedgerow".to_owned(),
        }
    }
}

/// Runs SQL over one store.
pub struct Engine {
    options: EngineOptions,
}

impl Engine {
    /// An engine over `store`, whose tables and states `catalog` knows and whose sources
    /// `status` tells of.
    pub fn new(
        store: Arc<lsm::Store>,
        catalog: Arc<replication::catalog::Catalog>,
        status: Arc<replication::status::Status>,
        options: EngineOptions,
    ) -> Result<Arc<Self>, SqlError>;

    /// A session for one client.
    pub fn session(self: &Arc<Self>, start: SessionStart) -> Session;
}
