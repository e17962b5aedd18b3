//! One column of rows that come one by one.
//!
//! Cells go into typed memory as they come; the array of all of them is there without a copy.
//! Whether a cell can be added is asked first, so that a row is added whole or not at all.

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use types::{ColumnBuilder, ColumnType, Value};

/// Cells of one column.
#[derive(Debug)]
pub(crate) struct CellBuilder(ColumnBuilder);

impl CellBuilder {
    pub(crate) fn new(column_type: ColumnType) -> Self {
        Self(ColumnBuilder::new(column_type))
    }

    /// Whether the value can be a cell of the column.
    #[inline]
    pub(crate) fn accepts(&self, value: &Value<'_>) -> bool {
        match (&self.0, value) {
            (_, Value::Null)
            | (ColumnBuilder::Bool(_), Value::Bool(_))
            | (
                ColumnBuilder::Int64(_) | ColumnBuilder::Time(_) | ColumnBuilder::Timestamp(_),
                Value::Int(_),
            )
            | (ColumnBuilder::UInt64(_), Value::UInt(_))
            | (ColumnBuilder::Float32(_), Value::Float32(_))
            | (ColumnBuilder::Float64(_), Value::Float64(_))
            | (ColumnBuilder::Decimal(_), Value::Decimal(_))
            | (ColumnBuilder::Bytes(_), Value::Bytes(_)) => true,
            (ColumnBuilder::Int16(_), Value::Int(value)) => i16::try_from(*value).is_ok(),
            (ColumnBuilder::Int32(_) | ColumnBuilder::Date(_), Value::Int(value)) => {
                i32::try_from(*value).is_ok()
            }
            (ColumnBuilder::Text(_), Value::Bytes(value)) => str::from_utf8(value).is_ok(),
            _ => false,
        }
    }

    /// Adds a cell.
    ///
    /// # Panics
    /// When the column does not accept the value.
    #[inline]
    pub(crate) fn push(&mut self, value: &Value<'_>) {
        self.0.append(value);
    }

    /// Bytes of text so far; 0 for other types.
    #[inline]
    pub(crate) fn text_bytes(&self) -> usize {
        match &self.0 {
            ColumnBuilder::Text(cells) => cells.values_slice().len(),
            ColumnBuilder::Bytes(cells) => cells.values_slice().len(),
            _ => 0,
        }
    }

    /// The array of all cells; none are left here.
    pub(crate) fn finish(&mut self) -> ArrayRef {
        self.0.finish()
    }

    /// Adds the cells of an array that [`finish`](ColumnBuilder::finish) gave, from one row on.
    pub(crate) fn push_rest(&mut self, array: &ArrayRef, start: usize) {
        let rest = array.slice(start, array.len() - start);
        match &mut self.0 {
            ColumnBuilder::Bool(cells) => cells.append_array(rest.as_boolean()),
            ColumnBuilder::Int16(cells) => cells.append_array(rest.as_primitive()),
            ColumnBuilder::Int32(cells) => cells.append_array(rest.as_primitive()),
            ColumnBuilder::Int64(cells) => cells.append_array(rest.as_primitive()),
            ColumnBuilder::UInt64(cells) => cells.append_array(rest.as_primitive()),
            ColumnBuilder::Float32(cells) => cells.append_array(rest.as_primitive()),
            ColumnBuilder::Float64(cells) => cells.append_array(rest.as_primitive()),
            ColumnBuilder::Decimal(cells) => cells.append_array(rest.as_primitive()),
            ColumnBuilder::Date(cells) => cells.append_array(rest.as_primitive()),
            ColumnBuilder::Time(cells) => cells.append_array(rest.as_primitive()),
            ColumnBuilder::Timestamp(cells) => cells.append_array(rest.as_primitive()),
            ColumnBuilder::Text(cells) => cells.append_array(rest.as_string()).expect(FITS),
            ColumnBuilder::Bytes(cells) => cells.append_array(rest.as_binary()).expect(FITS),
        }
    }
}

const FITS: &str = "cells of one array fit another";
