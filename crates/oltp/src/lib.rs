//! The primary: serial transactions in memory, with cold rows on disk (Anti-Caching, VLDB 2013).
//!
//! * [`partition`]: one thread that runs transactions one after another; [`call`]: what it is asked;
//!   `attempt`: one run of it; `expected_calls`: what comes into the cache before it; [`recovery`]: how it is opened.
//! * [`primary`]: several partitions and transactions on more than one of them; [`partition_set`]: which.
//!   `shared_calls`: those that wait.
//! * [`procedure`], [`transaction`], [`statement`], [`row`], [`stop`]: what a procedure sees; [`parameters`]: its
//!   parameters and replies as bytes.
//! * [`schema`]: what is declared. `table`, `row_store`, `row_layout`, `slot_arena`, `chunk_memory`, `text_arena`, `index`, `key_layout`: how
//!   rows are kept and found. `undo`: how changes are taken back.
//! * `eviction_chain`, `row_list`, `evicted_entries`, `anti_cache`, `waiting`: how rows go to disk and come back; `memory_budget`: when.
//! * `command_log`: how transactions become durable; `snapshot`, `generation`: how the log is kept short;
//!   [`digest`]: what tells that rows are the same.
//! * [`change_feed`]: what a replica follows.
//! * [`options`], [`statistics`], [`error`].
//!
//! The engine starts no threads and reaches disk and clock through `env` only.

mod anti_cache;
mod attempt;
pub mod call;
mod cell;
pub mod change_feed;
mod chunk_memory;
mod command_log;
pub mod digest;
pub mod error;
mod evicted_entries;
mod eviction_chain;
mod expected_calls;
mod generation;
mod index;
mod key_encoding;
mod key_layout;
mod memory_budget;
pub mod options;
pub mod parameters;
pub mod partition;
pub mod partition_set;
mod pointer;
pub mod primary;
pub mod procedure;
pub mod random;
pub mod recovery;
pub mod row;
mod row_layout;
mod row_list;
mod row_store;
pub mod schema;
mod shared_calls;
mod slot_arena;
mod snapshot;
pub mod statement;
pub mod statistics;
pub mod stop;
mod table;
mod text_arena;
pub mod transaction;
mod undo;
mod waiting;
mod work_queue;

pub use anti_cache::BlockFiles;
pub use call::{Call, Completion, Outcome, Refusal, Ticket};
pub use change_feed::{ChangeFeed, ChangedRow, CommittedChanges, CopyPart, FeedStart, RowImage};
pub use command_log::LogWriter;
pub use digest::{RowsDigest, RowsDigester};
pub use error::PrimaryError;
pub use eviction_chain::ChainKind;
pub use index::Direction;
pub use options::{AntiCacheOptions, MergeStrategy, Sampling};
pub use partition::Partition;
pub use partition_set::{PartitionNumber, PartitionSet};
pub use primary::Primary;
pub use procedure::{DeclaredKeys, Procedure, ProcedureNumber};
pub use recovery::{PartitionPlan, Recovery};
pub use row::{Row, RowHandle};
pub use schema::{ColumnDefinition, IndexId, IndexKind, TableDefinition, TableNumber};
pub use snapshot::{SnapshotOptions, SnapshotStatistics, SnapshotWriter};
pub use statement::{Columns, Scan};
pub use statistics::{PartitionStatistics, StatisticsBoard};
pub use stop::{Rejection, Stop, Violation};
pub use transaction::{Batch, StatementNumber, Transaction};
