//! Transactions as the replica takes them: their changed rows, before and after.
//!
//! ```text
//! transaction: position u64 | time i64 | changes u32 | then changes, as in `changed_rows`
//! ```
//!
//! In memory only, so the bytes are trusted.

use std::ops::Range;
use std::sync::Arc;

use types::{CommitPosition, Value};

use super::changed_rows::{ChangeKind, split_image};
use super::snapshot_copy::CopiedRows;
use crate::row_layout::{RowBytes, RowLayout};
use crate::schema::{ColumnNumber, TableNumber};

/// Where the number of changes is in a transaction.
const CHANGES_AT: Range<usize> = 16..20;

/// Whole transactions end to end, in order.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    /// The position of the last one.
    pub(super) last: CommitPosition,
}

/// Changes of whole transactions, in the order in which they committed. Owns them.
#[derive(Debug)]
pub struct CommittedChanges {
    chunks: Vec<Chunk>,
    layouts: Arc<[RowLayout]>,
    copy: Option<CopyPart>,
}

/// Which part of a copy these rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyPart {
    /// Whatever the replica has is void: the copy begins here.
    pub is_first: bool,
    /// The copy is whole. Before that its position must not be confirmed.
    pub is_last: bool,
}

/// A transaction that has committed.
#[derive(Clone, Copy, Debug)]
pub struct CommittedTransaction<'a> {
    /// Its place in the command log.
    pub position: CommitPosition,
    /// Its time, microseconds since 1970-01-01 UTC.
    pub time_us: i64,
    changes: u32,
    bytes: &'a [u8],
    layouts: &'a [RowLayout],
}

/// A row that a transaction has changed, added or deleted.
#[derive(Clone, Copy, Debug)]
pub struct ChangedRow<'a> {
    /// Its table.
    pub table: TableNumber,
    /// What it was before; `None` when it has come.
    pub old: Option<RowImage<'a>>,
    /// What it is now; `None` when it is gone.
    pub new: Option<RowImage<'a>>,
}

/// All cells of a row at one moment.
#[derive(Clone, Copy, Debug)]
pub struct RowImage<'a> {
    layout: &'a RowLayout,
    row: RowBytes<'a>,
}

impl CommittedChanges {
    /// What these chunks have; `None` of no chunks.
    pub(super) fn new(chunks: Vec<Chunk>, layouts: Arc<[RowLayout]>) -> Option<Self> {
        (!chunks.is_empty()).then_some(Self {
            chunks,
            layouts,
            copy: None,
        })
    }

    /// Some rows of a copy.
    pub(super) fn copied(rows: CopiedRows, layouts: Arc<[RowLayout]>) -> Self {
        Self {
            chunks: vec![rows.chunk],
            layouts,
            copy: Some(CopyPart {
                is_first: rows.is_first,
                is_last: rows.is_last,
            }),
        }
    }

    /// Of rows that are there already, when the replica needs all of them: which part they are. They are those of
    /// one transaction, whose position all parts have, and all of them come.
    pub fn copy(&self) -> Option<CopyPart> {
        self.copy
    }

    /// The position of the last transaction: what to confirm when all of this is durable, and the copy
    /// whole.
    pub fn last(&self) -> CommitPosition {
        self.chunks.last().expect("there is a chunk").last
    }

    /// Bytes of the changes.
    pub fn bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.bytes.len()).sum()
    }

    /// The transactions. Those that have changed nothing in the end are among them, without rows.
    pub fn transactions(&self) -> impl Iterator<Item = CommittedTransaction<'_>> {
        let chunks = self.chunks.iter();
        chunks.flat_map(|chunk| transactions(&chunk.bytes, &self.layouts))
    }
}

/// Begins a transaction without changes.
pub(super) fn begin_transaction(out: &mut Vec<u8>, position: CommitPosition, time_us: i64) {
    out.extend_from_slice(&position.0.to_le_bytes());
    out.extend_from_slice(&time_us.to_le_bytes());
    out.extend_from_slice(&0_u32.to_le_bytes());
}

/// Says how many changes follow in the transaction that begins here.
pub(super) fn set_changes(transaction: &mut [u8], changes: u32) {
    transaction[CHANGES_AT].copy_from_slice(&changes.to_le_bytes());
}

fn transactions<'a>(
    mut bytes: &'a [u8],
    layouts: &'a [RowLayout],
) -> impl Iterator<Item = CommittedTransaction<'a>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let transaction = CommittedTransaction {
            position: CommitPosition(u64::from_le_bytes(take(&mut bytes))),
            time_us: i64::from_le_bytes(take(&mut bytes)),
            changes: u32::from_le_bytes(take(&mut bytes)),
            bytes,
            layouts,
        };
        for _ in 0..transaction.changes {
            take_change(&mut bytes, layouts);
        }
        Some(transaction)
    })
}

impl<'a> CommittedTransaction<'a> {
    /// Its changes, one a row: first rows that go, then rows that stay and have other cells, then rows
    /// that come. A row that gets another primary key goes and comes.
    pub fn changes(&self) -> impl Iterator<Item = ChangedRow<'a>> + use<'a> {
        let (mut bytes, layouts) = (self.bytes, self.layouts);
        (0..self.changes).map(move |_| take_change(&mut bytes, layouts))
    }
}

impl<'a> RowImage<'a> {
    /// A cell.
    ///
    /// # Panics
    /// When there is no such column.
    pub fn value(&self, column: ColumnNumber) -> Value<'a> {
        self.layout.value(self.row, column)
    }
}

fn take_change<'a>(bytes: &mut &'a [u8], layouts: &'a [RowLayout]) -> ChangedRow<'a> {
    let table = TableNumber(u16::from_le_bytes(take(bytes)));
    let [kind] = take(bytes);
    let layout = &layouts[usize::from(table.0)];
    let mut image = |lacks: ChangeKind| {
        (kind != lacks as u8).then(|| {
            let (row, rest) = split_image(bytes, layout);
            *bytes = rest;
            RowImage { layout, row }
        })
    };
    ChangedRow {
        table,
        old: image(ChangeKind::Comes),
        new: image(ChangeKind::Goes),
    }
}

fn take<const BYTES: usize>(bytes: &mut &[u8]) -> [u8; BYTES] {
    let (taken, rest) = bytes.split_first_chunk().expect("a whole transaction");
    *bytes = rest;
    *taken
}
