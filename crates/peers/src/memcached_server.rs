//! A memcached of our own: its socket and its process.
//!
//! Settings, from its manual and "Configuring the Server" of its wiki:
//!
//! * a thread for each processor, which is what it is for at most;
//! * the first size class is that of our rows ([`CHUNK_BYTES`]): with the classes that it makes otherwise a
//!   tenth of the memory would be lost at the ends;
//! * a Unix socket instead of TCP, because the clients are here.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use contender::ycsb::row::ROW_BYTES;

use crate::memcached_client::MemcachedClient;

/// What an item takes beside its value: its header (48 bytes), its number (8), a key of up to eight digits and
/// a zero (9), the end of the line (2), and what it is rounded up by.
const ITEM_BYTES: usize = 48 + 8 + 9 + 2;

/// Bytes of a row in memcached.
pub const CHUNK_BYTES: usize = (ITEM_BYTES + ROW_BYTES).next_multiple_of(8);

const START_MAX: Duration = Duration::from_secs(10);

/// A running server; killed when it goes out of scope: it has nothing that would have to be kept.
#[derive(Debug)]
pub struct MemcachedServer {
    process: Child,
    socket: PathBuf,
}

impl MemcachedServer {
    /// Starts one with so much memory for items.
    pub fn start(folder: &Path, item_bytes: u64) -> Result<Self> {
        let socket = folder.join("memcached");
        // The parent's death must not leave a server behind; `setpriv` becomes the server.
        let process = Command::new("setpriv")
            .args(["--pdeathsig", "TERM", "memcached", "-u", "root", "-t", "2"])
            .arg("-s")
            .arg(&socket)
            .args(["-m", &(item_bytes >> 20).to_string()])
            // It adds the header itself.
            .args(["-n", &(CHUNK_BYTES - 48).to_string()])
            .stdin(Stdio::null())
            .spawn()
            .context("could not start memcached")?;
        let mut server = Self { process, socket };
        server.wait_until_up()?;
        Ok(server)
    }

    /// A connection.
    pub fn connect(&self) -> Result<MemcachedClient> {
        MemcachedClient::connect(&self.socket)
    }

    fn wait_until_up(&mut self) -> Result<()> {
        let started = Instant::now();
        while started.elapsed() < START_MAX {
            if self.connect().is_ok() {
                return Ok(());
            }
            if let Some(status) = self.process.try_wait()? {
                bail!("memcached ended with {status}");
            }
            thread::sleep(Duration::from_millis(10));
        }
        bail!("memcached did not start within {START_MAX:?}")
    }
}

impl Drop for MemcachedServer {
    fn drop(&mut self) {
        // Fails when it has ended already, which is what is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
