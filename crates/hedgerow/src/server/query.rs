//! Statements: the simple query protocol, and the five steps of the extended one.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use bytes::Bytes;
use sql::{CopyOptions, Description, Outcome, RowStream, ScalarValue, Session, TransactionStatus};

use super::backend::{self, ColumnDescription};
use super::connection::{Connection, Context, Trouble};
use super::copy_out;
use super::declared_cursor::DeclaredCursor;
use super::failure::Failure;
use super::named_commands;
use super::parameter;
use super::statement::{
    Cursor, Formats, Life, Parsed, Portal, PortalState, Prepared, parse, parse_one,
};
use super::wire::Output;
use protocol::encode::wire_type;
use protocol::frontend::{Bind, Target};

/// Runs a text of any number of statements, all results as text.
pub async fn simple(
    connection: &mut Connection<'_>,
    text: &str,
    output: &mut Output,
) -> Result<(), Trouble> {
    // The protocol has no name for an unnamed statement that a simple query would keep.
    connection.statements.remove("");
    connection.portals.remove("");
    let statements = parse(text)?;
    if statements.is_empty() {
        backend::empty_query_response(&mut output.buffer);
    }
    for parsed in &statements {
        let formats = Formats::default();
        let before = connection.session.transaction_status();
        match begin(connection, parsed, Vec::new()).await? {
            Started::Done(done) => {
                report_done(&done, output);
                end_portals(connection, before, &done);
            }
            Started::Copy(rows, options) => copy_out::send(rows, &options, output).await?,
            Started::Rows(rows) => {
                let encoder = formats.encoder(&rows.schema)?;
                describe_rows(&rows.schema, &formats, output);
                let mut cursor = Cursor::new(rows.stream, encoder, rows.tag);
                let sent = send_rows(&mut cursor, u64::MAX, output).await?;
                complete(cursor.tag, sent.rows, output);
            }
        }
    }
    Ok(())
}

/// Prepares a statement (Parse).
pub fn prepare(
    connection: &mut Connection<'_>,
    name: String,
    sql: &str,
    parameter_oids: Vec<u32>,
    output: &mut Output,
) -> Result<(), Failure> {
    if name.is_empty() {
        connection.statements.remove(&name);
    }
    let prepared = Prepared::new(parse_one(sql)?, parameter_oids);
    keep_statement(connection, name, prepared, sql.len())?;
    backend::parse_complete(&mut output.buffer);
    Ok(())
}

/// Gives a prepared statement, of so many bytes, its name. Only the unnamed one makes room for the next.
pub fn keep_statement(
    connection: &mut Connection<'_>,
    name: String,
    prepared: Prepared,
    sent_bytes: usize,
) -> Result<(), Failure> {
    if !name.is_empty() && connection.statements.contains(&name) {
        let message = format!("prepared statement {name:?} already exists");
        return Err(Failure::new("42P05", message));
    }
    connection
        .statements
        .insert(name, Arc::new(prepared), sent_bytes)
}

/// Makes a portal of a statement and parameters (Bind).
pub async fn bind(
    connection: &mut Connection<'_>,
    bind: Bind,
    output: &mut Output,
) -> Result<(), Trouble> {
    let prepared = statement(connection, &bind.statement)?;
    if !bind.portal.is_empty() && connection.portals.contains(&bind.portal) {
        return Err(portal_exists(&bind.portal).into());
    }
    let formats = Formats::new(&bind.result_formats)?;
    let sent_bytes = bind.parameters.iter().flatten().map(Bytes::len).sum();
    let (portal, parameters) = (
        bind.portal.clone(),
        parameters(connection, &prepared, bind).await?,
    );
    let portal_state = Portal {
        prepared,
        parameters,
        formats,
        life: Life::Transaction,
        state: PortalState::Ready,
    };
    connection
        .portals
        .insert(portal, portal_state, sent_bytes)?;
    backend::bind_complete(&mut output.buffer);
    Ok(())
}

async fn parameters(
    connection: &mut Connection<'_>,
    prepared: &Prepared,
    bind: Bind,
) -> Result<Vec<ScalarValue>, Failure> {
    let formats = Formats::new(&bind.parameter_formats)?;
    let given = bind.parameters.len();
    let types = if prepared.has_parameters() {
        description(connection, prepared)
            .await?
            .parameters
            .as_slice()
    } else {
        &[]
    };
    if given != types.len() {
        let message = format!(
            "bind message supplies {given} parameters, but prepared statement {:?} requires {}",
            bind.statement,
            types.len()
        );
        return Err(Failure::new("08P01", message));
    }
    if !formats.fit(given) {
        let message =
            format!("bind message has too few or too many formats for {given} parameters");
        return Err(Failure::new("08P01", message));
    }
    let values = bind.parameters.into_iter().zip(types).enumerate();
    values
        .map(|(index, (value, kind))| parameter::decode(value, formats.of(index), kind))
        .collect()
}

/// Tells about a statement or portal (Describe).
pub async fn describe(
    connection: &mut Connection<'_>,
    target: Target,
    name: &str,
    output: &mut Output,
) -> Result<(), Trouble> {
    let (prepared, formats) = match target {
        Target::Statement => (statement(connection, name)?, Formats::default()),
        Target::Portal => {
            let portal = connection
                .portals
                .get(name)
                .ok_or_else(|| no_portal(name))?;
            (portal.prepared.clone(), portal.formats.clone())
        }
    };
    let described = description(connection, &prepared).await?;
    if target == Target::Statement {
        let oids = described.parameters.iter().map(|parameter| parameter.oid);
        backend::parameter_description(oids, &mut output.buffer);
    }
    match &described.schema {
        // What COPY gives are no rows of a result.
        Some(_) if prepared.parsed.copy().is_some() => backend::no_data(&mut output.buffer),
        Some(schema) => describe_rows(schema, &formats, output),
        None => backend::no_data(&mut output.buffer),
    }
    Ok(())
}

/// Runs a portal, or goes on with it (Execute).
pub async fn execute(
    connection: &mut Connection<'_>,
    name: &str,
    rows_max: u32,
    output: &mut Output,
) -> Result<(), Trouble> {
    let portal = connection
        .portals
        .get_mut(name)
        .ok_or_else(|| no_portal(name))?;
    if let PortalState::Declared(cursor) = &portal.state {
        let (cursor, formats) = (cursor.clone(), portal.formats.clone());
        return execute_declared(connection.session, &cursor, &formats, rows_max, output).await;
    }
    // Whatever goes wrong from here on, the portal does not run a second time.
    let state = std::mem::replace(&mut portal.state, PortalState::Finished(None));
    let mut cursor = match state {
        PortalState::Suspended(cursor) => {
            connection.session.resume();
            cursor
        }
        PortalState::Declared(_) => unreachable!("it was looked for above"),
        PortalState::Finished(Some(tag)) => {
            complete(tag, 0, output);
            return Ok(());
        }
        PortalState::Finished(None) => {
            let message = format!("portal {name:?} cannot be run");
            return Err(Failure::new("55000", message).into());
        }
        PortalState::Ready => {
            let (prepared, formats) = (portal.prepared.clone(), portal.formats.clone());
            let parameters = std::mem::take(&mut portal.parameters);
            let before = connection.session.transaction_status();
            match begin(connection, &prepared.parsed, parameters).await? {
                Started::Done(done) => {
                    report_done(&done, output);
                    end_portals(connection, before, &done);
                    return Ok(());
                }
                Started::Copy(rows, options) => {
                    return copy_out::send(rows, &options, output).await;
                }
                Started::Rows(rows) => {
                    let encoder = prepared.encoder(&rows.schema, &formats)?;
                    Box::new(Cursor::new(rows.stream, encoder, rows.tag))
                }
            }
        }
    };
    let sent = send_rows(&mut cursor, limit_of(rows_max), output).await?;
    let state = if sent.suspended {
        backend::portal_suspended(&mut output.buffer);
        PortalState::Suspended(cursor)
    } else {
        complete(cursor.tag, sent.rows, output);
        PortalState::Finished(Some(cursor.tag))
    };
    if let Some(portal) = connection.portals.get_mut(name) {
        portal.state = state;
    }
    Ok(())
}

/// Goes on with a cursor that was declared in SQL, which stays what it is.
async fn execute_declared(
    session: &Session,
    declared: &DeclaredCursor,
    formats: &Formats,
    rows_max: u32,
    output: &mut Output,
) -> Result<(), Trouble> {
    session.resume();
    let (limit, encoder) = (limit_of(rows_max), formats.encoder(&declared.schema)?);
    let mut cursor = Cursor::new(declared.fetch(limit), encoder, "SELECT");
    let sent = send_rows(&mut cursor, limit, output).await?;
    match sent.suspended {
        true => backend::portal_suspended(&mut output.buffer),
        false => complete(cursor.tag, sent.rows, output),
    }
    Ok(())
}

/// The rows that an Execute message asks for: 0 says all.
fn limit_of(rows_max: u32) -> u64 {
    match rows_max {
        0 => u64::MAX,
        limit => u64::from(limit),
    }
}

/// A prepared statement by its name.
pub fn statement(connection: &Connection<'_>, name: &str) -> Result<Arc<Prepared>, Failure> {
    let found = connection.statements.get(name);
    found.cloned().ok_or_else(|| no_statement(name))
}

/// There is no prepared statement of this name.
pub fn no_statement(name: &str) -> Failure {
    let message = format!("prepared statement {name:?} does not exist");
    Failure::new("26000", message)
}

/// There is a portal of this name already.
pub fn portal_exists(name: &str) -> Failure {
    Failure::new("42P03", format!("cursor {name:?} already exists"))
}

fn no_portal(name: &str) -> Failure {
    Failure::new("34000", format!("portal {name:?} does not exist"))
}

/// What a prepared statement takes and gives; found out once.
pub async fn description<'p>(
    connection: &mut Connection<'_>,
    prepared: &'p Prepared,
) -> Result<&'p Description, Failure> {
    let oids = &prepared.parameter_oids;
    let find_out = async {
        match &prepared.parsed {
            Parsed::Sql(statement) => match statement.named() {
                Some(command) => named_commands::describe(connection, command, oids).await,
                None => Ok(connection.session.describe(statement, oids).await?),
            },
            Parsed::Empty | Parsed::Resync(_) => Ok(Description {
                parameters: Vec::new(),
                schema: None,
            }),
            Parsed::Verify => {
                let schema = Some(crate::verify_rows::schema());
                Ok(Description {
                    parameters: Vec::new(),
                    schema,
                })
            }
        }
    };
    prepared.description.get_or_try_init(|| find_out).await
}

/// A statement that has begun.
pub enum Started {
    /// Nothing to send but what is in here.
    Done(Done),
    /// Rows follow.
    Rows(ResultRows),
    /// Data follow.
    Copy(ResultRows, CopyOptions),
}

/// Rows that have not been fetched yet.
pub struct ResultRows {
    /// Their columns.
    pub schema: SchemaRef,
    /// The rows.
    pub stream: RowStream,
    /// First word of the completion tag.
    pub tag: &'static str,
}

/// The result of a command without rows.
#[derive(Default)]
pub struct Done {
    tag: Cow<'static, str>,
    notice: Option<sql::Notice>,
    changed: Vec<(String, String)>,
}

impl Done {
    /// Nothing is to be told but this.
    pub fn tag(tag: impl Into<Cow<'static, str>>) -> Self {
        Self {
            tag: tag.into(),
            ..Self::default()
        }
    }
}

/// Begins a statement of whatever kind.
async fn begin(
    connection: &mut Connection<'_>,
    parsed: &Parsed,
    parameters: Vec<ScalarValue>,
) -> Result<Started, Failure> {
    match parsed {
        Parsed::Sql(statement) => match statement.named() {
            Some(command) => named_commands::run(connection, command, parameters).await,
            None => start(connection.context(), parsed, parameters).await,
        },
        _ => start(connection.context(), parsed, parameters).await,
    }
}

/// Begins a statement that is about nothing that has a name in the connection.
pub async fn start(
    context: Context<'_>,
    parsed: &Parsed,
    parameters: Vec<ScalarValue>,
) -> Result<Started, Failure> {
    let rows = match parsed {
        Parsed::Empty => {
            return Ok(Started::Done(Done::default()));
        }
        Parsed::Resync(table) => {
            let (resync, table) = (context.shared.commands.resync.clone(), table.clone());
            let asked = tokio::task::spawn_blocking(move || resync(table)).await;
            asked.map_err(|error| Failure::new("XX000", error.to_string()))??;
            return Ok(Started::Done(Done::tag("RESYNC TABLE")));
        }
        Parsed::Verify => {
            let (schema, stream) = (context.shared.commands.verify)()?;
            ResultRows {
                schema,
                stream,
                tag: "VERIFY",
            }
        }
        Parsed::Sql(statement) => match context.session.execute(statement, parameters).await? {
            Outcome::Rows {
                schema,
                stream,
                tag,
                ..
            } => ResultRows {
                schema,
                stream,
                tag,
            },
            Outcome::Command {
                tag,
                notice,
                changed,
            } => {
                return Ok(Started::Done(Done {
                    tag,
                    notice,
                    changed,
                }));
            }
        },
    };
    Ok(match parsed.copy() {
        Some(options) => Started::Copy(rows, options.clone()),
        None => Started::Rows(rows),
    })
}

/// A transaction's end takes its portals with it, and DISCARD ALL all that has a name.
fn end_portals(connection: &mut Connection<'_>, before: TransactionStatus, done: &Done) {
    if done.tag == "DISCARD ALL" {
        connection.statements.clear();
        connection.portals.clear();
        return;
    }
    let idle = TransactionStatus::Idle;
    let has_ended = matches!(done.tag.as_ref(), "COMMIT" | "ROLLBACK") && before != idle;
    // ROLLBACK TO ends nothing. A chain begins the next transaction at once.
    if !has_ended || connection.session.transaction_status() != idle {
        return;
    }
    let committed = done.tag == "COMMIT";
    connection.portals.retain(|portal| {
        if portal.life == Life::IfCommitted && committed {
            portal.life = Life::Connection;
        }
        portal.life == Life::Connection
    });
}

fn report_done(done: &Done, output: &mut Output) {
    let out = &mut output.buffer;
    if let Some(notice) = &done.notice {
        backend::notice_response(notice.severity, notice.code, &notice.message, out);
    }
    for (name, value) in &done.changed {
        backend::parameter_status(name, value, out);
    }
    if done.tag.is_empty() {
        backend::empty_query_response(out);
    } else {
        backend::command_complete(&done.tag, out);
    }
}

fn describe_rows(schema: &Schema, formats: &Formats, output: &mut Output) {
    let columns = schema
        .fields()
        .iter()
        .enumerate()
        .map(|(index, field)| ColumnDescription {
            name: field.name(),
            wire_type: wire_type(field),
            format: formats.of(index),
        });
    backend::row_description(columns, &mut output.buffer);
}

/// What became of a request for rows.
struct Sent {
    rows: u64,
    /// Whether the limit was reached before the end.
    suspended: bool,
}

async fn send_rows(cursor: &mut Cursor, limit: u64, output: &mut Output) -> Result<Sent, Trouble> {
    let mut sent = 0;
    while sent < limit {
        let Some((rows, next)) = cursor.next_rows().await? else {
            return Ok(Sent {
                rows: sent,
                suspended: false,
            });
        };
        while *next < rows.len() && sent < limit {
            rows.append(*next, &mut output.buffer)?;
            *next += 1;
            sent += 1;
            output.flush_if_full().await?;
        }
    }
    Ok(Sent {
        rows: sent,
        suspended: true,
    })
}

fn complete(tag: &str, rows: u64, output: &mut Output) {
    match tag {
        "SELECT" | "FETCH" => {
            backend::command_complete(&format!("{tag} {rows}"), &mut output.buffer);
        }
        other => backend::command_complete(other, &mut output.buffer),
    }
}
