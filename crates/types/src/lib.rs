//! The vocabulary of Hedgerow: values, schemas, positions and the change stream.
//!
//! Every crate may use it; nothing here serves a single user, does I/O or keeps state.
//!
//! * [`position`]: where in a source's log something happened.
//! * [`schema`]: column types, columns, table schemas.
//! * [`rows`]: versions of rows as columns, the unit in which changes travel and trees store.
//! * [`change`]: change batches, what a source hands to the apply loop.
//! * [`value`]: one cell outside an array.
//! * [`calendar`]: days as years, months and days.
//! * [`key`]: order-preserving keys computed from key columns.

pub mod calendar;
pub mod change;
pub mod key;
mod key_of_values;
pub mod position;
pub mod rows;
pub mod schema;
pub mod value;
mod value_range;

pub use change::{ChangeBatch, ColumnOrigin, OrderColumn, TableChange};
pub use key::SortKeys;
pub use position::CommitPosition;
pub use rows::{ColumnBuilder, RowsBuilder, VersionKind, VersionRows};
pub use schema::{Column, ColumnType, SourceType, TableId, TableName, TableSchema};
pub use value::Value;
pub use value_range::ValueRange;
