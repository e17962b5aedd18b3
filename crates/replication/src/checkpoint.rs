//! What is stored atomically with the data at every publish.
//!
//! The store keeps one opaque piece of metadata that belongs to exactly the visible position.
//! This is its content: where the source continues, the states of the tables, and whatever the
//! source itself must remember. Table schemas are the store's own affair, but for what the source
//! has renamed since (see [`crate::names`]).
//!
//! Stored as JSON: it is small, written at most once a publish, and can be read by eye.

use std::sync::Arc;

use lsm::Store;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use types::TableId;

use crate::catalog::{Catalog, TableEntry, TableState};
use crate::names::Names;
use crate::projection::record::ProjectionRecord;

/// The layout of [`Checkpoint`] that this release writes.
const VERSION: u32 = 1;

/// How far the replica is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The initial copy has begun; after a crash it starts over.
    Copying,
    /// The initial copy is complete; the log is followed.
    Streaming,
}

/// One table's part of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRecord {
    /// The table's id.
    pub id: u32,
    /// Its state.
    pub state: TableState,
    /// What the source calls it now, where that is not what its tree says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Names>,
}

/// What a restart needs besides the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    version: u32,
    /// How far the replica is in its life.
    pub phase: Phase,
    /// Where the source continues.
    pub resume: u64,
    /// When the last transaction committed at the source, microseconds since 1970-01-01 UTC.
    pub commit_time_us: i64,
    /// The lowest table id that was never used.
    pub next_table: u32,
    /// The tables' states.
    pub tables: Vec<TableRecord>,
    /// The projections.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub projections: Vec<ProjectionRecord>,
    /// The source's own state: its identity, slot names and the like.
    pub source: Value,
}

/// The stored metadata cannot be understood.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// Not a checkpoint at all.
    #[error("the replica's stored state cannot be read: {0}")]
    Malformed(String),
    /// Written by a newer release.
    #[error(
        "the replica's stored state has version {found}; this release reads up to {VERSION}. \
         Upgrade Hedgerow to open it"
    )]
    VersionTooNew {
        /// The version found.
        found: u64,
    },
}

impl Checkpoint {
    /// The state of a replica that starts to follow a source.
    pub fn new(phase: Phase, source: Value) -> Self {
        let (resume, commit_time_us, next_table) = (0, 0, 1);
        Self {
            version: VERSION,
            phase,
            resume,
            commit_time_us,
            next_table,
            tables: Vec::new(),
            projections: Vec::new(),
            source,
        }
    }

    /// Whether it knows a tree: a table's or a projection's.
    pub fn has_tree(&self, tree: TableId) -> bool {
        self.tables.iter().any(|record| record.id == tree.0)
            || self
                .projections
                .iter()
                .any(|record| record.tree() == Some(tree))
    }

    /// The checkpoint of the store's visible position; `None` in a store that never had one.
    pub fn load(store: &Store) -> Result<Option<Self>, CheckpointError> {
        let bytes = store.metadata();
        if bytes.is_empty() {
            Ok(None)
        } else {
            Self::from_bytes(&bytes).map(Some)
        }
    }

    /// Reads a stored checkpoint.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CheckpointError> {
        let malformed = |error: serde_json::Error| CheckpointError::Malformed(error.to_string());
        let value: Value = serde_json::from_slice(bytes).map_err(malformed)?;
        match value.get("version").and_then(Value::as_u64) {
            Some(found) if found > u64::from(VERSION) => {
                Err(CheckpointError::VersionTooNew { found })
            }
            _ => serde_json::from_value(value).map_err(malformed),
        }
    }

    /// The form in which it is stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a checkpoint has string keys only")
    }

    /// Takes the tables' states, and their names where `store` knows them by others, and the
    /// projections from the catalog.
    pub fn record_tables(&mut self, store: &Store, catalog: &Catalog) {
        let record = |t: &TableEntry| TableRecord {
            id: t.id.0,
            state: t.state.clone(),
            names: (store.schema(t.id).as_ref() != Some(&t.schema)).then(|| Names::of(&t.schema)),
        };
        self.tables = catalog.tables().iter().map(|t| record(t)).collect();
        let projections = catalog.projections();
        self.projections = projections
            .iter()
            .map(|projection| ProjectionRecord::of(projection))
            .collect();
    }

    /// Fills the catalog with the store's tables and projections in their recorded states. Tables of
    /// the store that the checkpoint does not know are left out.
    pub fn fill_catalog(&self, store: &Store, catalog: &Catalog) {
        let entry = |record: &TableRecord| {
            let id = TableId(record.id);
            let stored = store.schema(id)?;
            let schema = match &record.names {
                Some(names) => Arc::new(names.applied_to(&stored)),
                None => stored,
            };
            Some(TableEntry {
                id,
                schema,
                state: record.state.clone(),
            })
        };
        catalog.replace(self.tables.iter().filter_map(entry).collect());
        for record in &self.projections {
            catalog.set_projection(record.projection());
        }
    }
}

#[cfg(test)]
mod tests {
    use types::CommitPosition;

    use super::*;

    #[test]
    fn a_checkpoint_survives_storing() {
        let mut checkpoint = Checkpoint::new(Phase::Streaming, serde_json::json!({"slot": "s"}));
        checkpoint.resume = u64::MAX;
        checkpoint.tables = vec![
            TableRecord {
                id: 3,
                state: TableState::Live,
                names: None,
            },
            TableRecord {
                id: 4,
                state: TableState::Stopped {
                    position: CommitPosition(9),
                    reason: "r".into(),
                },
                names: None,
            },
        ];
        let read = Checkpoint::from_bytes(&checkpoint.to_bytes()).expect("round trip");
        assert_eq!(read, checkpoint);
    }

    #[test]
    fn a_checkpoint_of_a_release_without_names_is_read() {
        let text = r#"{"version": 1, "phase": "streaming", "resume": 1, "commit_time_us": 2,
            "next_table": 3, "tables": [{"id": 1, "state": "live"}], "source": null}"#;
        let read = Checkpoint::from_bytes(text.as_bytes()).expect("it is read");
        assert_eq!(read.tables[0].names, None);
    }

    /// The example of `docs/format/checkpoint.md`.
    #[test]
    fn projections_are_stored_as_documented() {
        let document = include_str!("../../../docs/format/checkpoint.md");
        let example = document.split("```").nth(1).expect("it has an example");
        let example = example.trim_start_matches("json").trim();
        let read = Checkpoint::from_bytes(example.as_bytes()).expect("it is read");
        assert_eq!(read.to_bytes(), example.as_bytes());
        assert!(read.has_tree(TableId(3)) && read.has_tree(TableId(9)));
        let projection = read.projections[0].projection();
        assert_eq!(projection.readable_at(CommitPosition(99)), None);
        assert_eq!(
            projection.readable_at(CommitPosition(100)),
            Some(TableId(9))
        );
        assert!(!read.has_tree(TableId(4)));
    }

    #[test]
    fn foreign_bytes_and_newer_versions_are_refused() {
        let refused = |bytes: &[u8]| Checkpoint::from_bytes(bytes).expect_err("refused");
        assert!(matches!(refused(b"\xff"), CheckpointError::Malformed(_)));
        assert!(matches!(refused(b"{}"), CheckpointError::Malformed(_)));
        let newer = br#"{"version": 2}"#;
        assert!(matches!(
            refused(newer),
            CheckpointError::VersionTooNew { found: 2 }
        ));
    }
}
