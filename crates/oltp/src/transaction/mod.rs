//! A transaction: queues statements, runs them in batches, and notes what it would need from disk.
//!
//! 1. Statements are queued; their arguments are checked and copied into one buffer. What a look-up in a hash
//!    index begins with is asked for already (*group prefetching*): the look-ups of a batch wait for
//!    memory together, and so do the rows that they find, and then the texts of these.
//! 2. [`Transaction::execute`] runs them in order. A batch that reads shows rows where they are, so
//!    nothing is copied, and the same batch must not write.
//! 3. A statement that meets an evicted row notes its place and goes on: the transaction is in its
//!    *pre-pass* (Anti-Caching, section 3.3). It ends when the procedure does, or asks for a value
//!    that is on disk. Whatever it has changed is rolled back then.
//!
//! In a pre-pass answers may lack rows, so what the procedure returns counts for nothing.
//!
//! A transaction on several partitions has such a transaction on each, which [`Transaction::on`] gives.
//!
//! * [`execution`]: what each statement does; [`batch`]: what was found.

mod batch;
mod execution;

use std::ops::Range;

use types::Value;

use crate::evicted_entries::BlockPlace;
use crate::index::SoughtKey;
use crate::partition_set::{PartitionNumber, PartitionPlace};
use crate::pointer::{EvictedId, Pointer, Target, TupleId};
use crate::procedure::find_index;
use crate::random::Random;
use crate::row::{Finder, RowHandle};
use crate::row_layout::RowBuffer;
use crate::schema::{ColumnNumber, IndexId, TableNumber};
use crate::statement::{CellChange, Columns, Scan, Statement};
use crate::stop::{Stop, Violation};
use crate::table::Table;
use crate::undo::UndoLog;
pub use batch::Batch;

/// An evicted row that a transaction needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Want {
    pub(crate) table: TableNumber,
    pub(crate) place: BlockPlace,
}

/// Brings an evicted row back while its transaction waits; used when restarts lead nowhere.
pub(crate) trait FetchNow {
    fn fetch_now(&mut self, table: &mut Table, id: EvictedId) -> Result<TupleId, Stop>;
}

/// What does not change when a transaction runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Circumstances {
    pub(crate) number: u64,
    pub(crate) time_us: i64,
}

/// Which accesses move rows to the young end of their chains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tracking {
    /// All of this transaction, or none.
    All(bool),
    /// Each access with this probability.
    Each(f64),
}

/// Bytes of buffers that are kept for the next transaction.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// Buffers that transactions use one after another.
#[derive(Default)]
pub(crate) struct Workspace {
    pub(crate) undo: UndoLog,
    pub(crate) wants: Vec<Want>,
    /// Rows in memory that were used, for the case of a restart.
    pub(crate) used: Vec<(TableNumber, TupleId)>,
    pub(crate) row: RowBuffer,
    old: RowBuffer,
    statements: Vec<Statement>,
    changes: Vec<CellChange>,
    /// Arguments of statements.
    bytes: Vec<u8>,
    found: Vec<Found>,
    /// Keys of evicted rows that were found.
    found_keys: Vec<u8>,
    answers: Vec<Answer>,
    targets: Vec<TupleId>,
    was_executed: bool,
    /// Whether the batch has several statements.
    is_group: bool,
    prepass_statements: usize,
}

#[derive(Clone)]
struct Found {
    pointer: Pointer,
    key: Range<usize>,
}

impl Found {
    /// Keeps the key, which of an evicted row is all there is.
    #[inline]
    fn new(pointer: Pointer, keys: &mut Vec<u8>, append_key: impl FnOnce(&mut Vec<u8>)) -> Self {
        let start = keys.len();
        if matches!(pointer.target(), Target::Evicted(_)) {
            append_key(keys);
        }
        let key = start..keys.len();
        Self { pointer, key }
    }
}

/// What a statement found, or the number of rows that it changed.
struct Answer {
    index: IndexId,
    found: Range<usize>,
    columns: Columns,
}

/// See the module.
pub struct Transaction<'p> {
    place: PartitionPlace,
    /// The same transaction on the other partitions that the call names.
    others: Vec<Transaction<'p>>,
    tables: &'p mut [Table],
    work: &'p mut Workspace,
    circumstances: Circumstances,
    random: Random,
    tracking: Tracking,
    chance: Random,
    fetch: Option<&'p mut dyn FetchNow>,
    reads_whole_rows: bool,
}

/// A queued statement: its number in the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementNumber(usize);

impl Workspace {
    /// Bytes that it holds.
    pub(crate) fn held_bytes(&self) -> usize {
        self.undo.held_bytes()
            + self.row.held_bytes()
            + self.old.held_bytes()
            + self.bytes.capacity()
            + self.wants.capacity() * size_of::<Want>()
            + self.used.capacity() * size_of::<(TableNumber, TupleId)>()
            + self.statements.capacity() * size_of::<Statement>()
            + self.changes.capacity() * size_of::<CellChange>()
            + self.found.capacity() * size_of::<Found>()
            + self.found_keys.capacity()
            + self.answers.capacity() * size_of::<Answer>()
            + self.targets.capacity() * size_of::<TupleId>()
    }

    /// Lets go, between two transactions, of what only a large one needs. Otherwise it would count as
    /// memory in use for good, and leave the rows too little.
    pub(crate) fn trim(&mut self) {
        debug_assert!(self.undo.is_empty(), "the last transaction has ended");
        if self.held_bytes() > KEPT_BYTES_MAX {
            *self = Self::default();
        }
    }

    /// Wants the evicted rows of which the last batch has found the keys.
    pub(crate) fn want_found(&mut self, tables: &[Table]) {
        for answer in &self.answers {
            let table = answer.index.table;
            // Of a batch that writes there is none.
            let found = self.found.get(answer.found.clone()).unwrap_or_default();
            for found in found {
                if let Target::Evicted(id) = found.pointer.target() {
                    let place = tables[usize::from(table.0)].evicted.get(id);
                    self.wants.push(Want { table, place });
                }
            }
        }
    }

    fn begin(&mut self) {
        debug_assert!(self.undo.is_empty(), "the last transaction has ended");
        self.wants.clear();
        self.used.clear();
        self.prepass_statements = 0;
        self.clear_batch();
    }

    fn clear_batch(&mut self) {
        self.statements.clear();
        self.changes.clear();
        self.bytes.clear();
        self.found.clear();
        self.found_keys.clear();
        self.answers.clear();
        self.was_executed = false;
    }
}

impl<'p> Transaction<'p> {
    pub(crate) fn begin(
        place: PartitionPlace,
        tables: &'p mut [Table],
        work: &'p mut Workspace,
        circumstances: Circumstances,
        tracking: Tracking,
        fetch: Option<&'p mut dyn FetchNow>,
    ) -> Self {
        work.begin();
        Self {
            place,
            others: Vec::new(),
            tables,
            work,
            random: Random::new(circumstances.number),
            chance: Random::new(!circumstances.number),
            circumstances,
            tracking,
            fetch,
            reads_whole_rows: false,
        }
    }

    /// The same, for which no key stands for an evicted row.
    #[must_use]
    pub(crate) fn with_whole_rows(mut self) -> Self {
        self.reads_whole_rows = true;
        self
    }

    /// The same transaction on other partitions.
    pub(crate) fn join(&mut self, others: impl Iterator<Item = Self>) {
        self.others.extend(others);
    }

    /// The transaction on a partition that the call names. What it queues and finds there is its own;
    /// its time, its number and its end are those of all.
    #[inline]
    pub fn on(&mut self, partition: PartitionNumber) -> Result<&mut Self, Stop> {
        if partition == self.place.number {
            return Ok(self);
        }
        let mut others = self.others.iter_mut();
        let found = others.find(|other| other.place.number == partition);
        found.ok_or_else(|| Violation::NotNamed { partition }.into())
    }

    /// How many partitions there are.
    pub fn partitions(&self) -> u16 {
        self.place.partitions
    }

    /// Microseconds since 1970-01-01 UTC: the same for the whole transaction, and when it is replayed.
    pub fn time_us(&self) -> i64 {
        self.circumstances.time_us
    }

    /// The transaction's number, which no other one has, in whatever partition. Later ones of a partition
    /// have larger numbers.
    pub fn number(&self) -> u64 {
        self.circumstances.number
    }

    /// Random numbers that are the same when the transaction is replayed.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// Queues: the rows with this key.
    pub fn get(
        &mut self,
        index: IndexId,
        key: &[Value<'_>],
        columns: Columns,
    ) -> Result<StatementNumber, Stop> {
        let key = self.whole_key(index, key)?;
        Ok(self.queue(Statement::Get {
            index,
            key,
            columns,
        }))
    }

    /// Queues: the rows from one key to another, both included. Keys may be cut short: what begins
    /// like them is within the range.
    pub fn scan(
        &mut self,
        index: IndexId,
        from: &[Value<'_>],
        to: &[Value<'_>],
        options: Scan,
    ) -> Result<StatementNumber, Stop> {
        self.start_queueing();
        if !find_index(self.tables, index)?.is_ordered() {
            return Err(Violation::NotOrdered { index }.into());
        }
        let (from, to) = (self.key(index, from)?, self.key(index, to)?);
        Ok(self.queue(Statement::Scan {
            index,
            from,
            to,
            options,
        }))
    }

    /// Queues: one more row, with a value for each column.
    pub fn insert(
        &mut self,
        table: TableNumber,
        values: &[Value<'_>],
    ) -> Result<StatementNumber, Stop> {
        self.start_queueing();
        let index = IndexId { table, index: 0 };
        find_index(self.tables, index)?;
        let layout = &self.tables[usize::from(table.0)].layout;
        let start = self.work.bytes.len();
        layout.encode(values, &mut self.work.bytes)?;
        let row = start..self.work.bytes.len();
        Ok(self.queue(Statement::Insert { table, row }))
    }

    /// Queues: other cells for the rows with this key.
    pub fn update(
        &mut self,
        index: IndexId,
        key: &[Value<'_>],
        changes: &[(ColumnNumber, Value<'_>)],
    ) -> Result<StatementNumber, Stop> {
        let key = self.whole_key(index, key)?;
        let changes = self.changes(index.table, changes)?;
        Ok(self.queue(Statement::Update {
            index,
            key,
            changes,
        }))
    }

    /// Queues: other cells for a row that this transaction has found. A row that it has deleted since does
    /// not count.
    pub fn update_row(
        &mut self,
        row: RowHandle,
        changes: &[(ColumnNumber, Value<'_>)],
    ) -> Result<StatementNumber, Stop> {
        let RowHandle { table, id, .. } = self.own(row)?;
        let changes = self.changes(table, changes)?;
        Ok(self.queue(Statement::UpdateRow { table, id, changes }))
    }

    /// Queues: no more rows with this key.
    pub fn delete(&mut self, index: IndexId, key: &[Value<'_>]) -> Result<StatementNumber, Stop> {
        let key = self.whole_key(index, key)?;
        Ok(self.queue(Statement::Delete { index, key }))
    }

    /// Queues: a row that this transaction has found goes. One that it has deleted since does not count.
    pub fn delete_row(&mut self, row: RowHandle) -> Result<StatementNumber, Stop> {
        let RowHandle { table, id, .. } = self.own(row)?;
        Ok(self.queue(Statement::DeleteRow { table, id }))
    }

    /// The row, if this side of the transaction has found it.
    fn own(&mut self, row: RowHandle) -> Result<RowHandle, Violation> {
        self.start_queueing();
        if row.finder == self.finder() {
            Ok(row)
        } else {
            Err(Violation::FoundElsewhere)
        }
    }

    fn finder(&self) -> Finder {
        Finder {
            transaction: self.circumstances.number,
            partition: self.place.number,
        }
    }

    /// Checks changes and keeps their values: their place.
    fn changes(
        &mut self,
        table: TableNumber,
        changes: &[(ColumnNumber, Value<'_>)],
    ) -> Result<Range<usize>, Violation> {
        let table = &self.tables[usize::from(table.0)];
        let start = self.work.changes.len();
        for (column, value) in changes {
            table.layout.check(*column, value)?;
            let column_type = table.definition.columns[*column].column_type;
            let change = CellChange::new(*column, column_type, value, &mut self.work.bytes);
            self.work.changes.push(change);
        }
        Ok(start..self.work.changes.len())
    }

    fn start_queueing(&mut self) {
        if self.work.was_executed {
            self.work.clear_batch();
        }
    }

    fn queue(&mut self, statement: Statement) -> StatementNumber {
        self.work.statements.push(statement);
        StatementNumber(self.work.statements.len() - 1)
    }

    #[inline]
    fn whole_key(&mut self, index: IndexId, key: &[Value<'_>]) -> Result<SoughtKey, Violation> {
        self.start_queueing();
        let of_table = find_index(self.tables, index)?;
        let sought = of_table.layout.seek(key, &mut self.work.bytes);
        let whole = sought.filter(|_| of_table.layout.is_whole(key.len()));
        let whole = whole.ok_or(Violation::Key { index })?;
        of_table.prefetch(whole.of(&self.work.bytes));
        Ok(whole)
    }

    #[inline]
    fn key(&mut self, index: IndexId, key: &[Value<'_>]) -> Result<SoughtKey, Violation> {
        let layout = &find_index(self.tables, index)?.layout;
        let sought = layout.seek(key, &mut self.work.bytes);
        sought.ok_or(Violation::Key { index })
    }
}
