//! The disk's errors in the words of the store.
//!
//! One place decides what an `io::Error` means: a full disk is waited for, a failed sync
//! poisons, a file that is missing or too short is damage, anything else is reported as it is.

use std::io::{self, ErrorKind};
use std::path::Path;

use types::TableId;

use crate::error::StoreError;

/// An operation failed that may be tried again.
pub(crate) fn io_failed(operation: &'static str, path: &Path, error: &io::Error) -> StoreError {
    let file = path.display().to_string();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::DiskFull { file },
        _ => StoreError::Io {
            operation,
            file,
            detail: error.to_string(),
        },
    }
}

/// A sync failed. What the operating system then keeps of the file is unknown, and a second
/// sync may report success without having written anything, so there is no way on.
pub(crate) fn sync_failed(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Poisoned(format!("{}: {error}", path.display()))
}

/// A file that must be there could not be opened or read at `offset`.
pub(crate) fn read_failed(
    path: &Path,
    offset: u64,
    table: Option<TableId>,
    error: &io::Error,
) -> StoreError {
    match error.kind() {
        ErrorKind::NotFound => damaged(path, offset, table, "the file is missing".to_owned()),
        ErrorKind::UnexpectedEof => {
            damaged(path, offset, table, "the file ends too early".to_owned())
        }
        _ => io_failed("read", path, error),
    }
}

/// A file's content is not what was written.
pub(crate) fn damaged(
    path: &Path,
    offset: u64,
    table: Option<TableId>,
    detail: String,
) -> StoreError {
    StoreError::Corrupt {
        file: path.display().to_string(),
        offset,
        table,
        detail,
    }
}

/// The words for a checksum that does not match.
pub(crate) fn checksum_mismatch(expected: u32, found: u32) -> String {
    format!("checksum {found:#010x}, expected {expected:#010x}")
}
