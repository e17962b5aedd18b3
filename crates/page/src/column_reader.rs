//! From a column's segment to an Arrow array, for all rows or for some slots.
//!
//! 1. Read which cells are NULL. Those are not stored: slots become *ranks*, the number of
//!    stored cells in front.
//! 2. Let the codec decode all stored cells, or those of the ranks.
//! 3. Spread them over the selected rows that are not NULL.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, Time64MicrosecondType, TimestampMicrosecondType, UInt64Type,
};
use arrow_array::{ArrayRef, BinaryArray, BooleanArray, PrimitiveArray, new_null_array};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer, OffsetBuffer};
use types::ColumnType;

use crate::cell::{Cell, plain_bytes};
use crate::cursor::Cursor;
use crate::error::PageError;
use crate::floats::{Float, FloatCodec, Floats};
use crate::header::Encoding;
use crate::limits::SPARSE_ROWS_PER_SLOT;
use crate::memory::ColumnMemory;
use crate::nulls::{self, NullForm};
use crate::text::{Text, TextCodec, string_array};
use crate::wide::{Wide, WideCodec};
use crate::words::{WordCodec, Words};

const NO_SUCH_CODEC: PageError = PageError::Malformed("the column's type has no such codec");

/// Which rows to decode.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Selection<'a> {
    All,
    /// Ascending, below the number of rows.
    Slots(&'a [u32]),
}

/// A column's segment and what is needed to read it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnReader<'a> {
    pub(crate) column_type: ColumnType,
    pub(crate) encoding: Encoding,
    pub(crate) rows: usize,
    pub(crate) segment: Cursor<'a>,
    pub(crate) section: &'a [u8],
}

impl<'a> ColumnReader<'a> {
    /// The word of all rows, if the column is encoded as a constant without NULLs.
    pub(crate) fn constant(&self) -> Option<u64> {
        let codec = WordCodec::from_u8(self.encoding.codec)?;
        if codec != WordCodec::Constant || self.encoding.null_form != NullForm::None {
            return None;
        }
        let cells = self.all_cells(self.segment);
        cells.open_words(codec).ok()?.constant()
    }

    /// See [`Page::append_integers`](crate::Page::append_integers).
    pub(crate) fn append_integers(
        &self,
        slots: Option<&[u32]>,
        numbers: &mut Vec<i64>,
    ) -> Result<bool, PageError> {
        let codec = WordCodec::from_u8(self.encoding.codec);
        let Some(codec) = codec.filter(|_| self.encoding.null_form == NullForm::None) else {
            return Ok(false);
        };
        let words = self.all_cells(self.segment).open_words(codec)?;
        match self.column_type {
            ColumnType::Int16 => append_widened::<i16>(&words, self.rows, slots, numbers)?,
            ColumnType::Int32 | ColumnType::Date => {
                append_widened::<i32>(&words, self.rows, slots, numbers)?;
            }
            ColumnType::Int64 | ColumnType::Decimal { .. } => {
                append_cells(&words, self.rows, slots, numbers)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Decodes the selected rows.
    pub(crate) fn decode(
        &self,
        selection: Selection<'_>,
        memory: &mut ColumnMemory,
    ) -> Result<ArrayRef, PageError> {
        if self.encoding == Encoding::ALL_NULL {
            let selected = match selection {
                Selection::All => self.rows,
                Selection::Slots(slots) => slots.len(),
            };
            return Ok(new_null_array(&self.column_type.arrow_type(), selected));
        }
        let mut cursor = self.segment;
        let nulls = nulls::decode(self.encoding.null_form, &mut cursor, self.rows)?;
        let mut cells = self.all_cells(cursor);
        let Some(nulls) = nulls else {
            cells.selection = selection;
            return cells.decode(memory);
        };
        cells.stored = self.rows - nulls.null_count();
        match selection {
            Selection::All => {
                cells.nulls = Some(nulls);
                cells.decode(memory)
            }
            Selection::Slots(slots) => {
                let ranks = nulls::ranks(&nulls, slots);
                cells.selection = Selection::Slots(&ranks);
                cells.nulls = Some(nulls::gather(&nulls, slots));
                cells.decode(memory)
            }
        }
    }

    /// The cells behind the NULLs, as if there were none.
    fn all_cells<'s>(&self, cursor: Cursor<'a>) -> Cells<'a, 's> {
        Cells {
            column_type: self.column_type,
            codec: self.encoding.codec,
            cursor,
            section: self.section,
            stored: self.rows,
            selection: Selection::All,
            nulls: None,
        }
    }
}

/// Appends the cells at `slots` of a column of so many rows, or all.
fn append_cells<T: Cell>(
    words: &Words<'_>,
    rows: usize,
    slots: Option<&[u32]>,
    cells: &mut Vec<T>,
) -> Result<(), PageError> {
    match slots {
        None => {
            cells.reserve(rows);
            words.decode(cells)
        }
        Some(slots) if slots.len() * SPARSE_ROWS_PER_SLOT <= rows => {
            cells.reserve(slots.len());
            words.gather(slots, cells)
        }
        Some(slots) => {
            let mut all: Vec<T> = Vec::with_capacity(rows);
            words.decode(&mut all)?;
            cells.extend(slots.iter().map(|&slot| all[slot as usize]));
            Ok(())
        }
    }
}

fn append_widened<T: Cell + Into<i64>>(
    words: &Words<'_>,
    rows: usize,
    slots: Option<&[u32]>,
    numbers: &mut Vec<i64>,
) -> Result<(), PageError> {
    let mut cells: Vec<T> = Vec::new();
    append_cells(words, rows, slots, &mut cells)?;
    numbers.extend(cells.into_iter().map(Into::into));
    Ok(())
}

/// The stored cells of a column, and what becomes of them.
struct Cells<'a, 's> {
    column_type: ColumnType,
    codec: u8,
    cursor: Cursor<'a>,
    section: &'a [u8],
    /// The number of stored cells.
    stored: usize,
    /// Which of the stored cells to decode.
    selection: Selection<'s>,
    /// The NULLs of the rows over which to spread them.
    nulls: Option<NullBuffer>,
}

impl<'a> Cells<'a, '_> {
    fn decode(self, memory: &mut ColumnMemory) -> Result<ArrayRef, PageError> {
        match self.column_type {
            ColumnType::Bool => self.decode_bool(memory),
            ColumnType::Int16 => self.decode_primitive::<Int16Type>(memory),
            ColumnType::Int32 => self.decode_primitive::<Int32Type>(memory),
            ColumnType::Int64 => self.decode_primitive::<Int64Type>(memory),
            ColumnType::UInt64 => self.decode_primitive::<UInt64Type>(memory),
            ColumnType::Float32 => self.decode_floats::<Float32Type>(memory),
            ColumnType::Float64 => self.decode_floats::<Float64Type>(memory),
            ColumnType::Date => self.decode_primitive::<Date32Type>(memory),
            ColumnType::Time => self.decode_primitive::<Time64MicrosecondType>(memory),
            ColumnType::Timestamp | ColumnType::TimestampTz => {
                self.decode_primitive::<TimestampMicrosecondType>(memory)
            }
            ColumnType::Decimal { .. } => self.decode_decimal(memory),
            ColumnType::Text | ColumnType::Bytes => self.decode_text(memory),
        }
    }

    fn selected(&self) -> usize {
        match self.selection {
            Selection::All => self.stored,
            Selection::Slots(ranks) => ranks.len(),
        }
    }

    fn open_words(&self, codec: WordCodec) -> Result<Words<'a>, PageError> {
        let mut cursor = self.cursor;
        Words::open(
            codec,
            plain_bytes(self.column_type),
            &mut cursor,
            self.stored,
            self.section,
        )
    }

    fn decode_words<T: Cell + ArrowNativeType>(
        &self,
        memory: &mut ColumnMemory,
    ) -> Result<Vec<T>, PageError> {
        let words = self.open_words(WordCodec::from_u8(self.codec).ok_or(NO_SUCH_CODEC)?)?;
        let mut cells = memory.values(self.selected());
        match self.selection {
            Selection::All => words.decode(&mut cells)?,
            Selection::Slots(ranks) => words.gather(ranks, &mut cells)?,
        }
        assert_eq!(cells.len(), self.selected(), "codecs decode one cell a row");
        Ok(self.spread(cells))
    }

    fn spread<T: Copy + Default>(&self, cells: Vec<T>) -> Vec<T> {
        match &self.nulls {
            None => cells,
            Some(nulls) => nulls::spread(&cells, nulls),
        }
    }

    fn decode_primitive<P: ArrowPrimitiveType>(
        self,
        memory: &mut ColumnMemory,
    ) -> Result<ArrayRef, PageError>
    where
        P::Native: Cell,
    {
        let cells = self.decode_words::<P::Native>(memory)?;
        Ok(self.primitive::<P>(cells))
    }

    fn primitive<P: ArrowPrimitiveType>(self, cells: Vec<P::Native>) -> ArrayRef {
        let array = PrimitiveArray::<P>::new(cells.into(), self.nulls);
        Arc::new(array.with_data_type(self.column_type.arrow_type()))
    }

    fn decode_floats<P: ArrowPrimitiveType>(
        self,
        memory: &mut ColumnMemory,
    ) -> Result<ArrayRef, PageError>
    where
        P::Native: Float,
    {
        let Some(codec) = FloatCodec::from_u8(self.codec) else {
            return self.decode_primitive::<P>(memory);
        };
        let floats = Floats::open(codec, self.cursor, self.stored, self.section)?;
        let mut cells = memory.values(self.selected());
        match self.selection {
            Selection::All => floats.decode::<P::Native>(&mut cells)?,
            Selection::Slots(ranks) => floats.gather(ranks, &mut cells)?,
        }
        let cells = self.spread(cells);
        Ok(self.primitive::<P>(cells))
    }

    fn decode_bool(self, memory: &mut ColumnMemory) -> Result<ArrayRef, PageError> {
        let cells = self.decode_words::<u8>(memory)?;
        let bits = BooleanBuffer::collect_bool(cells.len(), |row| cells[row] != 0);
        Ok(Arc::new(BooleanArray::new(bits, self.nulls)))
    }

    fn decode_decimal(self, memory: &mut ColumnMemory) -> Result<ArrayRef, PageError> {
        let Some(codec) = WideCodec::from_u8(self.codec) else {
            return self.decode_primitive::<Decimal128Type>(memory);
        };
        let wide = Wide::open(codec, self.cursor, self.stored, self.section)?;
        let mut cells = memory.values(self.selected());
        match self.selection {
            Selection::All => wide.decode(&mut cells)?,
            Selection::Slots(ranks) => wide.gather(ranks, &mut cells)?,
        }
        let cells = self.spread(cells);
        Ok(self.primitive::<Decimal128Type>(cells))
    }

    fn decode_text(self, memory: &mut ColumnMemory) -> Result<ArrayRef, PageError> {
        let codec = TextCodec::from_u8(self.codec).ok_or(NO_SUCH_CODEC)?;
        let text = Text::open(codec, self.cursor, self.stored, self.section)?;
        let mut cells = match self.selection {
            Selection::All => text.decode(memory.text())?,
            Selection::Slots(ranks) => text.gather(ranks)?,
        };
        if let Some(nulls) = &self.nulls {
            cells.offsets = nulls::spread_offsets(&cells.offsets, nulls);
        }
        if self.column_type == ColumnType::Text {
            return Ok(Arc::new(string_array(cells, self.nulls)?));
        }
        let offsets = OffsetBuffer::new(cells.offsets.into());
        Ok(Arc::new(BinaryArray::new(
            offsets,
            cells.bytes.into(),
            self.nulls,
        )))
    }
}
