//! A table of rows in key order: what every contender gets to encode.

use std::sync::Arc;

use anyhow::{Result, ensure};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use types::{Column, ColumnType, TableName, TableSchema};

/// Rows in key order.
#[derive(Clone, Debug)]
pub struct DataSet {
    /// What reports call it.
    pub name: &'static str,
    /// Columns and key.
    pub schema: TableSchema,
    /// One array a column.
    pub arrays: Vec<ArrayRef>,
    /// The column that is read alone: an ordinary one, neither key nor constant.
    pub probe: usize,
}

impl DataSet {
    /// Puts together arrays, which are in key order.
    pub fn new(
        name: &'static str,
        columns: &[(&str, ColumnType)],
        key: &[usize],
        probe: &str,
        arrays: Vec<ArrayRef>,
    ) -> Result<Self> {
        ensure!(columns.len() == arrays.len(), "{name}: one array a column");
        for (array, (column, column_type)) in arrays.iter().zip(columns) {
            ensure!(
                array.len() == arrays[0].len() && *array.data_type() == column_type.arrow_type(),
                "{name}: column {column} has {} of {}",
                array.len(),
                array.data_type()
            );
        }
        let probe = columns.iter().position(|&(column, _)| column == probe);
        ensure!(probe.is_some(), "{name}: the probed column is one of them");
        Ok(Self {
            name,
            schema: schema(name, columns, key),
            arrays,
            probe: probe.unwrap_or_default(),
        })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.arrays[0].len()
    }

    /// The columns' types.
    pub fn types(&self) -> Vec<ColumnType> {
        let columns = self.schema.columns.iter();
        columns.map(|column| column.column_type).collect()
    }

    /// The types of the key columns.
    pub fn key_types(&self) -> Vec<ColumnType> {
        let types = self.types();
        self.schema
            .key
            .iter()
            .map(|&column| types[column])
            .collect()
    }

    /// The key columns.
    pub fn key_arrays(&self) -> Vec<ArrayRef> {
        let key = self.schema.key.iter();
        key.map(|&column| Arc::clone(&self.arrays[column]))
            .collect()
    }

    /// Bytes of a column, see [`Self::bytes`].
    pub fn column_bytes(&self, column: usize) -> usize {
        buffers(&self.arrays[column]).iter().map(Buffer::len).sum()
    }

    /// Uncompressed bytes: what the Arrow arrays occupy, validity and text offsets included.
    /// All rates and ratios are of these.
    pub fn bytes(&self) -> usize {
        (0..self.arrays.len()).map(|c| self.column_bytes(c)).sum()
    }

    /// All rows as one batch.
    pub fn batch(&self) -> Result<RecordBatch> {
        let schema = Arc::new(self.schema.arrow_schema());
        Ok(RecordBatch::try_new(schema, self.arrays.clone())?)
    }
}

/// The bytes of an array, buffer by buffer.
pub fn buffers(array: &ArrayRef) -> Vec<Buffer> {
    let data = array.to_data();
    let validity = data.nulls().map(|nulls| nulls.buffer().clone());
    validity
        .into_iter()
        .chain(data.buffers().iter().cloned())
        .collect()
}

fn schema(name: &str, columns: &[(&str, ColumnType)], key: &[usize]) -> TableSchema {
    let column = |(index, &(name, column_type)): (usize, &(&str, ColumnType))| Column {
        source_number: i16::try_from(index + 1).unwrap_or(i16::MAX),
        ..Column::new(name, column_type)
    };
    TableSchema {
        name: TableName {
            schema: "pages".to_owned(),
            name: name.to_owned(),
        },
        columns: columns.iter().enumerate().map(column).collect(),
        key: key.to_vec(),
    }
}
