//! Ports nobody listens on.
//!
//! A server that is stopped and started again keeps its port, so nobody may take the port in
//! between. Ports are therefore counted up, never given twice by one process, and lie below the
//! range from which systems take the ports of outgoing connections (32,768 and up on Linux): a
//! port from there is lost to the next connection of any other test.
//!
//! Does not: keep a port from other processes between the look and the server's own `bind`.

use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};

/// The first port given out.
const FIRST: u32 = 10_000;

/// How many ports are given out in turn.
const COUNT: u32 = 22_000;

/// Processes that run side by side start this many ports apart.
const STRIDE: u32 = 101;

/// How many ports this process has looked at.
static LOOKED_AT: AtomicU32 = AtomicU32::new(0);

/// A port of the loopback address that was free a moment ago, and that this process is not given
/// again.
pub fn free_port() -> Result<u16> {
    let start = process::id().wrapping_mul(STRIDE) % COUNT;
    (0..COUNT)
        .map(|_| LOOKED_AT.fetch_add(1, Ordering::Relaxed))
        .map(|looked_at| FIRST + (start + looked_at) % COUNT)
        .filter_map(|port| u16::try_from(port).ok())
        .find(|&port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
        .context("no free port on 127.0.0.1")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_port_is_given_once_and_not_from_those_of_connections() {
        let ports: Vec<u16> = (0..100).map(|_| free_port().expect("a port")).collect();
        assert!(ports.iter().all(|&port| (10_000..32_000).contains(&port)));
        assert_eq!(ports.iter().collect::<HashSet<_>>().len(), ports.len());
    }

    #[test]
    fn a_port_in_use_is_passed_over() {
        let taken = free_port().expect("a port");
        let next = TcpListener::bind((Ipv4Addr::LOCALHOST, taken + 1));
        let given = free_port().expect("a port");
        assert!(next.is_err() || given != taken + 1);
    }
}
