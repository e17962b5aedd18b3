//! For tests: what a codec wrote, read in every way.

use proptest::prelude::*;
use proptest::sample::Index;

use super::{Text, TextCells, TextCodec, TextRows};
use crate::cursor::Cursor;
use crate::error::PageError;
use crate::words::Sink;

/// Cells as they are encoded.
pub(super) fn with_rows<T>(cells: &[Vec<u8>], use_of: impl FnOnce(TextRows<'_>) -> T) -> T {
    let mut offsets = vec![0];
    offsets.extend(cells.iter().scan(0, |end, cell| {
        *end += cell.len() as i32;
        Some(*end)
    }));
    use_of(TextRows {
        offsets: &offsets,
        bytes: &cells.concat(),
    })
}

/// Bytes that are overwritten, and with what.
pub(super) fn any_damage() -> impl Strategy<Value = Vec<(Index, u8)>> {
    proptest::collection::vec((any::<Index>(), any::<u8>()), 1..6)
}

/// A segment and the exception section behind it.
pub(super) struct Written {
    codec: TextCodec,
    pub(super) segment: Vec<u8>,
    pub(super) section: Vec<u8>,
    rows: usize,
}

impl Written {
    pub(super) fn by(codec: TextCodec, rows: usize, encode: impl FnOnce(&mut Sink<'_>)) -> Self {
        let (mut segment, mut section) = (Vec::new(), Vec::new());
        encode(&mut Sink {
            segment: &mut segment,
            section: &mut section,
        });
        Self {
            codec,
            segment,
            section,
            rows,
        }
    }

    pub(super) fn open(&self) -> Result<Text<'_>, PageError> {
        let segment = Cursor::new(&self.segment);
        Text::open(self.codec, segment, self.rows, &self.section)
    }

    /// All cells; one by one, some at once and many at once they are the same.
    pub(super) fn cells(&self) -> Result<Vec<Vec<u8>>, PageError> {
        let text = self.open()?;
        let all = text.decode(TextCells::default())?;
        let cells: Vec<Vec<u8>> = all
            .offsets
            .windows(2)
            .map(|pair| all.bytes[pair[0] as usize..pair[1] as usize].to_vec())
            .collect();
        let mut buffer = Vec::new();
        for (slot, cell) in cells.iter().enumerate() {
            assert_eq!(text.cell(slot, &mut buffer)?, cell);
        }
        for step in [1, 7, 100] {
            let slots: Vec<u32> = (0..self.rows as u32).step_by(step).collect();
            let gathered = text.gather(&slots)?;
            for (pair, &slot) in gathered.offsets.windows(2).zip(&slots) {
                let cell = &gathered.bytes[pair[0] as usize..pair[1] as usize];
                assert_eq!(cell, cells[slot as usize]);
            }
        }
        Ok(cells)
    }

    /// Overwrites bytes of the segment.
    pub(super) fn damage(&mut self, damage: &[(Index, u8)]) {
        for (at, byte) in damage {
            let at = at.index(self.segment.len());
            self.segment[at] = *byte;
        }
    }

    /// Reads everything; only the absence of a panic counts.
    pub(super) fn read_all(&self) {
        let Ok(text) = self.open() else {
            return;
        };
        let every_third: Vec<u32> = (0..self.rows as u32).step_by(3).collect();
        let _ = text.decode(TextCells::default());
        let _ = text.gather(&every_third);
        let _ = text.gather(&every_third[..1]);
        let mut buffer = Vec::new();
        for slot in 0..self.rows {
            let _ = text.cell(slot, &mut buffer);
        }
    }
}
