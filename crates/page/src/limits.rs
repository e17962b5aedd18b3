//! Bounds that every page keeps, whoever wrote it, and what they protect.

/// Rows of a page at most. A column that costs nothing could otherwise put millions of rows
/// into one page, and a reader has to hold a decoded page. Slots fit 16 bits.
pub const ROWS_MAX: usize = 16_384;

/// Capacity of a page at least: room for a header and a directory of ordinary tables.
pub const CAPACITY_BYTES_MIN: usize = 512;

/// Text and bytes in one row at most. A row that does not fit a page's capacity gets a page of
/// its own, whatever its size; this bound keeps that page, and an array of two such rows, within
/// 32-bit ends and offsets. PostgreSQL's messages have the same: no row that it sends exceeds it.
pub const ROW_TEXT_BYTES_MAX: usize = (1 << 30) - 1;

/// How much text a segment may unfold to, for each of its bytes …
const TEXT_EXPANSION_MAX: usize = 16;

/// … and for each row of its page. Short repeated values stay compressible without end.
const TEXT_ROW_BYTES: usize = 64;

const _: () = assert!(ROWS_MAX <= 1 << 16); // A slot is stored as u16.
const _: () = assert!(2 * ROW_TEXT_BYTES_MAX < i32::MAX as usize); // Offsets of arrays.

/// The bytes of text that a segment of `segment_bytes` may hold for `rows` rows.
///
/// Writers choose another codec when a column exceeds it, readers refuse the page. It bounds
/// the memory that a small damaged or hostile page can claim.
pub(crate) fn decoded_text_bytes_max(segment_bytes: usize, rows: usize) -> usize {
    segment_bytes * TEXT_EXPANSION_MAX + rows * TEXT_ROW_BYTES
}

/// Bytes of the smallest segment that may hold so much text for `rows` rows.
pub(crate) fn text_segment_bytes_min(text_bytes: usize, rows: usize) -> usize {
    text_bytes
        .saturating_sub(rows * TEXT_ROW_BYTES)
        .div_ceil(TEXT_EXPANSION_MAX)
}

/// Picking cells by slot beats decoding a whole column when at least this many rows are left out for
/// each one taken.
pub const SPARSE_ROWS_PER_SLOT: usize = 16;
