//! Where a running server listens, for `hedgerow sql` and its like: a file in the data
//! directory that names the address.
//!
//! It is a hint, not a lock: after a crash it may name a server that is gone, and then the
//! client's connection fails.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

const FILE: &str = "address";

fn file(data: &Path) -> PathBuf {
    data.join(FILE)
}

/// Says where the server listens.
pub fn write(data: &Path, address: SocketAddr) -> io::Result<()> {
    std::fs::write(file(data), format!("{address}\n"))
}

/// Says that it no longer does.
pub fn remove(data: &Path) {
    // It is only a hint: if it stays, clients fail to connect instead of failing to find it.
    _ = std::fs::remove_file(file(data));
}

/// Where the server listens.
pub fn read(data: &Path) -> io::Result<SocketAddr> {
    let text = std::fs::read_to_string(file(data))?;
    let bad = || io::Error::new(io::ErrorKind::InvalidData, "the address file is damaged");
    text.trim().parse().map_err(|_| bad())
}
