//! The steps of procedures: statements, compiled.
//!
//! * [`compile`]: from syntax. [`insert`], [`update`], [`delete`], [`select`]: what they do.
//!
//! A step that meets an evicted row passes over it: its transaction has noted that, and will run again. What
//! it does until then counts for nothing, so that it may go on and meet the other rows that it needs.

mod compile;
mod delete;
mod insert;
mod select;
mod update;

use oltp::{DeclaredKeys, Rejection, Stop, Transaction, Violation};
use types::Value;

use crate::access::Access;
use crate::datum::Datum;
use crate::expression::Node;
use crate::expression::evaluate::{Context, RowAtHand};
use crate::fault::code;
use crate::reply::Reply;
use crate::table::Tables;
pub(crate) use compile::Compiler;
use delete::Delete;
use insert::Insert;
pub(crate) use select::Select;
use update::Update;

/// A step.
pub(crate) enum Step {
    Insert(Insert),
    Update(Update),
    Delete(Delete),
    /// Rows for the client, or for variables.
    Select(Select),
    /// A variable gets a value.
    Set(usize, Node),
    /// The first arm whose condition is true, or what is left.
    If(Vec<(Node, Vec<Step>)>, Vec<Step>),
    /// The procedure stops with this SQLSTATE and message.
    Signal(&'static str, Option<Node>),
}

/// What steps work with.
pub(crate) struct Frame<'a> {
    pub(crate) tables: &'a Tables,
    /// Parameters, then variables.
    pub(crate) slots: Vec<Datum<'a>>,
    pub(crate) time_us: i64,
}

impl Frame<'_> {
    pub(crate) fn context(&self) -> Context<'_> {
        Context {
            slots: &self.slots,
            row: RowAtHand::None,
            time_us: self.time_us,
        }
    }
}

/// Runs steps, one after the other.
pub(crate) fn run_all(
    steps: &[Step],
    frame: &mut Frame<'_>,
    transaction: &mut Transaction<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), Stop> {
    steps
        .iter()
        .try_for_each(|step| step.run(frame, transaction, reply))
}

impl Step {
    fn run(
        &self,
        frame: &mut Frame<'_>,
        transaction: &mut Transaction<'_>,
        reply: &mut Reply<'_>,
    ) -> Result<(), Stop> {
        match self {
            Self::Insert(insert) => reply.count(insert.run(frame, transaction)?),
            Self::Update(update) => reply.count(update.run(frame, transaction)?),
            Self::Delete(delete) => reply.count(delete.run(frame, transaction)?),
            Self::Select(select) => select.run(frame, transaction, reply)?,
            Self::Set(slot, value) => {
                let datum = value.evaluate(&frame.context())?.into_owned();
                frame.slots[*slot] = datum;
            }
            Self::If(arms, otherwise) => {
                for (condition, steps) in arms {
                    if condition.is_true(&frame.context())? {
                        return run_all(steps, frame, transaction, reply);
                    }
                }
                return run_all(otherwise, frame, transaction, reply);
            }
            Self::Signal(code, message) => return Err(signal(code, message.as_ref(), frame)),
        }
        Ok(())
    }

    /// Whether it may make tables larger.
    pub(crate) fn may_grow(&self) -> bool {
        match self {
            Self::Insert(_) | Self::Update(_) => true,
            Self::If(arms, otherwise) => {
                let steps = arms.iter().flat_map(|(_, steps)| steps).chain(otherwise);
                steps.into_iter().any(Self::may_grow)
            }
            Self::Delete(_) | Self::Select(_) | Self::Set(..) | Self::Signal(..) => false,
        }
    }

    /// Names the keys that follow from the parameters, which are the first so many slots.
    pub(crate) fn declare(
        &self,
        parameters: usize,
        context: &Context<'_>,
        keys: &mut DeclaredKeys<'_>,
    ) -> Result<(), Stop> {
        let access = match self {
            Self::Update(update) => Some(&update.access),
            Self::Delete(delete) => Some(&delete.access),
            Self::Select(select) => select.access(),
            Self::If(arms, otherwise) => {
                let steps = arms.iter().flat_map(|(_, steps)| steps).chain(otherwise);
                for step in steps {
                    step.declare(parameters, context, keys)?;
                }
                None
            }
            Self::Insert(_) | Self::Set(..) | Self::Signal(..) => None,
        };
        match access {
            Some(access) => declare_access(access, parameters, context, keys),
            None => Ok(()),
        }
    }
}

fn declare_access(
    access: &Access,
    parameters: usize,
    context: &Context<'_>,
    keys: &mut DeclaredKeys<'_>,
) -> Result<(), Stop> {
    // What cannot be computed is told when the step runs.
    let Ok(Some((index, key))) = access.declared(parameters, context) else {
        return Ok(());
    };
    let key: Vec<Value<'_>> = key.iter().map(Datum::cell).collect();
    Ok(keys.key(index, &key)?)
}

fn signal(code: &'static str, message: Option<&Node>, frame: &Frame<'_>) -> Stop {
    let message = match message.map(|message| message.evaluate(&frame.context())) {
        Some(Ok(Datum::Bytes(text))) => String::from_utf8_lossy(&text).into_owned(),
        Some(Err(stop)) => return stop,
        Some(Ok(_)) | None => format!("unhandled user-defined exception {code}"),
    };
    Rejection::new(code, message).into()
}

/// What the primary refuses, in the words of SQL.
fn explained(stop: Stop, tables: &Tables, row: Option<&[Datum<'_>]>) -> Stop {
    let Stop::Violation(violation) = stop else {
        return stop;
    };
    let rejection = match violation {
        Violation::Duplicate { index } => {
            let table = &tables.0[usize::from(index.table.0)];
            let place = usize::from(index.index);
            let message = format!(
                "duplicate key value violates unique constraint \"{}\"",
                table.index_names[place]
            );
            let rejection = Rejection::new(code::UNIQUE_VIOLATION, message);
            match row {
                Some(row) => {
                    let columns = &table.definition.indexes[place].columns;
                    rejection.with_detail(crate::reply::key_detail(table, columns, row))
                }
                None => rejection,
            }
        }
        Violation::TooLong { .. } => {
            Rejection::new(code::PROGRAM_LIMIT_EXCEEDED, violation.to_string())
        }
        // A statement that was compiled breaks no other rule.
        other => Rejection::new(code::INTERNAL_ERROR, other.to_string()),
    };
    rejection.into()
}
