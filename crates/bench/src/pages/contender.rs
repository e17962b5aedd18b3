//! What every format has to do: take a data set, give it back as Arrow arrays.
//!
//! [`MemoryCopy`] is the ceiling: the same bytes copied once, with nothing encoded.

use std::hint::black_box;

use anyhow::Result;
use arrow_array::ArrayRef;
use arrow_buffer::Buffer;
use bytes::Bytes;

use super::data_set::{DataSet, buffers};

/// Which columns to decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All of them.
    All,
    /// One.
    One(usize),
}

/// A format under test. One core: nothing here starts a thread.
pub trait Contender {
    /// What reports call it.
    fn name(&self) -> &str;

    /// Encodes all rows from Arrow arrays into pieces: pages, blocks, or one file.
    fn encode(&self, data: &DataSet) -> Result<Vec<Bytes>>;

    /// Decodes into Arrow arrays, batch by batch in row order. A batch is dropped before the
    /// next one is decoded, as in a scan.
    fn decode(
        &self,
        data: &DataSet,
        pieces: &[Bytes],
        wanted: Wanted,
        each: &mut dyn FnMut(&[ArrayRef]),
    ) -> Result<()>;
}

/// A plain copy of the uncompressed bytes into memory that is already there.
#[derive(Debug)]
pub struct MemoryCopy {
    from: Vec<Buffer>,
    to: Vec<u8>,
}

impl MemoryCopy {
    /// Prepares to copy a data set.
    pub fn new(data: &DataSet) -> Self {
        Self {
            from: data.arrays.iter().flat_map(buffers).collect(),
            to: vec![1; data.bytes()],
        }
    }

    /// Copies everything once.
    pub fn copy(&mut self) {
        let mut rest = self.to.as_mut_slice();
        for buffer in &self.from {
            let (to, next) = rest.split_at_mut(buffer.len());
            to.copy_from_slice(buffer);
            rest = next;
        }
        black_box(&mut self.to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{orders, weather};

    #[test]
    fn the_copy_has_every_byte() -> Result<()> {
        for data in [weather::data_set(5_000)?, orders::data_set(1_000)?] {
            let mut copy = MemoryCopy::new(&data);
            copy.copy();
            let from: Vec<u8> = copy.from.iter().flat_map(|b| b.to_vec()).collect();
            assert_eq!(copy.to, from);
            assert_eq!(copy.to.len(), data.bytes());
        }
        // Table 5: 4 + 2 + 2 + 2 + 8 + 2 + 2 bytes a row.
        assert_eq!(orders::data_set(1_000)?.bytes(), 22_000);
        Ok(())
    }
}
