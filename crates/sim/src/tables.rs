//! The simulated tables: three shapes of key, and rows between the model and Arrow.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use lsm::KeyRange;
use types::key::SortKey;
use types::{
    Column, ColumnBuilder, ColumnType, CommitPosition, RowsBuilder, SortKeys, TableId, TableName,
    TableSchema, VersionKind, VersionRows,
};

use crate::model::{Key, Row, Rows, Write};

const PRICE: ColumnType = ColumnType::Decimal {
    precision: 15,
    scale: 2,
};

/// The bit of the note among the columns, for each shape's number of key columns.
fn note_bit(key_columns: usize) -> u8 {
    1 << (key_columns + 1)
}

/// What a table's key columns look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One 64-bit column: keys of one word.
    Integer,
    /// A 32-bit and a 64-bit column: keys of two words.
    Pair,
    /// A text column: keys of bytes.
    Text,
}

/// A simulated table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its number.
    pub id: TableId,
}

fn pair(key: Key) -> (i32, i64) {
    ((key / 7) as i32 - 100, i64::from(key % 7) - 3)
}

/// Of different lengths, some with a zero byte, and ordered as the numbers are.
fn text(key: Key) -> String {
    format!("{key:06}{}", "\0x".repeat((key % 3) as usize))
}

impl Table {
    /// The shape, which follows from the number.
    pub fn shape(self) -> Shape {
        match self.id.0 % 3 {
            0 => Shape::Integer,
            1 => Shape::Pair,
            _ => Shape::Text,
        }
    }

    fn key_types(self) -> Vec<ColumnType> {
        match self.shape() {
            Shape::Integer => vec![ColumnType::Int64],
            Shape::Pair => vec![ColumnType::Int32, ColumnType::Int64],
            Shape::Text => vec![ColumnType::Text],
        }
    }

    /// The number of the table's columns.
    pub fn columns(self) -> usize {
        self.key_types().len() + 3
    }

    /// The table's schema.
    pub fn schema(self) -> TableSchema {
        let key_types = self.key_types();
        let key = key_types
            .iter()
            .map(|&column_type| Column::new("key", column_type));
        let cells = [
            Column::new("number", ColumnType::Int64),
            Column::new("note", ColumnType::Text),
            Column::new("price", PRICE),
        ];
        TableSchema {
            name: TableName {
                schema: "sim".to_owned(),
                name: format!("table_{}", self.id),
            },
            columns: key.chain(cells).collect(),
            key: (0..key_types.len()).collect(),
        }
    }

    /// Versions to ingest.
    pub fn versions(self, writes: &[(CommitPosition, Key, Write)]) -> VersionRows {
        let mut builder = RowsBuilder::new(&self.schema());
        for (position, key, write) in writes {
            self.append_key(*key, builder.columns_mut());
            let key_columns = self.key_types().len();
            append_cells(write, &mut builder.columns_mut()[key_columns..]);
            match write {
                Write::Put(_) => builder.finish_version(*position, VersionKind::Put),
                Write::Delete => builder.finish_version(*position, VersionKind::Delete),
                Write::Patch { .. } => builder.finish_patch(*position, &[note_bit(key_columns)]),
            }
        }
        builder.build()
    }

    fn append_key(self, key: Key, columns: &mut [ColumnBuilder]) {
        match (self.shape(), columns) {
            (Shape::Integer, [ColumnBuilder::Int64(column), ..]) => {
                column.append_value(i64::from(key) - 500);
            }
            (
                Shape::Pair,
                [
                    ColumnBuilder::Int32(first),
                    ColumnBuilder::Int64(second),
                    ..,
                ],
            ) => {
                first.append_value(pair(key).0);
                second.append_value(pair(key).1);
            }
            (Shape::Text, [ColumnBuilder::Text(column), ..]) => column.append_value(text(key)),
            _ => panic!("the builder is the table's"),
        }
    }

    fn sort_key(self, key: Key) -> SortKey {
        let columns: Vec<ArrayRef> = match self.shape() {
            Shape::Integer => vec![Arc::new(Int64Array::from(vec![i64::from(key) - 500]))],
            Shape::Pair => vec![
                Arc::new(Int32Array::from(vec![pair(key).0])),
                Arc::new(Int64Array::from(vec![pair(key).1])),
            ],
            Shape::Text => vec![Arc::new(StringArray::from(vec![text(key)]))],
        };
        SortKeys::compute(&columns, &self.key_types()).key(0)
    }

    /// The keys from `start` up to but not including `end`.
    pub fn range(self, start: Option<Key>, end: Option<Key>) -> KeyRange {
        let key = |key: Option<Key>| key.map(|key| self.sort_key(key));
        KeyRange {
            start: key(start),
            end: key(end),
        }
    }

    /// The rows of a batch that has all columns, in order.
    pub fn rows(self, batch: &RecordBatch) -> Vec<(Key, Row)> {
        let key_columns = self.key_types().len();
        let numbers = batch.column(key_columns).as_primitive::<Int64Type>();
        let notes = batch.column(key_columns + 1).as_string::<i32>();
        let prices = batch
            .column(key_columns + 2)
            .as_primitive::<Decimal128Type>();
        let row = |index: usize| Row {
            number: numbers.is_valid(index).then(|| numbers.value(index)),
            note: notes.is_valid(index).then(|| notes.value(index).to_owned()),
            price: prices.is_valid(index).then(|| prices.value(index)),
        };
        (0..batch.num_rows())
            .map(|index| (self.key(batch, index), row(index)))
            .collect()
    }

    /// # Panics
    /// When the key columns hold what no key is mapped to.
    fn key(self, batch: &RecordBatch, index: usize) -> Key {
        let word = |column: usize| {
            batch
                .column(column)
                .as_primitive::<Int64Type>()
                .value(index)
        };
        let key = match self.shape() {
            Shape::Integer => word(0) + 500,
            Shape::Pair => {
                let first = batch.column(0).as_primitive::<Int32Type>().value(index);
                (i64::from(first) + 100) * 7 + word(1) + 3
            }
            Shape::Text => {
                let found = batch.column(0).as_string::<i32>().value(index);
                let key = found[..6].parse().expect("six digits");
                assert_eq!(found, text(key), "a key's text");
                i64::from(key)
            }
        };
        Key::try_from(key).expect("a key that was written")
    }
}

fn append_cells(write: &Write, columns: &mut [ColumnBuilder]) {
    let [
        ColumnBuilder::Int64(numbers),
        ColumnBuilder::Text(notes),
        ColumnBuilder::Decimal(prices),
    ] = columns
    else {
        panic!("the builder is the table's")
    };
    match write {
        Write::Put(row) => {
            numbers.append_option(row.number);
            notes.append_option(row.note.as_ref());
            prices.append_option(row.price);
        }
        Write::Delete => {
            numbers.append_null();
            notes.append_null();
            prices.append_null();
        }
        Write::Patch { number, price } => {
            numbers.append_option(*number);
            notes.append_null();
            prices.append_option(*price);
        }
    }
}

/// The rows of a model's table within a range.
pub fn rows_between(rows: &Rows, start: Option<Key>, end: Option<Key>) -> Vec<(Key, Row)> {
    rows.iter()
        .filter(|&(&key, _)| start.is_none_or(|start| key >= start))
        .filter(|&(&key, _)| end.is_none_or(|end| key < end))
        .map(|(&key, row)| (key, row.clone()))
        .collect()
}
