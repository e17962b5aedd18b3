//! Accepts connections and ends them.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use sql::{Engine, SqlError};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::cancel::CancelRegistry;
use super::encryption::Opened;
use super::failure::Failure;
use super::handshakes::{Handshake, Handshakes};
use super::startup::Client;
use super::throttle::Throttle;
use super::tls::{Tls, TlsError, TlsFiles};
use super::wire::{Ended, Input, LARGE_MESSAGES, Reader};
use super::{backend, connection, encryption, startup};
use protocol::scram::Verifier;

/// How long connections have to end when the server stops.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(5);
/// Pause after a failed accept (such as too many open files), so that it does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Starts a verification; gives its result as rows.
pub type VerifyRows =
    Arc<dyn Fn() -> Result<(arrow_schema::SchemaRef, sql::RowStream), SqlError> + Send + Sync>;

/// Has the source copy a table again; returns when the copy has begun. May take seconds.
pub type ResyncTable = Arc<dyn Fn(types::TableName) -> Result<(), SqlError> + Send + Sync>;

/// What clients can have the source do.
#[derive(Clone)]
pub struct SourceCommands {
    /// `VERIFY`
    pub verify: VerifyRows,
    /// `RESYNC TABLE`
    pub resync: ResyncTable,
}

/// Limits and identity of a [`Server`].
#[derive(Clone)]
pub struct ServerOptions {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The one user.
    pub user: String,
    /// Its password.
    pub password: String,
    /// The one database.
    pub database: String,
    /// Clients served at the same time.
    pub connections_max: usize,
    /// Clients at the same time that have not proven the password yet.
    pub handshakes_max: usize,
    /// How long a client may take to do so.
    pub handshake_timeout: Duration,
    /// The certificate and its key; without them connections are not encrypted.
    pub tls: Option<TlsFiles>,
    /// Whether connections from this machine have to be encrypted, too.
    pub tls_required: bool,
}

impl ServerOptions {
    /// Whether a client at this address may talk without encryption.
    pub(super) fn takes_plain(&self, address: IpAddr) -> bool {
        address.to_canonical().is_loopback() && !self.tls_required
    }
}

/// The server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address is not this machine's own.
    #[error(
        "{0} is not a loopback address. Connections from other machines have to be encrypted: \
         give a certificate with --tls-certificate FILE and its key with --tls-key FILE, or \
         listen on 127.0.0.1 and come through a tunnel, such as ssh -L 5433:127.0.0.1:5433"
    )]
    NotLoopback(SocketAddr),
    /// Somebody else listens there.
    #[error(
        "{0} is in use by another process; choose another address with --listen 127.0.0.1:PORT"
    )]
    InUse(SocketAddr),
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The operating system refuses.
    #[error("cannot listen on {0}: {1}")]
    Io(SocketAddr, io::Error),
}

/// What all connections share.
pub(super) struct Shared {
    pub engine: Arc<Engine>,
    pub commands: SourceCommands,
    pub options: ServerOptions,
    pub verifier: Verifier,
    pub tls: Option<Tls>,
    pub cancels: Arc<CancelRegistry>,
    pub places: Arc<Semaphore>,
    pub throttle: Throttle,
    /// Places for large messages.
    pub large_messages: Arc<Semaphore>,
    pub stop: watch::Receiver<bool>,
}

impl Shared {
    /// A connection's input, after what has arrived in `buffer`.
    pub fn input(&self, reader: Reader, buffer: BytesMut) -> Input {
        Input::new(
            reader,
            buffer,
            self.stop.clone(),
            self.large_messages.clone(),
        )
    }
}

/// A listening server.
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
}

impl Server {
    /// Takes the address; connections wait until [`Server::run`].
    pub async fn bind(
        engine: Arc<Engine>,
        commands: SourceCommands,
        options: ServerOptions,
    ) -> Result<Self, ListenError> {
        let address = options.listen;
        if !address.ip().is_loopback() && options.tls.is_none() {
            return Err(ListenError::NotLoopback(address));
        }
        let tls = options.tls.clone().map(Tls::load).transpose()?;
        let listener = TcpListener::bind(address)
            .await
            .map_err(|error| match error.kind() {
                io::ErrorKind::AddrInUse => ListenError::InUse(address),
                _ => ListenError::Io(address, error),
            })?;
        let (stop, stopped) = watch::channel(false);
        let shared = Shared {
            engine,
            commands,
            verifier: Verifier::new(&options.user, &options.password),
            tls,
            cancels: Arc::default(),
            places: Arc::new(Semaphore::new(options.connections_max)),
            throttle: Throttle::default(),
            large_messages: Arc::new(Semaphore::new(LARGE_MESSAGES)),
            stop: stopped,
            options,
        };
        Ok(Self {
            listener,
            shared: Arc::new(shared),
            stop,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        // A bound listener has an address; the wish is a fair answer where asking fails.
        self.listener
            .local_addr()
            .unwrap_or(self.shared.options.listen)
    }

    /// Serves until `stop` completes, then ends all connections.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let mut connections = JoinSet::new();
        let handshakes = Handshakes::new(self.shared.options.handshakes_max);
        let shared = self.shared.clone();
        let certificate = async move {
            match &shared.tls {
                Some(tls) => tls.follow_files().await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(stop, certificate);
        loop {
            tokio::select! {
                () = &mut stop => break,
                () = &mut certificate => {}
                accepted = self.listener.accept() => match accepted {
                    Ok((socket, peer)) => handshakes.begin(|handshake| {
                        let shared = self.shared.clone();
                        connections.spawn(serve(socket, peer, handshake, shared))
                    }),
                    Err(error) => {
                        tracing::warn!(%error, "could not accept a connection");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
                Some(ended) = connections.join_next() => log_panic(ended),
            }
        }
        drop(self.listener);
        self.stop.send_replace(true);
        let all_ended = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(SHUTDOWN_PATIENCE, all_ended)
            .await
            .is_err()
        {
            tracing::warn!("some connections did not end in time");
        }
    }
}

fn log_panic(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a connection's task ended unexpectedly");
    }
}

/// One connection, from its first byte to its last.
async fn serve(socket: TcpStream, peer: SocketAddr, handshake: Handshake, shared: Arc<Shared>) {
    prepare_socket(&socket);
    let limit = shared.options.handshake_timeout;
    let admitted = tokio::time::timeout(limit, admit(socket, peer.ip(), &handshake, &shared));
    let (opened, client) = match admitted.await {
        Ok(Ok(Some(admitted))) => admitted,
        // A cancel request, a refusal that has been told, or nobody there any more.
        Ok(Ok(None) | Err(_)) | Err(_) => return,
    };
    drop(handshake);
    let (mut input, mut output) = (opened.input, opened.output);
    let ended = connection::run(&mut input, &mut output, client, &shared).await;
    if let Err(Ended::ShutDown) = ended {
        let farewell = Failure::fatal(
            "57P01",
            "terminating connection due to administrator command",
        );
        backend::error_response(&farewell, &mut output.buffer);
        // The client may be gone as well; there is nothing left to do about it.
        _ = output.flush().await;
    }
    output.close().await;
}

/// Brings a client in; `None` if there is nobody to serve.
async fn admit(
    socket: TcpStream,
    address: IpAddr,
    handshake: &Handshake,
    shared: &Arc<Shared>,
) -> Result<Option<(Opened, Client)>, Ended> {
    let mut opened = encryption::open(socket, shared).await?;
    let client = startup::admit(&mut opened, address, handshake, shared).await?;
    if client.is_none() {
        opened.output.close().await;
    }
    Ok(client.map(|client| (opened, client)))
}

fn prepare_socket(socket: &TcpStream) {
    // Without either option the connection still works, only worse.
    let nodelay = socket.set_nodelay(true);
    let keepalive = rustix::net::sockopt::set_socket_keepalive(socket, true);
    if nodelay.is_err() || keepalive.is_err() {
        tracing::debug!("could not set socket options");
    }
}
