//! A connection to a MariaDB server that has several statements under way: they are sent without waiting
//! for the answers to those before, which come in order.
//!
//! The `mysql` crate waits for each answer; the wait, and a switch to the server and back, would be most of
//! a short transaction. Statements are prepared once. The server describes the columns of a result only
//! when they have changed (MARIADB_CLIENT_CACHE_METADATA).
//!
//! From "Client/Server Protocol" of its manual: a packet is a length (3 bytes), a number, and so many
//! bytes. Does not: passwords, packets of 16 MiB, results of more than one row.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// Bytes of a packet's header.
const HEADER_BYTES: usize = 4;

/// Bytes that are received at a time, at most.
const INPUT_BYTES: usize = 32 << 10;

/// CLIENT_FOUND_ROWS, CLIENT_PROTOCOL_41, CLIENT_SECURE_CONNECTION, CLIENT_PLUGIN_AUTH,
/// CLIENT_DEPRECATE_EOF; without CLIENT_MYSQL the server looks for its own capabilities.
const CAPABILITIES: u32 = 1 << 1 | 1 << 9 | 1 << 15 | 1 << 19 | 1 << 24;

/// MARIADB_CLIENT_CACHE_METADATA, of the upper half.
const CACHE_METADATA: u32 = 1 << 4;

const COMMAND_PREPARE: u8 = 0x16;
const COMMAND_EXECUTE: u8 = 0x17;

/// Binary: texts are not converted.
const CHARSET: u8 = 63;

const IS_OK: u8 = 0;
const IS_ERROR: u8 = 0xFF;
const IS_END: u8 = 0xFE;

/// A value for a statement.
#[derive(Clone, Copy, Debug)]
pub enum Parameter<'a> {
    /// A BIGINT.
    Integer(u64),
    /// At most 250 bytes.
    Text(&'a [u8]),
}

/// A statement that was prepared on a connection.
#[derive(Debug)]
pub struct Statement {
    number: u32,
    /// Whether the server knows the types of its parameters.
    is_bound: bool,
}

/// See the module.
#[derive(Debug)]
pub struct PipelinedConnection {
    stream: UnixStream,
    output: Vec<u8>,
    input: Vec<u8>,
    /// Where the next packet of `input` begins.
    next: usize,
    /// Where what was received ends.
    end: usize,
}

impl PipelinedConnection {
    /// Connects as root, who has no password.
    pub fn connect(socket: &Path) -> Result<Self> {
        let stream = UnixStream::connect(socket).context("could not connect to mariadbd")?;
        let mut connection = Self {
            stream,
            output: Vec::new(),
            input: vec![0; INPUT_BYTES],
            next: 0,
            end: 0,
        };
        let greeting = connection.packet()?.to_vec();
        ensure!(
            server_capabilities(&greeting) == Some(CACHE_METADATA),
            "the server is no MariaDB that lets clients keep descriptions of columns"
        );
        connection.begin_packet();
        let output = &mut connection.output;
        output.extend_from_slice(&CAPABILITIES.to_le_bytes());
        output.extend_from_slice(&(16_u32 << 20).to_le_bytes());
        output.push(CHARSET);
        output.extend_from_slice(&[0; 19]);
        output.extend_from_slice(&CACHE_METADATA.to_le_bytes());
        output.extend_from_slice(b"root\0");
        output.push(0); // The password's length.
        output.extend_from_slice(b"mysql_native_password\0");
        connection.end_packet(0, 1);
        connection.flush()?;
        connection.count()?;
        Ok(connection)
    }

    /// Prepares a statement. Nothing else is under way.
    pub fn prepare(&mut self, text: &str) -> Result<Statement> {
        let at = self.begin_packet();
        self.output.push(COMMAND_PREPARE);
        self.output.extend_from_slice(text.as_bytes());
        self.end_packet(at, 0);
        self.flush()?;
        let answer = self.packet()?;
        let Some(
            &[
                IS_OK,
                a,
                b,
                c,
                d,
                columns,
                columns_high,
                parameters,
                parameters_high,
            ],
        ) = answer.first_chunk()
        else {
            bail!("{text}: {}", answer.escape_ascii());
        };
        let described = u16::from_le_bytes([columns, columns_high])
            + u16::from_le_bytes([parameters, parameters_high]);
        for _ in 0..described {
            self.packet()?;
        }
        Ok(Statement {
            number: u32::from_le_bytes([a, b, c, d]),
            is_bound: false,
        })
    }

    /// Has a statement run after those that are under way; it is sent by [`Self::flush`].
    pub fn execute(&mut self, statement: &mut Statement, parameters: &[Parameter<'_>]) {
        let at = self.begin_packet();
        let output = &mut self.output;
        output.push(COMMAND_EXECUTE);
        output.extend_from_slice(&statement.number.to_le_bytes());
        output.push(0);
        output.extend_from_slice(&1_u32.to_le_bytes());
        // No parameter is null.
        output.resize(output.len() + parameters.len().div_ceil(8), 0);
        output.push(u8::from(!statement.is_bound));
        if !statement.is_bound {
            for parameter in parameters {
                output.extend_from_slice(match parameter {
                    Parameter::Integer(_) => &[8, 0],
                    Parameter::Text(_) => &[0xFD, 0],
                });
            }
            statement.is_bound = true;
        }
        for parameter in parameters {
            match parameter {
                Parameter::Integer(number) => output.extend_from_slice(&number.to_le_bytes()),
                Parameter::Text(text) => {
                    output.push(text.len() as u8);
                    output.extend_from_slice(text);
                }
            }
        }
        self.end_packet(at, 0);
    }

    /// Sends what was not sent.
    pub fn flush(&mut self) -> Result<()> {
        self.stream.write_all(&self.output)?;
        self.output.clear();
        Ok(())
    }

    /// The next answer, which has no rows: how many rows the statement found.
    pub fn count(&mut self) -> Result<u64> {
        let answer = self.packet()?;
        match answer {
            [IS_OK, count @ 0..=250, ..] => Ok(u64::from(*count)),
            other => bail!("the server answers {}", other.escape_ascii()),
        }
    }

    /// The next answer, which has a row of texts of at most 250 bytes: puts them into `texts`, one after the
    /// other, and returns how long each is.
    pub fn row<const COLUMNS: usize>(&mut self, texts: &mut Vec<u8>) -> Result<[usize; COLUMNS]> {
        texts.clear();
        match self.packet()? {
            [count, 0] if usize::from(*count) == COLUMNS => {}
            [count, 1] if usize::from(*count) == COLUMNS => {
                for _ in 0..COLUMNS {
                    self.packet()?;
                }
            }
            other => bail!("the server answers {}", other.escape_ascii()),
        }
        let lengths = take_texts(self.packet()?, texts)?;
        let end = self.packet()?;
        ensure!(end.first() == Some(&IS_END), "more than one row came");
        Ok(lengths)
    }

    fn begin_packet(&mut self) -> usize {
        let at = self.output.len();
        self.output.extend_from_slice(&[0; HEADER_BYTES]);
        at
    }

    fn end_packet(&mut self, at: usize, number: u8) {
        let length = (self.output.len() - at - HEADER_BYTES) as u32;
        let header = length.to_le_bytes();
        self.output[at..at + 3].copy_from_slice(&header[..3]);
        self.output[at + 3] = number;
    }

    /// The next packet of what the server sends; an error message of the server's is an error.
    fn packet(&mut self) -> Result<&[u8]> {
        self.receive(HEADER_BYTES)?;
        let [a, b, c, _] = self.input[self.next..self.next + HEADER_BYTES] else {
            unreachable!("the slice has four bytes")
        };
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        self.receive(HEADER_BYTES + length)?;
        let from = self.next + HEADER_BYTES;
        self.next = from + length;
        let payload = &self.input[from..self.next];
        if payload.first() == Some(&IS_ERROR) {
            bail!("the server answers {}", payload.escape_ascii());
        }
        Ok(payload)
    }

    /// Receives until so many bytes are there.
    fn receive(&mut self, bytes: usize) -> Result<()> {
        if self.next + bytes > self.input.len() {
            self.input.copy_within(self.next..self.end, 0);
            self.end -= self.next;
            self.next = 0;
            if bytes > self.input.len() {
                self.input.resize(bytes, 0);
            }
        }
        while self.end - self.next < bytes {
            let read = self.stream.read(&mut self.input[self.end..])?;
            ensure!(read > 0, "the server has closed the connection");
            self.end += read;
        }
        Ok(())
    }
}

/// Puts the texts of a row after each other.
fn take_texts<const COLUMNS: usize>(row: &[u8], texts: &mut Vec<u8>) -> Result<[usize; COLUMNS]> {
    ensure!(row.first() == Some(&IS_OK), "no row came");
    // A byte, and bits that say which columns are null, of which the first two are not used.
    let mut rest = row.get(1 + (COLUMNS + 9) / 8..).context("a row is cut")?;
    let mut lengths = [0; COLUMNS];
    for length in &mut lengths {
        let (&bytes, after) = rest.split_first().context("a row is cut")?;
        ensure!(bytes <= 250, "a text is longer than expected");
        *length = usize::from(bytes);
        let (text, after) = after.split_at_checked(*length).context("a row is cut")?;
        texts.extend_from_slice(text);
        rest = after;
    }
    Ok(lengths)
}

/// Of those that we ask for, MariaDB's own capabilities that the server has.
fn server_capabilities(greeting: &[u8]) -> Option<u32> {
    let version_end = greeting.iter().skip(1).position(|byte| *byte == 0)? + 2;
    // Connection (4), scramble (8 and 1), capabilities (2), charset (1), status (2), capabilities (2),
    // length (1), nothing (6).
    let own = greeting.get(version_end + 27..)?.first_chunk()?;
    Some(u32::from_le_bytes(*own) & CACHE_METADATA)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_row_come_one_after_the_other() {
        let mut texts = Vec::new();
        let row = b"\0\0\x03abc\x00\x02de";
        assert_eq!(take_texts::<3>(row, &mut texts).unwrap(), [3, 0, 2]);
        assert_eq!(texts, b"abcde");
        for cut in 0..row.len() {
            assert!(
                take_texts::<3>(&row[..cut], &mut Vec::new()).is_err(),
                "{cut}"
            );
        }
    }

    #[test]
    fn the_greeting_tells_what_the_server_can() {
        let mut greeting = b"\x0A10.11.0\0".to_vec();
        greeting.resize(greeting.len() + 27, 7);
        greeting.extend_from_slice(&[0x1D, 0, 0, 0, 9]);
        assert_eq!(server_capabilities(&greeting), Some(CACHE_METADATA));
        greeting.truncate(20);
        assert_eq!(server_capabilities(&greeting), None);
    }
}
