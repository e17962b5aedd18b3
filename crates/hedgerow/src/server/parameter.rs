//! Parameter values: from the wire to the types that the SQL session asks for.
//!
//! A binary value is turned into PostgreSQL's text for its type first
//! ([`protocol::binary_value`]), so that there is one way from text to each type.

use std::sync::Arc;

use arrow_schema::{DataType, TimeUnit};
use bytes::Bytes;
use protocol::binary_value::{text_of_binary, utf8};
use protocol::bytea;
use protocol::encode::{Format, array, datetime};
use sql::{ParameterType, ScalarValue};

use super::failure::Failure;

/// Reads a parameter's value; `None` is NULL.
pub fn decode(
    value: Option<Bytes>,
    format: Format,
    parameter: &ParameterType,
) -> Result<ScalarValue, Failure> {
    let Some(value) = value else {
        return null(&parameter.data_type);
    };
    let text = match format {
        Format::Text => utf8(value.to_vec())?,
        Format::Binary => text_of_binary(parameter.oid, value)?,
    };
    from_text(&text, &parameter.data_type)
}

/// A value of whatever type as one for a parameter: text is read as that type's.
pub fn coerced(value: ScalarValue, parameter: &ParameterType) -> Result<ScalarValue, Failure> {
    let data_type = &parameter.data_type;
    if value.is_null() {
        return null(data_type);
    }
    if value.data_type() == *data_type {
        return Ok(value);
    }
    match value.try_as_str() {
        Some(Some(text)) => from_text(text, data_type),
        _ => value.cast_to(data_type).map_err(|_| {
            let message = format!("parameter of type {data_type} cannot be taken from {value}");
            Failure::new("42804", message)
        }),
    }
}

fn null(data_type: &DataType) -> Result<ScalarValue, Failure> {
    ScalarValue::try_from(data_type).map_err(|error| Failure::new("XX000", error.to_string()))
}

fn malformed(type_name: &str, text: &str) -> Failure {
    Failure::new(
        "22P02",
        format!("invalid input syntax for type {type_name}: {text:?}"),
    )
}

/// A value from PostgreSQL's text.
fn from_text(text: &str, data_type: &DataType) -> Result<ScalarValue, Failure> {
    let blank_free = text.trim();
    Ok(match data_type {
        DataType::Utf8 => ScalarValue::Utf8(Some(text.to_owned())),
        DataType::LargeUtf8 => ScalarValue::LargeUtf8(Some(text.to_owned())),
        DataType::Utf8View => ScalarValue::Utf8View(Some(text.to_owned())),
        DataType::Boolean => ScalarValue::Boolean(Some(boolean(blank_free)?)),
        DataType::Int16 => ScalarValue::Int16(Some(integer(blank_free, "smallint")?)),
        DataType::Int32 => ScalarValue::Int32(Some(integer(blank_free, "integer")?)),
        DataType::Int64 => ScalarValue::Int64(Some(integer(blank_free, "bigint")?)),
        DataType::Float32 => ScalarValue::Float32(Some(float(blank_free, "real")?)),
        DataType::Float64 => ScalarValue::Float64(Some(float(blank_free, "double precision")?)),
        DataType::Date32 => match datetime::parse_date(blank_free) {
            Ok(days) => ScalarValue::Date32(Some(days)),
            Err(_) => lenient(blank_free, data_type, "date")?,
        },
        DataType::Time64(TimeUnit::Microsecond) => match datetime::parse_time(blank_free) {
            Ok(micros) => ScalarValue::Time64Microsecond(Some(micros)),
            Err(_) => lenient(blank_free, data_type, "time")?,
        },
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            match datetime::parse_timestamp(blank_free) {
                Ok(micros) => ScalarValue::TimestampMicrosecond(Some(micros), zone.clone()),
                Err(_) => lenient(blank_free, data_type, "timestamp")?,
            }
        }
        DataType::Binary => {
            let bytes = bytea::parse(text).ok_or_else(|| malformed("bytea", text))?;
            ScalarValue::Binary(Some(bytes))
        }
        DataType::List(child) => list(text, child.data_type())?,
        other => lenient(blank_free, other, &other.to_string())?,
    })
}

/// What Arrow can read of it.
fn lenient(text: &str, data_type: &DataType, name: &str) -> Result<ScalarValue, Failure> {
    ScalarValue::try_from_string(text.to_owned(), data_type).map_err(|_| malformed(name, text))
}

fn boolean(text: &str) -> Result<bool, Failure> {
    let lower = text.to_ascii_lowercase();
    let is = |word: &str| !lower.is_empty() && word.starts_with(&lower);
    match lower.as_str() {
        "1" | "on" => Ok(true),
        "0" | "of" | "off" => Ok(false),
        _ if is("true") || is("yes") => Ok(true),
        _ if is("false") || is("no") => Ok(false),
        _ => Err(malformed("boolean", text)),
    }
}

fn integer<T: TryFrom<i64>>(text: &str, name: &str) -> Result<T, Failure> {
    let all_digits = text
        .trim_start_matches(['+', '-'])
        .bytes()
        .all(|b| b.is_ascii_digit());
    let out_of_range = || {
        Failure::new(
            "22003",
            format!("value {text:?} is out of range for type {name}"),
        )
    };
    match text.parse::<i64>() {
        Ok(value) => T::try_from(value).map_err(|_| out_of_range()),
        Err(_) if !text.is_empty() && all_digits => Err(out_of_range()),
        Err(_) => Err(malformed(name, text)),
    }
}

fn float<T: std::str::FromStr>(text: &str, name: &str) -> Result<T, Failure> {
    text.parse().map_err(|_| malformed(name, text))
}

fn list(text: &str, element: &DataType) -> Result<ScalarValue, Failure> {
    let literal = array::parse(text)
        .ok_or_else(|| Failure::new("22P02", format!("malformed array literal: {text:?}")))?;
    if literal.dimensions.len() > 1 {
        return Err(Failure::new(
            "0A000",
            "array parameters of more than one dimension are not supported",
        ));
    }
    let item = |item: &Option<String>| match item {
        Some(text) => from_text(text, element),
        None => null(element),
    };
    let items = literal
        .elements
        .iter()
        .map(item)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(ScalarValue::List(Arc::clone(
        &ScalarValue::new_list_nullable(&items, element),
    )))
}

#[cfg(test)]
mod tests {
    use bytes::{BufMut, BytesMut};
    use protocol::encode::binary;
    use protocol::encode::wire_type::oid;

    use super::*;

    fn parameter(oid: u32, data_type: DataType) -> ParameterType {
        ParameterType { data_type, oid }
    }

    /// A value's text sent as text and as binary gives the same.
    fn both(oid: u32, data_type: DataType, text: &str) -> ScalarValue {
        let parameter = parameter(oid, data_type);
        let bytes = Bytes::from(text.to_owned());
        let from_text = decode(Some(bytes), Format::Text, &parameter).expect("text");
        let mut sent = BytesMut::new();
        binary::put(oid, text, &mut sent).expect("a binary form");
        let from_binary = decode(Some(sent.freeze()), Format::Binary, &parameter).expect("binary");
        assert_eq!(from_text, from_binary);
        from_text
    }

    #[test]
    fn text_and_binary_give_the_same_value() {
        assert_eq!(
            both(oid::BOOL, DataType::Boolean, "t"),
            ScalarValue::Boolean(Some(true))
        );
        assert_eq!(
            both(oid::INT4, DataType::Int32, "-7"),
            ScalarValue::Int32(Some(-7))
        );
        assert_eq!(
            both(oid::INT4, DataType::Int64, "7"),
            ScalarValue::Int64(Some(7))
        );
        assert_eq!(
            both(oid::FLOAT8, DataType::Float64, "0.1"),
            ScalarValue::Float64(Some(0.1))
        );
        assert_eq!(
            both(oid::DATE, DataType::Date32, "2000-01-01"),
            ScalarValue::Date32(Some(10_957))
        );
        assert_eq!(
            both(oid::NUMERIC, DataType::Decimal128(10, 2), "-12345.67"),
            ScalarValue::Decimal128(Some(-1_234_567), 10, 2)
        );
        let uuid = "00010203-0405-0607-0809-0a0b0c0d0e0f";
        assert_eq!(
            both(oid::UUID, DataType::Utf8, uuid),
            ScalarValue::Utf8(Some(uuid.to_owned()))
        );
        assert_eq!(
            both(oid::BYTEA, DataType::Binary, "\\x00ff"),
            ScalarValue::Binary(Some(vec![0, 255]))
        );
        let timestamp = DataType::Timestamp(TimeUnit::Microsecond, None);
        assert_eq!(
            both(oid::TIMESTAMP, timestamp, "1970-01-01 00:00:01"),
            ScalarValue::TimestampMicrosecond(Some(1_000_000), None)
        );
        both(
            1007,
            DataType::new_list(DataType::Int32, true),
            "{1,NULL,3}",
        );
    }

    #[test]
    fn bad_values_are_told_as_postgresql_tells_them() {
        let code = |oid, data_type, value: &'static [u8], format| {
            let parameter = parameter(oid, data_type);
            let result = decode(Some(Bytes::from_static(value)), format, &parameter);
            result.map_err(|failure| failure.code)
        };
        assert_eq!(
            code(oid::INT4, DataType::Int32, b"x", Format::Text),
            Err("22P02")
        );
        assert_eq!(
            code(oid::INT4, DataType::Int32, b"3000000000", Format::Text),
            Err("22003")
        );
        assert_eq!(
            code(oid::INT4, DataType::Int32, b"\0", Format::Binary),
            Err("22P03")
        );
        assert_eq!(
            code(oid::TEXT, DataType::Utf8, b"\xff", Format::Text),
            Err("22021")
        );
        assert_eq!(
            code(
                1007,
                DataType::new_list(DataType::Int32, true),
                b"\0\0\0\x01",
                Format::Binary
            ),
            Err("22P03")
        );
        let mut deep = BytesMut::new();
        deep.put_i32(1);
        deep.put_i32(0);
        deep.put_u32(23);
        deep.put_i32(i32::MAX);
        deep.put_i32(1);
        let parameter = parameter(1007, DataType::new_list(DataType::Int32, true));
        let result = decode(Some(deep.freeze()), Format::Binary, &parameter);
        assert_eq!(result.map_err(|failure| failure.code), Err("22P03"));
    }
}
