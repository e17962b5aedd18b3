//! The manifest: one append-only, checksummed log of edits for all trees.
mod edit;
mod state;

use std::path::Path;

use env::Env;

pub use edit::{Change, Edit};
pub use state::{ManifestState, RunId, RunState, TableState};

use crate::error::StoreError;

/// The folder of a data directory that holds the segment files.
pub const SEGMENTS_DIRECTORY: &str = "segments";

/// The manifest of an open data directory. One thread at a time commits (callers keep it in a mutex).
pub struct Manifest { _private: () }

impl Manifest {
    /// Reads the manifest of `directory`, or creates it (and the segments folder) where there is none. Starts a new log file.
    pub fn open(env: &Env, directory: &Path) -> Result<(Self, ManifestState), StoreError> { todo!() }
    /// Makes `edit` durable, as a whole or not at all. Syncs the segments folder first when the edit adds segments.
    ///
    /// `DiskFull` and `Io` leave the manifest as it was, to be tried again; after a failed sync every call gives `Poisoned`.
    ///
    /// # Panics
    /// When the edit contradicts the state (an unknown table or segment, overlapping segments in a run).
    pub fn commit(&mut self, edit: &Edit) -> Result<(), StoreError> { todo!() }
    /// The state after the last commit.
    pub fn state(&self) -> &ManifestState { todo!() }
}
