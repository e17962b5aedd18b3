//! What the manifest records of a segment.

use std::fmt;
use std::path::{Path, PathBuf};

use types::key::SortKey;
use types::{CommitPosition, TableId};

/// Identifies a segment file within one data directory. Never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId(pub u64);

impl SegmentId {
    /// The name of the segment's file.
    pub fn file_name(self) -> String {
        format!("{:010}.seg", self.0)
    }

    /// The path of the segment's file in `directory`.
    pub fn path(self, directory: &Path) -> PathBuf {
        directory.join(self.file_name())
    }

    /// The segment whose file has this name, if it is a segment file's name.
    pub fn from_file_name(name: &str) -> Option<Self> {
        let id = Self(name.strip_suffix(".seg")?.parse().ok()?);
        (id.file_name() == name).then_some(id)
    }
}

impl fmt::Display for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A finished segment file, as the manifest names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentInfo {
    /// The segment.
    pub id: SegmentId,
    /// The table whose versions it holds.
    pub table: TableId,
    /// Length of the file, bytes.
    pub bytes: u64,
    /// Pages in the file.
    pub pages: u32,
    /// Versions in the file.
    pub versions: u64,
    /// How many of the versions are deletes.
    pub tombstones: u64,
    /// How many of the versions are patches.
    pub patches: u64,
    /// The first version's key.
    pub key_min: SortKey,
    /// The last version's key.
    pub key_max: SortKey,
    /// The smallest position of a version.
    pub position_min: CommitPosition,
    /// The largest position of a version.
    pub position_max: CommitPosition,
    /// The footer's checksum. It covers the page index's checksum, which covers every page's:
    /// a file from elsewhere with the same name is found out.
    pub checksum: u32,
}
