//! A MariaDB server of our own: its folder, its socket, its process, and nothing of the packaged
//! service.
//!
//! Settings, from "InnoDB System Variables" and "How to Quickly Insert Data Into MariaDB" of its
//! manual, for a server within a memory limit ([`Settings`] has what experiments choose):
//!
//! * `O_DIRECT`, pages checksummed and written twice, as they are by default: without either a
//!   crash would cost the table;
//! * no binary log, because nobody follows it;
//! * a log twice as large as the limit, so that pages are never written to make room in it;
//! * no flushing of neighbours, which is for spinning disks, and 2,000 to 20,000 page writes a
//!   second in the background.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

/// The data folder below a server's own.
const DATA: &str = "data";

/// How long a server may take to start: it writes its whole log file first.
const START_MAX: Duration = Duration::from_secs(180);

/// When a commit is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogSync {
    /// A second later at most.
    OnceASecond,
    /// Before it is acknowledged; commits of several connections share a sync.
    EachCommit,
}

/// What differs from experiment to experiment.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Bytes of the buffer pool.
    pub buffer_pool_bytes: u64,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// When the log is synced.
    pub log_sync: LogSync,
    /// Connections beside those that look after the server.
    pub connections: usize,
}

/// A running server; killed when it goes out of scope before it was told to stop.
#[derive(Debug)]
pub struct MariadbServer {
    process: Child,
    data: PathBuf,
    socket: PathBuf,
}

impl MariadbServer {
    /// Starts a server on what [`install`] made.
    pub fn start(folder: &Path, settings: &Settings) -> Result<Self> {
        let data = folder.join(DATA);
        let log = folder.join("server.log");
        let socket = folder.join("socket");
        // The parent's death must not leave a server behind; `setpriv` becomes the server.
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "TERM", "mariadbd", "--no-defaults"])
            .arg(option("datadir", &data))
            .arg(option("socket", &socket))
            .arg(option("log-error", &log))
            .args(user())
            .args(settings.options())
            .stdin(Stdio::null());
        let process = command.spawn().context("could not start mariadbd")?;
        let mut server = Self {
            process,
            data,
            socket,
        };
        server.wait_until_up(&log)?;
        Ok(server)
    }

    /// A connection that may load data from this process.
    pub fn connect(&self) -> Result<Conn> {
        let options = OptsBuilder::new()
            .socket(Some(self.socket.to_string_lossy()))
            .user(Some("root"));
        Ok(Conn::new(options)?)
    }

    /// Its socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Where a database's tables lie.
    pub fn database_folder(&self, database: &str) -> PathBuf {
        self.data.join(database)
    }

    /// Ends the server as its manual wants it.
    pub fn stop(mut self, mut connection: Conn) -> Result<()> {
        connection.query_drop("shutdown")?;
        let status = self.process.wait()?;
        ensure!(status.success(), "mariadbd ended with {status}");
        Ok(())
    }

    fn wait_until_up(&mut self, log: &Path) -> Result<()> {
        let started = Instant::now();
        while started.elapsed() < START_MAX {
            if self.connect().is_ok() {
                return Ok(());
            }
            if let Some(status) = self.process.try_wait()? {
                return Err(ended(status, log));
            }
            thread::sleep(Duration::from_millis(100));
        }
        bail!("mariadbd did not start within {START_MAX:?}")
    }
}

impl Drop for MariadbServer {
    fn drop(&mut self) {
        // Fails when it has ended already, which is what is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Makes a data folder with the system tables below `folder`. Takes more memory than the server
/// needs afterwards: not to be done within a limit.
pub fn install(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let output = Command::new("mariadb-install-db")
        .args(["--no-defaults", "--skip-test-db"])
        .arg("--auth-root-authentication-method=normal")
        .arg(option("datadir", &folder.join(DATA)))
        .args(user())
        .output()
        .context("could not start mariadb-install-db")?;
    ensure!(
        output.status.success(),
        "mariadb-install-db: {}",
        String::from_utf8_lossy(&output.stdout)
    );
    Ok(())
}

fn ended(status: ExitStatus, log: &Path) -> anyhow::Error {
    let text = fs::read_to_string(log).unwrap_or_default();
    let last: Vec<&str> = text.lines().rev().take(5).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    anyhow::anyhow!("MariaDB ended with {status}: {}", last.join("\n"))
}

/// Root has to say that it means itself.
fn user() -> Option<&'static str> {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    is_root.then_some("--user=root")
}

fn option(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}

impl Settings {
    fn options(&self) -> Vec<String> {
        let sync = match self.log_sync {
            LogSync::OnceASecond => 2,
            LogSync::EachCommit => 1,
        };
        [
            "skip-networking",
            "skip-log-bin",
            "local-infile=1",
            "performance-schema=0",
            "table-open-cache=100",
            "open-files-limit=1024",
            "key-buffer-size=1M",
            "aria-pagecache-buffer-size=8M",
            "innodb-flush-method=O_DIRECT",
            "innodb-flush-neighbors=0",
            "innodb-log-file-buffering=0",
            "innodb-log-buffer-size=8M",
            "innodb-io-capacity=2000",
            "innodb-io-capacity-max=20000",
        ]
        .map(str::to_owned)
        .into_iter()
        .chain([
            format!("max-connections={}", self.connections + 10),
            format!("innodb-flush-log-at-trx-commit={sync}"),
            format!("innodb-buffer-pool-size={}", self.buffer_pool_bytes),
            format!("innodb-log-file-size={}", self.log_bytes),
        ])
        .map(|setting| format!("--{setting}"))
        .collect()
    }

    /// The settings that matter, in words.
    pub fn in_words(&self) -> String {
        let sync = match self.log_sync {
            LogSync::OnceASecond => "once a second",
            LogSync::EachCommit => "with each commit",
        };
        format!(
            "MariaDB, buffer pool {} MiB, log {} MiB, O_DIRECT, pages written twice, log synced \
             {sync}, no binary log",
            self.buffer_pool_bytes >> 20,
            self.log_bytes >> 20
        )
    }
}
