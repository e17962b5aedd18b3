//! The bytes of a segment file but for pages, their index (see [`super::page_index`]) and the
//! filter ([`super::filter`]): `docs/format/segment.md` has the whole of it.
//!
//! ```text
//! page │ zeros to 8 │ page │ zeros to 8 │ … │ filter │ page index │ footer (80 bytes)
//! ```
//!
//! Checksums form a tree, so that a block that is intact but not the one that belongs here is
//! found as well: the manifest records the footer's checksum, the footer the filter's and the
//! index's, the index each page's.

use types::TableId;

use super::{SegmentId, SegmentInfo};
use crate::byte_fields::{FieldReader, Malformed, put_u32, put_u64};

/// The format version that this release writes, and the newest that it reads.
pub(super) const VERSION: u32 = 2;

/// The first version whose page index is followed by [`super::zones`].
pub(super) const VERSION_WITH_ZONES: u32 = 2;

/// Pages start at multiples of this.
pub(super) const PAGE_ALIGNMENT: usize = 8;

/// Length of the footer, which ends the file.
pub(super) const FOOTER_BYTES: usize = 80;

const MAGIC: [u8; 8] = *b"HEDGESEG";
const VERSION_AT: usize = 64;
const CHECKSUM_AT: usize = 68;
const MAGIC_AT: usize = 72;
const _: () = assert!(MAGIC_AT + MAGIC.len() == FOOTER_BYTES);
const _: () = assert!(CHECKSUM_AT + size_of::<u32>() == MAGIC_AT);

/// The next multiple of [`PAGE_ALIGNMENT`].
pub(super) fn aligned(length: usize) -> usize {
    length.next_multiple_of(PAGE_ALIGNMENT)
}

/// The last bytes of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Footer {
    pub(super) version: u32,
    pub(super) id: SegmentId,
    pub(super) table: TableId,
    pub(super) pages: u32,
    pub(super) versions: u64,
    pub(super) filter_offset: u64,
    pub(super) filter_bytes: u64,
    pub(super) index_offset: u64,
    pub(super) index_bytes: u64,
    pub(super) filter_checksum: u32,
    pub(super) index_checksum: u32,
}

/// Why bytes are no footer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FooterError {
    VersionTooNew(u32),
    Checksum { expected: u32, found: u32 },
    Malformed(&'static str),
}

impl From<Malformed> for FooterError {
    fn from(error: Malformed) -> Self {
        Self::Malformed(error.0)
    }
}

fn footer_checksum(bytes: &[u8; FOOTER_BYTES]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&bytes[..CHECKSUM_AT]), &bytes[MAGIC_AT..])
}

impl Footer {
    /// The footer's bytes and its checksum.
    pub(super) fn encode(&self) -> ([u8; FOOTER_BYTES], u32) {
        let mut out = Vec::with_capacity(FOOTER_BYTES);
        put_u64(&mut out, self.id.0);
        put_u32(&mut out, self.table.0);
        put_u32(&mut out, self.pages);
        put_u64(&mut out, self.versions);
        put_u64(&mut out, self.filter_offset);
        put_u64(&mut out, self.filter_bytes);
        put_u64(&mut out, self.index_offset);
        put_u64(&mut out, self.index_bytes);
        put_u32(&mut out, self.filter_checksum);
        put_u32(&mut out, self.index_checksum);
        assert_eq!(out.len(), VERSION_AT, "the version's place never moves");
        put_u32(&mut out, self.version);
        put_u32(&mut out, 0);
        out.extend_from_slice(&MAGIC);
        let mut bytes: [u8; FOOTER_BYTES] = out.try_into().expect("the fields fill the footer");
        let checksum = footer_checksum(&bytes);
        bytes[CHECKSUM_AT..MAGIC_AT].copy_from_slice(&checksum.to_le_bytes());
        (bytes, checksum)
    }

    /// Reads a footer: magic and version first, whose place no version moves, then the rest.
    pub(super) fn decode(bytes: &[u8; FOOTER_BYTES]) -> Result<Self, FooterError> {
        if bytes[MAGIC_AT..] != MAGIC {
            return Err(FooterError::Malformed(
                "the file does not end as a segment does",
            ));
        }
        let version = FieldReader::new(&bytes[VERSION_AT..]).u32()?;
        if version > VERSION {
            return Err(FooterError::VersionTooNew(version));
        }
        let expected = FieldReader::new(&bytes[CHECKSUM_AT..]).u32()?;
        let found = footer_checksum(bytes);
        if found != expected {
            return Err(FooterError::Checksum { expected, found });
        }
        let mut fields = FieldReader::new(&bytes[..VERSION_AT]);
        let footer = Self {
            version,
            id: SegmentId(fields.u64()?),
            table: TableId(fields.u32()?),
            pages: fields.u32()?,
            versions: fields.u64()?,
            filter_offset: fields.u64()?,
            filter_bytes: fields.u64()?,
            index_offset: fields.u64()?,
            index_bytes: fields.u64()?,
            filter_checksum: fields.u32()?,
            index_checksum: fields.u32()?,
        };
        Ok(footer)
    }

    /// The checksum that a decoded footer carries.
    pub(super) fn checksum_of(bytes: &[u8; FOOTER_BYTES]) -> u32 {
        footer_checksum(bytes)
    }

    /// Whether the footer says what the manifest says of the segment.
    pub(super) fn matches(&self, info: &SegmentInfo) -> bool {
        self.id == info.id
            && self.table == info.table
            && self.pages == info.pages
            && self.versions == info.versions
            && self.filter_offset.checked_add(self.filter_bytes) == Some(self.index_offset)
            && self.index_offset.checked_add(self.index_bytes)
                == info.bytes.checked_sub(FOOTER_BYTES as u64)
    }
}

/// The checksum of the filter or the page index; covers which file it is in and where.
pub(super) fn block_checksum(id: SegmentId, offset: u64, bytes: &[u8]) -> u32 {
    let identity =
        crc32c::crc32c_append(crc32c::crc32c(&id.0.to_le_bytes()), &offset.to_le_bytes());
    crc32c::crc32c_append(identity, bytes)
}
