//! The hedgerow binary as a user runs it, on a data directory of its own.
//!
//! The binary is looked for beside the running program (both come out of one target directory);
//! `HEDGEROW_BINARY` names another one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use postgres::{Client, NoTls};
use rustix::process::Signal;
use types::CommitPosition;

use crate::bank::single_value;
use crate::free_port::free_port;
use crate::owned_process::OwnedProcess;
use crate::patience::{PATIENCE, wait_for};

/// How `hedgerow serve` is started.
#[derive(Clone, Debug)]
pub struct HedgerowOptions {
    /// The source's connection URL.
    pub source: String,
    /// The data directory; made by the first start.
    pub data: PathBuf,
    /// The port on 127.0.0.1, unless the arguments say where to listen.
    pub port: u16,
    /// Further arguments of `serve`.
    pub arguments: Vec<String>,
    /// A control group (a directory of the `memory` controller) to start in.
    pub memory_group: Option<PathBuf>,
    /// The binary.
    pub binary: PathBuf,
}

impl HedgerowOptions {
    /// Serves `source` from `data` on a free port.
    pub fn new(source: String, data: &Path) -> Result<Self> {
        Ok(Self {
            source,
            data: data.to_owned(),
            port: free_port()?,
            arguments: Vec::new(),
            memory_group: None,
            binary: find_binary()?,
        })
    }

    /// Adds arguments of `serve`.
    #[must_use]
    pub fn with(mut self, arguments: &[&str]) -> Self {
        self.arguments
            .extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    /// The command line `hedgerow serve …`.
    fn serve(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(["serve", "--source", &self.source, "--data"])
            .arg(&self.data)
            .args(&self.arguments);
        if !self.arguments.iter().any(|argument| argument == "--listen") {
            command.args(["--listen", &format!("127.0.0.1:{}", self.port)]);
        }
        command
    }
}

/// A `hedgerow serve` process.
#[derive(Debug)]
pub struct Hedgerow {
    options: HedgerowOptions,
    process: Option<OwnedProcess>,
}

/// How a process that was expected to refuse has ended.
#[derive(Debug)]
pub struct Refusal {
    /// Its exit status.
    pub status: ExitStatus,
    /// All it wrote to its log.
    pub message: String,
}

impl Hedgerow {
    /// Starts the server without waiting for anything.
    pub fn start(options: HedgerowOptions) -> Result<Self> {
        let mut hedgerow = Self {
            options,
            process: None,
        };
        hedgerow.start_again()?;
        Ok(hedgerow)
    }

    /// Starts the server and waits until it answers SQL: the copy is complete and caught up.
    pub fn start_ready(options: HedgerowOptions) -> Result<Self> {
        let mut hedgerow = Self::start(options)?;
        hedgerow.wait_ready()?;
        Ok(hedgerow)
    }

    /// Starts a server that is expected to refuse, and gives its message.
    pub fn start_refused(options: HedgerowOptions) -> Result<Refusal> {
        let mut hedgerow = Self::start(options)?;
        let status = hedgerow.wait_for_end()?;
        ensure!(
            !status.success(),
            "serve ended without an error: {}",
            hedgerow.log()
        );
        Ok(Refusal {
            status,
            message: hedgerow.log(),
        })
    }

    /// Starts the server again after it has ended.
    pub fn start_again(&mut self) -> Result<()> {
        ensure!(self.process.is_none(), "hedgerow runs already");
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.log_path())?;
        let mut command = self.options.serve();
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let process = OwnedProcess::start("hedgerow", &mut command, Signal::TERM)?;
        if let Some(group) = &self.options.memory_group {
            fs::write(group.join("cgroup.procs"), process.id().to_string())
                .with_context(|| format!("could not enter {}", group.display()))?;
        }
        self.process = Some(process);
        Ok(())
    }

    /// Waits until the copy is complete and the log is followed, caught up.
    pub fn wait_ready(&mut self) -> Result<()> {
        self.wait_ready_at_most(PATIENCE)
    }

    /// [`Hedgerow::wait_ready`] with a limit of the caller's.
    pub fn wait_ready_at_most(&mut self, limit: Duration) -> Result<()> {
        crate::patience::wait_at_most(limit, "hedgerow to answer", || {
            if let Some(status) = self.ended()? {
                // The error is final: no later look can find another state.
                return Ok(Some(Err(status)));
            }
            let state = single_value(&mut self.connect()?, STATE)?;
            ensure!(state == "streaming", "the source is {state}");
            Ok(Some(Ok(())))
        })
        .with_context(|| format!("its log: {}", self.log_tail()))?
        .map_err(|status| anyhow::anyhow!("hedgerow ended with {status}: {}", self.log_tail()))
    }

    /// Kills the server with SIGKILL.
    pub fn kill(&mut self) -> Result<()> {
        self.end_with(Signal::KILL).map(drop)
    }

    /// Ends the server in good order.
    pub fn stop(&mut self) -> Result<ExitStatus> {
        self.end_with(Signal::TERM)
    }

    /// Waits for the server to end by itself.
    pub fn wait_for_end(&mut self) -> Result<ExitStatus> {
        let process = self.process.as_mut().context("hedgerow does not run")?;
        let Some(status) = process.wait_at_most(PATIENCE)? else {
            bail!(
                "hedgerow was expected to end by itself and did not: {}",
                self.log_tail()
            );
        };
        self.process = None;
        Ok(status)
    }

    /// The exit status, if the server has ended by itself.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.process
            .as_mut()
            .context("hedgerow does not run")?
            .ended()
    }

    /// The server's process id.
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(OwnedProcess::id)
    }

    /// How the server was started.
    pub fn options(&self) -> &HedgerowOptions {
        &self.options
    }

    /// Adds command line arguments; the next start has them.
    pub fn add_arguments(&mut self, arguments: &[&str]) {
        let arguments = arguments.iter().map(|&argument| argument.to_owned());
        self.options.arguments.extend(arguments);
    }

    /// The data directory.
    pub fn data(&self) -> &Path {
        &self.options.data
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.options.port
    }

    /// A connection with the password that the first start generated.
    pub fn connect(&self) -> Result<Client> {
        let client = Client::configure()
            .host("127.0.0.1")
            .port(self.port())
            .user(USER)
            .password(self.password()?)
            .dbname(DATABASE)
            .connect(NoTls)
            .with_context(|| self.no_connection())?;
        Ok(client)
    }

    fn no_connection(&self) -> String {
        let log = self.log_tail();
        format!(
            "no connection to hedgerow on port {}; its log: {log}",
            self.port()
        )
    }

    /// The generated password, from a file that nobody else may read.
    pub fn password(&self) -> Result<String> {
        let path = self.data().join(PASSWORD_FILE);
        let text = fs::read_to_string(&path)
            .with_context(|| format!("no password file {}", path.display()))?;
        let mode = fs::metadata(&path)?.permissions().mode() & 0o777;
        ensure!(mode == 0o600, "{} has mode {mode:o}", path.display());
        Ok(text.trim().to_owned())
    }

    /// Another hedgerow command (`sql`, `status`, `verify`) on the same data directory.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.options.binary);
        command.args(arguments).arg("--data").arg(self.data());
        command
    }

    /// Runs another hedgerow command to its end.
    pub fn run(&self, arguments: &[&str]) -> Result<Output> {
        self.command(arguments)
            .output()
            .with_context(|| format!("could not run {arguments:?}"))
    }

    /// Runs `hedgerow verify`; an error that shows its output unless all tables are equal.
    pub fn verify(&self) -> Result<String> {
        let output = self.run(&["verify"])?;
        let text = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        ensure!(output.status.success(), "verify: {}\n{text}", output.status);
        Ok(text)
    }

    /// Waits until `query`'s single value is `wanted`.
    pub fn wait_for_value(&self, query: &str, wanted: &str) -> Result<()> {
        wait_for(&format!("{query} to give {wanted}"), || {
            let value = single_value(&mut self.connect()?, query)?;
            ensure!(value == wanted, "{query} gives {value}");
            Ok(Some(()))
        })
    }

    /// Bytes of all files in the data directory, as the file system counts them.
    pub fn bytes_on_disk(&self) -> Result<u64> {
        bytes_below(self.data())
    }

    /// All the server has written to its log.
    pub fn log(&self) -> String {
        fs::read(self.log_path())
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// The end of the log, for messages.
    pub fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    /// Beside the data directory, which a test may fill to the brim or damage.
    fn log_path(&self) -> PathBuf {
        let mut name = self.options.data.clone().into_os_string();
        name.push(format!("-{}.log", self.options.port));
        name.into()
    }

    fn end_with(&mut self, signal: Signal) -> Result<ExitStatus> {
        let mut process = self.process.take().context("hedgerow does not run")?;
        process.end_with(signal)
    }
}

/// The account of the wire protocol.
pub const USER: &str = "hedgerow";
/// The one database.
pub const DATABASE: &str = "hedgerow";
/// Tells the position at which this statement, or its transaction, is answered.
const POSITION: &str = "select hedgerow.position()";
/// Tells what the one source is doing.
const STATE: &str = "select state from hedgerow.sources";
/// Where the generated password is, in the data directory.
pub const PASSWORD_FILE: &str = "password";

/// The position at which a session's next statement, or its open transaction, is answered.
pub fn position_of(client: &mut Client) -> Result<CommitPosition> {
    Ok(single_value(client, POSITION)?.parse()?)
}

/// Bytes that the files below a folder occupy, as the file system counts them.
pub fn bytes_below(folder: &Path) -> Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        bytes += match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path())?,
            Ok(metadata) => metadata.blocks() * 512,
            // A merge's input may be removed between the listing and the look.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error.into()),
        };
    }
    Ok(bytes)
}

/// The binary beside the running program, or one folder up (tests run in `deps`).
pub fn find_binary() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("HEDGEROW_BINARY") {
        return Ok(path.into());
    }
    let own = std::env::current_exe()?;
    own.ancestors()
        .skip(1)
        .take(2)
        .map(|folder| folder.join("hedgerow"))
        .find(|path| path.is_file())
        .with_context(|| {
            format!(
                "no hedgerow binary beside {}: cargo build -p hedgerow",
                own.display()
            )
        })
}
