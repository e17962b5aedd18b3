//! Rows whose cells have not been decoded, asked about one column at a time.
//!
//! A page answers out of its encoded form: run lengths decide once a run, dictionaries once an entry, and
//! a frame whose bounds decide is not unpacked. Rows in memory, and pages of which few rows are left,
//! are looked at cell by cell.

use arrow_array::ArrayRef;
use arrow_buffer::BooleanBuffer;
use types::{ColumnType, ValueRange};

use crate::batch::{Batch, SourceCells};
use crate::cells_in_range::rows_in_range;
use crate::error::StoreError;

/// The next rows of a scan.
pub struct EncodedRows<'a> {
    batch: &'a Batch<'a>,
    /// Where among the batch's columns those are that may be asked about, and their types.
    looked_at: &'a [(usize, ColumnType)],
}

impl<'a> EncodedRows<'a> {
    pub(crate) fn new(batch: &'a Batch<'a>, looked_at: &'a [(usize, ColumnType)]) -> Self {
        Self { batch, looked_at }
    }

    /// How many they are.
    pub fn rows(&self) -> usize {
        self.batch.rows()
    }

    /// Those whose cell is in a range. `index` is the column's among those that the scan was told it
    /// looks at.
    ///
    /// # Panics
    /// When there is no such column, or a bound is not a value of its type.
    pub fn in_range(
        &self,
        index: usize,
        range: ValueRange<'_>,
    ) -> Result<BooleanBuffer, StoreError> {
        let (place, column_type) = self.looked_at[index];
        let rows = self.batch.bits(place, |cells| match cells {
            SourceCells::Page(page, column) => page.rows_in(column, column_type, range).map(Some),
            SourceCells::Array(array) => Ok(Some(rows_in_range(array, column_type, range))),
        });
        Ok(rows?.expect("every source has an answer"))
    }

    /// Those whose cell in a text column is wanted, if all pages that are concerned have distinct cells to
    /// ask about. `wanted` is asked several times, each time about some cells, which need not be
    /// those of rows. It has to give a bit for each, and always the same one for equal cells.
    ///
    /// # Panics
    /// When there is no such column.
    pub fn with_text<E: From<StoreError>>(
        &self,
        index: usize,
        wanted: &mut dyn FnMut(&ArrayRef) -> Result<BooleanBuffer, E>,
    ) -> Result<Option<BooleanBuffer>, E> {
        let (place, _) = self.looked_at[index];
        self.batch.bits(place, |cells| match cells {
            SourceCells::Page(page, column) => page.rows_with(column, wanted),
            SourceCells::Array(array) => wanted(array).map(Some),
        })
    }

    /// Those whose cell is wanted, where cells have to be decoded to know. `wanted` is asked several times, each time about
    /// some cells, which need not be those of rows. It has to give a bit for each, and always the same one
    /// for equal cells.
    ///
    /// # Panics
    /// When there is no such column.
    pub fn with_cells(
        &self,
        index: usize,
        mut wanted: impl FnMut(&ArrayRef) -> BooleanBuffer,
    ) -> Result<BooleanBuffer, StoreError> {
        let (place, _) = self.looked_at[index];
        let rows = self.batch.bits(place, |cells| {
            Ok::<_, StoreError>(Some(match cells {
                SourceCells::Page(page, column) => wanted(&page.column(column)?),
                SourceCells::Array(array) => wanted(array),
            }))
        });
        Ok(rows?.expect("every source has an answer"))
    }
}
