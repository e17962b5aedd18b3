//! What each statement does to the tables.

use std::ops::Range;

use super::{Answer, Batch, Found, Tracking, Transaction, Want};
use crate::pointer::{EvictedId, Target, TupleId};
use crate::row_layout::RowBytes;
use crate::schema::{IndexId, TableNumber};
use crate::statement::{Columns, Scan, Statement};
use crate::stop::{Stop, Violation};

/// Statements that a pre-pass runs at most: a procedure that loops until it finds a row which is on
/// disk ends here.
const PREPASS_STATEMENTS_MAX: usize = 100_000;

impl Transaction<'_> {
    /// Runs what is queued.
    pub fn execute(&mut self) -> Result<Batch<'_>, Stop> {
        self.start_queueing();
        self.work.was_executed = true;
        let statements = std::mem::take(&mut self.work.statements);
        let reads = |statement: &Statement| {
            matches!(statement, Statement::Get { .. } | Statement::Scan { .. })
        };
        let result = if statements.iter().any(reads) && !statements.iter().all(reads) {
            Err(Violation::MixedBatch.into())
        } else {
            statements
                .iter()
                .try_for_each(|statement| self.run(statement))
        };
        self.work.statements = statements;
        result?;
        Ok(Batch {
            tables: self.tables,
            work: self.work,
        })
    }

    fn run(&mut self, statement: &Statement) -> Result<(), Stop> {
        if !self.work.wants.is_empty() {
            self.work.prepass_statements += 1;
            if self.work.prepass_statements > PREPASS_STATEMENTS_MAX {
                return Err(Stop::Evicted);
            }
        }
        match statement {
            Statement::Get {
                index,
                key,
                columns,
            } => self.run_get(*index, key, *columns),
            Statement::Scan {
                index,
                from,
                to,
                options,
            } => self.run_scan(*index, from, to, *options),
            Statement::Insert { table, body, text } => self.run_insert(*table, body, text),
            Statement::Update {
                index,
                key,
                changes,
            } => self.run_update(*index, key, changes),
            Statement::Delete { index, key } => self.run_delete(*index, key),
        }
    }

    #[inline]
    fn run_get(
        &mut self,
        index: IndexId,
        key: &Range<usize>,
        columns: Columns,
    ) -> Result<(), Stop> {
        let start = self.work.found.len();
        let of_table = &self.tables[usize::from(index.table.0)].indexes[usize::from(index.index)];
        let (bytes, found) = (&mut self.work.bytes, &mut self.work.found);
        if of_table.is_unique {
            let pointer = of_table.first(&bytes[key.clone()]);
            let key = key.clone();
            found.extend(pointer.map(|pointer| Found { pointer, key }));
        } else {
            let looked_for = bytes[key.clone()].to_vec();
            of_table.each_equal(&looked_for, |key, pointer| {
                found.push(Found::new(key, pointer, bytes));
            });
        }
        self.use_found(index, start, columns)
    }

    fn run_scan(
        &mut self,
        index: IndexId,
        from: &Range<usize>,
        to: &Range<usize>,
        options: Scan,
    ) -> Result<(), Stop> {
        let start = self.work.found.len();
        let of_table = &self.tables[usize::from(index.table.0)].indexes[usize::from(index.index)];
        let (from, to) = (
            self.work.bytes[from.clone()].to_vec(),
            self.work.bytes[to.clone()].to_vec(),
        );
        let (bytes, found) = (&mut self.work.bytes, &mut self.work.found);
        if options.rows_max > 0 {
            of_table.scan(&from, &to, options.direction, |key, pointer| {
                found.push(Found::new(key, pointer, bytes));
                found.len() - start < options.rows_max
            });
        }
        self.use_found(index, start, options.columns)
    }

    /// Notes that what was found from `start` on is used.
    fn use_found(&mut self, index: IndexId, start: usize, columns: Columns) -> Result<(), Stop> {
        let is_key_enough = columns == Columns::OfKey && !self.reads_whole_rows;
        for at in start..self.work.found.len() {
            let pointer = self.work.found[at].pointer;
            match pointer.target() {
                Target::Memory(id) => self.use_row(index.table, id),
                Target::Evicted(_) if is_key_enough => {}
                Target::Evicted(id) => {
                    if let Some(id) = self.want(index.table, id)? {
                        self.work.found[at].pointer = id.into();
                    }
                }
            }
        }
        let found = start..self.work.found.len();
        self.work.answers.push(Answer { index, found });
        Ok(())
    }

    #[inline]
    fn use_row(&mut self, table: TableNumber, id: TupleId) {
        let is_tracked = match self.tracking {
            Tracking::All(is_tracked) => is_tracked,
            Tracking::Each(alpha) => self.chance.unit() < alpha,
        };
        let of_table = &mut self.tables[usize::from(table.0)];
        of_table.accesses += 1;
        if is_tracked {
            of_table.touch(id);
        }
        self.work.used.push((table, id));
    }

    /// Notes that an evicted row is needed, or brings it back at once.
    fn want(&mut self, table: TableNumber, id: EvictedId) -> Result<Option<TupleId>, Stop> {
        let of_table = &mut self.tables[usize::from(table.0)];
        of_table.accesses += 1;
        if let Some(fetch) = &mut self.fetch {
            return fetch.fetch_now(of_table, id).map(Some);
        }
        let place = of_table.evicted.get(id);
        self.work.wants.push(Want { table, place });
        Ok(None)
    }

    fn run_insert(
        &mut self,
        table: TableNumber,
        body: &Range<usize>,
        text: &Range<usize>,
    ) -> Result<(), Stop> {
        let row = RowBytes {
            body: &self.work.bytes[body.clone()],
            text: &self.work.bytes[text.clone()],
        };
        let of_table = &mut self.tables[usize::from(table.0)];
        let id = of_table.insert(row)?;
        of_table.accesses += 1;
        self.work.undo.inserted(table, id);
        self.answer(IndexId { table, index: 0 }, 1);
        Ok(())
    }

    fn run_update(
        &mut self,
        index: IndexId,
        key: &Range<usize>,
        changes: &Range<usize>,
    ) -> Result<(), Stop> {
        self.find_targets(index, key)?;
        for at in 0..self.work.targets.len() {
            self.update_row(index.table, self.work.targets[at], changes)?;
        }
        self.answer(index, self.work.targets.len());
        Ok(())
    }

    fn update_row(
        &mut self,
        number: TableNumber,
        id: TupleId,
        changes: &Range<usize>,
    ) -> Result<(), Stop> {
        let work = &mut *self.work;
        let table = &mut self.tables[usize::from(number.0)];
        let row = table.row(id);
        work.undo.replaced(number, id, row);
        work.row.copy(row);
        let changes = &work.changes[changes.clone()];
        let replaced = changes
            .iter()
            .try_for_each(|change| {
                let value = change.value(&work.bytes);
                table.layout.change(&mut work.row, change.column, &value)
            })
            .and_then(|()| {
                let columns = changes.iter().map(|change| change.column);
                table.replace(id, &mut work.old, work.row.bytes(), columns)
            });
        if replaced.is_err() {
            work.undo.forget_last();
        }
        Ok(replaced?)
    }

    fn run_delete(&mut self, index: IndexId, key: &Range<usize>) -> Result<(), Stop> {
        self.find_targets(index, key)?;
        for &id in &self.work.targets {
            let table = &mut self.tables[usize::from(index.table.0)];
            table.detach(id, &mut self.work.row);
            self.work.undo.deleted(index.table, id);
        }
        self.answer(index, self.work.targets.len());
        Ok(())
    }

    /// Leaves in `targets` the rows in memory that a statement changes; evicted ones are noted.
    fn find_targets(&mut self, index: IndexId, key: &Range<usize>) -> Result<(), Stop> {
        self.work.targets.clear();
        let start = self.work.found.len();
        self.run_get(index, key, Columns::All)?;
        self.work.answers.pop();
        let found = self.work.found.drain(start..);
        let in_memory = found.filter_map(|found| match found.pointer.target() {
            Target::Memory(id) => Some(id),
            Target::Evicted(_) => None,
        });
        self.work.targets.extend(in_memory);
        Ok(())
    }

    fn answer(&mut self, index: IndexId, rows: usize) {
        self.work.answers.push(Answer {
            index,
            found: 0..rows,
        });
    }
}
