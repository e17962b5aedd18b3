//! Folding patches onto older versions.
//!
//! A patch leaves some cells as the next older version has them. Folding walks from a key's
//! newest patch to older versions, newest first, and takes each cell from the first version that
//! has it:
//!
//! 1. a patch gives the cells that are not marked unchanged;
//! 2. a put gives all cells that are still missing and ends the walk;
//! 3. a delete, a truncation or the end of the key's versions ends the walk; cells still missing
//!    are NULL (a source never patches a row that does not exist).
//!
//! Slow path: only keys that have patches come here, and cells are picked one by one.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, new_null_array};
use types::VersionKind;

use crate::block::Block;
use crate::error::StoreError;

/// Whether bit `column` is set, least significant first. Bits past the end are not.
fn is_unchanged(bits: &[u8], column: usize) -> bool {
    bits.get(column / 8)
        .is_some_and(|byte| byte >> (column % 8) & 1 == 1)
}

/// A patch being folded, or the result.
pub(crate) struct Folded {
    /// The newest patch: it gives key and position.
    pub block: Arc<Block>,
    /// Its row.
    pub row: usize,
    /// One cell (an array of length 1) for each wanted column; `None` while it is missing.
    pub cells: Vec<Option<ArrayRef>>,
    /// Whether the walk met an end: the result is a put.
    pub complete: bool,
}

impl Folded {
    /// Starts with the key's newest patch. `columns` are the wanted columns.
    pub fn start(block: &Arc<Block>, row: usize, columns: &[usize]) -> Result<Self, StoreError> {
        let mut folded = Self {
            block: Arc::clone(block),
            row,
            cells: vec![None; columns.len()],
            complete: false,
        };
        folded.add_patch(block, row, columns)?;
        Ok(folded)
    }

    /// Adds the next older version, a patch.
    pub fn add_patch(
        &mut self,
        block: &Block,
        row: usize,
        columns: &[usize],
    ) -> Result<(), StoreError> {
        let unchanged = block.unchanged()?;
        let bits = unchanged.as_ref().map_or(&[][..], |bits| bits.value(row));
        self.fill(block, row, columns, |column| !is_unchanged(bits, column))
    }

    /// Adds the next older version, a put. Nothing is missing after it.
    pub fn add_put(
        &mut self,
        block: &Block,
        row: usize,
        columns: &[usize],
    ) -> Result<(), StoreError> {
        self.complete = true;
        self.fill(block, row, columns, |_| true)
    }

    /// There is no older version.
    pub fn end(&mut self) {
        self.complete = true;
    }

    fn fill(
        &mut self,
        block: &Block,
        row: usize,
        columns: &[usize],
        has_cell: impl Fn(usize) -> bool,
    ) -> Result<(), StoreError> {
        for (cell, &column) in self.cells.iter_mut().zip(columns) {
            if cell.is_none() && has_cell(column) {
                *cell = Some(block.column(column)?.slice(row, 1));
            }
        }
        Ok(())
    }

    /// What the result is.
    pub fn kind(&self) -> VersionKind {
        if self.complete {
            VersionKind::Put
        } else {
            VersionKind::Patch
        }
    }

    /// The cell of the `index`-th wanted column; NULL, in the type of `like`, while missing.
    pub fn cell(&self, index: usize, like: &ArrayRef) -> ArrayRef {
        match &self.cells[index] {
            Some(cell) => Arc::clone(cell),
            None => new_null_array(like.data_type(), 1),
        }
    }

    /// One bit a wanted column that is still missing, for the stored form of a patch; none for
    /// a put. The wanted columns are all of the table's.
    pub fn unchanged_bits(&self) -> Vec<u8> {
        if self.complete {
            return Vec::new();
        }
        let mut bits = vec![0_u8; self.cells.len().div_ceil(8)];
        for (column, _) in self
            .cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| cell.is_none())
        {
            bits[column / 8] |= 1 << (column % 8);
        }
        bits
    }
}
