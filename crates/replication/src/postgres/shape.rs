//! What becomes of a table whose shape in the log differs from what we store.
//!
//! A relation message names the columns of a table as they are at its place in the log, without
//! the numbers that are stable under renames. Those come from the source's catalog, which is
//! asked when the message comes and may be further on. So:
//!
//! 1. Does the catalog show what the message shows? Else the change lies ahead (the message still
//!    shows what we store) or was overtaken by another: the table is copied again.
//! 2. Columns are matched by number: some are gone, some new, some renamed, some retyped.
//! 3. A new column's value in old rows is what the catalog keeps for rows that were not rewritten.
//! 4. If PostgreSQL rewrote the table's file, its cells may be any function of the old ones, and
//!    the log does not have them: the table is copied again.
//! 5. The rows of a multiset are found by a hash of all their cells: with other columns or types it is
//!    copied again.
//!
//! Why matching by a later catalog is sound: numbers are never used twice, so a number that the
//! catalog shows and that we store was there at the message, too. Names in number order agree
//! between message and catalog. If nothing is gone, or nothing new, the sets of numbers are equal
//! as well; if both, a column may have been dropped and another one made under its name after the
//! message, and the table is copied again.

use arrow_array::ArrayRef;
use types::{Column, ColumnBuilder, ColumnOrigin, ColumnType};

use super::catalog::{PublishedColumn, PublishedTable};
use super::changes::ReplicatedTable;
use super::hidden_key::is_multiset;
use super::pgoutput::Relation;
use super::text::CellParser;

/// What to do with a table.
#[derive(Debug)]
pub enum Plan {
    /// Nothing: it is as we store it.
    Keep,
    /// Other names or source types for the same cells.
    Describe,
    /// Other columns; where each of the new ones comes from.
    Reshape(Vec<ColumnOrigin>),
    /// The log does not have what is needed; why.
    CopyAgain(String),
}

/// Plans what becomes of `table`, which the log shows as `now` and the catalog as `described`.
pub fn plan(table: &ReplicatedTable, now: &Relation, described: &PublishedTable) -> Plan {
    let comparison = Comparison::new(table, now, described);
    match comparison.columns() {
        Err(reason) => Plan::CopyAgain(reason),
        Ok(None) => Plan::Keep,
        Ok(Some(origins)) => comparison.plan_of(origins),
    }
}

/// Whether the catalog shows what the message shows.
pub fn agrees(described: &PublishedTable, now: &Relation) -> bool {
    let mut columns = described.columns.iter().zip(&now.columns);
    described.name == now.name
        && described.columns.len() == now.columns.len()
        && columns.all(|(described, now)| {
            let described = (&described.name, described.wire_oid, described.wire_modifier);
            described == (&now.name, now.type_oid, now.modifier)
        })
}

struct Comparison<'a> {
    table: &'a ReplicatedTable,
    now: &'a Relation,
    described: &'a PublishedTable,
    /// The stored columns that the source has, with their types in the log.
    stored: Vec<(&'a Column, (u32, i32))>,
}

impl<'a> Comparison<'a> {
    fn new(table: &'a ReplicatedTable, now: &'a Relation, described: &'a PublishedTable) -> Self {
        let visible = table.schema.columns.iter().filter(|c| !c.hidden);
        Self {
            stored: visible.zip(table.wire.types.iter().copied()).collect(),
            table,
            now,
            described,
        }
    }

    /// Where each column that the source has now comes from; `None` where the table is still as
    /// we store it, and only the catalog is further on.
    fn columns(&self) -> Result<Option<Vec<ColumnOrigin>>, String> {
        let is_gone = |(stored, _): &&(&Column, _)| self.described_as(stored).is_none();
        let gone = self.stored.iter().any(|column| is_gone(&column));
        if !agrees(self.described, self.now) {
            let grew = self.described.number_max > self.table.wire.number_max;
            if self.is_as_stored() && !(gone && grew) {
                return Ok(None);
            }
            return Err("its columns changed several times in a row".to_owned());
        }
        if gone
            && self
                .described
                .columns
                .iter()
                .any(|c| self.stored_as(c).is_none())
        {
            return Err("columns were dropped and others added".to_owned());
        }
        self.check_key()?;
        if self.described.row_filter != self.table.wire.row_filter {
            return Err("the publication's row filter changed".to_owned());
        }
        let columns = self.described.columns.iter();
        columns
            .map(|column| match self.stored_as(column) {
                Some(place) => self.kept_column(place, column),
                None => self.new_column(column),
            })
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// Whether the cells stay as they are, or what has to be done with them.
    fn plan_of(&self, mut origins: Vec<ColumnOrigin>) -> Plan {
        let schema = self.described.schema();
        let old = &self.table.schema;
        let hidden = old.columns.iter().enumerate().filter(|(_, c)| c.hidden);
        origins.extend(hidden.map(|(place, _)| ColumnOrigin::Stored(place)));
        let in_place = |(place, origin): (usize, &ColumnOrigin)| match origin {
            ColumnOrigin::Stored(stored) => {
                let types = [&old.columns[*stored], &schema.columns[place]].map(|c| c.column_type);
                *stored == place && types[0] == types[1]
            }
            ColumnOrigin::Constant(_) => false,
        };
        let same_cells =
            origins.len() == old.columns.len() && origins.iter().enumerate().all(in_place);
        let same_types = self.stored.iter().zip(&self.described.columns);
        let mut same_types =
            same_types.map(|((_, wire), c)| *wire == (c.wire_oid, c.wire_modifier));
        let same_types = same_types.all(|same| same);
        if is_multiset(old) && !(same_cells && same_types) {
            return Plan::CopyAgain("its columns changed, and it has no key".to_owned());
        }
        match (same_cells, schema == **old && same_types) {
            (true, true) => Plan::Keep,
            (true, false) => Plan::Describe,
            (false, _) => Plan::Reshape(origins),
        }
    }

    /// Whether the message shows what we store.
    fn is_as_stored(&self) -> bool {
        let columns = self.stored.iter().zip(&self.now.columns);
        self.table.schema.name == self.now.name
            && self.stored.len() == self.now.columns.len()
            && columns.into_iter().all(|((stored, wire), now)| {
                stored.name == now.name && *wire == (now.type_oid, now.modifier)
            })
    }

    fn stored_as(&self, column: &PublishedColumn) -> Option<usize> {
        let same = |(stored, _): &(&Column, _)| stored.source_number == column.number;
        self.stored.iter().position(same)
    }

    fn described_as(&self, stored: &Column) -> Option<&'a PublishedColumn> {
        let same = |c: &&PublishedColumn| c.number == stored.source_number;
        self.described.columns.iter().find(same)
    }

    /// Rows must still be identified by the columns that the tree is sorted by.
    fn check_key(&self) -> Result<(), String> {
        let changed = || Err("its primary key or replica identity changed".to_owned());
        let old = &self.table.schema;
        let number = |&place: &usize| self.described.columns[place].number;
        let described: Option<Vec<i16>> = self
            .described
            .key
            .as_ref()
            .map(|key| key.iter().map(number).collect());
        if !old.has_source_key() {
            let (is_full, was_full) = (self.described.identity == 'f', is_multiset(old));
            return match described {
                None if is_full == was_full => Ok(()),
                _ => changed(),
            };
        }
        let stored = old
            .key
            .iter()
            .map(|&place| old.columns[place].source_number);
        if described != Some(stored.collect()) {
            return changed();
        }
        let key = self.described.key.iter().flatten();
        let in_key: Vec<usize> = key.copied().collect();
        let mut columns = self.now.columns.iter().enumerate();
        let identifies = columns.all(|(place, c)| c.identity == in_key.contains(&place));
        if identifies || self.now.identity == b'f' {
            Ok(())
        } else {
            changed()
        }
    }

    /// A column that we store already, perhaps as another type.
    fn kept_column(&self, place: usize, column: &PublishedColumn) -> Result<ColumnOrigin, String> {
        let (stored, wire) = self.stored[place];
        let retyped = wire != (column.wire_oid, column.wire_modifier);
        if retyped && (self.may_be_rewritten() || !fits(stored, column)) {
            return Err(format!("the type of column \"{}\" changed", column.name));
        }
        Ok(ColumnOrigin::Stored(place))
    }

    /// A column that came: the catalog knows what rows from before it have in it.
    fn new_column(&self, column: &PublishedColumn) -> Result<ColumnOrigin, String> {
        let name = &column.name;
        if column.number <= self.table.wire.number_max {
            return Err(format!("column \"{name}\" was published again"));
        }
        if column.missing.is_none() && self.may_be_rewritten() {
            return Err(format!(
                "column \"{name}\" was added and old rows were rewritten"
            ));
        }
        let stored = column.stored();
        let cell = constant(&stored, column.missing.as_deref());
        cell.map(ColumnOrigin::Constant)
            .map_err(|error| format!("column \"{name}\" was added: {error}"))
    }

    /// Whether rows may have been rewritten without the log. Not known of partitioned tables.
    fn may_be_rewritten(&self) -> bool {
        let (before, now) = (self.table.wire.file, self.described.file);
        before == 0 || before != now
    }
}

/// Whether every cell of a stored column is exactly a cell of what it has become, given that
/// PostgreSQL did not touch the bytes.
fn fits(stored: &Column, column: &PublishedColumn) -> bool {
    use ColumnType::{Decimal, Text, Timestamp, TimestampTz};
    match (stored.column_type, column.stored().column_type) {
        (
            Decimal { precision, scale },
            Decimal {
                precision: to_precision,
                scale: to_scale,
            },
        ) => precision <= to_precision && scale == to_scale,
        (Decimal { .. }, Text) => true,
        (Timestamp, TimestampTz) | (TimestampTz, Timestamp) => true,
        (from, to) => from == to,
    }
}

/// An array with one cell: the text, or NULL.
fn constant(column: &Column, text: Option<&str>) -> Result<ArrayRef, String> {
    let mut builder = ColumnBuilder::new(column.column_type);
    match text {
        None => builder.append_null(),
        Some(text) => CellParser::new(column)
            .append(text.as_bytes(), &mut builder)
            .map_err(|error| error.to_string())?,
    }
    Ok(builder.finish())
}
