//! The HTTP side: one request a connection, answered and closed.
//!
//! 1. A request's head is read, at most eight kilobytes within five seconds.
//! 2. Only GET, of three paths, for a loopback host.
//! 3. The answer goes out whole, with its length.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::facts::Observed;
use super::{metrics, page};

/// Longest head of a request, bytes.
const HEAD_BYTES_MAX: usize = 8 << 10;
/// How long a client may take for its request, and for taking the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Requests at the same time.
const REQUESTS_MAX: usize = 16;
/// Pause after a failed accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The web server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// The address is not this machine's own.
    #[error("{0} is not a loopback address: metrics and the web page have no password")]
    NotLoopback(SocketAddr),
    /// The operating system refuses.
    #[error("cannot listen on {0} for metrics and the web page: {1}")]
    Io(SocketAddr, io::Error),
}

/// A listening web server.
pub struct Web {
    listener: TcpListener,
    observed: Observed,
}

impl Web {
    /// Takes the address.
    pub async fn bind(address: SocketAddr, observed: Observed) -> Result<Self, WebError> {
        if !address.ip().is_loopback() {
            return Err(WebError::NotLoopback(address));
        }
        let listener = TcpListener::bind(address)
            .await
            .map_err(|error| WebError::Io(address, error))?;
        Ok(Self { listener, observed })
    }

    /// Serves until it is dropped.
    pub async fn run(self) {
        let places = Arc::new(Semaphore::new(REQUESTS_MAX));
        loop {
            let Ok(place) = places.clone().acquire_owned().await else {
                unreachable!("nobody closes the semaphore");
            };
            match self.listener.accept().await {
                Ok((socket, _)) => {
                    let observed = self.observed.clone();
                    tokio::spawn(async move {
                        // A client that is too slow, or has gone, gets no answer.
                        _ = tokio::time::timeout(PATIENCE, serve(socket, &observed)).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "could not accept a web request");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

async fn serve(mut socket: TcpStream, observed: &Observed) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > HEAD_BYTES_MAX || socket.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let answer = answer(&String::from_utf8_lossy(&head), observed);
    socket.write_all(&answer.bytes()).await?;
    socket.shutdown().await
}

/// What is sent back.
struct Answer {
    status: &'static str,
    media_type: &'static str,
    body: String,
}

impl Answer {
    fn refusal(status: &'static str) -> Self {
        Self {
            status,
            media_type: "text/plain; charset=utf-8",
            body: format!("{status}\n"),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let head = format!(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
             Content-Security-Policy: default-src 'none'; connect-src 'self'; \
             style-src 'unsafe-inline'; script-src 'unsafe-inline'\r\n\
             X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
            self.status,
            self.media_type,
            self.body.len()
        );
        [head.as_bytes(), self.body.as_bytes()].concat()
    }
}

fn answer(head: &str, observed: &Observed) -> Answer {
    let mut lines = head.lines();
    let mut request = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (request.next(), request.next().unwrap_or_default());
    let host = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    });
    if !host.is_some_and(is_loopback) {
        return Answer::refusal("421 Misdirected Request");
    }
    if method != Some("GET") {
        return Answer::refusal("405 Method Not Allowed");
    }
    let (media_type, body) = match target.split('?').next().unwrap_or_default() {
        "/" => ("text/html; charset=utf-8", page::PAGE.to_owned()),
        "/metrics" => (metrics::MEDIA_TYPE, metrics::render(&observed.look())),
        "/status.json" => match page::status(&observed.look()) {
            Ok(body) => ("application/json", body),
            Err(error) => {
                tracing::error!(%error, "the status cannot be told as JSON");
                return Answer::refusal("500 Internal Server Error");
            }
        },
        _ => return Answer::refusal("404 Not Found"),
    };
    Answer {
        status: "200 OK",
        media_type,
        body,
    }
}

/// Whether a Host header names this machine.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || name
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_hosts_are_answered() {
        for host in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:9187",
            "[::1]:9187",
            "[::1]",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            "example.com",
            "127.0.0.1.example.com",
            "10.0.0.1:80",
            "localhost.x:1",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
