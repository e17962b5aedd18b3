//! The multicolumn page (Rose section 3): bytes in, bytes out. API SKELETON.
#![allow(missing_docs, unused_variables)]
use arrow_array::ArrayRef;
use arrow_buffer::Buffer;
use types::ColumnType;

/// Where a page lives; part of its checksum, so that a misplaced page is found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageIdentity { pub file: u64, pub offset: u64 }

#[derive(Debug, Clone, thiserror::Error)]
pub enum PageError {
    #[error("checksum {found:#010x}, expected {expected:#010x}")]
    Checksum { expected: u32, found: u32 },
    #[error("format version {found}, this release reads up to {supported}")]
    VersionTooNew { found: u16, supported: u16 },
    #[error("{0}")]
    Malformed(&'static str),
}

/// Encodes pages of one schema; remembers the last page's codecs and density as the next guess.
pub struct PageEncoder { _private: () }
impl PageEncoder {
    pub fn new(types: &[ColumnType], capacity_bytes: usize) -> Self { todo!() }
    /// Encodes the longest run of rows from `start` that fits the capacity, at least one row (a single row
    /// larger than the capacity gets a larger page of its own). Appends exactly one page to `out`; returns its number of rows.
    pub fn encode(&mut self, columns: &[ArrayRef], start: usize, identity: PageIdentity, out: &mut Vec<u8>) -> usize { todo!() }
}

/// A page whose checksum has been verified.
#[derive(Clone)]
pub struct Page { _private: () }
impl Page {
    pub fn open(bytes: Buffer, types: &[ColumnType], identity: PageIdentity) -> Result<Self, PageError> { todo!() }
    pub fn rows(&self) -> usize { todo!() }
    pub fn bytes(&self) -> usize { todo!() }
    /// Decodes a whole column into an Arrow array of `types[column].arrow_type()`.
    pub fn decode(&self, column: usize) -> Result<ArrayRef, PageError> { todo!() }
    /// Decodes the given slots of a column (ascending).
    pub fn decode_slots(&self, column: usize, slots: &[u32]) -> Result<ArrayRef, PageError> { todo!() }
    /// If every cell of the column is the same non-null value that fits: that value as an integer (positions, kinds).
    pub fn constant(&self, column: usize) -> Option<u64> { todo!() }
}
