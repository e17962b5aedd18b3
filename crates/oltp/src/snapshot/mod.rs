//! Snapshots of a partition, made while transactions run.
//!
//! * [`capture`]: what is copied from a table, on the partition's thread.
//! * [`making`]: when a snapshot begins, goes on and is complete; [`replay_time`]: what tells that it is time.
//! * [`snapshot_writer`]: what writes it; [`chunk`]: its data file; [`manifest`]: which there are;
//!   [`data_reader`]: the file read again; [`leftovers`]: what is no longer needed.
//! * [`loading`]: how a partition is made from one.
//!
//! A snapshot holds the rows in memory, and of the evicted ones their places: blocks are never written
//! again, so their files are shared by all snapshots that name them. Decision 0019 says why.
//!
//! **Invariants:** a snapshot is the state between two transactions. Nothing that a snapshot of the
//! manifest on disk needs is removed: neither a data file, nor a file of blocks, nor the log after it.

mod capture;
mod chunk;
mod data_reader;
mod leftovers;
mod loading;
mod making;
mod manifest;
mod replay_time;
mod snapshot_writer;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub(crate) use capture::{Capture, append_row};
pub(crate) use chunk::ChunkKind;
pub(crate) use data_reader::DataReader;
pub(crate) use leftovers::remove_leftovers;
pub(crate) use making::Snapshots;
pub use making::{SnapshotOptions, SnapshotStatistics};
pub(crate) use manifest::{
    BlockGeometry, FILE_NAME as MANIFEST_NAME, SnapshotRecord, read_manifest,
};
pub(crate) use replay_time::ReplayTime;
pub use snapshot_writer::SnapshotWriter;

/// Snapshots that are kept: the newest, and one that is older in case the newest is damaged.
pub(crate) const KEPT_MAX: usize = 2;

/// Numbers a snapshot of a partition. Grows from one to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnapshotNumber(pub u64);

/// The data file of a snapshot.
pub(crate) fn data_path(folder: &Path, number: SnapshotNumber) -> PathBuf {
    folder.join(leftovers::data_name(number))
}
