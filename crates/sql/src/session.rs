//! A client's session: transaction, settings, statements.
//!
//! A statement outside a transaction has a snapshot of its own. Inside one, the first
//! statement that gives rows pins a snapshot and all later ones use it, whatever the isolation
//! level: nothing here may change what a transaction has seen. An error fails the transaction;
//! from then on only its end is accepted, as in PostgreSQL.
//!
//! What the built-in primary has answered counts as seen, too: later statements wait until the replica has got as far.
//!
//! Invariant: positions of one session's snapshots never go back.

mod reply;
mod snapshots;
mod transaction;

use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::ast::Statement as Ast;
use futures::StreamExt;
use lsm::Snapshot;
use parking_lot::Mutex;
use types::CommitPosition;

use crate::command::{Command, ProjectionCommand};
use crate::context::readable;
use crate::engine::Engine;
use crate::error::{SqlError, code};
use crate::functions::session::SessionFacts;
use crate::interrupt::{Interrupt, Interrupts};
use crate::outcome::{Description, Outcome};
use crate::projections;
use crate::query::Query;
use crate::settings::Settings;
use crate::statement::{Statement, StatementKind};
use crate::writes::{Lane, Primary};
use reply::{changed, done, rows, show_all, show_all_schema, show_schema};
use transaction::{State, now_us};

/// A look-up of at most so many keys is answered where it came in: it takes microseconds, a page read a key at
/// worst. One of more keys gets a thread for itself. Neither waits for the engine's threads, which long
/// queries keep busy.
const KEYS_AT_ONCE: usize = 16;

/// Who connects.
#[derive(Clone, Debug, Default)]
pub struct SessionStart {
    /// The user's name.
    pub user: String,
    /// Settings from the startup packet (`application_name`, `TimeZone`, `options` already split).
    pub settings: Vec<(String, String)>,
    /// What `pg_backend_pid()` gives.
    pub process_id: i32,
}

/// Where the session is in a transaction (the wire's `I`, `T`, `E`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// Outside.
    Idle,
    /// Inside.
    Open,
    /// Inside one that failed.
    Failed,
}

/// A client's session. Statements run one at a time.
pub struct Session {
    engine: Arc<Engine>,
    user: String,
    process_id: i32,
    shared: Arc<Shared>,
    /// The way to the primary, once it was needed; not while a call is on it.
    lane: Mutex<Option<Lane>>,
}

/// What running results and cancellers share with the session.
struct Shared {
    state: Mutex<State>,
    interrupts: Interrupts,
}

/// Ends a session's running statement, from any thread. Without one it does nothing.
#[derive(Clone)]
pub struct Canceller {
    shared: Arc<Shared>,
}

impl Canceller {
    /// Ends the statement that runs now with 57014.
    pub fn cancel(&self) {
        self.shared.interrupts.cancel();
    }
}

impl Session {
    pub(crate) fn new(engine: Arc<Engine>, start: &SessionStart) -> Result<Self, SqlError> {
        let settings = Settings::new(&start.user, &start.settings)?;
        let state = State {
            settings,
            transaction: None,
            seen: CommitPosition::ZERO,
            answered: CommitPosition::ZERO,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            interrupts: Interrupts::new(),
        });
        Ok(Self {
            engine,
            user: start.user.clone(),
            process_id: start.process_id,
            shared,
            lane: Mutex::new(None),
        })
    }

    /// The settings that a client is told of at the start (ParameterStatus).
    pub fn reported_settings(&self) -> Vec<(String, String)> {
        self.shared.state.lock().settings.reported()
    }

    /// A setting's value as SHOW gives it.
    pub fn setting(&self, name: &str) -> Option<String> {
        self.shared.state.lock().settings.get(name)
    }

    /// Where the session is in a transaction.
    pub fn transaction_status(&self) -> TransactionStatus {
        match &self.shared.state.lock().transaction {
            None => TransactionStatus::Idle,
            Some(transaction) if transaction.failed => TransactionStatus::Failed,
            Some(_) => TransactionStatus::Open,
        }
    }

    /// An error if the open transaction has failed: only its end is accepted.
    pub fn check_not_failed(&self) -> Result<(), SqlError> {
        self.shared.check_not_failed()
    }

    /// Fails the open transaction, if there is one: the client has been told of an error.
    pub fn fail_transaction(&self) {
        self.shared.fail_transaction();
    }

    /// Ends the statement that runs now, from any thread.
    pub fn canceller(&self) -> Canceller {
        Canceller {
            shared: self.shared.clone(),
        }
    }

    /// The client asks for more rows of a statement that has begun: they may take all of the statement
    /// timeout, whatever has passed since the ones before.
    pub fn resume(&self) {
        self.begin_interruptible();
    }

    /// Parameter types and result columns. `parameter_oids`: what the client declared, 0 for
    /// unknown; may be shorter than the parameters.
    pub async fn describe(
        &self,
        statement: &Statement,
        parameter_oids: &[u32],
    ) -> Result<Description, SqlError> {
        let result = self.describe_statement(statement, parameter_oids).await;
        self.shared.note(&result);
        result
    }

    async fn describe_statement(
        &self,
        statement: &Statement,
        parameter_oids: &[u32],
    ) -> Result<Description, SqlError> {
        let command = |schema| {
            Ok(Description {
                parameters: Vec::new(),
                schema,
            })
        };
        match statement.kind() {
            StatementKind::Refused(_) => command(None),
            StatementKind::Command(Command::Show(name)) => {
                command(Some(show_schema(&[&Settings::canonical_name(name)])))
            }
            StatementKind::Command(Command::ShowAll) => command(Some(show_all_schema())),
            StatementKind::Command(_) | StatementKind::Named(_) => command(None),
            StatementKind::Write(word, write) => {
                self.shared.check_not_failed()?;
                self.describe_write(statement, (word, write), parameter_oids)
            }
            StatementKind::Query(ast) => {
                self.shared.check_not_failed()?;
                let query = self.query(ast.clone(), None);
                let (declared, count) = (parameter_oids.to_vec(), statement.parameter_count());
                let task = self
                    .engine
                    .runtime()
                    .spawn(async move { query.describe(&declared, count) });
                task.await
                    .map_err(|_| SqlError::new(code::INTERNAL_ERROR, "the planner failed"))?
            }
        }
    }

    /// Runs a statement; `parameters` are of the types that `describe` told. The statement
    /// timeout and a cancel end the stream with 57014.
    pub async fn execute(
        &self,
        statement: &Statement,
        parameters: Vec<ScalarValue>,
    ) -> Result<Outcome, SqlError> {
        let result = self.execute_statement(statement, parameters).await;
        self.shared.note(&result);
        result
    }

    async fn execute_statement(
        &self,
        statement: &Statement,
        parameters: Vec<ScalarValue>,
    ) -> Result<Outcome, SqlError> {
        match statement.kind() {
            StatementKind::Command(Command::Projection(command)) => self.projection(command).await,
            StatementKind::Command(command) => self.command(command),
            StatementKind::Write(word, write) => {
                self.shared.check_not_failed()?;
                self.write(statement, (word, write), &parameters).await
            }
            StatementKind::Refused(error) => {
                self.shared.check_not_failed()?;
                Err(self.refusal(error))
            }
            StatementKind::Named(_) => {
                let message = "prepared statements and cursors belong to a connection";
                Err(SqlError::not_supported(message))
            }
            StatementKind::Query(ast) => {
                self.shared.check_not_failed()?;
                let needed = statement.parameter_count();
                if parameters.len() < needed {
                    return Err(SqlError::new(
                        code::UNDEFINED_PARAMETER,
                        format!("there is no parameter ${needed}"),
                    ));
                }
                if let Some(found) = self.look_up(statement, &parameters).await? {
                    return Ok(found);
                }
                self.run(ast, parameters).await
            }
        }
    }

    /// A refusal, with what the primary would take where there is one.
    fn refusal(&self, error: &SqlError) -> SqlError {
        let is_write = error.code == code::READ_ONLY_SQL_TRANSACTION;
        if !is_write || self.engine.primary().is_none() {
            return error.clone();
        }
        error.clone().with_hint(
            "The primary takes CALL, INSERT, UPDATE and DELETE. Tables and procedures are declared in its schema \
             file.",
        )
    }

    /// Answers a statement that asks for rows by key; `None` if it has to be planned.
    ///
    /// One row is looked up here and now: handing it to the engine's threads would take longer.
    async fn look_up(
        &self,
        statement: &Statement,
        parameters: &[ScalarValue],
    ) -> Result<Option<Outcome>, SqlError> {
        let Some(look_up) = statement.look_up() else {
            return Ok(None);
        };
        if self
            .engine
            .by_name(look_up.shape(), || self.search_path())
            .is_none()
        {
            return Ok(None);
        }
        if !self.is_readable() {
            let mut interrupt = self.begin_interruptible();
            self.wait_until_readable(&mut interrupt).await?;
        }
        let snapshot = self.snapshot();
        // The entry that counts is the one after the pin.
        let entry = self.engine.by_name(look_up.shape(), || self.search_path());
        let resolved = entry.as_ref().and_then(|entry| look_up.resolved(entry));
        let (Some(entry), Some(resolved)) = (entry, resolved) else {
            return Ok(None);
        };
        readable(&entry)?;
        let Some(keys) = resolved.keys(parameters) else {
            return Ok(None);
        };
        let (position, schema) = (snapshot.position(), resolved.schema().clone());
        let batches = if keys.len() <= KEYS_AT_ONCE {
            resolved.rows(&snapshot, &keys)
        } else {
            let task = move || resolved.rows(&snapshot, &keys);
            let task = self.engine.runtime().spawn_blocking(task);
            task.await
                .unwrap_or_else(|_| Err(SqlError::new(code::INTERNAL_ERROR, "a look-up failed")))
        }?;
        Ok(Some(Outcome::Rows {
            position,
            schema,
            stream: futures::stream::iter(batches.into_iter().map(Ok)).boxed(),
            tag: "SELECT",
        }))
    }

    fn search_path(&self) -> Vec<String> {
        self.shared.state.lock().settings.search_path()
    }

    async fn run(&self, ast: &Ast, parameters: Vec<ScalarValue>) -> Result<Outcome, SqlError> {
        let mut interrupt = self.begin_interruptible();
        let query = self.query(Box::new(ast.clone()), None);
        let snapshot = if query.reads_snapshot()? {
            self.wait_until_readable(&mut interrupt).await?;
            self.snapshot()
        } else {
            self.unread_snapshot()
        };
        let position = snapshot.position();
        let query = self.query(query.statement, Some(snapshot));
        let running = query.start(parameters, interrupt).await?;
        let tag = if matches!(ast, Ast::Explain { .. }) {
            "EXPLAIN"
        } else {
            "SELECT"
        };
        let shared = self.shared.clone();
        let stream = running.stream.inspect(move |batch| shared.note(batch));
        Ok(Outcome::Rows {
            position,
            schema: running.schema,
            stream: stream.boxed(),
            tag,
        })
    }

    fn query(&self, statement: Box<Ast>, snapshot: Option<Arc<Snapshot>>) -> Query {
        let state = self.shared.state.lock();
        let facts = SessionFacts {
            user: self.user.clone(),
            database: self.engine.options.database.clone(),
            search_path: state.settings.search_path(),
            settings: state.settings.clone(),
            process_id: self.process_id,
            now_us: state
                .transaction
                .as_ref()
                .map_or_else(now_us, |transaction| transaction.began_us),
            position: snapshot.as_ref().map(|snapshot| snapshot.position()),
        };
        Query {
            engine: self.engine.clone(),
            facts,
            statement,
            snapshot,
        }
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    pub(crate) fn is_in_transaction(&self) -> bool {
        self.shared.state.lock().transaction.is_some()
    }

    /// The client knows now what the primary was like at this position.
    pub(crate) fn note_seen(&self, position: CommitPosition) {
        let mut state = self.shared.state.lock();
        state.answered = state.answered.max(position);
    }

    /// The way to the primary.
    pub(crate) fn take_lane(&self, primary: &Primary) -> Result<Lane, SqlError> {
        match self.lane.lock().take() {
            Some(lane) => Ok(lane),
            None => Lane::open(&primary.clients)
                .map_err(|ended| SqlError::new(code::ADMIN_SHUTDOWN, ended.to_string())),
        }
    }

    /// A lane on which no call is on its way.
    pub(crate) fn put_lane_back(&self, lane: Lane) {
        *self.lane.lock() = Some(lane);
    }

    /// What ends the statement that begins now, at `statement_timeout` at the latest.
    pub(crate) fn begin_interruptible(&self) -> Interrupt {
        let timeout = self.shared.state.lock().settings.statement_timeout();
        self.shared.interrupts.begin(timeout)
    }

    async fn projection(&self, command: &ProjectionCommand) -> Result<Outcome, SqlError> {
        self.shared.check_not_failed()?;
        if self.shared.state.lock().transaction.is_some() {
            return Err(SqlError::new(
                code::ACTIVE_SQL_TRANSACTION,
                "a projection cannot be created or dropped inside a transaction block",
            ));
        }
        projections::run(&self.engine, command, self.search_path()).await
    }

    fn command(&self, command: &Command) -> Result<Outcome, SqlError> {
        let ends = matches!(
            command,
            Command::Commit { .. } | Command::Rollback { .. } | Command::RollbackTo(_)
        );
        if !ends {
            self.shared.check_not_failed()?;
        }
        let mut state = self.shared.state.lock();
        match command {
            Command::Begin { tag, isolation } => Ok(state.begin(tag, isolation.as_deref())),
            Command::Commit { chain } => Ok(state.end(true, *chain)),
            Command::Rollback { chain } => Ok(state.end(false, *chain)),
            Command::Savepoint(name) => state.savepoint(name),
            Command::Release(name) => state.release(name),
            Command::RollbackTo(name) => state.rollback_to(name),
            Command::Set { name, value, local } => state.set(name, value.as_deref(), *local),
            Command::SetTransaction { .. } => Ok(done("SET")),
            Command::Reset(Some(name)) => Ok(changed("RESET", state.settings.reset(name)?)),
            Command::Reset(None) => Ok(changed("RESET", state.settings.reset_all())),
            Command::Discard { all } => state.discard(*all),
            Command::Done(tag) => Ok(done(tag)),
            Command::Projection(_) => unreachable!("the caller has taken it"),
            Command::ShowAll => Ok(show_all(&state)),
            Command::Show(name) => {
                let value = self.shown(&state, name)?;
                Ok(rows(
                    show_schema(&[&Settings::canonical_name(name)]),
                    vec![vec![value]],
                    state.seen,
                ))
            }
        }
    }

    fn shown(&self, state: &State, name: &str) -> Result<String, SqlError> {
        if name == "hedgerow.answered_position" {
            return Ok(state.answered.to_string());
        }
        if name == "hedgerow.position" {
            let pinned = state.transaction.as_ref().and_then(|t| t.snapshot.as_ref());
            let position = pinned.map_or_else(|| self.engine.store.visible(), |s| s.position());
            return Ok(position.to_string());
        }
        state.settings.get(name).ok_or_else(|| {
            SqlError::new(
                code::UNDEFINED_OBJECT,
                format!("unrecognized configuration parameter \"{name}\""),
            )
        })
    }
}

impl Shared {
    /// An error fails the open transaction.
    fn note<T>(&self, result: &Result<T, SqlError>) {
        if result.is_err() {
            self.fail_transaction();
        }
    }

    fn fail_transaction(&self) {
        if let Some(transaction) = &mut self.state.lock().transaction {
            transaction.failed = true;
        }
    }

    fn check_not_failed(&self) -> Result<(), SqlError> {
        match &self.state.lock().transaction {
            Some(transaction) if transaction.failed => Err(SqlError::new(
                code::IN_FAILED_SQL_TRANSACTION,
                "current transaction is aborted, commands ignored until end of transaction block",
            )),
            _ => Ok(()),
        }
    }
}
