//! Order-independent digests of tables.
//!
//! Two copies of a large table are compared without sorting: every row is hashed (128 bits over
//! the stored form of its cells), rows are dealt into chunks by the hash of their key, and each
//! chunk keeps the number, the sum and the exclusive or of its rows' hashes. Equal tables have
//! equal digests whatever their order; a difference shows in the chunk of the row's key.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, StringArray};
use arrow_buffer::Buffer;
use arrow_schema::DataType;
use xxhash_rust::xxh3::xxh3_128;

/// The digest of the rows whose keys fall into one chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Chunk {
    rows: u64,
    sum: u128,
    xor: u128,
}

/// The digest of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDigest {
    chunks: Vec<Chunk>,
}

/// The hashes of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowHash {
    /// Over the key's cells; over all cells where there is no key.
    pub key: u128,
    /// Over all cells.
    pub row: u128,
}

impl RowHash {
    /// The chunk, of so many, into which the row falls.
    pub fn chunk(&self, chunks: usize) -> usize {
        (self.key % chunks as u128) as usize
    }
}

impl TableDigest {
    /// The digest of no rows, in so many chunks.
    pub fn new(chunks: usize) -> Self {
        Self {
            chunks: vec![Chunk::default(); chunks],
        }
    }

    /// Adds a row.
    pub fn add(&mut self, hash: RowHash) {
        let index = hash.chunk(self.chunks.len());
        let chunk = &mut self.chunks[index];
        chunk.rows += 1;
        chunk.sum = chunk.sum.wrapping_add(hash.row);
        chunk.xor ^= hash.row;
    }

    /// The number of rows.
    pub fn rows(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.rows).sum()
    }

    /// The chunks in which two digests differ, with the rows that both have there.
    pub fn differing(&self, other: &Self) -> Vec<(usize, u64)> {
        let chunks = self.chunks.iter().zip(&other.chunks).enumerate();
        chunks
            .filter(|(_, (a, b))| a != b)
            .map(|(index, (a, b))| (index, a.rows + b.rows))
            .collect()
    }
}

/// The cells of one column, ready to be hashed.
enum Cells<'a> {
    Fixed {
        nulls: &'a ArrayRef,
        values: Buffer,
        offset: usize,
        width: usize,
    },
    Bool(&'a BooleanArray),
    Text(&'a StringArray),
    Bytes(&'a BinaryArray),
}

impl<'a> Cells<'a> {
    /// # Panics
    /// When the array is of a type that no column is stored in.
    fn new(array: &'a ArrayRef) -> Self {
        match array.data_type() {
            DataType::Boolean => Self::Bool(array.as_boolean()),
            DataType::Utf8 => Self::Text(array.as_string()),
            DataType::Binary => Self::Bytes(array.as_binary()),
            fixed => {
                let width = fixed.primitive_width().expect("stored columns are known");
                let data = array.to_data();
                let (values, offset) = (data.buffers()[0].clone(), data.offset());
                Self::Fixed {
                    nulls: array,
                    values,
                    offset,
                    width,
                }
            }
        }
    }

    /// Appends a form of the cell that no other cell of the column has and that does not run
    /// into the next one.
    fn append(&self, row: usize, out: &mut Vec<u8>) {
        let is_null = match self {
            Self::Fixed { nulls, .. } => nulls.is_null(row),
            Self::Bool(array) => array.is_null(row),
            Self::Text(array) => array.is_null(row),
            Self::Bytes(array) => array.is_null(row),
        };
        out.push(u8::from(is_null));
        if is_null {
            return;
        }
        match self {
            Self::Fixed {
                values,
                offset,
                width,
                ..
            } => {
                let start = (offset + row) * width;
                out.extend_from_slice(&values[start..start + width]);
            }
            Self::Bool(array) => out.push(u8::from(array.value(row))),
            Self::Text(array) => append_bytes(array.value(row).as_bytes(), out),
            Self::Bytes(array) => append_bytes(array.value(row), out),
        }
    }
}

fn append_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Hashes every row of a batch. `key` are indices into `columns`; none means the whole row.
pub fn hash_rows(
    columns: &[ArrayRef],
    rows: usize,
    key: &[usize],
    mut each: impl FnMut(usize, RowHash),
) {
    let cells: Vec<_> = columns.iter().map(Cells::new).collect();
    let mut form = Vec::new();
    for row in 0..rows {
        form.clear();
        cells.iter().for_each(|cells| cells.append(row, &mut form));
        let hash = xxh3_128(&form);
        let mut key_hash = hash;
        if !key.is_empty() {
            form.clear();
            key.iter()
                .for_each(|&column| cells[column].append(row, &mut form));
            key_hash = xxh3_128(&form);
        }
        each(
            row,
            RowHash {
                key: key_hash,
                row: hash,
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Int32Array;

    use super::*;

    fn digest(columns: &[ArrayRef], key: &[usize]) -> TableDigest {
        let mut digest = TableDigest::new(16);
        hash_rows(columns, columns[0].len(), key, |_, hash| digest.add(hash));
        digest
    }

    fn columns(ids: &[i32], texts: &[Option<&str>]) -> Vec<ArrayRef> {
        let ids: ArrayRef = Arc::new(Int32Array::from(ids.to_vec()));
        let texts: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
        vec![ids, texts]
    }

    #[test]
    fn order_does_not_matter_and_everything_else_does() {
        let original = digest(&columns(&[1, 2], &[Some("a"), None]), &[0]);
        assert_eq!(
            original,
            digest(&columns(&[2, 1], &[None, Some("a")]), &[0])
        );
        assert_eq!(original.rows(), 2);
        for other in [
            columns(&[1, 2], &[Some("a"), Some("")]),
            columns(&[1, 2], &[Some("b"), None]),
            columns(&[1, 3], &[Some("a"), None]),
            columns(&[1, 2, 2], &[Some("a"), None, None]),
            columns(&[1], &[Some("a")]),
        ] {
            assert!(!original.differing(&digest(&other, &[0])).is_empty());
        }
    }

    #[test]
    fn a_changed_row_stays_in_its_keys_chunk() {
        let before = digest(&columns(&[1, 2, 3], &[Some("a"), None, None]), &[0]);
        let after = digest(&columns(&[1, 2, 3], &[Some("b"), None, None]), &[0]);
        assert_eq!(before.differing(&after).len(), 1);
    }

    #[test]
    fn rows_that_appear_twice_are_counted() {
        let twice = digest(&columns(&[1, 1], &[None, None]), &[]);
        let four_times = digest(&columns(&[1, 1, 1, 1], &[None; 4]), &[]);
        assert_ne!(twice, four_times);
    }

    #[test]
    fn slices_hash_like_the_rows_they_show() {
        let whole = columns(&[9, 1, 2], &[None, Some("a"), None]);
        let slice: Vec<_> = whole.iter().map(|c| c.slice(1, 2)).collect();
        assert_eq!(
            digest(&slice, &[0]),
            digest(&columns(&[1, 2], &[Some("a"), None]), &[0])
        );
    }
}
