//! Where a row's cells are: a *body* of fixed width and, beside it, its texts end to end.
//!
//! ```text
//! body: NULL bits | cells of fixed width, packed | number of the text u32 | end of each text u16
//! ```
//!
//! The last two are there when the table has text columns. The body of an evicted row is the same,
//! with number 0 and the texts behind it; so rows go to disk and come back as two copies.

use types::{ColumnType, Value};

use crate::cell;
use crate::schema::{ColumnDefinition, ColumnNumber};
use crate::stop::Violation;
use crate::text_arena::{TEXT_BYTES_MAX, TextNumber};

/// Where a column's cells are.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// At an offset, so many bytes.
    Fixed(usize, usize),
    /// The same, of an integer, date or time.
    Int(usize, usize),
    /// The text of this ordinal.
    Text(usize),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct RowLayout {
    columns: Vec<(ColumnType, bool, Place)>,
    text_number_at: usize,
    texts: usize,
    body_bytes: usize,
}

/// A row's bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowBytes<'a> {
    pub(crate) body: &'a [u8],
    pub(crate) text: &'a [u8],
}

impl RowBytes<'_> {
    /// Bytes of the row.
    pub(crate) fn length(self) -> usize {
        self.body.len() + self.text.len()
    }
}

/// A row being made or changed.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub(crate) struct RowBuffer {
    pub(crate) body: Vec<u8>,
    pub(crate) text: Vec<u8>,
}

impl RowLayout {
    /// The layout of a table's rows.
    pub(crate) fn new(columns: &[ColumnDefinition]) -> Self {
        let mut at = columns.len().div_ceil(8);
        let mut texts = 0;
        let places: Vec<_> = columns
            .iter()
            .map(|column| {
                let place = if let Some(width) = cell::width(column.column_type) {
                    at += width;
                    match cell::is_int(column.column_type) {
                        true => Place::Int(at - width, width),
                        false => Place::Fixed(at - width, width),
                    }
                } else {
                    texts += 1;
                    Place::Text(texts - 1)
                };
                (column.column_type, column.is_nullable, place)
            })
            .collect();
        let after = if texts == 0 { 0 } else { 4 + 2 * texts };
        Self {
            columns: places,
            text_number_at: at,
            texts,
            body_bytes: at + after,
        }
    }

    /// Bytes of a body.
    pub(crate) fn body_bytes(&self) -> usize {
        self.body_bytes
    }

    /// Where the cells of a column are in a body, unless it is one of texts.
    pub(crate) fn fixed_at(&self, column: ColumnNumber) -> Option<usize> {
        match self.columns[column].2 {
            Place::Fixed(at, _) | Place::Int(at, _) => Some(at),
            Place::Text(_) => None,
        }
    }

    /// Columns.
    pub(crate) fn columns(&self) -> usize {
        self.columns.len()
    }

    /// Whether rows have texts.
    pub(crate) fn has_texts(&self) -> bool {
        self.texts > 0
    }

    /// Appends a row of a value for each column: its body, and its texts behind it.
    pub(crate) fn encode(&self, values: &[Value<'_>], out: &mut Vec<u8>) -> Result<(), Violation> {
        if values.len() != self.columns.len() {
            return Err(Violation::Columns {
                expected: self.columns.len(),
                found: values.len(),
            });
        }
        let start = out.len();
        let texts = start + self.body_bytes;
        out.resize(texts, 0);
        for (column, value) in values.iter().enumerate() {
            self.check(column, value)?;
            let (column_type, _, place) = self.columns[column];
            match (value, place) {
                (Value::Null, _) => out[start + column / 8] |= 1 << (column % 8),
                (value, Place::Fixed(at, width) | Place::Int(at, width)) => {
                    let at = start + at;
                    cell::write(value, column_type, &mut out[at..at + width]);
                }
                (Value::Bytes(text), Place::Text(_)) => out.extend_from_slice(text),
                _ => unreachable!("the value was checked"),
            }
            if let Place::Text(ordinal) = place {
                let end = out.len() - texts;
                self.set_end(&mut out[start..texts], ordinal, end)?;
            }
        }
        Ok(())
    }

    /// Changes one cell of a row.
    pub(crate) fn change(
        &self,
        row: &mut RowBuffer,
        column: ColumnNumber,
        value: &Value<'_>,
    ) -> Result<(), Violation> {
        self.check(column, value)?;
        let (column_type, _, place) = self.columns[column];
        let is_null = matches!(value, Value::Null);
        let bits = &mut row.body[column / 8];
        *bits = (*bits & !(1 << (column % 8))) | (u8::from(is_null) << (column % 8));
        match place {
            Place::Fixed(at, width) | Place::Int(at, width) if is_null => {
                row.body[at..at + width].fill(0);
            }
            Place::Fixed(at, width) | Place::Int(at, width) => {
                cell::write(value, column_type, &mut row.body[at..at + width]);
            }
            Place::Text(ordinal) => {
                let new = if let Value::Bytes(text) = value {
                    *text
                } else {
                    b""
                };
                return self.change_text(row, ordinal, new);
            }
        }
        Ok(())
    }

    fn change_text(
        &self,
        row: &mut RowBuffer,
        ordinal: usize,
        new: &[u8],
    ) -> Result<(), Violation> {
        let (start, end) = self.text_range(&row.body, ordinal);
        if end - start == new.len() {
            row.text[start..end].copy_from_slice(new);
            return Ok(());
        }
        let text_bytes = row.text.len() - (end - start) + new.len();
        if text_bytes > TEXT_BYTES_MAX {
            return Err(Violation::TooLong { bytes: text_bytes });
        }
        row.text.splice(start..end, new.iter().copied());
        for later in ordinal..self.texts {
            let moved = self.text_range(&row.body, later).1 + new.len() - (end - start);
            self.set_end(&mut row.body, later, moved)?;
        }
        Ok(())
    }

    /// Bytes at the beginning of a body, with the cells of fixed width and what says which are NULL.
    pub(crate) fn fixed_bytes(&self) -> usize {
        self.text_number_at
    }

    /// Whether a row's text of this column has so many bytes already; of a cell of fixed width it is so.
    #[inline]
    pub(crate) fn keeps_length(&self, body: &[u8], column: ColumnNumber, bytes: usize) -> bool {
        match self.columns[column].2 {
            Place::Fixed(..) | Place::Int(..) => true,
            Place::Text(ordinal) => {
                let (start, end) = self.text_range(body, ordinal);
                end - start == bytes
            }
        }
    }

    /// Changes a cell where it is, if it is one of fixed width, to these bytes, and whether it is NULL. Gives
    /// the place of a text among the row's texts.
    #[inline]
    pub(crate) fn patch(
        &self,
        body: &mut [u8],
        column: ColumnNumber,
        is_null: bool,
        cell: &[u8],
    ) -> Option<usize> {
        let bits = &mut body[column / 8];
        *bits = (*bits & !(1 << (column % 8))) | (u8::from(is_null) << (column % 8));
        match self.columns[column].2 {
            Place::Fixed(at, width) | Place::Int(at, width) if is_null => {
                body[at..at + width].fill(0);
            }
            Place::Fixed(at, width) | Place::Int(at, width) => {
                body[at..at + width].copy_from_slice(cell);
            }
            Place::Text(ordinal) => return Some(self.text_range(body, ordinal).0),
        }
        None
    }

    /// The cell of a column.
    #[inline]
    pub(crate) fn value<'a>(&self, row: RowBytes<'a>, column: ColumnNumber) -> Value<'a> {
        self.value_of(row.body, column, || row.text)
    }

    /// The same, of a row whose texts are looked for when the cell is one.
    #[inline]
    pub(crate) fn value_of<'a>(
        &self,
        body: &'a [u8],
        column: ColumnNumber,
        text: impl FnOnce() -> &'a [u8],
    ) -> Value<'a> {
        let (column_type, _, place) = self.columns[column];
        if body[column / 8] & (1 << (column % 8)) != 0 {
            return Value::Null;
        }
        match place {
            Place::Int(at, width) => Value::Int(cell::read_int(&body[at..at + width])),
            Place::Fixed(at, width) => cell::read(&body[at..at + width], column_type),
            Place::Text(ordinal) => {
                let (start, end) = self.text_range(body, ordinal);
                Value::Bytes(&text()[start..end])
            }
        }
    }

    /// The cell of an integer, date or time column that is not NULL; `None` of any other cell.
    #[inline]
    pub(crate) fn int(&self, body: &[u8], column: ColumnNumber) -> Option<i64> {
        if body[column / 8] & (1 << (column % 8)) != 0 {
            return None;
        }
        match self.columns[column].2 {
            Place::Int(at, width) => Some(cell::read_int(&body[at..at + width])),
            Place::Fixed(..) | Place::Text(_) => None,
        }
    }

    /// A row as disks have it, taken apart; `None` when it is none of this layout.
    pub(crate) fn split<'a>(&self, row: &'a [u8]) -> Option<RowBytes<'a>> {
        let (body, text) = row.split_at_checked(self.body_bytes)?;
        (self.text_bytes(body) == text.len()).then_some(RowBytes { body, text })
    }

    /// Bytes of all texts of a row.
    #[inline]
    pub(crate) fn text_bytes(&self, body: &[u8]) -> usize {
        match self.texts {
            0 => 0,
            texts => self.text_range(body, texts - 1).1,
        }
    }

    /// The number under which the table keeps the row's texts.
    #[inline]
    pub(crate) fn text_number(&self, body: &[u8]) -> TextNumber {
        if self.texts == 0 {
            return TextNumber(0);
        }
        let at = self.text_number_at;
        TextNumber(u32::from_le_bytes(
            body[at..at + 4].try_into().expect("four bytes"),
        ))
    }

    /// Notes it.
    pub(crate) fn set_text_number(&self, body: &mut [u8], number: TextNumber) {
        if self.texts > 0 {
            let at = self.text_number_at;
            body[at..at + 4].copy_from_slice(&number.0.to_le_bytes());
        }
    }

    /// Whether a value may stand in a column.
    pub(crate) fn check(&self, column: ColumnNumber, value: &Value<'_>) -> Result<(), Violation> {
        let Some((column_type, is_nullable, _)) = self.columns.get(column) else {
            return Err(Violation::NoSuchColumn { column });
        };
        match value {
            Value::Null if *is_nullable => Ok(()),
            Value::Null => Err(Violation::Null { column }),
            value if cell::fits(value, *column_type) => Ok(()),
            _ => Err(Violation::Type { column }),
        }
    }

    #[inline]
    fn text_range(&self, body: &[u8], ordinal: usize) -> (usize, usize) {
        let end = |ordinal: usize| {
            let at = self.text_number_at + 4 + 2 * ordinal;
            usize::from(u16::from_le_bytes([body[at], body[at + 1]]))
        };
        (
            if ordinal == 0 { 0 } else { end(ordinal - 1) },
            end(ordinal),
        )
    }

    fn set_end(&self, body: &mut [u8], ordinal: usize, end: usize) -> Result<(), Violation> {
        let end = u16::try_from(end).map_err(|_| Violation::TooLong { bytes: end })?;
        let at = self.text_number_at + 4 + 2 * ordinal;
        body[at..at + 2].copy_from_slice(&end.to_le_bytes());
        Ok(())
    }
}

impl RowBuffer {
    /// Becomes a copy of a row.
    pub(crate) fn copy(&mut self, row: RowBytes<'_>) {
        self.body.clear();
        self.body.extend_from_slice(row.body);
        self.text.clear();
        self.text.extend_from_slice(row.text);
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> RowBytes<'_> {
        RowBytes {
            body: &self.body,
            text: &self.text,
        }
    }

    /// Bytes that it holds.
    pub(crate) fn held_bytes(&self) -> usize {
        self.body.capacity() + self.text.capacity()
    }
}
