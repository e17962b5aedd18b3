//! The messages of an authenticated client, one after the other.
//!
//! Answers are collected and written when the client has nothing more to say for the moment,
//! so that a pipeline of statements costs few system calls. After an error in an extended query
//! everything up to the next Sync is passed over, as the protocol wants it.

use std::sync::Arc;
use std::time::Duration;

use sql::{Session, TransactionStatus};

use super::backend::{self, TransactionIndicator};
use super::failure::Failure;
use super::idle_limit;
use super::listener::Shared;
use super::named::Named;
use super::query;
use super::startup::Client;
use super::statement::{Life, Portal, Prepared};
use super::wire::{Ended, Input, Output};
use protocol::frontend::{self, Message, Target};

/// What a prepared statement takes besides its text, about: parsed and described, bytes.
const STATEMENT_BYTES: usize = 8 << 10;
/// What a portal takes besides its parameters, about: a running statement has threads' memory,
/// batches and a snapshot, bytes.
const PORTAL_BYTES: usize = 256 << 10;
/// How long a client may be silent in the middle of a message.
const MESSAGE_PATIENCE: Duration = Duration::from_secs(60);

/// What statements need of a connection, and what does not change while they run.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// What all connections share.
    pub shared: &'a Shared,
    /// The SQL session.
    pub session: &'a Session,
}

/// A connection's state.
pub struct Connection<'a> {
    /// What all connections share.
    shared: &'a Shared,
    /// The SQL session.
    pub session: &'a Session,
    /// Prepared statements by name.
    pub statements: Named<Arc<Prepared>>,
    /// Portals by name.
    pub portals: Named<Portal>,
    /// After an error in an extended query, until Sync.
    skipping: bool,
}

/// Why a message ends the connection or a statement.
pub enum Trouble {
    /// The client is told, the connection goes on.
    Failure(Failure),
    /// The connection ends.
    Ended(Ended),
}

impl<T: Into<Failure>> From<T> for Trouble {
    fn from(failure: T) -> Self {
        Self::Failure(failure.into())
    }
}

impl From<Ended> for Trouble {
    fn from(ended: Ended) -> Self {
        Self::Ended(ended)
    }
}

/// Serves a client until it goes.
pub async fn run(
    input: &mut Input,
    output: &mut Output,
    client: Client,
    shared: &Shared,
) -> Result<(), Ended> {
    let mut connection = Connection {
        shared,
        session: &client.session,
        statements: Named::new("prepared statement", STATEMENT_BYTES),
        portals: Named::new("portal", PORTAL_BYTES),
        skipping: false,
    };
    loop {
        input.give_back();
        match frontend::take_message(&mut input.buffer) {
            Ok(Some(Message::Terminate)) => return Ok(()),
            Ok(Some(message)) => {
                input
                    .watch_during(connection.answer(message, output))
                    .await??;
            }
            Ok(None) => {
                output.flush().await?;
                if !input.buffer.is_empty() {
                    read_on(input).await?;
                } else if connection.wait(input).await? == Waited::TooLong {
                    return farewell(output, &connection.idle_failure()).await;
                }
            }
            Err(error) => return farewell(output, &error.into()).await,
        }
    }
}

/// Reads more of a message that has begun.
async fn read_on(input: &mut Input) -> Result<(), Ended> {
    match tokio::time::timeout(MESSAGE_PATIENCE, input.read()).await {
        Ok(read) => read,
        Err(_) => Err(Ended::ClientStuck),
    }
}

async fn farewell(output: &mut Output, failure: &Failure) -> Result<(), Ended> {
    backend::error_response(failure, &mut output.buffer);
    output.flush().await
}

#[derive(PartialEq, Eq)]
enum Waited {
    Read,
    TooLong,
}

impl<'a> Connection<'a> {
    /// What its statements need.
    pub fn context(&self) -> Context<'a> {
        Context {
            shared: self.shared,
            session: self.session,
        }
    }

    /// Waits for input, as long as the session's settings allow.
    async fn wait(&mut self, input: &mut Input) -> Result<Waited, Ended> {
        match self.idle_limit() {
            None => input.read().await.map(|()| Waited::Read),
            Some(limit) => match tokio::time::timeout(limit, input.read()).await {
                Ok(read) => read.map(|()| Waited::Read),
                Err(_) => Ok(Waited::TooLong),
            },
        }
    }

    fn idle_limit(&self) -> Option<Duration> {
        let setting = match self.session.transaction_status() {
            TransactionStatus::Idle => "idle_session_timeout",
            _ => "idle_in_transaction_session_timeout",
        };
        idle_limit::parse(&self.session.setting(setting)?)
    }

    fn idle_failure(&self) -> Failure {
        match self.session.transaction_status() {
            TransactionStatus::Idle => Failure::fatal(
                "57P05",
                "terminating connection due to idle-session timeout",
            ),
            _ => Failure::fatal(
                "25P03",
                "terminating connection due to idle-in-transaction timeout",
            ),
        }
    }

    /// Carries out a message. What the client did wrong is told to it here.
    async fn answer(&mut self, message: Message, output: &mut Output) -> Result<(), Ended> {
        if let Message::Sync = message {
            return self.sync(output).await;
        }
        if self.skipping {
            return Ok(());
        }
        let simple = matches!(message, Message::Query(_));
        match self.carry_out(message, output).await {
            Ok(()) => {}
            Err(Trouble::Ended(ended)) => return Err(ended),
            Err(Trouble::Failure(failure)) => {
                backend::error_response(&failure, &mut output.buffer);
                self.session.fail_transaction();
                self.skipping = !simple;
            }
        }
        if simple {
            self.ready(output);
        }
        output.flush_if_full().await
    }

    async fn carry_out(&mut self, message: Message, output: &mut Output) -> Result<(), Trouble> {
        match message {
            Message::Query(sql) => query::simple(self, &sql, output).await,
            Message::Parse {
                name,
                sql,
                parameter_oids,
            } => Ok(query::prepare(self, name, &sql, parameter_oids, output)?),
            Message::Bind(bind) => query::bind(self, bind, output).await,
            Message::Describe(target, name) => query::describe(self, target, &name, output).await,
            Message::Execute { portal, rows_max } => {
                query::execute(self, &portal, rows_max, output).await
            }
            Message::Close(target, name) => {
                _ = match target {
                    Target::Statement => self.statements.remove(&name),
                    Target::Portal => self.portals.remove(&name),
                };
                backend::close_complete(&mut output.buffer);
                Ok(())
            }
            Message::Flush => Ok(output.flush().await?),
            Message::Sync | Message::Terminate | Message::CopyLeftover => Ok(()),
        }
    }

    async fn sync(&mut self, output: &mut Output) -> Result<(), Ended> {
        self.skipping = false;
        self.ready(output);
        output.flush_if_full().await
    }

    /// Says that the next statement may come. Outside of a transaction no portal outlives this but those
    /// that are held.
    fn ready(&mut self, output: &mut Output) {
        let indicator = match self.session.transaction_status() {
            TransactionStatus::Idle => TransactionIndicator::Idle,
            TransactionStatus::Open => TransactionIndicator::Open,
            TransactionStatus::Failed => TransactionIndicator::Failed,
        };
        if indicator == TransactionIndicator::Idle {
            self.portals
                .retain(|portal| portal.life == Life::Connection);
        }
        backend::ready_for_query(indicator, &mut output.buffer);
    }
}
