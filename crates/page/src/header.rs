//! The frame of a page: header, checksum and column directory.
//!
//! ```text
//! offset size field          meaning
//!      0    4 checksum       CRC-32C of bytes 4 .. size, then file (u64), then offset (u64)
//!      4    4 magic          "HrPg"
//!      8    2 version        1; readers refuse a higher one
//!     10    2 column_count   columns, > 0
//!     12    4 size           bytes of the page, this header included
//!     16    2 row_count      rows, 1 to 16384
//!     18    1 end_bytes      bytes of an end in the directory: 2, or 4 in pages of 64 KiB and more
//!     19    1 reserved       0
//!     20      directory      for each column: encoding (u8), end of its segment (end_bytes)
//!           … segments, each from the end before it to its own; the first begins here
//!           … exception section, from the last end to size
//! ```
//!
//! All numbers are little-endian. An encoding is the codec (bits 0 to 4) and the form of the
//! NULLs (bits 5 and 6).
//!
//! Invariant: place and cover of the checksum hold for all versions, so damage is never taken
//! for a newer version.

use std::ops::Range;

use crate::error::PageError;
use crate::limits::ROWS_MAX;
use crate::nulls::NullForm;

const CHECKSUM_AT: usize = 0;
const MAGIC_AT: usize = CHECKSUM_AT + size_of::<u32>();
const VERSION_AT: usize = MAGIC_AT + MAGIC.len();
const COLUMN_COUNT_AT: usize = VERSION_AT + size_of::<u16>();
const SIZE_AT: usize = COLUMN_COUNT_AT + size_of::<u16>();
const ROW_COUNT_AT: usize = SIZE_AT + size_of::<u32>();
const END_BYTES_AT: usize = ROW_COUNT_AT + size_of::<u16>();
const RESERVED_AT: usize = END_BYTES_AT + 1;
const DIRECTORY_AT: usize = RESERVED_AT + 1;

const MAGIC: [u8; 4] = *b"HrPg";
const VERSION: u16 = 1;

// On disk: changing any of these is a new version.
const _: () = assert!(MAGIC_AT == 4); // The checksum covers everything behind itself.
const _: () = assert!(VERSION_AT == 8);
const _: () = assert!(COLUMN_COUNT_AT == 10);
const _: () = assert!(SIZE_AT == 12);
const _: () = assert!(ROW_COUNT_AT == 16);
const _: () = assert!(END_BYTES_AT == 18);
const _: () = assert!(DIRECTORY_AT == 20);

const CODEC_BITS: u32 = 5;
const CODEC_MASK: u8 = (1 << CODEC_BITS) - 1;

/// Where a page lives. It is part of the checksum, so a page that was written to, or read from,
/// another place is found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageIdentity {
    /// The number of the file, never reused.
    pub file: u64,
    /// The page's first byte in the file.
    pub offset: u64,
}

/// How a column's segment is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Encoding {
    /// The codec's number.
    pub(crate) codec: u8,
    /// The form of the NULLs.
    pub(crate) null_form: NullForm,
}

impl Encoding {
    /// No cell is stored.
    pub(crate) const ALL_NULL: Self = Self {
        codec: 0,
        null_form: NullForm::None,
    };

    fn to_byte(self) -> u8 {
        debug_assert!(self.codec <= CODEC_MASK, "codec numbers have five bits");
        self.codec | (self.null_form as u8) << CODEC_BITS
    }

    fn from_byte(byte: u8) -> Self {
        Self {
            codec: byte & CODEC_MASK,
            null_form: NullForm::from_two_bits(byte >> CODEC_BITS),
        }
    }
}

/// A column in a page to be written: its encoding and where its segment ends in the body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) encoding: Encoding,
    pub(crate) body_end: usize,
}

/// Bytes of a page with that many columns and bytes of segments and exceptions.
pub(crate) fn page_bytes(columns: usize, body_bytes: usize) -> usize {
    let narrow = DIRECTORY_AT + columns * (1 + size_of::<u16>()) + body_bytes;
    if narrow <= usize::from(u16::MAX) {
        narrow
    } else {
        DIRECTORY_AT + columns * (1 + size_of::<u32>()) + body_bytes
    }
}

/// Appends a page to `out`. `segments` are all segments end to end.
///
/// # Panics
/// When the page has more than 65,535 columns or 4 GiB.
pub(crate) fn write(
    entries: &[Entry],
    rows: usize,
    segments: &[u8],
    section: &[u8],
    identity: PageIdentity,
    out: &mut Vec<u8>,
) {
    assert!(
        (1..=ROWS_MAX).contains(&rows),
        "a page has 1 to {ROWS_MAX} rows"
    );
    let size = page_bytes(entries.len(), segments.len() + section.len());
    let column_count = u16::try_from(entries.len()).expect("a table has at most 65,535 columns");
    let end_bytes = if size <= usize::from(u16::MAX) {
        size_of::<u16>()
    } else {
        size_of::<u32>()
    };
    let start = out.len();
    out.reserve(size);
    out.extend_from_slice(&[0; MAGIC_AT]);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&column_count.to_le_bytes());
    out.extend_from_slice(
        &u32::try_from(size)
            .expect("a page is below 4 GiB")
            .to_le_bytes(),
    );
    out.extend_from_slice(&(rows as u16).to_le_bytes());
    out.extend_from_slice(&[end_bytes as u8, 0]);
    let segments_at = DIRECTORY_AT + entries.len() * (1 + end_bytes);
    for entry in entries {
        out.push(entry.encoding.to_byte());
        let end = (segments_at + entry.body_end) as u32;
        out.extend_from_slice(&end.to_le_bytes()[..end_bytes]);
    }
    out.extend_from_slice(segments);
    out.extend_from_slice(section);
    assert_eq!(out.len() - start, size, "the size was computed before");
    let checksum = checksum(&out[start..], identity);
    out[start..start + MAGIC_AT].copy_from_slice(&checksum.to_le_bytes());
}

/// The checksum of a page's bytes at that place. `page` is at least as long as the field.
fn checksum(page: &[u8], identity: PageIdentity) -> u32 {
    let bytes = crc32c::crc32c(&page[MAGIC_AT..]);
    let with_file = crc32c::crc32c_append(bytes, &identity.file.to_le_bytes());
    crc32c::crc32c_append(with_file, &identity.offset.to_le_bytes())
}

/// A header and directory that have been checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) rows: usize,
    columns: usize,
    end_bytes: usize,
}

impl Header {
    /// Checks everything that does not need a codec: checksum, version, sizes, directory.
    pub(crate) fn open(
        page: &[u8],
        columns: usize,
        identity: PageIdentity,
    ) -> Result<Self, PageError> {
        if page.len() < DIRECTORY_AT {
            return Err(PageError::Malformed("the page is shorter than a header"));
        }
        check_checksum(page, identity)?;
        if page[MAGIC_AT..VERSION_AT] != MAGIC {
            return Err(PageError::Malformed("the magic number is not a page's"));
        }
        let found = u16_at(page, VERSION_AT);
        if found > VERSION {
            return Err(PageError::VersionTooNew {
                found,
                supported: VERSION,
            });
        }
        let header = Self {
            rows: usize::from(u16_at(page, ROW_COUNT_AT)),
            columns,
            end_bytes: usize::from(page[END_BYTES_AT]),
        };
        header.check_sizes(page)?;
        header.check_directory(page)?;
        Ok(header)
    }

    fn check_sizes(&self, page: &[u8]) -> Result<(), PageError> {
        if u32_at(page, SIZE_AT) as usize != page.len() {
            return Err(PageError::Malformed(
                "the page's size is not the number of its bytes",
            ));
        }
        if !(1..=ROWS_MAX).contains(&self.rows) {
            return Err(PageError::Malformed("the number of rows is out of bounds"));
        }
        if self.columns == 0 || usize::from(u16_at(page, COLUMN_COUNT_AT)) != self.columns {
            return Err(PageError::Malformed(
                "the number of columns is not the schema's",
            ));
        }
        if ![size_of::<u16>(), size_of::<u32>()].contains(&self.end_bytes) {
            return Err(PageError::Malformed(
                "an end in the directory has an unknown width",
            ));
        }
        Ok(())
    }

    fn check_directory(&self, page: &[u8]) -> Result<(), PageError> {
        let mut begin = self.segments_at();
        if begin > page.len() {
            return Err(PageError::Malformed(
                "the directory is longer than the page",
            ));
        }
        for column in 0..self.columns {
            let end = self.end(page, column);
            if end < begin || end > page.len() {
                return Err(PageError::Malformed(
                    "the segments do not follow one another",
                ));
            }
            begin = end;
        }
        Ok(())
    }

    /// Where the directory lies in the page.
    pub(crate) fn directory(&self) -> Range<usize> {
        DIRECTORY_AT..self.segments_at()
    }

    fn segments_at(&self) -> usize {
        DIRECTORY_AT + self.columns * (1 + self.end_bytes)
    }

    fn entry_at(&self, column: usize) -> usize {
        debug_assert!(column < self.columns, "the caller knows the schema");
        DIRECTORY_AT + column * (1 + self.end_bytes)
    }

    fn end(&self, page: &[u8], column: usize) -> usize {
        let at = self.entry_at(column) + 1;
        if self.end_bytes == size_of::<u16>() {
            usize::from(u16_at(page, at))
        } else {
            u32_at(page, at) as usize
        }
    }

    pub(crate) fn encoding(&self, page: &[u8], column: usize) -> Encoding {
        Encoding::from_byte(page[self.entry_at(column)])
    }

    /// Where a column's segment lies in the page.
    pub(crate) fn segment(&self, page: &[u8], column: usize) -> Range<usize> {
        let begin = match column {
            0 => self.segments_at(),
            _ => self.end(page, column - 1),
        };
        begin..self.end(page, column)
    }

    /// Where the exception section lies in the page.
    pub(crate) fn section(&self, page: &[u8]) -> Range<usize> {
        self.end(page, self.columns - 1)..page.len()
    }
}

fn check_checksum(page: &[u8], identity: PageIdentity) -> Result<(), PageError> {
    let expected = u32_at(page, CHECKSUM_AT);
    let found = checksum(page, identity);
    if expected == found {
        Ok(())
    } else {
        Err(PageError::Checksum { expected, found })
    }
}

fn u16_at(page: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([page[at], page[at + 1]])
}

fn u32_at(page: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

/// Puts the right checksum on a page that a test has damaged on purpose.
#[cfg(test)]
pub(crate) fn reseal(page: &mut [u8], identity: PageIdentity) {
    let checksum = checksum(page, identity);
    page[..MAGIC_AT].copy_from_slice(&checksum.to_le_bytes());
}
