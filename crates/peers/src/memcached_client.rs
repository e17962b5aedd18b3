//! A connection to memcached that has many commands under way, in its meta protocol ("Meta Commands" of
//! `protocol.txt`).
//!
//! Who finds nothing gets permission to put it there, one client at a time, and loses it when the key is
//! deleted meanwhile (the flags `N` and `C`). So what was read from the database before an update cannot
//! come into the cache after it.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// Seconds after which a permission goes to somebody else.
const PERMISSION_SECONDS: u32 = 30;

/// Bytes of a connection's buffer.
const BUFFER_BYTES: usize = 128 << 10;

/// What became of a get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The value is there.
    Value,
    /// It is not; whoever has read it elsewhere may put it, with this permission.
    Nothing(Option<Permission>),
}

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permission(u64);

/// See the module.
#[derive(Debug)]
pub struct MemcachedClient {
    output: Vec<u8>,
    input: BufReader<UnixStream>,
    line: Vec<u8>,
}

impl MemcachedClient {
    /// Connects.
    pub fn connect(socket: &Path) -> Result<Self> {
        let stream = UnixStream::connect(socket).context("could not connect to memcached")?;
        Ok(Self {
            output: Vec::new(),
            input: BufReader::with_capacity(BUFFER_BYTES, stream),
            line: Vec::new(),
        })
    }

    /// Asks for a value; [`Self::found`] has the answer. Like all commands it is sent by [`Self::flush`].
    pub fn get(&mut self, key: u64) {
        let line = format!("mg {key} v c N{PERMISSION_SECONDS}\r\n");
        self.output.extend_from_slice(line.as_bytes());
    }

    /// Puts a value if the permission still holds. There is no answer.
    pub fn put_permitted(&mut self, key: u64, value: &[u8], permission: Permission) {
        let flag = format!("C{}", permission.0);
        self.put_with(key, value, &flag);
    }

    /// Puts a value. There is no answer.
    pub fn put(&mut self, key: u64, value: &[u8]) {
        self.put_with(key, value, "");
    }

    fn put_with(&mut self, key: u64, value: &[u8], flag: &str) {
        let line = format!("ms {key} {} {flag} q\r\n", value.len());
        self.output.extend_from_slice(line.as_bytes());
        self.output.extend_from_slice(value);
        self.output.extend_from_slice(b"\r\n");
    }

    /// Deletes a value, and takes permissions for it back. There is no answer.
    pub fn delete(&mut self, key: u64) {
        let line = format!("md {key} q\r\n");
        self.output.extend_from_slice(line.as_bytes());
    }

    /// Sends what was not sent.
    pub fn flush(&mut self) -> Result<()> {
        self.input.get_mut().write_all(&self.output)?;
        self.output.clear();
        Ok(())
    }

    /// Waits until all commands have been carried out; nobody waits for answers.
    pub fn settle(&mut self) -> Result<()> {
        self.output.extend_from_slice(b"mn\r\n");
        self.flush()?;
        self.answer()?;
        ensure!(
            self.line == b"MN",
            "expected MN, not {}",
            self.line.escape_ascii()
        );
        Ok(())
    }

    /// The answer to the first get that has none; puts the value into `value`.
    pub fn found(&mut self, value: &mut Vec<u8>) -> Result<Found> {
        self.answer()?;
        let (length, permission) = parse_answer(&self.line)?;
        value.resize(length, 0);
        self.input.read_exact(value)?;
        self.input.read_exact(&mut [0; 2])?;
        Ok(if length > 0 {
            Found::Value
        } else {
            Found::Nothing(permission)
        })
    }

    /// Reads the next line that is an answer: quiet commands tell when they have not done anything.
    fn answer(&mut self) -> Result<()> {
        loop {
            self.line.clear();
            self.input.read_until(b'\n', &mut self.line)?;
            ensure!(
                self.line.ends_with(b"\r\n"),
                "memcached has closed the connection"
            );
            self.line.truncate(self.line.len() - 2);
            if !matches!(&self.line[..], b"NF" | b"NS" | b"EX") {
                return Ok(());
            }
        }
    }
}

/// The length of a value, and the permission to put another.
fn parse_answer(line: &[u8]) -> Result<(usize, Option<Permission>)> {
    let line = std::str::from_utf8(line)?;
    let mut words = line.split(' ');
    let (Some("VA"), Some(length)) = (words.next(), words.next()) else {
        bail!("memcached answers {line}");
    };
    let (mut number, mut is_first) = (None, false);
    for flag in words {
        match flag.strip_prefix('c') {
            Some(digits) => number = Some(Permission(digits.parse()?)),
            None => is_first |= flag == "W",
        }
    }
    Ok((length.parse()?, number.filter(|_| is_first)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_to_find_nothing_may_put() {
        let parsed = |line: &str| parse_answer(line.as_bytes()).unwrap();
        assert_eq!(parsed("VA 0 c17 W"), (0, Some(Permission(17))));
        assert_eq!(parsed("VA 0 c17 Z"), (0, None));
        assert_eq!(parsed("VA 1000 c9"), (1_000, None));
        assert!(parse_answer(b"SERVER_ERROR out of memory").is_err());
    }
}
