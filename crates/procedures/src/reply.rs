//! What a call answers: how many rows it has changed, and the rows of its SELECT.
//!
//! The number of changed rows (u64), that of rows (u32), then the values of each row end to end. Replies are
//! not kept.

use crate::cast::cast;
use crate::datum::Datum;
use crate::encoding::{Reader, put};
use crate::sql_type::SqlType;
use crate::table::Table;

const HEADER_BYTES: usize = 12;

/// A column of what a procedure answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
}

impl ReplyColumn {
    /// A column of a table.
    pub(crate) fn of_column(table: &Table, column: usize) -> Self {
        Self {
            name: table.names[column].clone(),
            sql_type: table.types[column],
        }
    }
}

/// Makes a reply.
pub(crate) struct Reply<'b> {
    out: &'b mut Vec<u8>,
    changed: u64,
    rows: u32,
}

impl<'b> Reply<'b> {
    /// In an empty buffer.
    pub(crate) fn new(out: &'b mut Vec<u8>) -> Self {
        out.clear();
        out.resize(HEADER_BYTES, 0);
        Self {
            out,
            changed: 0,
            rows: 0,
        }
    }

    /// More rows were changed.
    pub(crate) fn count(&mut self, changed: u64) {
        self.changed += changed;
    }

    /// One more row.
    pub(crate) fn row(&mut self, values: &[Datum<'_>]) {
        self.rows += 1;
        values.iter().for_each(|datum| put(datum, self.out));
    }

    /// The end.
    pub(crate) fn finish(self) {
        self.out[..8].copy_from_slice(&self.changed.to_le_bytes());
        self.out[8..HEADER_BYTES].copy_from_slice(&self.rows.to_le_bytes());
    }
}

/// What a call has answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered<'b> {
    /// Rows that were added, changed or removed.
    pub changed: u64,
    /// The rows of the SELECT.
    pub rows: Vec<Vec<Datum<'b>>>,
}

impl<'b> Answered<'b> {
    /// Reads a reply with so many columns; `None` when it is none.
    pub fn read(reply: &'b [u8], columns: usize) -> Option<Self> {
        let mut reader = Reader(reply);
        let (changed, count) = (reader.u64()?, reader.u32()?);
        let mut rows = Vec::new();
        for _ in 0..count {
            let row: Option<Vec<_>> = (0..columns).map(|_| reader.datum()).collect();
            rows.push(row?);
        }
        Some(Self { changed, rows })
    }
}

/// PostgreSQL's detail about a key that is there already.
pub(crate) fn key_detail(table: &Table, columns: &[usize], row: &[Datum<'_>]) -> String {
    let names: Vec<&str> = columns.iter().map(|c| table.names[*c].as_str()).collect();
    let value =
        |&column: &usize| match cast(row[column].clone(), table.types[column], SqlType::Text) {
            Ok(Datum::Bytes(text)) => String::from_utf8_lossy(&text).into_owned(),
            _ => "null".to_owned(),
        };
    let values: Vec<String> = columns.iter().map(value).collect();
    format!(
        "Key ({})=({}) already exists.",
        names.join(", "),
        values.join(", ")
    )
}
