//! Sources of change and the loop that applies them to the trees.
//!
//! A [`source::Source`] reads some log and sends [`types::ChangeBatch`]es through a bounded
//! channel; the [`apply`] loop ingests them into the store and publishes each commit position,
//! together with the [`checkpoint::Checkpoint`] that a restart needs. [`replica::Replica`] ties
//! the two together with threads that the binary provides.
//!
//! * [`catalog`]: the replicated tables and their states, shared with readers.
//! * [`status`]: how far each source is, shared with readers.
//! * [`checkpoint`]: what is stored atomically with the data at every publish.
//! * [`moved_row`]: a row under a new key, with cells that the log left out.
//! * [`equal_rows`]: rows that go from a table in which nothing tells equal ones apart.
//! * [`names`]: what the source calls a table now, where its tree knows another name.
//! * [`projection`]: a table's rows in another order.
//! * [`reshape`]: a table's rows under another schema.
//! * [`slot_status`]: what a source keeps of its log for us, and the alarms about it.
//! * [`source`]: the interface that a source implements.
//! * [`apply`]: the loop from channel to store.
//! * [`primary`]: the built-in primary as a source.
//! * [`orders`]: the built-in order entry, an application of the primary.
//! * [`postgres`]: PostgreSQL as a source.
//! * [`verdict`]: what a verification says of a table.
//! * [`replica`]: threads, start and stop.

pub mod apply;
pub mod catalog;
pub mod checkpoint;
mod equal_rows;
pub mod moved_row;
pub mod names;
pub mod orders;
pub mod postgres;
pub mod primary;
pub mod projection;
pub mod replica;
pub mod reshape;
pub mod slot_status;
pub mod source;
pub mod status;
pub mod verdict;
