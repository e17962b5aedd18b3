//! Gathers rows of several arrays into one, span by span.
//!
//! A span is a range of neighbouring rows of one source array. A single span is a slice of its
//! source and copies nothing. Merges of keys in random order have spans of a row or two: these are
//! named row by row, once for all columns, because a copy of a few values costs less than finding
//! out how many they are. Longer spans are copied in pieces of one size: the last may take along
//! more values than it should, and those of the next span overwrite them. A copy of exactly ten
//! values costs a wrongly guessed branch, which takes longer.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, BinaryType, ByteArrayType, Date32Type, Decimal128Type, Float32Type,
    Float64Type, Int16Type, Int32Type, Int64Type, Time64MicrosecondType, TimestampMicrosecondType,
    UInt64Type, Utf8Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, GenericByteArray, PrimitiveArray};
use arrow_buffer::{
    BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer,
};
use arrow_schema::DataType;
use types::SortKeys;

/// Neighbouring rows of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Index of the source.
    pub source: u32,
    /// The first row.
    pub start: u32,
    /// The number of rows, at least one.
    pub rows: u32,
}

impl Span {
    fn source(&self) -> usize {
        self.source as usize
    }

    fn range(&self) -> Range<usize> {
        self.start as usize..(self.start + self.rows) as usize
    }
}

/// Spans in the order in which their rows are gathered.
pub(crate) struct Spans {
    spans: Vec<Span>,
    rows: usize,
    /// Row by row, where spans are short.
    each: Option<Vec<Place>>,
}

/// A row of a source.
#[derive(Clone, Copy)]
struct Place {
    source: u32,
    row: u32,
}

/// Spans that are shorter on average are gathered row by row.
const LONG_SPAN_ROWS: usize = 3;

/// Values that are copied at once.
const PIECE: usize = 16;

/// Of longer spans a wrong guess is a small part.
const PIECED_ROWS_MAX: usize = 16 * PIECE;

impl Spans {
    /// These, at least one.
    pub fn new(spans: Vec<Span>) -> Self {
        let rows = spans.iter().map(|span| span.rows as usize).sum();
        let each = |span: &Span| {
            let source = span.source;
            (span.start..span.start + span.rows).map(move |row| Place { source, row })
        };
        let are_short = rows < spans.len() * LONG_SPAN_ROWS;
        let each = are_short.then(|| {
            let mut places = Vec::with_capacity(rows);
            spans.iter().for_each(|span| places.extend(each(span)));
            places
        });
        Self { spans, rows, each }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// For each of so many sources the rows from the first to the last that is named.
    pub fn extents(&self, sources: usize) -> Vec<Range<usize>> {
        let mut extents = vec![0..0; sources];
        for span in &self.spans {
            // Folded patches come as one more source.
            let Some(extent) = extents.get_mut(span.source()) else {
                continue;
            };
            let rows = span.range();
            *extent = match *extent == (0..0) {
                true => rows,
                false => extent.start.min(rows.start)..extent.end.max(rows.end),
            };
        }
        extents
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        let each = self.each.as_ref().map_or(0, Vec::capacity);
        self.spans.capacity() * size_of::<Span>() + each * size_of::<Place>()
    }
}

/// The gathered text or bytes would exceed what one array can hold: gather fewer rows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooManyBytes;

/// The rows of `spans`, in order, as one array. `sources` all have the same type; those that
/// no span names may be `None`.
pub(crate) fn gather(
    sources: &[Option<ArrayRef>],
    spans: &Spans,
) -> Result<ArrayRef, TooManyBytes> {
    let first = source(sources, &spans.spans[0]);
    if let [span] = spans.spans[..] {
        return Ok(first.slice(span.start as usize, span.rows as usize));
    }
    let nulls = gather_nulls(sources, spans);
    macro_rules! primitive {
        ($type:ty) => {
            Arc::new(gather_primitive::<$type>(sources, spans, nulls))
        };
    }
    let array: ArrayRef = match first.data_type() {
        DataType::Boolean => Arc::new(gather_booleans(sources, spans, nulls)),
        DataType::Int16 => primitive!(Int16Type),
        DataType::Int32 => primitive!(Int32Type),
        DataType::Int64 => primitive!(Int64Type),
        DataType::UInt64 => primitive!(UInt64Type),
        DataType::Float32 => primitive!(Float32Type),
        DataType::Float64 => primitive!(Float64Type),
        DataType::Decimal128(..) => primitive!(Decimal128Type),
        DataType::Date32 => primitive!(Date32Type),
        DataType::Time64(_) => primitive!(Time64MicrosecondType),
        DataType::Timestamp(..) => primitive!(TimestampMicrosecondType),
        DataType::Utf8 => Arc::new(gather_bytes::<Utf8Type>(sources, spans, nulls)?),
        DataType::Binary => Arc::new(gather_bytes::<BinaryType>(sources, spans, nulls)?),
        other => panic!("no column type travels as {other}"),
    };
    Ok(array)
}

fn source<'a>(sources: &'a [Option<ArrayRef>], span: &Span) -> &'a ArrayRef {
    sources[span.source()]
        .as_ref()
        .expect("every source that a span names is there")
}

fn gather_nulls(sources: &[Option<ArrayRef>], spans: &Spans) -> Option<NullBuffer> {
    if sources
        .iter()
        .flatten()
        .all(|array| array.null_count() == 0)
    {
        return None;
    }
    let mut valid = BooleanBufferBuilder::new(spans.rows);
    for span in &spans.spans {
        match source(sources, span).nulls() {
            Some(nulls) => {
                valid.append_buffer(&nulls.inner().slice(span.start as usize, span.rows as usize))
            }
            None => valid.append_n(span.rows as usize, true),
        }
    }
    Some(NullBuffer::new(valid.finish())).filter(|nulls| nulls.null_count() > 0)
}

/// Bits of a source's rows from one of them on.
pub(crate) struct SourceBits {
    pub start: usize,
    pub bits: BooleanBuffer,
}

/// The bits of the rows of `spans`, in order. Those that no span names may be `None`.
pub(crate) fn gather_bits(sources: &[Option<SourceBits>], spans: &Spans) -> BooleanBuffer {
    let source = |index: u32| {
        let source = sources[index as usize].as_ref();
        source.expect("every source that a span names is there")
    };
    if let [span] = spans.spans[..] {
        let source = source(span.source);
        let start = span.start as usize - source.start;
        return source.bits.slice(start, span.rows as usize);
    }
    let mut gathered = BooleanBufferBuilder::new(spans.rows);
    if let Some(each) = &spans.each {
        for place in each {
            let source = source(place.source);
            gathered.append(source.bits.value(place.row as usize - source.start));
        }
        return gathered.finish();
    }
    for span in &spans.spans {
        let SourceBits { start, bits } = source(span.source);
        let first = bits.offset() + span.start as usize - start;
        gathered.append_packed_range(first..first + span.rows as usize, bits.values());
    }
    gathered.finish()
}

/// Copies spans of slices into one vector.
fn gather_values<T: Copy>(values: &[&[T]], spans: &Spans) -> Vec<T> {
    if let Some(each) = &spans.each {
        let value = |place: &Place| values[place.source as usize][place.row as usize];
        return each.iter().map(value).collect();
    }
    let mut gathered = Vec::with_capacity(spans.rows + PIECE);
    let mut rows = 0;
    for span in &spans.spans {
        let source = &values[span.source()][span.start as usize..];
        append_rows(source, span.rows as usize, &mut gathered);
        rows += span.rows as usize;
        gathered.truncate(rows);
    }
    gathered
}

/// Appends the first `rows` values, and perhaps some more, for which there is room.
#[inline]
fn append_rows<T: Copy>(source: &[T], rows: usize, to: &mut Vec<T>) {
    let whole = rows.next_multiple_of(PIECE);
    if whole > source.len() || rows > PIECED_ROWS_MAX {
        to.extend_from_slice(&source[..rows]);
        return;
    }
    let (pieces, _) = source[..whole].as_chunks::<PIECE>();
    for piece in pieces {
        to.extend_from_slice(piece);
    }
}

fn gather_primitive<T: ArrowPrimitiveType>(
    sources: &[Option<ArrayRef>],
    spans: &Spans,
    nulls: Option<NullBuffer>,
) -> PrimitiveArray<T> {
    let values: Vec<&[T::Native]> = sources
        .iter()
        .map(|array| {
            array
                .as_ref()
                .map_or(&[][..], |array| array.as_primitive::<T>().values())
        })
        .collect();
    let gathered = gather_values(&values, spans);
    PrimitiveArray::new(ScalarBuffer::from(gathered), nulls)
        .with_data_type(source(sources, &spans.spans[0]).data_type().clone())
}

fn gather_booleans(
    sources: &[Option<ArrayRef>],
    spans: &Spans,
    nulls: Option<NullBuffer>,
) -> BooleanArray {
    let mut values = BooleanBufferBuilder::new(spans.rows);
    for span in &spans.spans {
        let array = source(sources, span).as_boolean();
        values.append_buffer(
            &array
                .values()
                .slice(span.start as usize, span.rows as usize),
        );
    }
    BooleanArray::new(values.finish(), nulls)
}

fn gather_bytes<T: ByteArrayType<Offset = i32>>(
    sources: &[Option<ArrayRef>],
    spans: &Spans,
    nulls: Option<NullBuffer>,
) -> Result<GenericByteArray<T>, TooManyBytes> {
    let parts: Vec<(&[i32], &[u8])> = sources
        .iter()
        .map(|array| match array {
            Some(array) => {
                let array = array.as_bytes::<T>();
                (array.value_offsets(), array.value_data())
            }
            None => (&[][..], &[][..]),
        })
        .collect();
    let mut offsets = Vec::with_capacity(spans.rows + 1);
    let mut end = 0_i64;
    offsets.push(0);
    for span in &spans.spans {
        let source = &parts[span.source()].0[span.start as usize..=span.range().end];
        let shift = end - i64::from(source[0]);
        end += i64::from(source[source.len() - 1] - source[0]);
        if end > i64::from(i32::MAX) {
            return Err(TooManyBytes);
        }
        offsets.extend(
            source[1..]
                .iter()
                .map(|&offset| (i64::from(offset) + shift) as i32),
        );
    }
    let mut data = Vec::with_capacity(end as usize);
    for span in &spans.spans {
        let (source_offsets, source_data) = parts[span.source()];
        let range = span.range();
        data.extend_from_slice(
            &source_data[source_offsets[range.start] as usize..source_offsets[range.end] as usize],
        );
    }
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    Ok(GenericByteArray::new(
        offsets,
        Buffer::from_vec(data),
        nulls,
    ))
}

/// The keys of the rows of `spans`, in order.
pub(crate) fn gather_keys(sources: &[&SortKeys], spans: &Spans) -> Result<SortKeys, TooManyBytes> {
    match sources[spans.spans[0].source()] {
        SortKeys::U64(_) => {
            let values: Vec<_> = sources.iter().map(|keys| u64_values(keys)).collect();
            Ok(SortKeys::U64(gather_values(&values, spans)))
        }
        SortKeys::U128(_) => {
            let values: Vec<_> = sources.iter().map(|keys| u128_values(keys)).collect();
            Ok(SortKeys::U128(gather_values(&values, spans)))
        }
        SortKeys::Bytes { .. } => gather_byte_keys(sources, spans),
    }
}

fn u64_values(keys: &SortKeys) -> &[u64] {
    let SortKeys::U64(values) = keys else {
        panic!("keys of one table have one form")
    };
    values
}

fn u128_values(keys: &SortKeys) -> &[u128] {
    let SortKeys::U128(values) = keys else {
        panic!("keys of one table have one form")
    };
    values
}

fn gather_byte_keys(sources: &[&SortKeys], spans: &Spans) -> Result<SortKeys, TooManyBytes> {
    let mut offsets = Vec::with_capacity(spans.rows + 1);
    let mut data = Vec::new();
    offsets.push(0);
    for span in &spans.spans {
        let keys = sources[span.source()];
        for row in span.range() {
            data.extend_from_slice(keys.bytes(row));
            offsets.push(u32::try_from(data.len()).map_err(|_| TooManyBytes)?);
        }
    }
    Ok(SortKeys::Bytes { offsets, data })
}

#[cfg(test)]
mod tests;
