//! Projections: a table's rows once more, in another order (Rose section 5.3).
//!
//! A projection is a tree of its own with all columns of its table, whose key is the columns that it is
//! ordered by and then the table's key. It is maintained from the log, without ever being read: the
//! versions that go into the table's tree go into it, too. That is enough because a deletion in the log
//! carries the row's former cells of the ordered columns, and an update that changes one of them comes
//! as a deletion and a put (see [`types::TableChange::Project`]):
//!
//! ```text
//!   log               table (key id)            projection (key day, id)
//!   insert 7, mon     put 7 mon                 put (mon, 7)
//!   7: mon -> tue     delete 7; put 7 tue       delete (mon, 7); put (tue, 7)
//!   delete 7, tue     delete 7                  delete (tue, 7)
//! ```
//!
//! 1. A source begins it between two transactions; from there on the apply loop writes to it.
//! 2. Meanwhile the table's rows as of that position are put into it in the background ([`fill`]).
//! 3. When they are all there it is ready, for snapshots at that position or later.
//!
//! * [`layout`]: the schema of its tree, and its table's versions as its own.
//! * [`fill`]: the rows that were there before it.
//! * [`maintenance`]: the apply loop's part.
//! * [`record`]: what the checkpoint has of it.
//! * [`request`]: what people want of the running source.
//!
//! Invariant: a projection that is ready has, at each position from its own on, exactly the table's rows.
//! One of which that is not certain is stopped, with a reason, and nobody reads it.

pub mod fill;
pub mod layout;
pub mod maintenance;
pub mod record;
pub mod request;

use std::sync::Arc;

use types::{ColumnType, CommitPosition, OrderColumn, TableId, TableSchema};

/// How far a projection is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectionState {
    /// Its table is being copied; it is filled after that.
    Waiting,
    /// The rows that were there before it are being put into its tree.
    Filling {
        /// The tree.
        tree: TableId,
    },
    /// It can be read.
    Ready {
        /// The tree.
        tree: TableId,
        /// By snapshots at this position or later.
        since: CommitPosition,
    },
    /// It could not be carried any further.
    Stopped {
        /// The last position up to which it equals its table.
        position: CommitPosition,
        /// Why, and what the operator can do about it.
        reason: String,
    },
}

/// A projection of a replicated table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    /// Its name; no other projection has it.
    pub name: String,
    /// Its table.
    pub table: TableId,
    /// What it is ordered by before the table's key.
    pub order_by: Arc<[OrderColumn]>,
    /// Whether it can be read.
    pub state: ProjectionState,
}

impl Projection {
    /// Its tree, while it has one.
    pub fn tree(&self) -> Option<TableId> {
        match self.state {
            ProjectionState::Filling { tree } | ProjectionState::Ready { tree, .. } => Some(tree),
            ProjectionState::Waiting | ProjectionState::Stopped { .. } => None,
        }
    }

    /// The tree that a snapshot at `position` may read instead of the table's.
    pub fn readable_at(&self, position: CommitPosition) -> Option<TableId> {
        match self.state {
            ProjectionState::Ready { tree, since } if since <= position => Some(tree),
            _ => None,
        }
    }

    /// The projection of the tree `table`, of `schema`, which takes the place of its table's, of the
    /// schema `before`; `None` where a column that it is ordered by is gone, or is of a type that nothing
    /// can be ordered by.
    pub fn moved(
        &self,
        before: &TableSchema,
        table: TableId,
        schema: &TableSchema,
    ) -> Option<Self> {
        let moved = |order: &OrderColumn| {
            let column = column_numbered(schema, before.columns[order.column].source_number)?;
            let nullable = schema.columns[column].nullable;
            Some(OrderColumn { column, nullable })
        };
        let order_by: Option<Vec<OrderColumn>> = self.order_by.iter().map(moved).collect();
        Some(Self {
            table,
            order_by: order_by?.into(),
            state: ProjectionState::Waiting,
            ..self.clone()
        })
    }
}

/// The place of the column with this number at the source, if a projection can be ordered by it.
pub fn column_numbered(schema: &TableSchema, number: i16) -> Option<usize> {
    let mut columns = schema.columns.iter();
    columns.position(|c| !c.hidden && c.source_number == number && orders(c.column_type))
}

/// Whether a projection can be ordered by columns of this type. Keys order floats as PostgreSQL does,
/// which is not how queries compare them.
pub fn orders(column_type: ColumnType) -> bool {
    !matches!(column_type, ColumnType::Float32 | ColumnType::Float64)
}

#[cfg(test)]
mod tests;
