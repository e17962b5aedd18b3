//! One look at a node.

use std::sync::Arc;

use lsm::{MergeState, Store, StoreStats, TableStats};
use replication::catalog::{Catalog, TableState};
use replication::status::{SourceStatus, Status};

/// Where to look.
#[derive(Clone)]
pub struct Observed {
    /// The trees.
    pub store: Arc<Store>,
    /// The tables.
    pub catalog: Arc<Catalog>,
    /// The sources.
    pub status: Arc<Status>,
}

/// What was seen. The parts are read one after the other: each is true for itself.
pub struct Facts {
    /// The sources.
    pub sources: Vec<SourceStatus>,
    /// The store.
    pub store: StoreStats,
    /// The tables, by name.
    pub tables: Vec<TableFacts>,
}

/// One table.
pub struct TableFacts {
    /// Schema and name.
    pub name: String,
    /// `copying`, `live` or `stopped`.
    pub state: &'static str,
    /// Why it has stopped.
    pub reason: Option<String>,
    /// Its tree; none before its first row.
    pub tree: Option<TableStats>,
}

impl Observed {
    /// Looks.
    pub fn look(&self) -> Facts {
        let tables = self.catalog.tables();
        let tables = tables.iter().map(|entry| {
            let (state, reason) = match &entry.state {
                TableState::Copying => ("copying", None),
                TableState::Live => ("live", None),
                TableState::Stopped { reason, .. } => ("stopped", Some(reason.clone())),
            };
            TableFacts {
                name: entry.schema.name.to_string(),
                state,
                reason,
                tree: self.store.table_stats(entry.id),
            }
        });
        Facts {
            sources: self.status.sources(),
            store: self.store.stats(),
            tables: tables.collect(),
        }
    }
}

/// A merge's state in a word.
pub fn merge_word(state: MergeState) -> &'static str {
    match state {
        MergeState::None => "none",
        MergeState::Due => "due",
        MergeState::UnderWay => "under way",
    }
}
