//! The schema file: the tables and procedures that a user declares.

use std::io;
use std::path::{Path, PathBuf};

use procedures::{Application, Fault, StoredSchema};

/// A schema file without faults.
pub struct SchemaFile {
    path: PathBuf,
    application: Application,
    schema: StoredSchema,
}

/// The schema file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SchemaFileError {
    /// It cannot be read.
    #[error("cannot read the schema file {file}: {error}")]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It has a fault.
    #[error("in the schema file {file}, {fault}")]
    Fault {
        /// The file.
        file: PathBuf,
        /// Where, and what.
        fault: Fault,
    },
}

impl SchemaFile {
    /// Reads and checks it.
    pub fn read(file: &Path) -> Result<Self, SchemaFileError> {
        let text = std::fs::read_to_string(file).map_err(|error| SchemaFileError::Unreadable {
            file: file.to_owned(),
            error,
        })?;
        let faulty = |fault| SchemaFileError::Fault {
            file: file.to_owned(),
            fault,
        };
        Ok(Self {
            path: file.to_owned(),
            application: Application::of_file(&text).map_err(faulty)?,
            schema: StoredSchema::of_file(&text).map_err(faulty)?,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it declares.
    pub fn schema(&self) -> &StoredSchema {
        &self.schema
    }

    /// How much it declares.
    pub fn summary(&self) -> String {
        super::summary(&self.application)
    }
}
