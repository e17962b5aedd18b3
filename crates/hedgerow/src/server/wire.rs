//! The two directions of a connection's socket, each with its buffer.

use std::future::Future;
use std::io;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;

/// Bytes asked from the socket at once.
const READ_BYTES: usize = 16 << 10;
/// Input that is read ahead while a statement runs, bytes.
const READ_AHEAD_BYTES: usize = 64 << 10;
/// Output that is collected before it is written, bytes.
const WRITE_BYTES: usize = 64 << 10;

/// Why a connection ends.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    /// The client has closed it, or it broke.
    #[error("the client has gone")]
    ClientGone,
    /// The server is told to stop.
    #[error("the server shuts down")]
    ShutDown,
}

impl From<io::Error> for Ended {
    fn from(_: io::Error) -> Self {
        Self::ClientGone
    }
}

/// What comes from the client.
pub struct Input {
    reader: OwnedReadHalf,
    stop: watch::Receiver<bool>,
    /// Bytes that have arrived and are not taken yet.
    pub buffer: BytesMut,
}

impl Input {
    /// Input from a socket, ended by `stop`.
    pub fn new(reader: OwnedReadHalf, stop: watch::Receiver<bool>) -> Self {
        Self {
            reader,
            stop,
            buffer: BytesMut::new(),
        }
    }

    /// Waits for more bytes.
    pub async fn read(&mut self) -> Result<(), Ended> {
        self.buffer.reserve(READ_BYTES);
        tokio::select! {
            read = self.reader.read_buf(&mut self.buffer) => match read? {
                0 => Err(Ended::ClientGone),
                _ => Ok(()),
            },
            _ = self.stop.wait_for(|stop| *stop) => Err(Ended::ShutDown),
        }
    }

    /// Runs `work` to its end, unless the client goes or the server stops first: then `work`
    /// is dropped where it is.
    pub async fn watch_during<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Ended> {
        tokio::pin!(work);
        loop {
            if self.buffer.len() >= READ_AHEAD_BYTES {
                // A client that sends this much ahead is there; whether it still is shows when
                // its results are written.
                return Ok(work.await);
            }
            tokio::select! {
                biased;
                output = &mut work => return Ok(output),
                read = self.read() => read?,
            }
        }
    }
}

/// What goes to the client.
pub struct Output {
    writer: OwnedWriteHalf,
    /// Messages that are not written yet.
    pub buffer: BytesMut,
}

impl Output {
    /// Output to a socket.
    pub fn new(writer: OwnedWriteHalf) -> Self {
        Self {
            writer,
            buffer: BytesMut::with_capacity(WRITE_BYTES),
        }
    }

    /// Writes everything.
    pub async fn flush(&mut self) -> Result<(), Ended> {
        if !self.buffer.is_empty() {
            self.writer.write_all(&self.buffer).await?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Writes if enough has been collected. A client that reads slowly makes it wait.
    pub async fn flush_if_full(&mut self) -> Result<(), Ended> {
        if self.buffer.len() >= WRITE_BYTES {
            self.flush().await
        } else {
            Ok(())
        }
    }
}
