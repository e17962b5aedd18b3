//! The types that columns, parameters and expressions have.

use sqlparser::ast::{CharacterLength, DataType, ExactNumberInfo, TimezoneInfo};
use types::ColumnType;
use types::schema::SourceType;

use crate::fault::{Fault, code};
use crate::numeric::DIGITS_MAX;

/// A type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SqlType {
    /// `boolean`
    Boolean,
    /// `smallint`
    SmallInt,
    /// `integer`
    Integer,
    /// `bigint`
    BigInt,
    /// `numeric`; in a column with digits in all and digits behind the point.
    Numeric(Option<(u8, u8)>),
    /// `real`
    Real,
    /// `double precision`
    Double,
    /// `text`
    Text,
    /// `varchar`, with so many characters at most.
    Varchar(Option<u32>),
    /// `bytea`
    Bytea,
    /// `date`
    Date,
    /// `time`
    Time,
    /// `timestamp`
    Timestamp,
    /// `timestamptz`
    TimestampTz,
}

/// What a declaration may say.
const POSSIBLE: &str = "Types are boolean, smallint, integer, bigint, numeric(precision, scale), real, double precision, \
                        text, varchar(n), bytea, date, time, timestamp and timestamptz";

impl SqlType {
    /// The type that a declaration names.
    pub(crate) fn of(data_type: &DataType) -> Result<Self, Fault> {
        Ok(match data_type {
            DataType::Bool | DataType::Boolean => Self::Boolean,
            DataType::SmallInt(None) | DataType::Int2(None) => Self::SmallInt,
            DataType::Int(None) | DataType::Integer(None) | DataType::Int4(None) => Self::Integer,
            DataType::BigInt(None) | DataType::Int8(None) => Self::BigInt,
            DataType::Real | DataType::Float4 => Self::Real,
            DataType::DoublePrecision
            | DataType::Float8
            | DataType::Double(ExactNumberInfo::None)
            | DataType::Float(ExactNumberInfo::None) => Self::Double,
            DataType::Numeric(digits) | DataType::Decimal(digits) | DataType::Dec(digits) => {
                numeric(*digits)?
            }
            DataType::Text => Self::Text,
            DataType::Varchar(length)
            | DataType::CharacterVarying(length)
            | DataType::CharVarying(length) => varchar(length.as_ref())?,
            DataType::Bytea => Self::Bytea,
            DataType::Date => Self::Date,
            DataType::Time(None, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => Self::Time,
            DataType::Timestamp(None, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
                Self::Timestamp
            }
            DataType::Timestamp(None, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => {
                Self::TimestampTz
            }
            other => {
                let message = format!("type {} is not supported", other.to_string().to_lowercase());
                return Err(Fault::new(code::FEATURE_NOT_SUPPORTED, message).with_hint(POSSIBLE));
            }
        })
    }

    /// The type with this id at PostgreSQL; `None` for one that is not supported.
    pub fn of_oid(oid: u32) -> Option<Self> {
        Some(match oid {
            16 => Self::Boolean,
            17 => Self::Bytea,
            20 => Self::BigInt,
            21 => Self::SmallInt,
            23 => Self::Integer,
            25 => Self::Text,
            700 => Self::Real,
            701 => Self::Double,
            1043 => Self::Varchar(None),
            1082 => Self::Date,
            1083 => Self::Time,
            1114 => Self::Timestamp,
            1184 => Self::TimestampTz,
            1700 => Self::Numeric(None),
            _ => return None,
        })
    }

    /// PostgreSQL's id of the type.
    pub fn oid(self) -> u32 {
        match self {
            Self::Boolean => 16,
            Self::Bytea => 17,
            Self::BigInt => 20,
            Self::SmallInt => 21,
            Self::Integer => 23,
            Self::Text => 25,
            Self::Real => 700,
            Self::Double => 701,
            Self::Varchar(_) => 1043,
            Self::Date => 1082,
            Self::Time => 1083,
            Self::Timestamp => 1114,
            Self::TimestampTz => 1184,
            Self::Numeric(_) => 1700,
        }
    }

    /// PostgreSQL's modifier of the type, -1 for none.
    pub fn modifier(self) -> i32 {
        match self {
            Self::Numeric(Some((precision, scale))) => {
                ((i32::from(precision) << 16) | i32::from(scale)) + 4
            }
            Self::Varchar(Some(length)) => i32::try_from(length).map_or(-1, |length| length + 4),
            _ => -1,
        }
    }

    /// PostgreSQL's name of the type.
    pub fn name(self) -> String {
        match self {
            Self::Boolean => "boolean",
            Self::SmallInt => "smallint",
            Self::Integer => "integer",
            Self::BigInt => "bigint",
            Self::Numeric(None) => "numeric",
            Self::Numeric(Some((precision, scale))) => {
                return format!("numeric({precision},{scale})");
            }
            Self::Real => "real",
            Self::Double => "double precision",
            Self::Text => "text",
            Self::Varchar(None) => "character varying",
            Self::Varchar(Some(length)) => return format!("character varying({length})"),
            Self::Bytea => "bytea",
            Self::Date => "date",
            Self::Time => "time without time zone",
            Self::Timestamp => "timestamp without time zone",
            Self::TimestampTz => "timestamp with time zone",
        }
        .to_owned()
    }

    /// How a column of this type is stored; `None` for numbers without a scale.
    pub(crate) fn column_type(self) -> Option<ColumnType> {
        Some(match self {
            Self::Boolean => ColumnType::Bool,
            Self::SmallInt => ColumnType::Int16,
            Self::Integer => ColumnType::Int32,
            Self::BigInt => ColumnType::Int64,
            Self::Numeric(None) => return None,
            Self::Numeric(Some((precision, scale))) => ColumnType::Decimal {
                precision,
                scale: scale as i8,
            },
            Self::Real => ColumnType::Float32,
            Self::Double => ColumnType::Float64,
            Self::Text | Self::Varchar(_) => ColumnType::Text,
            Self::Bytea => ColumnType::Bytes,
            Self::Date => ColumnType::Date,
            Self::Time => ColumnType::Time,
            Self::Timestamp => ColumnType::Timestamp,
            Self::TimestampTz => ColumnType::TimestampTz,
        })
    }

    /// As the replica describes it.
    pub(crate) fn source_type(self) -> SourceType {
        SourceType {
            oid: self.oid(),
            modifier: self.modifier(),
            name: self.name(),
        }
    }

    /// Without its bound on length or digits: what expressions compute with.
    #[must_use]
    pub(crate) fn unbounded(self) -> Self {
        match self {
            Self::Numeric(_) => Self::Numeric(None),
            Self::Varchar(_) => Self::Text,
            other => other,
        }
    }

    /// Whether its values are whole numbers of a fixed width.
    pub(crate) fn is_int(self) -> bool {
        matches!(self, Self::SmallInt | Self::Integer | Self::BigInt)
    }

    /// Whether it is text.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Varchar(_))
    }

    /// Its place among the types of numbers: the later of two can hold both. `None`: no number.
    pub(crate) fn number_rank(self) -> Option<u8> {
        Some(match self {
            Self::SmallInt => 0,
            Self::Integer => 1,
            Self::BigInt => 2,
            Self::Numeric(_) => 3,
            Self::Real => 4,
            Self::Double => 5,
            _ => return None,
        })
    }

    /// The smallest and the largest of its whole numbers.
    pub(crate) fn int_bounds(self) -> Option<(i64, i64)> {
        Some(match self {
            Self::SmallInt => (i16::MIN.into(), i16::MAX.into()),
            Self::Integer | Self::Date => (i32::MIN.into(), i32::MAX.into()),
            Self::BigInt | Self::Time | Self::Timestamp | Self::TimestampTz => (i64::MIN, i64::MAX),
            _ => return None,
        })
    }
}

fn numeric(digits: ExactNumberInfo) -> Result<SqlType, Fault> {
    let (precision, scale) = match digits {
        ExactNumberInfo::None => return Ok(SqlType::Numeric(None)),
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, scale),
    };
    let fits = |&(precision, scale): &(u8, u8)| {
        (1..=DIGITS_MAX).contains(&precision) && scale <= precision
    };
    let both = u8::try_from(precision).ok().zip(u8::try_from(scale).ok());
    both.filter(fits)
        .map(|digits| SqlType::Numeric(Some(digits)))
        .ok_or_else(|| {
            Fault::new(
                code::INVALID_TABLE_DEFINITION,
                format!("numeric({precision},{scale}) is not supported"),
            )
            .with_hint(format!(
                "The precision is 1 to {DIGITS_MAX}, the scale 0 to the precision"
            ))
        })
}

fn varchar(length: Option<&CharacterLength>) -> Result<SqlType, Fault> {
    match length {
        None => Ok(SqlType::Varchar(None)),
        Some(CharacterLength::IntegerLength { length, unit: None }) => {
            match u32::try_from(*length) {
                Ok(length @ 1..=10_485_760) => Ok(SqlType::Varchar(Some(length))),
                _ => Err(Fault::new(
                    code::INVALID_TABLE_DEFINITION,
                    format!("length {length} of varchar is out of range"),
                )),
            }
        }
        Some(other) => Err(Fault::new(
            code::FEATURE_NOT_SUPPORTED,
            format!("varchar({other}) is not supported"),
        )),
    }
}
