//! A projection as the checkpoint has it.

use serde::{Deserialize, Serialize};
use types::{CommitPosition, OrderColumn, TableId};

use super::{Projection, ProjectionState};

/// One projection's part of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectionRecord {
    /// Its name.
    pub name: String,
    /// The tree of its table.
    pub table: u32,
    /// What it is ordered by.
    pub order_by: Vec<OrderRecord>,
    /// Its state.
    pub state: StateRecord,
}

/// A column that a projection is ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderRecord {
    /// Its place among the table's stored columns.
    pub column: usize,
    /// Whether the source allowed NULL in it.
    pub nullable: bool,
}

/// [`ProjectionState`] as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateRecord {
    /// See [`ProjectionState::Waiting`].
    Waiting,
    /// See [`ProjectionState::Filling`].
    Filling {
        /// The tree.
        tree: u32,
    },
    /// See [`ProjectionState::Ready`].
    Ready {
        /// The tree.
        tree: u32,
        /// The first position at which it can be read.
        since: u64,
    },
    /// See [`ProjectionState::Stopped`].
    Stopped {
        /// The last position up to which it equals its table.
        position: u64,
        /// Why.
        reason: String,
    },
}

impl ProjectionRecord {
    /// The record of a projection.
    pub fn of(projection: &Projection) -> Self {
        let order = |order: &OrderColumn| OrderRecord {
            column: order.column,
            nullable: order.nullable,
        };
        let state = match projection.state.clone() {
            ProjectionState::Waiting => StateRecord::Waiting,
            ProjectionState::Filling { tree } => StateRecord::Filling { tree: tree.0 },
            ProjectionState::Ready { tree, since } => StateRecord::Ready {
                tree: tree.0,
                since: since.0,
            },
            ProjectionState::Stopped { position, reason } => StateRecord::Stopped {
                position: position.0,
                reason,
            },
        };
        Self {
            name: projection.name.clone(),
            table: projection.table.0,
            order_by: projection.order_by.iter().map(order).collect(),
            state,
        }
    }

    /// The projection that was recorded.
    pub fn projection(&self) -> Projection {
        let order = |order: &OrderRecord| OrderColumn {
            column: order.column,
            nullable: order.nullable,
        };
        let state = match self.state.clone() {
            StateRecord::Waiting => ProjectionState::Waiting,
            StateRecord::Filling { tree } => ProjectionState::Filling {
                tree: TableId(tree),
            },
            StateRecord::Ready { tree, since } => ProjectionState::Ready {
                tree: TableId(tree),
                since: CommitPosition(since),
            },
            StateRecord::Stopped { position, reason } => ProjectionState::Stopped {
                position: CommitPosition(position),
                reason,
            },
        };
        Projection {
            name: self.name.clone(),
            table: TableId(self.table),
            order_by: self.order_by.iter().map(order).collect(),
            state,
        }
    }

    /// The projection's tree.
    pub fn tree(&self) -> Option<TableId> {
        self.projection().tree()
    }
}
