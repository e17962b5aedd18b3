//! Ports nobody listens on.
//!
//! The system hands out a free port, which is let go at once for the server to bind. Another
//! process could take it in between; the kernel walks its range, so in practice none does.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result};

/// A port of the loopback address that was free a moment ago.
pub fn free_port() -> Result<u16> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on 127.0.0.1")?;
    Ok(listener.local_addr()?.port())
}
