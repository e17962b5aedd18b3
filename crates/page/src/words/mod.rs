//! Codecs for words: the cells of fixed-width columns, and the codes and ends of text columns.
//!
//! A column's words are profiled once, every codec says from the profile what it would take,
//! and the cheapest one encodes. Cheap means few bytes and little time to decode. Where words
//! may have a common divisor, or a sample repeats itself, quotients and a dictionary compete too:
//! they are codecs over other words. A *stream* is words inside another codec's segment; it
//! begins with the number of its codec, and nothing nests deeper.
//!
//! Does not: know cells that are NULL (see `nulls`) or wider than a word (see `wide`).

mod block_directory;
mod close_block;
mod constant;
mod delta;
mod dictionary;
mod group;
mod memory;
mod multiples;
mod pfor;
mod plain;
mod profile;
mod run_length;
mod runs;
mod sample;

use std::ops::Range;

use arrow_buffer::{BooleanBuffer, Buffer};

use crate::bit_packing::{Block, GROUP};
use crate::cell::Cell;
use crate::cursor::Cursor;
use crate::equal_range::{equal_range, equal_words};
use crate::error::PageError;
use crate::word_order::{Sought, WordRange};

use constant::Constant;
use delta::Delta;
use dictionary::Dictionary;
pub(crate) use dictionary::{NO_SUCH_CODE, select_codes};
pub(crate) use group::largest;
use memory::Encoded;
pub(crate) use memory::Memory;
use multiples::Multiples;
use pfor::Pfor;
use plain::Plain;
pub(crate) use profile::Profile;
use run_length::RunLength;

/// How a codec hands its words out.
trait WordDecoder<'a>: Sized {
    /// Parses and checks the segment of `rows` words. `section` is the exception section.
    fn open(cursor: &mut Cursor<'a>, rows: usize, section: &'a [u8]) -> Result<Self, PageError>;

    /// Appends all cells.
    fn decode<T: Cell>(&self, cells: &mut Vec<T>) -> Result<(), PageError>;

    /// Hands out all cells, some at a time.
    fn for_each<T: Cell>(
        &self,
        rows: usize,
        each: impl FnMut(&[T]) -> Result<(), PageError>,
    ) -> Result<(), PageError> {
        hand_out(rows, |cells| self.decode(cells), each)
    }

    /// Appends the cells of `slots`, which ascend and are below the number of rows.
    fn gather<T: Cell>(&self, slots: &[u32], cells: &mut Vec<T>) -> Result<(), PageError>;

    /// The word of a slot, which is below the number of rows.
    fn get(&self, slot: usize) -> u64;

    /// The words of a block of slots. What lies behind the last word is anything.
    fn block(&self, index: usize, words: &mut Block);

    /// The slots whose word is the one that is sought, where those that are less come first and
    /// those that are greater last; where it would be, if there is none.
    fn equal(&self, slots: Range<usize>, sought: Sought) -> Range<usize> {
        equal_words(slots, sought, |slot| self.get(slot))
    }

    /// Which of `rows` words are in the range.
    fn select(&self, rows: usize, range: WordRange) -> Result<BooleanBuffer, PageError>;
}

/// Decodes all cells at once and hands them out some at a time.
fn hand_out<T: Cell>(
    rows: usize,
    decode: impl FnOnce(&mut Vec<T>) -> Result<(), PageError>,
    each: impl FnMut(&[T]) -> Result<(), PageError>,
) -> Result<(), PageError> {
    let mut cells = Vec::with_capacity(rows);
    decode(&mut cells)?;
    cells.chunks(GROUP).try_for_each(each)
}

/// Appends cells that are handed out.
fn append_to<T: Cell>(cells: &mut Vec<T>) -> impl FnMut(&[T]) -> Result<(), PageError> + '_ {
    |group| {
        cells.extend_from_slice(group);
        Ok(())
    }
}

fn all_or_none(rows: usize, all: bool) -> BooleanBuffer {
    if all {
        BooleanBuffer::new_set(rows)
    } else {
        BooleanBuffer::new_unset(rows)
    }
}

/// The bits of all blocks as a buffer of `rows` bits.
fn buffer_of(blocks: Vec<u64>, rows: usize) -> BooleanBuffer {
    BooleanBuffer::new(Buffer::from_vec(blocks), 0, rows)
}

/// The codecs of words. The numbers are on disk: never change them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum WordCodec {
    Constant = 1,
    Plain = 2,
    RunLength = 3,
    Pfor = 4,
    Delta = 5,
    Dictionary = 6,
    Multiples = 7,
}

impl WordCodec {
    pub(crate) fn from_u8(number: u8) -> Option<Self> {
        [
            Self::Constant,
            Self::Plain,
            Self::RunLength,
            Self::Pfor,
            Self::Delta,
            Self::Dictionary,
            Self::Multiples,
        ]
        .into_iter()
        .find(|&codec| codec as u8 == number)
    }
}

/// Where encoded bytes go.
#[derive(Debug)]
pub(crate) struct Sink<'a> {
    /// The segments so far; a codec appends to it.
    pub(crate) segment: &'a mut Vec<u8>,
    /// The exception section so far; a codec appends to it.
    pub(crate) section: &'a mut Vec<u8>,
}

/// Encodes the words with the codec that costs least and returns it. `plain_bytes` is the width
/// of a cell in plain form. As long as a page is like the one before, the others are not tried.
pub(crate) fn encode(
    words: &[u64],
    plain_bytes: usize,
    memory: &mut Memory,
    sink: &mut Sink<'_>,
) -> WordCodec {
    if let Some(bound) = memory.bound(words.len())
        && encode_again(words, plain_bytes, bound, sink)
    {
        memory.repeated();
        return bound.codec;
    }
    let encoded = encode_cheapest(words, plain_bytes, sink);
    memory.competed(encoded, words.len());
    encoded.codec
}

/// Encodes cells that are as many words where that needs no words: as runs, if the last page's were
/// and these cost no more. Then making words of all cells takes as long as all else together.
pub(crate) fn encode_runs<T: Cell + PartialEq>(
    cells: &[T],
    plain_bytes: usize,
    memory: &mut Memory,
    sink: &mut Sink<'_>,
) -> Option<WordCodec> {
    let bound = memory.bound(cells.len())?;
    if bound.codec != WordCodec::RunLength
        || !run_length::encode_at_most(cells, plain_bytes, bound.cost, sink)
    {
        return None;
    }
    memory.repeated();
    Some(WordCodec::RunLength)
}

/// Encodes the words with the last page's codec, if that costs no more than the bound says.
fn encode_again(words: &[u64], plain_bytes: usize, bound: Encoded, sink: &mut Sink<'_>) -> bool {
    match (bound.codec, bound.stream) {
        (WordCodec::Dictionary, _) => {
            let is_constant = words.iter().all(|&word| word == words[0]);
            !is_constant && dictionary::encode(words, bound.cost, sink).is_some()
        }
        (WordCodec::Multiples, Some(stream)) => {
            let draft = multiples::Draft::like(words, stream, bound.cost);
            draft.as_ref().inspect(|draft| draft.encode(sink)).is_some()
        }
        (WordCodec::RunLength, _) => {
            run_length::encode_at_most(words, plain_bytes, bound.cost, sink)
        }
        (codec, _) => {
            let profile = Profile::like(words, codec);
            let choice = profile.cheapest(plain_bytes);
            let is_alike = choice.codec == codec && choice.cost <= bound.cost;
            if is_alike {
                encode_as(codec, words, &profile, plain_bytes, sink);
            }
            is_alike
        }
    }
}

/// Has all codecs compete.
fn encode_cheapest(words: &[u64], plain_bytes: usize, sink: &mut Sink<'_>) -> Encoded {
    let profile = Profile::of(words);
    let choice = profile.cheapest(plain_bytes);
    let multiples = multiples::Draft::of(words, choice.cost);
    let encoded = |codec, cost| Encoded {
        codec,
        stream: None,
        cost,
    };
    let cost_max = multiples
        .as_ref()
        .map_or(choice.cost, multiples::Draft::cost);
    if let Some(cost) = dictionary::encode(words, cost_max, sink) {
        return encoded(WordCodec::Dictionary, cost);
    }
    if let Some(multiples) = multiples {
        multiples.encode(sink);
        return Encoded {
            stream: Some(multiples.stream()),
            ..encoded(WordCodec::Multiples, multiples.cost())
        };
    }
    encode_as(choice.codec, words, &profile, plain_bytes, sink);
    encoded(choice.codec, choice.cost)
}

/// Encodes the words with a dictionary if that costs less than `cost`, what the next best codec
/// does.
pub(crate) fn encode_dictionary(
    words: &[u64],
    cost: usize,
    sink: &mut Sink<'_>,
) -> Option<WordCodec> {
    dictionary::encode(words, cost, sink).map(|_| WordCodec::Dictionary)
}

/// As [`encode`], with the number of the codec in front.
pub(crate) fn encode_stream(words: &[u64], sink: &mut Sink<'_>) {
    encode_stream_as(words, &Profile::of(words), sink);
}

/// As [`encode_stream`], with the words' profile.
pub(crate) fn encode_stream_as(words: &[u64], profile: &Profile, sink: &mut Sink<'_>) {
    let codec = profile.cheapest(size_of::<u64>()).codec;
    sink.segment.push(codec as u8);
    encode_as(codec, words, profile, size_of::<u64>(), sink);
}

fn encode_as(
    codec: WordCodec,
    words: &[u64],
    profile: &Profile,
    plain_bytes: usize,
    sink: &mut Sink<'_>,
) {
    match codec {
        WordCodec::Constant => constant::encode(words, sink),
        WordCodec::Plain => plain::encode(words, plain_bytes, sink),
        WordCodec::RunLength => run_length::encode(words, sink),
        WordCodec::Pfor => pfor::encode(words, profile, sink),
        WordCodec::Delta => delta::encode(words, profile, sink),
        WordCodec::Dictionary | WordCodec::Multiples => {
            unreachable!("a profile does not offer these")
        }
    }
}

/// A stream in a segment, parsed and ready to decode.
#[derive(Debug)]
pub(crate) enum Stream<'a> {
    Constant(Constant),
    Plain(Plain<'a>),
    RunLength(RunLength<'a>),
    Pfor(Pfor<'a>),
    Delta(Delta<'a>),
}

/// Runs the same expression on whichever codec there is.
macro_rules! each_codec {
    ($stream:expr, $codec:ident => $body:expr) => {
        match $stream {
            Stream::Constant($codec) => $body,
            Stream::Plain($codec) => $body,
            Stream::RunLength($codec) => $body,
            Stream::Pfor($codec) => $body,
            Stream::Delta($codec) => $body,
        }
    };
}

impl<'a> Stream<'a> {
    /// Parses a stream of `rows` words.
    pub(crate) fn open(
        cursor: &mut Cursor<'a>,
        rows: usize,
        section: &'a [u8],
    ) -> Result<Self, PageError> {
        let codec = WordCodec::from_u8(cursor.byte()?).ok_or(NO_STREAM_CODEC)?;
        Self::open_as(codec, size_of::<u64>(), cursor, rows, section)
    }

    // Here and above: what is returned is half a kilobyte, and would be moved by each that hands it on.
    #[inline(always)]
    fn open_as(
        codec: WordCodec,
        plain_bytes: usize,
        cursor: &mut Cursor<'a>,
        rows: usize,
        section: &'a [u8],
    ) -> Result<Self, PageError> {
        Ok(match codec {
            WordCodec::Constant => Self::Constant(Constant::open(cursor, rows, section)?),
            WordCodec::Plain => Self::Plain(Plain::open(cursor, rows, plain_bytes)?),
            WordCodec::RunLength => Self::RunLength(RunLength::open(cursor, rows, section)?),
            WordCodec::Pfor => Self::Pfor(Pfor::open(cursor, rows, section)?),
            WordCodec::Delta => Self::Delta(Delta::open(cursor, rows, section)?),
            WordCodec::Dictionary | WordCodec::Multiples => return Err(NO_STREAM_CODEC),
        })
    }

    /// Appends all words.
    pub(crate) fn decode<T: Cell>(&self, cells: &mut Vec<T>) -> Result<(), PageError> {
        each_codec!(self, codec => codec.decode(cells))
    }

    /// Hands out all words, some at a time.
    pub(crate) fn for_each<T: Cell>(
        &self,
        rows: usize,
        each: impl FnMut(&[T]) -> Result<(), PageError>,
    ) -> Result<(), PageError> {
        each_codec!(self, codec => codec.for_each(rows, each))
    }

    /// Appends the words of `slots`, which ascend and are below the number of rows.
    pub(crate) fn gather<T: Cell>(
        &self,
        slots: &[u32],
        cells: &mut Vec<T>,
    ) -> Result<(), PageError> {
        each_codec!(self, codec => codec.gather(slots, cells))
    }

    /// The word of a slot, which is below the number of rows.
    #[inline]
    pub(crate) fn get(&self, slot: usize) -> u64 {
        // Two questions are easier to guess for the processor than one with five answers.
        match self {
            Self::Pfor(pfor) => pfor.get(slot),
            Self::RunLength(run_length) => run_length.get(slot),
            _ => self.get_otherwise(slot),
        }
    }

    #[inline(never)]
    fn get_otherwise(&self, slot: usize) -> u64 {
        each_codec!(self, codec => codec.get(slot))
    }

    /// The words of the slot before and of the slot itself, which is not the first of a block.
    #[inline]
    pub(crate) fn pair(&self, slot: usize) -> (u64, u64) {
        match self {
            Self::Delta(delta) => delta.pair(slot),
            _ => (self.get(slot - 1), self.get(slot)),
        }
    }

    /// The words of a block of slots. What lies behind the last word is anything.
    pub(crate) fn block(&self, index: usize, words: &mut Block) {
        each_codec!(self, codec => codec.block(index, words))
    }

    /// See [`WordDecoder::equal`].
    #[inline]
    fn equal(&self, slots: Range<usize>, sought: Sought) -> Range<usize> {
        each_codec!(self, codec => codec.equal(slots, sought))
    }

    fn select(&self, rows: usize, range: WordRange) -> Result<BooleanBuffer, PageError> {
        each_codec!(self, codec => codec.select(rows, range))
    }
}

const NO_STREAM_CODEC: PageError =
    PageError::Malformed("a stream names a codec that streams do not have");

/// Words in a segment, parsed and ready to decode.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a box would be one more load on the way to every cell"
)]
pub(crate) enum Words<'a> {
    Stream(Stream<'a>),
    Dictionary(Dictionary<'a>),
    Multiples(Multiples<'a>),
}

impl<'a> Words<'a> {
    /// Parses the segment of a column of `rows` words.
    #[inline(always)]
    pub(crate) fn open(
        codec: WordCodec,
        plain_bytes: usize,
        cursor: &mut Cursor<'a>,
        rows: usize,
        section: &'a [u8],
    ) -> Result<Self, PageError> {
        Ok(match codec {
            WordCodec::Dictionary => Self::Dictionary(Dictionary::open(cursor, rows, section)?),
            WordCodec::Multiples => Self::Multiples(Multiples::open(cursor, rows, section)?),
            _ => Self::Stream(Stream::open_as(codec, plain_bytes, cursor, rows, section)?),
        })
    }

    /// Unpacks what makes it faster to look up cells, for a column that stays open for that: less
    /// than a kilobyte.
    pub(crate) fn prepare(mut self) -> Self {
        match &mut self {
            Self::Dictionary(dictionary) => dictionary.prepare(),
            Self::Stream(Stream::Delta(delta)) => delta.prepare(),
            Self::Multiples(multiples) => multiples.prepare(),
            Self::Stream(_) => {}
        }
        self
    }

    /// What that takes in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Dictionary(dictionary) => dictionary.memory_bytes(),
            Self::Stream(Stream::Delta(delta)) => delta.memory_bytes(),
            Self::Multiples(multiples) => multiples.memory_bytes(),
            Self::Stream(_) => 0,
        }
    }

    /// The word that all rows have, if the codec knows it.
    pub(crate) fn constant(&self) -> Option<u64> {
        match self {
            Self::Stream(Stream::Constant(constant)) => Some(constant.word()),
            _ => None,
        }
    }

    /// Appends all cells.
    pub(crate) fn decode<T: Cell>(&self, cells: &mut Vec<T>) -> Result<(), PageError> {
        match self {
            Self::Stream(stream) => stream.decode(cells),
            Self::Dictionary(dictionary) => dictionary.decode(cells),
            Self::Multiples(multiples) => multiples.decode(cells),
        }
    }

    /// Appends the cells of `slots`, which ascend and are below the number of rows.
    pub(crate) fn gather<T: Cell>(
        &self,
        slots: &[u32],
        cells: &mut Vec<T>,
    ) -> Result<(), PageError> {
        match self {
            Self::Stream(stream) => stream.gather(slots, cells),
            Self::Dictionary(dictionary) => dictionary.gather(slots, cells),
            Self::Multiples(multiples) => multiples.gather(slots, cells),
        }
    }

    /// The word of a slot, which is below the number of rows; `None` if it has a code without a
    /// word. (An error would not fit the registers that a word is returned in.)
    #[inline]
    pub(crate) fn get(&self, slot: usize) -> Option<u64> {
        match self {
            Self::Stream(stream) => Some(stream.get(slot)),
            Self::Dictionary(dictionary) => dictionary.get(slot),
            Self::Multiples(multiples) => Some(multiples.get(slot)),
        }
    }

    /// The slots whose word is the one that is sought, where those that are less come first and
    /// those that are greater last; where it would be, if there is none.
    #[inline]
    pub(crate) fn equal(
        &self,
        slots: Range<usize>,
        sought: Sought,
    ) -> Result<Range<usize>, PageError> {
        match self {
            Self::Stream(stream) => Ok(stream.equal(slots, sought)),
            Self::Multiples(multiples) => Ok(multiples.equal(slots, sought)),
            Self::Dictionary(dictionary) => equal_range(slots, |slot| {
                let word = dictionary.get(slot).ok_or(NO_SUCH_CODE)?;
                Ok(sought.compare(word))
            }),
        }
    }

    /// Which of `rows` words are in the range.
    pub(crate) fn select(&self, rows: usize, range: WordRange) -> Result<BooleanBuffer, PageError> {
        match self {
            Self::Stream(stream) => stream.select(rows, range),
            Self::Dictionary(dictionary) => dictionary.select(|word| range.contains(word)),
            Self::Multiples(multiples) => multiples.select(rows, range),
        }
    }

    /// Which of `rows` words `contains` holds for.
    pub(crate) fn select_by(
        &self,
        rows: usize,
        contains: impl Fn(u64) -> bool,
    ) -> Result<BooleanBuffer, PageError> {
        match self {
            Self::Stream(stream) => {
                let mut words: Vec<u64> = Vec::with_capacity(rows);
                stream.decode(&mut words)?;
                Ok(BooleanBuffer::collect_bool(rows, |row| {
                    contains(words[row])
                }))
            }
            Self::Dictionary(dictionary) => dictionary.select(contains),
            Self::Multiples(multiples) => multiples.select_by(rows, contains),
        }
    }
}
