//! Look-ups in a full page, opened as a page cache holds it: a value by its slot, a row by its key.
//!
//! Everything asks the same page, the middle one: what is measured is the page, not how far the
//! processor's caches reach. Its columns have been opened before, as a page keeps them that was
//! asked before. A row is found by searching the key columns on their encoded form, and one cell
//! of each column is read.

use std::hint::black_box;
use std::ops::Range;

use anyhow::{Result, ensure};
use page::{Page, PageError};
use types::Value;

use super::data_set::DataSet;
use super::draw::Draw;

/// A cell of a key. Text lies elsewhere.
#[derive(Clone, Debug)]
enum KeyCell {
    Number(Value<'static>),
    Text(Range<usize>),
}

/// A page and the rows to look for.
#[derive(Debug)]
pub struct Lookups<'a> {
    page: &'a Page,
    key: Vec<usize>,
    columns: usize,
    probe: usize,
    /// The slots of the rows.
    slots: Vec<usize>,
    /// Their keys, one after the other, so that the harness itself goes through memory in order.
    cells: Vec<KeyCell>,
    text: Vec<u8>,
}

impl<'a> Lookups<'a> {
    /// Prepares `count` look-ups of random rows.
    pub fn new(data: &DataSet, pages: &'a [Page], count: usize) -> Result<Self> {
        let mut lookups = Self {
            page: &pages[pages.len() / 2],
            key: data.schema.key.clone(),
            columns: data.arrays.len(),
            probe: data.probe,
            slots: Vec::with_capacity(count),
            cells: Vec::new(),
            text: Vec::new(),
        };
        let mut draw = Draw::new(0);
        for _ in 0..count {
            let slot = draw.below(lookups.page.rows() as u32) as usize;
            lookups.slots.push(slot);
            lookups.note_key(slot)?;
        }
        Ok(lookups)
    }

    fn note_key(&mut self, slot: usize) -> Result<()> {
        let mut buffer = Vec::new();
        for &column in &self.key {
            let opened = self.page.column(column)?;
            self.cells.push(match opened.value(slot, &mut buffer)? {
                Value::Bytes(bytes) => {
                    let start = self.text.len();
                    self.text.extend_from_slice(bytes);
                    KeyCell::Text(start..self.text.len())
                }
                Value::Int(number) => KeyCell::Number(Value::Int(number)),
                Value::Decimal(number) => KeyCell::Number(Value::Decimal(number)),
                other => anyhow::bail!("no data set has keys like {other:?}"),
            });
        }
        Ok(())
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.slots.len()
    }

    /// Reads one cell of the probed column for each row, by slot.
    pub fn values_by_slot(&self) -> Result<()> {
        let column = self.page.column(self.probe)?;
        let mut buffer = Vec::new();
        for &slot in &self.slots {
            look_at(&column.value(slot, &mut buffer))?;
        }
        Ok(())
    }

    /// Finds each row by its key and reads all its cells.
    pub fn rows_by_key(&self) -> Result<()> {
        let mut buffer = Vec::new();
        for (&slot, cells) in self.slots.iter().zip(self.cells.chunks(self.key.len())) {
            let cells = self.key.iter().zip(cells);
            let found = self
                .page
                .find(cells.map(|(&column, cell)| (column, self.value(cell))))?;
            ensure!(
                found.contains(&slot),
                "slot {slot} has the key that is at {found:?}"
            );
            for column in 0..self.columns {
                let opened = self.page.column(column)?;
                look_at(&opened.value(found.start, &mut buffer))?;
            }
        }
        Ok(())
    }

    fn value<'v>(&'v self, cell: &'v KeyCell) -> Value<'v> {
        match cell {
            KeyCell::Number(value) => *value,
            KeyCell::Text(range) => Value::Bytes(&self.text[range.clone()]),
        }
    }
}

/// Has a value be there, where it was put: moving it on would take as long as finding it.
#[inline]
fn look_at(value: &Result<Value<'_>, PageError>) -> Result<()> {
    match black_box(value) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.clone().into()),
    }
}
