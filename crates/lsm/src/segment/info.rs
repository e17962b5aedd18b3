//! What the manifest records of a segment.

use std::fmt;
use std::path::{Path, PathBuf};

use types::key::SortKey;
use types::{CommitPosition, TableId};

use crate::byte_fields::{FieldReader, Malformed, put_key, put_u32, put_u64};

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

impl SegmentInfo {
    /// Nine fixed fields and two keys of at least five bytes; the table is the caller's.
    pub(crate) const BYTES_MIN: usize = 8 + 8 + 4 + 8 + 8 + 8 + 8 + 8 + 4 + 5 + 5;

    /// Appends everything but the table, which the manifest has in front of its segments.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_u64(out, self.id.0);
        put_u64(out, self.bytes);
        put_u32(out, self.pages);
        put_u64(out, self.versions);
        put_u64(out, self.tombstones);
        put_u64(out, self.patches);
        put_u64(out, self.position_min.0);
        put_u64(out, self.position_max.0);
        put_u32(out, self.checksum);
        put_key(out, &self.key_min);
        put_key(out, &self.key_max);
    }

    /// Reads what [`Self::encode`] wrote.
    pub(crate) fn decode(fields: &mut FieldReader<'_>, table: TableId) -> Result<Self, Malformed> {
        Ok(Self {
            id: SegmentId(fields.u64()?),
            table,
            bytes: fields.u64()?,
            pages: fields.u32()?,
            versions: fields.u64()?,
            tombstones: fields.u64()?,
            patches: fields.u64()?,
            position_min: CommitPosition(fields.u64()?),
            position_max: CommitPosition(fields.u64()?),
            checksum: fields.u32()?,
            key_min: fields.key()?,
            key_max: fields.key()?,
        })
    }
}
