//! Errors at the edge of the crate: few kinds that say what the caller should do.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// A checksum or structure check failed. Names file, offset, expected and found.
    #[error("{file} is damaged at byte {offset}: {detail}")]
    Corrupt { file: String, offset: u64, table: Option<types::TableId>, detail: String },
    /// Written by a newer release.
    #[error("{file} has format version {found}; this release reads up to {supported}. Upgrade Hedgerow to open it")]
    VersionTooNew { file: String, found: u32, supported: u32 },
    /// Another process has the directory.
    #[error("{directory} is in use by another hedgerow process")]
    Locked { directory: String },
    /// The disk is full; nothing was lost, the work is retried when space returns.
    #[error("no space left on the device for {file}")]
    DiskFull { file: String },
    /// Any other failure of the disk.
    #[error("{operation} of {file} failed: {detail}")]
    Io { operation: &'static str, file: String, detail: String },
    /// A sync failed earlier: nothing more is acknowledged, reopen the store.
    #[error("an earlier sync failed ({0}); restart to continue from the durable state")]
    Poisoned(String),
    /// No such table.
    #[error("table {0} does not exist in this store")]
    NoSuchTable(types::TableId),
}
