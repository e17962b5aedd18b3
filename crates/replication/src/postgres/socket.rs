//! The way to a server: its address, and TLS where it was asked for.
//!
//! 1. Connect to the first host that accepts.
//! 2. Ask for TLS; the server says yes or no with one byte. Only that byte is read before TLS begins: what
//!    somebody in between puts behind it is never taken for the server's (CVE-2021-23222).
//! 3. Shake hands.

use std::io::{self, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use socket2::{SockRef, TcpKeepalive};

use super::certificate_hash::certificate_hash;
use super::config::PostgresConfig;
use super::connection::ConnectionError;
use super::tls::TlsConfig;

/// How long a write may block before the connection counts as lost.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// A link that has gone dead without a word is noticed within a minute, also where we have nothing to
/// send: a copy only reads.
const KEEPALIVE: TcpKeepalive = TcpKeepalive::new()
    .with_time(Duration::from_secs(30))
    .with_interval(Duration::from_secs(10))
    .with_retries(3);

/// The same where something was sent and is not acknowledged.
const UNHEARD_MAX: Duration = Duration::from_secs(60);

/// A request for TLS: length 8, code 80877103.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// Bytes that are read from the network at once, to be decrypted: the library would ask for 4 KiB.
const READ_BYTES: usize = 256 << 10;

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The name or address that it is known by.
    pub name: String,
    /// Where that is, if the name need not be looked up.
    pub address: Option<IpAddr>,
    /// The port.
    pub port: u16,
}

/// A connected socket, encrypted or not.
pub(super) enum Socket {
    Plain(TcpStream),
    Encrypted(Box<StreamOwned<ClientConnection, Buffered>>),
}

/// Reads much at once, and writes through.
pub(super) struct Buffered(BufReader<TcpStream>);

impl Socket {
    /// Connects to the first host that accepts.
    pub fn connect(config: &PostgresConfig) -> Result<Self, ConnectionError> {
        let mut failure = ConnectionError::Lost("no host to connect to".to_owned());
        for host in &config.hosts {
            match tcp(host, config.connect_timeout) {
                Ok(socket) => return Self::begin(socket, host, config),
                Err(error) => {
                    let (name, port) = (&host.name, host.port);
                    let words = format!("cannot connect to {name}:{port}: {error}");
                    failure = ConnectionError::Lost(words);
                }
            }
        }
        Err(failure)
    }

    fn begin(
        socket: TcpStream,
        host: &Host,
        config: &PostgresConfig,
    ) -> Result<Self, ConnectionError> {
        prepare(&socket, config)?;
        match &config.tls {
            TlsConfig::Plain => Ok(Self::Plain(socket)),
            TlsConfig::Preferred(tls) => match accepts_tls(&socket)? {
                true => {
                    encrypt(socket, host, tls).or_else(|error| in_the_clear(host, config, error))
                }
                false => Ok(Self::Plain(socket)),
            },
            TlsConfig::Direct(tls) => encrypt(socket, host, tls),
            TlsConfig::Required(tls) => match accepts_tls(&socket)? {
                true => encrypt(socket, host, tls),
                false => Err(ConnectionError::Untrusted(format!(
                    "{} does not encrypt connections, which sslmode asks for; switch ssl on there",
                    host.name
                ))),
            },
        }
    }

    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Encrypted(stream) => stream.sock.0.get_ref(),
        }
    }

    /// How long a read may wait.
    pub fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.tcp().set_read_timeout(Some(timeout))
    }

    /// Lets the server send no more than about so many bytes ahead of what has been read.
    pub fn bound_receive_buffer(&self, bytes: usize) -> io::Result<()> {
        SockRef::from(self.tcp()).set_recv_buffer_size(bytes)
    }

    /// What a password's proof can be bound to.
    pub fn certificate_hash(&self) -> Option<Vec<u8>> {
        let Self::Encrypted(stream) = self else {
            return None;
        };
        certificate_hash(stream.conn.peer_certificates()?.first()?)
    }
}

/// A second connection where TLS was only preferred and does not come about, as in libpq.
fn in_the_clear(
    host: &Host,
    config: &PostgresConfig,
    error: ConnectionError,
) -> Result<Socket, ConnectionError> {
    tracing::warn!(%error, "the source is not encrypted; sslmode=require would insist on it");
    let socket = tcp(host, config.connect_timeout)?;
    prepare(&socket, config)?;
    Ok(Socket::Plain(socket))
}

fn prepare(socket: &TcpStream, config: &PostgresConfig) -> io::Result<()> {
    let options = SockRef::from(socket);
    options.set_tcp_keepalive(&KEEPALIVE)?;
    #[cfg(target_os = "linux")]
    options.set_tcp_user_timeout(Some(UNHEARD_MAX))?;
    socket.set_nodelay(true)?;
    socket.set_write_timeout(Some(WRITE_TIMEOUT))?;
    socket.set_read_timeout(Some(config.connect_timeout))
}

fn tcp(host: &Host, timeout: Duration) -> io::Result<TcpStream> {
    let addresses: Vec<SocketAddr> = match host.address {
        Some(address) => vec![(address, host.port).into()],
        None => (host.name.as_str(), host.port).to_socket_addrs()?.collect(),
    };
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(socket) => return Ok(socket),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn accepts_tls(mut socket: &TcpStream) -> Result<bool, ConnectionError> {
    socket.write_all(&TLS_REQUEST)?;
    let mut answer = [0];
    socket.read_exact(&mut answer)?;
    match answer {
        [b'S'] => Ok(true),
        [b'N'] => Ok(false),
        [other] => Err(ConnectionError::Protocol(format!(
            "{:?} as the answer to a request for TLS",
            char::from(other)
        ))),
    }
}

fn encrypt(
    socket: TcpStream,
    host: &Host,
    tls: &Arc<ClientConfig>,
) -> Result<Socket, ConnectionError> {
    let untrusted = |error: &dyn std::fmt::Display| {
        ConnectionError::Untrusted(format!(
            "TLS with {} does not come about: {error}",
            host.name
        ))
    };
    let name = ServerName::try_from(host.name.clone()).map_err(|error| untrusted(&error))?;
    let client = ClientConnection::new(Arc::clone(tls), name).map_err(|error| untrusted(&error))?;
    let socket = Buffered(BufReader::with_capacity(READ_BYTES, socket));
    let mut stream = StreamOwned::new(client, socket);
    while stream.conn.is_handshaking() {
        let shaken = stream.conn.complete_io(&mut stream.sock);
        shaken.map_err(|error| match error.kind() {
            // What the library says of a certificate, or of what is no TLS.
            io::ErrorKind::InvalidData => untrusted(&error),
            _ => ConnectionError::from(error),
        })?;
    }
    Ok(Socket::Encrypted(Box::new(stream)))
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Encrypted(stream) => match stream.read(buffer) {
                // Ended without a farewell: as where there is no TLS.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                read => read,
            },
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            Self::Encrypted(stream) => stream.flush(),
        }
    }
}

impl Read for Buffered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Buffered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.get_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.get_mut().flush()
    }
}
