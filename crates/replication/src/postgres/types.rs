//! Which column type a PostgreSQL type becomes.
//!
//! What has an exact fixed-width or decimal form gets it; everything else (json, uuid, enums,
//! arrays, intervals, unconstrained numeric, …) is kept as its exact text.

use types::ColumnType;

const BOOL: u32 = 16;
const BYTEA: u32 = 17;
const INT8: u32 = 20;
const INT2: u32 = 21;
const INT4: u32 = 23;
const FLOAT4: u32 = 700;
const FLOAT8: u32 = 701;
/// `character(n)`.
const BPCHAR: u32 = 1042;
const DATE: u32 = 1082;
const TIME: u32 = 1083;
const TIMESTAMP: u32 = 1114;
const TIMESTAMPTZ: u32 = 1184;
const NUMERIC: u32 = 1700;

/// Digits that a [`ColumnType::Decimal`] holds at most.
const DECIMAL_DIGITS_MAX: i32 = 38;
/// What PostgreSQL adds to a length or precision in a type modifier.
const MODIFIER_OFFSET: i32 = 4;

/// The column type for a base type (not a domain) with its modifier.
pub fn column_type(oid: u32, modifier: i32) -> ColumnType {
    match oid {
        BOOL => ColumnType::Bool,
        BYTEA => ColumnType::Bytes,
        INT2 => ColumnType::Int16,
        INT4 => ColumnType::Int32,
        INT8 => ColumnType::Int64,
        FLOAT4 => ColumnType::Float32,
        FLOAT8 => ColumnType::Float64,
        DATE => ColumnType::Date,
        TIME => ColumnType::Time,
        TIMESTAMP => ColumnType::Timestamp,
        TIMESTAMPTZ => ColumnType::TimestampTz,
        NUMERIC => decimal(modifier).unwrap_or(ColumnType::Text),
        _ => ColumnType::Text,
    }
}

/// The decimal of `numeric(precision, scale)`, if it fits; the modifier holds both.
fn decimal(modifier: i32) -> Option<ColumnType> {
    let packed = modifier
        .checked_sub(MODIFIER_OFFSET)
        .filter(|&packed| packed >= 0)?;
    let precision = packed >> 16;
    // Eleven bits, signed: from PostgreSQL 15 on a scale may be negative or above the
    // precision. Such columns stay text.
    let scale = ((packed & 0x7FF) ^ 1024) - 1024;
    if precision > DECIMAL_DIGITS_MAX || scale < 0 || scale > precision {
        return None;
    }
    let precision = u8::try_from(precision).ok().filter(|&p| p > 0)?;
    Some(ColumnType::Decimal {
        precision,
        scale: i8::try_from(scale).ok()?,
    })
}

/// Whether trailing blanks of a base type's values mean nothing.
pub fn is_blank_padded(oid: u32) -> bool {
    oid == BPCHAR
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numeric(precision: i32, scale: i32) -> ColumnType {
        column_type(
            NUMERIC,
            ((precision << 16) | (scale & 0x7FF)) + MODIFIER_OFFSET,
        )
    }

    #[test]
    fn numeric_is_a_decimal_where_it_fits() {
        assert_eq!(
            numeric(15, 2),
            ColumnType::Decimal {
                precision: 15,
                scale: 2
            }
        );
        assert_eq!(
            numeric(38, 38),
            ColumnType::Decimal {
                precision: 38,
                scale: 38
            }
        );
        assert_eq!(numeric(39, 0), ColumnType::Text);
        assert_eq!(numeric(5, -3), ColumnType::Text);
        assert_eq!(numeric(3, 5), ColumnType::Text);
        assert_eq!(column_type(NUMERIC, -1), ColumnType::Text);
    }

    #[test]
    fn what_has_no_form_of_its_own_is_text() {
        let (uuid, jsonb, interval, int4_array) = (2950, 3802, 1186, 1007);
        for oid in [uuid, jsonb, interval, int4_array, 0, u32::MAX] {
            assert_eq!(column_type(oid, -1), ColumnType::Text);
        }
    }
}
