//! Codecs for words: the cells of fixed-width columns, and the codes and ends of text columns.
//!
//! A column's words are profiled once, every codec says from the profile what it would take,
//! and the cheapest one encodes. Where even that one takes more than a byte a row, a dictionary
//! is tried too. A *stream* is words inside another codec's segment; it begins with the number
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

use crate::cell::Cell;
use crate::cursor::Cursor;
use crate::error::PageError;

use constant::Constant;
use delta::Delta;
use dictionary::Dictionary;
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
    if bytes <= words.len() {
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

/// Words in a segment, parsed and ready to decode.
pub(crate) enum Words<'a> {
    Constant(Constant),
    Plain(Plain<'a>),
    RunLength(RunLength<'a>),
    Pfor(Pfor<'a>),
    Delta(Delta<'a>),
    Dictionary(Dictionary<'a>),
}

/// Runs the same expression on whichever codec there is.
macro_rules! each_codec {
    ($words:expr, $codec:ident => $body:expr) => {
        match $words {
            Words::Constant($codec) => $body,
            Words::Plain($codec) => $body,
            Words::RunLength($codec) => $body,
            Words::Pfor($codec) => $body,
            Words::Delta($codec) => $body,
            Words::Dictionary($codec) => $body,
        }
    };
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
            WordCodec::Constant => Self::Constant(Constant::open(cursor, rows, section)?),
            WordCodec::Plain => Self::Plain(Plain::open(cursor, rows, plain_bytes)?),
            WordCodec::RunLength => Self::RunLength(RunLength::open(cursor, rows, section)?),
            WordCodec::Pfor => Self::Pfor(Pfor::open(cursor, rows, section)?),
            WordCodec::Delta => Self::Delta(Delta::open(cursor, rows, section)?),
            WordCodec::Dictionary => Self::Dictionary(Dictionary::open(cursor, rows, section)?),
        })
    }

    /// Parses a stream of `rows` words.
    pub(crate) fn open_stream(
        cursor: &mut Cursor<'a>,
        rows: usize,
        section: &'a [u8],
    ) -> Result<Self, PageError> {
        let codec = WordCodec::from_u8(cursor.byte()?)
            .filter(|&codec| codec != WordCodec::Dictionary)
            .ok_or(PageError::Malformed(
                "a stream names a codec that streams do not have",
            ))?;
        Self::open(codec, size_of::<u64>(), cursor, rows, section)
    }

    /// The word that all rows have, if the codec knows it.
    pub(crate) fn constant(&self) -> Option<u64> {
        match self {
            Self::Constant(constant) => Some(constant.word()),
            _ => None,
        }
    }

    /// Appends all cells.
    pub(crate) fn decode<T: Cell>(&self, cells: &mut Vec<T>) -> Result<(), PageError> {
        each_codec!(self, codec => codec.decode(cells))
    }

    /// Appends the cells of `slots`, which ascend and are below the number of rows.
    pub(crate) fn gather<T: Cell>(
        &self,
        slots: &[u32],
        cells: &mut Vec<T>,
    ) -> Result<(), PageError> {
        each_codec!(self, codec => codec.gather(slots, cells))
    }
}
