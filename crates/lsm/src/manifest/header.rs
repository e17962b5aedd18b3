//! The fixed head of the manifest's files: which file, which format version, which number.
//!
//! ```text
//! 0 magic (8) │ 8 version u32 │ 12 checksum u32 │ 16 number u64
//! ```
//!
//! The log starts with it (its own number), `CURRENT` is nothing else (the number of the log in
//! use). Magic and version keep their place in every version.

use crate::byte_fields::{FieldReader, Malformed, put_u32, put_u64};
use crate::disk_error::checksum_mismatch;

/// The first bytes of a log.
pub(super) const LOG_MAGIC: [u8; 8] = *b"HEDGEMAN";

/// The first bytes of `CURRENT`.
pub(super) const CURRENT_MAGIC: [u8; 8] = *b"HEDGECUR";

/// Length of a header.
pub(super) const HEADER_BYTES: usize = 24;

/// The format version that this release writes, and the newest that it reads.
const VERSION: u32 = 1;

const VERSION_AT: usize = 8;
const CHECKSUM_AT: usize = 12;
const NUMBER_AT: usize = 16;
const _: () = assert!(NUMBER_AT + size_of::<u64>() == HEADER_BYTES);

/// A header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) number: u64,
}

/// Why bytes are no header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HeaderError {
    VersionTooNew { found: u32, supported: u32 },
    Damaged(String),
}

impl From<Malformed> for HeaderError {
    fn from(error: Malformed) -> Self {
        Self::Damaged(error.to_string())
    }
}

fn header_checksum(bytes: &[u8; HEADER_BYTES]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&bytes[..CHECKSUM_AT]), &bytes[NUMBER_AT..])
}

impl Header {
    /// The header's bytes and its checksum.
    pub(super) fn encode(self, magic: [u8; 8]) -> ([u8; HEADER_BYTES], u32) {
        let mut out = magic.to_vec();
        put_u32(&mut out, VERSION);
        put_u32(&mut out, 0);
        put_u64(&mut out, self.number);
        let mut bytes: [u8; HEADER_BYTES] = out.try_into().expect("the fields fill the header");
        let checksum = header_checksum(&bytes);
        bytes[CHECKSUM_AT..NUMBER_AT].copy_from_slice(&checksum.to_le_bytes());
        (bytes, checksum)
    }

    /// Reads the header at the start of `bytes`, and its checksum.
    pub(super) fn decode(bytes: &[u8], magic: [u8; 8]) -> Result<(Self, u32), HeaderError> {
        let damaged = |words: &str| HeaderError::Damaged(words.to_owned());
        let bytes: &[u8; HEADER_BYTES] = bytes
            .first_chunk()
            .ok_or_else(|| damaged("the file ends too early"))?;
        if bytes[..VERSION_AT] != magic {
            return Err(damaged("the file does not start as it should"));
        }
        let found = FieldReader::new(&bytes[VERSION_AT..]).u32()?;
        if found > VERSION {
            return Err(HeaderError::VersionTooNew {
                found,
                supported: VERSION,
            });
        }
        let expected = FieldReader::new(&bytes[CHECKSUM_AT..]).u32()?;
        let checksum = header_checksum(bytes);
        if checksum != expected {
            return Err(HeaderError::Damaged(checksum_mismatch(expected, checksum)));
        }
        let number = FieldReader::new(&bytes[NUMBER_AT..]).u64()?;
        Ok((Self { number }, checksum))
    }

    /// The header must carry this number.
    pub(super) fn expect_number(self, number: u64) -> Result<(), HeaderError> {
        if self.number == number {
            Ok(())
        } else {
            Err(HeaderError::Damaged(format!(
                "number {}, expected {number}",
                self.number
            )))
        }
    }
}
