//! What a contender saw while it read, as one line of JSON.

use serde::{Deserialize, Serialize};

use crate::cells::Cells;
use crate::reading::Wanted;

/// See the module.
#[derive(Debug, Deserialize, Serialize)]
pub struct ReadingReport {
    /// The contender's settings, in words.
    pub settings: String,
    /// Bytes on disk before anything was overwritten.
    pub bytes_on_disk: u64,
    /// Each kind of look-ups.
    pub look_ups: Vec<LookUps>,
    /// Each kind of scans.
    pub scans: Vec<Scans>,
    /// Each kind again, after rows were overwritten.
    pub fresh_scans: Vec<Scans>,
}

/// Whether the keys looked up are those of rows.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub enum Present {
    /// They are, all.
    Existing,
    /// None is.
    Missing,
}

/// Look-ups of one kind. A sample a number.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct LookUps {
    /// Of which keys.
    pub present: Present,
    /// Keys looked up at once.
    pub batch_keys: usize,
    /// Threads that looked keys up.
    pub threads: usize,
    /// Keys a second, of all threads together.
    pub rates: Vec<f64>,
    /// Pages or blocks that were not in the cache, for each key.
    pub reads_a_key: Vec<f64>,
}

/// Scans of one kind. A scan a number.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Scans {
    /// Of which columns.
    pub wanted: Wanted,
    /// Seconds that each took.
    pub seconds: Vec<f64>,
    /// Seconds of those that each was on a processor.
    pub busy_seconds: Vec<f64>,
    /// Bytes that each read from the disk.
    pub bytes_read: Vec<u64>,
    /// What the last one found.
    pub cells: Cells,
}

impl Scans {
    /// None yet.
    pub fn none(wanted: Wanted) -> Self {
        Self {
            wanted,
            seconds: Vec::new(),
            busy_seconds: Vec::new(),
            bytes_read: Vec::new(),
            cells: Cells::default(),
        }
    }

    /// Rows a second, of each.
    pub fn rates(&self) -> Vec<f64> {
        let rows = self.cells.rows as f64;
        self.seconds.iter().map(|seconds| rows / seconds).collect()
    }
}
