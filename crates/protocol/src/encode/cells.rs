//! One column of a batch, ready to be written cell by cell.
//!
//! A column is first cast to a canonical Arrow type (one per way of writing), so that the loop
//! over rows meets few cases. What has no canonical type is printed by Arrow's own formatter.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Decimal256Type, DurationMicrosecondType, Float32Type, Float64Type,
    Int16Type, Int32Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array,
    DurationMicrosecondArray, Float32Array, Float64Array, Int16Array, Int32Array, Int64Array,
    IntervalMonthDayNanoArray, ListArray, StringArray, StringViewArray, StructArray,
    Time64MicrosecondArray, TimestampMicrosecondArray,
};
use arrow_buffer::NullBuffer;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use bytes::{BufMut, BytesMut};

use super::wire_type::{WireType, array_of, oid, wire_type};
use super::{EncodeError, Format, array, binary, datetime, number, record};

/// A column of one batch.
#[derive(Debug)]
pub struct Cells {
    nulls: Option<NullBuffer>,
    values: Values,
    wire_type: WireType,
    format: Format,
}

/// The values, in the canonical type.
#[derive(Debug)]
enum Values {
    Bool(BooleanArray),
    Int16(Int16Array),
    Int32(Int32Array),
    Int64(Int64Array),
    Float32(Float32Array),
    Float64(Float64Array),
    Decimal128(Decimal128Array, i8),
    Decimal256(Decimal256Array, i8),
    Date(Date32Array),
    Time(Time64MicrosecondArray),
    Timestamp(TimestampMicrosecondArray, &'static str),
    Interval(IntervalMonthDayNanoArray),
    Duration(DurationMicrosecondArray),
    Text(StringArray),
    TextView(StringViewArray),
    Bytes(BinaryArray),
    List(ListArray, Box<Cells>),
    /// The fields of rows, each a column.
    Record(Vec<Cells>),
    Other(ArrayRef),
}

/// The Arrow type in which a column is written; `None` where Arrow's formatter has to do.
fn canonical(data_type: &DataType) -> Option<DataType> {
    Some(match data_type {
        DataType::Int8 | DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt32 | DataType::UInt64 => DataType::Int64,
        DataType::Float16 => DataType::Float32,
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        DataType::Date64 => DataType::Date32,
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Microsecond),
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
        DataType::Interval(_) => DataType::Interval(IntervalUnit::MonthDayNano),
        DataType::Duration(_) => DataType::Duration(TimeUnit::Microsecond),
        DataType::LargeUtf8 => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            DataType::Binary
        }
        DataType::LargeList(child) | DataType::FixedSizeList(child, _) => {
            DataType::List(child.clone())
        }
        DataType::Dictionary(_, values) => canonical(values)?,
        DataType::Boolean
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Decimal128(..)
        | DataType::Decimal256(..)
        | DataType::Date32
        | DataType::Utf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::List(_)
        | DataType::Struct(_) => data_type.clone(),
        _ => return None,
    })
}

impl Cells {
    /// Prepares a column that is announced as `wire_type`.
    pub fn new(
        array: &ArrayRef,
        wire_type: &WireType,
        format: Format,
    ) -> Result<Self, EncodeError> {
        let nulls = array.logical_nulls();
        let values = match canonical(array.data_type()) {
            Some(target) if target == *array.data_type() => Values::new(array.clone(), format)?,
            Some(target) if can_cast_types(array.data_type(), &target) => {
                let options = CastOptions {
                    safe: false,
                    ..CastOptions::default()
                };
                let array = cast_with_options(array, &target, &options)
                    .map_err(|error| cast_error(&error, array.data_type()))?;
                Values::new(array, format)?
            }
            _ => Values::Other(array.clone()),
        };
        Ok(Self {
            nulls,
            values,
            wire_type: *wire_type,
            format,
        })
    }

    /// Whether a cell is NULL.
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// Appends a cell after its length; -1 and nothing for NULL.
    pub fn append(&self, row: usize, out: &mut BytesMut) -> Result<(), EncodeError> {
        if self.is_null(row) {
            out.put_i32(-1);
            return Ok(());
        }
        binary::put_sized(out, |out| match self.format {
            Format::Text => self.append_text(row, out),
            Format::Binary => self.put_binary(row, out),
        })
    }

    /// Appends the text of a cell that is not NULL, without its length.
    pub fn append_text(&self, row: usize, out: &mut BytesMut) -> Result<(), EncodeError> {
        let written = match &self.values {
            Values::Bool(a) => out.write_str(if a.value(row) { "t" } else { "f" }),
            Values::Int16(a) => write!(out, "{}", a.value(row)),
            Values::Int32(a) => write!(out, "{}", a.value(row)),
            Values::Int64(a) => write!(out, "{}", a.value(row)),
            Values::Float32(a) => number::write_float4(a.value(row), out),
            Values::Float64(a) => number::write_float8(a.value(row), out),
            Values::Decimal128(a, scale) => number::write_decimal(a.value(row), *scale, out),
            Values::Decimal256(a, scale) => {
                let digits = a.value(row).to_string();
                let (negative, digits) = match digits.strip_prefix('-') {
                    Some(rest) => (true, rest.to_owned()),
                    None => (false, digits),
                };
                number::write_decimal_digits(negative, digits, *scale, out)
            }
            Values::Date(a) => datetime::write_date(a.value(row), out),
            Values::Time(a) => datetime::write_time(a.value(row), out),
            Values::Timestamp(a, zone) => datetime::write_timestamp(a.value(row), zone, out),
            Values::Interval(a) => interval(a.value(row)).write(out),
            Values::Duration(a) => datetime::Interval::from_micros(a.value(row)).write(out),
            Values::Text(a) => self.write_string(a.value(row), out),
            Values::TextView(a) => self.write_string(a.value(row), out),
            Values::Bytes(a) => write_hex(a.value(row), out),
            Values::List(a, child) if self.wire_type.oid == oid::INT2_VECTOR => {
                return put_vector_text(a, child, row, out);
            }
            Values::List(a, child) => return put_list_text(a, child, row, out),
            Values::Record(fields) => return put_record_text(fields, row, out),
            Values::Other(a) => return put_formatted(a, row, out),
        };
        written.map_err(too_long)
    }

    /// Text with the blanks that `character(n)` is padded with.
    fn write_string(&self, text: &str, out: &mut BytesMut) -> std::fmt::Result {
        out.put_slice(text.as_bytes());
        if let Some(length) = self.wire_type.padded_length() {
            let missing = length.saturating_sub(text.chars().count());
            out.put_bytes(b' ', missing);
        }
        Ok(())
    }

    fn put_binary(&self, row: usize, out: &mut BytesMut) -> Result<(), EncodeError> {
        match &self.values {
            Values::Bool(a) => out.put_u8(u8::from(a.value(row))),
            Values::Int16(a) => out.put_i16(a.value(row)),
            Values::Int32(a) => out.put_i32(a.value(row)),
            Values::Int64(a) if self.wire_type.oid == oid::OID => {
                let value = u32::try_from(a.value(row));
                out.put_u32(value.map_err(|_| EncodeError::OutOfRange { type_name: "oid" })?);
            }
            Values::Int64(a) => out.put_i64(a.value(row)),
            Values::Float32(a) => out.put_f32(a.value(row)),
            Values::Float64(a) => out.put_f64(a.value(row)),
            Values::Date(a) => out.put_i32(datetime::binary_date(a.value(row))),
            Values::Time(a) => out.put_i64(a.value(row)),
            Values::Timestamp(a, _) => out.put_i64(datetime::binary_timestamp(a.value(row))),
            Values::Interval(a) => put_interval(interval(a.value(row)), out),
            Values::Duration(a) => put_interval(datetime::Interval::from_micros(a.value(row)), out),
            Values::Text(a) => return self.put_text_in_binary(a.value(row), out),
            Values::TextView(a) => return self.put_text_in_binary(a.value(row), out),
            Values::Bytes(a) => out.put_slice(a.value(row)),
            Values::List(a, child) => return put_list_binary(a, child, row, out),
            Values::Record(fields) => return put_record_binary(fields, row, out),
            Values::Other(a) => return put_formatted(a, row, out),
            Values::Decimal128(..) | Values::Decimal256(..) => {
                let mut text = BytesMut::with_capacity(48);
                self.append_text(row, &mut text)?;
                return binary::put(oid::NUMERIC, &String::from_utf8_lossy(&text), out);
            }
        }
        Ok(())
    }

    fn put_text_in_binary(&self, text: &str, out: &mut BytesMut) -> Result<(), EncodeError> {
        if self.wire_type.padded_length().is_some() {
            return self.write_string(text, out).map_err(too_long);
        }
        binary::put(self.wire_type.oid, text, out)
    }
}

impl Values {
    /// `array` has a canonical type.
    fn new(array: ArrayRef, format: Format) -> Result<Self, EncodeError> {
        Ok(match array.data_type() {
            DataType::Boolean => Self::Bool(array.as_boolean().clone()),
            DataType::Int16 => Self::Int16(array.as_primitive::<Int16Type>().clone()),
            DataType::Int32 => Self::Int32(array.as_primitive::<Int32Type>().clone()),
            DataType::Int64 => Self::Int64(array.as_primitive::<Int64Type>().clone()),
            DataType::Float32 => Self::Float32(array.as_primitive::<Float32Type>().clone()),
            DataType::Float64 => Self::Float64(array.as_primitive::<Float64Type>().clone()),
            DataType::Decimal128(_, scale) => {
                Self::Decimal128(array.as_primitive::<Decimal128Type>().clone(), *scale)
            }
            DataType::Decimal256(_, scale) => {
                Self::Decimal256(array.as_primitive::<Decimal256Type>().clone(), *scale)
            }
            DataType::Date32 => Self::Date(array.as_primitive::<Date32Type>().clone()),
            DataType::Time64(_) => {
                Self::Time(array.as_primitive::<Time64MicrosecondType>().clone())
            }
            DataType::Timestamp(_, zone) => {
                let zone = if zone.is_some() { "+00" } else { "" };
                Self::Timestamp(
                    array.as_primitive::<TimestampMicrosecondType>().clone(),
                    zone,
                )
            }
            DataType::Interval(_) => {
                Self::Interval(array.as_primitive::<IntervalMonthDayNanoType>().clone())
            }
            DataType::Duration(_) => {
                Self::Duration(array.as_primitive::<DurationMicrosecondType>().clone())
            }
            DataType::Utf8 => Self::Text(array.as_string::<i32>().clone()),
            DataType::Utf8View => Self::TextView(array.as_string_view().clone()),
            DataType::Binary => Self::Bytes(array.as_binary::<i32>().clone()),
            DataType::List(_) => Self::list(array.as_list::<i32>(), format)?,
            DataType::Struct(_) => Self::record(array.as_struct(), format)?,
            _ => Self::Other(array),
        })
    }

    fn list(list: &ListArray, format: Format) -> Result<Self, EncodeError> {
        let mut element = match list.data_type() {
            DataType::List(element) => wire_type(element),
            _ => unreachable!("a list is one"),
        };
        if array_of(element.oid).is_none() {
            element.oid = oid::TEXT;
        }
        let child = Cells::new(list.values(), &element, format)?;
        Ok(Self::List(list.clone(), Box::new(child)))
    }

    fn record(rows: &StructArray, format: Format) -> Result<Self, EncodeError> {
        let fields = rows.fields().iter().zip(rows.columns());
        let fields = fields.map(|(field, column)| Cells::new(column, &wire_type(field), format));
        Ok(Self::Record(fields.collect::<Result<_, _>>()?))
    }
}

/// Writing to memory fails only where there is too much of it.
fn too_long(_: std::fmt::Error) -> EncodeError {
    EncodeError::OutOfRange {
        type_name: "value size",
    }
}

fn cast_error(error: &arrow_schema::ArrowError, from: &DataType) -> EncodeError {
    match from {
        DataType::UInt64 => EncodeError::OutOfRange {
            type_name: "bigint",
        },
        DataType::Timestamp(..) => EncodeError::OutOfRange {
            type_name: "timestamp",
        },
        _ => EncodeError::Arrow(error.to_string()),
    }
}

fn interval(value: IntervalMonthDayNano) -> datetime::Interval {
    datetime::Interval {
        months: value.months,
        days: value.days,
        micros: value.nanoseconds / 1_000,
    }
}

fn put_interval(interval: datetime::Interval, out: &mut BytesMut) {
    let mut bytes = Vec::with_capacity(16);
    interval.put(&mut bytes);
    out.put_slice(&bytes);
}

fn write_hex(bytes: &[u8], out: &mut BytesMut) -> std::fmt::Result {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(2 + 2 * bytes.len());
    out.put_slice(b"\\x");
    for byte in bytes {
        out.put_u8(DIGITS[usize::from(byte >> 4)]);
        out.put_u8(DIGITS[usize::from(byte & 15)]);
    }
    Ok(())
}

fn put_formatted(array: &ArrayRef, row: usize, out: &mut BytesMut) -> Result<(), EncodeError> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array, &options)
        .map_err(|error| EncodeError::Arrow(error.to_string()))?;
    match formatter.value(row).try_to_string() {
        Ok(text) => out.put_slice(text.as_bytes()),
        Err(error) => return Err(EncodeError::Arrow(error.to_string())),
    }
    Ok(())
}

fn put_list_text(
    list: &ListArray,
    child: &Cells,
    row: usize,
    out: &mut BytesMut,
) -> Result<(), EncodeError> {
    let nested = matches!(child.values, Values::List(..));
    let mut element = BytesMut::new();
    out.put_u8(b'{');
    for (index, item) in elements(list, row).enumerate() {
        if index > 0 {
            out.put_u8(b',');
        }
        if child.is_null(item) {
            out.put_slice(b"NULL");
            continue;
        }
        if nested {
            child.append_text(item, out)?;
            continue;
        }
        element.clear();
        child.append_text(item, &mut element)?;
        array::write_element(&String::from_utf8_lossy(&element), out).map_err(too_long)?;
    }
    out.put_u8(b'}');
    Ok(())
}

/// Numbers with blanks between them, as `int2vector` has them.
fn put_vector_text(
    list: &ListArray,
    child: &Cells,
    row: usize,
    out: &mut BytesMut,
) -> Result<(), EncodeError> {
    for (index, item) in elements(list, row).enumerate() {
        if index > 0 {
            out.put_u8(b' ');
        }
        child.append_text(item, out)?;
    }
    Ok(())
}

fn put_list_binary(
    list: &ListArray,
    child: &Cells,
    row: usize,
    out: &mut BytesMut,
) -> Result<(), EncodeError> {
    let lengths = lengths(list, child, row)?;
    let dimensions = lengths.into_iter().map(|length| array::Dimension {
        length,
        lower_bound: 1,
    });
    let dimensions = dimensions.collect::<Vec<_>>();
    let has_null = has_null(list, child, row);
    binary::put_array_header(element_type(child), &dimensions, has_null, out);
    put_elements(list, child, row, out)
}

/// The places of a list's elements in its child.
fn elements(list: &ListArray, row: usize) -> std::ops::Range<usize> {
    let offsets = list.value_offsets();
    offsets[row] as usize..offsets[row + 1] as usize
}

/// The length of each dimension, outermost first; none of an empty array. Arrays in an array are of one length.
fn lengths(list: &ListArray, child: &Cells, row: usize) -> Result<Vec<i32>, EncodeError> {
    let offsets = list.value_offsets();
    let length = offsets[row + 1] - offsets[row];
    if length == 0 {
        return Ok(Vec::new());
    }
    let Values::List(inner, grandchild) = &child.values else {
        return Ok(vec![length]);
    };
    let mut of_inner = elements(list, row).map(|item| lengths(inner, grandchild, item));
    let first = of_inner.next().transpose()?.unwrap_or_default();
    for others in of_inner {
        if others? != first {
            return Err(EncodeError::OutOfRange {
                type_name: "array dimensions",
            });
        }
    }
    Ok([vec![length], first].concat())
}

fn has_null(list: &ListArray, child: &Cells, row: usize) -> bool {
    elements(list, row).any(|item| match &child.values {
        Values::List(inner, grandchild) => has_null(inner, grandchild, item),
        _ => child.is_null(item),
    })
}

/// The type of the innermost elements.
fn element_type(child: &Cells) -> u32 {
    match &child.values {
        Values::List(_, grandchild) => element_type(grandchild),
        _ => child.wire_type.oid,
    }
}

fn put_elements(
    list: &ListArray,
    child: &Cells,
    row: usize,
    out: &mut BytesMut,
) -> Result<(), EncodeError> {
    elements(list, row).try_for_each(|item| match &child.values {
        Values::List(inner, grandchild) => put_elements(inner, grandchild, item, out),
        _ => child.append(item, out),
    })
}

fn put_record_text(fields: &[Cells], row: usize, out: &mut BytesMut) -> Result<(), EncodeError> {
    let mut text = BytesMut::new();
    out.put_u8(b'(');
    for (place, field) in fields.iter().enumerate() {
        if place > 0 {
            out.put_u8(b',');
        }
        if field.is_null(row) {
            continue;
        }
        text.clear();
        field.append_text(row, &mut text)?;
        record::write_field(&String::from_utf8_lossy(&text), out).map_err(too_long)?;
    }
    out.put_u8(b')');
    Ok(())
}

/// The number of fields, and each with its type.
fn put_record_binary(fields: &[Cells], row: usize, out: &mut BytesMut) -> Result<(), EncodeError> {
    let count = i32::try_from(fields.len()).map_err(|_| EncodeError::OutOfRange {
        type_name: "record",
    })?;
    out.put_i32(count);
    fields.iter().try_for_each(|field| {
        out.put_u32(field.wire_type.oid);
        field.append(row, out)
    })
}
