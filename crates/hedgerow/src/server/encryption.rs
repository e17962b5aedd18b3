//! Settles, at the start of a connection, whether it is encrypted.
//!
//! 1. A client that begins with a TLS handshake gets TLS, if it asks for PostgreSQL's protocol
//!    in it (`sslnegotiation=direct`).
//! 2. A client that asks for TLS is told `S` and gets it, or is told `N` where there is none;
//!    GSSAPI is always refused.
//! 3. The packet after that says what the client wants, and is the first of [`super::startup`].
//!
//! Invariant: no byte that came before the TLS handshake is read as if it had come through it
//! (CVE-2021-23214): bytes that wait when TLS begins end the connection.

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::failure::Failure;
use super::listener::Shared;
use super::tls::Identity;
use super::wire::{Ended, Input, Output};
use protocol::frontend::{self, FirstPacket};
use replication::postgres::tls::PROTOCOL;

/// First byte of a TLS handshake. As a startup packet's first byte it would mean a length of
/// 369 MB, which none has.
const TLS_HANDSHAKE: u8 = 0x16;
/// "TLS it is."
const ACCEPTED: u8 = b'S';
/// "That is not available."
const REFUSED: u8 = b'N';

/// How a connection's bytes travel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Readable by everybody on the way.
    Plain,
    /// Through TLS.
    Encrypted {
        /// Binds the password dialogue to the server's certificate, if that can be.
        certificate_hash: Option<Vec<u8>>,
    },
}

impl Channel {
    /// What a password dialogue over it can be bound to.
    pub fn certificate_hash(&self) -> Option<&[u8]> {
        match self {
            Self::Plain => None,
            Self::Encrypted { certificate_hash } => certificate_hash.as_deref(),
        }
    }
}

/// A connection whose encryption is settled.
pub struct Opened {
    /// What comes from the client.
    pub input: Input,
    /// What goes to the client.
    pub output: Output,
    /// How it travels.
    pub channel: Channel,
    /// What the client wants, or why it is told to go.
    pub first: Result<FirstPacket, Failure>,
}

/// Settles the encryption of a new connection.
pub async fn open(mut socket: TcpStream, shared: &Shared) -> Result<Opened, Ended> {
    if let Some(tls) = &shared.tls
        && begins_with_handshake(&socket).await?
    {
        return direct(socket, &tls.identity(), shared).await;
    }
    let mut buffer = BytesMut::new();
    loop {
        match (frontend::take_first_packet(&mut buffer), &shared.tls) {
            (Ok(Some(FirstPacket::SslRequest)), Some(tls)) if buffer.is_empty() => {
                socket.write_all(&[ACCEPTED]).await?;
                let identity = tls.identity();
                let stream = handshake(socket, &identity).await?;
                return encrypted(stream, &identity, shared).await;
            }
            (Ok(Some(FirstPacket::SslRequest)), Some(_)) => {
                let failure =
                    Failure::fatal("08P01", "received unencrypted data after SSL request");
                return Ok(plain(socket, buffer, Err(failure), shared));
            }
            (Ok(Some(FirstPacket::SslRequest | FirstPacket::GssRequest)), _) => {
                socket.write_all(&[REFUSED]).await?;
            }
            (Ok(Some(first)), _) => return Ok(plain(socket, buffer, Ok(first), shared)),
            (Ok(None), _) => {
                if socket.read_buf(&mut buffer).await? == 0 {
                    return Err(Ended::ClientGone);
                }
            }
            (Err(error), _) => return Ok(plain(socket, buffer, Err(error.into()), shared)),
        }
    }
}

async fn begins_with_handshake(socket: &TcpStream) -> Result<bool, Ended> {
    let mut first = [0];
    match socket.peek(&mut first).await? {
        0 => Err(Ended::ClientGone),
        _ => Ok(first == [TLS_HANDSHAKE]),
    }
}

async fn handshake(socket: TcpStream, identity: &Identity) -> Result<TlsStream<TcpStream>, Ended> {
    let accepted = identity.acceptor().accept(socket).await;
    accepted.map_err(|error| {
        tracing::debug!(%error, "a TLS handshake failed");
        Ended::ClientGone
    })
}

/// Without a request in PostgreSQL's own words, the client has to ask for its protocol in TLS's:
/// a browser that was sent here by another site does not.
async fn direct(socket: TcpStream, identity: &Identity, shared: &Shared) -> Result<Opened, Ended> {
    let stream = handshake(socket, identity).await?;
    if stream.get_ref().1.alpn_protocol() == Some(PROTOCOL) {
        encrypted(stream, identity, shared).await
    } else {
        Err(Ended::ClientGone)
    }
}

async fn encrypted(
    stream: TlsStream<TcpStream>,
    identity: &Identity,
    shared: &Shared,
) -> Result<Opened, Ended> {
    let (reader, writer) = tokio::io::split(stream);
    let mut input = shared.input(Box::new(reader), BytesMut::new());
    let first = loop {
        match frontend::take_first_packet(&mut input.buffer) {
            Ok(Some(FirstPacket::SslRequest | FirstPacket::GssRequest)) => {
                let message = "encryption is asked for inside an encrypted connection";
                break Err(Failure::fatal("08P01", message));
            }
            Ok(Some(first)) => break Ok(first),
            Ok(None) => input.read().await?,
            Err(error) => break Err(error.into()),
        }
    };
    Ok(Opened {
        input,
        output: Output::new(Box::new(writer)),
        channel: Channel::Encrypted {
            certificate_hash: identity.certificate_hash.clone(),
        },
        first,
    })
}

fn plain(
    socket: TcpStream,
    buffer: BytesMut,
    first: Result<FirstPacket, Failure>,
    shared: &Shared,
) -> Opened {
    let (reader, writer) = socket.into_split();
    Opened {
        input: shared.input(Box::new(reader), buffer),
        output: Output::new(Box::new(writer)),
        channel: Channel::Plain,
        first,
    }
}
