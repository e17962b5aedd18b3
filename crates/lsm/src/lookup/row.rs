//! The row that a look-up of one key returns.

use std::ops::Range;

use types::Value;

/// The wanted cells of one row, copied: two allocations, one without text.
#[derive(Clone, Debug)]
pub struct Row {
    cells: Vec<Cell>,
    /// Text and bytes of all cells, end to end.
    bytes: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Cell {
    Fixed(Value<'static>),
    Bytes(Range<usize>),
}

impl Row {
    /// No cells, with room for so many.
    pub(super) fn with_capacity(cells: usize) -> Self {
        Self {
            cells: Vec::with_capacity(cells),
            bytes: Vec::new(),
        }
    }

    /// Adds a copy of a cell.
    pub(super) fn push(&mut self, value: Value<'_>) {
        let cell = match value {
            Value::Bytes(bytes) => {
                let start = self.bytes.len();
                self.bytes.extend_from_slice(bytes);
                Cell::Bytes(start..self.bytes.len())
            }
            Value::Null => Cell::Fixed(Value::Null),
            Value::Bool(value) => Cell::Fixed(Value::Bool(value)),
            Value::Int(value) => Cell::Fixed(Value::Int(value)),
            Value::UInt(value) => Cell::Fixed(Value::UInt(value)),
            Value::Float32(value) => Cell::Fixed(Value::Float32(value)),
            Value::Float64(value) => Cell::Fixed(Value::Float64(value)),
            Value::Decimal(value) => Cell::Fixed(Value::Decimal(value)),
        };
        self.cells.push(cell);
    }

    /// The number of wanted columns.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether no column was wanted.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The cell of the wanted column `index`. Text is what was ingested; whether it is UTF-8 is
    /// not looked at again.
    ///
    /// # Panics
    /// When fewer columns were wanted.
    pub fn value(&self, index: usize) -> Value<'_> {
        match &self.cells[index] {
            Cell::Fixed(value) => *value,
            Cell::Bytes(range) => Value::Bytes(&self.bytes[range.clone()]),
        }
    }

    /// All cells, in the order in which the columns were asked for.
    pub fn values(&self) -> impl ExactSizeIterator<Item = Value<'_>> {
        (0..self.len()).map(|index| self.value(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_come_back_as_they_went_in() {
        let mut row = Row::with_capacity(5);
        let cells = [
            Value::Bytes(b"ab"),
            Value::Int(-7),
            Value::Bytes(b""),
            Value::Null,
            Value::Bytes(b"c"),
        ];
        cells.iter().for_each(|&cell| row.push(cell));
        assert!(!row.is_empty());
        assert_eq!(row.values().len(), cells.len());
        for (found, cell) in row.values().zip(&cells) {
            assert!(found.order(cell).is_eq(), "{found:?} for {cell:?}");
        }
    }
}
