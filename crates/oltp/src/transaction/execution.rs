//! What each statement does to the tables.

use std::ops::Range;

use super::{Answer, Batch, Found, Tracking, Transaction, Want};
use crate::eviction_chain::ChainKind;
use crate::index::SoughtKey;
use crate::pointer::{EvictedId, Target, TupleId};
use crate::random::Random;
use crate::row_layout::RowBytes;
use crate::schema::{IndexId, TableNumber};
use crate::statement::{Columns, Scan, Statement};
use crate::stop::{Stop, Violation};

/// Rows that a pre-pass notes at most: then it ends, and goes on from there when they have come.
const WANTS_MAX: usize = 1 << 20;

/// Statements that a pre-pass runs at most: a procedure that loops until it finds a row which is on
/// disk ends here.
const PREPASS_STATEMENTS_MAX: usize = 100_000;

impl Transaction<'_> {
    /// Runs what is queued.
    pub fn execute(&mut self) -> Result<Batch<'_>, Stop> {
        self.start_queueing();
        self.work.was_executed = true;
        let statements = std::mem::take(&mut self.work.statements);
        let result = self.run_all(&statements);
        self.work.statements = statements;
        result?;
        Ok(Batch {
            finder: self.finder(),
            tables: self.tables,
            work: self.work,
        })
    }

    fn run_all(&mut self, statements: &[Statement]) -> Result<(), Stop> {
        let reads = |statement: &Statement| {
            matches!(statement, Statement::Get { .. } | Statement::Scan { .. })
        };
        let first_reads = statements.first().is_some_and(reads);
        if statements
            .iter()
            .any(|statement| reads(statement) != first_reads)
        {
            return Err(Violation::MixedBatch.into());
        }
        self.work.is_group = statements.len() > 1;
        for statement in statements {
            self.run(statement)?;
        }
        if first_reads {
            (0..statements.len()).for_each(|answer| self.use_rows(answer));
        }
        Ok(())
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
            Statement::Insert { table, row } => self.run_insert(*table, row),
            Statement::Update {
                index,
                key,
                changes,
            } => self.run_update(*index, key, changes),
            Statement::UpdateRow { table, id, changes } => {
                self.run_on_row(*table, *id, |transaction| {
                    transaction.update_row_at(*table, *id, changes)
                })
            }
            Statement::Delete { index, key } => self.run_delete(*index, key),
            Statement::DeleteRow { table, id } => self.run_on_row(*table, *id, |transaction| {
                transaction.delete_row_at(*table, *id);
                Ok(())
            }),
        }
    }

    #[inline]
    fn run_get(&mut self, index: IndexId, key: &SoughtKey, columns: Columns) -> Result<(), Stop> {
        let work = &mut *self.work;
        let start = work.found.len();
        let of_table = &self.tables[usize::from(index.table.0)].indexes[usize::from(index.index)];
        let key = key.of(&work.bytes);
        let (keys, found) = (&mut work.found_keys, &mut work.found);
        if of_table.is_unique {
            if let Some(pointer) = of_table.first(key) {
                found.push(Found::new(pointer, keys, |keys| {
                    let append = |key: &[u8]| keys.extend_from_slice(key);
                    of_table.layout.with_encoded(key, append);
                }));
            }
        } else {
            of_table.each_equal(key, |key, pointer| {
                found.push(Found::new(pointer, keys, |keys| {
                    keys.extend_from_slice(key)
                }));
            });
        }
        self.use_found(index, start, columns)
    }

    fn run_scan(
        &mut self,
        index: IndexId,
        from: &SoughtKey,
        to: &SoughtKey,
        options: Scan,
    ) -> Result<(), Stop> {
        let work = &mut *self.work;
        let start = work.found.len();
        let of_table = &self.tables[usize::from(index.table.0)].indexes[usize::from(index.index)];
        let (from, to) = (from.of(&work.bytes), to.of(&work.bytes));
        let (keys, found) = (&mut work.found_keys, &mut work.found);
        if options.rows_max > 0 {
            of_table.scan(from, to, options.direction, |key, pointer| {
                found.push(Found::new(pointer, keys, |keys| {
                    keys.extend_from_slice(key)
                }));
                found.len() - start < options.rows_max
            });
        }
        self.use_found(index, start, options.columns)
    }

    /// Notes that what was found from `start` on is used.
    fn use_found(&mut self, index: IndexId, start: usize, columns: Columns) -> Result<(), Stop> {
        let is_key_enough = columns == Columns::OfKey && !self.reads_whole_rows;
        let is_group = self.work.is_group || self.work.found.len() > start + 1;
        for at in start..self.work.found.len() {
            let pointer = self.work.found[at].pointer;
            match pointer.target() {
                Target::Memory(id) if is_group => {
                    self.tables[usize::from(index.table.0)].prefetch_row(id);
                }
                Target::Memory(_) => {}
                Target::Evicted(_) if is_key_enough => {}
                Target::Evicted(id) => {
                    if let Some(id) = self.want(index.table, id)? {
                        self.work.found[at].pointer = id.into();
                    }
                }
            }
        }
        let found = start..self.work.found.len();
        self.work.answers.push(Answer {
            index,
            found,
            columns,
        });
        Ok(())
    }

    /// Notes that the rows of an answer were used, and asks for their texts if they are wanted. By now the rows themselves
    /// have come, all of the batch.
    fn use_rows(&mut self, answer: usize) {
        let Answer {
            index,
            ref found,
            columns,
        } = self.work.answers[answer];
        // Of one row they are wanted at once: asking for them cost a tenth of a read.
        let asks_for_texts = columns == Columns::All && self.work.found.len() > 1;
        let table = &mut self.tables[usize::from(index.table.0)];
        let has_chain = table.chain.kind() != ChainKind::None;
        for found in &self.work.found[found.clone()] {
            let Target::Memory(id) = found.pointer.target() else {
                continue;
            };
            table.note_use(id);
            if asks_for_texts {
                table.prefetch_text(id);
            }
            if has_chain {
                if is_tracked(self.tracking, &mut self.chance) {
                    table.touch(id);
                }
                self.work.used.push((index.table, id));
            }
        }
    }

    /// Notes that an evicted row is needed, or brings it back at once.
    fn want(&mut self, table: TableNumber, id: EvictedId) -> Result<Option<TupleId>, Stop> {
        let of_table = &mut self.tables[usize::from(table.0)];
        of_table.uses += 1;
        if let Some(fetch) = &mut self.fetch {
            return fetch.fetch_now(of_table, id).map(Some);
        }
        if self.work.wants.len() == WANTS_MAX {
            return Err(Stop::Evicted);
        }
        let place = of_table.evicted.get(id);
        self.work.wants.push(Want { table, place });
        Ok(None)
    }

    fn run_insert(&mut self, table: TableNumber, row: &Range<usize>) -> Result<(), Stop> {
        let of_table = &mut self.tables[usize::from(table.0)];
        let (body, text) = self.work.bytes[row.clone()].split_at(of_table.layout.body_bytes());
        let row = RowBytes { body, text };
        let id = of_table.insert(row)?;
        self.work.undo.inserted(table, id);
        self.answer(IndexId { table, index: 0 }, 1);
        Ok(())
    }

    fn run_update(
        &mut self,
        index: IndexId,
        key: &SoughtKey,
        changes: &Range<usize>,
    ) -> Result<(), Stop> {
        self.find_targets(index, key)?;
        for at in 0..self.work.targets.len() {
            self.update_row_at(index.table, self.work.targets[at], changes)?;
        }
        self.answer(index, self.work.targets.len());
        Ok(())
    }

    fn update_row_at(
        &mut self,
        number: TableNumber,
        id: TupleId,
        changes: &Range<usize>,
    ) -> Result<(), Stop> {
        let work = &mut *self.work;
        let table = &mut self.tables[usize::from(number.0)];
        let changes = &work.changes[changes.clone()];
        if table.is_patchable(id, changes) {
            let mut undo = work.undo.of_row(number, id);
            table.patch(id, changes, &work.bytes, &mut undo);
            return Ok(());
        }
        let row = table.row(id);
        work.undo.replaced(number, id, row);
        work.row.copy(row);
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

    fn run_delete(&mut self, index: IndexId, key: &SoughtKey) -> Result<(), Stop> {
        self.find_targets(index, key)?;
        for at in 0..self.work.targets.len() {
            self.delete_row_at(index.table, self.work.targets[at]);
        }
        self.answer(index, self.work.targets.len());
        Ok(())
    }

    fn delete_row_at(&mut self, table: TableNumber, id: TupleId) {
        self.tables[usize::from(table.0)].detach(id);
        self.work.undo.deleted(table, id);
    }

    /// Runs a statement on a row that was found, unless it has been deleted since.
    fn run_on_row(
        &mut self,
        table: TableNumber,
        id: TupleId,
        change: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let is_live = self.tables[usize::from(table.0)].is_live(id);
        if is_live {
            change(self)?;
        }
        self.answer(IndexId { table, index: 0 }, usize::from(is_live));
        Ok(())
    }

    /// Leaves in `targets` the rows in memory that a statement changes; evicted ones are noted.
    fn find_targets(&mut self, index: IndexId, key: &SoughtKey) -> Result<(), Stop> {
        self.work.targets.clear();
        let start = self.work.found.len();
        self.run_get(index, key, Columns::Numbers)?;
        self.use_rows(self.work.answers.len() - 1);
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
            columns: Columns::Numbers,
        });
    }
}

#[inline]
fn is_tracked(tracking: Tracking, chance: &mut Random) -> bool {
    match tracking {
        Tracking::All(is_tracked) => is_tracked,
        Tracking::Each(alpha) => chance.unit() < alpha,
    }
}
