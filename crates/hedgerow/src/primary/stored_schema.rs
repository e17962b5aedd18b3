//! The schema that a data directory has: a file beside the primary's folder.
//!
//! It is written under another name, synced and renamed, before the primary is opened: whatever the command log
//! names is declared there.

use std::io;
use std::path::{Path, PathBuf};

use env::Disk;
use procedures::{Application, Fault, StoredSchema, StoredSchemaError};

use super::schema_file::SchemaFile;
use crate::node::Node;

/// The file's name in the data directory.
const FILE: &str = "primary.schema";
/// The name under which it is written.
const UNFINISHED_FILE: &str = "primary.schema.tmp";

/// The primary has no schema, or not this one.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// Neither a file nor a stored schema.
    #[error(
        "the data directory {0} has no schema yet. Name a file with CREATE TABLE and CREATE PROCEDURE statements: \
         --schema FILE"
    )]
    NoSchema(PathBuf),
    /// The data directory is another source's.
    #[error(
        "the data directory {0} holds the replica of another source. Give this one a directory of its own with --data"
    )]
    OfAnotherSource(PathBuf),
    /// The file does not go with what the data directory has.
    #[error("the schema file {file} does not fit the data directory: {fault}")]
    Differs {
        /// The file.
        file: PathBuf,
        /// What it has otherwise.
        fault: Fault,
    },
    /// The stored schema cannot be used.
    #[error("cannot use {file}: {error}")]
    Unusable {
        /// The file.
        file: PathBuf,
        /// Why.
        error: StoredSchemaError,
    },
    /// This release does not understand the stored schema.
    #[error("the schema of the data directory, in {file}, is not understood: {fault}")]
    NotUnderstood {
        /// The file.
        file: PathBuf,
        /// What is not.
        fault: Fault,
    },
    /// The disk fails.
    #[error("cannot {operation} {file}: {error}")]
    Io {
        /// What was tried.
        operation: &'static str,
        /// The file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Brings the schema of the data directory and that of a file together, keeps what comes out, and compiles it.
pub fn open_schema(node: &Node, file: Option<SchemaFile>) -> Result<Application, SchemaError> {
    let data = node.data();
    let path = data.join(FILE);
    let stored = read(&path)?;
    if stored.is_none() && !node.is_new() {
        return Err(SchemaError::OfAnotherSource(data.to_owned()));
    }
    let merged = merge(data, stored.as_ref(), file)?;
    let not_understood = |fault| SchemaError::NotUnderstood {
        file: path.clone(),
        fault,
    };
    let application = Application::of_stored(&merged).map_err(not_understood)?;
    if stored.as_ref() != Some(&merged) {
        let written = write(&*node.env().disk, data, &merged.to_bytes());
        written.map_err(|error| SchemaError::Io {
            operation: "write",
            file: path,
            error,
        })?;
    }
    Ok(application)
}

fn merge(
    data: &Path,
    stored: Option<&StoredSchema>,
    file: Option<SchemaFile>,
) -> Result<StoredSchema, SchemaError> {
    match (stored, file) {
        (None, None) => Err(SchemaError::NoSchema(data.to_owned())),
        (None, Some(file)) => Ok(file.schema().clone()),
        (Some(stored), None) => Ok(stored.clone()),
        (Some(stored), Some(file)) => {
            let merged = stored.followed_by(file.schema());
            merged.map_err(|fault| SchemaError::Differs {
                file: file.path().to_owned(),
                fault,
            })
        }
    }
}

fn read(path: &Path) -> Result<Option<StoredSchema>, SchemaError> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(SchemaError::Io {
                operation: "read",
                file: path.to_owned(),
                error,
            });
        }
    };
    let schema = StoredSchema::from_bytes(&bytes);
    schema.map(Some).map_err(|error| SchemaError::Unusable {
        file: path.to_owned(),
        error,
    })
}

fn write(disk: &dyn Disk, data: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = data.join(UNFINISHED_FILE);
    match disk.remove(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = disk.create(&unfinished)?;
    file.append(bytes)?;
    file.sync()?;
    drop(file);
    disk.rename(&unfinished, &data.join(FILE))?;
    disk.sync_directory(data)
}
