//! Long cells: documents, logs, pictures. A few at a time are bundled and compressed with Zstandard.
//!
//! ```text
//! decoded bytes (LEB128) · bundles b (LEB128) · bytes of all bundles (LEB128) · stream of rows ends ·
//! stream of b numbers of the cell behind each bundle · stream of b ends of bundles · bundles · zeros
//! ```
//!
//! A bundle holds the text of whole cells, end to end, as one Zstandard frame (RFC 8878): as many cells as bring it to
//! 32 KiB.
//!
//! ```text
//! cells      │ 0      │ 1                       │ 2   │ 3  │ 4            │     behind each bundle: 2, 5
//! bundles    ├────── 32 KiB or a cell more ─────┼──── the rest ───────────┤
//! ```
//!
//! Pieces of a few bytes do little for long cells, and to learn them takes 30 ms and more: a table of long texts was
//! copied at 5 to 9 MB a second, and is at 56 with bundles (a history with seed 64). The price is that one cell costs its
//! bundle, 60 µs at 530 MB a second.
//!
//! Zeros fill the segment up where it would hold more text than a reader accepts of its size ([`crate::limits`]):
//! what is equal over long stretches shrinks by a factor of 200.

use std::ops::Range;

use zstd::bulk::{Compressor, Decompressor};

use crate::cursor::{Cursor, put_unsigned};
use crate::error::PageError;
use crate::limits::text_segment_bytes_min;
use crate::words::{self, Sink};

use super::ends::{self, Ends, NOT_ASCENDING};
use super::lengths::Lengths;
use super::rest::Rest;
use super::{TextCells, TextDecoder, TextRows, check_decoded_bytes};

/// Cells are long if they have so many bytes on average.
const CELL_BYTES_MIN: usize = 1 << 10;

/// Text that fills a bundle. Beside 16 KiB it makes text and sources 3 % smaller, 64 KiB another 4 %.
const BUNDLE_TEXT_BYTES: usize = 32 << 10;

/// Text of a bundle from which on its beginning is tried alone: with pictures all of it is for nothing.
const SAMPLE_BYTES: usize = 4 * BUNDLE_TEXT_BYTES;

/// The compressor's level. The third makes text 6 % smaller, and takes 1.15 times as long alone, up to twice as long beside
/// other work (`zstd -b1 -e3 -B32768` of this repository's sources and documents).
const LEVEL: i32 = 1;

/// For how long a column leaves bundles out.
#[derive(Debug, Default)]
pub(super) struct Memory {
    rest: Rest,
}

impl Memory {
    /// Nothing on pages that are to be left out.
    pub(super) fn resting(rest: Rest) -> Self {
        Self { rest }
    }

    /// What is left out on the next pages.
    pub(super) fn rest(&self) -> Rest {
        self.rest
    }

    /// Encodes long cells if that takes fewer than `bytes_max` bytes.
    pub(super) fn draft(
        &mut self,
        rows: TextRows<'_>,
        lengths: Lengths,
        bytes_max: usize,
    ) -> Option<Draft> {
        if lengths.sum < rows.len() * CELL_BYTES_MIN || self.rest.takes(lengths.sum) {
            return None;
        }
        let draft = Draft::of(rows, lengths, bytes_max);
        match draft {
            Some(_) => self.rest.end(),
            None => self.rest.begin(),
        }
        draft
    }
}

/// Bundles to be written.
pub(super) struct Draft {
    lengths: Lengths,
    /// The cell behind each bundle.
    cells: Vec<u64>,
    /// Where each bundle ends.
    ends: Vec<u64>,
    bundles: Vec<u8>,
}

impl Draft {
    /// Bundles of all cells, if they take fewer than `bytes_max` bytes.
    fn of(rows: TextRows<'_>, lengths: Lengths, bytes_max: usize) -> Option<Self> {
        let mut compressor = Compressor::new(LEVEL).expect("there is memory for a compressor");
        let mut bundle_of = |text| compressor.compress(text).expect("a bundle is compressed");
        let pays = |bundle: &[u8], text: &[u8]| bundle.len() * lengths.sum < bytes_max * text.len();
        let mut draft = Self {
            lengths,
            cells: Vec::new(),
            ends: Vec::new(),
            bundles: Vec::new(),
        };
        for cells in bundles(rows) {
            let text = &rows.bytes[rows.range(cells.start).start..rows.range(cells.end - 1).end];
            let is_first = cells.start == 0;
            if is_first
                && let Some((sample, _)) = text.split_at_checked(SAMPLE_BYTES)
                && !pays(&bundle_of(sample), sample)
            {
                return None;
            }
            let bundle = bundle_of(text);
            if is_first && !pays(&bundle, text) {
                return None;
            }
            draft.bundles.extend_from_slice(&bundle);
            draft.ends.push(draft.bundles.len() as u64);
            draft.cells.push(cells.end as u64);
        }
        (draft.bytes(rows.len()) < bytes_max).then_some(draft)
    }

    /// Bytes that the segment takes for so many rows, or a few less.
    pub(super) fn bytes(&self, rows: usize) -> usize {
        let bytes = self.lengths.packed_bytes() + self.bundles.len();
        bytes.max(text_segment_bytes_min(self.lengths.sum, rows))
    }

    pub(super) fn encode(&self, rows: TextRows<'_>, sink: &mut Sink<'_>) {
        let begin = sink.segment.len();
        put_unsigned(sink.segment, self.lengths.sum as u64);
        put_unsigned(sink.segment, self.ends.len() as u64);
        put_unsigned(sink.segment, self.bundles.len() as u64);
        ends::write(rows.lengths(), sink);
        words::encode_stream(&self.cells, sink);
        words::encode_stream(&self.ends, sink);
        sink.segment.extend_from_slice(&self.bundles);
        let bytes_min = text_segment_bytes_min(self.lengths.sum, rows.len());
        let bytes = sink.segment.len() - begin;
        sink.segment.resize(begin + bytes.max(bytes_min), 0);
    }
}

/// The cells of each bundle.
fn bundles(rows: TextRows<'_>) -> impl Iterator<Item = Range<usize>> {
    let mut begin = 0;
    std::iter::from_fn(move || {
        let first = rows.range((begin < rows.len()).then_some(begin)?).start;
        let is_full = |&cell: &usize| rows.range(cell).end - first >= BUNDLE_TEXT_BYTES;
        let last = (begin..rows.len()).find(is_full);
        let end = last.map_or(rows.len(), |last| last + 1);
        Some(std::mem::replace(&mut begin, end)..end)
    })
}

/// A parsed segment.
#[derive(Debug)]
pub(crate) struct Bundles<'a> {
    decoded_bytes: usize,
    ends: Ends<'a>,
    /// The first cell of each bundle, and behind the last one the number of cells.
    cells: Vec<i32>,
    /// Where bundles begin, and the last one ends.
    offsets: Vec<i32>,
    bundles: &'a [u8],
}

impl Bundles<'_> {
    /// Bytes of all cells.
    pub(crate) fn decoded_bytes(&self) -> usize {
        self.decoded_bytes
    }

    /// Where a bundle's text lies in that of all cells.
    fn text(&self, bundle: usize) -> Result<Range<usize>, PageError> {
        let cells = self.cells[bundle] as usize..self.cells[bundle + 1] as usize;
        let text = self.ends.range(cells.start).start..self.ends.range(cells.end - 1).end;
        if text.start <= text.end && text.end <= self.decoded_bytes {
            Ok(text)
        } else {
            Err(NOT_ASCENDING)
        }
    }

    /// Writes the text of a bundle, which has exactly so many bytes.
    fn unpack(
        &self,
        bundle: usize,
        decompressor: &mut Decompressor<'_>,
        text: &mut [u8],
    ) -> Result<(), PageError> {
        let bundle = self.offsets[bundle] as usize..self.offsets[bundle + 1] as usize;
        match decompressor.decompress_to_buffer(&self.bundles[bundle], text) {
            Ok(bytes) if bytes == text.len() => Ok(()),
            _ => Err(PageError::Malformed("a bundle is not that of its cells")),
        }
    }

    /// The bundle of a cell.
    fn bundle_of(&self, slot: usize) -> usize {
        self.cells.partition_point(|&first| first as usize <= slot) - 1
    }

    /// Where a cell lies in a bundle's text.
    fn within(&self, text: &Range<usize>, slot: usize) -> Result<Range<usize>, PageError> {
        let cell = self.ends.range(slot);
        if text.start <= cell.start && cell.start <= cell.end && cell.end <= text.end {
            Ok(cell.start - text.start..cell.end - text.start)
        } else {
            Err(NOT_ASCENDING)
        }
    }
}

fn decompressor() -> Decompressor<'static> {
    Decompressor::new().expect("there is memory for a decompressor")
}

impl<'a> TextDecoder<'a> for Bundles<'a> {
    fn open(mut segment: Cursor<'a>, rows: usize, section: &'a [u8]) -> Result<Self, PageError> {
        let segment_bytes = segment.len();
        let decoded_bytes = segment.count(i32::MAX as usize)?;
        check_decoded_bytes(decoded_bytes, segment_bytes, rows)?;
        let count = segment.count(rows)?;
        let bundle_bytes = segment.count(segment_bytes)?;
        let ends = Ends::open(&mut segment, rows, section)?;
        let cells = Ends::open(&mut segment, count, section)?.offsets(rows)?;
        let offsets = Ends::open(&mut segment, count, section)?.offsets(bundle_bytes)?;
        if cells.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(PageError::Malformed("a bundle has no cells"));
        }
        Ok(Self {
            decoded_bytes,
            ends,
            cells,
            offsets,
            bundles: segment.take(bundle_bytes)?,
        })
    }

    fn decode(&self, memory: TextCells) -> Result<TextCells, PageError> {
        let mut cells = memory.emptied(self.ends.count(), self.decoded_bytes);
        self.ends
            .append_to(self.decoded_bytes, &mut cells.offsets)?;
        let mut decompressor = decompressor();
        for bundle in 0..self.offsets.len() - 1 {
            let text = self.text(bundle)?;
            self.unpack(bundle, &mut decompressor, &mut cells.bytes[text])?;
        }
        Ok(cells)
    }

    fn gather(&self, slots: &[u32]) -> Result<TextCells, PageError> {
        let mut cells = TextCells::default().emptied(slots.len(), 0);
        let (mut decompressor, mut buffer) = (decompressor(), Vec::new());
        for slots in
            slots.chunk_by(|&a, &b| self.bundle_of(a as usize) == self.bundle_of(b as usize))
        {
            let bundle = self.bundle_of(slots[0] as usize);
            let text = self.text(bundle)?;
            buffer.resize(text.len(), 0);
            self.unpack(bundle, &mut decompressor, &mut buffer)?;
            for &slot in slots {
                let cell = self.within(&text, slot as usize)?;
                cells.bytes.extend_from_slice(&buffer[cell]);
                cells.offsets.push(cells.bytes.len() as i32);
            }
        }
        Ok(cells)
    }

    fn cell<'b>(&'b self, slot: usize, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], PageError> {
        let bundle = self.bundle_of(slot);
        let text = self.text(bundle)?;
        buffer.resize(text.len(), 0);
        self.unpack(bundle, &mut decompressor(), buffer)?;
        Ok(&buffer[self.within(&text, slot)?])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::written::{Written, any_damage, with_rows};
    use super::super::{TextCodec, TextEncoder};
    use super::*;

    fn draft(cells: &[Vec<u8>]) -> Option<Written> {
        with_rows(cells, |rows| {
            let lengths = Lengths::of(rows.lengths());
            let draft = Memory::default().draft(rows, lengths, lengths.sum)?;
            let written = Written::by(TextCodec::Bundles, cells.len(), |sink| {
                draft.encode(rows, sink);
            });
            assert!(draft.bytes(cells.len()) <= written.segment.len() + written.section.len());
            Some(written)
        })
    }

    /// A document of about that many bytes.
    fn document(number: usize, bytes: usize) -> Vec<u8> {
        let mut document = format!("document {number}: ").into_bytes();
        let mut word = number;
        while document.len() < bytes {
            word = word * 7919 % 10_007;
            document.extend_from_slice(format!("word {} of {word}, ", word % 13).as_bytes());
        }
        document
    }

    fn documents(count: usize, bytes: usize) -> Vec<Vec<u8>> {
        (0..count).map(|number| document(number, bytes)).collect()
    }

    #[test]
    fn documents_are_bundled_and_digests_are_not() {
        let cells = documents(40, 3000);
        let written = draft(&cells).expect("documents shrink");
        assert!(written.segment.len() < 40 * 1500);
        assert_eq!(written.cells().expect("intact"), cells);
        let noise = |cell: usize| (0..3000).map(move |at| digit(cell * 3000 + at)).collect();
        assert!(draft(&(0..40).map(noise).collect::<Vec<_>>()).is_none());
        assert!(draft(&documents(400, 300)).is_none(), "they are short");
    }

    /// One of all bytes, as if drawn.
    fn digit(number: usize) -> u8 {
        let mixed = (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 56) as u8
    }

    /// A cell may be longer than a bundle, and empty ones lie between and behind.
    #[test]
    fn cells_of_every_length_lie_in_bundles() {
        let lengths = [0, 100_000, 0, 5, BUNDLE_TEXT_BYTES, 0, 70_000, 40, 0, 0];
        let cells: Vec<Vec<u8>> = lengths
            .map(|bytes| match bytes {
                0 => Vec::new(),
                bytes => document(bytes, bytes),
            })
            .into();
        let written = draft(&cells).expect("documents shrink");
        assert_eq!(written.cells().expect("intact"), cells);
    }

    /// What shrinks by more than a reader believes is filled up.
    #[test]
    fn the_same_over_and_over_takes_what_readers_accept() {
        let cells: Vec<Vec<u8>> = (0..20)
            .map(|_| b"over and over again ".repeat(1000))
            .collect();
        let written = draft(&cells).expect("it shrinks");
        assert_eq!(written.cells().expect("intact"), cells);
        assert_eq!(
            written.segment.len(),
            text_segment_bytes_min(20 * 20_000, 20)
        );
    }

    /// Such a cell has a page to itself.
    #[test]
    fn a_long_cell_alone_is_bundled() {
        let codec_of = |cell: Vec<u8>| {
            let mut codec = None;
            let written = with_rows(&[cell], |rows| {
                Written::by(TextCodec::Bundles, 1, |sink| {
                    codec = Some(TextEncoder::default().encode(rows, sink));
                })
            });
            (codec.expect("it is encoded"), written)
        };
        let (codec, written) = codec_of(document(1, 300_000));
        assert_eq!(codec, TextCodec::Bundles);
        assert_eq!(written.cells(), Ok(vec![document(1, 300_000)]));
        let noise = (0..300_000).map(digit).collect();
        assert_eq!(codec_of(noise).0, TextCodec::Constant);
        assert_eq!(codec_of(document(1, 300)).0, TextCodec::Constant);
    }

    #[test]
    fn a_bundle_of_other_text_is_refused() {
        let cells = documents(3, 2000);
        let mut written = draft(&cells).expect("documents shrink");
        let other = draft(&documents(3, 2500)).expect("documents shrink");
        let bundle = other.segment.len().min(written.segment.len()) - 100;
        let at = written.segment.len() - bundle;
        written.segment[at..].copy_from_slice(&other.segment[other.segment.len() - bundle..]);
        assert!(written.cells().is_err());
    }

    /// Long cells, and short ones between them.
    fn any_cells() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let long = (any::<u8>(), 1000..9000_usize)
            .prop_map(|(number, bytes)| document(number.into(), bytes));
        let short = proptest::collection::vec(any::<u8>(), 0..40);
        proptest::collection::vec(prop_oneof![3 => long, 1 => short], 1..40)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_cells_round_trip(cells in any_cells()) {
            if let Some(written) = draft(&cells) {
                prop_assert_eq!(written.cells().expect("intact"), cells);
            }
        }

        #[test]
        fn damage_never_panics(
            cells in any_cells(),
            damage in any_damage(),
        ) {
            let Some(mut written) = draft(&cells) else { return Ok(()) };
            written.damage(&damage);
            written.read_all();
        }
    }
}
