//! Type names in casts and literals, as PostgreSQL means them.
//!
//! Types that trees store as exact text (uuid, json, inet, …) are text here too. Timestamps
//! have microseconds, the stored unit: DataFusion's default of nanoseconds could hold neither
//! infinity nor the year 2263.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, IntervalUnit, TimeUnit};
use datafusion::common::Result;
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::sql::sqlparser::ast::{
    CharacterLength, DataType as SqlType, ExactNumberInfo, ObjectName, TimezoneInfo,
};

use crate::pg_type;
use crate::table::column::{MODIFIER_KEY, OID_KEY};

/// Digits after the point of a numeric without declared precision.
pub(crate) const UNCONSTRAINED_SCALE: i8 = 16;

/// Maps type names to Arrow types.
#[derive(Debug)]
pub(crate) struct SqlTypes;

impl TypePlanner for SqlTypes {
    fn plan_type_field(&self, sql_type: &SqlType) -> Result<Option<Arc<Field>>> {
        Ok(arrow_type(sql_type).map(|data_type| {
            let length = characters(sql_type);
            let oid = match sql_type {
                _ if length.is_some() => pg_type::BPCHAR,
                SqlType::CharacterVarying(_)
                | SqlType::CharVarying(_)
                | SqlType::Varchar(_)
                | SqlType::Nvarchar(_) => pg_type::VARCHAR,
                SqlType::Uuid => pg_type::UUID,
                SqlType::JSON => pg_type::JSON,
                SqlType::JSONB => pg_type::JSONB,
                SqlType::Time(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => pg_type::TIMETZ,
                SqlType::Custom(name, _) => address(name).unwrap_or(pg_type::oid(&data_type)),
                _ => pg_type::oid(&data_type),
            };
            // Without metadata of its own a cast would keep that of what it casts.
            let mut metadata = HashMap::from([(OID_KEY.to_owned(), oid.to_string())]);
            if let Some(length) = length {
                // `pg_attribute.atttypmod` counts a header of four bytes.
                metadata.insert(MODIFIER_KEY.to_owned(), (length + 4).to_string());
            }
            Arc::new(Field::new("", data_type, true).with_metadata(metadata))
        }))
    }
}

/// The length of `character(n)`.
pub(crate) fn characters(sql_type: &SqlType) -> Option<u64> {
    match sql_type {
        SqlType::Char(length) | SqlType::Character(length) => match length {
            Some(CharacterLength::IntegerLength { length, .. }) => Some(*length),
            Some(CharacterLength::Max) => None,
            None => Some(1),
        },
        _ => None,
    }
}

/// Types of addresses, which are texts to the planner.
fn address(name: &ObjectName) -> Option<u32> {
    let name = name.0.last()?.as_ident()?.value.to_ascii_lowercase();
    let is_address = matches!(name.as_str(), "inet" | "cidr" | "macaddr");
    is_address.then(|| pg_type::by_name(&name)).flatten()
}

fn arrow_type(sql_type: &SqlType) -> Option<DataType> {
    match sql_type {
        SqlType::Timestamp(_, zone) => Some(DataType::Timestamp(
            TimeUnit::Microsecond,
            match zone {
                TimezoneInfo::None | TimezoneInfo::WithoutTimeZone => None,
                TimezoneInfo::WithTimeZone | TimezoneInfo::Tz => Some("+00:00".into()),
            },
        )),
        SqlType::Time(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            Some(DataType::Time64(TimeUnit::Microsecond))
        }
        SqlType::Interval { .. } => Some(DataType::Interval(IntervalUnit::MonthDayNano)),
        SqlType::Numeric(ExactNumberInfo::None)
        | SqlType::Decimal(ExactNumberInfo::None)
        | SqlType::Dec(ExactNumberInfo::None) => {
            Some(DataType::Decimal128(38, UNCONSTRAINED_SCALE))
        }
        // PostgreSQL's float(p) is double precision from p = 25 and without p.
        SqlType::Float(ExactNumberInfo::None) => Some(DataType::Float64),
        SqlType::Float(ExactNumberInfo::Precision(bits)) => Some(if *bits <= 24 {
            DataType::Float32
        } else {
            DataType::Float64
        }),
        SqlType::CharacterVarying(_)
        | SqlType::CharVarying(_)
        | SqlType::Character(_)
        | SqlType::Varchar(_)
        | SqlType::Nvarchar(_)
        | SqlType::Char(_)
        | SqlType::Text
        | SqlType::Uuid
        | SqlType::JSON
        | SqlType::JSONB
        | SqlType::Bit(_)
        | SqlType::BitVarying(_)
        | SqlType::Time(..) => Some(DataType::Utf8),
        SqlType::Regclass => Some(DataType::Int32),
        SqlType::Custom(name, _) => {
            let last = name.0.last()?.as_ident()?;
            named(&last.value.to_ascii_lowercase())
        }
        _ => None,
    }
}

/// Types that the parser does not know, or that came with `pg_catalog.` in front.
pub(crate) fn named(name: &str) -> Option<DataType> {
    Some(match name {
        "bool" | "boolean" => DataType::Boolean,
        "int2" | "smallint" => DataType::Int16,
        "int4" | "int" | "integer" => DataType::Int32,
        "int8" | "bigint" => DataType::Int64,
        "float4" | "real" => DataType::Float32,
        "float8" => DataType::Float64,
        "numeric" | "decimal" => DataType::Decimal128(38, UNCONSTRAINED_SCALE),
        "date" => DataType::Date32,
        "time" => DataType::Time64(TimeUnit::Microsecond),
        "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, None),
        "timestamptz" => DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into())),
        "interval" => DataType::Interval(IntervalUnit::MonthDayNano),
        "bytea" => DataType::Binary,
        "oid" | "regclass" | "regproc" | "regprocedure" | "regtype" | "regnamespace"
        | "regrole" | "regoper" | "regoperator" | "regconfig" | "regdictionary"
        | "regcollation" | "xid" | "cid" => DataType::Int32,
        "text" | "varchar" | "bpchar" | "char" | "name" | "uuid" | "json" | "jsonb"
        | "jsonpath" | "citext" | "inet" | "cidr" | "macaddr" | "macaddr8" | "money" | "xml"
        | "timetz" | "varbit" | "bit" | "tsvector" | "tsquery" | "point" | "box" | "circle"
        | "line" | "lseg" | "path" | "polygon" | "ltree" | "hstore" | "pg_lsn" | "cstring"
        | "unknown" => DataType::Utf8,
        _ => return None,
    })
}
