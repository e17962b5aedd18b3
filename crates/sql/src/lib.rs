//! SQL over snapshots of the trees: the only crate that knows DataFusion.
//!
//! A statement goes through five steps:
//!
//! 1. [`parse`] cuts the text into [`Statement`]s.
//! 2. The [`Session`] answers transaction and setting commands itself, sends calls and changes to the built-in
//!    primary where there is one ([`writes`]) and refuses other writes.
//! 3. Anything that reads pins one snapshot of the store, or uses its transaction's, before
//!    planning. Every table the statement names is read through exactly that snapshot.
//! 4. A statement that asks for rows by key is answered by a look-up. DataFusion plans and runs
//!    any other; PostgreSQL's arithmetic, names and catalogs come from this
//!    crate's functions and rewrites.
//! 5. Batches stream back together with the position that they answer for.
//!
//! Invariants: a result never mixes positions; a session never sees a position older than one
//! it has seen; every error carries an SQLSTATE.
//!
//! Does not: speak the wire protocol, write into trees.

mod cast_parameters;
mod command;
mod context;
pub mod copy;
mod encoded_aggregate;
pub mod engine;
pub mod error;
mod exchange;
mod function_rows;
mod functions;
mod interrupt;
mod join_filters;
mod join_keys;
mod join_modes;
mod join_order;
mod lookup;
mod numbering;
pub mod outcome;
mod pg_catalog;
pub mod pg_type;
mod projection_choice;
mod projections;
mod query;
mod range_merge;
mod rewrite;
mod running_queries;
mod scan_sharing;
pub mod session;
mod settings;
mod shared_subplans;
pub mod statement;
mod table;
mod twin_names;
mod type_agreement;
mod unnested_rows;
mod unordered_exchanges;
mod views;
pub mod writes;

pub use command::named::{NamedCommand, Steps};
pub use copy::{CopyFormat, CopyOptions};
pub use datafusion::arrow;
pub use datafusion::common::ScalarValue;
pub use engine::{Engine, EngineOptions};
pub use error::SqlError;
pub use outcome::{Description, Notice, Outcome, ParameterType, RowStream};
pub use session::{Canceller, Session, SessionStart, TransactionStatus};
pub use statement::{Statement, parse};
pub use table::column::{MODIFIER_KEY, OID_KEY, TYPE_KEY};
pub use writes::Primary;
