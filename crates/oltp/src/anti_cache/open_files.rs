//! Files of blocks that are open for reading: those that were read last, because a process may have only
//! so many open.

use std::sync::Arc;

use env::ReadableFile;

use super::block_files::FileNumber;

/// Files that are kept open.
pub(super) const OPEN_MAX: usize = 128;

/// See the module. The one that was read last is at the end.
#[derive(Default)]
pub(super) struct OpenFiles(Vec<(FileNumber, Arc<dyn ReadableFile>)>);

impl OpenFiles {
    /// A file, if it is open.
    pub(super) fn get(&mut self, number: FileNumber) -> Option<Arc<dyn ReadableFile>> {
        let at = self.0.iter().rposition(|(open, _)| *open == number)?;
        self.0[at..].rotate_left(1);
        self.0.last().map(|(_, file)| Arc::clone(file))
    }

    /// Keeps a file, and lets go of the one that was not read for longest if there are too many.
    pub(super) fn keep(&mut self, number: FileNumber, file: Arc<dyn ReadableFile>) {
        // Another thread may have opened it at the same time.
        self.forget(number);
        if self.0.len() == OPEN_MAX {
            self.0.remove(0);
        }
        self.0.push((number, file));
    }

    /// The file will be removed.
    pub(super) fn forget(&mut self, number: FileNumber) {
        self.0.retain(|(open, _)| *open != number);
    }

    #[cfg(test)]
    pub(super) fn numbers(&self) -> Vec<FileNumber> {
        self.0.iter().map(|(number, _)| *number).collect()
    }
}
