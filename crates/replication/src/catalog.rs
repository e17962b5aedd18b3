//! The replicated tables and their states, shared between the apply loop and readers.
//!
//! A list of entries behind a lock; an entry is immutable and replaced as a whole, so a reader
//! that has taken one keeps a consistent view of that table.
//!
//! A schema change holds from a position on. Readers with a snapshot before it ask for the table
//! as of their position and get the former entry, whose tree stays until the last of them has
//! let go (see [`crate::apply`]).
//!
//! A projection belongs to a table's tree, and says itself which snapshots may read it.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use types::{CommitPosition, TableId, TableSchema};

use crate::projection::Projection;
use crate::projection::request::Requests;

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
    tables: RwLock<Tables>,
    /// Ordered by name.
    projections: RwLock<Vec<Arc<Projection>>>,
    requests: Requests,
    generation: AtomicU64,
}

#[derive(Debug, Default)]
struct Tables {
    /// Ordered by name.
    current: Vec<Current>,
    /// What snapshots before a change still see.
    former: Vec<Former>,
}

#[derive(Debug)]
struct Current {
    entry: Arc<TableEntry>,
    /// The first position at which it holds.
    since: CommitPosition,
}

/// How a table was before a change.
#[derive(Debug)]
struct Former {
    entry: Arc<TableEntry>,
    /// The positions at which it held.
    held: Range<CommitPosition>,
}

impl Catalog {
    /// A catalog without tables.
    pub fn new() -> Self {
        Self::default()
    }

    /// All tables, ordered by name.
    pub fn tables(&self) -> Vec<Arc<TableEntry>> {
        let tables = self.tables.read();
        tables.current.iter().map(|t| t.entry.clone()).collect()
    }

    /// All tables as a snapshot at `position` sees them, ordered by name.
    pub fn tables_at(&self, position: CommitPosition) -> Vec<Arc<TableEntry>> {
        let tables = self.tables.read();
        let mut found: Vec<_> = tables.at(position).cloned().collect();
        found.sort_by(|a, b| a.schema.name.cmp(&b.schema.name));
        found
    }

    /// The table with this schema and name.
    pub fn by_name(&self, schema: &str, name: &str) -> Option<Arc<TableEntry>> {
        let tables = self.tables.read();
        let mut entries = tables.current.iter().map(|t| &t.entry);
        entries.find(|t| has_name(t, schema, name)).cloned()
    }

    /// The table that a snapshot at `position` sees under this schema and name.
    pub fn by_name_at(
        &self,
        schema: &str,
        name: &str,
        position: CommitPosition,
    ) -> Option<Arc<TableEntry>> {
        let tables = self.tables.read();
        let mut entries = tables.at(position);
        entries.find(|t| has_name(t, schema, name)).cloned()
    }

    /// The table with this id.
    pub fn by_id(&self, table: TableId) -> Option<Arc<TableEntry>> {
        let tables = self.tables.read();
        let mut entries = tables.current.iter().map(|t| &t.entry);
        entries.find(|t| t.id == table).cloned()
    }

    /// Grows with every change of the catalog, so that readers can tell whether what they
    /// derived from it still holds.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Replaces all tables, also those that earlier snapshots see.
    pub fn replace(&self, entries: Vec<TableEntry>) {
        let current = |entry| Current {
            entry: Arc::new(entry),
            since: CommitPosition::ZERO,
        };
        let mut tables = self.tables.write();
        tables.former.clear();
        tables.current = entries.into_iter().map(current).collect();
        self.note_change(&mut tables);
    }

    /// From `position` on there is `entry`, in place of the table `replaced`. Snapshots before
    /// `position` go on to see that one.
    pub fn change(
        &self,
        position: CommitPosition,
        replaced: Option<TableId>,
        entry: Option<TableEntry>,
    ) {
        let mut tables = self.tables.write();
        let place = |current: &Current| Some(current.entry.id) == replaced;
        if let Some(place) = tables.current.iter().position(place) {
            let Current { entry, since } = tables.current.remove(place);
            if since < position {
                let held = since..position;
                tables.former.push(Former { entry, held });
            }
        }
        if let Some(entry) = entry {
            let (entry, since) = (Arc::new(entry), position);
            tables.current.push(Current { entry, since });
        }
        self.note_change(&mut tables);
    }

    /// Forgets what only snapshots before `position` see.
    pub fn forget_before(&self, position: CommitPosition) {
        let mut tables = self.tables.write();
        tables.former.retain(|former| former.held.end > position);
    }

    /// Changes the state of a table for all snapshots; does nothing where there is no such table.
    pub fn set_state(&self, table: TableId, state: TableState) {
        let mut tables = self.tables.write();
        let mut current = tables.current.iter_mut();
        if let Some(found) = current.find(|t| t.entry.id == table) {
            found.entry = Arc::new(TableEntry {
                state,
                ..TableEntry::clone(&found.entry)
            });
            self.note_change(&mut tables);
        }
    }

    /// All projections, ordered by name.
    pub fn projections(&self) -> Vec<Arc<Projection>> {
        self.projections.read().clone()
    }

    /// The projections of the table with this tree, ordered by name.
    pub fn projections_of(&self, table: TableId) -> Vec<Arc<Projection>> {
        let projections = self.projections.read();
        let of_table = projections.iter().filter(|each| each.table == table);
        of_table.cloned().collect()
    }

    /// The projection with this name.
    pub fn projection(&self, name: &str) -> Option<Arc<Projection>> {
        let projections = self.projections.read();
        projections.iter().find(|each| each.name == name).cloned()
    }

    /// Puts a projection in place of the one with its name, or beside the others.
    pub fn set_projection(&self, projection: Projection) {
        let mut projections = self.projections.write();
        projections.retain(|each| each.name != projection.name);
        projections.push(Arc::new(projection));
        projections.sort_by(|a, b| a.name.cmp(&b.name));
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Forgets a projection.
    pub fn remove_projection(&self, name: &str) {
        let mut projections = self.projections.write();
        projections.retain(|each| each.name != name);
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// What people want of the source that runs.
    pub fn projection_requests(&self) -> &Requests {
        &self.requests
    }

    fn note_change(&self, tables: &mut Tables) {
        let name = |current: &Current| current.entry.schema.name.clone();
        tables.current.sort_by_cached_key(name);
        self.generation.fetch_add(1, Ordering::Release);
    }
}

impl Tables {
    /// What a snapshot at `position` sees.
    fn at(&self, position: CommitPosition) -> impl Iterator<Item = &Arc<TableEntry>> {
        let current = self.current.iter().filter(move |t| t.since <= position);
        let former = self
            .former
            .iter()
            .filter(move |t| t.held.contains(&position));
        let former = former.map(|t| &t.entry);
        former.chain(current.map(|t| &t.entry))
    }
}

fn has_name(entry: &TableEntry, schema: &str, name: &str) -> bool {
    entry.schema.name.schema == schema && entry.schema.name.name == name
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
    fn a_snapshot_sees_the_tables_of_its_position() {
        let catalog = Catalog::new();
        catalog.replace(vec![entry(1, "a")]);
        catalog.change(CommitPosition(100), Some(TableId(1)), Some(entry(2, "b")));
        catalog.change(CommitPosition(200), Some(TableId(2)), None);
        let names_at = |position| {
            let tables = catalog.tables_at(CommitPosition(position));
            let name = |t: &Arc<TableEntry>| (t.id.0, t.schema.name.name.clone());
            tables.iter().map(name).collect::<Vec<_>>()
        };
        assert_eq!(names_at(99), [(1, "a".to_owned())]);
        assert_eq!(names_at(100), [(2, "b".to_owned())]);
        assert_eq!(names_at(199), [(2, "b".to_owned())]);
        assert!(names_at(200).is_empty());
        assert!(catalog.by_name("public", "b").is_none());
        catalog.forget_before(CommitPosition(150));
        assert!(names_at(99).is_empty());
        assert_eq!(names_at(199).len(), 1);
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
