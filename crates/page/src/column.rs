//! One column of a page: from Arrow array to segment and back.
//!
//! Encoding: NULLs first, then the cells in the form that the column type's codecs take (words,
//! wide decimals or text). Decoding goes the same way backwards, for all rows or for some slots.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, Time64MicrosecondType, TimestampMicrosecondType, UInt64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, PrimitiveArray, StringArray, new_null_array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use types::ColumnType;

use crate::cell::Cell;
use crate::cursor::Cursor;
use crate::error::PageError;
use crate::header::Encoding;
use crate::nulls::{self, NullForm};
use crate::text::{Text, TextCells, TextCodec, TextEncoder, TextRows};
use crate::wide::{self, Wide, WideCodec};
use crate::words::{self, Sink, WordCodec, Words};

/// The codec number of a column of which all cells are NULL.
const ALL_NULL: u8 = 0;

/// Some rows of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows<'a> {
    pub(crate) array: &'a ArrayRef,
    pub(crate) start: usize,
    pub(crate) len: usize,
}

impl Rows<'_> {
    fn words_of<P: ArrowPrimitiveType>(&self, words: &mut Vec<u64>)
    where
        P::Native: Cell,
    {
        let values = &self.array.as_primitive::<P>().values()[self.start..][..self.len];
        words.extend(values.iter().map(|value| value.to_word()));
    }

    fn words_of_bool(&self, words: &mut Vec<u64>) {
        let values = self.array.as_boolean().values().slice(self.start, self.len);
        words.extend(values.iter().map(u64::from));
    }

    fn decimals(&self) -> &[i128] {
        &self.array.as_primitive::<Decimal128Type>().values()[self.start..][..self.len]
    }

    /// The offsets and bytes of a text or bytes array.
    fn text(&self, column_type: ColumnType) -> (&[i32], &[u8]) {
        let (offsets, bytes) = match column_type {
            ColumnType::Text => {
                let array = self.array.as_string::<i32>();
                (array.value_offsets(), array.value_data())
            }
            _ => {
                let array = self.array.as_binary::<i32>();
                (array.value_offsets(), array.value_data())
            }
        };
        (&offsets[self.start..=self.start + self.len], bytes)
    }
}

/// Bytes of text that some rows of a column hold; 0 for other types.
pub(crate) fn text_bytes(rows: Rows<'_>, column_type: ColumnType) -> usize {
    match column_type {
        ColumnType::Text | ColumnType::Bytes => {
            let offsets = rows.text(column_type).0;
            (offsets[rows.len] - offsets[0]) as usize
        }
        _ => 0,
    }
}

/// Encodes columns of one type, reusing its memory from page to page.
#[derive(Debug)]
pub(crate) struct ColumnEncoder {
    column_type: ColumnType,
    words: Vec<u64>,
    decimals: Vec<i128>,
    text: TextEncoder,
}

impl ColumnEncoder {
    pub(crate) fn new(column_type: ColumnType) -> Self {
        Self {
            column_type,
            words: Vec::new(),
            decimals: Vec::new(),
            text: TextEncoder::default(),
        }
    }

    pub(crate) fn column_type(&self) -> ColumnType {
        self.column_type
    }

    /// Appends the segment of some rows of an array.
    pub(crate) fn encode(&mut self, rows: Rows<'_>, sink: &mut Sink<'_>) -> Encoding {
        let nulls = nulls::of_rows(rows.array, rows.start, rows.len);
        if nulls
            .as_ref()
            .is_some_and(|nulls| nulls.null_count() == rows.len)
        {
            return Encoding {
                codec: ALL_NULL,
                null_form: NullForm::None,
            };
        }
        let null_form = nulls::encode(nulls.as_ref(), sink.segment);
        let codec = match self.column_type {
            ColumnType::Text | ColumnType::Bytes => self.encode_text(rows, nulls.as_ref(), sink),
            ColumnType::Decimal { .. } => self.encode_decimals(rows, nulls.as_ref(), sink),
            _ => self.encode_words(rows, nulls.as_ref(), sink),
        };
        Encoding { codec, null_form }
    }

    fn encode_text(
        &mut self,
        rows: Rows<'_>,
        nulls: Option<&NullBuffer>,
        sink: &mut Sink<'_>,
    ) -> u8 {
        let (offsets, bytes) = rows.text(self.column_type);
        self.text.encode(
            TextRows {
                offsets,
                bytes,
                nulls,
            },
            sink,
        ) as u8
    }

    fn encode_decimals(
        &mut self,
        rows: Rows<'_>,
        nulls: Option<&NullBuffer>,
        sink: &mut Sink<'_>,
    ) -> u8 {
        self.decimals.clear();
        self.decimals.extend_from_slice(rows.decimals());
        if let Some(nulls) = nulls {
            nulls::fill(&mut self.decimals, nulls);
        }
        if !wide::fit_words(&self.decimals) {
            return wide::encode(&self.decimals, sink) as u8;
        }
        self.words.clear();
        self.words
            .extend(self.decimals.iter().map(|cell| cell.to_word()));
        words::encode(&self.words, i128::PLAIN_BYTES, sink) as u8
    }

    fn encode_words(
        &mut self,
        rows: Rows<'_>,
        nulls: Option<&NullBuffer>,
        sink: &mut Sink<'_>,
    ) -> u8 {
        self.words.clear();
        let words = &mut self.words;
        match self.column_type {
            ColumnType::Bool => rows.words_of_bool(words),
            ColumnType::Int16 => rows.words_of::<Int16Type>(words),
            ColumnType::Int32 => rows.words_of::<Int32Type>(words),
            ColumnType::Int64 => rows.words_of::<Int64Type>(words),
            ColumnType::UInt64 => rows.words_of::<UInt64Type>(words),
            ColumnType::Float32 => rows.words_of::<Float32Type>(words),
            ColumnType::Float64 => rows.words_of::<Float64Type>(words),
            ColumnType::Date => rows.words_of::<Date32Type>(words),
            ColumnType::Time => rows.words_of::<Time64MicrosecondType>(words),
            ColumnType::Timestamp | ColumnType::TimestampTz => {
                rows.words_of::<TimestampMicrosecondType>(words);
            }
            ColumnType::Decimal { .. } | ColumnType::Text | ColumnType::Bytes => {
                unreachable!("these types have encodings of their own")
            }
        }
        if let Some(nulls) = nulls {
            nulls::fill(words, nulls);
        }
        words::encode(words, plain_bytes(self.column_type), sink) as u8
    }
}

/// Bytes of a cell in plain form.
fn plain_bytes(column_type: ColumnType) -> usize {
    match column_type {
        ColumnType::Bool => u8::PLAIN_BYTES,
        ColumnType::Int16 => i16::PLAIN_BYTES,
        ColumnType::Int32 | ColumnType::Date => i32::PLAIN_BYTES,
        ColumnType::Float32 => f32::PLAIN_BYTES,
        ColumnType::Float64 => f64::PLAIN_BYTES,
        _ => i64::PLAIN_BYTES,
    }
}

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
    pub(crate) segment: &'a [u8],
    pub(crate) section: &'a [u8],
}

impl<'a> ColumnReader<'a> {
    /// The word of all rows, if the column is encoded as a constant without NULLs.
    pub(crate) fn constant(&self) -> Option<u64> {
        let constant = self.encoding.codec == WordCodec::Constant as u8
            && self.encoding.null_form == NullForm::None;
        if !constant {
            return None;
        }
        self.open_words(Cursor::new(self.segment)).ok()?.constant()
    }

    /// Decodes the selected rows.
    pub(crate) fn decode(&self, selection: Selection<'_>) -> Result<ArrayRef, PageError> {
        let selected = match selection {
            Selection::All => self.rows,
            Selection::Slots(slots) => slots.len(),
        };
        if self.encoding.codec == ALL_NULL {
            return Ok(new_null_array(&self.column_type.arrow_type(), selected));
        }
        let mut cursor = Cursor::new(self.segment);
        let nulls = nulls::decode(self.encoding.null_form, &mut cursor, self.rows)?;
        let nulls = match selection {
            Selection::All => nulls,
            Selection::Slots(slots) => nulls::gather(nulls, slots),
        };
        self.decode_cells(
            cursor,
            Target {
                selection,
                selected,
                nulls,
            },
        )
    }

    fn decode_cells(&self, cursor: Cursor<'a>, target: Target<'_>) -> Result<ArrayRef, PageError> {
        match self.column_type {
            ColumnType::Bool => self.decode_bool(cursor, target),
            ColumnType::Int16 => self.decode_primitive::<Int16Type>(cursor, target),
            ColumnType::Int32 => self.decode_primitive::<Int32Type>(cursor, target),
            ColumnType::Int64 => self.decode_primitive::<Int64Type>(cursor, target),
            ColumnType::UInt64 => self.decode_primitive::<UInt64Type>(cursor, target),
            ColumnType::Float32 => self.decode_primitive::<Float32Type>(cursor, target),
            ColumnType::Float64 => self.decode_primitive::<Float64Type>(cursor, target),
            ColumnType::Date => self.decode_primitive::<Date32Type>(cursor, target),
            ColumnType::Time => self.decode_primitive::<Time64MicrosecondType>(cursor, target),
            ColumnType::Timestamp | ColumnType::TimestampTz => {
                self.decode_primitive::<TimestampMicrosecondType>(cursor, target)
            }
            ColumnType::Decimal { .. } => self.decode_decimal(cursor, target),
            ColumnType::Text | ColumnType::Bytes => self.decode_text(cursor, target),
        }
    }

    fn open_words(&self, mut cursor: Cursor<'a>) -> Result<Words<'a>, PageError> {
        let codec = WordCodec::from_u8(self.encoding.codec)
            .ok_or(PageError::Malformed("the column's type has no such codec"))?;
        let plain_bytes = plain_bytes(self.column_type);
        Words::open(codec, plain_bytes, &mut cursor, self.rows, self.section)
    }

    fn decode_words<T: Cell>(
        &self,
        cursor: Cursor<'a>,
        target: &Target<'_>,
    ) -> Result<Vec<T>, PageError> {
        let words = self.open_words(cursor)?;
        let mut cells = Vec::with_capacity(target.selected);
        match target.selection {
            Selection::All => words.decode(&mut cells)?,
            Selection::Slots(slots) => words.gather(slots, &mut cells)?,
        }
        assert_eq!(cells.len(), target.selected, "codecs decode one cell a row");
        Ok(cells)
    }

    fn decode_primitive<P: ArrowPrimitiveType>(
        &self,
        cursor: Cursor<'a>,
        target: Target<'_>,
    ) -> Result<ArrayRef, PageError>
    where
        P::Native: Cell,
    {
        let cells = self.decode_words::<P::Native>(cursor, &target)?;
        Ok(self.primitive::<P>(cells, target.nulls))
    }

    fn primitive<P: ArrowPrimitiveType>(
        &self,
        cells: Vec<P::Native>,
        nulls: Option<NullBuffer>,
    ) -> ArrayRef {
        let array = PrimitiveArray::<P>::new(cells.into(), nulls);
        Arc::new(array.with_data_type(self.column_type.arrow_type()))
    }

    fn decode_bool(&self, cursor: Cursor<'a>, target: Target<'_>) -> Result<ArrayRef, PageError> {
        let cells = self.decode_words::<u8>(cursor, &target)?;
        let bits = BooleanBuffer::collect_bool(cells.len(), |row| cells[row] != 0);
        Ok(Arc::new(BooleanArray::new(bits, target.nulls)))
    }

    fn decode_decimal(
        &self,
        mut cursor: Cursor<'a>,
        target: Target<'_>,
    ) -> Result<ArrayRef, PageError> {
        let Some(codec) = WideCodec::from_u8(self.encoding.codec) else {
            return self.decode_primitive::<Decimal128Type>(cursor, target);
        };
        let wide = Wide::open(codec, &mut cursor, self.rows, self.section)?;
        let mut cells = Vec::with_capacity(target.selected);
        match target.selection {
            Selection::All => wide.decode(&mut cells)?,
            Selection::Slots(slots) => wide.gather(slots, &mut cells)?,
        }
        Ok(self.primitive::<Decimal128Type>(cells, target.nulls))
    }

    fn decode_text(&self, cursor: Cursor<'a>, target: Target<'_>) -> Result<ArrayRef, PageError> {
        let codec = TextCodec::from_u8(self.encoding.codec)
            .ok_or(PageError::Malformed("the column's type has no such codec"))?;
        let text = Text::open(codec, cursor, self.rows, self.section)?;
        let TextCells { offsets, bytes } = match target.selection {
            Selection::All => text.decode()?,
            Selection::Slots(slots) => text.gather(slots)?,
        };
        let offsets = OffsetBuffer::new(offsets.into());
        if self.column_type == ColumnType::Bytes {
            return Ok(Arc::new(BinaryArray::new(
                offsets,
                bytes.into(),
                target.nulls,
            )));
        }
        StringArray::try_new(offsets, bytes.into(), target.nulls)
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|_| PageError::Malformed("text is not UTF-8"))
    }
}

/// What a decoded array consists of besides its cells.
struct Target<'a> {
    selection: Selection<'a>,
    /// The number of selected rows.
    selected: usize,
    /// The NULLs of the selected rows.
    nulls: Option<NullBuffer>,
}
