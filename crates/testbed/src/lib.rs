//! Real servers under test: what integration tests, soak runs and experiments start and stop.
//!
//! Everything here but [`kill_primary`], which is about an engine, treats Hedgerow as a black box: the binary, its
//! data directory, its wire protocol. Nothing of the product depends on this crate.
//!
//! * [`owned_process`]: a child process that never outlives its owner.
//! * [`free_port`]: ports nobody listens on.
//! * [`postgres_server`]: a PostgreSQL in a folder of its own.
//! * [`hedgerow_process`]: the hedgerow binary on a data directory of its own.
//! * [`history`]: random schemas, rows and histories.
//! * [`log_reading`]: a second reading of the source's log, to hold snapshots against.
//! * [`cut_link`]: a network link that can be cut.
//! * [`differential`]: random queries, answered by PostgreSQL and by Hedgerow.
//! * [`bank`]: money that moves between eight tables, the invariant that a torn read breaks.
//! * [`list_append`]: lists that tell the order of their transactions, and a checker of snapshots.
//! * [`soak`]: kills, crashes, cut links and dropped slots under load.
//! * [`kill_primary`]: kills of a process with a primary.
//! * [`tpch`]: TPC-H data, queries and the comparison of answers.

pub mod bank;
pub mod cut_link;
pub mod differential;
pub mod free_port;
pub mod hedgerow_process;
pub mod history;
pub mod kill_primary;
pub mod list_append;
pub mod log_reading;
pub mod owned_process;
pub mod patience;
pub mod postgres_server;
pub mod soak;
pub mod tpch;

pub use hedgerow_process::{Hedgerow, HedgerowOptions};
pub use postgres_server::{PostgresOptions, PostgresServer};
