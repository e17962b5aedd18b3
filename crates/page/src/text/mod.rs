//! Codecs for text and bytes.
//!
//! 1. All cells equal: constant.
//! 2. Few distinct cells: a dictionary.
//! 3. Ascending cells: what each shares with the one before is left out (front coding).
//! 4. Cells of few characters: several characters in a byte.
//! 5. Long cells: a few at a time, compressed with Zstandard.
//! 6. Cells that share pieces: a symbol table (FSST) or, once there has been enough text to learn
//!    from, a grammar.
//! 7. Otherwise plain.
//!
//! Does not: know cells that are NULL (see `nulls`), check UTF-8 (see `utf8`), but for a
//! dictionary's entries: that is less work than to check all cells.

mod alphabet;
mod bundles;
mod cells;
mod constant;
mod dictionary;
mod ends;
mod entries;
mod grammar;
mod lengths;
mod piece;
mod plain;
mod prefixes;
mod rest;
mod symbols;
mod utf8;
#[cfg(test)]
mod written;

use std::ops::Range;

use arrow_buffer::{BooleanBuffer, NullBuffer};

use crate::cursor::Cursor;
use crate::error::PageError;
use crate::limits::decoded_text_bytes_max;
use crate::words::Sink;

use alphabet::Alphabet;
use bundles::Bundles;
pub(crate) use cells::TextCells;
use constant::Constant;
use dictionary::Dictionary;
use grammar::Grammar;
use lengths::Lengths;
use plain::Plain;
use prefixes::Prefixes;
use rest::Rest;
use symbols::Symbols;
pub(crate) use utf8::string_array;

/// The codecs of text. The numbers are on disk: never change them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum TextCodec {
    Plain = 16,
    Constant = 17,
    Dictionary = 18,
    Symbols = 19,
    Prefixes = 20,
    Grammar = 21,
    Alphabet = 22,
    Bundles = 23,
}

impl TextCodec {
    pub(crate) fn from_u8(number: u8) -> Option<Self> {
        [
            Self::Plain,
            Self::Constant,
            Self::Dictionary,
            Self::Symbols,
            Self::Prefixes,
            Self::Grammar,
            Self::Alphabet,
            Self::Bundles,
        ]
        .into_iter()
        .find(|&codec| codec as u8 == number)
    }
}

/// Cells to be encoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextRows<'a> {
    /// Where cells begin and end, one more than cells.
    pub(crate) offsets: &'a [i32],
    /// The bytes that the offsets point into.
    pub(crate) bytes: &'a [u8],
}

impl<'a> TextRows<'a> {
    /// Collects the cells that are not NULL.
    pub(crate) fn without_nulls(
        self,
        nulls: &NullBuffer,
        offsets: &mut Vec<i32>,
        bytes: &mut Vec<u8>,
    ) {
        offsets.clear();
        bytes.clear();
        offsets.push(0);
        for row in nulls.valid_indices() {
            bytes.extend_from_slice(self.cell(row));
            offsets.push(bytes.len() as i32);
        }
    }

    fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    fn lengths(self) -> impl Iterator<Item = usize> {
        self.offsets
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as usize)
    }

    /// Where a cell lies in the bytes.
    #[inline]
    fn range(&self, row: usize) -> Range<usize> {
        self.offsets[row] as usize..self.offsets[row + 1] as usize
    }

    #[inline]
    fn cell(&self, row: usize) -> &'a [u8] {
        &self.bytes[self.range(row)]
    }

    fn cells(self) -> impl Iterator<Item = &'a [u8]> + Clone {
        (0..self.len()).map(move |row| self.cell(row))
    }

    /// All cells end to end.
    fn contents(&self) -> &'a [u8] {
        &self.bytes[self.offsets[0] as usize..self.offsets[self.len()] as usize]
    }
}

/// Encodes columns of text; keeps what it learned on one page for the next.
#[derive(Debug, Default)]
pub(crate) struct TextEncoder {
    bundles: bundles::Memory,
    symbols: symbols::Memory,
    grammar: grammar::Memory,
}

/// For how long bundles, symbols and grammars are left out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TextRests {
    bundles: Rest,
    symbols: Rest,
    grammar: grammar::Rests,
}

impl TextEncoder {
    /// Leaves out what another encoder of the same column does.
    pub(crate) fn experienced(rests: TextRests) -> Self {
        Self {
            bundles: bundles::Memory::resting(rests.bundles),
            symbols: symbols::Memory::resting(rests.symbols),
            grammar: grammar::Memory::resting(rests.grammar),
        }
    }

    /// What is left out on the next pages.
    pub(crate) fn rests(&self) -> TextRests {
        TextRests {
            bundles: self.bundles.rest(),
            symbols: self.symbols.rest(),
            grammar: self.grammar.rests(),
        }
    }

    /// Encodes the cells; there is at least one.
    pub(crate) fn encode(&mut self, rows: TextRows<'_>, sink: &mut Sink<'_>) -> TextCodec {
        if constant::pays(rows) {
            // A cell alone is as constant as any, and may be long.
            if rows.len() == 1 {
                let lengths = Lengths::of(rows.lengths());
                let bundled = self.bundle(rows, lengths, fewer(lengths.sum), sink);
                if let Some(codec) = bundled {
                    return codec;
                }
            }
            constant::encode(rows, sink);
            return TextCodec::Constant;
        }
        let lengths = Lengths::of(rows.lengths());
        let mut draft = Draft::Plain;
        let mut bytes_max = lengths.sum + lengths.packed_bytes();
        if let Some(prefixes) = prefixes::Draft::of(rows)
            && prefixes.bytes() * 100 < bytes_max * PREFIXES_PERCENT_MAX
        {
            bytes_max = prefixes.bytes();
            draft = Draft::Prefixes(prefixes);
        }
        if draft.may_repeat()
            && let Some(dictionary) = dictionary::Draft::of(rows)
            && dictionary.bytes() < bytes_max
        {
            bytes_max = dictionary.bytes();
            draft = Draft::Dictionary(dictionary);
        }
        // Decoding characters and pieces takes longer, so they have to earn it.
        bytes_max = fewer(bytes_max);
        if let Some(alphabet) = alphabet::Draft::of(rows, lengths)
            && alphabet.bytes() < bytes_max
        {
            bytes_max = fewer(alphabet.bytes());
            draft = Draft::Alphabet(alphabet);
        }
        // Nothing is looked for in what is long: that takes too much time for what it finds.
        if let Some(codec) = self.bundle(rows, lengths, bytes_max, sink) {
            return codec;
        }
        if !self.grammar.paid()
            && let Some(symbols) = self.symbols.draft(rows, lengths.sum, bytes_max)
        {
            bytes_max = fewer(symbols.bytes());
            draft = Draft::Symbols(symbols);
        }
        if let Some(grammar) = self.grammar.draft(rows, lengths.sum, bytes_max) {
            draft = Draft::Grammar(grammar);
        }
        draft.encode(rows, sink)
    }

    /// Encodes long cells as bundles, if that takes fewer than `bytes_max` bytes.
    fn bundle(
        &mut self,
        rows: TextRows<'_>,
        lengths: Lengths,
        bytes_max: usize,
        sink: &mut Sink<'_>,
    ) -> Option<TextCodec> {
        let draft = self.bundles.draft(rows, lengths, bytes_max)?;
        draft.encode(rows, sink);
        Some(TextCodec::Bundles)
    }
}

/// A codec's work before it is known whether it is the best.
enum Draft<'a> {
    Plain,
    Dictionary(dictionary::Draft<'a>),
    Symbols(symbols::Draft),
    Prefixes(prefixes::Draft),
    Alphabet(alphabet::Draft),
    Grammar(grammar::Draft),
}

impl Draft<'_> {
    /// Whether cells may be equal, as far as the draft knows.
    fn may_repeat(&self) -> bool {
        match self {
            Self::Prefixes(prefixes) => prefixes.repeats(),
            _ => true,
        }
    }

    fn encode(&self, rows: TextRows<'_>, sink: &mut Sink<'_>) -> TextCodec {
        match self {
            Self::Plain => {
                plain::encode(rows, sink);
                TextCodec::Plain
            }
            Self::Dictionary(dictionary) => {
                dictionary.encode(sink);
                TextCodec::Dictionary
            }
            Self::Symbols(symbols) => {
                symbols.encode(sink);
                TextCodec::Symbols
            }
            Self::Prefixes(prefixes) => {
                prefixes.encode(rows, sink);
                TextCodec::Prefixes
            }
            Self::Alphabet(alphabet) => {
                alphabet.encode(rows, sink);
                TextCodec::Alphabet
            }
            Self::Grammar(grammar) => {
                grammar.encode(sink);
                TextCodec::Grammar
            }
        }
    }
}

/// Front coding is taken if it needs no more than so many percent of the cells as they are.
const PREFIXES_PERCENT_MAX: usize = 90;

/// Characters of an alphabet, bundles, symbols and a grammar are taken if they need no more than so many percent of
/// the next best codec's bytes.
const PIECES_PERCENT_MAX: usize = 85;

/// So many of a codec's bytes that one that takes longer to decode has to need fewer.
fn fewer(bytes: usize) -> usize {
    bytes * PIECES_PERCENT_MAX / 100
}

/// Refuses text that no writer puts into a segment of that size.
fn check_decoded_bytes(bytes: usize, segment_bytes: usize, rows: usize) -> Result<(), PageError> {
    if bytes <= decoded_text_bytes_max(segment_bytes, rows) && i32::try_from(bytes).is_ok() {
        Ok(())
    } else {
        Err(PageError::Malformed(
            "a segment holds more text than its size allows",
        ))
    }
}

/// How a codec hands its cells out.
trait TextDecoder<'a>: Sized {
    /// Parses and checks the segment of `rows` cells. `section` is the exception section.
    fn open(segment: Cursor<'a>, rows: usize, section: &'a [u8]) -> Result<Self, PageError>;

    /// All cells, in memory that may be used.
    fn decode(&self, memory: TextCells) -> Result<TextCells, PageError>;

    /// The cells of `slots`, which ascend and are below the number of rows.
    fn gather(&self, slots: &[u32]) -> Result<TextCells, PageError>;

    /// The cell of a slot, which is below the number of rows; put together in `buffer` where it
    /// does not lie ready.
    fn cell<'b>(&'b self, slot: usize, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], PageError>;

    /// The first of the slots whose cell is not `below`, where those that are come first.
    fn partition(
        &self,
        mut slots: Range<usize>,
        buffer: &mut Vec<u8>,
        below: impl Fn(&[u8]) -> bool,
    ) -> Result<usize, PageError> {
        while !slots.is_empty() {
            let middle = slots.start + slots.len() / 2;
            if below(self.cell(middle, buffer)?) {
                slots.start = middle + 1;
            } else {
                slots.end = middle;
            }
        }
        Ok(slots.start)
    }
}

/// Text in a segment, parsed and ready to decode.
#[derive(Debug)]
pub(crate) enum Text<'a> {
    Plain(Plain<'a>),
    Constant(Constant<'a>),
    Dictionary(Dictionary<'a>),
    Symbols(Symbols<'a>),
    Prefixes(Prefixes<'a>),
    Grammar(Grammar<'a>),
    Alphabet(Alphabet<'a>),
    Bundles(Bundles<'a>),
}

/// Runs the same expression on whichever codec there is.
macro_rules! each_codec {
    ($text:expr, $codec:ident => $body:expr) => {
        match $text {
            Text::Plain($codec) => $body,
            Text::Constant($codec) => $body,
            Text::Dictionary($codec) => $body,
            Text::Symbols($codec) => $body,
            Text::Prefixes($codec) => $body,
            Text::Grammar($codec) => $body,
            Text::Alphabet($codec) => $body,
            Text::Bundles($codec) => $body,
        }
    };
}

impl<'a> Text<'a> {
    pub(crate) fn open(
        codec: TextCodec,
        segment: Cursor<'a>,
        rows: usize,
        section: &'a [u8],
    ) -> Result<Self, PageError> {
        Ok(match codec {
            TextCodec::Plain => Self::Plain(Plain::open(segment, rows, section)?),
            TextCodec::Constant => Self::Constant(Constant::open(segment, rows, section)?),
            TextCodec::Dictionary => Self::Dictionary(Dictionary::open(segment, rows, section)?),
            TextCodec::Symbols => Self::Symbols(Symbols::open(segment, rows, section)?),
            TextCodec::Prefixes => Self::Prefixes(Prefixes::open(segment, rows, section)?),
            TextCodec::Grammar => Self::Grammar(Grammar::open(segment, rows, section)?),
            TextCodec::Alphabet => Self::Alphabet(Alphabet::open(segment, rows, section)?),
            TextCodec::Bundles => Self::Bundles(Bundles::open(segment, rows, section)?),
        })
    }

    /// All cells, in memory that may be used.
    pub(crate) fn decode(&self, memory: TextCells) -> Result<TextCells, PageError> {
        each_codec!(self, codec => codec.decode(memory))
    }

    /// The cells of `slots`, which ascend and are below the number of rows.
    pub(crate) fn gather(&self, slots: &[u32]) -> Result<TextCells, PageError> {
        each_codec!(self, codec => codec.gather(slots))
    }

    /// The cell of a slot, which is below the number of rows. `buffer` is memory to use.
    pub(crate) fn cell<'b>(
        &'b self,
        slot: usize,
        buffer: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], PageError> {
        each_codec!(self, codec => codec.cell(slot, buffer))
    }

    /// The first of the slots whose cell is not `below`, where those that are come first.
    pub(crate) fn partition(
        &self,
        slots: Range<usize>,
        buffer: &mut Vec<u8>,
        below: impl Fn(&[u8]) -> bool,
    ) -> Result<usize, PageError> {
        each_codec!(self, codec => codec.partition(slots, buffer, below))
    }

    /// Each distinct cell once, if that is how cells are stored.
    pub(crate) fn distinct(&self) -> Result<Option<TextCells>, PageError> {
        match self {
            Self::Constant(constant) => Ok(Some(constant.distinct())),
            Self::Dictionary(dictionary) => dictionary.distinct().map(Some),
            Self::Alphabet(alphabet) => alphabet.distinct(),
            _ => Ok(None),
        }
    }

    /// Which of the [distinct](Self::distinct) cells each of `rows` cells is.
    ///
    /// # Panics
    /// When distinct cells are not how cells are stored.
    pub(crate) fn codes(&self, rows: usize) -> Result<Vec<u16>, PageError> {
        match self {
            Self::Constant(_) => Ok(vec![0; rows]),
            Self::Dictionary(dictionary) => dictionary.codes(),
            Self::Alphabet(alphabet) => Ok(alphabet.codes()),
            _ => panic!("cells are stored one by one"),
        }
    }

    /// Which of `rows` cells have a bit in `wanted`, which has one for each [distinct](Self::distinct)
    /// cell.
    ///
    /// # Panics
    /// When distinct cells are not how cells are stored.
    pub(crate) fn rows_of(
        &self,
        wanted: &BooleanBuffer,
        rows: usize,
    ) -> Result<BooleanBuffer, PageError> {
        match self {
            Self::Constant(_) if wanted.value(0) => Ok(BooleanBuffer::new_set(rows)),
            Self::Constant(_) => Ok(BooleanBuffer::new_unset(rows)),
            Self::Dictionary(dictionary) => dictionary.rows_of(wanted),
            Self::Alphabet(alphabet) => Ok(alphabet.rows_of(wanted)),
            _ => panic!("cells are stored one by one"),
        }
    }

    /// Which of `rows` cells `contains` holds for: asked once where cells are constant, and once
    /// an entry of a dictionary.
    pub(crate) fn select(
        &self,
        rows: usize,
        contains: impl Fn(&[u8]) -> bool,
    ) -> Result<BooleanBuffer, PageError> {
        match self {
            Self::Constant(constant) => Ok(constant.select(contains)),
            Self::Dictionary(dictionary) => dictionary.select(contains),
            _ => {
                let TextCells { offsets, bytes, .. } = self.decode(TextCells::default())?;
                Ok(BooleanBuffer::collect_bool(rows, |row| {
                    contains(&bytes[offsets[row] as usize..offsets[row + 1] as usize])
                }))
            }
        }
    }
}
