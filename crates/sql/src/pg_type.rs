//! PostgreSQL's type ids and the Arrow types that carry them.

use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};

use crate::functions::types::UNCONSTRAINED_SCALE;
use crate::table::column::OID_KEY;

/// `text`
pub const TEXT: u32 = 25;
/// `numeric`
pub const NUMERIC: u32 = 1700;
/// `bpchar`: `character(n)`
pub const BPCHAR: u32 = 1042;

/// How a parameter of a declared type travels; `None` for an unknown type (0 and 705).
pub fn data_type(oid: u32) -> Option<DataType> {
    Some(match oid {
        0 | 705 => return None,
        16 => DataType::Boolean,
        17 => DataType::Binary,
        20 => DataType::Int64,
        21 => DataType::Int16,
        23 | 24 | 26 | 28 | 2202..=2206 | 4089 | 4096 => DataType::Int32,
        700 => DataType::Float32,
        701 => DataType::Float64,
        1082 => DataType::Date32,
        1083 => DataType::Time64(TimeUnit::Microsecond),
        1114 => DataType::Timestamp(TimeUnit::Microsecond, None),
        1184 => DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into())),
        1186 => DataType::Interval(datafusion::arrow::datatypes::IntervalUnit::MonthDayNano),
        1700 => DataType::Decimal128(38, UNCONSTRAINED_SCALE),
        1000 => DataType::new_list(DataType::Boolean, true),
        1005 => DataType::new_list(DataType::Int16, true),
        1007 | 1028 => DataType::new_list(DataType::Int32, true),
        1016 => DataType::new_list(DataType::Int64, true),
        1021 => DataType::new_list(DataType::Float32, true),
        1022 => DataType::new_list(DataType::Float64, true),
        1009 | 1015 | 2951 => DataType::new_list(DataType::Utf8, true),
        _ => DataType::Utf8,
    })
}

/// The type that a client is told for values of an Arrow type.
pub fn oid(data_type: &DataType) -> u32 {
    match data_type {
        DataType::Boolean => 16,
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => 17,
        DataType::Int8 | DataType::UInt8 | DataType::Int16 => 21,
        DataType::UInt16 | DataType::Int32 => 23,
        DataType::UInt32 | DataType::Int64 => 20,
        DataType::UInt64 | DataType::Decimal32(..) | DataType::Decimal64(..) => NUMERIC,
        DataType::Decimal128(..) | DataType::Decimal256(..) => NUMERIC,
        DataType::Float16 | DataType::Float32 => 700,
        DataType::Float64 => 701,
        DataType::Date32 | DataType::Date64 => 1082,
        DataType::Time32(_) | DataType::Time64(_) => 1083,
        DataType::Timestamp(_, None) => 1114,
        DataType::Timestamp(_, Some(_)) => 1184,
        DataType::Interval(_) | DataType::Duration(_) => 1186,
        DataType::Dictionary(_, value) => oid(value),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            array_oid(oid(item.data_type()))
        }
        _ => TEXT,
    }
}

/// The type that a client is told for a column or parameter: the source's, where the field
/// remembers it.
pub fn field_oid(field: &Field) -> u32 {
    let remembered = field
        .metadata()
        .get(OID_KEY)
        .and_then(|oid| oid.parse().ok());
    remembered
        .filter(|&oid| oid != 0)
        .unwrap_or_else(|| oid(field.data_type()))
}

fn array_oid(item: u32) -> u32 {
    match item {
        16 => 1000,
        17 => 1001,
        20 => 1016,
        21 => 1005,
        23 => 1007,
        700 => 1021,
        701 => 1022,
        1082 => 1182,
        1114 => 1115,
        1184 => 1185,
        NUMERIC => 1231,
        _ => 1009,
    }
}
