//! Decoded messages into change batches.
//!
//! Rows collect in one [`TableSink`] a table. A batch is cut
//! * at a commit, when its time has come or it is large, or
//! * inside a transaction each time another [`BATCH_BYTES`] *of that transaction* have come in.
//!   That depends on nothing but the transaction, so a transaction that is sent again after a
//!   lost connection or a crash is cut at the same places.
//!
//! `TRUNCATE` hides what is older than its transaction. What the same transaction wrote before
//! it must vanish too: it is taken out of the open rows; if some of it has already gone out in
//! a cut, the table stops (the determinism above makes that decision the same every time).
//!
//! Does not: touch a socket or a clock, decide when a batch's time has come.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use types::{ChangeBatch, CommitPosition, TableChange, TableId, TableName, TableSchema};

use super::POSTGRES_EPOCH_US;
use super::pgoutput::{DecodeError, Message, Relation, decode};
use super::state::WireTable;
use super::table_sink::{Place, RowError, TableSink};

/// Bytes of messages after which a batch is cut.
pub const BATCH_BYTES: usize = 4 << 20;
/// What an operator can do about a stopped table.
const COPY_AGAIN: &str = "Other tables go on. To replicate it again, start with an empty data \
     directory";

/// The stream is not what the protocol promises.
#[derive(Debug, thiserror::Error)]
pub enum ChangesError {
    /// A message that cannot be decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A message that does not belong where it came.
    #[error("the replication stream is out of order: {0}")]
    OutOfOrder(String),
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
}

/// One table, with its open rows.
struct Table {
    replicated: ReplicatedTable,
    sink: TableSink,
    /// The transaction of which rows have gone out in a cut; see [`Transaction::number`].
    partly_sent: u64,
    /// The transaction that wrote last.
    written_by: u64,
}

/// What a relation id of the log stands for.
#[derive(Clone, Debug)]
enum Described {
    /// A replicated table.
    Replicated(usize),
    /// A new table under the name of a replicated one, which is stopped.
    Successor,
    /// Not replicated. (A leaf of a partitioned table is described too, but has no changes.)
    Unknown(TableName),
}

/// The transaction that is coming in.
struct Transaction {
    position: CommitPosition,
    /// Counts transactions as they come in, repetitions too; never 0.
    number: u64,
    /// Changes so far.
    ordinal: u64,
    /// Bytes since the last cut inside it.
    bytes: usize,
    /// Whether it was applied before.
    repeated: bool,
}

/// Turns messages into batches.
pub struct Changes {
    tables: Vec<Table>,
    /// The tables that this connection has described.
    relations: HashMap<u32, Described>,
    transaction: Option<Transaction>,
    transactions: u64,
    /// What comes before the open rows of the sinks.
    batch: ChangeBatch,
    batch_bytes: usize,
    cut_due: bool,
    /// Everything up to here was applied before this connection.
    start: CommitPosition,
    /// The position of the last commit that came in or was applied before.
    last: CommitPosition,
    unknown: HashSet<TableName>,
    warnings: Vec<String>,
}

impl Changes {
    /// Nothing has come in yet; everything up to `last` was applied before.
    pub fn new(tables: Vec<ReplicatedTable>, last: CommitPosition) -> Self {
        let table = |replicated: ReplicatedTable| Table {
            sink: TableSink::new(replicated.id, &replicated.schema),
            replicated,
            partly_sent: 0,
            written_by: 0,
        };
        Self {
            tables: tables.into_iter().map(table).collect(),
            relations: HashMap::new(),
            transaction: None,
            transactions: 0,
            batch: ChangeBatch::default(),
            batch_bytes: 0,
            cut_due: false,
            start: last,
            last,
            unknown: HashSet::new(),
            warnings: Vec::new(),
        }
    }

    /// Forgets what came in since the last batch: the connection was lost, and the stream
    /// begins again after the last commit of the last batch, `last`.
    pub fn reconnect(&mut self, last: CommitPosition) {
        for table in &mut self.tables {
            drop(table.sink.take());
        }
        // A stop must not be forgotten: the table's sink takes no rows any more.
        let is_stop = |change: &TableChange| matches!(change, TableChange::Stop { .. });
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
        self.start = last;
        self.last = last;
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
                self.row(relation, payload.len(), |sink, place| {
                    sink.update(old, new, place)
                })
            }
            Message::Delete { relation, old } => {
                self.row(relation, payload.len(), |sink, place| {
                    sink.delete(old, place)
                })
            }
            Message::Begin {
                commit_position, ..
            } => self.begin(CommitPosition(commit_position)),
            Message::Commit {
                commit_position,
                end,
                commit_time,
            } => self.commit(CommitPosition(commit_position), end, commit_time),
            Message::Relation(relation) => {
                self.relation(relation);
                Ok(())
            }
            Message::Truncate { relations } => self.truncate(&relations),
            Message::Ignored => Ok(()),
        }
    }

    fn begin(&mut self, position: CommitPosition) -> Result<(), ChangesError> {
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
            number: self.transactions,
            ordinal: 0,
            bytes: 0,
            repeated: position <= self.start,
        });
        Ok(())
    }

    fn commit(
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

    /// Takes in one change of one row.
    fn row(
        &mut self,
        relation: u32,
        bytes: usize,
        append: impl FnOnce(&mut TableSink, Place) -> Result<(), RowError>,
    ) -> Result<(), ChangesError> {
        let Some((number, place)) = self.next_change(bytes)? else {
            return Ok(());
        };
        let Some(index) = self.table_of(relation)? else {
            return Ok(());
        };
        let table = &mut self.tables[index];
        if table.replicated.stopped {
            return Ok(());
        }
        table.written_by = number;
        let appended = append(&mut table.sink, place);
        if let Err(error) = appended {
            self.stop(index, error.to_string());
        }
        Ok(())
    }

    /// Takes in the description of a table.
    fn relation(&mut self, relation: Relation) {
        let by_id = self
            .tables
            .iter()
            .position(|t| t.replicated.wire.relation == relation.id);
        let by_name = self
            .tables
            .iter()
            .position(|t| t.replicated.schema.name == relation.name);
        let id = relation.id;
        let described = match (by_id, by_name) {
            (Some(index), _) => {
                if let Some(difference) = difference(&self.tables[index].replicated, &relation) {
                    self.stop(index, difference);
                }
                Described::Replicated(index)
            }
            (None, Some(index)) => {
                let reason = "the table was dropped and created again at the source";
                self.stop(index, reason.to_owned());
                Described::Successor
            }
            (None, None) => Described::Unknown(relation.name),
        };
        self.relations.insert(id, described);
    }

    /// The replicated table that a change belongs to; warns where there is none.
    fn table_of(&mut self, relation: u32) -> Result<Option<usize>, ChangesError> {
        match self.relations.get(&relation) {
            Some(Described::Replicated(index)) => Ok(Some(*index)),
            Some(Described::Successor) => Ok(None),
            Some(Described::Unknown(name)) => {
                if self.unknown.insert(name.clone()) {
                    self.warnings.push(format!(
                        "table {name} was published after the initial copy and is not \
                         replicated; start with an empty data directory to include it"
                    ));
                }
                Ok(None)
            }
            None => {
                let what = format!("a change of table {relation}, which was not described");
                Err(ChangesError::OutOfOrder(what))
            }
        }
    }

    fn truncate(&mut self, relations: &[u32]) -> Result<(), ChangesError> {
        let Some((number, Place { position, .. })) = self.next_change(0)? else {
            return Ok(());
        };
        for relation in relations {
            let Some(index) = self.table_of(*relation)? else {
                continue;
            };
            let table = &mut self.tables[index];
            if table.replicated.stopped {
                continue;
            }
            if table.partly_sent == number {
                let reason = "a large transaction wrote to the table and then truncated it";
                self.stop(index, reason.to_owned());
                continue;
            }
            let (table, rows) = (table.sink.table(), table.sink.take_before(position));
            if !rows.is_empty() {
                self.batch.changes.push(TableChange::Rows { table, rows });
            }
            self.batch
                .changes
                .push(TableChange::Truncate { table, position });
        }
        Ok(())
    }

    /// Stops a table before the open transaction.
    fn stop(&mut self, index: usize, reason: String) {
        let table = &mut self.tables[index];
        if std::mem::replace(&mut table.replicated.stopped, true) {
            return;
        }
        let position = match &self.transaction {
            Some(open) => CommitPosition(open.position.0.saturating_sub(1)),
            None => self.last,
        };
        let (table, rows) = (
            table.sink.table(),
            table.sink.take_before(CommitPosition(position.0 + 1)),
        );
        if !rows.is_empty() {
            self.batch.changes.push(TableChange::Rows { table, rows });
        }
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
        let number = self.transaction.as_ref().map_or(0, |open| open.number);
        if let Some(open) = &mut self.transaction {
            open.bytes = 0;
        }
        for table in &mut self.tables {
            if table.sink.is_empty() {
                continue;
            }
            if table.written_by == number {
                table.partly_sent = number;
            }
            let (table, rows) = (table.sink.table(), table.sink.take());
            self.batch.changes.push(TableChange::Rows { table, rows });
        }
        self.batch_bytes = 0;
        self.cut_due = false;
        std::mem::take(&mut self.batch)
    }
}

/// In what a table differs from how it was copied.
fn difference(table: &ReplicatedTable, now: &Relation) -> Option<String> {
    let schema = &table.schema;
    if schema.name != now.name {
        return Some(format!(
            "the table was renamed to {} at the source",
            now.name
        ));
    }
    let columns: Vec<_> = schema.columns.iter().filter(|c| !c.hidden).collect();
    for column in &columns {
        if !now.columns.iter().any(|c| c.name == column.name) {
            return Some(format!("column \"{}\" was dropped or renamed", column.name));
        }
    }
    for column in &now.columns {
        if !columns.iter().any(|c| c.name == column.name) {
            return Some(format!("column \"{}\" was added", column.name));
        }
    }
    let types = columns.iter().zip(&table.wire.types).zip(&now.columns);
    for ((column, &(oid, modifier)), found) in types {
        if column.name != found.name {
            return Some("the order of its columns changed".to_owned());
        }
        if (oid, modifier) != (found.type_oid, found.modifier) {
            return Some(format!("the type of column \"{}\" changed", column.name));
        }
    }
    identity_difference(schema, now)
}

/// Whether the log still identifies rows by the tree's key.
fn identity_difference(schema: &TableSchema, now: &Relation) -> Option<String> {
    if !schema.has_source_key() || now.identity == b'f' {
        return None;
    }
    let same = (0..now.columns.len()).all(|c| now.columns[c].identity == schema.key.contains(&c));
    (!same).then(|| "its primary key or replica identity changed".to_owned())
}

#[cfg(test)]
mod tests;
