//! A value while a statement is computed.
//!
//! Dates and times are whole numbers, text and bytes are bytes: which of them is meant the type of the
//! expression says. Numbers with a point carry their scale, because it follows from the values.

use std::borrow::Cow;
use std::cmp::Ordering;

use types::{ColumnType, Value};

use crate::numeric::Numeric;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum<'a> {
    /// NULL
    Null,
    /// Of `boolean`.
    Bool(bool),
    /// Of a type of whole numbers, or a date or time.
    Int(i64),
    /// Of `numeric`.
    Numeric(Numeric),
    /// Of `real`.
    Real(f32),
    /// Of `double precision`.
    Double(f64),
    /// Of a text (UTF-8) or `bytea`.
    Bytes(Cow<'a, [u8]>),
}

impl<'a> Datum<'a> {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Bytes(Cow::Owned(text.into().into_bytes()))
    }

    /// A cell of a column.
    pub(crate) fn of_cell(value: Value<'a>, column_type: ColumnType) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(bit) => Self::Bool(bit),
            Value::Int(int) => Self::Int(int),
            Value::UInt(int) => Self::Int(int as i64),
            Value::Float32(float) => Self::Real(float),
            Value::Float64(float) => Self::Double(float),
            Value::Decimal(unscaled) => {
                let ColumnType::Decimal { scale, .. } = column_type else {
                    unreachable!("decimals are cells of decimal columns");
                };
                let scale = scale as u8;
                Self::Numeric(Numeric { unscaled, scale })
            }
            Value::Bytes(bytes) => Self::Bytes(Cow::Borrowed(bytes)),
        }
    }

    /// As a cell. A number has its column's scale by now.
    pub(crate) fn cell(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(bit) => Value::Bool(*bit),
            Self::Int(int) => Value::Int(*int),
            Self::Numeric(number) => Value::Decimal(number.unscaled),
            Self::Real(float) => Value::Float32(*float),
            Self::Double(float) => Value::Float64(*float),
            Self::Bytes(bytes) => Value::Bytes(bytes),
        }
    }

    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Independent of where it came from.
    pub fn into_owned(self) -> Datum<'static> {
        match self {
            Self::Null => Datum::Null,
            Self::Bool(bit) => Datum::Bool(bit),
            Self::Int(int) => Datum::Int(int),
            Self::Numeric(number) => Datum::Numeric(number),
            Self::Real(float) => Datum::Real(float),
            Self::Double(float) => Datum::Double(float),
            Self::Bytes(bytes) => Datum::Bytes(Cow::Owned(bytes.into_owned())),
        }
    }

    /// Which comes first, of two values of one type; NULL comes last. NaN is equal to itself and larger
    /// than any number, -0 is 0.
    pub(crate) fn order(&self, other: &Datum<'_>) -> Ordering {
        match (self, other) {
            (Self::Numeric(a), Datum::Numeric(b)) => a.order(*b),
            _ => self.cell().order(&other.cell()),
        }
    }
}
