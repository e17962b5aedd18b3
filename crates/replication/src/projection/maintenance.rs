//! The apply loop's part: what goes into a table's tree goes into its projections, too.
//!
//! At the start it begins again what was not ready: a projection that was being filled, one whose tree is
//! damaged, one whose table was copied again. Nothing has come in then but what is visible. While the log
//! is followed the source says where a projection begins.
//!
//! Does not: publish, or remove trees (see [`crate::apply`]).

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, unbounded};
use lsm::{Store, StoreError};
use types::{CommitPosition, OrderColumn, TableId, TableSchema, VersionRows};

use super::fill::{Fill, FillError, FillReport};
use super::layout::Layout;
use super::{Projection, ProjectionState};
use crate::catalog::{Catalog, TableState};
use crate::source::{Spawner, Stop, Target};

/// The projections that are written to.
pub struct Maintenance {
    store: Arc<Store>,
    catalog: Arc<Catalog>,
    spawner: Spawner,
    stop: Stop,
    maintained: Vec<Maintained>,
    reports: (Sender<FillReport>, Receiver<FillReport>),
    /// Trees that no projection has any more.
    left: Vec<TableId>,
    /// Whether the catalog's projections changed since they were recorded.
    changed: bool,
}

/// A projection that is written to.
struct Maintained {
    name: String,
    table: TableId,
    tree: TableId,
    layout: Layout,
    /// Set when it is not wanted any more.
    gone: Stop,
}

/// Where a projection begins.
pub struct Beginning {
    /// Its name.
    pub name: String,
    /// Its table.
    pub table: TableId,
    /// Its tree, which does not exist yet.
    pub tree: TableId,
    /// What it is ordered by.
    pub order_by: Vec<OrderColumn>,
    /// Everything up to here has come in, and nothing after it.
    pub position: CommitPosition,
}

impl Maintenance {
    /// The catalog's projections; those that are not ready begin again.
    pub fn new(target: &Target) -> Result<Self, StoreError> {
        let mut maintenance = Self {
            store: target.store.clone(),
            catalog: target.catalog.clone(),
            spawner: target.spawner.clone(),
            stop: target.stop.clone(),
            maintained: Vec::new(),
            reports: unbounded(),
            left: Vec::new(),
            changed: false,
        };
        for projection in target.catalog.projections() {
            maintenance.resume(&projection)?;
        }
        Ok(maintenance)
    }

    fn resume(&mut self, projection: &Projection) -> Result<(), StoreError> {
        let Some(entry) = self.catalog.by_id(projection.table) else {
            self.drop(&projection.name);
            return Ok(());
        };
        let is_stopped = matches!(projection.state, ProjectionState::Stopped { .. });
        if is_stopped || entry.state == TableState::Copying {
            return Ok(());
        }
        if let ProjectionState::Ready { tree, .. } = projection.state
            && self.is_sound(tree)
        {
            self.maintain(projection, tree, &entry.schema);
            return Ok(());
        }
        self.begin(Beginning {
            name: projection.name.clone(),
            table: projection.table,
            tree: self.store.next_table(),
            order_by: projection.order_by.to_vec(),
            position: self.store.visible(),
        })
    }

    fn is_sound(&self, tree: TableId) -> bool {
        let snapshot = self.store.pin();
        snapshot.extent(tree, &lsm::KeyRange::all()).is_ok()
    }

    fn maintain(
        &mut self,
        projection: &Projection,
        tree: TableId,
        table: &Arc<TableSchema>,
    ) -> Stop {
        let gone = Stop::new();
        self.maintained.push(Maintained {
            name: projection.name.clone(),
            table: projection.table,
            tree,
            layout: Layout::new(table, &projection.order_by),
            gone: gone.clone(),
        });
        gone
    }

    /// Begins a projection, in place of the one with its name.
    pub fn begin(&mut self, beginning: Beginning) -> Result<(), StoreError> {
        let Beginning {
            name,
            table,
            tree,
            order_by,
            position,
        } = beginning;
        // A reshape that was told to stop has not come to its end: the next start does both again.
        let Some(entry) = self.catalog.by_id(table) else {
            return Ok(());
        };
        self.let_go(&name);
        let layout = Layout::new(&entry.schema, &order_by);
        let hold = self.store.hold_history();
        let schema = TableSchema::clone(layout.schema());
        self.store.create_table(tree, schema)?;
        let projection = Projection {
            name,
            table,
            order_by: order_by.into(),
            state: ProjectionState::Filling { tree },
        };
        tracing::info!(projection = projection.name, table = %entry.schema.name, %position, "filling");
        let fill = Fill {
            store: self.store.clone(),
            hold,
            snapshot: self.store.pin_ingested(position.max(self.store.visible())),
            table,
            tree,
            layout,
            reports: self.reports.0.clone(),
            stop: self.stop.clone(),
            gone: self.maintain(&projection, tree, &entry.schema),
        };
        self.set(projection);
        (self.spawner)("projection", Box::new(move || fill.run()));
        Ok(())
    }

    /// Puts a table's versions into its projections.
    pub fn ingest(&mut self, table: TableId, rows: &VersionRows) -> Result<(), StoreError> {
        let mut stopped = Vec::new();
        for maintained in self.maintained.iter().filter(|each| each.table == table) {
            let fault = match maintained.layout.versions(rows) {
                Ok(rows) => match self.store.ingest(maintained.tree, rows) {
                    Ok(()) => continue,
                    Err(error @ StoreError::RowTooLong { .. }) => error.to_string(),
                    Err(error) => return Err(error),
                },
                Err(error) => error.to_string(),
            };
            stopped.push((maintained.name.clone(), fault));
        }
        let least = rows.positions.iter().min().copied().unwrap_or_default();
        let before = CommitPosition(least.saturating_sub(1));
        for (name, reason) in stopped {
            self.stop(&name, before, reason);
        }
        Ok(())
    }

    /// Everything older than `position` is gone from a table.
    pub fn truncate(&self, table: TableId, position: CommitPosition) -> Result<(), StoreError> {
        let mut of_table = self.maintained.iter().filter(|each| each.table == table);
        of_table.try_for_each(|each| self.store.truncate(each.tree, position))
    }

    /// A projection cannot be carried beyond `position`.
    pub fn stop(&mut self, name: &str, position: CommitPosition, reason: String) {
        let Some(projection) = self.catalog.projection(name) else {
            return;
        };
        tracing::error!(projection = name, %position, reason, "projection stopped");
        self.let_go(name);
        self.set(Projection {
            state: ProjectionState::Stopped { position, reason },
            ..Projection::clone(&projection)
        });
    }

    /// A projection is not wanted any more.
    pub fn drop(&mut self, name: &str) {
        self.let_go(name);
        self.catalog.remove_projection(name);
        self.changed = true;
    }

    /// Another tree has taken the place of a table's; its projections wait until they begin again.
    pub fn table_replaced(&mut self, table: TableId, by: Option<(TableId, &TableSchema)>) {
        let Some(before) = self.store.schema(table) else {
            return;
        };
        for projection in self.catalog.projections_of(table) {
            let moved = by.and_then(|(by, schema)| projection.moved(&before, by, schema));
            if let Some(moved) = moved {
                self.let_go(&projection.name);
                self.set(moved);
            } else {
                tracing::warn!(
                    projection = projection.name,
                    "dropped with what it was ordered by"
                );
                self.drop(&projection.name);
            }
        }
    }

    /// Takes reports of projections that have been filled.
    pub fn take_reports(&mut self) -> Result<(), StoreError> {
        while let Ok((tree, result)) = self.reports.1.try_recv() {
            let is_of = |each: &&Arc<Projection>| each.tree() == Some(tree);
            let Some(projection) = self.catalog.projections().iter().find(is_of).cloned() else {
                continue;
            };
            match result {
                Ok((rows, since)) => {
                    tracing::info!(projection = projection.name, rows, "projection ready");
                    self.set(Projection {
                        state: ProjectionState::Ready { tree, since },
                        ..Projection::clone(&projection)
                    });
                }
                Err(FillError::Stopped) => {}
                Err(FillError::Store(error @ StoreError::Poisoned(_))) => return Err(error),
                Err(error) => {
                    let reason = format!("it could not be filled: {error}");
                    self.stop(&projection.name, self.store.visible(), reason);
                }
            }
        }
        Ok(())
    }

    /// Takes the trees that no projection has any more.
    pub fn take_left(&mut self) -> Vec<TableId> {
        std::mem::take(&mut self.left)
    }

    /// Whether there is something to record; it counts as recorded then.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    fn set(&mut self, projection: Projection) {
        self.catalog.set_projection(projection);
        self.changed = true;
    }

    /// Writes to it no more, and leaves its tree.
    fn let_go(&mut self, name: &str) {
        let mine = self.maintained.extract_if(.., |each| each.name == name);
        for maintained in mine {
            maintained.gone.set();
        }
        let projection = self.catalog.projection(name);
        self.left.extend(projection.and_then(|each| each.tree()));
    }
}

impl Drop for Maintenance {
    fn drop(&mut self) {
        for maintained in &self.maintained {
            maintained.gone.set();
        }
    }
}
