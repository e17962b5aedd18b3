//! Where the server is, who we are there, which slot and publication to use.
//!
//! Connection strings are those of libpq, as far as `tokio_postgres::Config` reads them. What
//! we cannot honour is refused with a reason, never ignored.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::config;

use super::connection_string;
use super::socket::Host;
use super::tls::{self, TlsConfig, TlsError};

/// The name of slot and publication where none is given.
const DEFAULT_NAME: &str = "hedgerow";
/// Log kept by the source above which an alarm is raised, where nothing else is said.
const RETAINED_BYTES_MAX: u64 = 10 << 30;
/// PostgreSQL's port.
const DEFAULT_PORT: u16 = 5432;
/// How long to wait for a server to accept a connection where the URL does not say.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection string that cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ConfigError {
    /// It does not parse.
    #[error(
        "the source's URL cannot be read: {0}; one looks like postgres://user:password@host:5432/database"
    )]
    Malformed(String),
    /// What it says of encryption.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// It names a socket directory.
    #[error("Unix sockets are not supported; give the server's host name, such as localhost")]
    UnixSocket,
    /// It asks for what we do not do.
    #[error("the source's URL asks for {0}, which is not supported")]
    Unsupported(&'static str),
    /// A part is missing.
    #[error("the source's URL names no {0}")]
    Missing(&'static str),
    /// A slot or publication name that PostgreSQL would refuse.
    #[error("{0:?} cannot be a slot name: use up to 63 lower-case letters, digits and underscores")]
    SlotName(String),
}

/// A PostgreSQL server as a source.
#[derive(Clone)]
pub struct PostgresConfig {
    /// Tried in order.
    pub hosts: Vec<Host>,
    /// Whether connections are encrypted, and what the server has to prove.
    pub tls: TlsConfig,
    /// Whether a password's proof covers the server's certificate.
    pub bind_password: BindPassword,
    /// The role.
    pub user: String,
    /// The role's password.
    pub password: Option<Vec<u8>>,
    /// The database.
    pub database: String,
    /// How long to wait for a host to accept a connection.
    pub connect_timeout: Duration,
    /// The replication slot.
    pub slot: String,
    /// The publication; `None` for our own, which is created where it is missing and has the
    /// slot's name.
    pub publication: Option<String>,
    /// What to do when the log cannot be followed any further.
    pub on_gap: OnGap,
    /// How often to write a message into the source's log; `None` for never.
    pub heartbeat: Option<Duration>,
    /// How a backlog is read.
    pub backlog: BacklogReading,
    /// Log kept by the source above which an alarm is raised, bytes.
    pub retained_bytes_max: u64,
}

/// How a backlog is read (decision 0031).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BacklogReading {
    /// By statements, which is faster and takes two temporary slots.
    #[default]
    Statements,
    /// As all else, by the replication stream.
    Stream,
}

/// Whether a password's proof covers the certificate that the connection began with: libpq's
/// `channel_binding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindPassword {
    /// `disable`.
    Never,
    /// `prefer`: where both sides can.
    IfPossible,
    /// `require`: or there is no connection.
    Always,
}

impl BindPassword {
    fn of(channel_binding: config::ChannelBinding) -> Self {
        match channel_binding {
            config::ChannelBinding::Disable => Self::Never,
            config::ChannelBinding::Require => Self::Always,
            _ => Self::IfPossible,
        }
    }
}

/// What to do when the source's log cannot be followed any further.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnGap {
    /// Go on to serve what there is, marked as stale.
    #[default]
    Stop,
    /// The same, but copy everything again meanwhile, where the source is still the one that was
    /// copied.
    CopyAgain,
}

/// Without the password.
impl fmt::Debug for PostgresConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Without the password.
impl fmt::Display for PostgresConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<_> = self
            .hosts
            .iter()
            .map(|host| format!("{}:{}", host.name, host.port))
            .collect();
        write!(
            f,
            "postgres://{}@{}/{}",
            self.user,
            hosts.join(","),
            self.database
        )
    }
}

impl PostgresConfig {
    /// Reads a connection string (`postgres://…` or `key=value …`).
    pub fn parse(url: &str) -> Result<Self, ConfigError> {
        let (rest, of_tls) =
            connection_string::take(url, &tls::PARAMETERS).map_err(ConfigError::Malformed)?;
        let parsed = tokio_postgres::Config::from_str(&rest)
            .map_err(|error| ConfigError::Malformed(describe(&error)))?;
        refuse_unsupported(&parsed)?;
        let user = parsed
            .get_user()
            .ok_or(ConfigError::Missing("user"))?
            .to_owned();
        Ok(Self {
            hosts: hosts(&parsed)?,
            tls: TlsConfig::of(&of_tls)?,
            bind_password: BindPassword::of(parsed.get_channel_binding()),
            database: parsed.get_dbname().unwrap_or(&user).to_owned(),
            user,
            password: parsed.get_password().map(<[u8]>::to_vec),
            connect_timeout: parsed
                .get_connect_timeout()
                .copied()
                .unwrap_or(CONNECT_TIMEOUT),
            slot: DEFAULT_NAME.to_owned(),
            publication: None,
            on_gap: OnGap::default(),
            heartbeat: None,
            backlog: BacklogReading::default(),
            retained_bytes_max: RETAINED_BYTES_MAX,
        })
    }

    /// Uses another slot than `hedgerow`.
    pub fn with_slot(mut self, slot: &str) -> Result<Self, ConfigError> {
        let permitted = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        if slot.is_empty() || slot.len() > 63 || !slot.bytes().all(permitted) {
            return Err(ConfigError::SlotName(slot.to_owned()));
        }
        self.slot = slot.to_owned();
        Ok(self)
    }

    /// Uses an existing publication instead of one of our own.
    pub fn with_publication(mut self, publication: &str) -> Self {
        self.publication = Some(publication.to_owned());
        self
    }

    /// The name of the publication in use.
    pub fn publication_name(&self) -> &str {
        self.publication.as_deref().unwrap_or(&self.slot)
    }
}

/// Refuses what would be ignored.
fn refuse_unsupported(parsed: &tokio_postgres::Config) -> Result<(), ConfigError> {
    let asks = [
        (
            "target_session_attrs",
            parsed.get_target_session_attrs() != config::TargetSessionAttrs::Any,
        ),
        (
            "load_balance_hosts",
            parsed.get_load_balance_hosts() != config::LoadBalanceHosts::Disable,
        ),
        ("options", parsed.get_options().is_some()),
    ];
    match asks.into_iter().find(|(_, asked)| *asked) {
        Some((name, _)) => Err(ConfigError::Unsupported(name)),
        None => Ok(()),
    }
}

fn hosts(parsed: &tokio_postgres::Config) -> Result<Vec<Host>, ConfigError> {
    let ports = parsed.get_ports();
    let port = |index: usize| match ports {
        [] => DEFAULT_PORT,
        [port] => *port,
        ports => ports.get(index).copied().unwrap_or(DEFAULT_PORT),
    };
    let (named, addresses) = (parsed.get_hosts(), parsed.get_hostaddrs());
    let host = |index: usize| {
        let address = addresses.get(index).copied();
        let name = match (named.get(index), address) {
            (Some(config::Host::Tcp(name)), _) => name.clone(),
            (Some(config::Host::Unix(_)), None) => return Err(ConfigError::UnixSocket),
            (_, Some(address)) => address.to_string(),
            (None, None) => return Err(ConfigError::Missing("host")),
        };
        Ok(Host {
            name,
            address,
            port: port(index),
        })
    };
    let count = match addresses.len() {
        0 => named.len().max(1),
        count => count,
    };
    (0..count).map(host).collect()
}

/// An error with its causes.
fn describe(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", describe(cause)),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_ignored_is_refused() {
        for (words, name) in [
            ("target_session_attrs=read-write", "target_session_attrs"),
            ("load_balance_hosts=random", "load_balance_hosts"),
            ("options=-cwork_mem%3D1", "options"),
        ] {
            let parsed = PostgresConfig::parse(&format!("postgres://u@h/d?{words}"));
            assert_eq!(parsed.err(), Some(ConfigError::Unsupported(name)));
        }
    }

    #[test]
    fn a_url_is_read_and_shown_without_its_password() {
        let config =
            PostgresConfig::parse("postgres://u:secret@db.example:6543/app?connect_timeout=3")
                .expect("a good URL");
        let host = Host {
            name: "db.example".to_owned(),
            address: None,
            port: 6543,
        };
        assert_eq!(config.hosts, [host]);
        assert!(matches!(config.tls, TlsConfig::Preferred(_)));
        assert_eq!(config.password.as_deref(), Some(&b"secret"[..]));
        assert_eq!(config.connect_timeout, Duration::from_secs(3));
        assert_eq!(config.publication_name(), "hedgerow");
        assert_eq!(format!("{config:?}"), "postgres://u@db.example:6543/app");
    }

    #[test]
    fn what_cannot_be_honoured_is_refused() {
        let refused = |url| PostgresConfig::parse(url).expect_err("refused");
        assert_eq!(
            refused("postgres://u@h/d?sslmode=always"),
            ConfigError::Tls(TlsError::Mode("always".to_owned()))
        );
        assert_eq!(
            refused("postgres://u@h/d?sslmode=verify-ca&sslrootcert=system"),
            ConfigError::Tls(TlsError::SystemRoots)
        );
        assert_eq!(
            refused("host=h user=u sslcert=/c"),
            ConfigError::Tls(TlsError::Unpaired)
        );
        let missing = refused("postgres://u@h/d?sslmode=verify-full&sslrootcert=/no/such");
        assert!(missing.to_string().starts_with("/no/such: "), "{missing}");
        assert_eq!(refused("host=/tmp user=u"), ConfigError::UnixSocket);
        assert_eq!(refused("postgres://h/d"), ConfigError::Missing("user"));
        assert!(matches!(
            refused("postgres://u@h:port/d"),
            ConfigError::Malformed(_)
        ));
        let config = PostgresConfig::parse("postgres://u@h").expect("a good URL");
        assert_eq!(config.database, "u");
        assert!(matches!(
            config.with_slot("Bad-Name"),
            Err(ConfigError::SlotName(_))
        ));
    }

    #[test]
    fn an_address_saves_looking_the_name_up() {
        let config =
            PostgresConfig::parse("host=db.example hostaddr=10.0.0.7 user=u sslmode=require")
                .expect("a good string");
        let host = Host {
            name: "db.example".to_owned(),
            address: Some([10, 0, 0, 7].into()),
            port: 5432,
        };
        assert_eq!(config.hosts, [host]);
        assert!(matches!(config.tls, TlsConfig::Required(_)));
    }
}
