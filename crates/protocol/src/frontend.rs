//! What a client sends: frames cut from the byte stream, and messages read from frames.
//!
//! A frame's length is checked against the limit of its kind before anything is allocated for
//! it, and a message is read from exactly its frame, so that no message can reach into the next
//! one. Every read is checked: malformed bytes are an error (08P01), never a panic.

use bytes::{Buf, Bytes, BytesMut};

/// Longest startup packet, bytes; PostgreSQL's limit.
const STARTUP_BYTES_MAX: usize = 10_000;
/// Longest message before the client is known, bytes.
const UNAUTHENTICATED_BYTES_MAX: usize = 16 << 10;
/// Longest message that carries SQL text or parameters, bytes.
const LARGE_BYTES_MAX: usize = 64 << 20;
/// Longest message of any other kind, bytes.
const SMALL_BYTES_MAX: usize = 16 << 10;

const LENGTH_BYTES: usize = 4;

const PROTOCOL_MAJOR: u16 = 3;
const CANCEL_REQUEST: u32 = 80_877_102;
const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;

/// The client does not speak the protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A length that no such message has.
    #[error("invalid message length {0}")]
    Length(i64),
    /// The content is not what its kind asks for.
    #[error("invalid {0} message")]
    Malformed(&'static str),
    /// A kind that does not exist, or not in this state.
    #[error("unexpected message type 0x{0:02x}")]
    Unexpected(u8),
    /// A protocol version that is not spoken here.
    #[error("unsupported frontend protocol {major}.{minor}: the server supports 3.0")]
    Version {
        /// Major version asked for.
        major: u16,
        /// Minor version asked for.
        minor: u16,
    },
}

/// The first packet of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstPacket {
    /// May we talk TLS?
    SslRequest,
    /// May we talk GSSAPI?
    GssRequest,
    /// End another connection's statement.
    Cancel(CancelKey),
    /// Let me in.
    Startup(Startup),
}

/// What a cancel request proves its right with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelKey {
    /// The connection's number, as told at its start.
    pub process: u32,
    /// The connection's secret, as told at its start.
    pub secret: u32,
}

/// The startup packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Startup {
    /// The minor protocol version asked for; 0 is what it gets.
    pub minor: u16,
    /// Names and values, in order.
    pub parameters: Vec<(String, String)>,
}

impl Startup {
    /// The value of a parameter.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Whether a name means a prepared statement or a portal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A prepared statement.
    Statement,
    /// A portal.
    Portal,
}

/// A message of an authenticated client.
#[derive(Debug, PartialEq, Eq)]
pub enum Message {
    /// Run this text (simple protocol).
    Query(String),
    /// Prepare a statement.
    Parse {
        /// Its name; empty for the unnamed one.
        name: String,
        /// Its text.
        sql: String,
        /// Declared parameter types, 0 for "find out".
        parameter_oids: Vec<u32>,
    },
    /// Make a portal of a statement.
    Bind(Bind),
    /// Tell about a statement or portal.
    Describe(Target, String),
    /// Fetch rows from a portal.
    Execute {
        /// Its name.
        portal: String,
        /// Rows at most; 0 for all.
        rows_max: u32,
    },
    /// Forget a statement or portal.
    Close(Target, String),
    /// End of an extended query.
    Sync,
    /// Send what you have.
    Flush,
    /// Goodbye.
    Terminate,
    /// Part of a COPY that we never asked for; PostgreSQL ignores it outside of COPY.
    CopyLeftover,
}

/// Content of a Bind message.
#[derive(Debug, PartialEq, Eq)]
pub struct Bind {
    /// The portal's name.
    pub portal: String,
    /// The statement's name.
    pub statement: String,
    /// Formats of the parameters: none, one for all, or one each.
    pub parameter_formats: Vec<i16>,
    /// The parameters; `None` for NULL.
    pub parameters: Vec<Option<Bytes>>,
    /// Formats of the result columns: none, one for all, or one each.
    pub result_formats: Vec<i16>,
}

/// Takes the first packet from the front of `buffer`, once it is complete.
pub fn take_first_packet(buffer: &mut BytesMut) -> Result<Option<FirstPacket>, ProtocolError> {
    let Some(length) = peek_length(buffer, 0) else {
        return Ok(None);
    };
    let length = check_length(length, LENGTH_BYTES + 4, STARTUP_BYTES_MAX)?;
    if buffer.len() < length {
        return Ok(None);
    }
    let frame = buffer.split_to(length).freeze();
    let mut reader = Reader {
        rest: frame.slice(LENGTH_BYTES..),
        kind: "startup",
    };
    match reader.u32()? {
        SSL_REQUEST => Ok(Some(FirstPacket::SslRequest)),
        GSS_REQUEST => Ok(Some(FirstPacket::GssRequest)),
        CANCEL_REQUEST => {
            let key = CancelKey {
                process: reader.u32()?,
                secret: reader.u32()?,
            };
            Ok(Some(FirstPacket::Cancel(key)))
        }
        version => read_startup(version, reader).map(|s| Some(FirstPacket::Startup(s))),
    }
}

fn read_startup(version: u32, mut reader: Reader) -> Result<Startup, ProtocolError> {
    let [a, b, c, d] = version.to_be_bytes();
    let (major, minor) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    if major != PROTOCOL_MAJOR {
        return Err(ProtocolError::Version { major, minor });
    }
    let mut parameters = Vec::new();
    loop {
        let name = reader.text()?;
        if name.is_empty() {
            break;
        }
        parameters.push((name, reader.text()?));
    }
    reader.end()?;
    Ok(Startup { minor, parameters })
}

/// Takes the body of a password message (SASL response) from the front of `buffer`, once it is
/// complete.
pub fn take_password(buffer: &mut BytesMut) -> Result<Option<Bytes>, ProtocolError> {
    let Some((kind, body)) = take_frame(buffer, |_| UNAUTHENTICATED_BYTES_MAX)? else {
        return Ok(None);
    };
    match kind {
        b'p' => Ok(Some(body)),
        other => Err(ProtocolError::Unexpected(other)),
    }
}

/// Content of a SASLInitialResponse message: mechanism and client-first-message.
pub fn read_sasl_initial(body: Bytes) -> Result<(String, Bytes), ProtocolError> {
    let mut reader = Reader {
        rest: body,
        kind: "SASL",
    };
    let mechanism = reader.text()?;
    let data = reader.sized()?.unwrap_or_default();
    reader.end()?;
    Ok((mechanism, data))
}

/// Takes a message from the front of `buffer`, once it is complete.
pub fn take_message(buffer: &mut BytesMut) -> Result<Option<Message>, ProtocolError> {
    let limit = |kind| match kind {
        b'Q' | b'P' | b'B' | b'd' => LARGE_BYTES_MAX,
        _ => SMALL_BYTES_MAX,
    };
    match take_frame(buffer, limit)? {
        Some((kind, body)) => read_message(kind, body).map(Some),
        None => Ok(None),
    }
}

fn take_frame(
    buffer: &mut BytesMut,
    limit: impl Fn(u8) -> usize,
) -> Result<Option<(u8, Bytes)>, ProtocolError> {
    let Some(length) = peek_length(buffer, 1) else {
        return Ok(None);
    };
    let kind = buffer[0];
    if !kind.is_ascii_alphabetic() {
        return Err(ProtocolError::Unexpected(kind));
    }
    let length = check_length(length, LENGTH_BYTES, limit(kind))?;
    if buffer.len() < 1 + length {
        return Ok(None);
    }
    let mut frame = buffer.split_to(1 + length).freeze();
    frame.advance(1 + LENGTH_BYTES);
    Ok(Some((kind, frame)))
}

fn peek_length(buffer: &BytesMut, at: usize) -> Option<i32> {
    let bytes = buffer.get(at..at + LENGTH_BYTES)?;
    Some(i32::from_be_bytes(bytes.try_into().ok()?))
}

fn check_length(length: i32, least: usize, most: usize) -> Result<usize, ProtocolError> {
    match usize::try_from(length) {
        Ok(length) if (least..=most).contains(&length) => Ok(length),
        _ => Err(ProtocolError::Length(i64::from(length))),
    }
}

fn read_message(kind: u8, body: Bytes) -> Result<Message, ProtocolError> {
    let reader = |kind| Reader {
        rest: body.clone(),
        kind,
    };
    match kind {
        b'Q' => {
            let mut reader = reader("Query");
            let sql = reader.text()?;
            reader.end()?;
            Ok(Message::Query(sql))
        }
        b'P' => read_parse(reader("Parse")),
        b'B' => read_bind(reader("Bind")),
        b'D' => reader("Describe")
            .target()
            .map(|(target, name)| Message::Describe(target, name)),
        b'C' => reader("Close")
            .target()
            .map(|(target, name)| Message::Close(target, name)),
        b'E' => {
            let mut reader = reader("Execute");
            let portal = reader.text()?;
            let rows_max = u32::try_from(reader.i32()?).unwrap_or(0);
            reader.end()?;
            Ok(Message::Execute { portal, rows_max })
        }
        b'S' => Ok(Message::Sync),
        b'H' => Ok(Message::Flush),
        b'X' => Ok(Message::Terminate),
        b'd' | b'c' | b'f' => Ok(Message::CopyLeftover),
        other => Err(ProtocolError::Unexpected(other)),
    }
}

fn read_parse(mut reader: Reader) -> Result<Message, ProtocolError> {
    let (name, sql) = (reader.text()?, reader.text()?);
    let parameter_oids = reader.list(Reader::u32)?;
    reader.end()?;
    Ok(Message::Parse {
        name,
        sql,
        parameter_oids,
    })
}

fn read_bind(mut reader: Reader) -> Result<Message, ProtocolError> {
    let bind = Bind {
        portal: reader.text()?,
        statement: reader.text()?,
        parameter_formats: reader.list(Reader::i16)?,
        parameters: reader.list(Reader::sized)?,
        result_formats: reader.list(Reader::i16)?,
    };
    reader.end()?;
    Ok(Message::Bind(bind))
}

/// Reads a message body front to back.
struct Reader {
    rest: Bytes,
    kind: &'static str,
}

impl Reader {
    fn malformed(&self) -> ProtocolError {
        ProtocolError::Malformed(self.kind)
    }

    fn take(&mut self, length: usize) -> Result<Bytes, ProtocolError> {
        if length > self.rest.len() {
            return Err(self.malformed());
        }
        Ok(self.rest.split_to(length))
    }

    fn i16(&mut self) -> Result<i16, ProtocolError> {
        self.rest.try_get_i16().map_err(|_| self.malformed())
    }

    fn i32(&mut self) -> Result<i32, ProtocolError> {
        self.rest.try_get_i32().map_err(|_| self.malformed())
    }

    fn u32(&mut self) -> Result<u32, ProtocolError> {
        self.rest.try_get_u32().map_err(|_| self.malformed())
    }

    /// A string up to its zero byte. Anything but UTF-8 is malformed.
    fn text(&mut self) -> Result<String, ProtocolError> {
        let end = self
            .rest
            .iter()
            .position(|&b| b == 0)
            .ok_or_else(|| self.malformed())?;
        let bytes = self.take(end + 1)?;
        String::from_utf8(bytes[..end].to_vec()).map_err(|_| self.malformed())
    }

    /// Bytes after their length; `None` for length -1.
    fn sized(&mut self) -> Result<Option<Bytes>, ProtocolError> {
        match self.i32()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).map_err(|_| self.malformed())?;
                self.take(length).map(Some)
            }
        }
    }

    /// Items after their number. The vector grows with what is really there.
    fn list<T>(
        &mut self,
        item: impl Fn(&mut Self) -> Result<T, ProtocolError>,
    ) -> Result<Vec<T>, ProtocolError> {
        let count = self.rest.try_get_u16().map_err(|_| self.malformed())?;
        (0..count).map(|_| item(self)).collect()
    }

    fn target(mut self) -> Result<(Target, String), ProtocolError> {
        let target = match self.take(1)?[0] {
            b'S' => Target::Statement,
            b'P' => Target::Portal,
            _ => return Err(self.malformed()),
        };
        let name = self.text()?;
        self.end()?;
        Ok((target, name))
    }

    fn end(&self) -> Result<(), ProtocolError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.malformed())
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::BufMut;

    use super::*;

    fn frame(kind: u8, body: &[u8]) -> BytesMut {
        let mut out = BytesMut::new();
        out.put_u8(kind);
        out.put_i32(i32::try_from(body.len() + 4).expect("short"));
        out.put_slice(body);
        out
    }

    fn startup(code: u32, body: &[u8]) -> BytesMut {
        let mut out = BytesMut::new();
        out.put_i32(i32::try_from(body.len() + 8).expect("short"));
        out.put_u32(code);
        out.put_slice(body);
        out
    }

    const VERSION_3: u32 = 3 << 16;

    #[test]
    fn messages_are_read_from_exactly_their_frame() {
        let mut buffer = frame(b'P', b"s\0select $1\0\0\x01\0\0\0\x17");
        buffer.extend_from_slice(&frame(b'S', b""));
        let parse = Message::Parse {
            name: "s".into(),
            sql: "select $1".into(),
            parameter_oids: vec![23],
        };
        assert_eq!(take_message(&mut buffer), Ok(Some(parse)));
        assert_eq!(take_message(&mut buffer), Ok(Some(Message::Sync)));
        assert_eq!(take_message(&mut buffer), Ok(None));

        let mut buffer = frame(
            b'B',
            b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x01x\xff\xff\xff\xff\0\0",
        );
        let bind = Bind {
            portal: "p".into(),
            statement: "s".into(),
            parameter_formats: vec![1],
            parameters: vec![Some(Bytes::from_static(b"x")), None],
            result_formats: vec![],
        };
        assert_eq!(take_message(&mut buffer), Ok(Some(Message::Bind(bind))));
    }

    #[test]
    fn bad_lengths_are_refused_before_the_bytes_arrive() {
        for length in [i32::MIN, -1, 0, 3, i32::MAX] {
            let mut buffer = BytesMut::new();
            buffer.put_u8(b'Q');
            buffer.put_i32(length);
            let error = ProtocolError::Length(i64::from(length));
            assert_eq!(take_message(&mut buffer), Err(error.clone()));
            let mut first = BytesMut::new();
            first.put_i32(length);
            assert_eq!(take_first_packet(&mut first), Err(error));
        }
        let mut password = BytesMut::new();
        password.put_u8(b'p');
        password.put_i32(1 << 20);
        assert!(take_password(&mut password).is_err());
    }

    #[test]
    fn content_that_ends_early_or_late_is_malformed() {
        let bodies: [(u8, &[u8]); 7] = [
            (b'Q', b"select 1"),
            (b'Q', b"select 1\0x"),
            (b'P', b"s\0select\0\xff\xff"),
            (b'B', b"p\0s\0\0\0\0\x01\x7f\xff\xff\xff"),
            (b'D', b"Xname\0"),
            (b'E', b"p\0\0\0"),
            (b'Q', b"\xff\xfe\0"),
        ];
        for (kind, body) in bodies {
            let result = take_message(&mut frame(kind, body));
            assert!(
                matches!(result, Err(ProtocolError::Malformed(_))),
                "{result:?}"
            );
        }
        assert_eq!(
            take_message(&mut frame(b'!', b"")),
            Err(ProtocolError::Unexpected(b'!'))
        );
    }

    #[test]
    fn first_packets_are_told_apart() {
        assert_eq!(
            take_first_packet(&mut startup(SSL_REQUEST, b"")),
            Ok(Some(FirstPacket::SslRequest))
        );
        let key = CancelKey {
            process: 1,
            secret: 2,
        };
        assert_eq!(
            take_first_packet(&mut startup(CANCEL_REQUEST, b"\0\0\0\x01\0\0\0\x02")),
            Ok(Some(FirstPacket::Cancel(key)))
        );
        let packet = take_first_packet(&mut startup(VERSION_3, b"user\0me\0\0"));
        let Ok(Some(FirstPacket::Startup(start))) = packet else {
            panic!("{packet:?}")
        };
        assert_eq!(start.parameter("user"), Some("me"));
        let old = take_first_packet(&mut startup(2 << 16, b"\0"));
        assert_eq!(old, Err(ProtocolError::Version { major: 2, minor: 0 }));
        assert!(take_first_packet(&mut startup(VERSION_3, b"user\0me")).is_err());
    }

    #[test]
    fn garbage_is_never_a_panic() {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        for _ in 0..20_000 {
            let mut bytes = Vec::new();
            for _ in 0..state % 40 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                bytes.push((state >> 33) as u8);
            }
            state = state.wrapping_add(1);
            for kind in *b"QPBDCESHXdp" {
                // Only that they return matters.
                _ = take_message(&mut frame(kind, &bytes));
            }
            _ = take_message(&mut BytesMut::from(&bytes[..]));
            _ = take_first_packet(&mut startup(VERSION_3, &bytes));
            _ = take_first_packet(&mut BytesMut::from(&bytes[..]));
            _ = read_sasl_initial(Bytes::from(bytes));
        }
    }
}
