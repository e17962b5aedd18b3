//! Our pages, filled from column batches and decoded into Arrow arrays.
//!
//! Decoding includes opening each page: its checksum and all checks.

use std::sync::Arc;

use anyhow::Result;
use arrow_array::ArrayRef;
use arrow_buffer::Buffer;
use bytes::Bytes;
use page::{ColumnMemory, Page, PageEncoder, PageIdentity};
use types::ColumnType;

use super::contender::{Contender, Wanted};
use super::data_set::DataSet;

/// Pages of one capacity.
#[derive(Clone, Debug)]
pub struct Multicolumn {
    name: String,
    capacity_bytes: usize,
}

impl Multicolumn {
    /// Pages of this capacity.
    pub fn new(capacity_bytes: usize) -> Self {
        let name = format!("hedgerow {} KiB", capacity_bytes >> 10);
        Self {
            name,
            capacity_bytes,
        }
    }

    /// The pages, checked.
    pub fn open(types: &[ColumnType], pieces: &[Bytes]) -> Result<Vec<Page>> {
        let mut pages = Vec::with_capacity(pieces.len());
        for_each_page(types, pieces, |page| {
            pages.push(page);
            Ok(())
        })?;
        Ok(pages)
    }
}

impl Contender for Multicolumn {
    fn name(&self) -> &str {
        &self.name
    }

    fn encode(&self, data: &DataSet) -> Result<Vec<Bytes>> {
        let mut encoder = PageEncoder::new(&data.types(), self.capacity_bytes);
        let (mut pieces, mut start, mut offset) = (Vec::new(), 0, 0);
        while start < data.rows() {
            let identity = PageIdentity { file: 0, offset };
            let mut page = Vec::with_capacity(self.capacity_bytes);
            start += encoder.encode(&data.arrays, start, identity, &mut page);
            offset += page.len() as u64;
            pieces.push(page.into());
        }
        Ok(pieces)
    }

    fn decode(
        &self,
        data: &DataSet,
        pieces: &[Bytes],
        wanted: Wanted,
        each: &mut dyn FnMut(&[ArrayRef]),
    ) -> Result<()> {
        let types = data.types();
        let columns = match wanted {
            Wanted::All => 0..types.len(),
            Wanted::One(column) => column..column + 1,
        };
        let mut arrays = Vec::with_capacity(columns.len());
        let mut memory: Vec<ColumnMemory> =
            columns.clone().map(|_| ColumnMemory::default()).collect();
        for_each_page(&types, pieces, |page| {
            for (column, memory) in columns.clone().zip(&mut memory) {
                arrays.push(page.decode_into(column, memory)?);
            }
            each(&arrays);
            for (memory, array) in memory.iter_mut().zip(arrays.drain(..)) {
                memory.reclaim(array);
            }
            Ok(())
        })
    }
}

fn for_each_page(
    types: &[ColumnType],
    pieces: &[Bytes],
    mut each: impl FnMut(Page) -> Result<()>,
) -> Result<()> {
    let types = Arc::from(types);
    let mut offset = 0;
    for piece in pieces {
        let identity = PageIdentity { file: 0, offset };
        each(Page::open(Buffer::from(piece.clone()), &types, identity)?)?;
        offset += piece.len() as u64;
    }
    Ok(())
}
