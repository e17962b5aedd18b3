//! `hedgerow.projections`

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use lsm::TableStats;
use replication::catalog::TableEntry;
use replication::projection::{Projection, ProjectionState};

use super::{bigint, optional_text, text};
use crate::engine::Engine;

/// A projection, its table and what its tree tells.
struct Shown {
    projection: Arc<Projection>,
    table: Arc<TableEntry>,
    stats: Option<TableStats>,
}

impl Shown {
    fn columns(&self) -> String {
        let columns = &self.table.schema.columns;
        let order_by = self.projection.order_by.iter();
        let names: Vec<&str> = order_by
            .map(|each| columns[each.column].name.as_str())
            .collect();
        names.join(", ")
    }

    fn state(&self) -> &'static str {
        match self.projection.state {
            ProjectionState::Waiting => "waiting",
            ProjectionState::Filling { .. } => "filling",
            ProjectionState::Ready { .. } => "ready",
            ProjectionState::Stopped { .. } => "stopped",
        }
    }

    fn reason(&self) -> Option<String> {
        match &self.projection.state {
            ProjectionState::Waiting => Some("its table is being copied".to_owned()),
            ProjectionState::Stopped { position, reason } => {
                Some(format!("{reason} (it equals its table up to {position})"))
            }
            ProjectionState::Filling { .. } | ProjectionState::Ready { .. } => None,
        }
    }

    fn since(&self) -> Option<String> {
        match self.projection.state {
            ProjectionState::Ready { since, .. } => Some(since.to_string()),
            _ => None,
        }
    }
}

pub(super) fn rows(engine: &Engine) -> Vec<ArrayRef> {
    let shown = |projection: Arc<Projection>| {
        Some(Shown {
            table: engine.catalog.by_id(projection.table)?,
            stats: projection
                .tree()
                .and_then(|tree| engine.store.table_stats(tree)),
            projection,
        })
    };
    let projections = engine.catalog.projections().into_iter();
    let shown: Vec<Shown> = projections.filter_map(shown).collect();
    let each = || shown.iter();
    let number =
        |of: fn(&TableStats) -> u64| bigint(each().map(move |each| each.stats.as_ref().map(of)));
    vec![
        text(each().map(|each| &each.projection.name)),
        text(each().map(|each| &each.table.schema.name.schema)),
        text(each().map(|each| &each.table.schema.name.name)),
        text(each().map(Shown::columns)),
        text(each().map(Shown::state)),
        optional_text(each().map(Shown::reason)),
        optional_text(each().map(Shown::since)),
        number(|stats| stats.versions),
        number(|stats| stats.bytes_on_disk),
        number(|stats| stats.bytes_in_memory),
    ]
}
