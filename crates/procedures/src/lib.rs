//! Tables and procedures of the primary, declared in SQL.
//!
//! A schema file is read once (`syntax`), its names are looked up and its types settled (`expression`, `access`,
//! `step`), and what comes out runs as the primary's procedures do: nothing is parsed in a call but a
//! statement that was never sent before.
//!
//! * [`application`]: everything that a schema declares. [`table`], [`procedure`]: its parts; `statement`: INSERT,
//!   UPDATE and DELETE on their own.
//! * [`call`]: what clients send, prepared; [`reply`]: what they get; `encoding`: values as bytes.
//! * [`stored`]: the schema as a data folder keeps it, and what may change of it.
//! * [`sql_type`], [`datum`], [`numeric`], `cast`, `calendar`: types and values. [`fault`]: what is wrong with a text.
//!
//! **Invariants:** a procedure follows from its parameters, the tables and the transaction's time alone. It reaches
//! rows by keys only. What is refused has one of PostgreSQL's SQLSTATEs, and nothing of its transaction remains.
//!
//! Does not: know the wire protocol or DataFusion, read files, choose between plans by what tables hold.

mod access;
pub mod application;
mod calendar;
pub mod call;
mod cast;
pub mod datum;
mod encoding;
mod expression;
pub mod fault;
pub mod numeric;
pub mod procedure;
pub mod reply;
pub mod sql_type;
mod statement;
mod step;
pub mod stored;
mod syntax;
pub mod table;

pub use application::Application;
pub use call::{Prepared, PreparedKind};
pub use datum::Datum;
pub use fault::Fault;
pub use numeric::Numeric;
pub use procedure::{Parameter, SqlProcedure};
pub use reply::{Answered, ReplyColumn};
pub use sql_type::SqlType;
pub use stored::{StoredSchema, StoredSchemaError};
pub use table::Table;
