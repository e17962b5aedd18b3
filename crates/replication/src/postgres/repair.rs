//! Which damaged tables are to be copied again, and when.
//!
//! A read that meets damage fails, and the store remembers it (`lsm::Store::damaged_tables`). The source has all
//! rows, so the table is copied again by itself, as if somebody had asked for it. Damage in the tree of a
//! projection is its table's.
//!
//! A disk that damages whatever is written to it must not have its tables copied without end: a table whose new
//! tree is damaged, too, rests for a while. While the tree is the same, the repair has not begun (the connection was
//! lost, say), and is tried again.
//!
//! Does not: look for damage that nobody has met (`hedgerow verify` reads everything).

use std::collections::HashMap;
use std::time::Duration;

use lsm::{Store, StoreError};
use types::{TableId, TableName};

use crate::catalog::{Catalog, TableState};

/// How often the store is asked: a table is refused until its damage is known here.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// How long a table that was repaired is left alone.
const REST: Duration = Duration::from_secs(600);
/// A repair that has not begun by then is tried again.
const RETRY: Duration = Duration::from_secs(20);

/// Which tables were repaired.
#[derive(Debug, Default)]
pub struct Repairs {
    looked_at: Duration,
    /// The last one of each table, which has another tree after it.
    last: HashMap<TableName, Repair>,
}

/// A table's repair.
#[derive(Debug)]
struct Repair {
    /// The tree that was damaged.
    tree: TableId,
    ordered_at: Duration,
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
            if is_live && self.may_begin(&entry.schema.name, table, now) {
                due.push((table, damage));
            }
        }
        due
    }

    /// Whether the damaged tree of a table is to be replaced now; if so, it is remembered.
    fn may_begin(&mut self, name: &TableName, tree: TableId, now: Duration) -> bool {
        let is_over = |last: &Repair| {
            let pause = if last.tree == tree { RETRY } else { REST };
            now - last.ordered_at >= pause
        };
        let may = self.last.get(name).is_none_or(is_over);
        if may {
            let ordered_at = now;
            self.last.insert(name.clone(), Repair { tree, ordered_at });
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a table's damaged tree may be replaced after so many seconds.
    fn asker() -> impl FnMut(&str, u32, u64) -> bool {
        let mut repairs = Repairs::default();
        move |table, tree, seconds| {
            let name = TableName {
                schema: "public".to_owned(),
                name: table.to_owned(),
            };
            repairs.may_begin(&name, TableId(tree), Duration::from_secs(seconds))
        }
    }

    #[test]
    fn a_repaired_table_rests() {
        let mut may = asker();
        assert!(may("a", 1, 5));
        assert!(!may("a", 3, 6) && may("b", 2, 6));
        assert!(!may("a", 3, 604));
        assert!(may("a", 3, 605));
        assert!(!may("a", 4, 1000) && may("b", 5, 1000));
    }

    #[test]
    fn a_repair_that_has_not_begun_is_tried_again() {
        let mut may = asker();
        assert!(may("a", 1, 5));
        assert!(!may("a", 1, 24));
        assert!(may("a", 1, 25));
    }
}
