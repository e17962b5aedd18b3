//! Errors at the edge of the crate: few kinds that say what the caller should do.

use types::TableId;

/// What went wrong, and what that means for the caller.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// A checksum or structure check failed.
    #[error("{file} is damaged at byte {offset}: {detail}")]
    Corrupt {
        /// The file.
        file: String,
        /// Where in the file.
        offset: u64,
        /// The table whose data it holds; `None` where the file belongs to all.
        table: Option<TableId>,
        /// Expected and found.
        detail: String,
    },
    /// Written by a newer release.
    #[error(
        "{file} has format version {found}; this release reads up to {supported}. Upgrade Hedgerow to open it"
    )]
    VersionTooNew {
        /// The file.
        file: String,
        /// Its version.
        found: u32,
        /// The newest version that this release reads.
        supported: u32,
    },
    /// Another process has the directory.
    #[error("{directory} is in use by another hedgerow process")]
    Locked {
        /// The data directory.
        directory: String,
    },
    /// The disk is full; nothing was lost, the work can be tried again when space returns.
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
    /// A sync failed: nothing more is acknowledged, the store must be opened again.
    #[error("an earlier sync failed ({0}); restart to continue from the durable state")]
    Poisoned(String),
    /// A row that no page can hold. Nothing of its batch was taken.
    #[error(
        "a row of table {table} holds {bytes} bytes of text; a row holds at most {}",
        page::ROW_TEXT_BYTES_MAX
    )]
    RowTooLong {
        /// The table.
        table: TableId,
        /// The row's bytes of text.
        bytes: usize,
    },
    /// No such table.
    #[error("table {0} does not exist in this store")]
    NoSuchTable(TableId),
}
