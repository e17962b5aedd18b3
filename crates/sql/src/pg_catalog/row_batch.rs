//! Rows of a system table from the few columns that say something.
//!
//! PostgreSQL's catalogs have many columns that mean nothing here. A row names those that do;
//! the others get zero, false, the empty text, or NULL where the column allows it.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::ScalarValue;

use crate::error::SqlError;

/// A cell of a system table.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    /// An integer of any width.
    Number(i64),
    /// A text.
    Text(String),
    /// true or false
    Flag(bool),
    /// A list of small integers.
    Numbers(Vec<i16>),
}

impl From<u32> for Cell {
    fn from(number: u32) -> Self {
        Self::Number(i64::from(number))
    }
}

impl From<i32> for Cell {
    fn from(number: i32) -> Self {
        Self::Number(i64::from(number))
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<bool> for Cell {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

/// Collects rows of one system table.
pub(crate) struct RowBatch {
    schema: SchemaRef,
    columns: Vec<Vec<ScalarValue>>,
}

impl RowBatch {
    pub(crate) fn new(schema: SchemaRef) -> Self {
        let columns = vec![Vec::new(); schema.fields().len()];
        Self { schema, columns }
    }

    /// Adds a row. Names that the table does not have are passed over: they come and go with
    /// the version of PostgreSQL that the catalog is modelled on.
    pub(crate) fn push(&mut self, cells: &[(&str, Cell)]) -> Result<(), SqlError> {
        for (field, column) in self.schema.fields().iter().zip(&mut self.columns) {
            let cell = cells.iter().find(|(name, _)| name == field.name());
            column.push(match cell {
                Some((_, cell)) => value(cell, field.data_type())?,
                None => nothing(field.data_type(), field.is_nullable())?,
            });
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<RecordBatch, SqlError> {
        let arrays = self
            .columns
            .into_iter()
            .zip(self.schema.fields())
            .map(|(column, field)| {
                if column.is_empty() {
                    return Ok(datafusion::arrow::array::new_empty_array(field.data_type()));
                }
                ScalarValue::iter_to_array(column)
            });
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(self.schema, arrays).map_err(|error| SqlError::from_arrow(&error))
    }
}

fn value(cell: &Cell, data_type: &DataType) -> Result<ScalarValue, SqlError> {
    let plain = match cell {
        Cell::Number(number) => ScalarValue::Int64(Some(*number)),
        Cell::Text(text) => ScalarValue::Utf8(Some(text.clone())),
        Cell::Flag(flag) => ScalarValue::Boolean(Some(*flag)),
        Cell::Numbers(numbers) => {
            let items: Vec<ScalarValue> = numbers
                .iter()
                .map(|&number| ScalarValue::Int16(Some(number)))
                .collect();
            ScalarValue::List(ScalarValue::new_list_nullable(&items, &DataType::Int16))
        }
    };
    Ok(plain.cast_to(data_type)?)
}

fn nothing(data_type: &DataType, nullable: bool) -> Result<ScalarValue, SqlError> {
    if nullable {
        return Ok(ScalarValue::try_from(data_type)?);
    }
    Ok(match data_type {
        DataType::Utf8 => ScalarValue::Utf8(Some(String::new())),
        DataType::Boolean => ScalarValue::Boolean(Some(false)),
        other => ScalarValue::new_default(other)?,
    })
}
