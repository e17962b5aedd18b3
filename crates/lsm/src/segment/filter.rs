//! The filter of a segment: whether a key may be in it, without reading a page.
//!
//! Binary fuse filters (Graf and Lemire, 2022) of 8 bits: three cells a key, whose exclusive or
//! is the key's fingerprint. 9.2 bits a key, and 1 of 256 missing keys passes. Keys are taken by
//! their XXH3 hash.
//!
//! ```text
//! part │ part │ … for neighbouring pages each:
//! pages (u32) · cells of a band (u32) · bands (u32) · 0 (u32) · seed (u64) · cells
//! ```
//!
//! A filter has a part for about [`PART_KEYS`] keys, so that building one takes the same memory
//! (33 bytes a key) however many rows a segment has. A key is in the part of the page in which
//! its first version lies.
//!
//! Invariants: a key of the segment always passes; whatever the bytes, a filter that was opened
//! is asked within its bounds.
//!
//! Does not: know which page a key would be in. The page index does.

use std::ops::Range;

use arrow_buffer::Buffer;
use types::SortKeys;
use types::key::SortKey;
use xorf::BinaryFuse8;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::byte_fields::{FieldReader, Malformed, put_u32, put_u64};
use crate::museum::{self, Exhibit};

/// Distinct keys at which a part ends, with the page that reaches them. Measured for 65,000,
/// 260,000 and a million: 9.6, 9.2 and 9.05 bits a key, 51, 64 and 79 ns to build.
const PART_KEYS: usize = 1 << 18;

/// Bytes of a part before its cells.
const PART_HEADER_BYTES: usize = 4 + 4 + 4 + 4 + 8;

/// A key has its cells in three neighbouring bands.
const BANDS_OF_A_KEY: usize = 3;

/// "Hedgerow". On disk: never change it.
const HASH_SEED: u64 = u64::from_le_bytes(*b"Hedgerow");

/// The hash by which filters know a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHash(u64);

impl KeyHash {
    /// The hash of a sort key: XXH3 of its bytes, numbers as little-endian.
    pub fn of(key: &SortKey) -> Self {
        match key {
            SortKey::U64(key) => Self::of_bytes(&key.to_le_bytes()),
            SortKey::U128(key) => Self::of_bytes(&key.to_le_bytes()),
            SortKey::Bytes(key) => Self::of_bytes(key),
        }
    }

    fn of_row(keys: &SortKeys, row: usize) -> Self {
        match keys {
            SortKeys::U64(keys) => Self::of_bytes(&keys[row].to_le_bytes()),
            SortKeys::U128(keys) => Self::of_bytes(&keys[row].to_le_bytes()),
            SortKeys::Bytes { .. } => Self::of_bytes(keys.bytes(row)),
        }
    }

    fn of_bytes(bytes: &[u8]) -> Self {
        Self(xxh3_64_with_seed(bytes, HASH_SEED))
    }
}

/// Collects the keys of a segment's pages, and makes their filter.
pub(super) struct FilterBuilder {
    part_keys: usize,
    /// Hashes of the distinct keys of the part that is being collected.
    hashes: Vec<u64>,
    /// Its pages.
    pages: u32,
    /// The parts before it.
    bytes: Vec<u8>,
}

impl FilterBuilder {
    /// No keys.
    pub(super) fn new() -> Self {
        Self::with_part_keys(PART_KEYS)
    }

    fn with_part_keys(part_keys: usize) -> Self {
        Self {
            part_keys,
            hashes: Vec::new(),
            pages: 0,
            bytes: Vec::new(),
        }
    }

    /// Adds a page, whose keys are those of `rows`. `key_before` is the last key of the page
    /// before.
    pub(super) fn add_page(
        &mut self,
        keys: &SortKeys,
        rows: Range<usize>,
        key_before: Option<&SortKey>,
    ) {
        let first = rows.start;
        let is_new = |row: usize| match row == first {
            true if museum::shows(Exhibit::FilterLacksKeys) => key_before.is_none(),
            true => key_before.is_none_or(|key| keys.compare_key(row, key).is_ne()),
            false => keys.compare(row - 1, keys, row).is_ne(),
        };
        let new = rows.filter(|&row| is_new(row));
        self.hashes
            .extend(new.map(|row| KeyHash::of_row(keys, row).0));
        self.pages += 1;
        if self.hashes.len() >= self.part_keys {
            self.end_part();
        }
    }

    /// The bytes of the filter.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.pages > 0 {
            self.end_part();
        }
        self.bytes
    }

    fn end_part(&mut self) {
        // Different keys may have one hash, which the construction takes once.
        self.hashes.sort_unstable();
        self.hashes.dedup();
        // It tries a thousand seeds, of which nearly every one will do. Should none, all keys
        // pass this part.
        match BinaryFuse8::try_from(&self.hashes) {
            Ok(filter) => {
                let (length, starts) = (
                    filter.descriptor.segment_length,
                    filter.descriptor.segment_count_length,
                );
                let bands = starts / length + (BANDS_OF_A_KEY as u32 - 1);
                let cells = filter.fingerprints;
                assert_eq!(cells.len(), bands as usize * length as usize);
                self.put_part(length, bands, filter.descriptor.seed, &cells);
            }
            Err(_) => self.put_part(0, 0, 0, &[]),
        }
        self.hashes.clear();
        self.pages = 0;
    }

    fn put_part(&mut self, band_cells: u32, bands: u32, seed: u64, cells: &[u8]) {
        put_u32(&mut self.bytes, self.pages);
        put_u32(&mut self.bytes, band_cells);
        put_u32(&mut self.bytes, bands);
        put_u32(&mut self.bytes, 0);
        put_u64(&mut self.bytes, seed);
        self.bytes.extend_from_slice(cells);
    }
}

/// A filter that has been read.
#[derive(Debug)]
pub(super) struct Filter {
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    /// The page after its last.
    pages_end: usize,
    seed: u64,
    /// A power of two; zero where the part lets every key pass.
    band_cells: usize,
    /// Cells at which the first of a key's bands may be entered.
    starts: usize,
    cells: Buffer,
}

/// Why bytes are no filter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FilterError {
    /// Where in the filter the part begins that cannot be.
    pub(super) at: usize,
    /// Expected and found.
    pub(super) detail: String,
}

impl Filter {
    /// Reads the filter of a segment of `pages` pages. `bytes` has passed its checksum.
    pub(super) fn decode(bytes: &Buffer, pages: u32) -> Result<Self, FilterError> {
        let mut filter = Self { parts: Vec::new() };
        let (mut at, mut pages_end) = (0, 0);
        while at < bytes.len() {
            let part = Part::decode(bytes, at, pages_end);
            let part = part.map_err(|detail| FilterError { at, detail })?;
            at += PART_HEADER_BYTES + part.cells.len();
            pages_end = part.pages_end;
            filter.parts.push(part);
        }
        if pages_end == pages as usize {
            return Ok(filter);
        }
        let detail = format!("keys of {pages_end} pages, expected {pages}");
        Err(FilterError { at, detail })
    }

    /// Bytes of a filter of so many keys, about.
    pub(super) fn bytes_of(keys: u64) -> u64 {
        keys + keys / 6
    }

    /// Whether a key may be in the segment, if its first version is in `page`.
    ///
    /// # Panics
    /// When the segment has no such page.
    #[inline]
    pub(super) fn may_hold(&self, page: usize, key: KeyHash) -> bool {
        let part = self.parts.partition_point(|part| part.pages_end <= page);
        self.parts[part].may_hold(key)
    }
}

impl Part {
    fn decode(bytes: &Buffer, at: usize, pages_before: usize) -> Result<Self, String> {
        let mut fields = FieldReader::new(&bytes[at..]);
        let mut field = || fields.u32().map_err(|Malformed(detail)| detail.to_owned());
        let (pages, band_cells, bands, zero) = (field()?, field()?, field()?, field()?);
        let seed = fields.u64().map_err(|Malformed(detail)| detail)?;
        if pages == 0 || zero != 0 {
            return Err(format!("{pages} pages and {zero}, expected pages and 0"));
        }
        let is_open = band_cells == 0 && bands == 0;
        if !is_open && (!band_cells.is_power_of_two() || (bands as usize) < BANDS_OF_A_KEY) {
            return Err(format!(
                "{bands} bands of {band_cells} cells, expected at least {BANDS_OF_A_KEY} of a power of two"
            ));
        }
        let cells = u64::from(band_cells) * u64::from(bands);
        let left = bytes.len() - at - PART_HEADER_BYTES;
        if cells > left as u64 || cells > u64::from(u32::MAX) {
            return Err(format!("{left} bytes are left, expected {cells} cells"));
        }
        let (band_cells, cells) = (band_cells as usize, cells as usize);
        Ok(Self {
            pages_end: pages_before + pages as usize,
            seed,
            band_cells,
            starts: cells.saturating_sub((BANDS_OF_A_KEY - 1) * band_cells),
            cells: bytes.slice_with_length(at + PART_HEADER_BYTES, cells),
        })
    }

    #[inline]
    fn may_hold(&self, KeyHash(key): KeyHash) -> bool {
        if self.band_cells == 0 {
            return true;
        }
        let hash = mix(key.wrapping_add(self.seed));
        let fingerprint = (hash ^ hash >> 32) as u8;
        // Where in its band a cell lies, for the second and third.
        let (length, within) = (self.band_cells, self.band_cells as u64 - 1);
        let first = ((u128::from(hash) * self.starts as u128) >> 64) as usize;
        let second = (first + length) ^ ((hash >> 18) & within) as usize;
        let third = (first + 2 * length) ^ (hash & within) as usize;
        self.cells[first] ^ self.cells[second] ^ self.cells[third] == fingerprint
    }
}

/// The last step of MurmurHash3.
#[inline]
fn mix(mut hash: u64) -> u64 {
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    hash ^ hash >> 33
}

#[cfg(test)]
mod tests;
