//! Statements about projections: checked here, carried out by the source that runs.
//!
//! 1. The names are looked up as a query's are, and what is wrong is told as PostgreSQL tells it of an
//!    index.
//! 2. The source is asked; it answers when the apply loop has been told.
//! 3. The statement ends when the catalog shows it and a crash would not forget it. A projection is
//!    filled in the background after that: `hedgerow.projections` shows how far it is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use replication::checkpoint::Checkpoint;
use replication::projection::request::{Refusal, Wish};
use replication::projection::{Projection, orders};
use types::TableName;

use crate::command::ProjectionCommand;
use crate::context::readable;
use crate::engine::Engine;
use crate::error::{SqlError, code};
use crate::outcome::{Notice, Outcome};

/// How long to wait for the source, and for the disk.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often to look.
const LOOK: Duration = Duration::from_millis(2);

/// What a command does after its names have been looked up.
enum Checked {
    Ask(Wish),
    /// There is nothing to do; what the client is told.
    Nothing(String, &'static str),
}

/// Carries out a command; `search_path` is where a table without a schema is looked for.
pub(crate) async fn run(
    engine: &Arc<Engine>,
    command: &ProjectionCommand,
    search_path: Vec<String>,
) -> Result<Outcome, SqlError> {
    let tag = match command {
        ProjectionCommand::Create { .. } => "CREATE PROJECTION",
        ProjectionCommand::Drop { .. } => "DROP PROJECTION",
    };
    let notice = match check(engine, command, &search_path)? {
        Checked::Nothing(message, code) => Some(Notice {
            severity: "NOTICE",
            code,
            message,
        }),
        Checked::Ask(wish) => {
            let asked = engine.clone();
            let task = engine.runtime().spawn_blocking(move || ask(&asked, wish));
            let failed = |_| SqlError::new(code::INTERNAL_ERROR, "the request failed");
            task.await.map_err(failed)??;
            None
        }
    };
    Ok(Outcome::Command {
        tag: tag.into(),
        notice,
        changed: Vec::new(),
    })
}

fn check(
    engine: &Engine,
    command: &ProjectionCommand,
    search_path: &[String],
) -> Result<Checked, SqlError> {
    match command {
        ProjectionCommand::Drop { name, if_exists } => {
            let message = || format!("projection \"{name}\" does not exist");
            match (engine.catalog.projection(name), if_exists) {
                (Some(_), _) => Ok(Checked::Ask(Wish::Drop { name: name.clone() })),
                (None, true) => Ok(Checked::Nothing(
                    format!("{}, skipping", message()),
                    code::SUCCESSFUL,
                )),
                (None, false) => Err(SqlError::new(code::UNDEFINED_OBJECT, message())),
            }
        }
        ProjectionCommand::Create {
            name,
            schema,
            table,
            order_by,
            if_not_exists,
        } => {
            if engine.catalog.projection(name).is_some() {
                let message = format!("projection \"{name}\" already exists");
                return match if_not_exists {
                    true => {
                        let message = format!("{message}, skipping");
                        Ok(Checked::Nothing(message, code::DUPLICATE_OBJECT))
                    }
                    false => Err(SqlError::new(code::DUPLICATE_OBJECT, message)),
                };
            }
            let table = find_table(engine, schema.as_deref(), table, search_path)?;
            check_columns(engine, &table, order_by)?;
            Ok(Checked::Ask(Wish::Create {
                name: name.clone(),
                table,
                order_by: order_by.clone(),
            }))
        }
    }
}

fn find_table(
    engine: &Engine,
    schema: Option<&str>,
    table: &str,
    search_path: &[String],
) -> Result<TableName, SqlError> {
    let entry = match schema {
        Some(schema) => engine.catalog.by_name(schema, table),
        None => (search_path.iter()).find_map(|schema| engine.catalog.by_name(schema, table)),
    };
    let shown = || schema.map_or_else(|| table.to_owned(), |schema| format!("{schema}.{table}"));
    let entry = entry.ok_or_else(|| SqlError::undefined_table(shown()))?;
    readable(&entry)?;
    Ok(entry.schema.name.clone())
}

fn check_columns(engine: &Engine, table: &TableName, order_by: &[String]) -> Result<(), SqlError> {
    let entry = engine.catalog.by_name(&table.schema, &table.name);
    let entry = entry.ok_or_else(|| SqlError::undefined_table(table))?;
    for (place, name) in order_by.iter().enumerate() {
        let mut columns = entry.schema.columns.iter();
        let column = columns.find(|column| !column.hidden && column.name == *name);
        let Some(column) = column else {
            let message = format!("column \"{name}\" does not exist");
            return Err(SqlError::new(code::UNDEFINED_COLUMN, message));
        };
        if order_by[..place].contains(name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new(code::DUPLICATE_COLUMN, message));
        }
        if !orders(column.column_type) {
            let kind = &column.source_type.name;
            return Err(SqlError::not_supported(format!(
                "a projection by a column of type {kind}"
            )));
        }
    }
    Ok(())
}

/// Asks the source, and waits until what it does is seen and durable.
fn ask(engine: &Engine, wish: Wish) -> Result<(), SqlError> {
    let since = Instant::now();
    let (name, is_wanted) = match &wish {
        Wish::Create { name, .. } => (name.clone(), true),
        Wish::Drop { name } => (name.clone(), false),
    };
    let asked = engine.catalog.projection_requests().ask(wish, PATIENCE);
    asked.map_err(refused)?;
    while since.elapsed() < 2 * PATIENCE {
        let projection = engine.catalog.projection(&name);
        if projection.is_some() == is_wanted {
            let durable = engine.store.durable().metadata;
            let checkpoint = Checkpoint::from_bytes(&durable).ok();
            if checkpoint.is_some_and(|durable| remembers(&durable, &name, projection.as_deref())) {
                return Ok(());
            }
        }
        std::thread::sleep(LOOK);
    }
    let message = "it is done, but is not on disk yet: a crash now would forget it";
    Err(SqlError::new(
        code::OBJECT_NOT_IN_PREREQUISITE_STATE,
        message,
    ))
}

/// Whether a start from this checkpoint finds the projection of a name as it is now, or none.
fn remembers(durable: &Checkpoint, name: &str, projection: Option<&Projection>) -> bool {
    let record = durable.projections.iter().find(|each| each.name == name);
    match (record, projection) {
        (Some(record), Some(projection)) => record.tree() == projection.tree(),
        (None, None) => true,
        _ => false,
    }
}

fn refused(refusal: Refusal) -> SqlError {
    let error = SqlError::new(code::OBJECT_NOT_IN_PREREQUISITE_STATE, refusal.reason);
    match refusal.hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}
