//! What can go wrong outside transactions.

use std::io::{self, ErrorKind};
use std::path::Path;

use crate::schema::SchemaError;

/// A failure, in the words of what it means for the caller.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PrimaryError {
    /// A declaration contradicts itself.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// An option is out of its range.
    #[error("option {option}: {problem}")]
    Option {
        /// The option.
        option: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// A checksum or structure check failed.
    #[error("{file} is damaged at byte {offset}: {detail}")]
    Corrupt {
        /// The file.
        file: String,
        /// Where in the file.
        offset: u64,
        /// Expected and found.
        detail: String,
    },
    /// Written by a newer release.
    #[error("{file} has format version {found}; this release reads up to {supported}")]
    VersionTooNew {
        /// The file.
        file: String,
        /// Its version.
        found: u32,
        /// The newest version that this release reads.
        supported: u32,
    },
    /// The snapshot is of other tables than the partition is opened with.
    #[error("{file} is of a partition whose tables are declared otherwise")]
    OtherTables {
        /// The file.
        file: String,
    },
    /// The folder has files that would not be read, and whose rows would be missing.
    #[error("{file} is there, and would not be read when opened {opened}")]
    NotRead {
        /// One of the files.
        file: String,
        /// How it was to be opened.
        opened: &'static str,
    },
    /// The log names a procedure that the partition does not have.
    #[error("the command log names procedure {name:?}, which is not there")]
    UnknownProcedure {
        /// The procedure.
        name: String,
    },
    /// A transaction that had committed does not when it is replayed.
    #[error("the transaction at position {position} cannot be replayed: {reason}")]
    NotReplayed {
        /// Its position.
        position: u64,
        /// Why.
        reason: String,
    },
    /// The replica has commits that this primary does not have.
    #[error(
        "the replica has everything up to position {replica}, and this primary ends at position {primary}: it is \
         not the replica's primary, or an older copy of it; copy the replica again from nothing"
    )]
    ReplicaAhead {
        /// What the replica has.
        replica: u64,
        /// Where the primary ends.
        primary: u64,
    },
    /// The disk is full; nothing was lost.
    #[error("no space left on the device for {file}")]
    DiskFull {
        /// The file that was being written.
        file: String,
    },
    /// Any other failure of the disk.
    #[error("{operation} of {file} failed: {detail}")]
    Io {
        /// What was tried.
        operation: &'static str,
        /// The file.
        file: String,
        /// The operating system's words.
        detail: String,
    },
    /// The log could not be made durable: nothing more is acknowledged.
    #[error("the command log failed earlier ({0}); restart to continue from what is durable")]
    Poisoned(String),
}

/// An operation of the disk failed.
pub(crate) fn io_failed(operation: &'static str, path: &Path, error: &io::Error) -> PrimaryError {
    let file = path.display().to_string();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => PrimaryError::DiskFull { file },
        _ => PrimaryError::Io {
            operation,
            file,
            detail: error.to_string(),
        },
    }
}

/// The bytes of a file are not what was written.
pub(crate) fn damaged(path: &Path, offset: u64, detail: impl Into<String>) -> PrimaryError {
    PrimaryError::Corrupt {
        file: path.display().to_string(),
        offset,
        detail: detail.into(),
    }
}
