//! A node: one store, its background threads, one source, the SQL engine and the server.
//!
//! Start, in this order, so that a start that is refused leaves nothing behind:
//! 1. [`Node::open`] takes the data directory and recovers the store;
//! 2. [`Node::start`] takes the address, then starts the threads and the replica.
//!
//! End, in this order: clients are told goodbye, everything applied is made durable, the source
//! is told so, the replica and the background threads stop.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use env::Env;
use lsm::{Store, StoreError, StoreOptions};
use replication::apply::ApplyOptions;
use replication::catalog::Catalog;
use replication::replica::{Replica, ReplicaParts};
use replication::source::{Source, SourceError};
use replication::status::Status;
use sql::{Engine, EngineOptions, SqlError};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::background::{Fatal, Workers, lower_query_priority, spawner};
use crate::memory_plan::MemoryPlan;
use crate::progress::Progress;
use crate::server::{ListenError, Server, ServerOptions, SourceCommands};
use crate::settings::{DATABASE, NodeSettings, USER};
use crate::web::facts::Observed;
use crate::web::{Web, WebError};
use crate::{address_file, password};

/// Threads that read and write sockets; statements run on the engine's own.
const SERVER_THREADS: usize = 2;
/// Handshakes at the same time.
const HANDSHAKES_MAX: usize = 256;
/// How long a client may take to log in.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a running node looks at itself.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// How long to wait at the end until the source has been told what is durable.
const CONFIRM_PATIENCE: Duration = Duration::from_secs(2);
/// Folder for sorts and joins that exceed the memory, in the data directory.
const SPILL_DIRECTORY: &str = "spill";

/// A node cannot start, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The data directory cannot be used.
    #[error("cannot use the data directory {path}: {error}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The password file cannot be read or made.
    #[error("cannot use the password file {path}: {error}")]
    Password {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The address cannot be had.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The web page's address cannot be had.
    #[error(transparent)]
    Web(#[from] WebError),
    /// The engine cannot start.
    #[error("cannot start the SQL engine: {0}")]
    Engine(SqlError),
    /// The source cannot be replicated.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The operating system gives no threads.
    #[error("cannot start threads: {0}")]
    Threads(io::Error),
    /// Something failed while the node was running.
    #[error("{0}")]
    Failed(String),
}

/// A node that has its data but does not run.
pub struct Node {
    settings: NodeSettings,
    env: Env,
    store: Arc<Store>,
    catalog: Arc<Catalog>,
    status: Arc<Status>,
    engine: Arc<Engine>,
}

impl Node {
    /// Opens or creates the data directory.
    pub fn open(settings: NodeSettings) -> Result<Self, NodeError> {
        let env = Env::real();
        let data = &settings.data;
        create_directory(data).map_err(|error| NodeError::Directory {
            path: data.clone(),
            error,
        })?;
        let plan = MemoryPlan::new(settings.memory);
        let options = StoreOptions {
            memory_bytes: plan.changes,
            cache_bytes: plan.cache,
            filter_bytes: plan.filters,
            ..StoreOptions::default()
        };
        let store = Store::open(env.clone(), data, options)?;
        let catalog = Arc::new(Catalog::new());
        let status = Arc::new(Status::new(env.clock.clone()));
        let options = EngineOptions {
            memory_bytes: plan.statements,
            spill_directory: Some(data.join(SPILL_DIRECTORY)),
            spill_bytes: settings.spill.0,
            threads: settings.threads,
            thread_start: lower_query_priority,
            catch_up_timeout: settings.catch_up_timeout,
            database: DATABASE.to_owned(),
        };
        let engine = Engine::new(store.clone(), catalog.clone(), status.clone(), options)
            .map_err(NodeError::Engine)?;
        Ok(Self {
            settings,
            env,
            store,
            catalog,
            status,
            engine,
        })
    }

    /// Whether nothing has ever been replicated into the data directory.
    pub fn is_new(&self) -> bool {
        self.store.metadata().is_empty()
    }

    /// The data directory.
    pub fn data(&self) -> &Path {
        &self.settings.data
    }

    /// The trees.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The replicated tables.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// How far the source is.
    pub fn status(&self) -> &Arc<Status> {
        &self.status
    }

    /// Runs SQL.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Disk and clock.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// What the web page shows.
    fn observed(&self) -> Observed {
        Observed {
            store: self.store.clone(),
            catalog: self.catalog.clone(),
            status: self.status.clone(),
        }
    }

    /// Starts to serve clients and to replicate `source`, shown as `name` of a `kind`.
    pub fn start(
        self,
        name: &str,
        kind: &str,
        source: Box<dyn Source>,
        commands: SourceCommands,
    ) -> Result<RunningNode, NodeError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(SERVER_THREADS)
            .thread_name("server")
            .enable_all()
            .build()
            .map_err(NodeError::Threads)?;
        let data = &self.settings.data;
        let password = password::read_or_create(&*self.env.disk, data).map_err(|error| {
            NodeError::Password {
                path: password::file(data),
                error,
            }
        })?;
        let options = ServerOptions {
            listen: self.settings.listen,
            user: USER.to_owned(),
            password,
            database: DATABASE.to_owned(),
            connections_max: self.settings.connections,
            handshakes_max: HANDSHAKES_MAX,
            handshake_timeout: HANDSHAKE_TIMEOUT,
            tls: self.settings.tls.clone(),
            tls_required: self.settings.tls_required,
        };
        let server = runtime.block_on(Server::bind(self.engine.clone(), commands, options))?;
        let web = match self.settings.web {
            Some(address) => Some(runtime.block_on(Web::bind(address, self.observed()))?),
            None => None,
        };
        let address = server.address();
        address_file::write(data, address).map_err(|error| NodeError::Directory {
            path: data.clone(),
            error,
        })?;
        let fatal = Fatal::default();
        let workers = Workers::start(&self.store, &fatal);
        let parts = ReplicaParts {
            store: self.store.clone(),
            catalog: self.catalog.clone(),
            status: self.status.clone(),
            clock: self.env.clock.clone(),
            disk: self.env.disk.clone(),
            spool_directory: data.join("spool"),
            spawner: spawner(&fatal),
            options: ApplyOptions {
                flush_interval: self.settings.flush_interval,
                ..ApplyOptions::default()
            },
        };
        let replica = match Replica::start(parts, name, kind, source) {
            Ok(replica) => replica,
            Err(error) => {
                workers.stop();
                address_file::remove(data);
                return Err(error.into());
            }
        };
        let (stop_server, stopped) = oneshot::channel::<()>();
        // A dropped sender means stop as well.
        let serving = runtime.spawn(server.run(async move { drop(stopped.await) }));
        if let Some(web) = web {
            runtime.spawn(web.run());
        }
        Ok(RunningNode {
            node: self,
            address,
            runtime,
            fatal,
            workers,
            replica,
            stop_server,
            serving,
        })
    }
}

/// A node that serves clients and follows its source.
pub struct RunningNode {
    node: Node,
    address: SocketAddr,
    runtime: Runtime,
    fatal: Fatal,
    workers: Workers,
    replica: Replica,
    stop_server: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl RunningNode {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its parts.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Why it cannot go on, if it cannot.
    pub fn failed(&self) -> Option<String> {
        self.fatal.get().or_else(|| self.replica.failed())
    }

    /// Runs until `until` completes or the node cannot go on, shows the progress of the initial
    /// copy meanwhile, and ends the node in good order.
    pub fn run(self, until: impl Future<Output = ()>) -> Result<(), NodeError> {
        let mut progress = Progress::new();
        let failure = self.runtime.block_on(async {
            tokio::pin!(until);
            let mut looks = tokio::time::interval(LOOK_INTERVAL);
            loop {
                tokio::select! {
                    () = &mut until => return None,
                    _ = looks.tick() => {
                        progress.show(&self.node.status);
                        if let Some(failure) = self.failed() {
                            return Some(failure);
                        }
                    }
                }
            }
        });
        self.stop(failure.is_none());
        match failure {
            Some(failure) => Err(NodeError::Failed(failure)),
            None => Ok(()),
        }
    }

    /// Ends the node. Without `flush` it does so quickly and leaves the rest to the next start.
    fn stop(self, flush: bool) {
        // If nobody receives it, the server has ended already.
        _ = self.stop_server.send(());
        if self.runtime.block_on(self.serving).is_err() {
            tracing::error!("the server ended unexpectedly");
        }
        address_file::remove(&self.node.settings.data);
        if flush {
            make_durable(&self.node);
        }
        self.replica.shut_down();
        self.workers.stop();
        self.runtime.shutdown_timeout(CONFIRM_PATIENCE);
    }
}

/// Puts everything applied on disk and waits a little until the source knows.
fn make_durable(node: &Node) {
    if let Err(error) = node.store.flush() {
        tracing::warn!(%error, "the last changes are not durable; the next start reads them again");
        return;
    }
    let durable = node.store.durable().position;
    let told = || {
        node.status
            .sources()
            .iter()
            .all(|source| source.durable >= durable)
    };
    let deadline = Instant::now() + CONFIRM_PATIENCE;
    while !told() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Creates a directory that only its owner enters, unless there is one.
fn create_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if path.is_dir() {
        return Ok(());
    }
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

/// Completes when the process is asked to end: SIGTERM or SIGINT (Control-C).
pub async fn asked_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        tracing::error!("cannot listen for signals; end the process with SIGKILL");
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => tracing::info!("asked to end (SIGTERM)"),
        _ = interrupt.recv() => tracing::info!("asked to end (SIGINT)"),
    }
}
