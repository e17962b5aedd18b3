//! Which damaged tables are to be copied again, and when.
//!
//! A read that meets damage fails, and the store remembers it (`lsm::Store::damaged_tables`). The source has all
//! rows, so the table is copied again by itself, as if somebody had asked for it. Damage in the tree of a
//! projection is its table's.
//!
//! A disk that damages whatever is written to it must not have its tables copied without end: after a repair a
//! table rests for a while.
//!
//! Does not: look for damage that nobody has met (`hedgerow verify` reads everything).

use std::collections::HashMap;
use std::time::Duration;

use lsm::{Store, StoreError};
use types::TableId;

use crate::catalog::{Catalog, TableState};

/// How often the store is asked: a table is refused until its damage is known here.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// How long a table that was repaired is left alone.
const REST: Duration = Duration::from_secs(600);

/// When which table was repaired.
#[derive(Debug, Default)]
pub struct Repairs {
    looked_at: Duration,
    /// By the names of tables: their trees are others after each repair.
    begun_at: HashMap<String, Duration>,
}

impl Repairs {
    /// The trees of tables that are to be repaired now, by the monotonic clock, and what damage was met.
    pub fn due(
        &mut self,
        now: Duration,
        store: &Store,
        catalog: &Catalog,
    ) -> Vec<(TableId, StoreError)> {
        if now - self.looked_at < LOOK_INTERVAL {
            return Vec::new();
        }
        self.looked_at = now;
        let mut due = Vec::new();
        for (tree, damage) in store.damaged_tables() {
            let projections = catalog.projections();
            let projection = projections.iter().find(|each| each.tree() == Some(tree));
            let table = projection.map_or(tree, |projection| projection.table);
            let Some(entry) = catalog.by_id(table) else {
                continue;
            };
            let is_live = entry.state == TableState::Live;
            if is_live && self.may_begin(entry.schema.name.to_string(), now) {
                due.push((table, damage));
            }
        }
        due
    }

    /// Whether a table has rested, and begins a new rest if it has.
    fn may_begin(&mut self, table: String, now: Duration) -> bool {
        let rested = |begun_at: &Duration| now - *begun_at >= REST;
        let may = self.begun_at.get(&table).is_none_or(rested);
        if may {
            self.begun_at.insert(table, now);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repaired_table_rests() {
        let mut repairs = Repairs::default();
        let mut may = |table: &str, seconds| {
            repairs.may_begin(table.to_owned(), Duration::from_secs(seconds))
        };
        assert!(may("public.a", 5));
        assert!(!may("public.a", 6) && may("public.b", 6));
        assert!(!may("public.a", 604));
        assert!(may("public.a", 605));
        assert!(!may("public.a", 1000) && may("public.b", 1000));
    }
}
