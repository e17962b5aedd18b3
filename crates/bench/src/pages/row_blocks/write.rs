//! Rows into blocks: keys with shared prefixes, values cell by cell.

use anyhow::{Result, bail, ensure};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float64Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{
    Array, ArrayRef, Date32Array, Decimal128Array, Float64Array, Int16Array, Int32Array,
    Int64Array, StringArray, TimestampMicrosecondArray,
};
use types::ColumnType;

use super::outside_key;
use crate::pages::data_set::DataSet;

const RESTART_INTERVAL: usize = 16;
/// Sequence number and kind behind every key.
const KEY_TRAILER: [u8; 8] = [1, 0, 0, 0, 0, 0, 0, 0];

/// A block in the making.
#[derive(Debug, Default)]
pub struct BlockWriter {
    bytes: Vec<u8>,
    restarts: Vec<u32>,
    entries: usize,
    last_key: Vec<u8>,
}

impl BlockWriter {
    /// Bytes of the block if it ended here.
    pub fn bytes(&self) -> usize {
        self.bytes.len() + (self.restarts.len() + 1) * size_of::<u32>()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Adds the next entry in key order.
    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        let shared = if self.entries.is_multiple_of(RESTART_INTERVAL) {
            self.restarts.push(self.bytes.len() as u32);
            0
        } else {
            let pairs = self.last_key.iter().zip(key);
            pairs.take_while(|(a, b)| a == b).count()
        };
        put_varint(&mut self.bytes, shared);
        put_varint(&mut self.bytes, key.len() - shared);
        put_varint(&mut self.bytes, value.len());
        self.bytes.extend_from_slice(&key[shared..]);
        self.bytes.extend_from_slice(value);
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        self.entries += 1;
    }

    /// Ends the block.
    pub fn finish(&mut self) -> &[u8] {
        for restart in &self.restarts {
            self.bytes.extend_from_slice(&restart.to_le_bytes());
        }
        let count = self.restarts.len() as u32;
        self.bytes.extend_from_slice(&count.to_le_bytes());
        &self.bytes
    }

    /// Begins the next block.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.restarts.clear();
        self.entries = 0;
    }
}

/// The cells of a data set's columns, the key's apart.
pub struct Cells<'a> {
    key: Vec<Column<'a>>,
    rest: Vec<Column<'a>>,
}

/// A column whose type is known, so that no row asks for it again.
enum Column<'a> {
    Int16(&'a Int16Array),
    Int32(&'a Int32Array),
    Date(&'a Date32Array),
    Int64(&'a Int64Array),
    Timestamp(&'a TimestampMicrosecondArray),
    Float64(&'a Float64Array),
    Decimal(&'a Decimal128Array),
    Text(&'a StringArray),
}

impl<'a> Cells<'a> {
    /// Of all columns.
    pub fn of(data: &'a DataSet) -> Result<Self> {
        let types = data.types();
        let column = |index: usize| Column::of(&data.arrays[index], types[index]);
        Ok(Self {
            key: data
                .schema
                .key
                .iter()
                .map(|&c| column(c))
                .collect::<Result<_>>()?,
            rest: outside_key(data).map(column).collect::<Result<_>>()?,
        })
    }

    /// A row's key, with its trailer.
    pub fn write_key(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        for column in &self.key {
            column.write_ordered(row, out)?;
        }
        out.extend_from_slice(&KEY_TRAILER);
        Ok(())
    }

    /// A row's other cells.
    pub fn write_value(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        out.resize(self.rest.len().div_ceil(8), 0);
        for (index, column) in self.rest.iter().enumerate() {
            if column.array().is_null(row) {
                out[index / 8] |= 1 << (index % 8);
            } else {
                column.write(row, out)?;
            }
        }
        Ok(())
    }
}

impl<'a> Column<'a> {
    fn of(array: &'a ArrayRef, column_type: ColumnType) -> Result<Self> {
        Ok(match column_type {
            ColumnType::Int16 => Self::Int16(array.as_primitive::<Int16Type>()),
            ColumnType::Int32 => Self::Int32(array.as_primitive::<Int32Type>()),
            ColumnType::Date => Self::Date(array.as_primitive::<Date32Type>()),
            ColumnType::Int64 => Self::Int64(array.as_primitive::<Int64Type>()),
            ColumnType::Timestamp | ColumnType::TimestampTz => {
                Self::Timestamp(array.as_primitive::<TimestampMicrosecondType>())
            }
            ColumnType::Float64 => Self::Float64(array.as_primitive::<Float64Type>()),
            ColumnType::Decimal { .. } => Self::Decimal(array.as_primitive::<Decimal128Type>()),
            ColumnType::Text => Self::Text(array.as_string()),
            other => bail!("row blocks know no column of {other:?}"),
        })
    }

    fn array(&self) -> &dyn Array {
        match self {
            Self::Int16(array) => array,
            Self::Int32(array) => array,
            Self::Date(array) => array,
            Self::Int64(array) => array,
            Self::Timestamp(array) => array,
            Self::Float64(array) => array,
            Self::Decimal(array) => array,
            Self::Text(array) => array,
        }
    }

    /// Bytes that order as the cells do.
    fn write_ordered(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Int16(array) => {
                out.extend_from_slice(&(array.value(row) ^ i16::MIN).to_be_bytes());
            }
            Self::Int32(array) => {
                out.extend_from_slice(&(array.value(row) ^ i32::MIN).to_be_bytes());
            }
            Self::Int64(array) => {
                out.extend_from_slice(&(array.value(row) ^ i64::MIN).to_be_bytes());
            }
            Self::Text(array) => {
                let text = array.value(row).as_bytes();
                ensure!(!text.contains(&0), "a key with a zero byte");
                out.extend_from_slice(text);
                out.push(0);
            }
            _ => bail!("row blocks know no such key"),
        }
        Ok(())
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Int16(array) => out.extend_from_slice(&array.value(row).to_le_bytes()),
            Self::Int32(array) => out.extend_from_slice(&array.value(row).to_le_bytes()),
            Self::Date(array) => out.extend_from_slice(&array.value(row).to_le_bytes()),
            Self::Int64(array) => out.extend_from_slice(&array.value(row).to_le_bytes()),
            Self::Timestamp(array) => out.extend_from_slice(&array.value(row).to_le_bytes()),
            Self::Float64(array) => out.extend_from_slice(&array.value(row).to_le_bytes()),
            // As many bytes as MyRocks or PostgreSQL would spend at most.
            Self::Decimal(array) => {
                let cents = i64::try_from(array.value(row))?;
                out.extend_from_slice(&cents.to_le_bytes());
            }
            Self::Text(array) => {
                put_varint(out, array.value(row).len());
                out.extend_from_slice(array.value(row).as_bytes());
            }
        }
        Ok(())
    }
}

fn put_varint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
