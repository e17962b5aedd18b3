//! The settings of `serve`: every limit and default in one place.
//!
//! A setting comes from the command line, else from the settings file, else from its default.
//! The source may also come from the environment. What is said twice is taken from the more
//! immediate place; what is misspelt in the file is an error, never ignored.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use replication::apply::ApplyOptions;
use replication::postgres::PostgresConfig;
use replication::postgres::config::{BacklogReading, ConfigError, OnGap};
use serde::Deserialize;

use crate::byte_size::ByteSize;
use crate::cli::{BacklogLink, GapAnswer, ServeArguments, SourceArguments};
use crate::server::tls::TlsFiles;

/// The data directory where none is named.
pub const DEFAULT_DATA: &str = "hedgerow-data";
/// The one user.
pub const USER: &str = "hedgerow";
/// The one database.
pub const DATABASE: &str = "hedgerow";

/// The environment variable for the source's URL.
const SOURCE_VARIABLE: &str = "HEDGEROW_SOURCE";
/// The environment variable for the source's password, libpq's.
const PASSWORD_VARIABLE: &str = "PGPASSWORD";

const DEFAULT_PORT: u16 = 5433;
/// Enough for the demo and for tables up to some hundred times as large.
const DEFAULT_MEMORY: ByteSize = ByteSize::mib(512);
/// The process takes 35 MiB before it has done anything, and up to 40 MiB of batches are in
/// flight.
const LEAST_MEMORY: ByteSize = ByteSize::mib(128);
const DEFAULT_SPILL: ByteSize = ByteSize(16 << 30);
const DEFAULT_CONNECTIONS: usize = 100;
const DEFAULT_CATCH_UP_SECONDS: u64 = 30;
/// Enough for the keys of some five million rows, which stay in memory.
pub const DEFAULT_PRIMARY_MEMORY: ByteSize = ByteSize::mib(256);
/// The primary's buffers alone take some of it.
const LEAST_PRIMARY_MEMORY: ByteSize = ByteSize::mib(8);

/// What stands for the built-in primary where a source is named.
pub const PRIMARY: &str = "primary";

/// A setting cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The settings file cannot be read.
    #[error("cannot read the settings file {file}: {error}")]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The settings file has an error.
    #[error("in the settings file {file}, line {line}: {reason}")]
    Malformed {
        /// The file.
        file: PathBuf,
        /// Where; 1 is the first. What stands there is not told: it may be a password.
        line: usize,
        /// Why.
        reason: String,
    },
    /// There is no source.
    #[error(
        "no source is given. Use --source postgres://user@host/database or --source primary, the environment \
         variable HEDGEROW_SOURCE, or source = \"…\" in the settings file"
    )]
    NoSource,
    /// The source's settings cannot be used.
    #[error(transparent)]
    Source(#[from] ConfigError),
    /// Less memory than can work.
    #[error("memory = {0} is too little: {LEAST_MEMORY} is the least")]
    TooLittleMemory(ByteSize),
    /// Less memory for the primary than can work.
    #[error("primary-memory = {0} is too little: {LEAST_PRIMARY_MEMORY} is the least")]
    TooLittlePrimaryMemory(ByteSize),
    /// A setting of another kind of source.
    #[error("{setting} is a setting for {of}")]
    OfAnotherSource {
        /// The setting.
        setting: &'static str,
        /// What it is for.
        of: &'static str,
    },
    /// A certificate without its key, or a key without its certificate.
    #[error("tls-certificate and tls-key have to be given together")]
    HalfCertificate,
    /// Encryption is required, and there is none.
    #[error("tls-required needs tls-certificate and tls-key")]
    NoCertificate,
    /// A count of zero.
    #[error("{0} = 0 leaves nothing to work with")]
    Zero(&'static str),
}

/// What can stand in the settings file: the long options of `serve`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SettingsFile {
    source: Option<String>,
    publication: Option<String>,
    slot: Option<String>,
    schema: Option<PathBuf>,
    data: Option<PathBuf>,
    listen: Option<SocketAddr>,
    web: Option<SocketAddr>,
    tls_certificate: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    tls_required: Option<bool>,
    memory: Option<ByteSize>,
    primary_memory: Option<ByteSize>,
    spill: Option<ByteSize>,
    threads: Option<usize>,
    connections: Option<usize>,
    flush_seconds: Option<u64>,
    catch_up_seconds: Option<u64>,
    on_gap: Option<GapAnswer>,
    heartbeat_seconds: Option<u64>,
    backlog: Option<BacklogLink>,
    retained_max: Option<ByteSize>,
}

impl SettingsFile {
    fn read(file: Option<&Path>) -> Result<Self, SettingsError> {
        let Some(file) = file else {
            return Ok(Self::default());
        };
        let text = std::fs::read_to_string(file).map_err(|error| SettingsError::Unreadable {
            file: file.to_owned(),
            error,
        })?;
        toml::from_str(&text).map_err(|error: toml::de::Error| {
            let before = error.span().map_or("", |span| &text[..span.start]);
            SettingsError::Malformed {
                file: file.to_owned(),
                line: 1 + before.matches('\n').count(),
                reason: error.message().to_owned(),
            }
        })
    }
}

/// Everything that a node needs besides its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSettings {
    /// The data directory.
    pub data: PathBuf,
    /// Where PostgreSQL clients are served.
    pub listen: SocketAddr,
    /// Where the web page and metrics are served, if anywhere.
    pub web: Option<SocketAddr>,
    /// Where the certificate is with which clients are served, if any.
    pub tls: Option<TlsFiles>,
    /// Whether clients on this machine have to use it, too.
    pub tls_required: bool,
    /// Memory in all, bytes.
    pub memory: ByteSize,
    /// Disk space for sorts and joins that exceed the memory, bytes.
    pub spill: ByteSize,
    /// Threads that one statement may use.
    pub threads: usize,
    /// Clients served at the same time.
    pub connections: usize,
    /// How old a change may get before it is made durable.
    pub flush_interval: Duration,
    /// How long a statement waits after a start until the copy has caught up.
    pub catch_up_timeout: Duration,
}

impl NodeSettings {
    /// The defaults, for a data directory.
    pub fn new(data: PathBuf) -> Self {
        Self {
            data,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, DEFAULT_PORT)),
            web: None,
            tls: None,
            tls_required: false,
            memory: DEFAULT_MEMORY,
            spill: DEFAULT_SPILL,
            threads: std::thread::available_parallelism().map_or(2, usize::from),
            connections: DEFAULT_CONNECTIONS,
            flush_interval: ApplyOptions::default().flush_interval,
            catch_up_timeout: Duration::from_secs(DEFAULT_CATCH_UP_SECONDS),
        }
    }

    fn check(self) -> Result<Self, SettingsError> {
        if self.memory < LEAST_MEMORY {
            return Err(SettingsError::TooLittleMemory(self.memory));
        }
        let counts = [("threads", self.threads), ("connections", self.connections)];
        match counts.into_iter().find(|(_, count)| *count == 0) {
            Some((name, _)) => Err(SettingsError::Zero(name)),
            None => Ok(self),
        }
    }
}

/// Where the data comes from.
#[derive(Clone, Debug)]
pub enum SourceSettings {
    /// A PostgreSQL server.
    Postgres(Box<PostgresConfig>),
    /// The built-in primary.
    Primary(PrimarySettings),
}

/// The settings of the built-in primary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrimarySettings {
    /// Its tables and procedures; without it those that the data directory has.
    pub schema: Option<PathBuf>,
    /// Memory for rows, keys and bookkeeping.
    pub memory: ByteSize,
}

/// What says how the source's log is followed.
struct Following {
    on_gap: Option<GapAnswer>,
    heartbeat: Option<u64>,
    backlog: Option<BacklogLink>,
    retained_max: Option<ByteSize>,
}

impl Following {
    fn apply(self, source: &mut PostgresConfig) {
        source.on_gap = match self.on_gap {
            Some(GapAnswer::CopyAgain) => OnGap::CopyAgain,
            Some(GapAnswer::Stop) | None => OnGap::Stop,
        };
        source.heartbeat = self
            .heartbeat
            .filter(|&seconds| seconds > 0)
            .map(Duration::from_secs);
        source.backlog = match self.backlog {
            Some(BacklogLink::Stream) => BacklogReading::Stream,
            Some(BacklogLink::Statements) | None => BacklogReading::Statements,
        };
        if let Some(ByteSize(bytes)) = self.retained_max {
            source.retained_bytes_max = bytes;
        }
    }

    /// There is no log of a server to follow.
    fn check_absent(&self) -> Result<(), SettingsError> {
        refuse_given("on-gap", self.on_gap.is_some(), FOR_POSTGRES)?;
        refuse_given("heartbeat-seconds", self.heartbeat.is_some(), FOR_POSTGRES)?;
        refuse_given("backlog", self.backlog.is_some(), FOR_POSTGRES)?;
        refuse_given("retained-max", self.retained_max.is_some(), FOR_POSTGRES)
    }
}

const FOR_POSTGRES: &str = "a PostgreSQL source";
const FOR_PRIMARY: &str = "the built-in primary (--source primary)";

fn refuse_given(
    setting: &'static str,
    is_given: bool,
    of: &'static str,
) -> Result<(), SettingsError> {
    match is_given {
        true => Err(SettingsError::OfAnotherSource { setting, of }),
        false => Ok(()),
    }
}

/// The settings of `serve`.
pub fn serve(arguments: ServeArguments) -> Result<(NodeSettings, SourceSettings), SettingsError> {
    let file = SettingsFile::read(arguments.source.config.as_deref())?;
    let tls = tls_files(&arguments, &file)?;
    let tls_required = is_tls_required(&arguments, &file);
    let data = arguments
        .data
        .or(file.data.clone())
        .unwrap_or_else(|| DEFAULT_DATA.into());
    let default = NodeSettings::new(data);
    let seconds = |argument: Option<u64>, file: Option<u64>, default| {
        argument.or(file).map_or(default, Duration::from_secs)
    };
    let node = NodeSettings {
        listen: arguments.listen.or(file.listen).unwrap_or(default.listen),
        web: arguments.web.or(file.web),
        tls,
        tls_required,
        memory: arguments.memory.or(file.memory).unwrap_or(default.memory),
        spill: arguments.spill.or(file.spill).unwrap_or(default.spill),
        threads: arguments
            .threads
            .or(file.threads)
            .unwrap_or(default.threads),
        connections: arguments
            .connections
            .or(file.connections)
            .unwrap_or(default.connections),
        flush_interval: seconds(
            arguments.flush_seconds,
            file.flush_seconds,
            default.flush_interval,
        ),
        catch_up_timeout: seconds(
            arguments.catch_up_seconds,
            file.catch_up_seconds,
            default.catch_up_timeout,
        ),
        data: default.data,
    };
    let following = Following {
        on_gap: arguments.on_gap.or(file.on_gap),
        heartbeat: arguments.heartbeat_seconds.or(file.heartbeat_seconds),
        backlog: arguments.backlog.or(file.backlog),
        retained_max: arguments.retained_max.or(file.retained_max),
    };
    let primary_memory = arguments.primary_memory.or(file.primary_memory);
    let mut source = source_settings(arguments.source, file)?;
    match &mut source {
        SourceSettings::Postgres(config) => {
            refuse_given("primary-memory", primary_memory.is_some(), FOR_PRIMARY)?;
            following.apply(config);
        }
        SourceSettings::Primary(primary) => {
            following.check_absent()?;
            primary.memory = primary_memory.unwrap_or(primary.memory);
            if primary.memory < LEAST_PRIMARY_MEMORY {
                return Err(SettingsError::TooLittlePrimaryMemory(primary.memory));
            }
        }
    }
    Ok((node.check()?, source))
}

fn is_tls_required(arguments: &ServeArguments, file: &SettingsFile) -> bool {
    arguments.tls_required || file.tls_required.unwrap_or(false)
}

fn tls_files(
    arguments: &ServeArguments,
    file: &SettingsFile,
) -> Result<Option<TlsFiles>, SettingsError> {
    let certificate = arguments.tls_certificate.clone();
    let key = arguments.tls_key.clone();
    match (
        certificate.or(file.tls_certificate.clone()),
        key.or(file.tls_key.clone()),
    ) {
        (Some(certificate), Some(key)) => Ok(Some(TlsFiles { certificate, key })),
        (None, None) if is_tls_required(arguments, file) => Err(SettingsError::NoCertificate),
        (None, None) => Ok(None),
        _ => Err(SettingsError::HalfCertificate),
    }
}

/// The source's settings alone.
pub fn source(arguments: SourceArguments) -> Result<SourceSettings, SettingsError> {
    let file = SettingsFile::read(arguments.config.as_deref())?;
    source_settings(arguments, file)
}

fn source_settings(
    arguments: SourceArguments,
    file: SettingsFile,
) -> Result<SourceSettings, SettingsError> {
    let url = arguments
        .source
        .clone()
        .or_else(|| std::env::var(SOURCE_VARIABLE).ok())
        .or(file.source.clone());
    let url = url.ok_or(SettingsError::NoSource)?;
    let schema = arguments.schema.clone().or(file.schema.clone());
    if url == PRIMARY {
        let slot = arguments.slot.or(file.slot);
        refuse_given("slot", slot.is_some(), FOR_POSTGRES)?;
        let publication = arguments.publication.or(file.publication);
        refuse_given("publication", publication.is_some(), FOR_POSTGRES)?;
        return Ok(SourceSettings::Primary(PrimarySettings {
            schema,
            memory: DEFAULT_PRIMARY_MEMORY,
        }));
    }
    refuse_given("schema", schema.is_some(), FOR_PRIMARY)?;
    let config = postgres_config(&url, arguments, file)?;
    Ok(SourceSettings::Postgres(Box::new(config)))
}

fn postgres_config(
    url: &str,
    arguments: SourceArguments,
    file: SettingsFile,
) -> Result<PostgresConfig, SettingsError> {
    let mut config = PostgresConfig::parse(url)?;
    if config.password.is_none() {
        config.password = std::env::var(PASSWORD_VARIABLE)
            .ok()
            .map(String::into_bytes);
    }
    if let Some(slot) = arguments.slot.or(file.slot) {
        config = config.with_slot(&slot)?;
    }
    if let Some(publication) = arguments.publication.or(file.publication) {
        config = config.with_publication(&publication);
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_file(
        text: &str,
        arguments: ServeArguments,
    ) -> Result<(NodeSettings, SourceSettings), SettingsError> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("hedgerow.toml");
        std::fs::write(&file, text).expect("written");
        let source = SourceArguments {
            config: Some(file),
            ..arguments.source
        };
        serve(ServeArguments {
            source,
            ..arguments
        })
    }

    #[test]
    fn an_error_in_the_file_names_its_line_and_not_what_stands_there() {
        let text = "memory = \"1GiB\"\nsource = \"postgres://u:secret@h/d";
        let error = with_file(text, ServeArguments::default()).expect_err("no quote at its end");
        let words = error.to_string();
        assert!(words.contains("line 2"), "{words}");
        assert!(!words.contains("secret"), "{words}");
    }

    #[test]
    fn the_command_line_wins_over_the_file_and_the_file_over_defaults() {
        let text = r#"
            source = "postgres://u@h/d"
            slot = "from_file"
            memory = "1GiB"
            connections = 7
            flush-seconds = 2
            on-gap = "copy-again"
            heartbeat-seconds = 10
            backlog = "stream"
            retained-max = "1GiB"
        "#;
        let arguments = ServeArguments {
            memory: Some(ByteSize::mib(256)),
            ..ServeArguments::default()
        };
        let (node, source) = with_file(text, arguments).expect("good settings");
        let SourceSettings::Postgres(source) = source else {
            panic!("{source:?}");
        };
        assert_eq!(node.memory, ByteSize::mib(256));
        assert_eq!(node.connections, 7);
        assert_eq!(node.flush_interval, Duration::from_secs(2));
        assert_eq!(node.listen.to_string(), "127.0.0.1:5433");
        assert_eq!(source.slot, "from_file");
        assert_eq!(source.on_gap, OnGap::CopyAgain);
        assert_eq!(source.heartbeat, Some(Duration::from_secs(10)));
        assert_eq!(source.backlog, BacklogReading::Stream);
        assert_eq!(source.retained_bytes_max, 1 << 30);
    }

    #[test]
    fn what_cannot_work_is_refused_with_a_reason() {
        let refused = |text: &str| {
            with_file(text, ServeArguments::default())
                .expect_err("refused")
                .to_string()
        };
        let source = "source = 'postgres://u@h/d'\n";
        assert!(refused("memroy = '1GiB'").contains("memroy"));
        assert!(refused(&format!("{source}memory = '1MiB'")).contains("128 MiB is the least"));
        assert!(refused(&format!("{source}threads = 0")).contains("threads"));
        let half = format!("{source}tls-key = '/k'");
        assert!(refused(&half).contains("given together"));
        let required = format!("{source}tls-required = true");
        assert!(refused(&required).contains("needs tls-certificate"));
        assert!(refused(&format!("{source}slot = 'Bad-Name'")).contains("slot name"));
        let of_primary = format!("{source}schema = 's.sql'");
        assert!(refused(&of_primary).contains("schema is a setting for the built-in primary"));
        let primary = "source = 'primary'\n";
        let of_postgres = format!("{primary}slot = 's'");
        assert!(refused(&of_postgres).contains("slot is a setting for a PostgreSQL source"));
        let little = format!("{primary}primary-memory = '1MiB'");
        assert!(refused(&little).contains("8 MiB is the least"));
    }

    #[test]
    fn the_primary_is_a_source_with_a_schema_and_memory() {
        let text = r#"
            source = "primary"
            schema = "shop.sql"
            primary-memory = "64MiB"
        "#;
        let (_, source) = with_file(text, ServeArguments::default()).expect("good settings");
        let SourceSettings::Primary(primary) = source else {
            panic!("{source:?}");
        };
        assert_eq!(primary.schema, Some("shop.sql".into()));
        assert_eq!(primary.memory, ByteSize::mib(64));
    }
}
