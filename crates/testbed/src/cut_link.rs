//! A network link that can be cut: a TCP forwarder between two processes of a test.
//!
//! Each accepted connection gets two threads that copy bytes until either side closes. Cutting
//! closes every connection at once, in the middle of whatever message is on its way, and
//! refuses new ones until the link is mended.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};

/// A forwarder on a loopback port of its own.
#[derive(Debug)]
pub struct CutLink {
    port: u16,
    state: Arc<LinkState>,
}

#[derive(Debug, Default)]
struct LinkState {
    cut: AtomicBool,
    ended: AtomicBool,
    streams: Mutex<Vec<TcpStream>>,
}

impl CutLink {
    /// Forwards a fresh port to `target_port`, both on the loopback address.
    pub fn to(target_port: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port for a link")?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(LinkState::default());
        let accepting = Arc::clone(&state);
        start_thread(move || accept_until_ended(&listener, target_port, &accepting))?;
        Ok(Self { port, state })
    }

    /// Where to connect instead of the target.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Closes all connections and refuses new ones.
    pub fn cut(&self) {
        self.state.cut.store(true, Ordering::SeqCst);
        self.state.close_all();
    }

    /// Closes all connections; new ones get through.
    pub fn break_once(&self) {
        self.state.close_all();
    }

    /// Lets new connections through again.
    pub fn mend(&self) {
        self.state.cut.store(false, Ordering::SeqCst);
    }
}

impl Drop for CutLink {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::SeqCst);
        self.cut();
        // Wakes the accepting thread, which then sees that the link has ended.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

impl LinkState {
    fn close_all(&self) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        for stream in streams.drain(..) {
            // A stream that is closed already is what was wanted.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn remember(&self, stream: &TcpStream) -> Result<()> {
        let clone = stream.try_clone()?;
        self.streams
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(clone);
        Ok(())
    }
}

fn accept_until_ended(listener: &TcpListener, target_port: u16, state: &Arc<LinkState>) {
    for client in listener.incoming().flatten() {
        if state.ended.load(Ordering::SeqCst) {
            return;
        }
        if !state.cut.load(Ordering::SeqCst) {
            // A connection that cannot be made is closed, which is what a cut link looks like.
            let _ = forward(client, target_port, state);
        }
    }
}

fn forward(client: TcpStream, target_port: u16, state: &LinkState) -> Result<()> {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, target_port))?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    state.remember(&client)?;
    state.remember(&server)?;
    let (client_reads, server_writes) = (client.try_clone()?, server.try_clone()?);
    start_thread(move || copy_until_closed(client_reads, server_writes))?;
    start_thread(move || copy_until_closed(server, client))
}

/// Ends by itself when the connections of its work close.
fn start_thread(work: impl FnOnce() + Send + 'static) -> Result<()> {
    thread::Builder::new()
        .name("cut-link".to_owned())
        .spawn(work)?;
    Ok(())
}

fn copy_until_closed(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length) = from.read(&mut buffer) {
        if length == 0 || to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo_server() -> Result<u16> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        start_thread(move || {
            for stream in listener.incoming().flatten() {
                let Ok(reader) = stream.try_clone() else {
                    return;
                };
                let echo = start_thread(move || copy_until_closed(reader, stream));
                assert!(echo.is_ok(), "no thread");
            }
        })?;
        Ok(port)
    }

    fn echoed(stream: &mut TcpStream) -> std::io::Result<[u8; 4]> {
        stream.write_all(b"abcd")?;
        let mut answer = [0; 4];
        stream.read_exact(&mut answer)?;
        Ok(answer)
    }

    #[test]
    fn forwards_until_cut_and_again_once_mended() -> Result<()> {
        let link = CutLink::to(echo_server()?)?;
        let mut first = TcpStream::connect((Ipv4Addr::LOCALHOST, link.port()))?;
        assert_eq!(&echoed(&mut first)?, b"abcd");
        link.cut();
        assert!(echoed(&mut first).is_err());
        let mut refused = TcpStream::connect((Ipv4Addr::LOCALHOST, link.port()))?;
        assert!(echoed(&mut refused).is_err());
        link.mend();
        let mut second = TcpStream::connect((Ipv4Addr::LOCALHOST, link.port()))?;
        assert_eq!(&echoed(&mut second)?, b"abcd");
        Ok(())
    }
}
