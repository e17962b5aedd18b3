//! What the side saw, as one line of JSON.

use contender::Report;
use serde::{Deserialize, Serialize};

use super::tables::Class;
use crate::quantiles::Quantiles;

/// See the module.
#[derive(Debug, Deserialize, Serialize)]
pub struct TreesReport {
    /// Rates, windows, bytes.
    pub insertion: Report,
    /// Batches.
    pub batches: Quantiles,
    /// Flushes, from freezing to commit.
    pub flushes: Quantiles,
    /// Merges that the merging thread began, with all those for which they made way.
    pub merges: Quantiles,
    /// Merges of disk runs, also those for which others made way, and those of flushes.
    pub merges_done: u64,
    /// Look-ups while rows are written, by class.
    pub look_ups: Vec<(Class, Quantiles)>,
    /// Short scans while rows are written.
    pub scans: Quantiles,
    /// The most memory of the process that was resident.
    pub resident_bytes_max: u64,
    /// The most files that were open at a time.
    pub open_files_max: usize,
    /// Rows of all tables in the end, each of which has been read and checked.
    pub rows_checked: u64,
    /// Seconds that loading took, merges included.
    pub load_seconds: f64,
    /// Runs a tree may have.
    pub runs_max: usize,
    /// Every tree.
    pub trees: Vec<TreeReport>,
}

/// A tree.
#[derive(Debug, Deserialize, Serialize)]
pub struct TreeReport {
    /// How much was written to it.
    pub class: Class,
    /// Changes written to it.
    pub changes: u64,
    /// The most runs that it had on disk.
    pub runs_max: usize,
    /// The longest wait for a merge.
    pub wait_ms_max: f64,
    /// How often it waited.
    pub waits: usize,
    /// Its files in the end.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}
