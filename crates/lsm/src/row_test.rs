//! How the consumer of a scan tells which rows it wants.

use arrow_array::ArrayRef;
use arrow_buffer::BooleanBuffer;

use crate::encoded_rows::EncodedRows;
use crate::error::StoreError;

/// Tells which rows are wanted, batch after batch: sifting first, by encoded cells, then checking what
/// is left, by decoded ones.
///
/// It may be asked twice about the same rows, where they exceed what a batch can hold, and has to
/// answer the same.
pub trait RowTest {
    /// Why it has no answer.
    type Error: From<StoreError>;

    /// Leaves out the rows of which encoded cells say that they are not wanted, and says which columns
    /// have to be checked of the others.
    fn sift(&mut self, rows: &EncodedRows<'_>) -> Result<Sifted, Self::Error>;

    /// A bit for each of the `rows` rows that sifting has left, set if it is wanted. `columns` are those
    /// that sifting has named, in its order. Not asked if it has named none: then all are wanted.
    fn check(&mut self, columns: &[ArrayRef], rows: usize) -> Result<BooleanBuffer, Self::Error>;
}

/// What is left of some rows after sifting.
#[derive(Debug)]
pub struct Sifted {
    /// A bit for each row that may be wanted; `None`: any may be.
    pub rows: Option<BooleanBuffer>,
    /// What has to be looked at to know: places among the columns that the scan was told it looks at.
    pub checked: Vec<usize>,
}
