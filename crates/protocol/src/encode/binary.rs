//! Binary forms of values that are stored as PostgreSQL's text.
//!
//! Text columns hold the exact text of types that have no column type of their own (uuid,
//! jsonb, interval, unconstrained numeric, arrays, …). Clients that ask for binary get these
//! types' binary forms, computed from the text.

use bytes::{BufMut, BytesMut};

use super::wire_type::{element_of, oid};
use super::{EncodeError, array, datetime, number};

/// Whether a type's binary form can be computed from its text.
pub fn has_text_source(oid: u32) -> bool {
    is_scalar(oid) || element_of(oid).is_some()
}

/// Whether a type's binary form is its text.
pub(crate) fn is_text_like(oid: u32) -> bool {
    matches!(
        oid,
        oid::TEXT
            | oid::VARCHAR
            | oid::BPCHAR
            | oid::NAME
            | oid::CHAR
            | oid::JSON
            | oid::XML
            | oid::UNKNOWN
    )
}

fn is_scalar(oid: u32) -> bool {
    is_text_like(oid)
        || matches!(
            oid,
            oid::BOOL
                | oid::BYTEA
                | oid::INT2
                | oid::INT4
                | oid::INT8
                | oid::OID
                | oid::FLOAT4
                | oid::FLOAT8
                | oid::DATE
                | oid::TIME
                | oid::TIMESTAMP
                | oid::TIMESTAMPTZ
                | oid::INTERVAL
                | oid::TIMETZ
                | oid::NUMERIC
                | oid::UUID
                | oid::JSONB
        )
}

/// Appends the binary form of `text`, a value of the type.
pub fn put(oid: u32, text: &str, out: &mut BytesMut) -> Result<(), EncodeError> {
    if is_text_like(oid) {
        out.put_slice(text.as_bytes());
        return Ok(());
    }
    match oid {
        oid::BOOL => out.put_u8(u8::from(text.starts_with('t'))),
        oid::INT2 => out.put_i16(parse("smallint", text)?),
        oid::INT4 => out.put_i32(parse("integer", text)?),
        oid::INT8 => out.put_i64(parse("bigint", text)?),
        oid::OID => out.put_u32(parse("oid", text)?),
        oid::FLOAT4 => out.put_f32(parse("real", text)?),
        oid::FLOAT8 => out.put_f64(parse("double precision", text)?),
        oid::DATE => out.put_i32(datetime::binary_date(datetime::parse_date(text)?)),
        oid::TIME => out.put_i64(datetime::parse_time(text)?),
        oid::TIMESTAMP | oid::TIMESTAMPTZ => {
            out.put_i64(datetime::binary_timestamp(datetime::parse_timestamp(text)?));
        }
        oid::TIMETZ => {
            let (micros, east) = datetime::parse_time_with_zone(text)?;
            out.put_i64(micros);
            out.put_i32(-east);
        }
        oid::INTERVAL => put_with(out, |bytes| {
            datetime::Interval::parse(text)?.put(bytes);
            Ok(())
        })?,
        oid::NUMERIC => put_with(out, |bytes| number::put_numeric(text, bytes))?,
        oid::UUID => put_uuid(text, out)?,
        oid::JSONB => {
            const VERSION: u8 = 1;
            out.put_u8(VERSION);
            out.put_slice(text.as_bytes());
        }
        oid::BYTEA => put_bytea(text, out)?,
        _ => match element_of(oid) {
            Some(element) => put_array(element, text, out)?,
            None => out.put_slice(text.as_bytes()),
        },
    }
    Ok(())
}

fn parse<T: std::str::FromStr>(type_name: &'static str, text: &str) -> Result<T, EncodeError> {
    text.parse()
        .map_err(|_| EncodeError::malformed(type_name, text))
}

fn put_with(
    out: &mut BytesMut,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let mut bytes = Vec::with_capacity(24);
    write(&mut bytes)?;
    out.put_slice(&bytes);
    Ok(())
}

fn hex_pairs(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |b: u8| (b as char).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let pairs = digits.chunks(2);
    pairs
        .map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?))
        .collect()
}

fn put_uuid(text: &str, out: &mut BytesMut) -> Result<(), EncodeError> {
    let digits: Vec<u8> = text.bytes().filter(|&b| b != b'-').collect();
    match hex_pairs(&digits) {
        Some(bytes) if bytes.len() == 16 => {
            out.put_slice(&bytes);
            Ok(())
        }
        _ => Err(EncodeError::malformed("uuid", text)),
    }
}

fn put_bytea(text: &str, out: &mut BytesMut) -> Result<(), EncodeError> {
    let bytes = text
        .strip_prefix("\\x")
        .and_then(|digits| hex_pairs(digits.as_bytes()));
    out.put_slice(&bytes.ok_or_else(|| EncodeError::malformed("bytea", text))?);
    Ok(())
}

/// Appends an array: dimensions, whether it has NULLs, element type, bounds, elements.
fn put_array(element: u32, text: &str, out: &mut BytesMut) -> Result<(), EncodeError> {
    let literal = array::parse(text).ok_or_else(|| EncodeError::malformed("array", text))?;
    let has_null = literal.elements.iter().any(Option::is_none);
    put_array_header(element, &literal.dimensions, has_null, out);
    for item in &literal.elements {
        match item {
            None => out.put_i32(-1),
            Some(text) => put_sized(out, |out| put(element, text, out))?,
        }
    }
    Ok(())
}

/// Appends the header of a binary array.
pub fn put_array_header(
    element: u32,
    dimensions: &[array::Dimension],
    has_null: bool,
    out: &mut BytesMut,
) {
    out.put_i32(dimensions.len() as i32);
    out.put_i32(i32::from(has_null));
    out.put_u32(element);
    for dimension in dimensions {
        out.put_i32(dimension.length);
        out.put_i32(dimension.lower_bound);
    }
}

/// Appends what `write` writes after its length.
pub fn put_sized(
    out: &mut BytesMut,
    write: impl FnOnce(&mut BytesMut) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let start = out.len();
    out.put_i32(0);
    write(out)?;
    let length = i32::try_from(out.len() - start - 4).map_err(|_| EncodeError::OutOfRange {
        type_name: "value size",
    })?;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}
