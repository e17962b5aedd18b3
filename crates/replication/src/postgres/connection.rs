//! A small blocking PostgreSQL client: simple queries, COPY out, the replication stream.
//!
//! One socket, one input buffer, frames handed out as slices of that buffer. A caller that
//! waits does so in short turns and is let go when the process is told to stop.
//!
//! Session settings are pinned at startup, so that the text form of every value is the one
//! that [`super::text`] reads, and row-level security fails rather than filters.
//!
//! Does not: retry, use the extended protocol.

use std::io::{self, Read, Write};
use std::ops::Range;
use std::time::Duration;

use bytes::BytesMut;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};
use postgres_protocol::message::{backend, frontend};

use super::config::{BindPassword, PostgresConfig};
use super::pace::WINDOW_BYTES;
use super::socket::Socket;
use crate::source::Stop;

/// How long to wait for bytes before looking whether to stop.
const TURN: Duration = Duration::from_millis(100);
/// The input buffer's size, unless a single message needs more.
const BUFFER_BYTES: usize = 512 << 10;
/// At least a quarter of the buffer is free for a read, so one takes a whole window.
const _: () = assert!(BUFFER_BYTES / 4 >= WINDOW_BYTES);
/// The longest message that PostgreSQL can send.
const FRAME_BYTES_MAX: usize = 1 << 30;
/// Tag and length.
const HEADER_BYTES: usize = 5;
/// `CopyBothResponse`, which the client library does not know.
const COPY_BOTH_RESPONSE_TAG: u8 = b'W';

/// What is said where `channel_binding=require` is not to be had.
const NOT_BOUND: &str = "channel_binding=require, but the server's password dialogue is not bound to an \
     encrypted connection";

/// Settings that every session is started with.
const SESSION_SETTINGS: &str = "-c DateStyle=ISO -c IntervalStyle=postgres -c TimeZone=UTC \
     -c extra_float_digits=3 -c bytea_output=hex -c row_security=off -c statement_timeout=0 \
     -c idle_in_transaction_session_timeout=0 -c lock_timeout=0 -c search_path=pg_catalog";

/// What can go wrong with a connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// No connection, or it was lost. Passes by itself, perhaps.
    #[error("{0}")]
    Lost(String),
    /// The server refused something.
    #[error("{0}")]
    Server(Box<ServerError>),
    /// The server sent something that is not the protocol, or that we do not speak.
    #[error("unexpected data from the server: {0}")]
    Protocol(String),
    /// The server is not as trustworthy as the connection string asks for.
    #[error("{0}")]
    Untrusted(String),
    /// The process was told to stop.
    #[error("shut down")]
    Stopped,
}

/// An error that the server reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    /// The SQLSTATE.
    pub code: String,
    /// The message.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl std::fmt::Display for ServerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (SQLSTATE {})", self.message, self.code)?;
        for more in [&self.detail, &self.hint].into_iter().flatten() {
            write!(f, "; {more}")?;
        }
        Ok(())
    }
}

impl ConnectionError {
    /// Whether trying again later may help: the connection was lost, the server is starting
    /// or stopping, has no free connection, memory or disk, was told by somebody to end what we
    /// asked, met a deadlock, or has not yet noticed that our last connection is gone.
    pub fn passes(&self) -> bool {
        const CODES: [&str; 11] = [
            "53000", "53100", "53200", "53300", "55006", "55P03", "57014", "57P01", "57P02",
            "57P03", "58030",
        ];
        match self {
            Self::Lost(_) => true,
            Self::Server(error) => {
                let code = error.code.as_str();
                CODES.contains(&code) || ["08", "40"].iter().any(|class| code.starts_with(class))
            }
            Self::Protocol(_) | Self::Untrusted(_) | Self::Stopped => false,
        }
    }

    /// Whether the session is gone, as opposed to a statement that was refused.
    pub fn ended_session(&self) -> bool {
        match self {
            Self::Lost(_) => true,
            error => error.code().is_some_and(|code| code.starts_with("57P")),
        }
    }

    /// The SQLSTATE, where the server reported one.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Server(error) => Some(&error.code),
            _ => None,
        }
    }
}

impl From<io::Error> for ConnectionError {
    fn from(error: io::Error) -> Self {
        Self::Lost(error.to_string())
    }
}

/// What a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// SQL.
    Query,
    /// Replication commands, and SQL.
    Replication,
}

/// One message of the server.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// What it is.
    pub tag: u8,
    /// Everything after the length.
    pub body: &'a [u8],
}

/// One row of a simple query: text or NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row(pub Vec<Option<String>>);

impl Row {
    /// A cell, if it is there and not NULL.
    pub fn get(&self, column: usize) -> Option<&str> {
        self.0.get(column).and_then(Option::as_deref)
    }

    /// A cell that must not be NULL.
    pub fn text(&self, column: usize) -> Result<&str, ConnectionError> {
        self.get(column)
            .ok_or_else(|| ConnectionError::Protocol(format!("no column {column}")))
    }

    /// A cell that must be of some type.
    pub fn parse<T: std::str::FromStr>(&self, column: usize) -> Result<T, ConnectionError> {
        let text = self.text(column)?;
        text.parse()
            .map_err(|_| ConnectionError::Protocol(format!("{text:?} in column {column}")))
    }

    /// A boolean cell; NULL is false.
    pub fn flag(&self, column: usize) -> bool {
        self.get(column) == Some("t")
    }
}

/// A session.
pub struct Connection {
    socket: Socket,
    read_timeout: Duration,
    input: Vec<u8>,
    /// The part of `input` that was received and not handed out yet.
    pending: Range<usize>,
    output: BytesMut,
    stop: Stop,
}

impl Connection {
    /// Connects to the first host that accepts and authenticates.
    pub fn open(config: &PostgresConfig, mode: Mode, stop: &Stop) -> Result<Self, ConnectionError> {
        let socket = Socket::connect(config)?;
        socket.set_read_timeout(TURN)?;
        let mut connection = Self {
            socket,
            read_timeout: TURN,
            input: vec![0; BUFFER_BYTES],
            pending: 0..0,
            output: BytesMut::new(),
            stop: stop.clone(),
        };
        connection.start(config, mode)?;
        Ok(connection)
    }

    fn start(&mut self, config: &PostgresConfig, mode: Mode) -> Result<(), ConnectionError> {
        let mut parameters = vec![
            ("user", config.user.as_str()),
            ("database", config.database.as_str()),
            ("application_name", "hedgerow"),
            ("client_encoding", "UTF8"),
            ("options", SESSION_SETTINGS),
        ];
        if mode == Mode::Replication {
            parameters.push(("replication", "database"));
        }
        frontend::startup_message(parameters, &mut self.output)?;
        self.flush()?;
        self.authenticate(config)?;
        self.finish_command().map(drop)
    }

    fn authenticate(&mut self, config: &PostgresConfig) -> Result<(), ConnectionError> {
        let mut scram: Option<ScramSha256> = None;
        let (mut will_bind, mut is_bound) = (false, false);
        loop {
            let frame = self.frame()?;
            if frame.tag != backend::AUTHENTICATION_TAG {
                return Err(unexpected(frame, "authentication"));
            }
            let (kind, body) = read_u32(frame.body)?;
            let body = body.to_vec();
            match kind {
                0 if is_bound || config.bind_password != BindPassword::Always => return Ok(()),
                0 | 3 | 5 if config.bind_password == BindPassword::Always => {
                    return Err(ConnectionError::Untrusted(NOT_BOUND.to_owned()));
                }
                3 => {
                    let password = password(config)?;
                    frontend::password_message(password, &mut self.output)?;
                }
                5 => {
                    let salt = body
                        .first_chunk()
                        .copied()
                        .ok_or_else(|| short("md5 salt"))?;
                    let hash = md5_hash(config.user.as_bytes(), password(config)?, salt);
                    frontend::password_message(hash.as_bytes(), &mut self.output)?;
                }
                10 => {
                    let (mechanism, binding) = self.choose_mechanism(&body, config)?;
                    let exchange = ScramSha256::new(password(config)?, binding);
                    frontend::sasl_initial_response(
                        mechanism,
                        exchange.message(),
                        &mut self.output,
                    )?;
                    scram = Some(exchange);
                    will_bind = mechanism == SCRAM_SHA_256_PLUS;
                }
                11 | 12 => {
                    let exchange = scram.as_mut().ok_or_else(|| short("SASL start"))?;
                    if kind == 12 {
                        exchange.finish(&body).map_err(authentication_failed)?;
                        // Not before: a server that ends the dialogue early has proved nothing.
                        is_bound = will_bind;
                        continue;
                    }
                    exchange.update(&body).map_err(authentication_failed)?;
                    frontend::sasl_response(exchange.message(), &mut self.output)?;
                }
                kind => {
                    let what = format!("authentication method {kind} is not supported");
                    return Err(ConnectionError::Protocol(what));
                }
            }
            self.flush()?;
        }
    }

    /// How to prove the password: bound to the server's certificate, where both sides can.
    fn choose_mechanism(
        &self,
        offered: &[u8],
        config: &PostgresConfig,
    ) -> Result<(&'static str, ChannelBinding), ConnectionError> {
        let offers = |name: &str| offered.split(|&b| b == 0).any(|o| o == name.as_bytes());
        let may_bind = config.bind_password != BindPassword::Never;
        let hash = self.socket.certificate_hash().filter(|_| may_bind);
        if let Some(hash) = hash.clone().filter(|_| offers(SCRAM_SHA_256_PLUS)) {
            let binding = ChannelBinding::tls_server_end_point(hash);
            return Ok((SCRAM_SHA_256_PLUS, binding));
        }
        if config.bind_password == BindPassword::Always {
            return Err(ConnectionError::Untrusted(NOT_BOUND.to_owned()));
        }
        if !offers(SCRAM_SHA_256) {
            let words = "the server does not offer SCRAM-SHA-256";
            return Err(ConnectionError::Protocol(words.to_owned()));
        }
        // The server learns whether we could: it would notice if its offer had been kept from us.
        let binding = match hash {
            Some(_) => ChannelBinding::unrequested(),
            None => ChannelBinding::unsupported(),
        };
        Ok((SCRAM_SHA_256, binding))
    }

    /// Runs one statement and returns its rows.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Row>, ConnectionError> {
        self.send_query(sql)?;
        self.finish_command()
    }

    /// Runs one statement for its effect.
    pub fn execute(&mut self, sql: &str) -> Result<(), ConnectionError> {
        self.query(sql).map(drop)
    }

    /// Starts `COPY … TO STDOUT`; read it with [`Self::copy_data`].
    pub fn copy_out(&mut self, sql: &str) -> Result<(), ConnectionError> {
        self.start_copy(sql, backend::COPY_OUT_RESPONSE_TAG)
    }

    /// Starts `START_REPLICATION`; read it with [`Self::buffered_frame`] and [`Self::fill`].
    pub fn copy_both(&mut self, sql: &str) -> Result<(), ConnectionError> {
        self.start_copy(sql, COPY_BOTH_RESPONSE_TAG)
    }

    fn start_copy(&mut self, sql: &str, response: u8) -> Result<(), ConnectionError> {
        self.send_query(sql)?;
        match self.frame()? {
            frame if frame.tag == response => Ok(()),
            frame => Err(unexpected(frame, "the start of a copy")),
        }
    }

    /// The next piece of a COPY; `None` at its end, after which the session is free again.
    pub fn copy_data(&mut self) -> Result<Option<&[u8]>, ConnectionError> {
        let (tag, body) = self.next_frame()?;
        match tag {
            backend::COPY_DATA_TAG => Ok(Some(&self.input[body])),
            backend::COPY_DONE_TAG => self.finish_command().map(|_| None),
            tag => Err(unexpected(
                Frame {
                    tag,
                    body: &self.input[body],
                },
                "copy data",
            )),
        }
    }

    /// Sends a piece of data on the replication stream.
    pub fn send_copy_data(&mut self, data: &[u8]) -> Result<(), ConnectionError> {
        frontend::CopyData::new(data)?.write(&mut self.output);
        self.flush()
    }

    /// Sends statements without waiting; read the answers with [`Self::buffered_frame`] and [`Self::fill`].
    pub fn send_query(&mut self, sql: &str) -> Result<(), ConnectionError> {
        frontend::query(sql, &mut self.output)?;
        self.flush()
    }

    /// Reads up to the server's next `ReadyForQuery` and returns the rows on the way.
    fn finish_command(&mut self) -> Result<Vec<Row>, ConnectionError> {
        let mut rows = Vec::new();
        let mut failure = None;
        loop {
            let frame = match self.frame() {
                Ok(frame) => frame,
                Err(error @ ConnectionError::Server(_)) => {
                    // A fatal error is followed by the end of the connection, not by
                    // ReadyForQuery: the first error is the one to report.
                    failure.get_or_insert(error);
                    continue;
                }
                Err(error) => return Err(failure.unwrap_or(error)),
            };
            match frame.tag {
                backend::DATA_ROW_TAG => rows.push(read_row(frame.body)?),
                backend::READY_FOR_QUERY_TAG => return failure.map_or(Ok(rows), Err),
                backend::COMMAND_COMPLETE_TAG
                | backend::ROW_DESCRIPTION_TAG
                | backend::EMPTY_QUERY_RESPONSE_TAG
                | backend::BACKEND_KEY_DATA_TAG => {}
                _ => return Err(unexpected(frame, "the result of a command")),
            }
        }
    }

    /// The next message, waiting for it; an error message as an error.
    fn frame(&mut self) -> Result<Frame<'_>, ConnectionError> {
        let (tag, body) = self.next_frame()?;
        match tag {
            backend::ERROR_RESPONSE_TAG => Err(server_error(&self.input[body])),
            tag => Ok(Frame {
                tag,
                body: &self.input[body],
            }),
        }
    }

    /// The next message that is more than news, which may come at any time; waits for it.
    fn next_frame(&mut self) -> Result<(u8, Range<usize>), ConnectionError> {
        loop {
            while !self.has_frame()? {
                self.wait_for_bytes()?;
            }
            let (tag, body) = self.take_frame();
            match tag {
                backend::NOTICE_RESPONSE_TAG
                | backend::PARAMETER_STATUS_TAG
                | backend::NOTIFICATION_RESPONSE_TAG => {}
                tag => return Ok((tag, body)),
            }
        }
    }

    /// The next message, if all of it has been received.
    pub fn buffered_frame(&mut self) -> Result<Option<Frame<'_>>, ConnectionError> {
        if !self.has_frame()? {
            return Ok(None);
        }
        let (tag, body) = self.take_frame();
        Ok(Some(Frame {
            tag,
            body: &self.input[body],
        }))
    }

    /// What the next message is, if all of it has been received.
    pub fn next_tag(&self) -> Result<Option<u8>, ConnectionError> {
        let is_whole = self.has_frame()?;
        Ok(is_whole.then(|| self.input[self.pending.start]))
    }

    /// Whether a whole message has been received.
    fn has_frame(&self) -> Result<bool, ConnectionError> {
        Ok(self.pending.len() >= HEADER_BYTES && self.pending.len() > self.body_bytes()? + 4)
    }

    /// The length of the next message's body; its header has been received.
    fn body_bytes(&self) -> Result<usize, ConnectionError> {
        let at = self.pending.start + 1;
        let length = self.input[at..]
            .first_chunk()
            .map_or(0, |b| u32::from_be_bytes(*b)) as usize;
        if (4..=FRAME_BYTES_MAX).contains(&length) {
            Ok(length - 4)
        } else {
            Err(ConnectionError::Protocol(format!(
                "a message of {length} bytes"
            )))
        }
    }

    /// Consumes the next message, all of which has been received.
    fn take_frame(&mut self) -> (u8, Range<usize>) {
        let body_bytes = self.body_bytes().expect("has_frame checked the length");
        let tag = self.input[self.pending.start];
        let body = self.pending.start + HEADER_BYTES;
        self.pending.start = body + body_bytes;
        (tag, body..body + body_bytes)
    }

    fn wait_for_bytes(&mut self) -> Result<(), ConnectionError> {
        while self.fill(TURN)? == 0 {
            if self.stop.is_set() {
                return Err(ConnectionError::Stopped);
            }
        }
        Ok(())
    }

    /// Receives what there is, waiting for at most about `timeout`; how many bytes.
    pub fn fill(&mut self, timeout: Duration) -> Result<usize, ConnectionError> {
        self.make_room();
        if self.read_timeout != timeout {
            self.socket.set_read_timeout(timeout)?;
            self.read_timeout = timeout;
        }
        match self.socket.read(&mut self.input[self.pending.end..]) {
            Ok(0) => Err(ConnectionError::Lost(
                "the server closed the connection".to_owned(),
            )),
            Ok(count) => {
                self.pending.end += count;
                Ok(count)
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock
                | io::ErrorKind::TimedOut
                | io::ErrorKind::Interrupted => Ok(0),
                _ => Err(error.into()),
            },
        }
    }

    /// Lets the server send no more than about so many bytes ahead of what has been read.
    pub fn bound_receive_buffer(&self, bytes: usize) -> Result<(), ConnectionError> {
        Ok(self.socket.bound_receive_buffer(bytes)?)
    }

    /// Moves what is pending to the front, and grows the buffer when one message fills it.
    fn make_room(&mut self) {
        if self.pending.is_empty() {
            self.pending = 0..0;
        } else if self.input.len() - self.pending.end < self.input.len() / 4 {
            self.input.copy_within(self.pending.clone(), 0);
            self.pending = 0..self.pending.len();
        }
        if self.pending.end == self.input.len() {
            // Doubling as bytes arrive: a length alone never makes us allocate.
            self.input.resize(self.input.len() * 2, 0);
        } else if self.pending.is_empty() && self.input.len() > 4 * BUFFER_BYTES {
            self.input = vec![0; BUFFER_BYTES];
        }
    }

    fn flush(&mut self) -> Result<(), ConnectionError> {
        let written = self.socket.write_all(&self.output);
        self.output.clear();
        Ok(written.and_then(|()| self.socket.flush())?)
    }
}

/// Says goodbye, so that the server frees slot and session at once.
impl Drop for Connection {
    fn drop(&mut self) {
        self.output.clear();
        frontend::terminate(&mut self.output);
        // The server may be gone already; then there is nobody to tell.
        _ = self.flush();
    }
}

fn password(config: &PostgresConfig) -> Result<&[u8], ConnectionError> {
    config.password.as_deref().ok_or_else(|| {
        ConnectionError::Server(Box::new(ServerError {
            code: "28P01".to_owned(),
            message: format!(
                "the server asks for the password of role \"{}\"",
                config.user
            ),
            detail: None,
            hint: Some("give it in the source's URL".to_owned()),
        }))
    })
}

fn authentication_failed(error: io::Error) -> ConnectionError {
    ConnectionError::Protocol(format!("SCRAM authentication failed: {error}"))
}

fn short(what: &str) -> ConnectionError {
    ConnectionError::Protocol(format!("a message ends before its {what}"))
}

/// The error for a message that does not belong here.
fn unexpected(frame: Frame<'_>, wanted: &str) -> ConnectionError {
    match frame.tag {
        backend::ERROR_RESPONSE_TAG => server_error(frame.body),
        tag => {
            ConnectionError::Protocol(format!("message {:?} instead of {wanted}", char::from(tag)))
        }
    }
}

/// Reads the fields of an `ErrorResponse`.
pub(super) fn server_error(body: &[u8]) -> ConnectionError {
    let mut error = ServerError::default();
    for field in body.split(|&b| b == 0) {
        let Some((&kind, text)) = field.split_first() else {
            break;
        };
        let text = String::from_utf8_lossy(text).into_owned();
        match kind {
            b'C' => error.code = text,
            b'M' => error.message = text,
            b'D' => error.detail = Some(text),
            b'H' => error.hint = Some(text),
            _ => {}
        }
    }
    ConnectionError::Server(Box::new(error))
}

fn read_u32(body: &[u8]) -> Result<(u32, &[u8]), ConnectionError> {
    let (number, rest) = body.split_first_chunk().ok_or_else(|| short("number"))?;
    Ok((u32::from_be_bytes(*number), rest))
}

fn read_row(body: &[u8]) -> Result<Row, ConnectionError> {
    let (count, mut rest) = body
        .split_first_chunk()
        .ok_or_else(|| short("column count"))?;
    let mut row = Vec::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let (length, after) = read_u32(rest)?;
        rest = after;
        if length == u32::MAX {
            row.push(None);
            continue;
        }
        let (cell, after) = rest
            .split_at_checked(length as usize)
            .ok_or_else(|| short("cell"))?;
        rest = after;
        row.push(Some(String::from_utf8_lossy(cell).into_owned()));
    }
    Ok(Row(row))
}

/// `name` as an SQL identifier.
pub(super) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// `text` as an SQL string literal.
pub(super) fn literal(text: &str) -> String {
    postgres_protocol::escape::escape_literal(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_and_cut_ones_refused() {
        let mut body = vec![0, 2, 0, 0, 0, 2];
        body.extend(b"ab");
        body.extend([0xFF; 4]);
        assert_eq!(
            read_row(&body).expect("a row").0,
            [Some("ab".to_owned()), None]
        );
        for cut in 0..body.len() {
            assert!(read_row(&body[..cut]).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn server_errors_keep_their_hint_and_tell_whether_they_pass() {
        let error = server_error(b"SFATAL\0C57P03\0Mthe database system is starting up\0Hwait\0\0");
        assert!(error.passes());
        assert_eq!(
            error.to_string(),
            "the database system is starting up (SQLSTATE 57P03); wait"
        );
        assert!(!server_error(b"C28P01\0Mpassword\0\0").passes());
    }

    #[test]
    fn names_and_texts_are_quoted() {
        assert_eq!(identifier("a\"b"), "\"a\"\"b\"");
        assert_eq!(literal("it's"), "'it''s'");
    }
}
