//! A column of a page without unpacking it: cells by slot, slots by value, slots by range.
//!
//! - By slot (Rose section 3.3): one step for frames and plain cells, a binary search for run
//!   lengths and exceptions, a block of 64 for PFOR-DELTA, 16 suffixes for front coding.
//! - By value: where cells ascend, the slots of a value are found by halving on the encoded form:
//!   over runs, over the starts of blocks, over restarts, over slots otherwise.
//! - By range: the slots whose cells lie in a range, for columns in any order. Run lengths decide
//!   once a run, dictionaries once an entry, and a frame whose bounds decide is not unpacked.
//!
//! What a column holds of a page is parsed once when it is opened; nothing is decoded then.

use std::ops::{Bound, Range};

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use types::{ColumnType, Value, ValueRange};

use crate::cell::plain_bytes;
use crate::column_reader::ColumnReader;
use crate::cursor::Cursor;
use crate::equal_range::equal_range;
use crate::error::PageError;
use crate::floats::{FloatCodec, Floats};
use crate::header::Encoding;
use crate::nulls::NullMap;
use crate::text::{Text, TextCodec};
use crate::wide::{Wide, WideCodec};
use crate::word_order::{Sought, WordOrder, WordRange};
use crate::words::{NO_SUCH_CODE, WordCodec, Words};

const NO_SUCH_CODEC: PageError = PageError::Malformed("the column's type has no such codec");

/// An opened column of a page.
#[derive(Debug)]
pub struct Column<'a> {
    column_type: ColumnType,
    /// Bits of a word that a signed integer does not have; `None` in columns of other values.
    integer_excess_bits: Option<u8>,
    rows: usize,
    nulls: NullMap<'a>,
    cells: Cells<'a>,
}

fn integer_excess_bits(column_type: ColumnType) -> Option<u8> {
    match column_type {
        ColumnType::Int16 => Some(48),
        ColumnType::Int32 | ColumnType::Date => Some(32),
        ColumnType::Int64 | ColumnType::Time => Some(0),
        ColumnType::Timestamp | ColumnType::TimestampTz => Some(0),
        ColumnType::Bool
        | ColumnType::UInt64
        | ColumnType::Float32
        | ColumnType::Float64
        | ColumnType::Decimal { .. }
        | ColumnType::Text
        | ColumnType::Bytes => None,
    }
}

/// The cells that are not NULL, by rank.
#[derive(Debug)]
enum Cells<'a> {
    None,
    Words(Words<'a>),
    Floats(Floats<'a>),
    Wide(Wide<'a>),
    Text(Text<'a>),
}

impl<'a> Cells<'a> {
    #[inline(always)]
    fn open(
        column_type: ColumnType,
        codec: u8,
        mut cursor: Cursor<'a>,
        stored: usize,
        section: &'a [u8],
    ) -> Result<Self, PageError> {
        match column_type {
            ColumnType::Text | ColumnType::Bytes => {
                let codec = TextCodec::from_u8(codec).ok_or(NO_SUCH_CODEC)?;
                return Text::open(codec, cursor, stored, section).map(Self::Text);
            }
            ColumnType::Float32 | ColumnType::Float64 => {
                if let Some(codec) = FloatCodec::from_u8(codec) {
                    return Floats::open(codec, cursor, stored, section).map(Self::Floats);
                }
            }
            ColumnType::Decimal { .. } => {
                if let Some(codec) = WideCodec::from_u8(codec) {
                    return Wide::open(codec, cursor, stored, section).map(Self::Wide);
                }
            }
            _ => {}
        }
        let codec = WordCodec::from_u8(codec).ok_or(NO_SUCH_CODEC)?;
        let plain_bytes = plain_bytes(column_type);
        let words = Words::open(codec, plain_bytes, &mut cursor, stored, section)?;
        Ok(Self::Words(words))
    }
}

impl<'a> Column<'a> {
    pub(crate) fn open(reader: ColumnReader<'a>) -> Result<Self, PageError> {
        let ColumnReader {
            column_type,
            encoding,
            rows,
            mut segment,
            section,
        } = reader;
        let (nulls, cells) = if encoding == Encoding::ALL_NULL {
            (NullMap::All, Cells::None)
        } else {
            let nulls = NullMap::open(encoding.null_form, &mut segment, rows)?;
            let stored = nulls.stored(rows);
            let cells = Cells::open(column_type, encoding.codec, segment, stored, section)?;
            (nulls, cells)
        };
        Ok(Self {
            column_type,
            integer_excess_bits: integer_excess_bits(column_type),
            rows,
            nulls,
            cells,
        })
    }

    /// Unpacks what makes it faster to look up cells, for a column of which many are.
    #[must_use]
    pub fn prepare(self) -> Self {
        let cells = match self.cells {
            Cells::Words(words) => Cells::Words(words.prepare()),
            cells => cells,
        };
        Self { cells, ..self }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// What it takes in memory besides itself and the page.
    pub(crate) fn memory_bytes(&self) -> usize {
        match &self.cells {
            Cells::Words(words) => words.memory_bytes(),
            Cells::None | Cells::Floats(_) | Cells::Wide(_) | Cells::Text(_) => 0,
        }
    }

    /// Bytes of all its cells, if they are bundled.
    pub(crate) fn bundled_text_bytes(&self) -> usize {
        match &self.cells {
            Cells::Text(Text::Bundles(bundles)) => bundles.decoded_bytes(),
            _ => 0,
        }
    }

    /// The cell of a slot. `buffer` is memory in which text is put together if it does not lie
    /// ready.
    ///
    /// # Panics
    /// When there is no such slot.
    #[inline]
    pub fn value<'b>(
        &'b self,
        slot: usize,
        buffer: &'b mut Vec<u8>,
    ) -> Result<Value<'b>, PageError> {
        assert!(slot < self.rows, "slots are rows");
        match (&self.nulls, &self.cells) {
            // Most columns. The value is put together where it is wanted.
            (NullMap::None, Cells::Words(words)) => match words.get(slot) {
                Some(word) => Ok(self.of_word(word)),
                None => Err(NO_SUCH_CODE),
            },
            _ => self.any_value(slot, buffer),
        }
    }

    fn any_value<'b>(
        &'b self,
        slot: usize,
        buffer: &'b mut Vec<u8>,
    ) -> Result<Value<'b>, PageError> {
        let Some(rank) = self.nulls.rank(slot) else {
            return Ok(Value::Null);
        };
        Ok(match &self.cells {
            Cells::None => Value::Null,
            Cells::Words(words) => self.of_word(words.get(rank).ok_or(NO_SUCH_CODE)?),
            Cells::Wide(wide) => Value::Decimal(wide.get(rank)),
            Cells::Text(text) => Value::Bytes(text.cell(rank, buffer)?),
            Cells::Floats(floats) => match self.column_type {
                ColumnType::Float32 => Value::Float32(floats.get(rank)),
                _ => Value::Float64(floats.get(rank)),
            },
        })
    }

    #[inline]
    fn of_word(&self, word: u64) -> Value<'static> {
        // All integers take the same way: which one a column has is not to be guessed by the
        // processor, time and again, by whoever goes from column to column.
        match self.integer_excess_bits {
            Some(excess) => Value::Int(((word << (excess % 64)) as i64) >> (excess % 64)),
            None => self.of_other_word(word),
        }
    }

    #[inline(never)]
    fn of_other_word(&self, word: u64) -> Value<'static> {
        match self.column_type {
            ColumnType::Bool => Value::Bool(word as u8 != 0),
            ColumnType::UInt64 => Value::UInt(word),
            ColumnType::Float32 => Value::Float32(f32::from_bits(word as u32)),
            ColumnType::Float64 => Value::Float64(f64::from_bits(word)),
            ColumnType::Decimal { .. } => Value::Decimal(i128::from(word as i64)),
            _ => Value::Int(word as i64),
        }
    }

    /// The slots of a value, in a range of slots whose cells ascend (see [`Value::order`]); where
    /// they would be, if there is none.
    ///
    /// # Panics
    /// When the range ends behind the last row, or the value is of another type.
    #[inline]
    pub fn find(&self, slots: Range<usize>, value: &Value<'_>) -> Result<Range<usize>, PageError> {
        assert!(slots.end <= self.rows, "slots are rows");
        if let (NullMap::None, Cells::Words(words)) = (&self.nulls, &self.cells)
            && let Some(word) = self.ordered_word(value)
        {
            return words.equal(slots, Sought::new(WordOrder::of(self.column_type), word));
        }
        self.find_any(slots, value)
    }

    fn find_any(&self, slots: Range<usize>, value: &Value<'_>) -> Result<Range<usize>, PageError> {
        let mut buffer = Vec::new();
        match (&self.cells, value) {
            (Cells::Text(text), &Value::Bytes(bytes)) if matches!(self.nulls, NullMap::None) => {
                let first = text.partition(slots.clone(), &mut buffer, |cell| cell < bytes)?;
                for slot in [first, first + 1] {
                    if slot >= slots.end || text.cell(slot, &mut buffer)? > bytes {
                        return Ok(first..slot.min(slots.end).max(first));
                    }
                }
                let end = text.partition(first..slots.end, &mut buffer, |cell| cell <= bytes)?;
                Ok(first..end)
            }
            _ => equal_range(slots, |slot| {
                Ok(self.value(slot, &mut buffer)?.order(value))
            }),
        }
    }

    /// The value as a word, where words order as the column's values do.
    #[inline]
    fn ordered_word(&self, value: &Value<'_>) -> Option<u64> {
        match (value, self.column_type) {
            (&Value::Int(value), ColumnType::Int64 | ColumnType::Time) => Some(value as u64),
            (&Value::Int(value), ColumnType::Timestamp | ColumnType::TimestampTz) => {
                Some(value as u64)
            }
            (&Value::Int(value), ColumnType::Int16 | ColumnType::Int32 | ColumnType::Date) => {
                Some(value as u64)
            }
            (&Value::UInt(value), ColumnType::UInt64) => Some(value),
            (&Value::Decimal(value), ColumnType::Decimal { .. }) => {
                i64::try_from(value).ok().map(|value| value as u64)
            }
            _ => None,
        }
    }

    /// The slots whose cells lie in a range, for cells in any order. NULLs never do.
    ///
    /// # Panics
    /// When a bound is NULL or of another type.
    pub fn select(&self, range: ValueRange<'_>) -> Result<BooleanBuffer, PageError> {
        let stored = self.nulls.stored(self.rows);
        let selected = match &self.cells {
            Cells::None => return Ok(BooleanBuffer::new_unset(self.rows)),
            Cells::Words(words) => match self.word_range(&range) {
                Some(WordBounds::Empty) => BooleanBuffer::new_unset(stored),
                Some(WordBounds::Range(range)) => words.select(stored, range)?,
                None => words.select_by(stored, |word| range.contains(&self.of_word(word)))?,
            },
            Cells::Text(text) => text.select(stored, |cell| range.contains(&Value::Bytes(cell)))?,
            Cells::Wide(wide) => BooleanBuffer::collect_bool(stored, |rank| {
                range.contains(&Value::Decimal(wide.get(rank)))
            }),
            Cells::Floats(floats) => self.select_floats(floats, stored, &range)?,
        };
        Ok(self.nulls.spread_bits(selected, self.rows))
    }

    fn select_floats(
        &self,
        floats: &Floats<'_>,
        stored: usize,
        range: &ValueRange<'_>,
    ) -> Result<BooleanBuffer, PageError> {
        let mut selected = BooleanBufferBuilder::new(stored);
        if self.column_type == ColumnType::Float32 {
            let mut cells: Vec<f32> = Vec::with_capacity(stored);
            floats.decode(&mut cells)?;
            for cell in cells {
                selected.append(range.contains(&Value::Float32(cell)));
            }
        } else {
            let mut cells: Vec<f64> = Vec::with_capacity(stored);
            floats.decode(&mut cells)?;
            for cell in cells {
                selected.append(range.contains(&Value::Float64(cell)));
            }
        }
        Ok(selected.finish())
    }

    /// The bounds as words; `None` where words do not order as the values do.
    fn word_range(&self, ValueRange { low, high }: &ValueRange<'_>) -> Option<WordBounds> {
        let order = WordOrder::of(self.column_type);
        let key = |value: &Value<'_>| self.ordered_word(value).map(|word| order.key(word));
        let low = match low {
            Bound::Unbounded => Some(0),
            Bound::Included(value) => Some(key(value)?),
            Bound::Excluded(value) => key(value)?.checked_add(1),
        };
        let high = match high {
            Bound::Unbounded => Some(u64::MAX),
            Bound::Included(value) => Some(key(value)?),
            Bound::Excluded(value) => key(value)?.checked_sub(1),
        };
        match (low, high) {
            (Some(low), Some(high)) if low <= high => {
                Some(WordBounds::Range(WordRange { order, low, high }))
            }
            _ => Some(WordBounds::Empty),
        }
    }
}

enum WordBounds {
    Empty,
    Range(WordRange),
}
