//! The multicolumn page (Rose section 3): bytes in, bytes out.
//!
//! A page holds up to [`ROWS_MAX`] whole rows. Each column has a segment of bytes, written by
//! the codec that suits its data in this page; codecs put what their frame is too narrow for
//! into one exception section that all columns share. `docs/format/page.md` gives every byte.
//!
//! - Writing: [`PageEncoder`] takes Arrow columns and fills pages to their capacity;
//!   [`RowAppender`] takes rows one by one, to the same pages.
//! - Reading: [`Page`] checks a page once and decodes columns, or some slots of them, into Arrow
//!   arrays. [`Column`] reads cells by slot and finds slots by value on the encoded form.
//!
//! Invariants:
//! - The checksum covers every byte and the page's identity. No byte reaches a caller before
//!   it held.
//! - Whatever the bytes, reading ends with an array or a [`PageError`], and allocates at most
//!   16 times its input and a bounded amount for each row.
//! - A page can be read without any other page.
//!
//! Does not: I/O, know keys, positions or the order of rows.

mod bit_packing;
mod cell;
mod cell_builder;
mod column;
mod column_encoder;
mod column_reader;
mod cursor;
mod distinct_text;
mod encoder;
mod equal_range;
mod error;
mod exceptions;
mod experience;
mod floats;
mod header;
mod limits;
mod memory;
mod nulls;
mod page;
mod row_appender;
mod text;
mod wide;
mod word_order;
mod words;

pub use column::Column;
pub use distinct_text::DistinctText;
pub use encoder::PageEncoder;
pub use error::PageError;
pub use experience::Experience;
pub use header::PageIdentity;
pub use limits::{CAPACITY_BYTES_MIN, ROW_TEXT_BYTES_MAX, ROWS_MAX, SPARSE_ROWS_PER_SLOT};
pub use memory::ColumnMemory;
pub use page::{OpenColumn, Page};
pub use row_appender::{RowAppender, RowError};

#[cfg(test)]
mod tests;
