//! What the replica must remember of a PostgreSQL source, stored with every checkpoint.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use types::TableId;

use super::catalog::PublishedTable;
use super::drift::Labels;
use super::partitions::Partition;
use super::slot::SystemIdentity;
use crate::checkpoint::CheckpointError;

/// The source's part of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostgresState {
    /// The server that was copied.
    pub identity: SystemIdentity,
    /// The replication slot.
    pub slot: String,
    /// The publication.
    pub publication: String,
    /// How the tables look in the log.
    pub tables: Vec<WireTable>,
    /// While the initial copy goes on, the trees that are complete.
    #[serde(default)]
    pub copied: Vec<u32>,
}

/// How a table looks in the log; what a relation message must say as long as the table has the
/// shape in which it was copied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireTable {
    /// The tree.
    pub table: u32,
    /// The table's object id at the source.
    pub relation: u32,
    /// Type and modifier of each column.
    pub types: Vec<(u32, i32)>,
    /// The file that held its rows at the source; 0 where there was none, or it is not known.
    #[serde(default)]
    pub file: u32,
    /// The highest number that a column ever had.
    #[serde(default)]
    pub number_max: i16,
    /// The publication's row filter.
    #[serde(default)]
    pub row_filter: Option<String>,
    /// The numbers of the columns that the publication names; `None` if it has all.
    #[serde(default)]
    pub column_list: Option<Vec<i16>>,
    /// The labels of its enums, with the names that our rows have; `None` if they are not known yet.
    #[serde(default)]
    pub labels: Option<Labels>,
    /// The partitions that its rows are in; `None` if it has none, or they are not known yet.
    #[serde(default)]
    pub partitions: Option<Vec<Partition>>,
}

impl WireTable {
    /// How `published`, stored in the tree `table`, looks in the log.
    pub fn new(table: TableId, published: &PublishedTable) -> Self {
        let types = published
            .columns
            .iter()
            .map(|c| (c.wire_oid, c.wire_modifier))
            .collect();
        Self {
            table: table.0,
            relation: published.relation,
            types,
            file: published.file,
            number_max: published.number_max,
            row_filter: published.row_filter.clone(),
            column_list: published.column_list.clone(),
            labels: Some(published.labels.clone()),
            partitions: (published.partitioned).then(|| published.partitions.clone()),
        }
    }
}

impl PostgresState {
    /// Reads the source's part of a checkpoint.
    pub fn from_value(value: &Value) -> Result<Self, CheckpointError> {
        Self::deserialize(value).map_err(|error| CheckpointError::Malformed(error.to_string()))
    }

    /// The source's part of a checkpoint.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("the state has string keys only")
    }
}
