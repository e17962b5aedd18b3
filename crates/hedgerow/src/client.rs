//! The built-in client: connects to a running server and runs statements.

use std::path::{Path, PathBuf};

use futures::StreamExt;
use tokio::task::JoinHandle;
use tokio_postgres::{Config, SimpleQueryMessage};

use crate::cli::ClientArguments;
use crate::client_tls::BoundTls;
use crate::settings::{DATABASE, DEFAULT_DATA, USER};
use crate::{address_file, password};

/// The environment variable for the password where only an address is given, libpq's.
const PASSWORD_VARIABLE: &str = "PGPASSWORD";

/// A statement could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// There is no server on this data directory.
    #[error(
        "no server runs on {0}. Start one with hedgerow serve --data {0}, or name another \
         directory with --data"
    )]
    NoServer(PathBuf),
    /// The password cannot be read.
    #[error("cannot read the password file {path}: {error}")]
    Password {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The URL cannot be read.
    #[error(
        "the URL cannot be read: {0}; one looks like postgres://hedgerow@127.0.0.1:5433/hedgerow"
    )]
    Url(tokio_postgres::Error),
    /// The server cannot be reached.
    #[error("cannot connect: {0}")]
    Connect(String),
    /// The server refused a statement.
    #[error("{0}")]
    Statement(String),
    /// Rows cannot be printed.
    #[error("cannot print: {0}")]
    Print(#[from] std::io::Error),
}

/// A connection to a running server.
pub struct Client {
    client: tokio_postgres::Client,
    connection: JoinHandle<Result<(), tokio_postgres::Error>>,
}

/// What a statement gives, piece by piece.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// A result begins; its column names.
    Columns(Vec<String>),
    /// One row.
    Row(Vec<Option<String>>),
    /// A statement is complete; rows that it gave.
    Complete(u64),
}

impl Client {
    /// Connects to the server that the arguments name.
    pub async fn connect(arguments: &ClientArguments) -> Result<Self, ClientError> {
        let config = config(arguments)?;
        let tls = BoundTls::new().map_err(|error| ClientError::Connect(error.to_string()))?;
        let (client, connection) = config.connect(tls).await.map_err(|error| {
            let refused = describe(&error);
            match (&arguments.url, error.as_db_error()) {
                (None, None) => ClientError::NoServer(data(arguments)),
                _ => ClientError::Connect(refused),
            }
        })?;
        Ok(Self {
            client,
            connection: tokio::spawn(connection),
        })
    }

    /// Runs statements; hands each piece of their results to `take` as it arrives.
    pub async fn run(
        &self,
        sql: &str,
        mut take: impl FnMut(Piece) -> std::io::Result<()>,
    ) -> Result<(), ClientError> {
        let messages = self
            .client
            .simple_query_raw(sql)
            .await
            .map_err(statement_error)?;
        futures::pin_mut!(messages);
        while let Some(message) = messages.next().await {
            match message.map_err(statement_error)? {
                SimpleQueryMessage::RowDescription(columns) => {
                    take(Piece::Columns(
                        columns.iter().map(|c| c.name().to_owned()).collect(),
                    ))?;
                }
                SimpleQueryMessage::Row(row) => {
                    let cells = (0..row.len()).map(|index| row.get(index).map(str::to_owned));
                    take(Piece::Row(cells.collect()))?;
                }
                SimpleQueryMessage::CommandComplete(rows) => take(Piece::Complete(rows))?,
                _ => {}
            }
        }
        Ok(())
    }

    /// All rows of a statement.
    pub async fn rows(&self, sql: &str) -> Result<Vec<Vec<Option<String>>>, ClientError> {
        let mut rows = Vec::new();
        self.run(sql, |piece| {
            if let Piece::Row(row) = piece {
                rows.push(row);
            }
            Ok(())
        })
        .await?;
        Ok(rows)
    }

    /// Says goodbye.
    pub async fn close(self) {
        drop(self.client);
        // Whatever ends the connection, it is over.
        _ = self.connection.await;
    }
}

fn data(arguments: &ClientArguments) -> PathBuf {
    arguments
        .data
        .clone()
        .unwrap_or_else(|| DEFAULT_DATA.into())
}

fn config(arguments: &ClientArguments) -> Result<Config, ClientError> {
    let mut config = match &arguments.url {
        Some(url) => url.parse().map_err(ClientError::Url)?,
        None => local_config(&data(arguments))?,
    };
    if config.get_password().is_none()
        && let Ok(password) = std::env::var(PASSWORD_VARIABLE)
    {
        config.password(password);
    }
    config.application_name("hedgerow");
    Ok(config)
}

/// How to reach the server on a data directory.
fn local_config(data: &Path) -> Result<Config, ClientError> {
    let address = address_file::read(data).map_err(|_| ClientError::NoServer(data.to_owned()))?;
    let password = password::read(data).map_err(|error| ClientError::Password {
        path: password::file(data),
        error,
    })?;
    let mut config = Config::new();
    config
        .host(address.ip().to_string())
        .port(address.port())
        .user(USER)
        .dbname(DATABASE)
        .password(password);
    Ok(config)
}

fn statement_error(error: tokio_postgres::Error) -> ClientError {
    ClientError::Statement(describe(&error))
}

/// An error as psql prints one.
fn describe(error: &tokio_postgres::Error) -> String {
    use std::error::Error;
    let Some(told) = error.as_db_error() else {
        let cause = error.source().map(|cause| format!(": {cause}"));
        return format!("{error}{}", cause.unwrap_or_default());
    };
    let mut text = format!("{} (SQLSTATE {})", told.message(), told.code().code());
    for (name, part) in [("DETAIL", told.detail()), ("HINT", told.hint())] {
        if let Some(part) = part {
            text.push_str(&format!("\n{name}: {part}"));
        }
    }
    text
}
