//! PostgreSQL as a source: initial copy at an exported snapshot, then logical replication.
//!
//! * [`config`]: where the server is and which slot and publication to use.
//! * [`connection`]: a small blocking client, for queries, COPY and the replication stream; [`socket`]: the
//!   way to the server; [`tls`]: what it has to prove; [`certificate_hash`]: what a password's proof is bound
//!   to; [`connection_string`]: where all that is said.
//! * [`pgoutput`]: decoder of the logical replication messages.
//! * [`types`]: which column type a PostgreSQL type becomes.
//! * [`text`]: PostgreSQL's text form of values into columns.
//! * [`catalog`]: the published tables, as the server's catalog describes them.
//! * [`preflight`]: what has to be right at the source, and how to mend what is not.
//! * [`slot`]: publication and replication slot; [`slot_watch`]: how the slot is; [`gap`]: why the log
//!   cannot be followed any further; [`copy_again`]: what may be done about it. [`state`]: what is remembered of the source.
//! * [`initial_copy`]: the first start; [`copy`]: tables at a snapshot; [`copy_text`]: the lines that COPY sends.
//! * [`changes`]: decoded messages into change batches; [`table_sink`]: the rows of one table;
//!   [`hidden_key`]: what identifies rows that have no key.
//! * [`in_progress`]: transactions that are sent before they commit; [`spool`]: their messages.
//! * [`shape`]: what becomes of a table that changed its shape; [`describe`]: the source's catalog,
//!   asked while the log is followed; [`drift`]: what changes there without a word in the log; [`resync`]: the copy of one table meanwhile;
//!   [`repair`]: which damaged tables are copied so.
//! * [`stream`]: the socket thread that follows the log; [`link`]: the two ways on which messages come;
//!   [`link_choice`]: which is next; [`pace`]: when a stream is read; [`backlog`]: statements that read what has piled up.
//! * [`source`]: all of it as a [`crate::source::Source`].
//! * [`digest`]: order-independent digests of tables.
//! * [`verify`]: proof that the copy equals the source at one position.

mod backlog;
pub mod catalog;
pub mod certificate_hash;
mod changes;
pub mod config;
pub mod connection;
mod connection_string;
mod copy;
mod copy_again;
mod copy_text;
mod describe;
mod digest;
mod drift;
pub mod gap;
mod hidden_key;
mod in_progress;
mod initial_copy;
mod link;
mod link_choice;

#[cfg(test)]
mod messages;
mod pace;
mod partitions;
pub mod pgoutput;
pub mod preflight;
mod repair;
pub mod resync;
mod shape;
mod slot;
mod slot_watch;
pub mod socket;
pub mod source;
mod spool;
mod state;
mod stream;
mod table_sink;
mod text;
pub mod tls;
mod types;
pub mod verify;

pub use config::PostgresConfig;
pub use source::PostgresSource;

/// Microseconds from 1970-01-01 to 2000-01-01, PostgreSQL's own zero.
const POSTGRES_EPOCH_US: i64 = 946_684_800_000_000;
