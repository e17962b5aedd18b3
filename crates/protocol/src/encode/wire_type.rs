//! What a client is told about a result column: type id, modifier, size.
//!
//! Fields that come straight from a table carry the source's type in their metadata. It is
//! announced if the Arrow type is that type's storage and its binary form can be written;
//! otherwise the nearest type for the Arrow type is. Types that a client could only look up in
//! the source's catalog (enums, domains, extensions) are announced as `text`, which is what
//! their text and binary forms are.

use arrow_schema::{DataType, Field};

use super::binary;

/// Metadata key of the source's type id.
pub const META_OID: &str = "pg.oid";
/// Metadata key of the source's type modifier.
pub const META_MODIFIER: &str = "pg.modifier";

/// Ids of PostgreSQL's built-in types (`pg_type.dat`).
pub mod oid {
    #![expect(missing_docs, reason = "the names are PostgreSQL's")]
    pub const BOOL: u32 = 16;
    pub const BYTEA: u32 = 17;
    pub const CHAR: u32 = 18;
    pub const NAME: u32 = 19;
    pub const INT8: u32 = 20;
    pub const INT2: u32 = 21;
    pub const INT2_VECTOR: u32 = 22;
    pub const INT4: u32 = 23;
    pub const TEXT: u32 = 25;
    pub const OID: u32 = 26;
    pub const JSON: u32 = 114;
    pub const XML: u32 = 142;
    pub const FLOAT4: u32 = 700;
    pub const FLOAT8: u32 = 701;
    pub const UNKNOWN: u32 = 705;
    pub const BPCHAR: u32 = 1042;
    pub const VARCHAR: u32 = 1043;
    pub const DATE: u32 = 1082;
    pub const TIME: u32 = 1083;
    pub const TIMESTAMP: u32 = 1114;
    pub const TIMESTAMPTZ: u32 = 1184;
    pub const INTERVAL: u32 = 1186;
    pub const TIMETZ: u32 = 1266;
    pub const NUMERIC: u32 = 1700;
    pub const RECORD: u32 = 2249;
    pub const UUID: u32 = 2950;
    pub const JSONB: u32 = 3802;
    pub const TEXT_ARRAY: u32 = 1009;
}

/// Element type and array type, for every array type that has a binary form here.
const ARRAYS: [(u32, u32); 26] = [
    (oid::BOOL, 1000),
    (oid::BYTEA, 1001),
    (oid::CHAR, 1002),
    (oid::NAME, 1003),
    (oid::INT2, 1005),
    (oid::INT4, 1007),
    (oid::TEXT, oid::TEXT_ARRAY),
    (oid::BPCHAR, 1014),
    (oid::VARCHAR, 1015),
    (oid::INT8, 1016),
    (oid::FLOAT4, 1021),
    (oid::FLOAT8, 1022),
    (oid::OID, 1028),
    (oid::JSON, 199),
    (oid::XML, 143),
    (oid::TIMESTAMP, 1115),
    (oid::DATE, 1182),
    (oid::TIME, 1183),
    (oid::TIMESTAMPTZ, 1185),
    (oid::INTERVAL, 1187),
    (oid::NUMERIC, 1231),
    (oid::TIMETZ, 1270),
    (oid::RECORD, 2287),
    (oid::UUID, 2951),
    (oid::JSONB, 3807),
    (oid::UNKNOWN, oid::TEXT_ARRAY),
];

/// The array type of an element type.
pub fn array_of(element: u32) -> Option<u32> {
    ARRAYS
        .iter()
        .find(|(e, _)| *e == element)
        .map(|(_, array)| *array)
}

/// The element type of an array type.
pub fn element_of(array: u32) -> Option<u32> {
    ARRAYS
        .iter()
        .find(|(_, a)| *a == array)
        .map(|(element, _)| *element)
}

/// A column's type as RowDescription tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireType {
    /// `pg_type.oid`
    pub oid: u32,
    /// `pg_attribute.atttypmod`, -1 for none.
    pub modifier: i32,
}

impl WireType {
    const fn plain(oid: u32) -> Self {
        Self { oid, modifier: -1 }
    }

    /// `pg_type.typlen`: bytes of a value, -1 where it varies.
    pub fn size(self) -> i16 {
        match self.oid {
            oid::BOOL | oid::CHAR => 1,
            oid::INT2 => 2,
            oid::INT4 | oid::FLOAT4 | oid::DATE | oid::OID => 4,
            oid::INT8 | oid::FLOAT8 | oid::TIME | oid::TIMESTAMP | oid::TIMESTAMPTZ => 8,
            oid::TIMETZ => 12,
            oid::INTERVAL | oid::UUID => 16,
            oid::NAME => 64,
            oid::UNKNOWN => -2,
            _ => -1,
        }
    }

    /// The length that values of `character(n)` are padded to, in characters.
    pub fn padded_length(self) -> Option<usize> {
        const HEADER: i32 = 4;
        match self.oid {
            oid::BPCHAR if self.modifier > HEADER => usize::try_from(self.modifier - HEADER).ok(),
            _ => None,
        }
    }
}

/// The type of a result column.
pub fn wire_type(field: &Field) -> WireType {
    let number = |key| {
        field
            .metadata()
            .get(key)
            .and_then(|text| text.parse::<i64>().ok())
    };
    let source = number(META_OID).and_then(|oid| u32::try_from(oid).ok());
    match source {
        Some(oid) if is_storage_of(field.data_type(), oid) => {
            let modifier = number(META_MODIFIER).and_then(|m| i32::try_from(m).ok());
            WireType {
                oid,
                modifier: modifier.unwrap_or(-1),
            }
        }
        _ => WireType::plain(nearest(field.data_type())),
    }
}

/// Whether a column of this Arrow type holds values of the PostgreSQL type in the way that the
/// encoder expects.
fn is_storage_of(data_type: &DataType, oid: u32) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => binary::has_text_source(oid),
        DataType::Int32 | DataType::Int64 | DataType::UInt32 if oid == oid::OID => true,
        DataType::Dictionary(_, values) => is_storage_of(values, oid),
        DataType::List(child) if oid == oid::INT2_VECTOR => *child.data_type() == DataType::Int16,
        _ => oid == nearest(data_type),
    }
}

/// The PostgreSQL type that is closest to an Arrow type.
pub fn nearest(data_type: &DataType) -> u32 {
    match data_type {
        DataType::Boolean => oid::BOOL,
        DataType::Int8 | DataType::Int16 | DataType::UInt8 => oid::INT2,
        DataType::Int32 | DataType::UInt16 => oid::INT4,
        DataType::Int64 | DataType::UInt32 | DataType::UInt64 => oid::INT8,
        DataType::Float16 | DataType::Float32 => oid::FLOAT4,
        DataType::Float64 => oid::FLOAT8,
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => oid::NUMERIC,
        DataType::Date32 | DataType::Date64 => oid::DATE,
        DataType::Time32(_) | DataType::Time64(_) => oid::TIME,
        DataType::Timestamp(_, None) => oid::TIMESTAMP,
        DataType::Timestamp(_, Some(_)) => oid::TIMESTAMPTZ,
        DataType::Interval(_) | DataType::Duration(_) => oid::INTERVAL,
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => oid::BYTEA,
        DataType::Dictionary(_, values) => nearest(values),
        DataType::List(child) | DataType::LargeList(child) | DataType::FixedSizeList(child, _) => {
            array_type(child)
        }
        DataType::Struct(_) => oid::RECORD,
        _ => oid::TEXT,
    }
}

/// The array type of elements: an array of arrays is one of more dimensions, of the same type.
fn array_type(element: &Field) -> u32 {
    let element = wire_type(element).oid;
    if element_of(element).is_some() {
        return element;
    }
    array_of(element).unwrap_or(oid::TEXT_ARRAY)
}
