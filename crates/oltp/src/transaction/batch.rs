//! What a batch has found.

use super::{StatementNumber, Workspace};
use crate::row::{Finder, Row};
use crate::table::Table;

/// What a batch has found. Rows are shown where they are.
pub struct Batch<'t> {
    pub(super) tables: &'t [Table],
    pub(super) work: &'t Workspace,
    pub(super) finder: Finder,
}

impl<'t> Batch<'t> {
    /// Rows that the statement found or changed. An evicted row that was to be changed does not count.
    pub fn count(&self, statement: StatementNumber) -> usize {
        self.work.answers[statement.0].found.len()
    }

    /// The rows that a reading statement found: of a scan in its order, of a key in no order.
    pub fn rows(&self, statement: StatementNumber) -> impl Iterator<Item = Row<'t>> + use<'t> {
        let (tables, work, finder) = (self.tables, self.work, self.finder);
        let answer = &work.answers[statement.0];
        let table = &tables[usize::from(answer.index.table.0)];
        work.found[answer.found.clone()].iter().map(move |found| {
            let key = &work.found_keys[found.key.clone()];
            Row::new(table, answer.index.index, key, found.pointer, finder)
        })
    }

    /// The first row that a reading statement found.
    #[inline]
    pub fn row(&self, statement: StatementNumber) -> Option<Row<'t>> {
        self.rows(statement).next()
    }
}
