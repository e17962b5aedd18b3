//! A PostgreSQL in a folder of its own, on a port of its own, ended with its owner.
//!
//! 1. Find the newest installed server's programs, or those that `HEDGEROW_POSTGRES` names: a folder that has
//!    `postgres` and `initdb`, of a version to test with.
//! 2. `initdb` into a fresh folder. PostgreSQL refuses to run as root, so root hands the folder
//!    to an unprivileged account (`postgres` where there is one, else `nobody`) and starts the
//!    programs as that account.
//! 3. Start the postmaster as a direct child and wait until it answers.
//!
//! Passwords are checked (SCRAM) for every connection, replication included. It never touches
//! another server on the machine.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail, ensure};
use postgres::{Client, NoTls};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::free_port::free_port;
use crate::owned_process::OwnedProcess;
use crate::patience::wait_for;

/// Names the folder of the programs of the server to test with; the newest installed one's otherwise.
const PROGRAMS_VARIABLE: &str = "HEDGEROW_POSTGRES";
/// The superuser of every test server.
pub const USER: &str = "postgres";
/// Its password.
pub const PASSWORD: &str = "hazel and hawthorn";
/// The same as a connection URL wants it.
const PASSWORD_IN_URL: &str = "hazel%20and%20hawthorn";

/// What a test wants of its server.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// `wal_level`: `logical` unless the test is about its absence.
    pub wal_level: String,
    /// Whether commits wait for the disk. Tests that never cut the power do without.
    pub fsync: bool,
    /// Further settings.
    pub settings: Vec<(String, String)>,
    /// Where to put the server's folder; the temporary directory by default.
    pub parent: Option<PathBuf>,
    /// A control group (a directory of the `memory` controller) to start in.
    pub memory_group: Option<PathBuf>,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            wal_level: "logical".to_owned(),
            fsync: false,
            settings: Vec::new(),
            parent: None,
            memory_group: None,
        }
    }
}

impl PostgresOptions {
    /// Adds a setting.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A running (or, between [`PostgresServer::stop`] and [`PostgresServer::start_again`], a
/// stopped) server.
#[derive(Debug)]
pub struct PostgresServer {
    // Declared before the folder: the process must be gone when its files are removed.
    process: Option<OwnedProcess>,
    programs: PathBuf,
    account: Option<Account>,
    options: PostgresOptions,
    port: u16,
    folder: TempDir,
}

/// How a server is told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Sessions are ended, a checkpoint is made.
    Fast,
    /// As if the process had crashed: recovery runs at the next start.
    Immediate,
}

impl PostgresServer {
    /// Makes a database cluster and starts its server.
    pub fn start(options: PostgresOptions) -> Result<Self> {
        let parent = options.parent.clone().unwrap_or_else(std::env::temp_dir);
        let folder = TempDir::with_prefix_in("testbed-postgres-", &parent)
            .with_context(|| format!("no folder for PostgreSQL in {}", parent.display()))?;
        let mut server = Self {
            process: None,
            programs: find_programs()?,
            account: Account::for_server()?,
            options,
            port: free_port()?,
            folder,
        };
        server.make_cluster()?;
        server.start_again()?;
        Ok(server)
    }

    /// Starts the stopped server and waits until it answers.
    pub fn start_again(&mut self) -> Result<()> {
        ensure!(self.process.is_none(), "the PostgreSQL server runs already");
        let mut command = self.program("postgres");
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.log_path())?;
        command
            .arg("-D")
            .arg(self.data())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let mut process = OwnedProcess::start("postgres", &mut command, Signal::QUIT)?;
        if let Some(group) = &self.options.memory_group {
            fs::write(group.join("cgroup.procs"), process.id().to_string())
                .with_context(|| format!("could not enter {}", group.display()))?;
        }
        wait_for("PostgreSQL to answer", || {
            if let Some(status) = process.ended()? {
                bail!("PostgreSQL ended with {status}: {}", self.log_tail());
            }
            Ok(self.connect("postgres").ok())
        })?;
        self.process = Some(process);
        Ok(())
    }

    /// Stops the server; its data stays.
    pub fn stop(&mut self, how: Shutdown) -> Result<()> {
        let mut process = self
            .process
            .take()
            .context("the PostgreSQL server does not run")?;
        process.end_with(match how {
            Shutdown::Fast => Signal::INT,
            Shutdown::Immediate => Signal::QUIT,
        })?;
        Ok(())
    }

    /// Stops and starts.
    pub fn restart(&mut self, how: Shutdown) -> Result<()> {
        self.stop(how)?;
        self.start_again()
    }

    /// Copies the stopped server's files, in place of an earlier copy.
    pub fn back_up(&self) -> Result<()> {
        self.replace_files(&self.data(), &self.backup())
    }

    /// Puts the copy in the place of the stopped server's files.
    pub fn restore(&self) -> Result<()> {
        self.replace_files(&self.backup(), &self.data())
    }

    fn backup(&self) -> PathBuf {
        self.folder.path().join("backup")
    }

    /// Puts a copy of `from` in the place of `to`, with its owner and rights.
    fn replace_files(&self, from: &Path, to: &Path) -> Result<()> {
        ensure!(self.process.is_none(), "the PostgreSQL server runs");
        if to.exists() {
            fs::remove_dir_all(to)?;
        }
        let status = Command::new("cp").arg("-a").args([from, to]).status()?;
        ensure!(status.success(), "{} was not copied", from.display());
        Ok(())
    }

    /// Starts the stopped server as a standby that has no primary: it answers, and is in recovery until it is promoted.
    pub fn start_in_recovery(&mut self) -> Result<()> {
        let path = self.data().join("postgresql.conf");
        // No archive has more log than the server itself.
        let settings = fs::read_to_string(&path)? + "restore_command = 'false'\n";
        fs::write(&path, settings)?;
        self.write_file("standby.signal", "")?;
        self.start_again()
    }

    /// Makes the server in recovery a primary, on a new timeline.
    pub fn promote(&self) -> Result<()> {
        let promoted = self
            .connect("postgres")?
            .query_one("select pg_promote()", &[])?;
        ensure!(
            promoted.get::<_, bool>(0),
            "the server was not promoted in time"
        );
        Ok(())
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The postmaster's process id.
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(OwnedProcess::id)
    }

    /// Where the cluster's files are.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A connection URL for a database, as a user would give it to `hedgerow serve --source`.
    pub fn url(&self, database: &str) -> String {
        self.url_through(self.port, database)
    }

    /// [`PostgresServer::url`] by way of another port, a [`crate::cut_link::CutLink`]'s say.
    pub fn url_through(&self, port: u16, database: &str) -> String {
        format!("postgres://{USER}:{PASSWORD_IN_URL}@127.0.0.1:{port}/{database}")
    }

    /// A connection to a database.
    pub fn connect(&self, database: &str) -> Result<Client> {
        let client = Client::configure()
            .host("127.0.0.1")
            .port(self.port)
            .user(USER)
            .password(PASSWORD)
            .dbname(database)
            .connect(NoTls)
            .with_context(|| format!("could not connect to PostgreSQL on port {}", self.port))?;
        Ok(client)
    }

    /// Makes a database and connects to it.
    pub fn create_database(&self, name: &str) -> Result<Client> {
        self.connect("postgres")?
            .batch_execute(&format!("create database \"{name}\""))?;
        self.connect(name)
    }

    /// The major version.
    pub fn version(&self) -> Result<u32> {
        let mut client = self.connect("postgres")?;
        let sql = "select current_setting('server_version_num')::int4 / 10000";
        let version: i32 = client.query_one(sql, &[])?.get(0);
        Ok(version.unsigned_abs())
    }

    /// Runs statements in a database.
    pub fn execute(&self, database: &str, statements: &str) -> Result<()> {
        self.connect(database)?
            .batch_execute(statements)
            .with_context(|| format!("PostgreSQL refused: {statements}"))
    }

    /// One of PostgreSQL's client programs, set to reach this server. Where the server came without
    /// them, the newest installed one's.
    pub fn client_program(&self, name: &str) -> Command {
        let own = self.programs.join(name);
        let program = match installed_programs() {
            Some(installed) if !own.exists() => installed.join(name),
            _ => own,
        };
        let mut command = Command::new(program);
        command
            .env("PGHOST", "127.0.0.1")
            .env("PGPORT", self.port.to_string())
            .env("PGUSER", USER)
            .env("PGPASSWORD", PASSWORD);
        command
    }

    /// Runs one of PostgreSQL's client programs to its end.
    pub fn run_client_program(&self, name: &str, arguments: &[&str]) -> Result<Output> {
        let output = self.client_program(name).args(arguments).output()?;
        ensure!(
            output.status.success(),
            "{name} {arguments:?} failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(output)
    }

    /// Has the server offer TLS from now on, with this certificate and key in PEM form.
    pub fn offer_tls(&self, certificate: &str, key: &str) -> Result<()> {
        self.write_file("server.crt", certificate)?;
        self.write_file("server.key", key)?;
        self.execute("postgres", "alter system set ssl = on")?;
        self.reload()
    }

    fn write_file(&self, name: &str, content: &str) -> Result<()> {
        let path = self.data().join(name);
        fs::write(&path, content)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        if let Some(account) = self.account {
            chown(&path, Some(account.user), Some(account.group))?;
        }
        Ok(())
    }

    /// Has the server refuse connections without TLS from now on, those of [`Self::connect`] included.
    pub fn require_tls(&self) -> Result<()> {
        let path = self.data().join("pg_hba.conf");
        let rules = fs::read_to_string(&path)?;
        fs::write(&path, rules.replace("\nhost ", "\nhostssl "))?;
        self.reload()
    }

    /// Has the server ask for a certificate of this authority (in PEM form) that names the user, beside
    /// the password, from now on, and refuse connections without TLS.
    pub fn require_certificates(&self, authority: &str) -> Result<()> {
        self.write_file("authority.crt", authority)?;
        self.execute("postgres", "alter system set ssl_ca_file = 'authority.crt'")?;
        let path = self.data().join("pg_hba.conf");
        let rules = fs::read_to_string(&path)?;
        let asked = |rule: &str| match rule.strip_prefix("host ") {
            Some(rest) => format!("hostssl {rest} clientcert=verify-full\n"),
            None => format!("{rule}\n"),
        };
        fs::write(&path, rules.lines().map(asked).collect::<String>())?;
        self.reload()
    }

    fn reload(&self) -> Result<()> {
        self.execute("postgres", "select pg_reload_conf()")
    }

    /// The end of the server's log, for messages.
    pub fn log_tail(&self) -> String {
        let log = fs::read_to_string(self.log_path()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.current_dir(self.folder.path());
        if let Some(account) = self.account {
            command.uid(account.user).gid(account.group);
        }
        command
    }

    fn make_cluster(&self) -> Result<()> {
        let password_file = self.folder.path().join("password");
        fs::write(&password_file, PASSWORD)?;
        if let Some(account) = self.account {
            for path in [self.folder.path(), &password_file] {
                chown(path, Some(account.user), Some(account.group))?;
            }
        }
        let output = self
            .program("initdb")
            .args([
                "--username",
                USER,
                "--encoding",
                "UTF8",
                "--locale",
                "C.UTF-8",
            ])
            .args(["--auth", "scram-sha-256", "--no-sync", "--pwfile"])
            .arg(&password_file)
            .arg("--pgdata")
            .arg(self.data())
            .output()
            .context("could not run initdb")?;
        ensure!(
            output.status.success(),
            "initdb: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        self.write_settings()
    }

    fn write_settings(&self) -> Result<()> {
        let port = self.port.to_string();
        let fsync = if self.options.fsync { "on" } else { "off" };
        let own = [
            ("listen_addresses", "127.0.0.1"),
            ("port", port.as_str()),
            ("unix_socket_directories", ""),
            ("wal_level", self.options.wal_level.as_str()),
            ("fsync", fsync),
            ("max_prepared_transactions", "8"),
            ("timezone", "UTC"),
            ("log_timezone", "UTC"),
        ];
        let further = self
            .options
            .settings
            .iter()
            .map(|(name, value)| (&**name, &**value));
        let lines: Vec<String> = own
            .into_iter()
            .chain(further)
            .map(|(name, value)| format!("{name} = '{value}'\n"))
            .collect();
        // The last setting of a name wins, so these override what initdb wrote.
        let path = self.data().join("postgresql.conf");
        let written = fs::read_to_string(&path)?;
        fs::write(&path, written + &lines.concat())?;
        Ok(())
    }
}

/// An unprivileged account to run a server as.
#[derive(Clone, Copy, Debug)]
struct Account {
    user: u32,
    group: u32,
}

impl Account {
    /// `None` when this process is unprivileged itself.
    fn for_server() -> Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let accounts = fs::read_to_string("/etc/passwd")?;
        let account = ["postgres", "nobody"]
            .iter()
            .find_map(|name| Self::find(&accounts, name));
        Ok(Some(account.context(
            "neither account postgres nor nobody to run a server as",
        )?))
    }

    fn find(accounts: &str, name: &str) -> Option<Self> {
        let fields: Vec<&str> = accounts
            .lines()
            .map(|l| l.split(':').collect())
            .find(|f: &Vec<_>| f[0] == name)?;
        Some(Self {
            user: fields.get(2)?.parse().ok()?,
            group: fields.get(3)?.parse().ok()?,
        })
    }
}

/// The folder of the programs of the server to test with.
fn find_programs() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os(PROGRAMS_VARIABLE) {
        let named = PathBuf::from(named);
        ensure!(
            has_server(&named),
            "{PROGRAMS_VARIABLE} names {}, which has no PostgreSQL server",
            named.display()
        );
        return Ok(named);
    }
    installed_programs()
        .context("no PostgreSQL server is installed; on Debian: apt-get install postgresql")
}

/// The folder of the newest installed server's programs: Debian's versioned folders, else the path.
fn installed_programs() -> Option<PathBuf> {
    let debian = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let newest = debian
        .filter_map(|entry| {
            let version: u32 = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .filter(|(_, programs)| programs.join("postgres").exists())
        .max();
    if let Some((_, programs)) = newest {
        return Some(programs);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).find(|folder: &PathBuf| has_server(folder))
}

fn has_server(folder: &Path) -> bool {
    folder.join("postgres").exists() && folder.join("initdb").exists()
}
