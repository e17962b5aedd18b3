//! Decoded messages into change batches.
//!
//! Rows collect in one [`TableSink`] a table. A batch is cut
//! * at a commit, when its time has come or it is large, or
//! * inside a transaction each time another [`BATCH_BYTES`] *of that transaction* have come in.
//!   That depends on nothing but the transaction, so a transaction that is sent again after a
//!   lost connection or a crash is cut at the same places.
//!
//! `TRUNCATE` hides what is older than its transaction. What the same transaction wrote before
//! it must vanish too: it is taken out of the open rows. If some of it may already have gone out,
//! in a cut or before the process ended, no position is between it and what follows, so the table
//! goes on in an empty tree:
//!
//! ```text
//!   position 100:  insert a, insert b ─cut─ insert c, TRUNCATE, insert d
//!   old tree       a b                c                              (seen below 100)
//!   empty tree                                          d            (seen from 100 on)
//! ```
//!
//! Sent again after a lost connection, what comes before the `TRUNCATE` is passed over.
//!
//! What happens to whole tables (a schema change, a copy that begins or ends) goes out in a batch
//! of its own, right after one with everything before it: when a lost connection makes the stream
//! begin again, it begins at or after that point. See [`tables`]. Changes that need a look at the tree:
//! [`looked_up`].
//!
//! Does not: touch the stream's socket or a clock, decide when a batch's time has come.

mod looked_up;
mod projections;
mod tables;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use types::{ChangeBatch, CommitPosition, TableChange, TableId, TableName, TableSchema};

use projections::Projected;
use tables::{Copy, SeenPartitions, Step};
pub use tables::{CopyOrder, CopyOutcome};

use super::POSTGRES_EPOCH_US;
use super::connection::ConnectionError;
use super::describe::Describe;
use super::pgoutput::{DecodeError, Message, Relation, decode};
use super::spool::TransactionId;
use super::state::{PostgresState, WireTable};
use super::table_sink::{Place, RowError, TableSink};

/// Bytes of messages after which a batch is cut.
pub const BATCH_BYTES: usize = 4 << 20;
/// What an operator can do about a stopped table.
const COPY_AGAIN: &str = "Other tables go on. `hedgerow resync` copies it again";

/// The stream is not what the protocol promises.
#[derive(Debug, thiserror::Error)]
pub enum ChangesError {
    /// A message that cannot be decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A message that does not belong where it came.
    #[error("the replication stream is out of order: {0}")]
    OutOfOrder(String),
    /// The source's catalog could not be asked.
    #[error(transparent)]
    Describe(#[from] ConnectionError),
}

/// A replicated table, as it was copied.
pub struct ReplicatedTable {
    /// The tree.
    pub id: TableId,
    /// The tree's schema.
    pub schema: Arc<TableSchema>,
    /// How it looks in the log.
    pub wire: WireTable,
    /// Whether its changes are no longer carried over.
    pub stopped: bool,
    /// Whether its copy is not complete.
    pub copying: bool,
    /// Up to here its tree may have versions of transactions that come again.
    pub written_before: CommitPosition,
}

/// One table, with its open rows.
struct Table {
    replicated: ReplicatedTable,
    sink: TableSink,
    /// The copy that goes on.
    copy: Option<Copy>,
    /// The truncation with which its tree began: what comes before is not for the tree.
    emptied: Place,
    /// The source has it no more.
    gone: bool,
    projections: Vec<Projected>,
    /// The transaction of which rows have gone out in a cut.
    partly_sent: CommitPosition,
    /// The transaction that wrote last; see [`Transaction::number`].
    written_by: u64,
    /// The transactions that left it empty, as the log told, since its partitions were compared last.
    emptied_by: Vec<(CommitPosition, TransactionId)>,
}

/// What a relation id of the log stands for.
#[derive(Clone, Debug)]
enum Described {
    /// A replicated table.
    Replicated(usize),
    /// We do not have it; its first change has the catalog asked. (A leaf of a partitioned table is
    /// described too, but has no changes.)
    New,
    /// Not replicated.
    Unknown,
    /// It was replicated until another table took its name; its last changes are nobody's.
    Former,
}

/// The transaction that is coming in.
struct Transaction {
    position: CommitPosition,
    /// The source's name for it.
    id: TransactionId,
    /// Counts transactions as they come in, repetitions too; never 0.
    number: u64,
    /// Changes so far.
    ordinal: u64,
    /// Bytes since the last cut inside it.
    bytes: usize,
    /// Whether it was applied before.
    repeated: bool,
}

/// What [`Changes`] begin with.
pub struct Beginning {
    /// The replicated tables.
    pub tables: Vec<ReplicatedTable>,
    /// What is remembered of the source.
    pub state: PostgresState,
    /// The lowest table id that was never used.
    pub next_table: TableId,
    /// Everything up to here was applied.
    pub position: CommitPosition,
    /// Where the source continues.
    pub resume: u64,
    /// Asks the source's catalog.
    pub describe: Box<dyn Describe>,
}

/// Turns messages into batches.
pub struct Changes {
    tables: Vec<Table>,
    state: PostgresState,
    next_table: TableId,
    describe: Box<dyn Describe>,
    /// What happens to whole tables after everything that has come in.
    steps: Vec<Step>,
    copies: Vec<CopyOrder>,
    /// What is still to be compared.
    seen_partitions: Option<SeenPartitions>,
    /// The tables that this connection has described.
    relations: HashMap<u32, Described>,
    /// How it has shown them last.
    shown: HashMap<u32, Relation>,
    transaction: Option<Transaction>,
    transactions: u64,
    /// What comes before the open rows of the sinks.
    batch: ChangeBatch,
    batch_bytes: usize,
    cut_due: bool,
    /// Everything up to here was applied before this connection.
    start: CommitPosition,
    /// Up to here transactions may have come in before the process began; `None`: all of them.
    seen_before: Option<CommitPosition>,
    /// The position of the last commit that came in or was applied before.
    last: CommitPosition,
    /// Where the source continues after it.
    resume: u64,
    unknown: HashSet<TableName>,
    warnings: Vec<String>,
}

impl Changes {
    /// Nothing has come in yet.
    pub fn new(beginning: Beginning) -> Self {
        Self {
            tables: beginning.tables.into_iter().map(Table::new).collect(),
            state: beginning.state,
            next_table: beginning.next_table,
            describe: beginning.describe,
            steps: Vec::new(),
            copies: Vec::new(),
            seen_partitions: None,
            relations: HashMap::new(),
            shown: HashMap::new(),
            transaction: None,
            transactions: 0,
            batch: ChangeBatch::default(),
            batch_bytes: 0,
            cut_due: false,
            start: beginning.position,
            seen_before: None,
            last: beginning.position,
            resume: beginning.resume,
            unknown: HashSet::new(),
            warnings: Vec::new(),
        }
    }

    /// Forgets what came in since the last batch: the connection was lost, and the stream
    /// begins again after the last commit of the last batch, `last`.
    pub fn reconnect(&mut self, last: CommitPosition, resume: u64) {
        for table in &mut self.tables {
            drop(table.sink.take());
            table.forget_held_after(last);
            let written = &mut table.replicated.written_before;
            *written = table.partly_sent.max(*written);
        }
        // A stop must not be forgotten: the table's sink takes no rows any more, or keeps no cells.
        let is_stop = |change: &TableChange| {
            matches!(
                change,
                TableChange::Stop { .. } | TableChange::StopProjection { .. }
            )
        };
        self.batch = ChangeBatch {
            changes: std::mem::take(&mut self.batch.changes)
                .into_iter()
                .filter(is_stop)
                .collect(),
            ..ChangeBatch::default()
        };
        self.batch_bytes = 0;
        self.cut_due = false;
        self.transaction = None;
        self.relations.clear();
        self.shown.clear();
        self.steps.clear();
        self.start = last;
        self.last = last;
        self.resume = resume;
    }

    /// The source's log ended at `position` when the process first connected to it: later
    /// transactions are new.
    pub fn log_ended_at(&mut self, position: CommitPosition) {
        self.seen_before.get_or_insert(position);
    }

    /// Takes one message of the output plugin in.
    pub fn message(&mut self, payload: &[u8]) -> Result<(), ChangesError> {
        match decode(payload)? {
            Message::Insert { relation, new } => {
                self.row(relation, payload.len(), |sink, place| {
                    sink.insert(new, place)
                })
            }
            Message::Update { relation, old, new } => {
                let bytes = payload.len();
                match old {
                    Some(old) if self.needs_old_row(relation, old, new) => {
                        self.move_row(relation, old, new, bytes)
                    }
                    Some(old) if self.is_multiset(relation) => {
                        self.take_away(relation, old, Some(new), bytes)
                    }
                    old => self.row(relation, bytes, |sink, place| sink.update(old, new, place)),
                }
            }
            Message::Delete { relation, old } if self.is_multiset(relation) => {
                self.take_away(relation, old, None, payload.len())
            }
            Message::Delete { relation, old } => {
                self.row(relation, payload.len(), |sink, place| {
                    sink.delete(old, place)
                })
            }
            Message::Begin {
                commit_position,
                transaction,
                ..
            } => self.begin(CommitPosition(commit_position), transaction),
            Message::Commit {
                commit_position,
                end,
                commit_time,
            } => self.commit(CommitPosition(commit_position), end, commit_time),
            Message::Relation(relation) => self.relation(relation),
            Message::Truncate { relations } => self.truncate(&relations),
            Message::Ignored => Ok(()),
        }
    }

    /// A transaction begins that commits at `position`.
    pub fn begin(
        &mut self,
        position: CommitPosition,
        id: TransactionId,
    ) -> Result<(), ChangesError> {
        if let Some(open) = &self.transaction {
            let what = format!("a transaction begins inside that of {}", open.position);
            return Err(ChangesError::OutOfOrder(what));
        }
        if position <= self.last && position > self.start {
            let what = format!("a transaction of {position} comes after {}", self.last);
            return Err(ChangesError::OutOfOrder(what));
        }
        self.transactions += 1;
        self.transaction = Some(Transaction {
            position,
            id,
            number: self.transactions,
            ordinal: 0,
            bytes: 0,
            repeated: position <= self.start,
        });
        Ok(())
    }

    /// The transaction ends; the source continues at `end` after it. It committed at
    /// `commit_time`, microseconds since 2000-01-01 UTC.
    pub fn commit(
        &mut self,
        position: CommitPosition,
        end: u64,
        commit_time: i64,
    ) -> Result<(), ChangesError> {
        let transaction = self
            .transaction
            .take()
            .filter(|open| open.position == position);
        let Some(transaction) = transaction else {
            let what = format!("the commit at {position} has no beginning");
            return Err(ChangesError::OutOfOrder(what));
        };
        if !transaction.repeated {
            self.last = position;
            self.resume = end;
            self.batch.committed = Some(position);
            self.batch.resume = end;
            self.batch.commit_time_us = commit_time.saturating_add(POSTGRES_EPOCH_US);
            self.batch.transactions += 1;
            self.cut_due |= self.batch_bytes >= BATCH_BYTES;
        }
        Ok(())
    }

    /// Everything that committed before `wal_end` has come in.
    pub fn keepalive(&mut self, wal_end: u64) {
        let reached = CommitPosition(wal_end.saturating_sub(1));
        if self.transaction.is_none() && reached > self.last {
            self.last = reached;
            self.resume = wal_end;
            self.batch.committed = Some(reached);
            self.batch.resume = wal_end;
        }
    }

    /// Counts a change of `bytes` in the open transaction and says which transaction that is
    /// and where the change belongs; `None` where the transaction was applied before.
    ///
    /// All changes count, also those of tables that are not replicated or stopped: the cuts of
    /// a transaction must not depend on that.
    fn next_change(&mut self, bytes: usize) -> Result<Option<(u64, Place)>, ChangesError> {
        let Some(transaction) = &mut self.transaction else {
            return Err(ChangesError::OutOfOrder(
                "a change outside a transaction".to_owned(),
            ));
        };
        transaction.ordinal += 1;
        if transaction.repeated {
            return Ok(None);
        }
        transaction.bytes += bytes;
        self.batch_bytes += bytes;
        self.cut_due |= transaction.bytes >= BATCH_BYTES;
        let place = Place {
            position: transaction.position,
            ordinal: transaction.ordinal,
        };
        Ok(Some((transaction.number, place)))
    }

    /// The table that takes a change, and the change's place; `None` where none takes it.
    fn taker(
        &mut self,
        relation: u32,
        bytes: usize,
    ) -> Result<Option<(usize, Place)>, ChangesError> {
        let Some((number, place)) = self.next_change(bytes)? else {
            return Ok(None);
        };
        let Some(index) = self.table_of(relation)? else {
            return Ok(None);
        };
        let table = &mut self.tables[index];
        // What is written after a truncation may be gone before the commit without a word: with a partition that
        // is emptied by its own name.
        let open = self.transaction.as_ref().map(|open| open.id);
        if table.emptied_by.last().map(|(_, id)| *id) == open {
            table.emptied_by.pop();
        }
        if table.replicated.stopped || place < table.emptied || table.is_passed_over(place.position)
        {
            return Ok(None);
        }
        table.written_by = number;
        table.count_held(place.position, bytes);
        Ok(Some((index, place)))
    }

    /// Takes in one change of one row.
    fn row(
        &mut self,
        relation: u32,
        bytes: usize,
        append: impl FnOnce(&mut TableSink, Place) -> Result<(), RowError>,
    ) -> Result<(), ChangesError> {
        let Some((index, place)) = self.taker(relation, bytes)? else {
            return Ok(());
        };
        let appended = append(&mut self.tables[index].sink, place);
        self.stop_projections_without_cells(index, place);
        match appended {
            Ok(()) => Ok(()),
            Err(error) => self.not_appended(index, error),
        }
    }

    /// A change cannot be put into a table as it is.
    fn not_appended(&mut self, index: usize, error: RowError) -> Result<(), ChangesError> {
        match error {
            RowError::Cell(cell) if cell.fits_text() => self.copy_with_text(index, &cell.column),
            error => {
                self.stop(index, error.to_string());
                Ok(())
            }
        }
    }

    /// The replicated table that a change belongs to; warns where there is none.
    fn table_of(&mut self, relation: u32) -> Result<Option<usize>, ChangesError> {
        match self.relations.get(&relation) {
            Some(Described::Replicated(index)) => Ok(Some(*index)),
            Some(Described::New) => {
                self.describe_new(relation)?;
                // What is copied from now on has the change in it.
                Ok(None)
            }
            Some(Described::Unknown | Described::Former) => Ok(None),
            None => {
                let what = format!("a change of table {relation}, which was not described");
                Err(ChangesError::OutOfOrder(what))
            }
        }
    }

    fn truncate(&mut self, relations: &[u32]) -> Result<(), ChangesError> {
        let Some((number, place)) = self.next_change(0)? else {
            return Ok(());
        };
        for relation in relations {
            if let Some(index) = self.table_of(*relation)? {
                self.truncate_table(index, number, place)?;
            }
        }
        Ok(())
    }

    fn truncate_table(
        &mut self,
        index: usize,
        number: u64,
        place: Place,
    ) -> Result<(), ChangesError> {
        let position = place.position;
        let seen_before = self.seen_before.is_none_or(|until| position <= until);
        let table = &mut self.tables[index];
        if table.replicated.wire.partitions.is_some() {
            let open = self.transaction.as_ref().map(|open| (position, open.id));
            // Once for each transaction, so that a row takes all of it back.
            if table.emptied_by.last().copied() != open {
                table.emptied_by.extend(open);
            }
        }
        if table.replicated.stopped || place <= table.emptied || table.is_passed_over(position) {
            return Ok(());
        }
        let wrote = std::mem::replace(&mut table.written_by, number) == number;
        let is_partly_out = table.partly_sent == position || wrote && seen_before;
        if let Some(copy) = &mut table.copy {
            // Rows that are copied later would have to be hidden, too.
            copy.disturb(position);
            if is_partly_out {
                return self.copy_once_more(index);
            }
        }
        let rows = table.sink.take_before(position);
        let id = table.sink.table();
        self.pass_on_rows(index, rows);
        if is_partly_out {
            self.step(Step::Empty { index, place });
        } else {
            self.batch.changes.push(TableChange::Truncate {
                table: id,
                position,
            });
        }
        Ok(())
    }

    /// Stops a table before the open transaction.
    fn stop(&mut self, index: usize, reason: String) {
        let table = &mut self.tables[index];
        if std::mem::replace(&mut table.replicated.stopped, true) {
            return;
        }
        table.copy = None;
        let position = match &self.transaction {
            Some(open) => CommitPosition(open.position.0.saturating_sub(1)),
            None => self.last,
        };
        let rows = table.sink.take_before(CommitPosition(position.0 + 1));
        let table = table.sink.table();
        self.pass_on_rows(index, rows);
        let reason = format!("{reason}. {COPY_AGAIN}");
        self.batch.changes.push(TableChange::Stop {
            table,
            position,
            reason,
        });
    }

    /// Whether a batch must go out before more is taken in.
    pub fn must_cut(&self) -> bool {
        self.cut_due
    }

    /// Whether a batch can go out now: it ends at a commit, and there is something to tell.
    pub fn can_cut(&self) -> bool {
        self.transaction.is_none() && self.batch.committed.is_some()
    }

    /// The last commit that came in.
    pub fn last(&self) -> CommitPosition {
        self.last
    }

    /// What the operator should know since the last call.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Takes the batch.
    pub fn take_batch(&mut self) -> ChangeBatch {
        let open = self.transaction.as_mut().map(|open| {
            open.bytes = 0;
            (open.number, open.position)
        });
        for index in 0..self.tables.len() {
            let table = &mut self.tables[index];
            if table.sink.is_empty() {
                continue;
            }
            if let Some((number, position)) = open
                && table.written_by == number
                && !table.holds_back()
            {
                table.partly_sent = position;
            }
            let rows = table.sink.take();
            self.pass_on_rows(index, rows);
        }
        self.batch_bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        self.cut_due = self.carry_out_steps();
        batch
    }
}

#[cfg(test)]
mod tests;
