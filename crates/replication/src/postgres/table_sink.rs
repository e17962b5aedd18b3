//! The open rows of one table: decoded tuples become versions in columns.
//!
//! What an update becomes:
//! * the key stays, every cell is known: a put;
//! * the key stays, large cells are "unchanged" and the log does not have them: a patch;
//! * the key changes: a delete of the old key and a put of the new one. If a cell is unchanged
//!   and not in the log, the put is a patch, which only a look-up of the old row completes (see
//!   [`crate::moved_row`]);
//! * in a multiset: a delete of a row equal to the old one, whose hidden key only a look-up completes (see
//!   [`crate::equal_rows`]), and a put of the new one.
//!
//! Where the table's projections are ordered by columns outside of the key, a deletion carries the
//! former cells of those, and an update that changes one of them is a deletion, too. They are in the
//! log where it has whole old rows.
//!
//! Invariant: after every call the builder holds whole versions only.

use types::{CommitPosition, RowsBuilder, TableId, TableSchema, VersionKind, VersionRows};

use super::hidden_key::{self, RowHasher};
use super::pgoutput::{Cell, OldTuple, Tuple};
use super::text::{CellError, CellParser};

/// Why a change cannot be carried over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// A value that its column cannot hold.
    #[error(transparent)]
    Cell(#[from] CellError),
    /// The log has another number of columns than the table.
    #[error("a row has {found} columns in the log, the table has {expected}")]
    ColumnCount {
        /// Columns in the log.
        found: usize,
        /// Columns of the table.
        expected: usize,
    },
    /// An update or delete of a table whose rows nothing identifies.
    #[error(
        "an UPDATE or DELETE came for a table without a key, and nothing tells which row it \
         means; give the table a primary key at the source"
    )]
    NoKey,
    /// The log does not say which row is meant.
    #[error("an UPDATE or DELETE does not carry the value of key column \"{0}\"")]
    KeyNotInLog(String),
}

/// The open rows of one table.
pub struct TableSink {
    table: TableId,
    names: Vec<String>,
    parsers: Vec<CellParser>,
    /// Whether each source column is part of the key.
    in_key: Vec<bool>,
    has_key: bool,
    is_multiset: bool,
    /// Whether projections need the former cells of each source column that is not in the key.
    is_kept: Vec<bool>,
    /// A change came without a cell that is kept; see [`Self::take_lost`].
    lost: bool,
    builder: RowsBuilder,
    /// One bit a column, for the version that is being appended.
    unchanged: Vec<u8>,
}

/// Where a version belongs. Ordered as the log is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The transaction's commit position.
    pub position: CommitPosition,
    /// The change's number within the transaction.
    pub ordinal: u64,
}

impl TableSink {
    /// An empty sink for rows of `schema`.
    pub fn new(table: TableId, schema: &TableSchema) -> Self {
        let parsers = CellParser::for_schema(schema);
        let in_key: Vec<_> = (0..parsers.len())
            .map(|c| schema.key.contains(&c))
            .collect();
        Self {
            table,
            names: schema.columns.iter().map(|c| c.name.clone()).collect(),
            has_key: schema.has_source_key(),
            is_multiset: hidden_key::is_multiset(schema),
            unchanged: vec![0; schema.columns.len().div_ceil(8)],
            builder: RowsBuilder::new(schema),
            is_kept: vec![false; parsers.len()],
            lost: false,
            parsers,
            in_key,
        }
    }

    /// The table.
    pub fn table(&self) -> TableId {
        self.table
    }

    /// Whether the table's rows are a multiset.
    pub fn is_multiset(&self) -> bool {
        self.is_multiset
    }

    /// Whether there is no open row.
    pub fn is_empty(&self) -> bool {
        self.builder.is_empty()
    }

    /// From now on deletions carry the former cells of these columns.
    pub fn keep(&mut self, columns: impl Iterator<Item = usize>) {
        self.is_kept.fill(false);
        for column in columns {
            if let Some(in_key) = self.in_key.get(column) {
                self.is_kept[column] = !in_key;
            }
        }
    }

    /// Whether since the last call a change came without a cell that is kept: no projection that needs it
    /// can be carried any further.
    pub fn take_lost(&mut self) -> bool {
        std::mem::take(&mut self.lost)
    }

    /// Appends an inserted row.
    pub fn insert(&mut self, new: Tuple<'_>, place: Place) -> Result<(), RowError> {
        self.whole(place, |sink| sink.put(new, None, place))
    }

    /// Appends an updated row.
    pub fn update(
        &mut self,
        old: Option<OldTuple<'_>>,
        new: Tuple<'_>,
        place: Place,
    ) -> Result<(), RowError> {
        self.whole(place, |sink| sink.try_update(old, new, place))
    }

    /// Whether an update gives the row another key and leaves a cell of it out of the log.
    pub fn needs_old_row(&self, old: OldTuple<'_>, new: Tuple<'_>) -> bool {
        self.has_key && self.has_unknown_cell(old, new) && self.key_changed(old.tuple(), new)
    }

    /// Appends the new row of an update whose old row somebody else deletes.
    pub fn put_updated(
        &mut self,
        old: OldTuple<'_>,
        new: Tuple<'_>,
        place: Place,
    ) -> Result<(), RowError> {
        self.whole(place, |sink| sink.put(new, Some(old), place))
    }

    /// Appends the deletion of a row.
    pub fn delete(&mut self, old: OldTuple<'_>, place: Place) -> Result<(), RowError> {
        self.whole(place, |sink| sink.tombstone(old, place))
    }

    /// Takes the open rows.
    pub fn take(&mut self) -> VersionRows {
        self.builder.build()
    }

    /// Takes the open rows without those at the end that carry `position`.
    pub fn take_before(&mut self, position: CommitPosition) -> VersionRows {
        let keep = self.builder.len() - self.builder.trailing_at(position);
        first_rows(self.builder.build(), keep)
    }

    /// Runs `append`; when it fails half-way through a version, drops that version.
    fn whole(
        &mut self,
        place: Place,
        append: impl FnOnce(&mut Self) -> Result<(), RowError>,
    ) -> Result<(), RowError> {
        let result = append(self);
        if result.is_err() {
            self.complete_broken_version(place);
        }
        result
    }

    /// After an error the version at the end may lack cells. Arrow's builders cannot shrink, so
    /// it gets NULLs; the table is stopped below this position, nobody reads it.
    fn complete_broken_version(&mut self, place: Place) {
        let rows = self.builder.len();
        let mut broken = false;
        for column in self.builder.columns_mut() {
            broken |= column.len() > rows;
        }
        if !broken {
            return;
        }
        for column in self.builder.columns_mut() {
            if column.len() == rows {
                column.append_null();
            }
        }
        self.builder
            .finish_version(place.position, VersionKind::Delete);
    }

    fn try_update(
        &mut self,
        old: Option<OldTuple<'_>>,
        new: Tuple<'_>,
        place: Place,
    ) -> Result<(), RowError> {
        let Some(old) = old else {
            if !self.has_key {
                return Err(RowError::NoKey);
            }
            self.lost |= self.is_kept.contains(&true);
            return self.put(new, None, place);
        };
        let is_whole = matches!(old, OldTuple::Row(_));
        let moves = is_whole && differs(old.tuple(), new, &self.is_kept);
        if !self.has_key || moves || self.key_changed(old.tuple(), new) {
            self.tombstone(old, place)?;
        }
        self.lost |= !is_whole && self.is_kept.contains(&true);
        self.put(new, Some(old), place)
    }

    /// Whether a key cell of the new row differs from the old one.
    fn key_changed(&self, old: Tuple<'_>, new: Tuple<'_>) -> bool {
        differs(old, new, &self.in_key)
    }

    /// Whether the new value of some column is not in the log.
    fn has_unknown_cell(&self, old: OldTuple<'_>, new: Tuple<'_>) -> bool {
        let is_unknown = |(cell, in_key): (Cell<'_>, &bool)| cell == Cell::Unchanged && !in_key;
        matches!(old, OldTuple::Key(_)) && new.cells().zip(&self.in_key).any(is_unknown)
    }

    /// Appends a put of the new row, or a patch where the log lacks cells of it.
    fn put(
        &mut self,
        new: Tuple<'_>,
        old: Option<OldTuple<'_>>,
        place: Place,
    ) -> Result<(), RowError> {
        self.check_columns(new)?;
        let mut hasher = self.is_multiset.then(RowHasher::default);
        let mut old_cells = old.map(|old| old.tuple().cells());
        let old_is_whole = matches!(old, Some(OldTuple::Row(_)));
        let mut patch = false;
        let columns = self.builder.columns_mut().iter_mut();
        let parts = columns
            .zip(&self.parsers)
            .zip(&self.in_key)
            .zip(new.cells())
            .enumerate();
        for (index, (((column, parser), in_key), mut cell)) in parts {
            let old_cell = old_cells.as_mut().and_then(Iterator::next);
            if let (Cell::Unchanged, Some(old_cell)) = (cell, old_cell)
                && (old_is_whole || *in_key)
            {
                cell = old_cell;
            }
            if let Some(hasher) = &mut hasher {
                hasher.add(text_of(cell).ok_or(RowError::NoKey)?);
            }
            match cell {
                Cell::Text(text) => parser.append(text, column)?,
                _ if *in_key => return Err(RowError::KeyNotInLog(self.names[index].clone())),
                Cell::Null => column.append_null(),
                Cell::Unchanged => {
                    column.append_null();
                    if !patch {
                        self.unchanged.fill(0);
                        patch = true;
                    }
                    self.unchanged[index / 8] |= 1 << (index % 8);
                }
            }
        }
        if !self.has_key {
            let hash = hasher.map(RowHasher::finish);
            self.append_hidden_key(hash, place);
        }
        if patch {
            self.builder.finish_patch(place.position, &self.unchanged);
        } else {
            self.builder
                .finish_version(place.position, VersionKind::Put);
        }
        Ok(())
    }

    /// Appends a delete of the row with the old row's key, or of one equal to the old row. It has the
    /// former cells that projections need.
    fn tombstone(&mut self, old: OldTuple<'_>, place: Place) -> Result<(), RowError> {
        let hash = match (self.has_key, old) {
            (true, _) => None,
            (false, OldTuple::Row(row)) if self.is_multiset => Some(hash_of(row)?),
            (false, _) => return Err(RowError::NoKey),
        };
        let is_whole = matches!(old, OldTuple::Row(_));
        self.check_columns(old.tuple())?;
        let columns = self.builder.columns_mut().iter_mut();
        let parts = columns
            .zip(&self.parsers)
            .zip(self.in_key.iter().zip(&self.is_kept))
            .zip(old.tuple().cells())
            .enumerate();
        for (index, (((column, parser), (in_key, is_kept)), cell)) in parts {
            match cell {
                Cell::Text(text) if *in_key || *is_kept && is_whole => {
                    parser.append(text, column)?
                }
                _ if *in_key => return Err(RowError::KeyNotInLog(self.names[index].clone())),
                Cell::Null if is_whole => column.append_null(),
                _ => {
                    self.lost |= *is_kept;
                    column.append_null();
                }
            }
        }
        if hash.is_some() {
            self.append_hidden_key(hash, Place::default());
        }
        self.builder
            .finish_version(place.position, VersionKind::Delete);
        Ok(())
    }

    fn check_columns(&self, tuple: Tuple<'_>) -> Result<(), RowError> {
        let (found, expected) = (tuple.columns(), self.parsers.len());
        if found == expected {
            Ok(())
        } else {
            Err(RowError::ColumnCount { found, expected })
        }
    }

    fn append_hidden_key(&mut self, hash: Option<[u64; 2]>, place: Place) {
        let hidden = &mut self.builder.columns_mut()[self.parsers.len()..];
        hidden_key::append(hidden, hash, place.position, place.ordinal);
    }
}

/// Whether one of these cells of the new row differs from the old one.
fn differs(old: Tuple<'_>, new: Tuple<'_>, columns: &[bool]) -> bool {
    let mut cells = old.cells().zip(new.cells()).zip(columns);
    cells.any(|((old, new), counts)| *counts && new != Cell::Unchanged && old != new)
}

/// The text of a cell, `None` for NULL; nothing if the log left it out.
fn text_of(cell: Cell<'_>) -> Option<Option<&[u8]>> {
    match cell {
        Cell::Null => Some(None),
        Cell::Text(text) => Some(Some(text)),
        Cell::Unchanged => None,
    }
}

/// The hash of a whole row.
fn hash_of(row: Tuple<'_>) -> Result<[u64; 2], RowError> {
    let mut hasher = RowHasher::default();
    for cell in row.cells() {
        hasher.add(text_of(cell).ok_or(RowError::NoKey)?);
    }
    Ok(hasher.finish())
}

/// The first `keep` of `rows`.
fn first_rows(mut rows: VersionRows, keep: usize) -> VersionRows {
    if keep < rows.len() {
        for column in &mut rows.columns {
            *column = column.slice(0, keep);
        }
        rows.unchanged = rows.unchanged.map(|unchanged| unchanged.slice(0, keep));
        rows.positions.truncate(keep);
        rows.kinds.truncate(keep);
    }
    rows
}
