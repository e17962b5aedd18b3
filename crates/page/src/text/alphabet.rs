//! Characters of a small alphabet, several in each byte: hexadecimal digests, telephone numbers, genes.
//!
//! ```text
//! letters n (u8, 2 to 16) · n bytes, ascending · decoded bytes (LEB128) · stream of rows ends · digits, up to the
//! end of the segment
//! ```
//!
//! A letter's digit is its number. A byte holds as many digits to the base `n` as fit 256 numbers, the first one
//! counting least: 8 for 2 letters, 5 for 3, 4 for 4, 3 for up to 6, else 2. Cells lie end to end; what the last byte
//! holds behind them are zeros.
//!
//! ```text
//! "cafe" of "acef":   c = 1, a = 0, f = 3, e = 2   →   1 + 0 · 4 + 3 · 16 + 2 · 64 = 177
//! ```
//!
//! Text without any structure is stored in about as few bits as it has, without looking for pieces in it. Symbols and
//! grammars are tried on top, as on any other text.

use std::ops::Range;

use arrow_buffer::BooleanBuffer;

use crate::cursor::{Cursor, put_unsigned, unsigned_bytes};
use crate::error::PageError;
use crate::words::Sink;

use super::ends::{self, Ends, NOT_ASCENDING};
use super::lengths::Lengths;
use super::{TextCells, TextDecoder, TextRows};

/// With more, a byte holds one digit only.
const LETTERS_MAX: usize = 16;

/// Digits of a byte at most.
const DIGITS_MAX: usize = 8;

/// Text that is looked at in one go; most has more letters than fit here already.
const PART_BYTES: usize = 256;

/// The digits that fit a byte.
fn digits_per_byte(letters: usize) -> usize {
    match letters {
        ..=2 => 8,
        3 => 5,
        4 => 4,
        5..=6 => 3,
        _ => 2,
    }
}

/// An alphabet that all cells are written in.
pub(super) struct Draft {
    letters: Vec<u8>,
    lengths: Lengths,
}

impl Draft {
    /// The alphabet of the cells, if it is small enough.
    pub(super) fn of(rows: TextRows<'_>, lengths: Lengths) -> Option<Self> {
        let mut is_used = [false; 256];
        for part in rows.contents().chunks(PART_BYTES) {
            for &letter in part {
                is_used[usize::from(letter)] = true;
            }
            if is_used.iter().filter(|&&is_used| is_used).count() > LETTERS_MAX {
                return None;
            }
        }
        let letters = (0..=u8::MAX).filter(|&letter| is_used[usize::from(letter)]);
        let letters: Vec<u8> = letters.collect();
        (letters.len() >= 2).then_some(Self { letters, lengths })
    }

    /// Bytes that the segment takes, or a few less.
    pub(super) fn bytes(&self) -> usize {
        let text_bytes = self.lengths.sum;
        1 + self.letters.len()
            + unsigned_bytes(text_bytes as u64)
            + self.lengths.packed_bytes()
            + text_bytes.div_ceil(digits_per_byte(self.letters.len()))
    }

    pub(super) fn encode(&self, rows: TextRows<'_>, sink: &mut Sink<'_>) {
        sink.segment.push(self.letters.len() as u8);
        sink.segment.extend_from_slice(&self.letters);
        put_unsigned(sink.segment, self.lengths.sum as u64);
        ends::write(rows.lengths(), sink);
        let pack = match digits_per_byte(self.letters.len()) {
            8 => pack::<8>,
            5 => pack::<5>,
            4 => pack::<4>,
            3 => pack::<3>,
            _ => pack::<2>,
        };
        pack(rows.contents(), &self.letters, sink.segment);
    }
}

/// Appends the digits of a text whose letters these are, `DIGITS` to a byte.
fn pack<const DIGITS: usize>(text: &[u8], letters: &[u8], packed: &mut Vec<u8>) {
    let mut digit_of = [0_u8; 256];
    for (letter, digit) in letters.iter().zip(0..) {
        digit_of[usize::from(*letter)] = digit;
    }
    let base = letters.len() as u8;
    let number = |letters: &[u8]| -> u8 {
        let digits = letters.iter().rev();
        let digits = digits.map(|letter| digit_of[usize::from(*letter)]);
        digits.fold(0, |number, digit| number * base + digit)
    };
    let (whole, rest) = text.as_chunks::<DIGITS>();
    packed.extend(whole.iter().map(|letters| number(letters)));
    if !rest.is_empty() {
        packed.push(number(rest));
    }
}

/// A parsed segment.
#[derive(Debug)]
pub(crate) struct Alphabet<'a> {
    letters: &'a [u8],
    /// What each byte stands for, and anything behind that.
    texts: Box<[[u8; DIGITS_MAX]; 256]>,
    digits_per_byte: usize,
    is_ascii: bool,
    decoded_bytes: usize,
    ends: Ends<'a>,
    packed: &'a [u8],
}

impl Alphabet<'_> {
    /// Makes `text` that of a range of the cells, with the letters that share its first and last byte. Returns how many
    /// come before it.
    ///
    /// ```text
    /// range         ├───────────────────┤
    /// bytes    │ a  c  a  f │ e  c  a  f │ e  a  c  f │
    /// text       a  c  a  f   e  c  a  f   e  a  c  f      1 before the range
    /// ```
    fn unpack(&self, range: &Range<usize>, text: &mut Vec<u8>) -> usize {
        let digits = self.digits_per_byte;
        let bytes = range.start / digits..range.end.div_ceil(digits);
        text.clear();
        text.resize(bytes.len() * digits, 0);
        self.expand(&self.packed[bytes], text);
        range.start % digits
    }

    /// Writes what bytes stand for. `text` has a byte for each digit.
    fn expand(&self, packed: &[u8], text: &mut [u8]) {
        match self.digits_per_byte {
            8 => self.expand_by::<8>(packed, text),
            5 => self.expand_by::<5>(packed, text),
            4 => self.expand_by::<4>(packed, text),
            3 => self.expand_by::<3>(packed, text),
            _ => self.expand_by::<2>(packed, text),
        }
    }

    fn expand_by<const DIGITS: usize>(&self, packed: &[u8], text: &mut [u8]) {
        let (text, _) = text.as_chunks_mut::<DIGITS>();
        for (text, byte) in text.iter_mut().zip(packed) {
            text.copy_from_slice(&self.texts[usize::from(*byte)][..DIGITS]);
        }
    }

    /// The letters, if each cell is one of them.
    pub(super) fn distinct(&self) -> Result<Option<TextCells>, PageError> {
        let count = self.ends.count();
        // As many letters as cells are one a cell if all ends are where such cells end.
        if self.decoded_bytes != count || !self.is_ascii {
            return Ok(None);
        }
        if !self.ends.offsets(count)?.into_iter().eq(0..=count as i32) {
            return Ok(None);
        }
        Ok(Some(TextCells {
            offsets: (0..=self.letters.len() as i32).collect(),
            bytes: self.letters.to_vec(),
            is_text: true,
        }))
    }

    /// Which letter each cell is, where each is one.
    pub(super) fn codes(&self) -> Vec<u16> {
        let mut code_of = [0; 256];
        for (&letter, code) in self.letters.iter().zip(0..) {
            code_of[usize::from(letter)] = code;
        }
        self.each_letter(|letter| code_of[usize::from(letter)])
    }

    /// The cells whose letter's bit is set, where each is one.
    pub(super) fn rows_of(&self, wanted: &BooleanBuffer) -> BooleanBuffer {
        let mut is_wanted = [false; 256];
        for (&letter, wanted) in self.letters.iter().zip(wanted) {
            is_wanted[usize::from(letter)] = wanted;
        }
        self.each_letter(|letter| is_wanted[usize::from(letter)])
            .into()
    }

    fn each_letter<T>(&self, of: impl Fn(u8) -> T) -> Vec<T> {
        let mut text = vec![0; self.packed.len() * self.digits_per_byte];
        self.expand(self.packed, &mut text);
        let letters = &text[..self.decoded_bytes];
        letters.iter().map(|&letter| of(letter)).collect()
    }

    /// Where a cell lies in the text.
    fn range(&self, slot: usize) -> Result<Range<usize>, PageError> {
        let range = self.ends.range(slot);
        if range.start <= range.end && range.end <= self.decoded_bytes {
            Ok(range)
        } else {
            Err(NOT_ASCENDING)
        }
    }
}

/// What each byte stands for, where that is the alphabet.
fn texts(letters: &[u8], digits_per_byte: usize) -> Box<[[u8; DIGITS_MAX]; 256]> {
    let mut texts = Box::new([[0; DIGITS_MAX]; 256]);
    // As many bytes as there are texts of so many digits.
    let mut count = 1;
    for digit in 0..digits_per_byte {
        // Those of one digit more are those that there are, with each letter behind them.
        for (number, &letter) in letters.iter().enumerate().rev() {
            texts.copy_within(..count, number * count);
            for text in &mut texts[number * count..(number + 1) * count] {
                text[digit] = letter;
            }
        }
        count *= letters.len();
    }
    texts
}

impl<'a> TextDecoder<'a> for Alphabet<'a> {
    fn open(mut segment: Cursor<'a>, rows: usize, section: &'a [u8]) -> Result<Self, PageError> {
        let count = usize::from(segment.byte()?);
        if !(2..=LETTERS_MAX).contains(&count) {
            return Err(PageError::Malformed("an alphabet has 2 to 16 letters"));
        }
        let letters = segment.take(count)?;
        let digits_per_byte = digits_per_byte(count);
        let decoded_bytes = segment.count(segment.len() * digits_per_byte)?;
        let ends = Ends::open(&mut segment, rows, section)?;
        let packed = segment.take_rest();
        if packed.len() != decoded_bytes.div_ceil(digits_per_byte) {
            return Err(PageError::Malformed("the digits are not those of the text"));
        }
        let numbers = count.pow(digits_per_byte as u32);
        let greatest = packed.iter().fold(0, |greatest, &byte| byte.max(greatest));
        if usize::from(greatest) >= numbers {
            return Err(PageError::Malformed("a byte is no number of digits"));
        }
        if i32::try_from(decoded_bytes).is_err() {
            return Err(PageError::Malformed(
                "a segment holds more text than an array can",
            ));
        }
        Ok(Self {
            letters,
            texts: texts(letters, digits_per_byte),
            digits_per_byte,
            is_ascii: letters.is_ascii(),
            decoded_bytes,
            ends,
            packed,
        })
    }

    fn decode(&self, memory: TextCells) -> Result<TextCells, PageError> {
        let digits = self.packed.len() * self.digits_per_byte;
        let mut cells = memory.emptied(self.ends.count(), digits);
        self.ends
            .append_to(self.decoded_bytes, &mut cells.offsets)?;
        self.expand(self.packed, &mut cells.bytes);
        cells.bytes.truncate(self.decoded_bytes);
        cells.is_text = self.is_ascii;
        Ok(cells)
    }

    fn gather(&self, slots: &[u32]) -> Result<TextCells, PageError> {
        let mut cells = TextCells::default().emptied(slots.len(), 0);
        let mut buffer = Vec::new();
        for &slot in slots {
            let cell = self.cell(slot as usize, &mut buffer)?;
            cells.bytes.extend_from_slice(cell);
            cells.offsets.push(cells.bytes.len() as i32);
        }
        cells.is_text = self.is_ascii;
        Ok(cells)
    }

    fn cell<'b>(&'b self, slot: usize, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], PageError> {
        let range = self.range(slot)?;
        let before = self.unpack(&range, buffer);
        Ok(&buffer[before..before + range.len()])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::TextCodec;
    use super::super::written::{Written, any_damage, with_rows};
    use super::*;

    fn draft(cells: &[Vec<u8>]) -> Option<Written> {
        with_rows(cells, |rows| {
            let draft = Draft::of(rows, Lengths::of(rows.lengths()))?;
            let written = Written::by(TextCodec::Alphabet, cells.len(), |sink| {
                draft.encode(rows, sink);
            });
            assert!(draft.bytes() <= written.segment.len() + written.section.len());
            Some(written)
        })
    }

    #[test]
    fn the_example_of_the_header() {
        let written = draft(&[b"cafe".to_vec()]).expect("four letters");
        assert_eq!(written.segment[..6], *b"\x04acef\x04");
        assert_eq!(written.segment.last(), Some(&177));
    }

    #[test]
    fn an_alphabet_has_2_to_16_letters() {
        let letters = |count: u8| (0..count).collect::<Vec<u8>>();
        assert!(draft(&[letters(1)]).is_none());
        assert!(draft(&[letters(16)]).is_some());
        assert!(draft(&[letters(17)]).is_none());
        assert!(draft(&[]).is_none());
    }

    #[test]
    fn a_byte_that_is_no_number_is_refused() {
        let mut written = draft(&[b"abcabcab".to_vec()]).expect("three letters");
        let last = written.segment.last_mut().expect("there are digits");
        *last = 243; // 3^5
        assert!(written.open().is_err());
    }

    /// Cells in an alphabet, of any bytes.
    fn any_cells() -> impl Strategy<Value = Vec<Vec<u8>>> {
        proptest::collection::hash_set(any::<u8>(), 2..=LETTERS_MAX).prop_flat_map(|letters| {
            let letters: Vec<u8> = letters.into_iter().collect();
            let cell = proptest::collection::vec(proptest::sample::select(letters), 0..60);
            proptest::collection::vec(cell, 1..120)
        })
    }

    /// Cells of one letter each are told apart by letters; others are not.
    #[test]
    fn letters_are_distinct_cells() {
        let cells: Vec<Vec<u8>> = b"NARNNRAAN".iter().map(|&letter| vec![letter]).collect();
        let written = draft(&cells).expect("three letters");
        let text = written.open().expect("intact");
        let distinct = text.distinct().expect("intact").expect("one letter each");
        assert_eq!(
            (&distinct.bytes[..], &distinct.offsets[..]),
            (&b"ANR"[..], &[0, 1, 2, 3][..])
        );
        let codes = text.codes(cells.len()).expect("intact");
        assert_eq!(codes, [1, 0, 2, 1, 1, 2, 0, 0, 1]);
        let wanted = BooleanBuffer::from(vec![false, true, true]);
        let rows = text.rows_of(&wanted, cells.len()).expect("intact");
        let expected = codes.iter().map(|&code| code > 0).collect::<Vec<_>>();
        assert_eq!(rows, BooleanBuffer::from(expected));
        // As many letters as cells, but not one each; and a letter that is no text.
        for others in [[&b"AN"[..], b"", b"R"], [b"A", b"\xE4", b"R"]] {
            let written = draft(&others.map(<[u8]>::to_vec)).expect("three letters");
            let text = written.open().expect("intact");
            assert!(text.distinct().expect("intact").is_none());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

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
