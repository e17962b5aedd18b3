//! The simulated tables: three shapes of key, and rows between the model and Arrow.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use lsm::{KeyRange, Snapshot, StoreError};
use types::key::SortKey;
use types::{
    Column, ColumnBuilder, ColumnType, CommitPosition, RowsBuilder, SortKeys, TableId, TableName,
    TableSchema, Value, VersionKind, VersionRows,
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
    format!("{key:06}{}", endings(key))
}

fn endings(key: Key) -> &'static str {
    ["", "\0x", "\0x\0x"][(key % 3) as usize]
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

    /// Where among the table's columns the rows' numbers are.
    pub fn number_column(self) -> usize {
        self.key_types().len()
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

    /// Arrays of the key columns of these keys, in key order.
    pub fn key_arrays(self, keys: &[Key]) -> Vec<ArrayRef> {
        let pairs = || keys.iter().map(|&key| pair(key));
        let numbers = || keys.iter().map(|&key| i64::from(key) - 500);
        match self.shape() {
            Shape::Integer => vec![Arc::new(Int64Array::from_iter_values(numbers()))],
            Shape::Pair => vec![
                Arc::new(Int32Array::from_iter_values(pairs().map(|pair| pair.0))),
                Arc::new(Int64Array::from_iter_values(pairs().map(|pair| pair.1))),
            ],
            Shape::Text => vec![Arc::new(StringArray::from_iter_values(
                keys.iter().map(|&key| text(key)),
            ))],
        }
    }

    fn sort_key(self, key: Key) -> SortKey {
        SortKeys::compute(&self.key_arrays(&[key]), &self.key_types()).key(0)
    }

    /// The row of one key, as far as a look-up says.
    pub fn get(self, snapshot: &Snapshot, key: Key) -> Result<Option<Row>, StoreError> {
        let text = text(key);
        let (first, second) = pair(key);
        let values = match self.shape() {
            Shape::Integer => vec![Value::Int(i64::from(key) - 500)],
            Shape::Pair => vec![Value::Int(first.into()), Value::Int(second)],
            Shape::Text => vec![Value::Bytes(text.as_bytes())],
        };
        let key_columns = self.key_types().len();
        let cells: Vec<usize> = (key_columns..self.columns()).collect();
        let found = snapshot.get(self.id, &values, &cells)?;
        Ok(found.map(|row| row_of_values(&row)))
    }

    /// The keys from `start` up to but not including `end`.
    pub fn range(self, start: Option<Key>, end: Option<Key>) -> KeyRange {
        let key = |key: Option<Key>| key.map(|key| self.sort_key(key));
        KeyRange {
            start: key(start),
            end: key(end),
        }
    }
}

fn row_of_values(found: &lsm::Row) -> Row {
    let [number, note, price] = [0, 1, 2].map(|column| found.value(column));
    Row {
        number: match number {
            Value::Int(number) => Some(number),
            Value::Null => None,
            other => panic!("{other:?} in a column of numbers"),
        },
        note: match note {
            Value::Bytes(note) => Some(str::from_utf8(note).expect("UTF-8").into()),
            Value::Null => None,
            other => panic!("{other:?} in a column of notes"),
        },
        price: match price {
            Value::Decimal(price) => Some(price),
            Value::Null => None,
            other => panic!("{other:?} in a column of prices"),
        },
    }
}

enum KeyCells<'a> {
    Integer(&'a [i64]),
    Pair(&'a [i32], &'a [i64]),
    Text(&'a StringArray),
}

/// The rows of a batch that has all columns.
pub struct BatchRows<'a> {
    rows: usize,
    keys: KeyCells<'a>,
    numbers: &'a Int64Array,
    notes: &'a StringArray,
    prices: &'a Decimal128Array,
}

impl<'a> BatchRows<'a> {
    /// The rows of a table's batch.
    pub fn new(table: Table, batch: &'a RecordBatch) -> Self {
        let word = |column: usize| &batch.column(column).as_primitive::<Int64Type>().values()[..];
        let keys = match table.shape() {
            Shape::Integer => KeyCells::Integer(word(0)),
            Shape::Pair => KeyCells::Pair(
                batch.column(0).as_primitive::<Int32Type>().values(),
                word(1),
            ),
            Shape::Text => KeyCells::Text(batch.column(0).as_string()),
        };
        let key_columns = table.key_types().len();
        Self {
            rows: batch.num_rows(),
            keys,
            numbers: batch.column(key_columns).as_primitive(),
            notes: batch.column(key_columns + 1).as_string(),
            prices: batch.column(key_columns + 2).as_primitive(),
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// A row's key.
    ///
    /// # Panics
    /// When the key columns hold what no key is mapped to.
    pub fn key(&self, index: usize) -> Key {
        let key = match self.keys {
            KeyCells::Integer(words) => words[index] + 500,
            KeyCells::Pair(first, second) => {
                (i64::from(first[index]) + 100) * 7 + second[index] + 3
            }
            KeyCells::Text(texts) => {
                let found = texts.value(index);
                let key: Key = found[..6].parse().expect("six digits");
                assert_eq!(found[6..], *endings(key), "a key's text");
                key.into()
            }
        };
        Key::try_from(key).expect("a key that was written")
    }

    /// Whether a row's cells are those of `row`.
    pub fn equals(&self, index: usize, row: &Row) -> bool {
        let is = |valid: bool, wanted: bool| valid == wanted;
        is(self.numbers.is_valid(index), row.number.is_some())
            && is(self.notes.is_valid(index), row.note.is_some())
            && is(self.prices.is_valid(index), row.price.is_some())
            && row.number.is_none_or(|it| it == self.numbers.value(index))
            && row.price.is_none_or(|it| it == self.prices.value(index))
            && row
                .note
                .as_ref()
                .is_none_or(|it| **it == *self.notes.value(index))
    }

    /// A row's cells.
    pub fn row(&self, index: usize) -> Row {
        Row {
            number: self
                .numbers
                .is_valid(index)
                .then(|| self.numbers.value(index)),
            note: self
                .notes
                .is_valid(index)
                .then(|| self.notes.value(index).into()),
            price: self
                .prices
                .is_valid(index)
                .then(|| self.prices.value(index)),
        }
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
pub fn rows_between(
    rows: &Rows,
    start: Option<Key>,
    end: Option<Key>,
) -> impl Iterator<Item = (Key, &Row)> {
    let (start, end) = (start.unwrap_or(0), end.unwrap_or(Key::MAX));
    let range = rows.range(start..end.max(start));
    range.map(|(&key, row)| (key, row))
}
