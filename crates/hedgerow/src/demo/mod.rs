//! `hedgerow demo`: the main job with nothing else installed.
//!
//! Orders are entered into the built-in primary, whose rows soon are more than its memory: the coldest go to
//! disk. The replica follows it as it follows any source. While orders arrive, statuses are looked up and
//! sums over all tables are asked for, all through SQL, and every answer is compared with what the workload
//! must have come to at the position that the answer names. Some customers ask the primary itself, after
//! orders of any age.
//!
//! * [`drive`]: the course of a run. [`taking`]: the threads that call the primary.
//! * [`lookups`], [`audit`]: what is asked meanwhile; [`freshness`]: how new it is.
//! * [`collector`] makes [`figures`], [`display`] and [`summary`] show them.
//! * [`connect`], [`questions`]: what a person is invited to ask.

mod ask;
mod audit;
mod collector;
mod connect;
mod display;
mod drive;
mod figures;
mod freshness;
mod lookups;
mod meter;
mod numerals;
mod paint;
mod questions;
mod summary;
mod taking;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use oltp::SnapshotOptions;
use replication::orders::{self, OrderOptions, Table};
use replication::primary::source::KIND;
use replication::primary::{Ended, PrimaryOptions, PrimarySource};
use sql::SqlError;
use tempfile::TempDir;

use crate::byte_size::ByteSize;
use crate::node::{Node, NodeError};
use crate::primary::{self, PRIMARY_DIRECTORY};
use crate::settings::{DEFAULT_PRIMARY_MEMORY, NodeSettings};
use taking::Taking;

/// The name under which the source is shown.
const SOURCE_NAME: &str = "demo";

/// Orders of `--once` where no number is given.
const ORDERS_ONCE: u64 = 100_000;

/// The primary's memory where none is given: of a single run less than its orders take, otherwise enough for
/// the keys of some five million rows, which stay in memory.
const PRIMARY_MEMORY_ONCE: ByteSize = ByteSize::mib(96);
const PRIMARY_MEMORY: ByteSize = DEFAULT_PRIMARY_MEMORY;

/// `hedgerow demo`
#[derive(Debug, Args)]
pub struct DemoArguments {
    /// Place so many orders (one in a hundred is rolled back) [default: no end]
    #[arg(long, value_name = "COUNT")]
    pub orders: Option<u64>,
    /// Place the orders as fast as possible, wait until all is durable and merged, answer three
    /// questions, sum up and exit [orders by default: 100000]
    #[arg(long, conflicts_with = "rate")]
    pub once: bool,
    /// Orders a second; 0: as many as possible
    #[arg(long, value_name = "COUNT", default_value_t = 1_000)]
    pub rate: u64,
    /// Data directory; a second run goes on where the first ended [default: a temporary one,
    /// removed at the end]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Address for PostgreSQL clients; loopback only [default: 127.0.0.1:5433, with --once any
    /// free port]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Memory of the primary that takes the orders; rows beyond it go to disk, their keys stay
    /// [default: 256MiB, with --once 96MiB]
    #[arg(long, value_name = "SIZE")]
    pub primary_memory: Option<ByteSize>,
    /// Other seeds give other orders
    #[arg(long, value_name = "NUMBER", default_value_t = 42)]
    pub seed: u64,
}

/// The demonstration cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// There is no room for temporary data.
    #[error("cannot make a temporary directory: {0}")]
    Temporary(io::Error),
    /// The node failed.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// One of the demonstration's own statements failed.
    #[error("a question could not be answered: {0}")]
    Sql(#[from] SqlError),
    /// The trees failed.
    #[error(transparent)]
    Store(#[from] lsm::StoreError),
    /// The primary has ended, or was not as the workload foretells.
    #[error("orders cannot be taken: {0}")]
    Taking(String),
    /// Standard output cannot be written.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl From<Ended> for DemoError {
    fn from(ended: Ended) -> Self {
        Self::Taking(ended.to_string())
    }
}

/// A data directory: the user's, or one that is removed when this is dropped.
enum DataDirectory {
    Kept(PathBuf),
    Temporary(TempDir),
}

impl DataDirectory {
    fn new(wanted: Option<PathBuf>) -> Result<Self, DemoError> {
        match wanted {
            Some(path) => Ok(Self::Kept(path)),
            None => {
                let temporary = TempDir::with_prefix("hedgerow-demo-");
                temporary.map(Self::Temporary).map_err(DemoError::Temporary)
            }
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Temporary(directory) => directory.path(),
        }
    }
}

impl DemoArguments {
    fn listen(&self, default: SocketAddr) -> SocketAddr {
        let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        self.listen
            .unwrap_or(if self.once { any_port } else { default })
    }

    fn primary_memory(&self) -> ByteSize {
        let default = if self.once {
            PRIMARY_MEMORY_ONCE
        } else {
            PRIMARY_MEMORY
        };
        self.primary_memory.unwrap_or(default)
    }

    fn order_options(&self) -> OrderOptions {
        let unbounded = self.once || self.rate == 0;
        OrderOptions {
            seed: self.seed,
            rate: (!unbounded).then_some(self.rate as f64),
            orders: self.orders.or(self.once.then_some(ORDERS_ONCE)),
        }
    }
}

/// Runs the demonstration. Fails if an answer was not what it must be.
pub fn run(arguments: &DemoArguments) -> Result<ExitCode, DemoError> {
    let directory = DataDirectory::new(arguments.data.clone())?;
    let mut settings = NodeSettings::new(directory.path().to_owned());
    settings.listen = arguments.listen(settings.listen);
    let node = Node::open(settings)?;
    let options = arguments.order_options();
    let primary = PrimaryOptions {
        folder: directory.path().join(PRIMARY_DIRECTORY),
        memory_bytes: arguments.primary_memory().bytes(),
        snapshots: SnapshotOptions::default(),
        tables: Table::of_primary(),
        procedures: orders::calls::procedures(),
        identity: orders::identity(arguments.seed),
    };
    let source = PrimarySource::new(node.env().clone(), primary);
    let (clients, observed) = (source.clients(), source.observed());
    let commands = primary::commands(&node, clients.clone(), Table::of_primary());
    let node = node.start(SOURCE_NAME, KIND, Box::new(source), commands)?;
    let pace = drive::pace(options.rate.is_some());
    let taking = Taking::start(node.node(), &clients, options, pace)?;
    let run = drive::Run::new(node.node(), options, &taking, observed);
    if !arguments.once {
        print!("{}", connect::invitation(directory.path(), node.address()));
    }
    let mut outcome = None;
    node.run(async {
        outcome = Some(run.drive(arguments.once).await);
        taking.stop();
    })?;
    // The node ran until the drive was over.
    let correct = outcome.transpose()?.unwrap_or(false);
    Ok(if correct {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        demo: DemoArguments,
    }

    fn parse(arguments: &[&str]) -> DemoArguments {
        Line::parse_from(["demo"].iter().chain(arguments)).demo
    }

    #[test]
    fn a_run_goes_on_at_a_moderate_pace_unless_told_otherwise() {
        let options = parse(&[]).order_options();
        assert_eq!((options.rate, options.orders), (Some(1_000.0), None));
        assert_eq!(parse(&["--rate", "0"]).order_options().rate, None);
        let once = parse(&["--once"]).order_options();
        assert_eq!((once.rate, once.orders), (None, Some(ORDERS_ONCE)));
        let once = parse(&["--orders", "7", "--once"]).order_options();
        assert_eq!(once.orders, Some(7));
    }

    #[test]
    fn a_single_run_takes_no_port_that_others_may_want() {
        let default = SocketAddr::from((Ipv4Addr::LOCALHOST, 5433));
        assert_eq!(parse(&[]).listen(default), default);
        assert_eq!(parse(&["--once"]).listen(default).port(), 0);
        let wanted = parse(&["--once", "--listen", "127.0.0.1:7000"]);
        assert_eq!(wanted.listen(default).port(), 7000);
    }

    #[test]
    fn temporary_data_is_removed() {
        let directory = DataDirectory::new(None).expect("a temporary directory");
        let path = directory.path().to_owned();
        assert!(path.is_dir());
        drop(directory);
        assert!(!path.exists());
    }
}
