//! From some rows of an Arrow array to a column's segment.
//!
//! 1. Write which cells are NULL.
//! 2. Collect the cells that are not, in the form that the type's codecs take: words, wide
//!    decimals or text.
//! 3. Let the codecs encode them.
//!
//! Invariant: codecs never see a NULL. A page of a column with NULLs stores fewer cells than it
//! has rows.

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, Time64MicrosecondType, TimestampMicrosecondType, UInt64Type,
};
use arrow_buffer::NullBuffer;
use types::ColumnType;

use crate::cell::Cell;
use crate::floats::{Float, FloatEncoder};
use crate::header::Encoding;
use crate::nulls;
use crate::text::{TextEncoder, TextRests, TextRows};
use crate::wide;
use crate::words::{self, Sink, WordCodec};

/// Some rows of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows<'a> {
    pub(crate) array: &'a ArrayRef,
    pub(crate) start: usize,
    pub(crate) len: usize,
}

impl<'a> Rows<'a> {
    fn values<P: ArrowPrimitiveType>(&self) -> &'a [P::Native] {
        &self.array.as_primitive::<P>().values()[self.start..][..self.len]
    }

    /// The offsets and bytes of a text or bytes array.
    fn text(&self, column_type: ColumnType) -> TextRows<'a> {
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
        TextRows {
            offsets: &offsets[self.start..=self.start + self.len],
            bytes,
        }
    }
}

/// Where the text of each row ends, behind where the first one begins; `None` for other types.
pub(crate) fn text_ends(rows: Rows<'_>, column_type: ColumnType) -> Option<&[i32]> {
    match column_type {
        ColumnType::Text | ColumnType::Bytes => Some(rows.text(column_type).offsets),
        _ => None,
    }
}

/// Memory for a column's cells while they are encoded. All columns share it, so that it stays in
/// the processor's cache.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    words: Vec<u64>,
    decimals: Vec<i128>,
    offsets: Vec<i32>,
    bytes: Vec<u8>,
}

/// Encodes columns of one type; keeps what their codecs remember from page to page.
#[derive(Debug)]
pub(crate) struct ColumnEncoder {
    column_type: ColumnType,
    words: words::Memory,
    floats: FloatEncoder,
    text: TextEncoder,
}

impl ColumnEncoder {
    /// Leaves out codecs of text that another encoder of the column does.
    pub(crate) fn new(column_type: ColumnType, rests: TextRests) -> Self {
        Self {
            column_type,
            words: words::Memory::default(),
            floats: FloatEncoder::default(),
            text: TextEncoder::experienced(rests),
        }
    }

    /// What is left out on the next pages.
    pub(crate) fn text_rests(&self) -> TextRests {
        self.text.rests()
    }

    pub(crate) fn column_type(&self) -> ColumnType {
        self.column_type
    }

    /// Appends the segment of some rows of an array.
    pub(crate) fn encode(
        &mut self,
        rows: Rows<'_>,
        scratch: &mut Scratch,
        sink: &mut Sink<'_>,
    ) -> Encoding {
        let nulls = nulls::of_rows(rows.array, rows.start, rows.len);
        let nulls = nulls.as_ref();
        if nulls.is_some_and(|nulls| nulls.null_count() == rows.len) {
            return Encoding::ALL_NULL;
        }
        let null_form = nulls::encode(nulls, sink.segment);
        let codec = match self.column_type {
            ColumnType::Text | ColumnType::Bytes => self.encode_text(rows, nulls, scratch, sink),
            ColumnType::Decimal { .. } => self.encode_decimals(rows, nulls, scratch, sink),
            ColumnType::Float32 => self.encode_floats::<Float32Type>(rows, nulls, scratch, sink),
            ColumnType::Float64 => self.encode_floats::<Float64Type>(rows, nulls, scratch, sink),
            _ => self.encode_words(rows, nulls, scratch, sink),
        };
        Encoding { codec, null_form }
    }

    fn encode_text(
        &mut self,
        rows: Rows<'_>,
        nulls: Option<&NullBuffer>,
        scratch: &mut Scratch,
        sink: &mut Sink<'_>,
    ) -> u8 {
        let mut cells = rows.text(self.column_type);
        if let Some(nulls) = nulls {
            cells.without_nulls(nulls, &mut scratch.offsets, &mut scratch.bytes);
            cells = TextRows {
                offsets: &scratch.offsets,
                bytes: &scratch.bytes,
            };
        }
        self.text.encode(cells, sink) as u8
    }

    fn encode_decimals(
        &mut self,
        rows: Rows<'_>,
        nulls: Option<&NullBuffer>,
        scratch: &mut Scratch,
        sink: &mut Sink<'_>,
    ) -> u8 {
        let values = rows.values::<Decimal128Type>();
        scratch.decimals.clear();
        match nulls {
            None => scratch.decimals.extend_from_slice(values),
            Some(nulls) => scratch
                .decimals
                .extend(nulls.valid_indices().map(|row| values[row])),
        }
        if !wide::fit_words(&scratch.decimals) {
            return wide::encode(&scratch.decimals, sink) as u8;
        }
        scratch.words.clear();
        scratch
            .words
            .extend(scratch.decimals.iter().map(|cell| cell.to_word()));
        words::encode(&scratch.words, i128::PLAIN_BYTES, &mut self.words, sink) as u8
    }

    fn encode_floats<P: ArrowPrimitiveType>(
        &mut self,
        rows: Rows<'_>,
        nulls: Option<&NullBuffer>,
        scratch: &mut Scratch,
        sink: &mut Sink<'_>,
    ) -> u8
    where
        P::Native: Float,
    {
        scratch.words.clear();
        scratch.collect::<P>(rows, nulls);
        (self.floats).encode::<P::Native>(&scratch.words, &mut self.words, sink)
    }

    fn encode_words(
        &mut self,
        rows: Rows<'_>,
        nulls: Option<&NullBuffer>,
        scratch: &mut Scratch,
        sink: &mut Sink<'_>,
    ) -> u8 {
        macro_rules! integers {
            ($type:ty) => {
                self.encode_integers::<$type>(rows, nulls, scratch, sink)
            };
        }
        let codec = match self.column_type {
            ColumnType::Bool => {
                scratch.words.clear();
                scratch.collect_bools(rows, nulls);
                words::encode(&scratch.words, u8::PLAIN_BYTES, &mut self.words, sink)
            }
            ColumnType::Int16 => integers!(Int16Type),
            ColumnType::Int32 => integers!(Int32Type),
            ColumnType::Int64 => integers!(Int64Type),
            ColumnType::UInt64 => integers!(UInt64Type),
            ColumnType::Date => integers!(Date32Type),
            ColumnType::Time => integers!(Time64MicrosecondType),
            ColumnType::Timestamp | ColumnType::TimestampTz => {
                integers!(TimestampMicrosecondType)
            }
            ColumnType::Float32
            | ColumnType::Float64
            | ColumnType::Decimal { .. }
            | ColumnType::Text
            | ColumnType::Bytes => {
                unreachable!("these types have encodings of their own")
            }
        };
        codec as u8
    }

    fn encode_integers<P: ArrowPrimitiveType>(
        &mut self,
        rows: Rows<'_>,
        nulls: Option<&NullBuffer>,
        scratch: &mut Scratch,
        sink: &mut Sink<'_>,
    ) -> WordCodec
    where
        P::Native: Cell,
    {
        let plain_bytes = P::Native::PLAIN_BYTES;
        if nulls.is_none() {
            let cells = rows.values::<P>();
            let codec = words::encode_runs(cells, plain_bytes, &mut self.words, sink);
            if let Some(codec) = codec {
                return codec;
            }
        }
        scratch.words.clear();
        scratch.collect::<P>(rows, nulls);
        words::encode(&scratch.words, plain_bytes, &mut self.words, sink)
    }
}

impl Scratch {
    fn collect<P: ArrowPrimitiveType>(&mut self, rows: Rows<'_>, nulls: Option<&NullBuffer>)
    where
        P::Native: Cell,
    {
        let values = rows.values::<P>();
        match nulls {
            None => self
                .words
                .extend(values.iter().map(|value| value.to_word())),
            Some(nulls) => {
                self.words
                    .extend(nulls.valid_indices().map(|row| values[row].to_word()));
            }
        }
    }

    fn collect_bools(&mut self, rows: Rows<'_>, nulls: Option<&NullBuffer>) {
        let values = rows.array.as_boolean().values().slice(rows.start, rows.len);
        match nulls {
            None => self.words.extend(values.iter().map(u64::from)),
            Some(nulls) => {
                let valid = nulls.valid_indices();
                self.words
                    .extend(valid.map(|row| u64::from(values.value(row))));
            }
        }
    }
}
