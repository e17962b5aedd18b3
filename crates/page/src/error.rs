//! What can be wrong with the bytes of a page.

/// Why a page cannot be read. The caller adds the file, the offset and the table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// The bytes are damaged, torn, or belong to another place.
    #[error("checksum {found:#010x}, expected {expected:#010x}")]
    Checksum {
        /// The checksum that the page carries.
        expected: u32,
        /// The checksum of the bytes and the identity.
        found: u32,
    },
    /// Intact, but written by a newer release.
    #[error("format version {found}, this release reads up to {supported}")]
    VersionTooNew {
        /// The page's version.
        found: u16,
        /// The newest version that this release reads.
        supported: u16,
    },
    /// The checksum holds, yet the contents contradict themselves or the schema.
    #[error("{0}")]
    Malformed(&'static str),
}
