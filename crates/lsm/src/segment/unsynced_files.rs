//! Segments' files that are written, to be synced many at a time.
//!
//! A sync of a file that has just been made has the file system commit its journal, which takes 2.6 ms here (ext4, an
//! AMD EPYC with a disk of 400 MB/s) and has everything in it that was done by then. So a flush of 200 trees
//! spent a third of its time in syncs, one after each file. Now all begin to be written back, and the first sync does for
//! the others what they have in common.
//!
//! Invariant: a manifest names no segment whose file is among these.

use std::path::PathBuf;

use env::WritableFile;

use crate::disk_error::sync_failed;
use crate::error::StoreError;
use crate::museum::{self, Exhibit};

/// Files are held open until they are synced: so many at most.
const FILES_MAX: usize = 64;

/// A file whose writer has written all of it.
pub(super) struct UnsyncedFile {
    pub path: PathBuf,
    pub file: Box<dyn WritableFile>,
}

/// Files to be synced together.
#[derive(Default)]
pub struct UnsyncedFiles(Vec<UnsyncedFile>);

impl UnsyncedFiles {
    /// One file.
    pub(super) fn of(file: UnsyncedFile) -> Self {
        Self(vec![file])
    }

    /// Whether everything is synced.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the others' files; syncs all if those are many. A failed sync gives [`StoreError::Poisoned`].
    pub fn append(&mut self, others: &mut Self) -> Result<(), StoreError> {
        self.0.append(&mut others.0);
        match self.0.len() < FILES_MAX {
            true => Ok(()),
            false => self.sync(),
        }
    }

    /// Syncs all. A failed sync gives [`StoreError::Poisoned`].
    pub fn sync(&mut self) -> Result<(), StoreError> {
        for UnsyncedFile { path, mut file } in self.0.drain(..) {
            if !museum::shows(Exhibit::SegmentUnsynced) {
                file.sync().map_err(|error| sync_failed(&path, &error))?;
            }
        }
        Ok(())
    }
}
