//! Rows of small tables, written and read back cell by cell. The unit tests in `src` are built
//! from this file, too.

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use types::{
    Column, ColumnBuilder, ColumnType, CommitPosition, RowsBuilder, TableName, TableSchema,
    VersionKind, VersionRows,
};

/// A cell of a version.
#[derive(Clone, Debug)]
pub enum Cell {
    /// Of an integer column of any width.
    Number(i64),
    /// Of a text column.
    Text(String),
    /// Of any column.
    Null,
    /// What a patch leaves as it was.
    Unchanged,
}

/// A version of a row, with a cell for each column.
#[derive(Clone, Debug)]
pub struct Version {
    position: CommitPosition,
    kind: VersionKind,
    cells: Vec<Cell>,
}

impl Version {
    /// A version with its cells in schema order.
    pub fn new(position: u64, kind: VersionKind, cells: impl Into<Vec<Cell>>) -> Self {
        Self {
            position: CommitPosition(position),
            kind,
            cells: cells.into(),
        }
    }
}

/// A table with these columns, the first of which is its key.
pub fn table_schema(columns: &[(&str, ColumnType)]) -> TableSchema {
    let columns = (1..).zip(columns);
    TableSchema {
        name: TableName {
            schema: "public".to_owned(),
            name: "t".to_owned(),
        },
        columns: columns
            .map(|(number, &(name, column_type))| Column {
                source_number: number,
                ..Column::new(name, column_type)
            })
            .collect(),
        key: vec![0],
    }
}

/// The versions in the order of writing.
pub fn version_rows(
    schema: &TableSchema,
    versions: impl IntoIterator<Item = Version>,
) -> VersionRows {
    let mut rows = RowsBuilder::new(schema);
    for version in versions {
        append(&version, &mut rows);
    }
    rows.build()
}

fn append(version: &Version, rows: &mut RowsBuilder) {
    assert_eq!(version.cells.len(), rows.columns_mut().len());
    for (column, cell) in rows.columns_mut().iter_mut().zip(&version.cells) {
        append_cell(cell, column);
    }
    match version.kind {
        VersionKind::Patch => {
            rows.finish_patch(version.position, &[unchanged_bits(&version.cells)]);
        }
        kind => rows.finish_version(version.position, kind),
    }
}

fn append_cell(cell: &Cell, column: &mut ColumnBuilder) {
    match (cell, column) {
        (&Cell::Number(number), ColumnBuilder::Int32(cells)) => {
            cells.append_value(i32::try_from(number).expect("a number of 32 bits"));
        }
        (&Cell::Number(number), ColumnBuilder::Int64(cells)) => cells.append_value(number),
        (Cell::Text(text), ColumnBuilder::Text(cells)) => cells.append_value(text),
        (Cell::Null | Cell::Unchanged, column) => column.append_null(),
        (cell, column) => panic!("{cell:?} in {column:?}"),
    }
}

fn unchanged_bits(cells: &[Cell]) -> u8 {
    let bit = |(column, cell): (usize, &Cell)| u8::from(matches!(cell, Cell::Unchanged)) << column;
    cells.iter().enumerate().map(bit).sum()
}

/// The rows of a column of numbers and a column of texts.
pub fn numbers_and_texts(
    columns: &[ArrayRef],
) -> impl Iterator<Item = (Option<i64>, Option<String>)> {
    let numbers = columns[0].as_primitive::<Int64Type>().iter();
    let texts = columns[1].as_string::<i32>().iter();
    numbers.zip(texts.map(|text| text.map(str::to_owned)))
}

/// Text that no codec makes shorter by much: characters of seven bits, drawn anew for each seed.
pub fn noise(seed: u64, length: usize) -> String {
    let mut state = seed;
    let mut draw = || {
        state = (state ^ state >> 29).wrapping_add(0x9E37_79B9_7F4A_7C15);
        let drawn = state.wrapping_mul(0xBF58_476D_1CE4_E5B9);
        1 + ((drawn ^ drawn >> 32) % 127) as u8
    };
    (0..length).map(|_| char::from(draw())).collect()
}
