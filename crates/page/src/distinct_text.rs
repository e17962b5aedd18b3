//! A text column whose page has each distinct cell once: what is asked of cells is asked of those.
//!
//! 1. Open a column that is a dictionary, a constant, one letter of an alphabet a cell, or all NULL; others have no
//!    such form.
//! 2. Hand out the distinct cells as an array. A NULL is the last of them, where rows are NULL.
//! 3. Take a bit for each of them, and spread these over the rows.
//!
//! Does not: promise that each of the cells is in some row.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_buffer::BooleanBuffer;
use types::ColumnType;

use crate::column_reader::ColumnReader;
use crate::error::PageError;
use crate::header::Encoding;
use crate::nulls::NullMap;
use crate::text::{Text, TextCells, TextCodec, string_array};

/// The distinct cells of a page's text column.
#[derive(Debug)]
pub struct DistinctText<'a> {
    cells: ArrayRef,
    rows: usize,
    nulls: NullMap<'a>,
    /// `None` where all rows are NULL.
    text: Option<Text<'a>>,
}

impl<'a> DistinctText<'a> {
    pub(crate) fn open(reader: ColumnReader<'a>) -> Result<Option<Self>, PageError> {
        if reader.column_type != ColumnType::Text {
            return Ok(None);
        }
        let (encoding, rows) = (reader.encoding, reader.rows);
        if encoding == Encoding::ALL_NULL {
            return Ok(Some(Self {
                cells: Arc::new(StringArray::new_null(1)),
                rows,
                nulls: NullMap::All,
                text: None,
            }));
        }
        let codec = TextCodec::from_u8(encoding.codec);
        let Some(codec @ (TextCodec::Dictionary | TextCodec::Constant | TextCodec::Alphabet)) =
            codec
        else {
            return Ok(None);
        };
        let mut segment = reader.segment;
        let nulls = NullMap::open(encoding.null_form, &mut segment, rows)?;
        let text = Text::open(codec, segment, nulls.stored(rows), reader.section)?;
        let Some(distinct) = text.distinct()? else {
            return Ok(None);
        };
        Ok(Some(Self {
            cells: Self::array(distinct, &nulls)?,
            rows,
            nulls,
            text: Some(text),
        }))
    }

    fn array(mut distinct: TextCells, nulls: &NullMap<'_>) -> Result<ArrayRef, PageError> {
        if matches!(nulls, NullMap::None) {
            return Ok(Arc::new(string_array(distinct, None)?));
        }
        let last = distinct.offsets.len() - 1;
        distinct.offsets.push(distinct.offsets[last]);
        let valid = BooleanBuffer::collect_bool(last + 1, |cell| cell < last);
        Ok(Arc::new(string_array(distinct, Some(valid.into()))?))
    }

    /// The cells, as an array of text.
    pub fn cells(&self) -> &ArrayRef {
        &self.cells
    }

    /// For each of the given rows (`None`: all) which of the cells it has.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn codes(&self, slots: Option<&[u32]>) -> Result<Vec<u16>, PageError> {
        let stored = self.nulls.stored(self.rows);
        let mut codes = match &self.text {
            Some(text) => text.codes(stored)?,
            None => Vec::new(),
        };
        if stored < self.rows {
            let null = (self.cells.len() - 1) as u16;
            let code = |row| self.nulls.rank(row).map_or(null, |rank| codes[rank]);
            return Ok(match slots {
                Some(slots) => slots.iter().map(|&slot| code(slot as usize)).collect(),
                None => (0..self.rows).map(code).collect(),
            });
        }
        if let Some(slots) = slots {
            codes = slots.iter().map(|&slot| codes[slot as usize]).collect();
        }
        Ok(codes)
    }

    /// The rows whose cell's bit is set.
    ///
    /// # Panics
    /// When there are not as many bits as cells.
    pub fn rows_of(&self, wanted: &BooleanBuffer) -> Result<BooleanBuffer, PageError> {
        assert_eq!(wanted.len(), self.cells.len(), "there is a bit a cell");
        let has_null = !matches!(self.nulls, NullMap::None);
        let null_is_wanted = has_null && wanted.value(wanted.len() - 1);
        let Some(text) = &self.text else {
            return Ok(match null_is_wanted {
                true => BooleanBuffer::new_set(self.rows),
                false => BooleanBuffer::new_unset(self.rows),
            });
        };
        let stored = text.rows_of(wanted, self.nulls.stored(self.rows))?;
        let rows = self.nulls.spread_bits(stored, self.rows);
        if !null_is_wanted {
            return Ok(rows);
        }
        let valid = BooleanBuffer::new_set(self.nulls.stored(self.rows));
        let valid = self.nulls.spread_bits(valid, self.rows);
        Ok(&rows | &!&valid)
    }
}
