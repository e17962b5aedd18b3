//! The replicated tables and their states, shared between the apply loop and readers.
//!
//! A list of entries behind a lock; an entry is immutable and replaced as a whole, so a reader
//! that has taken one keeps a consistent view of that table.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use types::{CommitPosition, TableId, TableSchema};

/// What can be done with a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TableState {
    /// The initial copy is not complete; the table cannot be read yet.
    #[default]
    Copying,
    /// The table follows its source.
    Live,
    /// The source's changes to the table could not be carried any further.
    Stopped {
        /// The last position up to which the table equals the source.
        position: CommitPosition,
        /// Why, and what the operator can do about it.
        reason: String,
    },
}

/// One replicated table.
#[derive(Clone, Debug)]
pub struct TableEntry {
    /// The table's tree.
    pub id: TableId,
    /// The schema as the tree stores it.
    pub schema: Arc<TableSchema>,
    /// Whether it can be read.
    pub state: TableState,
}

/// All replicated tables of a data directory.
#[derive(Debug, Default)]
pub struct Catalog {
    tables: RwLock<Vec<Arc<TableEntry>>>,
    generation: AtomicU64,
}

impl Catalog {
    /// A catalog without tables.
    pub fn new() -> Self {
        Self::default()
    }

    /// All tables, ordered by name.
    pub fn tables(&self) -> Vec<Arc<TableEntry>> {
        self.tables.read().clone()
    }

    /// The table with this schema and name.
    pub fn by_name(&self, schema: &str, name: &str) -> Option<Arc<TableEntry>> {
        let tables = self.tables.read();
        tables
            .iter()
            .find(|t| t.schema.name.schema == schema && t.schema.name.name == name)
            .cloned()
    }

    /// The table with this id.
    pub fn by_id(&self, table: TableId) -> Option<Arc<TableEntry>> {
        self.tables.read().iter().find(|t| t.id == table).cloned()
    }

    /// Grows with every change of the catalog, so that readers can tell whether what they
    /// derived from it still holds.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Replaces all tables.
    pub fn replace(&self, mut entries: Vec<TableEntry>) {
        entries.sort_by(|a, b| a.schema.name.cmp(&b.schema.name));
        *self.tables.write() = entries.into_iter().map(Arc::new).collect();
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Changes the state of a table; does nothing where there is no such table.
    pub fn set_state(&self, table: TableId, state: TableState) {
        let mut tables = self.tables.write();
        if let Some(entry) = tables.iter_mut().find(|t| t.id == table) {
            *entry = Arc::new(TableEntry {
                state,
                ..TableEntry::clone(entry)
            });
            self.generation.fetch_add(1, Ordering::Release);
        }
    }
}

/// [`TableState`] as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredState {
    Copying,
    Live,
    Stopped { position: u64, reason: String },
}

impl Serialize for TableState {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.clone() {
            Self::Copying => StoredState::Copying,
            Self::Live => StoredState::Live,
            Self::Stopped { position, reason } => StoredState::Stopped {
                position: position.0,
                reason,
            },
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TableState {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match StoredState::deserialize(deserializer)? {
            StoredState::Copying => Self::Copying,
            StoredState::Live => Self::Live,
            StoredState::Stopped { position, reason } => Self::Stopped {
                position: CommitPosition(position),
                reason,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use types::{Column, ColumnType, SourceType, TableName};

    use super::*;

    fn entry(id: u32, name: &str) -> TableEntry {
        let column = Column {
            name: "id".into(),
            column_type: ColumnType::Int32,
            nullable: false,
            hidden: false,
            source_number: 1,
            source_type: SourceType {
                oid: 23,
                modifier: -1,
                name: "integer".into(),
            },
        };
        let schema = TableSchema {
            name: TableName {
                schema: "public".into(),
                name: name.into(),
            },
            columns: vec![column],
            key: vec![0],
        };
        TableEntry {
            id: TableId(id),
            schema: Arc::new(schema),
            state: TableState::Live,
        }
    }

    #[test]
    fn a_state_change_replaces_the_entry_and_moves_the_generation() {
        let catalog = Catalog::new();
        catalog.replace(vec![entry(1, "b"), entry(2, "a")]);
        let names: Vec<_> = catalog
            .tables()
            .iter()
            .map(|t| t.schema.name.name.clone())
            .collect();
        assert_eq!(names, ["a", "b"]);
        let before = catalog.by_name("public", "a").expect("table a");
        let generation = catalog.generation();
        let stopped = TableState::Stopped {
            position: CommitPosition(7),
            reason: "why".into(),
        };
        catalog.set_state(TableId(2), stopped.clone());
        assert_eq!(before.state, TableState::Live);
        assert_eq!(catalog.by_id(TableId(2)).expect("table a").state, stopped);
        assert!(catalog.generation() > generation);
        assert!(catalog.by_name("other", "a").is_none());
    }

    #[test]
    fn states_survive_storing() {
        for state in [
            TableState::Copying,
            TableState::Live,
            TableState::Stopped {
                position: CommitPosition(u64::MAX),
                reason: "é \"x\"".into(),
            },
        ] {
            let text = serde_json::to_string(&state).expect("a state is JSON");
            assert_eq!(
                serde_json::from_str::<TableState>(&text).expect("round trip"),
                state
            );
        }
    }
}
