//! A folder on the real disk, in which a test opens its store again and again.

use std::path::Path;
use std::sync::Arc;

use env::Env;
use lsm::{Store, StoreError, StoreOptions};
use tempfile::TempDir;

/// Goes when it is dropped.
pub struct Folder {
    directory: TempDir,
    options: StoreOptions,
}

impl Folder {
    /// A new one, for a store with these options.
    pub fn new(options: StoreOptions) -> Self {
        let directory = TempDir::new().expect("a folder for the test");
        Self { directory, options }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn open(&self) -> Arc<Store> {
        self.try_open().expect("the store opens")
    }

    pub fn try_open(&self) -> Result<Arc<Store>, StoreError> {
        Store::open(Env::real(), self.path(), self.options.clone())
    }
}
