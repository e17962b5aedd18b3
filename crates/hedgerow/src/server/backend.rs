//! What the server sends: messages appended to an output buffer.
//!
//! Rows are written by [`protocol::encode`]; everything else is here.

use bytes::{BufMut, BytesMut};

use super::failure::Failure;
use protocol::encode::{EncodeError, Format, WireType};

/// State of the session's transaction, as ReadyForQuery tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TransactionIndicator {
    /// None is open.
    Idle = b'I',
    /// One is open.
    Open = b'T',
    /// One is open and has failed: only its end is accepted.
    Failed = b'E',
}

/// A column of a RowDescription.
pub struct ColumnDescription<'a> {
    /// The column's name.
    pub name: &'a str,
    /// Its type.
    pub wire_type: WireType,
    /// The format of its cells.
    pub format: Format,
}

/// Appends a message whose body `write` writes.
fn put(kind: u8, out: &mut BytesMut, write: impl FnOnce(&mut BytesMut)) {
    out.put_u8(kind);
    let start = out.len();
    out.put_i32(0);
    write(out);
    // Messages other than rows are small: names, types, error texts.
    let length = i32::try_from(out.len() - start).unwrap_or(i32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends text and its zero byte; zero bytes inside would end it early and are left out.
fn put_text(text: &str, out: &mut BytesMut) {
    for part in text.split('\0') {
        out.put_slice(part.as_bytes());
    }
    out.put_u8(0);
}

/// The password is asked for with these SASL mechanisms.
pub fn authentication_sasl(mechanisms: &[&str], out: &mut BytesMut) {
    put(b'R', out, |out| {
        out.put_i32(10);
        for mechanism in mechanisms {
            put_text(mechanism, out);
        }
        out.put_u8(0);
    });
}

/// The server's first SASL answer.
pub fn authentication_sasl_continue(data: &str, out: &mut BytesMut) {
    put(b'R', out, |out| {
        out.put_i32(11);
        out.put_slice(data.as_bytes());
    });
}

/// The server's last SASL answer.
pub fn authentication_sasl_final(data: &str, out: &mut BytesMut) {
    put(b'R', out, |out| {
        out.put_i32(12);
        out.put_slice(data.as_bytes());
    });
}

/// The client is who it says it is.
pub fn authentication_ok(out: &mut BytesMut) {
    put(b'R', out, |out| out.put_i32(0));
}

/// Minor version 0 is spoken, and these `_pq_.` options are not known.
pub fn negotiate_protocol_version(unknown_options: &[&str], out: &mut BytesMut) {
    put(b'v', out, |out| {
        out.put_i32(0);
        out.put_i32(i32::try_from(unknown_options.len()).unwrap_or(0));
        for option in unknown_options {
            put_text(option, out);
        }
    });
}

/// A setting has this value.
pub fn parameter_status(name: &str, value: &str, out: &mut BytesMut) {
    put(b'S', out, |out| {
        put_text(name, out);
        put_text(value, out);
    });
}

/// What a cancel request needs.
pub fn backend_key_data(process: u32, secret: u32, out: &mut BytesMut) {
    put(b'K', out, |out| {
        out.put_u32(process);
        out.put_u32(secret);
    });
}

/// The next statement may come.
pub fn ready_for_query(indicator: TransactionIndicator, out: &mut BytesMut) {
    put(b'Z', out, |out| out.put_u8(indicator as u8));
}

/// The types of a statement's parameters.
pub fn parameter_description(oids: impl ExactSizeIterator<Item = u32>, out: &mut BytesMut) {
    put(b't', out, |out| {
        out.put_u16(u16::try_from(oids.len()).unwrap_or(u16::MAX));
        for oid in oids {
            out.put_u32(oid);
        }
    });
}

/// The columns of a result.
pub fn row_description<'a>(
    columns: impl ExactSizeIterator<Item = ColumnDescription<'a>>,
    out: &mut BytesMut,
) {
    put(b'T', out, |out| {
        out.put_u16(u16::try_from(columns.len()).unwrap_or(u16::MAX));
        for column in columns {
            put_text(column.name, out);
            out.put_u32(0); // not told: the table's id
            out.put_u16(0); // not told: the column's number in it
            out.put_u32(column.wire_type.oid);
            out.put_i16(column.wire_type.size());
            out.put_i32(column.wire_type.modifier);
            out.put_i16(match column.format {
                Format::Text => 0,
                Format::Binary => 1,
            });
        }
    });
}

/// Data of COPY follow, all columns in one format.
pub fn copy_out_response(format: Format, columns: usize, out: &mut BytesMut) {
    let code = match format {
        Format::Text => 0,
        Format::Binary => 1,
    };
    put(b'H', out, |out| {
        out.put_u8(code);
        out.put_u16(u16::try_from(columns).unwrap_or(u16::MAX));
        for _ in 0..columns {
            out.put_u16(u16::from(code));
        }
    });
}

/// A piece of COPY's data, if `write` writes any. After an error nothing has been added.
pub fn copy_data(
    out: &mut BytesMut,
    write: impl FnOnce(&mut BytesMut) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let start = out.len();
    out.put_u8(b'd');
    out.put_i32(0);
    let written = write(out);
    let length = i32::try_from(out.len() - start - 1);
    let empty = out.len() == start + 5;
    match (written, length) {
        (Ok(()), Ok(length)) if !empty => {
            out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
            Ok(())
        }
        (written, length) => {
            out.truncate(start);
            written?;
            length.map(drop).map_err(|_| EncodeError::OutOfRange {
                type_name: "row size",
            })
        }
    }
}

/// COPY's data are complete.
pub fn copy_done(out: &mut BytesMut) {
    put(b'c', out, |_| {});
}

/// The statement gives no rows.
pub fn no_data(out: &mut BytesMut) {
    put(b'n', out, |_| {});
}

/// A statement has been prepared.
pub fn parse_complete(out: &mut BytesMut) {
    put(b'1', out, |_| {});
}

/// A portal has been made.
pub fn bind_complete(out: &mut BytesMut) {
    put(b'2', out, |_| {});
}

/// A statement or portal has been forgotten.
pub fn close_complete(out: &mut BytesMut) {
    put(b'3', out, |_| {});
}

/// The portal has more rows.
pub fn portal_suspended(out: &mut BytesMut) {
    put(b's', out, |_| {});
}

/// The text held no statement.
pub fn empty_query_response(out: &mut BytesMut) {
    put(b'I', out, |_| {});
}

/// A statement has been carried out.
pub fn command_complete(tag: &str, out: &mut BytesMut) {
    put(b'C', out, |out| put_text(tag, out));
}

/// A statement, or the connection, failed.
pub fn error_response(failure: &Failure, out: &mut BytesMut) {
    put(b'E', out, |out| {
        let severity = if failure.fatal { "FATAL" } else { "ERROR" };
        put_fields(severity, failure.code, &failure.message, out);
        let position = failure.position.map(|position| position.to_string());
        let optional = [
            (b'D', failure.detail.as_deref()),
            (b'H', failure.hint.as_deref()),
            (b'P', position.as_deref()),
        ];
        for (field, text) in optional {
            if let Some(text) = text {
                out.put_u8(field);
                put_text(text, out);
            }
        }
        out.put_u8(0);
    });
}

/// Something to tell the client that is not an error.
pub fn notice_response(severity: &str, code: &str, message: &str, out: &mut BytesMut) {
    put(b'N', out, |out| {
        put_fields(severity, code, message, out);
        out.put_u8(0);
    });
}

fn put_fields(severity: &str, code: &str, message: &str, out: &mut BytesMut) {
    for (field, text) in [
        (b'S', severity),
        (b'V', severity),
        (b'C', code),
        (b'M', message),
    ] {
        out.put_u8(field);
        put_text(text, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::encode::wire_type::oid;

    #[test]
    fn lengths_cover_the_body_and_themselves() {
        let mut out = BytesMut::new();
        ready_for_query(TransactionIndicator::Open, &mut out);
        assert_eq!(&out[..], b"Z\0\0\0\x05T");
        out.clear();
        command_complete("SELECT 1\0x", &mut out);
        assert_eq!(&out[..], b"C\0\0\0\x0eSELECT 1x\0");
    }

    #[test]
    fn a_row_description_tells_type_size_modifier_and_format() {
        let mut out = BytesMut::new();
        let column = ColumnDescription {
            name: "a",
            wire_type: WireType {
                oid: oid::INT4,
                modifier: -1,
            },
            format: Format::Binary,
        };
        row_description([column].into_iter(), &mut out);
        let body = b"\0\x01a\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\x01";
        assert_eq!(&out[5..], body);
    }

    #[test]
    fn an_error_has_its_fields_in_order() {
        let mut out = BytesMut::new();
        let failure = Failure::new("42P01", "relation does not exist").with_hint("look");
        error_response(&failure, &mut out);
        assert_eq!(
            &out[5..],
            b"SERROR\0VERROR\0C42P01\0Mrelation does not exist\0Hlook\0\0"
        );
    }
}
