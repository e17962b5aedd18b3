//! Procedures: the transactions that a partition knows.
//!
//! A procedure reaches nothing but its parameters and its transaction, whose time and random numbers
//! are the same when it runs again. So it can be rolled back and started over when it meets evicted
//! data, and the command log needs no more than its name and its parameters.

use std::sync::Arc;

use types::Value;

use crate::error::PrimaryError;
use crate::index::SoughtKey;
use crate::partition_set::{PartitionNumber, PartitionSet};
use crate::schema::IndexId;
use crate::stop::{Stop, Violation};
use crate::table::Table;
use crate::transaction::Transaction;

/// A transaction's code.
pub trait Procedure: Send + Sync {
    /// The name under which the command log has it. Must not change, nor what the code does, as long
    /// as a log names it.
    fn name(&self) -> &str;

    /// Does the work and appends what the client gets to `reply`, which is empty.
    ///
    /// Hands on every [`Stop`] that it gets from the transaction. Must do the same whenever
    /// parameters, tables, time and random numbers are the same.
    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        parameters: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<(), Stop>;

    /// All partitions that the call may touch, of so many. It is all that is known of the call before it
    /// runs, so it must follow from the parameters alone.
    fn partitions(&self, _parameters: &[u8], _partitions: u16) -> PartitionSet {
        PartitionSet::only(PartitionNumber(0))
    }

    /// Whether it may make the tables larger. One that does not runs even when memory is full.
    fn may_grow(&self) -> bool {
        true
    }

    /// Names keys of rows that it will need, as far as the parameters tell. Those of them that are
    /// evicted are fetched before it runs at all. A call on several partitions is not asked.
    fn declare(&self, _parameters: &[u8], _keys: &mut DeclaredKeys<'_>) -> Result<(), Stop> {
        Ok(())
    }

    /// Names keys of rows that come into the cache when the call is expected
    /// ([`crate::Partition::expect`]): those that it declares, unless it says otherwise.
    fn expect(&self, parameters: &[u8], keys: &mut DeclaredKeys<'_>) -> Result<(), Stop> {
        self.declare(parameters, keys)
    }
}

/// Numbers a procedure: its place in the list that the partition was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProcedureNumber(pub u16);

/// Collects what a procedure declares.
pub struct DeclaredKeys<'p> {
    pub(crate) tables: &'p [Table],
    pub(crate) keys: &'p mut Vec<(IndexId, SoughtKey)>,
    pub(crate) bytes: &'p mut Vec<u8>,
}

impl DeclaredKeys<'_> {
    /// The rows with this key.
    pub fn key(&mut self, index: IndexId, values: &[Value<'_>]) -> Result<(), Violation> {
        let layout = &find_index(self.tables, index)?.layout;
        let key = layout.seek(values, self.bytes);
        let whole = key.filter(|_| layout.is_whole(values.len()));
        self.keys
            .push((index, whole.ok_or(Violation::Key { index })?));
        Ok(())
    }
}

/// The procedure of a name.
pub(crate) fn find_procedure(
    procedures: &[Arc<dyn Procedure>],
    name: &str,
) -> Result<ProcedureNumber, PrimaryError> {
    let found = procedures.iter().position(|p| p.name() == name);
    let number = found.ok_or_else(|| PrimaryError::UnknownProcedure {
        name: name.to_owned(),
    })?;
    Ok(ProcedureNumber(number as u16))
}

/// An index of the tables.
#[inline]
pub(crate) fn find_index(
    tables: &[Table],
    index: IndexId,
) -> Result<&crate::index::Index, Violation> {
    tables
        .get(usize::from(index.table.0))
        .and_then(|table| table.indexes.get(usize::from(index.index)))
        .ok_or(Violation::NoSuchIndex { index })
}
