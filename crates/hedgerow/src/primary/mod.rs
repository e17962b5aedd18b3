//! The built-in primary that `serve` runs.
//!
//! 1. The schema file is read, and every fault in it told ([`schema_file`]).
//! 2. It is brought together with the schema that the data directory has, and what comes out is made durable
//!    there ([`stored_schema`]).
//! 3. The node starts with the primary as its source, and clients' calls and changes go to it.
//!
//! Does not: run anything itself; the primary is `replication::primary`, its procedures are `procedures`.

mod schema_file;
mod stored_schema;

use std::sync::Arc;

use oltp::SnapshotOptions;
use procedures::Application;
use replication::primary::source::KIND;
use replication::primary::{Clients, PrimaryOptions, PrimarySource, PrimaryTable};
use serde_json::json;
use sql::{Primary, SqlError};

use crate::byte_size::ByteSize;
use crate::node::{Node, NodeError, RunningNode};
use crate::server::SourceCommands;
use crate::verification;
pub use schema_file::{SchemaFile, SchemaFileError};
pub use stored_schema::{SchemaError, open_schema};

/// The primary's folder in the data directory.
pub const PRIMARY_DIRECTORY: &str = "primary";
/// The name under which the source is shown.
const SOURCE_NAME: &str = "primary";
/// Grows when a data directory of before cannot be gone on with.
const GENERATION: u64 = 1;

/// Starts a node with the primary as its source.
pub fn start(
    node: Node,
    application: Application,
    memory: ByteSize,
) -> Result<RunningNode, NodeError> {
    let tables: Vec<PrimaryTable> = application
        .tables()
        .iter()
        .map(|table| PrimaryTable {
            schema: table.schema.clone(),
            definition: table.definition.clone(),
        })
        .collect();
    let options = PrimaryOptions {
        folder: node.data().join(PRIMARY_DIRECTORY),
        memory_bytes: memory.bytes(),
        snapshots: SnapshotOptions::default(),
        tables: tables.clone(),
        procedures: application.procedures(),
        identity: json!({ "name": "schema", "generation": GENERATION }),
    };
    let source = PrimarySource::new(node.env().clone(), options);
    let clients = source.clients();
    node.engine().write_to(Primary {
        application: Arc::new(application),
        clients: clients.clone(),
    });
    let commands = commands(&node, clients, tables);
    node.start(SOURCE_NAME, KIND, Box::new(source), commands)
}

/// `hedgerow verify` compares with the primary; `resync` has nothing to copy from, as it keeps its rows in
/// the same process.
pub fn commands(node: &Node, clients: Clients, tables: Vec<PrimaryTable>) -> SourceCommands {
    SourceCommands {
        verify: verification::of_primary(node, clients, tables),
        resync: Arc::new(|_| Err(SqlError::not_supported("resync from the built-in primary"))),
    }
}

/// How much a schema declares.
pub fn summary(application: &Application) -> String {
    let count = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let tables = count(application.tables().len(), "table");
    let procedures = count(application.current().count(), "procedure");
    format!("{tables}, {procedures}")
}
