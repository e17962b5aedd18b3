//! Blocks back into columns, row by row.

use anyhow::{Context, Result, bail};
use arrow_array::ArrayRef;
use types::{ColumnBuilder, ColumnType};

use super::outside_key;
use crate::pages::contender::Wanted;
use crate::pages::data_set::DataSet;

/// Rows on their way into columns.
pub struct RowReader {
    types: Vec<ColumnType>,
    key: Vec<usize>,
    rest: Vec<usize>,
    /// One builder a column; `None` where it is not wanted.
    builders: Vec<Option<ColumnBuilder>>,
    last_key: Vec<u8>,
    count: usize,
}

impl RowReader {
    /// No rows yet.
    pub fn new(data: &DataSet, wanted: Wanted) -> Self {
        let types = data.types();
        let builders = types.iter().enumerate().map(|(index, &column_type)| {
            let is_wanted = wanted == Wanted::All || wanted == Wanted::One(index);
            is_wanted.then(|| ColumnBuilder::new(column_type))
        });
        Self {
            builders: builders.collect(),
            key: data.schema.key.clone(),
            rest: outside_key(data).collect(),
            types,
            last_key: Vec::new(),
            count: 0,
        }
    }

    /// Rows since the last [`Self::finish`].
    pub fn count(&self) -> usize {
        self.count
    }

    /// The wanted columns of the rows so far.
    pub fn finish(&mut self) -> Vec<ArrayRef> {
        self.count = 0;
        let builders = self.builders.iter_mut().flatten();
        builders.map(ColumnBuilder::finish).collect()
    }

    /// Adds a block's rows.
    pub fn read_block(&mut self, block: &[u8]) -> Result<()> {
        let (body, restarts) = block
            .split_last_chunk()
            .context("a block without restarts")?;
        let restarts = u32::from_le_bytes(*restarts) as usize;
        let mut rest = &body[..body.len() - restarts * size_of::<u32>()];
        while !rest.is_empty() {
            let shared = varint(&mut rest)?;
            let unshared = varint(&mut rest)?;
            let value_bytes = varint(&mut rest)?;
            self.last_key.truncate(shared);
            self.last_key.extend_from_slice(take(&mut rest, unshared)?);
            let value = take(&mut rest, value_bytes)?;
            self.read_key()?;
            self.read_value(value)?;
            self.count += 1;
        }
        Ok(())
    }

    fn read_key(&mut self) -> Result<()> {
        let mut bytes = self.last_key.as_slice();
        for &index in &self.key {
            let length = match self.types[index] {
                ColumnType::Int16 => 2,
                ColumnType::Int32 => 4,
                ColumnType::Int64 => 8,
                _ => bytes
                    .iter()
                    .position(|&b| b == 0)
                    .context("an endless key")?,
            };
            let cell = take(&mut bytes, length)?;
            if self.types[index] == ColumnType::Text {
                bytes = &bytes[1..];
            }
            match &mut self.builders[index] {
                None => {}
                Some(ColumnBuilder::Int16(builder)) => {
                    builder.append_value(i16::from_be_bytes(cell.try_into()?) ^ i16::MIN);
                }
                Some(ColumnBuilder::Int32(builder)) => {
                    builder.append_value(i32::from_be_bytes(cell.try_into()?) ^ i32::MIN);
                }
                Some(ColumnBuilder::Int64(builder)) => {
                    builder.append_value(i64::from_be_bytes(cell.try_into()?) ^ i64::MIN);
                }
                Some(ColumnBuilder::Text(builder)) => {
                    builder.append_value(std::str::from_utf8(cell)?);
                }
                Some(_) => bail!("row blocks know no such key"),
            }
        }
        Ok(())
    }

    fn read_value(&mut self, value: &[u8]) -> Result<()> {
        let mut rest = value;
        let nulls = take(&mut rest, self.rest.len().div_ceil(8))?;
        for (bit, &index) in self.rest.iter().enumerate() {
            let builder = self.builders[index].as_mut();
            if nulls[bit / 8] >> (bit % 8) & 1 == 1 {
                builder.into_iter().for_each(ColumnBuilder::append_null);
                continue;
            }
            let length = match self.types[index] {
                ColumnType::Int16 => 2,
                ColumnType::Int32 | ColumnType::Date => 4,
                ColumnType::Text => varint(&mut rest)?,
                _ => 8,
            };
            let cell = take(&mut rest, length)?;
            if let Some(builder) = builder {
                append(builder, cell)?;
            }
        }
        Ok(())
    }
}

fn append(builder: &mut ColumnBuilder, cell: &[u8]) -> Result<()> {
    match builder {
        ColumnBuilder::Int16(builder) => builder.append_value(i16::from_le_bytes(cell.try_into()?)),
        ColumnBuilder::Int32(builder) => builder.append_value(i32::from_le_bytes(cell.try_into()?)),
        ColumnBuilder::Date(builder) => builder.append_value(i32::from_le_bytes(cell.try_into()?)),
        ColumnBuilder::Int64(builder) => builder.append_value(i64::from_le_bytes(cell.try_into()?)),
        ColumnBuilder::Timestamp(builder) => {
            builder.append_value(i64::from_le_bytes(cell.try_into()?));
        }
        ColumnBuilder::Float64(builder) => {
            builder.append_value(f64::from_le_bytes(cell.try_into()?));
        }
        ColumnBuilder::Decimal(builder) => {
            builder.append_value(i64::from_le_bytes(cell.try_into()?).into());
        }
        ColumnBuilder::Text(builder) => builder.append_value(std::str::from_utf8(cell)?),
        other => bail!("row blocks know no column of {other:?}"),
    }
    Ok(())
}

fn varint(bytes: &mut &[u8]) -> Result<usize> {
    let mut value = 0;
    for shift in (0..u32::BITS).step_by(7) {
        let byte = take(bytes, 1)?[0];
        value |= usize::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    bail!("a length exceeds 32 bits")
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    let (taken, rest) = bytes
        .split_at_checked(count)
        .context("a block ends early")?;
    *bytes = rest;
    Ok(taken)
}
