//! Log-structured merge trees of compressed pages, with snapshots. API SKELETON.
#![allow(missing_docs, unused_variables)]

mod byte_fields;
mod disk_error;
pub mod error;
pub mod manifest;
pub mod options;
pub mod page_cache;
pub mod segment;
pub mod snapshot;
pub mod stats;
pub mod store;

pub use error::StoreError;
pub use options::StoreOptions;
pub use snapshot::{HistoryHold, KeyRange, Scan, ScanRequest, Snapshot};
pub use stats::{ComponentStats, StoreStats, TableStats};
pub use store::{Durable, Store, Work};
