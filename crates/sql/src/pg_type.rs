//! PostgreSQL's type ids and the Arrow types that carry them.

use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};

use crate::functions::types::UNCONSTRAINED_SCALE;
use crate::table::column::OID_KEY;

/// `text`
pub const TEXT: u32 = 25;
/// `varchar`: `character varying(n)`
pub const VARCHAR: u32 = 1043;
/// `int2vector`: numbers with blanks between them
pub const INT2_VECTOR: u32 = 22;
/// `numeric`
pub const NUMERIC: u32 = 1700;
/// `uuid`
pub const UUID: u32 = 2950;
/// `inet`: an address, and the bits of its network
pub const INET: u32 = 869;
/// `json`: as it was written
pub const JSON: u32 = 114;
/// `jsonb`: in its one form
pub const JSONB: u32 = 3802;
/// `bpchar`: `character(n)`
pub const BPCHAR: u32 = 1042;
/// `timetz`: `time with time zone`
pub const TIMETZ: u32 = 1266;
/// `record`: a row
pub const RECORD: u32 = 2249;

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

/// Whether a type of PostgreSQL's own is an array type.
pub(crate) fn is_array(oid: u32) -> bool {
    matches!(oid, 143 | 199 | 1000..=1003 | 1005..=1022 | 1028 | 1034 | 1040 | 1041 | 1115
        | 1182 | 1183 | 1185 | 1187 | 1231 | 1270 | 1561 | 1563 | 2951 | 3807)
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
        DataType::Struct(_) => RECORD,
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

/// The type of arrays of a type.
pub(crate) fn array_oid(item: u32) -> u32 {
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
        VARCHAR => 1015,
        UUID => 2951,
        JSON => 199,
        JSONB => 3807,
        _ => 1009,
    }
}

/// `pg_type`'s `typlen`, `typbyval`, `typalign` and `typstorage`.
pub(crate) fn storage(oid: u32) -> (i16, bool, &'static str, &'static str) {
    match oid {
        16 | 18 => (1, true, "c", "p"),
        21 => (2, true, "s", "p"),
        23 | 26 | 700 | 1082 => (4, true, "i", "p"),
        20 | 701 | 790 | 1083 | 1114 | 1184 | 3220 => (8, true, "d", "p"),
        1266 => (12, false, "d", "p"),
        1186 => (16, false, "d", "p"),
        2950 => (16, false, "c", "p"),
        19 => (64, false, "c", "p"),
        NUMERIC | 650 | 869 => (-1, false, "i", "m"),
        _ => (-1, false, "i", "x"),
    }
}

/// Types: a name in the standard's words, and the one in `pg_type`.
const NAMES: [(u32, &str, &str); 40] = [
    (16, "boolean", "bool"),
    (17, "bytea", "bytea"),
    (18, "\"char\"", "char"),
    (19, "name", "name"),
    (20, "bigint", "int8"),
    (21, "smallint", "int2"),
    (23, "integer", "int4"),
    (TEXT, "text", "text"),
    (26, "oid", "oid"),
    (JSON, "json", "json"),
    (142, "xml", "xml"),
    (650, "cidr", "cidr"),
    (700, "real", "float4"),
    (701, "double precision", "float8"),
    (790, "money", "money"),
    (829, "macaddr", "macaddr"),
    (INET, "inet", "inet"),
    (BPCHAR, "character", "bpchar"),
    (VARCHAR, "character varying", "varchar"),
    (1082, "date", "date"),
    (1083, "time without time zone", "time"),
    (1114, "timestamp without time zone", "timestamp"),
    (1184, "timestamp with time zone", "timestamptz"),
    (1186, "interval", "interval"),
    (TIMETZ, "time with time zone", "timetz"),
    (1560, "bit", "bit"),
    (1562, "bit varying", "varbit"),
    (NUMERIC, "numeric", "numeric"),
    (RECORD, "record", "record"),
    (2950, "uuid", "uuid"),
    (JSONB, "jsonb", "jsonb"),
    (1000, "ARRAY", "_bool"),
    (1005, "ARRAY", "_int2"),
    (1007, "ARRAY", "_int4"),
    (1009, "ARRAY", "_text"),
    (1015, "ARRAY", "_varchar"),
    (1016, "ARRAY", "_int8"),
    (1022, "ARRAY", "_float8"),
    (1231, "ARRAY", "_numeric"),
    (2951, "ARRAY", "_uuid"),
];

/// A type's name in the standard's words, and its own in `pg_type`; those of `text` for others.
pub(crate) fn names(oid: u32) -> (&'static str, &'static str) {
    let named = NAMES.iter().find(|(named, ..)| *named == oid);
    named.map_or(("text", "text"), |&(_, standard, own)| (standard, own))
}

/// The type of this name, in the standard's words or in `pg_type`'s.
pub(crate) fn by_name(name: &str) -> Option<u32> {
    let name = match name {
        "int" => "integer",
        "decimal" | "dec" => "numeric",
        "float" => "double precision",
        "char" => "character",
        "timestamp" => "timestamp without time zone",
        "time" => "time without time zone",
        other => other,
    };
    let named = NAMES.iter();
    let mut named = named
        .filter(|(_, standard, own)| *standard != "ARRAY" && [*standard, *own].contains(&name));
    named.next().map(|(oid, ..)| *oid)
}
