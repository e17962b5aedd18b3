//! Codecs for words: the cells of fixed-width columns, and the codes and ends of text columns.
//!
//! A column's words are profiled once, every codec says from the profile what it would take,
//! and the cheapest one encodes. Where even that one takes clearly more than a byte a row, a
//! dictionary is tried too. A *stream* is words inside another codec's segment; it begins with the number
//! of its codec, and is never a dictionary.
//!
//! Does not: know cells that are NULL (see `nulls`) or wider than a word (see `wide`).

mod constant;
mod delta;
mod dictionary;
mod pfor;
mod plain;
mod profile;
mod run_length;
mod sample;

use std::cmp::Ordering;
use std::convert::Infallible;
use std::ops::Range;

use arrow_buffer::{BooleanBuffer, Buffer};

use crate::bit_packing::Block;
use crate::cell::Cell;
use crate::cursor::Cursor;
use crate::equal_range::equal_range;
use crate::error::PageError;
use crate::value::WordRange;

use constant::Constant;
use delta::Delta;
use dictionary::Dictionary;
pub(crate) use dictionary::select_codes;
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

    /// Appends the cells of `slots`, which ascend and are below the number of rows.
    fn gather<T: Cell>(&self, slots: &[u32], cells: &mut Vec<T>) -> Result<(), PageError>;

    /// The word of a slot, which is below the number of rows.
    fn get(&self, slot: usize) -> u64;

    /// The words of a block of slots. What lies behind the last word is anything.
    fn block(&self, index: usize, words: &mut Block);

    /// The slots whose word `compare` finds equal, where those that are less come first and
    /// those that are greater last; where it would be, if there is none.
    fn equal(&self, slots: Range<usize>, compare: impl Fn(u64) -> Ordering) -> Range<usize> {
        let Ok(equal) = equal_range(slots, |slot| Ok::<_, Infallible>(compare(self.get(slot))));
        equal
    }

    /// Which of `rows` words are in the range.
    fn select(&self, rows: usize, range: WordRange) -> Result<BooleanBuffer, PageError>;
}

fn all_or_none(rows: usize, all: bool) -> BooleanBuffer {
    if all {
        BooleanBuffer::new_set(rows)
    } else {
        BooleanBuffer::new_unset(rows)
    }
}

/// One bit for each word of a block.
#[inline]
fn block_bits(block: &Block, contains: impl Fn(u64) -> bool) -> u64 {
    let bit = |(index, &word): (usize, &u64)| u64::from(contains(word)) << index;
    block
        .iter()
        .enumerate()
        .map(bit)
        .fold(0, |bits, bit| bits | bit)
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

/// A dictionary is taken if it needs no more than so many percent of the next best codec's
/// bytes: looking words up takes longer.
const DICTIONARY_PERCENT_MAX: usize = 90;

/// Encodes the words with the cheapest codec and returns it. `plain_bytes` is the width of a
/// cell in plain form.
pub(crate) fn encode(words: &[u64], plain_bytes: usize, sink: &mut Sink<'_>) -> WordCodec {
    let profile = Profile::of(words);
    let choice = profile.cheapest(plain_bytes);
    if let Some(dictionary) = encode_dictionary(words, choice.bytes, sink) {
        return dictionary;
    }
    encode_as(choice.codec, words, &profile, plain_bytes, sink);
    choice.codec
}

/// Encodes the words with a dictionary if that is worth it against `bytes`, what the next best
/// codec takes.
pub(crate) fn encode_dictionary(
    words: &[u64],
    bytes: usize,
    sink: &mut Sink<'_>,
) -> Option<WordCodec> {
    if bytes <= words.len() + words.len() / 16 {
        return None;
    }
    let dictionary = dictionary::Draft::of(words, bytes * DICTIONARY_PERCENT_MAX / 100)?;
    dictionary.encode(sink);
    Some(WordCodec::Dictionary)
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
        WordCodec::RunLength => run_length::encode(words, profile, sink),
        WordCodec::Pfor => pfor::encode(words, profile, sink),
        WordCodec::Delta => delta::encode(words, profile, sink),
        WordCodec::Dictionary => unreachable!("a profile does not show what is distinct"),
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
            WordCodec::Dictionary => return Err(NO_STREAM_CODEC),
        })
    }

    /// Appends all words.
    pub(crate) fn decode<T: Cell>(&self, cells: &mut Vec<T>) -> Result<(), PageError> {
        each_codec!(self, codec => codec.decode(cells))
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
    fn equal(&self, slots: Range<usize>, compare: impl Fn(u64) -> Ordering) -> Range<usize> {
        each_codec!(self, codec => codec.equal(slots, compare))
    }

    fn select(&self, rows: usize, range: WordRange) -> Result<BooleanBuffer, PageError> {
        each_codec!(self, codec => codec.select(rows, range))
    }
}

const NO_STREAM_CODEC: PageError =
    PageError::Malformed("a stream names a codec that streams do not have");

/// Words in a segment, parsed and ready to decode.
#[derive(Debug)]
pub(crate) enum Words<'a> {
    Stream(Stream<'a>),
    Dictionary(Dictionary<'a>),
}

impl<'a> Words<'a> {
    /// Parses the segment of a column of `rows` words.
    pub(crate) fn open(
        codec: WordCodec,
        plain_bytes: usize,
        cursor: &mut Cursor<'a>,
        rows: usize,
        section: &'a [u8],
    ) -> Result<Self, PageError> {
        Ok(match codec {
            WordCodec::Dictionary => Self::Dictionary(Dictionary::open(cursor, rows, section)?),
            _ => Self::Stream(Stream::open_as(codec, plain_bytes, cursor, rows, section)?),
        })
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
        }
    }

    /// The word of a slot, which is below the number of rows.
    #[inline]
    pub(crate) fn get(&self, slot: usize) -> Result<u64, PageError> {
        match self {
            Self::Stream(stream) => Ok(stream.get(slot)),
            Self::Dictionary(dictionary) => dictionary.get(slot),
        }
    }

    /// The slots whose word `compare` finds equal, where those that are less come first and
    /// those that are greater last; where it would be, if there is none.
    pub(crate) fn equal(
        &self,
        slots: Range<usize>,
        compare: impl Fn(u64) -> Ordering,
    ) -> Result<Range<usize>, PageError> {
        match self {
            Self::Stream(stream) => Ok(stream.equal(slots, compare)),
            Self::Dictionary(dictionary) => {
                equal_range(slots, |slot| dictionary.get(slot).map(&compare))
            }
        }
    }

    /// Which of `rows` words are in the range.
    pub(crate) fn select(&self, rows: usize, range: WordRange) -> Result<BooleanBuffer, PageError> {
        match self {
            Self::Stream(stream) => stream.select(rows, range),
            Self::Dictionary(dictionary) => dictionary.select(|word| range.contains(word)),
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
        }
    }
}
