//! Values between clients and the primary: parameters on their way in, rows on their way out.
//!
//! Numbers with a point travel as text, as those of columns without a fixed scale do everywhere here.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Float32Array, Float64Array, Int16Array,
    Int32Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray, Time64MicrosecondArray,
    TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::common::ScalarValue;
use procedures::{Datum, Numeric, ReplyColumn, SqlType};

use crate::error::{SqlError, code};
use crate::table::column::{MODIFIER_KEY, OID_KEY, TYPE_KEY};

const UTC: &str = "+00:00";

/// How values of a type travel.
pub(super) fn data_type(sql_type: SqlType) -> DataType {
    match sql_type {
        SqlType::Boolean => DataType::Boolean,
        SqlType::SmallInt => DataType::Int16,
        SqlType::Integer => DataType::Int32,
        SqlType::BigInt => DataType::Int64,
        SqlType::Real => DataType::Float32,
        SqlType::Double => DataType::Float64,
        SqlType::Text | SqlType::Varchar(_) | SqlType::Numeric(_) => DataType::Utf8,
        SqlType::Bytea => DataType::Binary,
        SqlType::Date => DataType::Date32,
        SqlType::Time => DataType::Time64(TimeUnit::Microsecond),
        SqlType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        SqlType::TimestampTz => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
    }
}

/// The columns of an answer.
pub(super) fn schema(columns: &[ReplyColumn]) -> SchemaRef {
    let field = |column: &ReplyColumn| {
        let sql_type = column.sql_type;
        let metadata = HashMap::from([
            (OID_KEY.to_owned(), sql_type.oid().to_string()),
            (MODIFIER_KEY.to_owned(), sql_type.modifier().to_string()),
            (TYPE_KEY.to_owned(), sql_type.name()),
        ]);
        Field::new(&column.name, data_type(sql_type), true).with_metadata(metadata)
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// A parameter's value.
pub(super) fn datum(value: &ScalarValue, sql_type: SqlType) -> Result<Datum<'_>, SqlError> {
    if value.is_null() {
        return Ok(Datum::Null);
    }
    let datum = match value {
        ScalarValue::Boolean(Some(bit)) => Datum::Bool(*bit),
        ScalarValue::Int16(Some(int)) => Datum::Int((*int).into()),
        ScalarValue::Int32(Some(int)) | ScalarValue::Date32(Some(int)) => Datum::Int((*int).into()),
        ScalarValue::Int64(Some(int))
        | ScalarValue::Time64Microsecond(Some(int))
        | ScalarValue::TimestampMicrosecond(Some(int), _) => Datum::Int(*int),
        ScalarValue::Float32(Some(float)) => Datum::Real(*float),
        ScalarValue::Float64(Some(float)) => Datum::Double(*float),
        ScalarValue::Utf8(Some(text)) if matches!(sql_type, SqlType::Numeric(_)) => {
            Datum::Numeric(number(text)?)
        }
        ScalarValue::Utf8(Some(text)) => Datum::Bytes(Cow::Borrowed(text.as_bytes())),
        ScalarValue::Binary(Some(bytes)) => Datum::Bytes(Cow::Borrowed(bytes)),
        other => {
            let message = format!("a parameter of type {} came as {other:?}", sql_type.name());
            return Err(SqlError::new(code::INTERNAL_ERROR, message));
        }
    };
    Ok(datum)
}

fn number(text: &str) -> Result<Numeric, SqlError> {
    let malformed = || {
        let message = format!("invalid input syntax for type numeric: \"{text}\"");
        SqlError::new(code::INVALID_TEXT_REPRESENTATION, message)
    };
    let number = Numeric::parse(text).ok_or_else(malformed)?;
    number.map_err(|rejection| super::rejected(&rejection))
}

/// The rows of an answer.
pub(super) fn batch(
    columns: &[ReplyColumn],
    rows: &[Vec<Datum<'_>>],
) -> Result<RecordBatch, SqlError> {
    let numbered = columns.iter().enumerate();
    let arrays: Vec<ArrayRef> = numbered
        .map(|(place, column)| array(column.sql_type, rows, place))
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    let batch = RecordBatch::try_new_with_options(schema(columns), arrays, &options);
    batch.map_err(|error| SqlError::from_arrow(&error))
}

fn array(sql_type: SqlType, rows: &[Vec<Datum<'_>>], place: usize) -> ArrayRef {
    let cells = || rows.iter().map(|row| &row[place]);
    let ints = || {
        cells().map(|cell| match cell {
            Datum::Int(int) => Some(*int),
            _ => None,
        })
    };
    let bytes = || {
        cells().map(|cell| match cell {
            Datum::Bytes(bytes) => Some(&**bytes),
            _ => None,
        })
    };
    match sql_type {
        SqlType::Boolean => {
            let bit = |cell: &Datum<'_>| match cell {
                Datum::Bool(bit) => Some(*bit),
                _ => None,
            };
            Arc::new(cells().map(bit).collect::<BooleanArray>())
        }
        // Each value fits its type: that is what made it one.
        SqlType::SmallInt => Arc::new(ints().map(|int| Some(int? as i16)).collect::<Int16Array>()),
        SqlType::Integer => Arc::new(ints().map(|int| Some(int? as i32)).collect::<Int32Array>()),
        SqlType::Date => Arc::new(ints().map(|int| Some(int? as i32)).collect::<Date32Array>()),
        SqlType::BigInt => Arc::new(ints().collect::<Int64Array>()),
        SqlType::Time => Arc::new(ints().collect::<Time64MicrosecondArray>()),
        SqlType::Timestamp => Arc::new(ints().collect::<TimestampMicrosecondArray>()),
        SqlType::TimestampTz => {
            let moments = ints().collect::<TimestampMicrosecondArray>();
            Arc::new(moments.with_timezone(UTC))
        }
        SqlType::Real => {
            let float = |cell: &Datum<'_>| match cell {
                Datum::Real(float) => Some(*float),
                _ => None,
            };
            Arc::new(cells().map(float).collect::<Float32Array>())
        }
        SqlType::Double => {
            let float = |cell: &Datum<'_>| match cell {
                Datum::Double(float) => Some(*float),
                _ => None,
            };
            Arc::new(cells().map(float).collect::<Float64Array>())
        }
        SqlType::Numeric(_) => {
            let text = |cell: &Datum<'_>| match cell {
                Datum::Numeric(number) => Some(number.to_string()),
                _ => None,
            };
            Arc::new(cells().map(text).collect::<StringArray>())
        }
        SqlType::Text | SqlType::Varchar(_) => {
            let text = bytes().map(|bytes| bytes.map(String::from_utf8_lossy));
            Arc::new(text.collect::<StringArray>())
        }
        SqlType::Bytea => Arc::new(bytes().collect::<BinaryArray>()),
    }
}
