//! The engine: what all sessions share.
//!
//! Queries are planned and run on threads of the engine's own, so that a scan that waits for
//! the disk, or a join that keeps a core busy, holds up no connection. All running queries
//! share one bound of memory and one folder for what exceeds it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use datafusion::execution::FunctionRegistry;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{
    FairSpillPool, GreedyMemoryPool, MemoryPool, TrackConsumersPool,
};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::prelude::SessionConfig;
use lsm::Store;
use replication::catalog::{Catalog, TableEntry};
use replication::status::Status;
use tokio::runtime::{Builder, Runtime};
use types::CommitPosition;

use crate::encoded_aggregate::rule::EncodedAggregates;
use crate::error::{SqlError, code};
use crate::functions::array_operators::ArrayOperators;
use crate::functions::cast_names::CastNames;
use crate::functions::distinct_order::DistinctOrder;
use crate::functions::json::operators::JsonOperators;
use crate::functions::{self, operators::Operators};
use crate::join_filters::JoinFilters;
use crate::join_keys::rule::JoinKeySets;
use crate::join_modes::JoinModes;
use crate::join_order;
use crate::lookup::shape::Shape;
use crate::numbering::rule::Numberings;
use crate::pg_catalog::{self, SystemCatalog};
use crate::projection_choice::ProjectionChoice;
use crate::range_merge::rule::RangeMerges;
use crate::running_queries::RunningQueries;
use crate::scan_sharing::ScanSharing;
use crate::session::{Session, SessionStart};
use crate::shared_subplans::planner::SharingPlanner;
use crate::twin_names;
use crate::unordered_exchanges::UnorderedExchanges;
use crate::writes::Primary;

/// Consumers of memory that an error about a full pool names.
const CONSUMERS_NAMED: usize = 3;
/// A join's places for keys take at most one in so many bytes of the statements' memory.
const DIRECT_MEMORY_DIVISOR: usize = 16;
/// And at most 64 MiB.
const DIRECT_KEYS_MAX: usize = 16 << 20;
/// More places there are only where at least this share of them is taken.
const DIRECT_KEY_SHARE: f64 = 0.05;
/// Each so many-th turn of an engine's thread goes to a task that came from outside, new statements above all.
/// By itself the runtime begins with every 61st, and only learns there how long turns are.
const NEWCOMER_INTERVAL: u32 = 2;
/// How often a waiting statement looks whether the replica has caught up: soon at first, for a client that asks
/// after what it has just written.
const CATCH_UP_POLL_FIRST: Duration = Duration::from_millis(1);
const CATCH_UP_POLL: Duration = Duration::from_millis(10);

/// Limits and identity of an [`Engine`].
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Memory for the operators of all running statements together, bytes.
    pub memory_bytes: usize,
    /// A folder of the engine's own where sorts, joins and aggregations spill what exceeds it
    /// (emptied at the start); `None`: they fail (53200).
    pub spill_directory: Option<PathBuf>,
    /// Disk space for that, bytes.
    pub spill_bytes: u64,
    /// Threads that a statement is spread over, and that all statements share.
    pub threads: usize,
    /// What each of them calls as it starts: it may lower its own priority.
    pub thread_start: fn(),
    /// How long a statement waits after a start until the replica has caught up (57P03 then).
    pub catch_up_timeout: Duration,
    /// The name of the one database.
    pub database: String,
}

impl EngineOptions {
    /// The largest range of a join's integer keys that has a place of four bytes each, however few of
    /// them there are: looking a key up there is a subtraction and a read; in a hash table it is a hash and several reads.
    fn direct_keys_max(&self) -> usize {
        (self.memory_bytes / size_of::<u32>() / DIRECT_MEMORY_DIVISOR).min(DIRECT_KEYS_MAX)
    }
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            memory_bytes: 256 << 20,
            spill_directory: None,
            spill_bytes: 16 << 30,
            threads: std::thread::available_parallelism().map_or(2, usize::from),
            thread_start: || {},
            catch_up_timeout: Duration::from_secs(30),
            database: "hedgerow".to_owned(),
        }
    }
}

/// Runs SQL over one store.
pub struct Engine {
    pub(crate) options: EngineOptions,
    pub(crate) store: Arc<Store>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) status: Arc<Status>,
    pub(crate) system: SystemCatalog,
    /// Functions, rules and configuration; each statement runs on a clone.
    pub(crate) state: SessionState,
    /// How many queries run.
    pub(crate) running: RunningQueries,
    /// What takes writes, if anything does.
    primary: OnceLock<Primary>,
    /// Once true it stays true.
    caught_up: AtomicBool,
    /// `None` only while the engine is dropped.
    runtime: Option<Runtime>,
}

impl Engine {
    /// An engine over `store`, whose tables and states `catalog` knows and whose sources
    /// `status` tells of.
    pub fn new(
        store: Arc<Store>,
        catalog: Arc<Catalog>,
        status: Arc<Status>,
        options: EngineOptions,
    ) -> Result<Arc<Self>, SqlError> {
        let start_failed = |error: std::io::Error| {
            SqlError::new(
                code::IO_ERROR,
                format!("the query engine cannot start: {error}"),
            )
        };
        if let Some(directory) = &options.spill_directory {
            empty_directory(directory).map_err(start_failed)?;
        }
        let runtime = Builder::new_multi_thread()
            .worker_threads(options.threads.max(1))
            .thread_name("hedgerow-query")
            .on_thread_start(options.thread_start)
            .global_queue_interval(NEWCOMER_INTERVAL)
            .enable_time()
            .build()
            .map_err(start_failed)?;
        let (system, state) = SystemCatalog::install(session_state(&options)?, &options.database)?;
        let state = with_functions(state, &catalog, &store)?;
        Ok(Arc::new(Self {
            options,
            store,
            catalog,
            status,
            system,
            state,
            running: RunningQueries::default(),
            primary: OnceLock::new(),
            caught_up: AtomicBool::new(false),
            runtime: Some(runtime),
        }))
    }

    /// From now on calls and changes go to this primary, which the store follows.
    ///
    /// # Panics
    /// When they go to another one already.
    pub fn write_to(&self, primary: Primary) {
        let is_first = self.primary.set(primary).is_ok();
        assert!(is_first, "an engine has one primary");
    }

    /// What takes writes.
    pub(crate) fn primary(&self) -> Option<&Primary> {
        self.primary.get()
    }

    /// A session for one client.
    pub fn session(self: &Arc<Self>, start: &SessionStart) -> Result<Session, SqlError> {
        Session::new(self.clone(), start)
    }

    /// The replicated table that a look-up is about; `None` also for a system table.
    pub(crate) fn by_name(
        &self,
        shape: &Shape,
        search_path: impl FnOnce() -> Vec<String>,
    ) -> Option<Arc<TableEntry>> {
        let find = |schema: &str| match self.system.has(schema, &shape.table) {
            true => Some(None),
            false => self.catalog.by_name(schema, &shape.table).map(Some),
        };
        match &shape.schema {
            Some(schema) => find(schema).flatten(),
            None => find(pg_catalog::PG_CATALOG)
                .or_else(|| search_path().iter().find_map(|schema| find(schema)))
                .flatten(),
        }
    }

    /// Where queries run.
    pub(crate) fn runtime(&self) -> &Runtime {
        self.runtime
            .as_ref()
            .expect("the runtime is there until the engine is dropped")
    }

    /// Returns once no statement can see an older state than one before the last restart did.
    pub(crate) async fn wait_until_caught_up(&self) -> Result<(), SqlError> {
        let start = Instant::now();
        while !self.is_caught_up() {
            if start.elapsed() >= self.options.catch_up_timeout {
                return Err(self.not_caught_up());
            }
            tokio::time::sleep(CATCH_UP_POLL).await;
        }
        Ok(())
    }

    /// Returns once everything up to `position` can be read.
    pub(crate) async fn wait_until_visible(
        &self,
        position: CommitPosition,
    ) -> Result<(), SqlError> {
        let start = Instant::now();
        let mut pause = CATCH_UP_POLL_FIRST;
        while self.store.visible() < position {
            if start.elapsed() >= self.options.catch_up_timeout {
                return Err(SqlError::new(
                    code::CANNOT_CONNECT_NOW,
                    format!("position {position} has not arrived"),
                )
                .with_detail(format!("The copy is at {}.", self.store.visible()))
                .with_hint("Try again later; hedgerow.sources shows the progress."));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(CATCH_UP_POLL);
        }
        Ok(())
    }

    /// Whether no statement can see an older state than one before the last restart did.
    pub(crate) fn is_caught_up(&self) -> bool {
        if self.caught_up.load(Ordering::Relaxed) {
            return true;
        }
        let caught_up = self.status.caught_up_since_start();
        self.caught_up.fetch_or(caught_up, Ordering::Relaxed);
        caught_up
    }

    fn not_caught_up(&self) -> SqlError {
        let sources: Vec<String> = self
            .status
            .sources()
            .iter()
            .map(|source| {
                let reason = source.reason.as_ref().map(|reason| format!(": {reason}"));
                format!(
                    "{} is {}, {} bytes behind{}",
                    source.name,
                    source.state.as_str(),
                    source.lag_bytes,
                    reason.unwrap_or_default()
                )
            })
            .collect();
        SqlError::new(
            code::CANNOT_CONNECT_NOW,
            "the replica has not yet caught up with the source since its start",
        )
        .with_detail(sources.join("; "))
        .with_hint("Try again later; hedgerow.sources shows the progress.")
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Creates the folder, or removes what an earlier process left in it.
fn empty_directory(directory: &std::path::Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            std::fs::remove_dir_all(path)?;
        } else {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn session_state(options: &EngineOptions) -> Result<SessionState, SqlError> {
    let mut config = SessionConfig::new()
        .with_target_partitions(options.threads.max(1))
        .with_create_default_catalog_and_schema(false)
        .with_default_catalog_and_schema(&options.database, "public");
    let values = config.options_mut();
    values.sql_parser.parse_float_as_decimal = true;
    values.sql_parser.map_string_types_to_utf8view = false;
    // [`join_order`] knows more.
    values.optimizer.join_reordering = false;
    values.execution.perfect_hash_join_small_build_threshold = options.direct_keys_max();
    values.execution.perfect_hash_join_min_key_density = DIRECT_KEY_SHARE;
    // Metadata, which tells the source's types, may differ between two plans of a query.
    values.execution.skip_physical_aggregate_schema_check = true;
    values.execution.time_zone = Some("+00:00".to_owned());
    let builder = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime_env(options)?)
        // In front of DataFusion's own, which are added next.
        .with_expr_planners(vec![
            Arc::new(DistinctOrder),
            Arc::new(CastNames),
            Arc::new(ArrayOperators::new()),
            Arc::new(JsonOperators::new()),
            Arc::new(Operators::new()),
        ])
        .with_default_features()
        .with_optimizer_rules(join_order::optimizer().rules)
        .with_query_planner(Arc::new(SharingPlanner))
        .with_physical_optimizer_rules(physical_rules());
    Ok(builder.build())
}

/// DataFusion's rules, and where joins, exchanges, scans and names are concerned this crate's.
fn physical_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules = twin_names::careful(PhysicalOptimizer::new().rules);
    let chooses = rules
        .iter()
        .position(|rule| rule.name() == "join_selection");
    rules.insert(chooses.unwrap_or(0), Arc::new(JoinModes));
    let exchanges = rules
        .iter()
        .position(|rule| rule.name() == "EnsureRequirements")
        .expect("DataFusion has a rule that puts exchanges in");
    rules.insert(exchanges + 1, Arc::new(UnorderedExchanges));
    rules.push(Arc::new(JoinFilters));
    rules.push(Arc::new(JoinKeySets));
    rules.push(Arc::new(ScanSharing));
    rules.push(Arc::new(RangeMerges));
    rules.insert(0, Arc::new(ProjectionChoice));
    rules.push(Arc::new(EncodedAggregates));
    rules.push(Arc::new(Numberings));
    rules
}

fn with_functions(
    mut state: SessionState,
    catalog: &Arc<Catalog>,
    store: &Arc<Store>,
) -> Result<SessionState, SqlError> {
    functions::register(&mut state)?;
    let catalog_functions = pg_catalog::functions::constants();
    for function in catalog_functions
        .into_iter()
        .chain(pg_catalog::functions::about_tables(catalog))
        .chain(pg_catalog::sizes::functions(catalog, store))
        .chain([datafusion::logical_expr::ScalarUDF::from(
            pg_catalog::expanded::ExpandArray::new(),
        )])
    {
        state.register_udf(Arc::new(function))?;
    }
    Ok(state)
}

fn runtime_env(options: &EngineOptions) -> Result<Arc<RuntimeEnv>, SqlError> {
    let named = std::num::NonZeroUsize::new(CONSUMERS_NAMED).expect("is not zero");
    let (pool, mode): (Arc<dyn MemoryPool>, _) = match &options.spill_directory {
        Some(directory) => (
            Arc::new(TrackConsumersPool::new(
                FairSpillPool::new(options.memory_bytes),
                named,
            )),
            DiskManagerMode::Directories(vec![directory.clone()]),
        ),
        None => (
            Arc::new(TrackConsumersPool::new(
                GreedyMemoryPool::new(options.memory_bytes),
                named,
            )),
            DiskManagerMode::Disabled,
        ),
    };
    let disk = DiskManagerBuilder::default()
        .with_mode(mode)
        .with_max_temp_directory_size(options.spill_bytes);
    let builder = RuntimeEnvBuilder::new()
        .with_memory_pool(pool)
        .with_disk_manager_builder(disk);
    Ok(builder.build_arc()?)
}
