//! The tree of a projection: its schema, and its table's versions as its own.
//!
//! A key cell is never NULL. So a column that may be NULL is in the key as two hidden ones: whether it
//! is NULL, and its cells with something else in place of NULL. False comes before true: NULLs come last,
//! as in PostgreSQL.
//!
//! ```text
//!   table       id, day, note            key id
//!   by day      id, day, note            key day, id                (day cannot be NULL)
//!   by note     id, day, note, n?, n     key n?, n, id
//! ```
//!
//! The columns of the table keep their places.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Scalar};
use arrow_buffer::BooleanBuffer;
use arrow_select::zip::zip;
use types::{
    Column, ColumnBuilder, ColumnType, OrderColumn, TableSchema, VersionKind, VersionRows,
};

/// Why versions of a table cannot be put into its projection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// NULL in a column that had none.
    #[error(
        "column \"{0}\" has a NULL, which it did not allow when the projection was made. Drop the projection \
         and create it again"
    )]
    Null(String),
    /// An update without all cells of the row.
    #[error(
        "an UPDATE came without the row's cells in all columns that the projection is ordered by"
    )]
    Patch,
}

/// What a column of a tree's key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyColumn {
    /// The cells of a column of the table; where NULL is allowed, in rows without it.
    Cells(usize),
    /// Whether a column of the table is NULL: true in the key's last rows.
    NullMark(usize),
}

/// What a column of a table is in the key of a projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyPart {
    /// The column itself.
    Plain(usize),
    /// A column that may be NULL, as two others.
    Nullable(usize),
}

/// How the tree of a projection is made of its table's columns.
#[derive(Clone, Debug)]
pub struct Layout {
    parts: Vec<KeyPart>,
    table: Arc<TableSchema>,
    schema: Arc<TableSchema>,
}

/// The name of a hidden column.
fn hidden(column: &Column, column_type: ColumnType, what: &str) -> Column {
    Column {
        hidden: true,
        nullable: false,
        ..Column::new(&format!("__{what}_{}", column.name), column_type)
    }
}

impl Layout {
    /// The layout of a projection of `table`, ordered by `order_by` and then the table's key.
    pub fn new(table: &Arc<TableSchema>, order_by: &[OrderColumn]) -> Self {
        let mut columns = table.columns.clone();
        let (mut key, mut parts) = (Vec::new(), Vec::new());
        for &OrderColumn { column, nullable } in order_by {
            if !nullable || table.key.contains(&column) {
                key.push(column);
                parts.push(KeyPart::Plain(column));
                continue;
            }
            let of = &table.columns[column];
            let first = columns.len();
            columns.push(hidden(of, ColumnType::Bool, "null"));
            columns.push(hidden(of, of.column_type, "order"));
            key.extend([first, first + 1]);
            parts.push(KeyPart::Nullable(column));
        }
        let rest: Vec<usize> = (table.key.iter().copied())
            .filter(|c| !key.contains(c))
            .collect();
        key.extend(rest);
        let schema = TableSchema {
            name: table.name.clone(),
            columns,
            key,
        };
        Self {
            parts,
            table: Arc::clone(table),
            schema: Arc::new(schema),
        }
    }

    /// The schema of the tree.
    pub fn schema(&self) -> &Arc<TableSchema> {
        &self.schema
    }

    /// What the columns of the key are.
    pub fn key(&self) -> Vec<KeyColumn> {
        let ordered = self.parts.iter().flat_map(|part| match *part {
            KeyPart::Plain(column) => vec![KeyColumn::Cells(column)],
            KeyPart::Nullable(column) => {
                vec![KeyColumn::NullMark(column), KeyColumn::Cells(column)]
            }
        });
        let mut key: Vec<_> = ordered.collect();
        let rest = self.schema.key[key.len()..].iter().copied();
        key.extend(rest.map(KeyColumn::Cells));
        key
    }

    /// The number of the table's stored columns, which are the tree's first.
    pub fn table_columns(&self) -> usize {
        self.table.columns.len()
    }

    /// The table's versions as versions of the projection.
    pub fn versions(&self, rows: &VersionRows) -> Result<VersionRows, LayoutError> {
        self.check_patches(rows)?;
        let mut columns = rows.columns.clone();
        for part in &self.parts {
            match *part {
                KeyPart::Plain(column) => self.check_nulls(column, rows)?,
                KeyPart::Nullable(column) => {
                    let cells = &rows.columns[column];
                    let column_type = self.table.columns[column].column_type;
                    columns.push(null_marks(cells));
                    columns.push(without_nulls(cells, column_type));
                }
            }
        }
        Ok(VersionRows {
            columns,
            positions: rows.positions.clone(),
            kinds: rows.kinds.clone(),
            unchanged: rows.unchanged.clone(),
        })
    }

    fn check_nulls(&self, column: usize, rows: &VersionRows) -> Result<(), LayoutError> {
        if rows.columns[column].null_count() == 0 {
            return Ok(());
        }
        Err(LayoutError::Null(self.table.columns[column].name.clone()))
    }

    /// A patch is one in the projection, too, as long as it has all cells of the key, and the bits of
    /// its columns are those of the projection's.
    fn check_patches(&self, rows: &VersionRows) -> Result<(), LayoutError> {
        let Some(unchanged) = &rows.unchanged else {
            return Ok(());
        };
        let is_patch = |&row: &usize| rows.kinds[row] == VersionKind::Patch as u8;
        let has_key = |row: usize| {
            let bits = unchanged.value(row);
            self.parts.iter().all(|part| match *part {
                KeyPart::Plain(column) => bits[column / 8] & 1 << (column % 8) == 0,
                KeyPart::Nullable(_) => false,
            })
        };
        match (0..rows.len()).filter(is_patch).all(has_key) {
            true => Ok(()),
            false => Err(LayoutError::Patch),
        }
    }
}

/// True where a cell is NULL.
fn null_marks(cells: &ArrayRef) -> ArrayRef {
    let marks = match cells.nulls() {
        Some(nulls) => !nulls.inner(),
        None => BooleanBuffer::new_unset(cells.len()),
    };
    Arc::new(BooleanArray::new(marks, None))
}

/// The cells with one and the same other cell in place of each NULL.
fn without_nulls(cells: &ArrayRef, column_type: ColumnType) -> ArrayRef {
    let Some(nulls) = cells.nulls().filter(|nulls| nulls.null_count() > 0) else {
        return Arc::clone(cells);
    };
    let valid = BooleanArray::new(nulls.inner().clone(), None);
    let other = Scalar::new(placeholder(column_type));
    zip(&valid, cells, &other).expect("both have the column's type")
}

/// An array of one cell that is not NULL.
fn placeholder(column_type: ColumnType) -> ArrayRef {
    let mut builder = ColumnBuilder::new(column_type);
    match &mut builder {
        ColumnBuilder::Bool(cells) => cells.append_value(false),
        ColumnBuilder::Int16(cells) => cells.append_value(0),
        ColumnBuilder::Int32(cells) => cells.append_value(0),
        ColumnBuilder::Int64(cells) => cells.append_value(0),
        ColumnBuilder::UInt64(cells) => cells.append_value(0),
        ColumnBuilder::Float32(cells) => cells.append_value(0.0),
        ColumnBuilder::Float64(cells) => cells.append_value(0.0),
        ColumnBuilder::Decimal(cells) => cells.append_value(0),
        ColumnBuilder::Date(cells) => cells.append_value(0),
        ColumnBuilder::Time(cells) => cells.append_value(0),
        ColumnBuilder::Timestamp(cells) => cells.append_value(0),
        ColumnBuilder::Text(cells) => cells.append_value(""),
        ColumnBuilder::Bytes(cells) => cells.append_value(b""),
    }
    builder.finish()
}
