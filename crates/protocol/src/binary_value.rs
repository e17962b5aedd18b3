//! A parameter's value in binary, as PostgreSQL's text of it, so that there is one way from text
//! to each type.
//!
//! Invariants: no bytes make it panic, or call itself deeper than an array's elements; an array's
//! text takes at most a fixed multiple of its bytes and a MiB, because ten bytes may be a number of
//! a hundred thousand digits.

use bytes::{Buf, Bytes};

use crate::encode::binary::is_text_like;
use crate::encode::wire_type::{element_of, oid};
use crate::encode::{array, datetime, number};

/// Longest text of an array: a multiple of its bytes (no other type than numeric comes near it) …
const ARRAY_TEXT_MULTIPLE: usize = 16;
/// … and what some long numbers take, bytes.
const ARRAY_TEXT_FIXED_BYTES: usize = 1 << 20;

/// A value that is not what its type asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BinaryError {
    /// Not the binary form of the type, or of a type whose binary form is not read.
    #[error("incorrect binary data format for a parameter of type {0}")]
    Value(u32),
    /// Not an array of values of a plain type.
    #[error("incorrect binary data format for an array parameter")]
    Array,
    /// Arrays of arrays.
    #[error("array parameters of more than one dimension are not supported")]
    Dimensions,
    /// The text would take far more memory than what was sent.
    #[error("the numbers of an array parameter have too many digits")]
    Long,
    /// A text that is none.
    #[error("invalid byte sequence for encoding \"UTF8\"")]
    NotUtf8,
}

impl BinaryError {
    /// SQLSTATE
    pub fn code(self) -> &'static str {
        match self {
            Self::Value(_) | Self::Array => "22P03",
            Self::Dimensions => "0A000",
            Self::Long => "54000",
            Self::NotUtf8 => "22021",
        }
    }
}

/// PostgreSQL's text of a binary value of this type.
pub fn text_of_binary(type_oid: u32, value: Bytes) -> Result<String, BinaryError> {
    let length = value.len();
    let mut rest = value.clone();
    let mut text = String::new();
    let written = match (type_oid, length) {
        (oid::BOOL, 1) => return Ok(if rest.get_u8() == 0 { "f" } else { "t" }.to_owned()),
        (oid::INT2, 2) => return Ok(rest.get_i16().to_string()),
        (oid::INT4, 4) => return Ok(rest.get_i32().to_string()),
        (oid::INT8, 8) => return Ok(rest.get_i64().to_string()),
        (oid::OID, 4) => return Ok(rest.get_u32().to_string()),
        (oid::FLOAT4, 4) => number::write_float4(rest.get_f32(), &mut text),
        (oid::FLOAT8, 8) => number::write_float8(rest.get_f64(), &mut text),
        (oid::DATE, 4) => {
            datetime::write_date(datetime::date_from_binary(rest.get_i32()), &mut text)
        }
        (oid::TIME, 8) => datetime::write_time(rest.get_i64(), &mut text),
        (oid::TIMESTAMP, 8) => {
            let micros = datetime::timestamp_from_binary(rest.get_i64());
            datetime::write_timestamp(micros, "", &mut text)
        }
        (oid::TIMESTAMPTZ, 8) => {
            let micros = datetime::timestamp_from_binary(rest.get_i64());
            datetime::write_timestamp(micros, "+00", &mut text)
        }
        (oid::INTERVAL, 16) => {
            let (micros, days, months) = (rest.get_i64(), rest.get_i32(), rest.get_i32());
            datetime::Interval {
                months,
                days,
                micros,
            }
            .write(&mut text)
        }
        (oid::UUID, 16) => return Ok(uuid_text(&value)),
        (oid::NUMERIC, _) => {
            return number::numeric_text(&value).ok_or(BinaryError::Value(type_oid));
        }
        (oid::JSONB, 1..) if rest.get_u8() == 1 => return utf8(rest.to_vec()),
        (oid::BYTEA, _) => return Ok(hex_text(&value)),
        _ if type_oid == 0 || is_text_like(type_oid) => return utf8(value.to_vec()),
        _ if element_of(type_oid).is_some() => return array_text(value),
        _ => return Err(BinaryError::Value(type_oid)),
    };
    written
        .map(|()| text)
        .map_err(|_| BinaryError::Value(type_oid))
}

/// The text of a value that is text in both forms.
pub fn utf8(bytes: Vec<u8>) -> Result<String, BinaryError> {
    String::from_utf8(bytes).map_err(|_| BinaryError::NotUtf8)
}

fn hex_text(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold("\\x".to_owned(), |mut text, byte| {
        // Writing to a string cannot fail.
        _ = write!(text, "{byte:02x}");
        text
    })
}

fn uuid_text(bytes: &[u8]) -> String {
    let hex = hex_text(bytes);
    let digits = &hex[2..];
    let cuts = [0..8, 8..12, 12..16, 16..20, 20..32];
    cuts.map(|cut| &digits[cut]).join("-")
}

/// The literal of a binary array of at most one dimension.
fn array_text(mut value: Bytes) -> Result<String, BinaryError> {
    let text_bytes_max = value.len() * ARRAY_TEXT_MULTIPLE + ARRAY_TEXT_FIXED_BYTES;
    let (element, length) = array_header(&mut value)?;
    let mut text = "{".to_owned();
    for index in 0..length {
        if index > 0 {
            text.push(',');
        }
        match sized(&mut value)? {
            None => text.push_str("NULL"),
            Some(item) => {
                let item = text_of_binary(element, item)?;
                array::write_element(&item, &mut text).map_err(|_| BinaryError::Array)?;
            }
        }
        if text.len() > text_bytes_max {
            return Err(BinaryError::Long);
        }
    }
    text.push('}');
    Ok(text)
}

/// The type of an array's elements, which is not an array, and their number.
fn array_header(value: &mut Bytes) -> Result<(u32, i32), BinaryError> {
    let bad = |_| BinaryError::Array;
    let dimensions = value.try_get_i32().map_err(bad)?;
    _ = value.try_get_i32().map_err(bad)?; // has NULLs: seen from the elements
    let element = value.try_get_u32().map_err(bad)?;
    if element_of(element).is_some() {
        return Err(BinaryError::Array);
    }
    match dimensions {
        0 => Ok((element, 0)),
        1 => {
            let length = value.try_get_i32().map_err(bad)?;
            _ = value.try_get_i32().map_err(bad)?; // lower bound: means nothing here
            Ok((element, length))
        }
        _ => Err(BinaryError::Dimensions),
    }
}

/// An element after its length; `None` is NULL.
fn sized(value: &mut Bytes) -> Result<Option<Bytes>, BinaryError> {
    let size = match value.try_get_i32().map_err(|_| BinaryError::Array)? {
        -1 => return Ok(None),
        size => usize::try_from(size).map_err(|_| BinaryError::Array)?,
    };
    if size > value.len() {
        return Err(BinaryError::Array);
    }
    Ok(Some(value.split_to(size)))
}

#[cfg(test)]
mod tests {
    use bytes::{BufMut, BytesMut};

    use super::*;

    /// An array with the elements' type, and the elements as they are sent.
    fn array_of(element: u32, items: &[&[u8]]) -> Bytes {
        let mut out = BytesMut::new();
        out.put_i32(1);
        out.put_i32(0);
        out.put_u32(element);
        out.put_i32(i32::try_from(items.len()).expect("few"));
        out.put_i32(1);
        for item in items {
            out.put_i32(i32::try_from(item.len()).expect("short"));
            out.put_slice(item);
        }
        out.freeze()
    }

    #[test]
    fn arrays_do_not_nest() {
        let plain = array_of(oid::INT4, &[&7_i32.to_be_bytes()]);
        assert_eq!(text_of_binary(1007, plain.clone()), Ok("{7}".to_owned()));
        let nested = array_of(1007, &[&plain]);
        assert_eq!(text_of_binary(1007, nested), Err(BinaryError::Array));
    }

    #[test]
    fn there_is_no_negative_zero() {
        let minus_zero = [0, 0, 0, 0, 0x40, 0, 0, 2];
        let text = text_of_binary(oid::NUMERIC, Bytes::copy_from_slice(&minus_zero));
        assert_eq!(text, Ok("0.00".to_owned()));
    }

    #[test]
    fn a_few_bytes_of_numbers_do_not_become_gigabytes_of_text() {
        // One digit before 131,068 zeros.
        let number = [0, 1, 0x7f, 0xff, 0, 0, 0, 0, 0, 1];
        let text = text_of_binary(oid::NUMERIC, Bytes::copy_from_slice(&number));
        assert_eq!(text.map(|text| text.len()), Ok(131_069));
        let many = array_of(oid::NUMERIC, &[&number[..]; 10]);
        assert_eq!(text_of_binary(1231, many), Err(BinaryError::Long));
    }
}
