//! Calls and changes: what the built-in primary carries out, and how a session sees it.
//!
//! 1. The statement is prepared by the primary's application, once; that tells its parameters and columns.
//! 2. It goes to the primary through the session's `lane`, and is answered when it is durable there.
//! 3. From then on the session's statements wait until the replica has got as far: a client reads what it has
//!    written, and nothing older than an answer that it got from the primary.
//!
//! A write is a transaction of its own. Inside an explicit transaction it is refused: what belongs together
//! is a procedure.

mod lane;
mod values;

use std::sync::{Arc, OnceLock};

use datafusion::common::ScalarValue;
use futures::StreamExt;
use oltp::{Refusal, Stop};
use procedures::{Application, Fault, Prepared, PreparedKind, SqlType};
use replication::primary::{Answer, CallError, Clients, Ended};

use crate::error::{SqlError, code};
use crate::interrupt::Interrupt;
use crate::outcome::{Description, Outcome, ParameterType};
use crate::session::Session;
use crate::statement::Statement;
pub(crate) use lane::Lane;

/// The built-in primary, as statements see it.
#[derive(Clone)]
pub struct Primary {
    /// What can be called and changed.
    pub application: Arc<Application>,
    /// The way to it.
    pub clients: Clients,
}

/// What is known of a statement that writes.
#[derive(Default)]
pub(crate) struct Write {
    prepared: OnceLock<Arc<Prepared>>,
}

impl std::fmt::Debug for Write {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Write")
    }
}

impl Write {
    /// The statement, prepared at the first use. `oids`: types of parameters that the client has declared.
    fn prepared(
        &self,
        statement: &Statement,
        primary: &Primary,
        oids: &[u32],
    ) -> Result<Arc<Prepared>, SqlError> {
        if let Some(prepared) = self.prepared.get() {
            return Ok(Arc::clone(prepared));
        }
        let declared: Vec<_> = oids.iter().map(|oid| SqlType::of_oid(*oid)).collect();
        let prepared = primary.application.prepare(statement.text(), &declared);
        let prepared = Arc::new(prepared.map_err(|fault| told(&fault, statement))?);
        Ok(Arc::clone(self.prepared.get_or_init(|| prepared)))
    }
}

/// A fault in a statement, as a client is told of it.
fn told(fault: &Fault, statement: &Statement) -> SqlError {
    let mut error = SqlError::new(fault.code, fault.message.clone());
    error.hint = fault.hint.as_ref().map(|hint| format!("{hint}."));
    let text = statement.text();
    error.position = fault.place.map(|(line, column)| {
        let (line, column) = (line.saturating_sub(1) as usize, column as usize);
        let lines = text.split_inclusive('\n').take(line);
        statement.start() + lines.map(|line| line.chars().count()).sum::<usize>() + column
    });
    error
}

impl Session {
    /// What a write takes and gives.
    pub(crate) fn describe_write(
        &self,
        statement: &Statement,
        (word, write): (&str, &Write),
        parameter_oids: &[u32],
    ) -> Result<Description, SqlError> {
        let primary = self.primary(word)?;
        let prepared = write.prepared(statement, primary, parameter_oids)?;
        let parameter = |sql_type: &SqlType| ParameterType {
            data_type: values::data_type(*sql_type),
            oid: sql_type.oid(),
        };
        Ok(Description {
            parameters: prepared.parameters.iter().map(parameter).collect(),
            schema: prepared.answers.as_deref().map(values::schema),
        })
    }

    /// Sends a write to the primary and waits for its answer.
    pub(crate) async fn write(
        &self,
        statement: &Statement,
        (word, write): (&str, &Write),
        parameters: &[ScalarValue],
    ) -> Result<Outcome, SqlError> {
        let primary = self.primary(word)?;
        if self.is_in_transaction() {
            return Err(in_transaction(word));
        }
        let prepared = write.prepared(statement, primary, &[])?;
        let needed = prepared.parameters.len();
        if parameters.len() < needed {
            return Err(SqlError::new(
                code::UNDEFINED_PARAMETER,
                format!("there is no parameter ${needed}"),
            ));
        }
        let given = parameters.iter().zip(&prepared.parameters);
        let datums: Vec<_> = given
            .map(|(value, sql_type)| values::datum(value, *sql_type))
            .collect::<Result<_, _>>()?;
        let (procedure, bytes) = prepared.call(&datums).map_err(|r| rejected(&r))?;
        let mut interrupt = self.begin_interruptible();
        let mut lane = self.take_lane(primary)?;
        lane.submit(procedure, bytes).map_err(ended)?;
        let answer = self.answer(&mut lane, &mut interrupt).await?;
        self.put_lane_back(lane);
        self.note_seen(answer.position);
        match answer.outcome {
            Ok(_) => outcome(&prepared, &answer),
            Err(error) => Err(refused(&error)),
        }
    }

    /// Waits for the answer. When it is no longer waited for the lane is given up: its next answer would
    /// be this one.
    async fn answer(&self, lane: &mut Lane, interrupt: &mut Interrupt) -> Result<Answer, SqlError> {
        let unknown = "It was sent to the primary, and may be carried out all the same.";
        tokio::select! {
            answer = lane.answer() => answer.map_err(ended),
            error = interrupt.raised() => Err(error.with_detail(unknown)),
        }
    }

    fn primary(&self, word: &str) -> Result<&Primary, SqlError> {
        self.engine().primary().ok_or_else(|| match word {
            "CALL" => SqlError::not_supported(word),
            _ => SqlError::read_only(word),
        })
    }
}

fn in_transaction(word: &str) -> SqlError {
    SqlError::new(
        code::ACTIVE_SQL_TRANSACTION,
        format!("{word} cannot run inside a transaction block"),
    )
    .with_detail("The primary runs each call, and each statement on its own, as one transaction.")
    .with_hint(
        "End the transaction block, or switch the client's autocommit on. Write a procedure for what belongs \
         together.",
    )
}

fn outcome(prepared: &Prepared, answer: &Answer) -> Result<Outcome, SqlError> {
    let columns = prepared.answers.as_deref().unwrap_or_default();
    let answered = procedures::Answered::read(&answer.reply, columns.len());
    let answered = answered
        .ok_or_else(|| SqlError::new(code::INTERNAL_ERROR, "the primary's answer is malformed"))?;
    let changed = answered.changed;
    let tag = match prepared.kind {
        PreparedKind::Call if prepared.answers.is_some() => {
            let batch = values::batch(columns, &answered.rows)?;
            return Ok(Outcome::Rows {
                position: answer.position,
                schema: batch.schema(),
                stream: futures::stream::iter([Ok(batch)]).boxed(),
                tag: "CALL",
            });
        }
        PreparedKind::Call => "CALL".into(),
        PreparedKind::Insert => format!("INSERT 0 {changed}").into(),
        PreparedKind::Update => format!("UPDATE {changed}").into(),
        PreparedKind::Delete => format!("DELETE {changed}").into(),
    };
    Ok(Outcome::Command {
        tag,
        notice: None,
        changed: Vec::new(),
    })
}

fn ended(_: Ended) -> SqlError {
    SqlError::new(code::ADMIN_SHUTDOWN, "the primary has ended")
        .with_detail("A call that had been sent may have been carried out.")
        .with_hint("See the server's log, and start it again.")
}

fn rejected(rejection: &oltp::Rejection) -> SqlError {
    let mut error = SqlError::new(rejection.code, rejection.message.clone());
    error.detail.clone_from(&rejection.detail);
    error
}

/// Why a call was not carried out.
fn refused(error: &CallError) -> SqlError {
    match error {
        CallError::Stopped(Stop::Rejected(rejection)) => rejected(rejection),
        CallError::Stopped(stop @ Stop::TooMuchEvicted { .. }) => SqlError::new(
            "54000",
            format!("the call is too large: {stop}"),
        )
        .with_hint(
            "Let each call look at fewer rows, or give the primary more memory (--primary-memory).",
        ),
        CallError::Stopped(stop @ Stop::Unreadable(_)) => {
            SqlError::new(code::DATA_CORRUPTED, stop.to_string())
        }
        CallError::Stopped(stop) => SqlError::new(code::INTERNAL_ERROR, stop.to_string()),
        CallError::Refused(Refusal::MemoryFull) => {
            SqlError::new(code::OUT_OF_MEMORY, "the primary's memory is full")
                .with_detail("Keys stay in memory, and so do rows of more than 16 kB and those of tables that are not evictable.")
                .with_hint("Give it more memory (--primary-memory), or delete rows.")
        }
        CallError::Refused(refusal @ Refusal::ParametersTooLong) => {
            SqlError::new("54000", refusal.to_string())
        }
        CallError::Refused(refusal) => {
            SqlError::new(code::IO_ERROR, refusal.to_string()).with_hint("See the server's log.")
        }
    }
}
