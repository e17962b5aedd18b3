//! Log-structured merge trees of compressed pages, with snapshots.
//!
//! A [`Store`] is a data directory with one tree a table. Versions go into memory runs, flushes
//! write them as disk runs, merges fold runs; a [`Snapshot`] sees all tables as of one commit
//! position whatever goes on underneath. From the outside in:
//!
//! * [`store`], [`snapshot`], [`scan`], [`filtered_scan`], [`row_test`], [`zone_filter`]: the interface. [`options`], [`error`], [`stats`].
//! * `flush`, `merge_job`, `merge_step`, `policy`, `recovery`: background work and opening.
//! * `tree`, `version`, `c0`, `memory_run`, `memory_merge`, `run`: what a tree consists of at one moment.
//! * `merge` (the operator), `visibility` and `retention` (its filters), `fold` (patches),
//!   `cursor`, `block`, `selection`, `batch`, `gather`: how versions are read.
//! * `lookup`: how the rows of given keys are found without merging.
//! * [`manifest`], [`segment`], [`page_cache`]: what is on disk.
//! * `museum`: bugs for the tests to find, without effect in the product.

mod batch;
mod block;
mod buffer_upkeep;
mod byte_fields;
mod c0;
mod cells_in_range;
mod compaction_buffer;
mod cursor;
mod disk_error;
mod encoded_rows;
mod flush;
mod fold;
mod fragment;
mod gather;
mod key_form;
mod key_range;
mod layout;
mod lookup;
mod memory_budget;
mod memory_merge;
mod memory_run;
mod merge;
mod merge_job;
mod merge_step;
mod merge_turns;
#[cfg(not(feature = "museum"))]
mod museum;
mod policy;
mod recovery;
mod retention;
mod rewrite;
mod row_length;
mod run;
mod run_writer;
mod selection;
mod signal;
mod snapshots;
#[cfg(test)]
mod test_rows;
mod tree;
mod version;
mod visibility;
mod warming;
mod writer_pace;

pub mod error;
pub mod filtered_scan;
pub mod manifest;
#[cfg(feature = "museum")]
pub mod museum;
pub mod options;
pub mod page_cache;
pub mod row_test;
pub mod scan;
pub mod scan_counts;
pub mod segment;
pub mod snapshot;
pub mod stats;
pub mod store;
pub mod zone_filter;

pub use compaction_buffer::BufferOptions;
pub use encoded_rows::EncodedRows;
pub use error::StoreError;
pub use filtered_scan::FilteredScan;
pub use fragment::{Form, Fragment, FragmentCells};
pub use key_range::KeyRange;
pub use lookup::{FoundRows, Row};
pub use options::StoreOptions;
pub use page_cache::CachePolicy;
pub use policy::MergePolicy;
pub use row_test::{RowTest, Sifted};
pub use scan::{Scan, ScanRequest};
pub use scan_counts::{ScanCounts, ScanExtent};
pub use segment::Zones;
pub use snapshot::{HistoryHold, Snapshot};
pub use stats::{ComponentStats, MergeState, StoreStats, TableStats};
pub use store::{Durable, STATEMENT_NICENESS, Store, Work};
pub use warming::Warming;
pub use zone_filter::ZoneFilter;
