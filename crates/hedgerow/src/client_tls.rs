//! TLS for the built-in client, without asking anybody who the server is.
//!
//! The server proves that it knows the password, and the proof covers the certificate that the
//! client was shown (SCRAM-SHA-256-PLUS). Somebody in between, who has another certificate,
//! cannot give that proof. So no certificate authority is needed, and none is asked.
//!
//! Invariant: a certificate that nothing can be bound to (Ed25519) is refused.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use replication::postgres::certificate_hash::certificate_hash;
use replication::postgres::tls::{PROTOCOL, any_certificate};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig};

/// Begins TLS for tokio-postgres.
#[derive(Clone)]
pub struct BoundTls {
    config: Arc<ClientConfig>,
}

impl BoundTls {
    /// Any certificate will do, for its owner has yet to prove the password.
    pub fn new() -> Result<Self, rustls::Error> {
        let provider = Arc::new(ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(any_certificate(&provider))
            .with_no_client_auth();
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(Self {
            config: Arc::new(config),
        })
    }
}

impl<S> MakeTlsConnect<S> for BoundTls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = BoundStream<S>;
    type TlsConnect = Connect;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<Connect> {
        let host = ServerName::try_from(host.to_owned())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(Connect {
            connector: TlsConnector::from(self.config.clone()),
            host,
        })
    }
}

/// One connection's beginning.
pub struct Connect {
    connector: TlsConnector,
    host: ServerName<'static>,
}

impl<S> TlsConnect<S> for Connect
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = BoundStream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<BoundStream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let stream = self.connector.connect(self.host, stream).await?;
            let shown = stream.get_ref().1.peer_certificates();
            let hash = shown
                .and_then(<[_]>::first)
                .and_then(|own| certificate_hash(own));
            let Some(certificate_hash) = hash else {
                let message = "the server's certificate is of a kind that a password cannot be \
                               bound to; use one with an RSA or ECDSA signature";
                return Err(io::Error::other(message));
            };
            Ok(BoundStream {
                stream,
                certificate_hash,
            })
        })
    }
}

/// An encrypted connection and the certificate that it began with.
pub struct BoundStream<S> {
    stream: tokio_rustls::client::TlsStream<S>,
    certificate_hash: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for BoundStream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::tls_server_end_point(self.certificate_hash.clone())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for BoundStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for BoundStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
