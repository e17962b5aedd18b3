//! SQL about what has a name in a connection: prepared statements and cursors.
//!
//! They are the same things as those of the protocol's own messages, and share their names: what `PREPARE`
//! prepares can be bound, and a portal that `DECLARE` makes can be described and executed.

use std::sync::Arc;

use futures::StreamExt;
use sql::{Description, NamedCommand, Outcome, ScalarValue, Statement, Steps, TransactionStatus};

use super::connection::Connection;
use super::declared_cursor::DeclaredCursor;
use super::failure::Failure;
use super::parameter;
use super::query::{self, Done, ResultRows, Started};
use super::statement::{Formats, Life, Parsed, Portal, PortalState, Prepared};

/// What a command takes and gives; `oids`: the types that the client declared for its parameters.
pub async fn describe(
    connection: &mut Connection<'_>,
    command: &NamedCommand,
    oids: &[u32],
) -> Result<Description, Failure> {
    connection.session.check_not_failed()?;
    let session = connection.session;
    let nothing = Description {
        parameters: Vec::new(),
        schema: None,
    };
    Ok(match command {
        NamedCommand::Declare { query, .. } => Description {
            schema: None,
            ..session.describe(query, oids).await?
        },
        NamedCommand::Fetch(steps) => Description {
            schema: Some(cursor(connection, &steps.cursor)?.schema),
            ..nothing
        },
        NamedCommand::Execute { name, values } => {
            let prepared = plain_statement(connection, name)?;
            let Parsed::Sql(statement) = &prepared.parsed else {
                return Ok(nothing);
            };
            let given = match values {
                Some(values) => session.describe(values, oids).await?.parameters,
                None => Vec::new(),
            };
            let executed = session
                .describe(statement, &prepared.parameter_oids)
                .await?;
            Description {
                parameters: given,
                schema: executed.schema,
            }
        }
        _ => nothing,
    })
}

/// Carries a command out, or begins to.
pub async fn run(
    connection: &mut Connection<'_>,
    command: &NamedCommand,
    parameters: Vec<ScalarValue>,
) -> Result<Started, Failure> {
    connection.session.check_not_failed()?;
    let done = match command {
        NamedCommand::Prepare {
            name,
            parameter_oids,
            statement,
        } => prepare(connection, name, parameter_oids, statement).await?,
        NamedCommand::Execute { name, values } => {
            return execute(connection, name, values.as_ref(), parameters).await;
        }
        NamedCommand::Deallocate(Some(name)) => match connection.statements.remove(name) {
            true => Done::tag("DEALLOCATE"),
            false => return Err(query::no_statement(name)),
        },
        NamedCommand::Deallocate(None) => {
            connection.statements.clear();
            Done::tag("DEALLOCATE ALL")
        }
        NamedCommand::Declare {
            name,
            is_held,
            query,
        } => declare(connection, name, *is_held, query, parameters).await?,
        NamedCommand::Fetch(steps) => return fetch(connection, steps).await,
        NamedCommand::Move(steps) => {
            let cursor = cursor(connection, &steps.cursor)?;
            let rows_max = skip(connection, &cursor, steps).await?;
            let passed = cursor.pass(rows_max).await?;
            Done::tag(format!("MOVE {passed}"))
        }
        NamedCommand::Close(Some(name)) => match connection.portals.remove(name) {
            true => Done::tag("CLOSE CURSOR"),
            false => return Err(no_cursor(name)),
        },
        NamedCommand::Close(None) => {
            connection.portals.clear();
            Done::tag("CLOSE CURSOR ALL")
        }
    };
    Ok(Started::Done(done))
}

async fn prepare(
    connection: &mut Connection<'_>,
    name: &str,
    parameter_oids: &[u32],
    statement: &Statement,
) -> Result<Done, Failure> {
    let parsed = Parsed::Sql(statement.clone());
    let prepared = Prepared::new(parsed, parameter_oids.to_vec());
    // What is wrong with it is told now.
    query::description(connection, &prepared).await?;
    let sent_bytes = statement.text().len();
    query::keep_statement(connection, name.to_owned(), prepared, sent_bytes)?;
    Ok(Done::tag("PREPARE"))
}

async fn execute(
    connection: &mut Connection<'_>,
    name: &str,
    values: Option<&Statement>,
    parameters: Vec<ScalarValue>,
) -> Result<Started, Failure> {
    let prepared = plain_statement(connection, name)?;
    let given = match values {
        Some(values) => only_row(connection, values, parameters).await?,
        None => Vec::new(),
    };
    let wanted = &query::description(connection, &prepared).await?.parameters;
    if given.len() != wanted.len() {
        let message = format!("wrong number of parameters for prepared statement {name:?}");
        let detail = format!(
            "Expected {} parameters but got {}.",
            wanted.len(),
            given.len()
        );
        return Err(Failure::new("42601", message).with_detail(detail));
    }
    let given = given.into_iter().zip(wanted);
    let given = given.map(|(value, wanted)| parameter::coerced(value, wanted));
    let given = given.collect::<Result<_, _>>()?;
    query::start(connection.context(), &prepared.parsed, given).await
}

/// A prepared statement that is not itself about one.
fn plain_statement(connection: &Connection<'_>, name: &str) -> Result<Arc<Prepared>, Failure> {
    let prepared = query::statement(connection, name)?;
    match &prepared.parsed {
        Parsed::Sql(statement) if statement.named().is_some() => {
            let message = format!("prepared statement {name:?} cannot be executed by another");
            Err(Failure::new("0A000", message))
        }
        _ => Ok(prepared),
    }
}

/// The values that a query without tables gives.
async fn only_row(
    connection: &mut Connection<'_>,
    query: &Statement,
    parameters: Vec<ScalarValue>,
) -> Result<Vec<ScalarValue>, Failure> {
    let rows = connection.session.execute(query, parameters).await?;
    let Outcome::Rows { mut stream, .. } = rows else {
        return Err(Failure::new("42601", "EXECUTE takes values"));
    };
    let mut values = Vec::new();
    while let Some(batch) = stream.next().await {
        let batch = batch?;
        for column in batch.columns().iter().filter(|column| !column.is_empty()) {
            let value = ScalarValue::try_from_array(column, 0);
            values.push(value.map_err(|error| Failure::new("XX000", error.to_string()))?);
        }
    }
    Ok(values)
}

async fn declare(
    connection: &mut Connection<'_>,
    name: &str,
    is_held: bool,
    statement: &Statement,
    parameters: Vec<ScalarValue>,
) -> Result<Done, Failure> {
    let in_transaction = connection.session.transaction_status() != TransactionStatus::Idle;
    if !in_transaction && !is_held {
        let message = "DECLARE CURSOR can only be used in transaction blocks";
        return Err(Failure::new("25P01", message));
    }
    if connection.portals.contains(name) {
        return Err(query::portal_exists(name));
    }
    let outcome = connection.session.execute(statement, parameters).await?;
    let Outcome::Rows { schema, stream, .. } = outcome else {
        return Err(Failure::new(
            "42P11",
            "a cursor goes through a query's rows",
        ));
    };
    let portal = Portal {
        prepared: Arc::new(Prepared::new(Parsed::Sql(statement.clone()), Vec::new())),
        parameters: Vec::new(),
        formats: Formats::default(),
        life: match (is_held, in_transaction) {
            (false, _) => Life::Transaction,
            (true, true) => Life::IfCommitted,
            (true, false) => Life::Connection,
        },
        state: PortalState::Declared(DeclaredCursor::new(schema, stream)),
    };
    let sent_bytes = statement.text().len();
    connection
        .portals
        .insert(name.to_owned(), portal, sent_bytes)?;
    Ok(Done::tag("DECLARE CURSOR"))
}

async fn fetch(connection: &mut Connection<'_>, steps: &Steps) -> Result<Started, Failure> {
    let cursor = cursor(connection, &steps.cursor)?;
    let rows_max = skip(connection, &cursor, steps).await?;
    Ok(Started::Rows(ResultRows {
        schema: Arc::clone(&cursor.schema),
        stream: cursor.fetch(rows_max),
        tag: "FETCH",
    }))
}

/// Passes over the rows that a FETCH or MOVE leaves out; how many it may go through then.
async fn skip(
    connection: &mut Connection<'_>,
    cursor: &DeclaredCursor,
    steps: &Steps,
) -> Result<u64, Failure> {
    connection.session.resume();
    let skipped = cursor.pass(steps.skipped).await?;
    Ok(if skipped < steps.skipped {
        0
    } else {
        steps.rows
    })
}

fn cursor(connection: &Connection<'_>, name: &str) -> Result<DeclaredCursor, Failure> {
    let portal = connection.portals.get(name);
    match portal.map(|portal| &portal.state) {
        Some(PortalState::Declared(cursor)) => Ok(cursor.clone()),
        Some(_) => {
            let message = format!("cursor {name:?} was not declared in SQL");
            Err(Failure::new("0A000", message))
        }
        None => Err(no_cursor(name)),
    }
}

fn no_cursor(name: &str) -> Failure {
    Failure::new("34000", format!("cursor {name:?} does not exist"))
}
