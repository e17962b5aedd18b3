//! What pages of a table have been like, for the first page of its next file.
//!
//! An encoder that knows nothing guesses how many rows fill a page, and tries codecs of text that
//! take longer to find out that they don't pay than all others together. Where files are small that
//! is most of the work: 20,000 rows of 900 random bytes, in flushes of 40 pages, took 4.6 s of the
//! processors', and 1.7 s with what is kept here (`bench rangehot --scale quick`).
//!
//! Does not: keep what codecs learned about the text itself, 100 KiB a column and more; that is an
//! encoder's own.

use crate::text::TextRests;

/// What an encoder knows about its table: see
/// [`PageEncoder::experienced`](crate::PageEncoder::experienced). A few bytes a column.
#[derive(Clone, Debug, Default)]
pub struct Experience {
    /// Bytes of a row in the last full page.
    pub(crate) row_bytes: Option<f64>,
    /// The codecs that are left out, column by column; empty before the first page.
    pub(crate) rests: Vec<TextRests>,
}
