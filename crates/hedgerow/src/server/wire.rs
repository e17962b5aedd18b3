//! The two directions of a connection, each with its buffer.
//!
//! Invariants: only so many connections at a time have a message larger than [`SMALL_BYTES`] in
//! memory; the others' wait. A client that takes no byte of what it is sent for [`SEND_PATIENCE`] is gone, so
//! that it does not keep its place, its memory and its snapshot for ever. One that reads slowly,
//! but reads, is waited for.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

/// Bytes asked from the socket at once.
const READ_BYTES: usize = 16 << 10;
/// Input that is read ahead while a statement runs, bytes.
const READ_AHEAD_BYTES: usize = 64 << 10;
/// A message up to this size needs no place among the large ones, bytes.
const SMALL_BYTES: usize = 1 << 20;
/// Large messages of all connections at a time. One may have 64 MiB.
pub const LARGE_MESSAGES: usize = 2;
/// Output that is collected before it is written, bytes.
const WRITE_BYTES: usize = 64 << 10;
/// A buffer that a long row has made larger than this is given back, bytes.
const KEPT_BYTES_MAX: usize = 4 * WRITE_BYTES;
/// How long a client may take no byte of what it is sent. A person who looks at the first rows of
/// a large result has this long.
const SEND_PATIENCE: Duration = Duration::from_secs(300);
/// How long saying goodbye may take.
const CLOSE_PATIENCE: Duration = Duration::from_secs(1);

/// The client's half that is read, plain or out of TLS.
pub type Reader = Box<dyn AsyncRead + Send + Unpin>;
/// The client's half that is written to.
pub type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Why a connection ends.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    /// The client has closed it, or it broke.
    #[error("the client has gone")]
    ClientGone,
    /// The client takes no bytes.
    #[error("the client takes nothing of what it is sent")]
    ClientStuck,
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
    reader: Reader,
    stop: watch::Receiver<bool>,
    places: Arc<Semaphore>,
    /// Held while the buffer is larger than [`SMALL_BYTES`].
    place: Option<OwnedSemaphorePermit>,
    /// Bytes that have arrived and are not taken yet.
    pub buffer: BytesMut,
}

impl Input {
    /// Input after what has arrived in `buffer`, ended by `stop`.
    pub fn new(
        reader: Reader,
        buffer: BytesMut,
        stop: watch::Receiver<bool>,
        places: Arc<Semaphore>,
    ) -> Self {
        Self {
            reader,
            stop,
            places,
            place: None,
            buffer,
        }
    }

    /// Waits for more bytes; of a large message, for its turn among the large ones first.
    pub async fn read(&mut self) -> Result<(), Ended> {
        if self.buffer.len() > SMALL_BYTES && self.place.is_none() {
            let place = self.places.clone().acquire_owned();
            self.place = Some(place.await.expect("the places are never closed"));
        }
        self.buffer.reserve(READ_BYTES);
        tokio::select! {
            read = self.reader.read_buf(&mut self.buffer) => match read? {
                0 => Err(Ended::ClientGone),
                _ => Ok(()),
            },
            _ = self.stop.wait_for(|stop| *stop) => Err(Ended::ShutDown),
        }
    }

    /// After a large message: its memory and its place are free again.
    pub fn give_back(&mut self) {
        if self.place.is_some() && self.buffer.len() <= SMALL_BYTES {
            // What is left shares its memory with the message that was cut off before it.
            self.buffer = BytesMut::from(&self.buffer[..]);
            self.place = None;
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
    writer: Writer,
    /// Messages that are not written yet.
    pub buffer: BytesMut,
}

impl Output {
    /// Output to a client.
    pub fn new(writer: Writer) -> Self {
        Self {
            writer,
            buffer: BytesMut::new(),
        }
    }

    /// Writes everything.
    pub async fn flush(&mut self) -> Result<(), Ended> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut sent = 0;
        while sent < self.buffer.len() {
            match in_time(self.writer.write(&self.buffer[sent..])).await? {
                0 => return Err(Ended::ClientGone),
                taken => sent += taken,
            }
        }
        self.buffer.clear();
        if self.buffer.capacity() > KEPT_BYTES_MAX {
            self.buffer = BytesMut::new();
        }
        in_time(self.writer.flush()).await
    }

    /// Says that nothing more will come.
    pub async fn close(&mut self) {
        // Whether the client hears it or not, the connection is over.
        _ = timeout(CLOSE_PATIENCE, self.writer.shutdown()).await;
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

async fn in_time<T>(sending: impl Future<Output = io::Result<T>>) -> Result<T, Ended> {
    match timeout(SEND_PATIENCE, sending).await {
        Ok(sent) => Ok(sent?),
        Err(_) => Err(Ended::ClientStuck),
    }
}
