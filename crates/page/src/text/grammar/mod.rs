//! A grammar: pieces of text that recur, of up to 15 bytes, become tokens of a few bits.
//!
//! ```text
//! literals l (LEB128) · l literal bytes · rules r (LEB128) · r rules, packed 2 × width ·
//! decoded bytes (LEB128) · tokens t (LEB128) · stream of rows token ends · t tokens, packed width
//! ```
//!
//! Tokens below `l` stand for a byte each, the others for what two earlier tokens stand for: rule
//! `i`, which is token `l + i`, for its left part (the lower bits) and then its right part. The
//! width is what the largest token needs. Each cell has its own tokens, so one cell can be read
//! without the others.
//!
//! 1. Rules are learned from a sample (`training`: Larsson, Moffat, "Off-line dictionary-based
//!    compression", DCC 1999), and kept from page to page (`memory`).
//! 2. Cells are parsed into the longest pieces that fit (`parsing`), or, where rules do not pay (`noise`),
//!    byte by byte (`literals`).
//! 3. A page stores those rules that pay on it (`selection`).
//! 4. A reader joins the pieces of all tokens into a table, and copies from it. Without rules that is
//!    a table of bytes.
//!
//! A rule takes two tokens where the text itself would take several bytes, and a piece is long
//! (Gargiulo, Venturini, "OnPair: Short Strings Compression for Fast Random Access", 2025).

mod literals;
mod memory;
mod noise;
mod parsing;
mod piece;
mod rules;
mod selection;
#[cfg(test)]
mod tests;
mod training;

use crate::bit_packing::{BLOCK, GROUP, NarrowGroup, Packed, bits, mask, pack, packed_bytes};
use crate::cursor::{Cursor, put_unsigned};
use crate::error::PageError;
use crate::words::{self, Sink, largest};

use super::cells::{TextCells, TextWriter};
use super::ends::{Ends, NOT_ASCENDING};
use super::lengths::Lengths;
use super::{TextDecoder, check_decoded_bytes};

pub(super) use memory::{Memory, Rests};
use piece::{PIECE_BYTES, PIECE_BYTES_MAX, Piece};
use rules::{LITERAL_BITS, LITERALS, TOKENS_MAX};

/// A segment to be written.
#[derive(Debug, Default)]
pub(super) struct Draft {
    literals: Vec<u8>,
    /// The left and the right part of each rule.
    rules: Vec<[u64; 2]>,
    decoded_bytes: usize,
    tokens: Vec<u64>,
    /// Where the tokens of cells end.
    ends: Vec<u64>,
}

impl Draft {
    /// Bytes that the segment takes, or a few less.
    pub(super) fn bytes(&self) -> usize {
        let token_counts = self.ends.iter().scan(0, |begin, &end| {
            let count = (end - *begin) as usize;
            *begin = end;
            Some(count)
        });
        let width = self.width();
        self.literals.len()
            + packed_bytes(self.rules.len(), 2 * width)
            + Lengths::of(token_counts).packed_bytes()
            + packed_bytes(self.tokens.len(), width)
    }

    fn width(&self) -> u32 {
        token_bits(self.literals.len() + self.rules.len())
    }

    /// Whether rules make the text clearly smaller than a token a byte. In noise of 62 letters and digits
    /// there is a use for two rules: their numbers need no wider tokens.
    fn is_for_rules(&self) -> bool {
        let width = self.width();
        let bytes =
            packed_bytes(self.rules.len(), 2 * width) + packed_bytes(self.tokens.len(), width);
        let without = packed_bytes(self.decoded_bytes, token_bits(self.literals.len()));
        bytes * 100 < without * RULES_PERCENT_MAX
    }

    pub(super) fn encode(&self, sink: &mut Sink<'_>) {
        let width = self.width();
        put_unsigned(sink.segment, self.literals.len() as u64);
        sink.segment.extend_from_slice(&self.literals);
        put_unsigned(sink.segment, self.rules.len() as u64);
        let rules = self.rules.iter().map(|[left, right]| left | right << width);
        pack(&rules.collect::<Vec<u64>>(), 2 * width, sink.segment);
        put_unsigned(sink.segment, self.decoded_bytes as u64);
        put_unsigned(sink.segment, self.tokens.len() as u64);
        words::encode_stream(&self.ends, sink);
        pack(&self.tokens, width, sink.segment);
    }
}

/// Rules are worth their time if tokens and rules need no more than so many percent of what a token a
/// byte needs.
const RULES_PERCENT_MAX: usize = 90;

/// The width of one of so many tokens.
fn token_bits(tokens: usize) -> u32 {
    bits(tokens.saturating_sub(1) as u64)
}

/// A parsed segment.
#[derive(Debug)]
pub(crate) struct Grammar<'a> {
    literals: &'a [u8],
    /// The left and the right part of each rule.
    rules: Packed<'a>,
    decoded_bytes: usize,
    /// Where the tokens of cells end.
    ends: Ends<'a>,
    tokens: Packed<'a>,
}

/// Tokens that are expanded at once.
const STRIDE: usize = 8;

/// Bytes that a stride writes into: no access needs to be checked.
const STRIDE_BYTES_MAX: usize = STRIDE * PIECE_BYTES;

/// Bytes behind the text that the last group may write into: it may have tokens behind the last
/// one, which are zero, so a literal.
const SPARE_BYTES: usize = GROUP + STRIDE_BYTES_MAX;

/// A table of all pieces pays for as many cells as rules divided by this: a cell alone is put
/// together from a few dozen rules.
const RULES_A_CELL: usize = 64;

impl Grammar<'_> {
    /// The piece of every token, with room for those that the width has beyond them.
    fn pieces(&self) -> Result<Vec<Piece>, PageError> {
        let width = self.tokens.width();
        let mut pieces = Vec::with_capacity(1 << width.max(LITERAL_BITS));
        pieces.extend(self.literals.iter().map(|&byte| Piece::literal(byte)));
        let mut rules = [0; BLOCK];
        for block in 0..self.rules.blocks() {
            self.rules.unpack(block, &mut rules);
            for rule in &rules[..self.rules.block_len(block)] {
                let [left, right] = [rule & mask(width), rule >> width];
                let left = *pieces.get(left as usize).ok_or(NO_PART)?;
                let right = *pieces.get(right as usize).ok_or(NO_PART)?;
                pieces.push(Piece::join(left, right).ok_or(LONG_PIECE)?);
            }
        }
        Ok(pieces)
    }

    /// Appends the piece of a token without a table.
    fn spell(&self, token: u64, text: &mut Vec<u8>) -> Result<(), PageError> {
        // Every part that waits has at least a byte, so there are never more than a piece has.
        let mut waiting = [0; PIECE_BYTES_MAX];
        let (mut top, mut length, mut token) = (0, 0, token as usize);
        loop {
            while let Some(rule) = token.checked_sub(self.literals.len()) {
                if length + top + 1 >= PIECE_BYTES_MAX {
                    return Err(LONG_PIECE);
                }
                if rule >= self.rules.count() {
                    return Err(NO_TOKEN);
                }
                [token, waiting[top]] = self.parts(rule);
                if token.max(waiting[top]) >= self.literals.len() + rule {
                    return Err(NO_PART);
                }
                top += 1;
            }
            text.push(self.literals[token]);
            length += 1;
            if top == 0 {
                return Ok(());
            }
            top -= 1;
            token = waiting[top];
        }
    }

    #[inline]
    fn parts(&self, rule: usize) -> [usize; 2] {
        let (width, parts) = (self.tokens.width(), self.rules.get(rule));
        [parts & mask(width), parts >> width].map(|part| part as usize)
    }

    /// The cells of slots by a table of pieces.
    fn gather_by_table(&self, slots: &[u32]) -> Result<TextCells, PageError> {
        let pieces = self.pieces()?;
        let ends = self.ends.offsets(self.tokens.count())?;
        let tokens = |&slot: &u32| {
            let slot = slot as usize;
            ends[slot] as usize..ends[slot + 1] as usize
        };
        let piece = |index| {
            let token = self.tokens.get(index) as usize;
            pieces.get(token).ok_or(NO_TOKEN)
        };
        let mut bytes = 0;
        for index in slots.iter().flat_map(tokens) {
            bytes += piece(index)?.len();
        }
        self.check_length(bytes)?;
        let mut writer = TextWriter::new(slots.len(), bytes);
        for slot in slots {
            for index in tokens(slot) {
                let piece = piece(index)?;
                writer.append(piece.bytes(), piece.len())?;
            }
            writer.end_cell();
        }
        writer.finish()
    }

    /// All cells where each token is a byte.
    fn spell_out(&self, memory: TextCells) -> Result<TextCells, PageError> {
        if self.tokens.count() != self.decoded_bytes {
            return Err(OTHER_LENGTHS);
        }
        let room = self.decoded_bytes.next_multiple_of(GROUP);
        let mut cells = memory.emptied(self.ends.count(), room);
        let mut table = [0; LITERALS];
        table[..self.literals.len()].copy_from_slice(self.literals);
        let mut tokens = [0; GROUP];
        let groups = cells.bytes.as_chunks_mut::<GROUP>().0.iter_mut();
        for (group, bytes) in groups.enumerate() {
            self.unpack(group, &mut tokens);
            if largest(&tokens) >= self.literals.len() as u32 {
                return Err(NO_TOKEN);
            }
            for (byte, &token) in bytes.iter_mut().zip(&tokens) {
                *byte = table[token as usize % LITERALS];
            }
        }
        cells.bytes.truncate(self.decoded_bytes);
        self.ends
            .append_to(self.tokens.count(), &mut cells.offsets)?;
        Ok(cells)
    }

    /// All cells, by a table of `N` pieces.
    fn expand<const N: usize>(&self, memory: TextCells) -> Result<TextCells, PageError> {
        let mut pieces = self.pieces()?;
        let known = pieces.len();
        pieces.resize(N, Piece::EMPTY);
        let pieces: &[_; N] = pieces.first_chunk().expect("the table has that size");
        let mut cells = memory.emptied(self.ends.count(), self.decoded_bytes + SPARE_BYTES);
        // Where the piece of each token ends, and before the first one.
        let mut ends = vec![0; 1 + self.tokens.count().next_multiple_of(GROUP)];
        let (mut tokens, mut end) = ([0; GROUP], 0);
        for (group, ends) in ends[1..].as_chunks_mut::<GROUP>().0.iter_mut().enumerate() {
            self.unpack(group, &mut tokens);
            if largest(&tokens) >= known as u32 {
                return Err(NO_TOKEN);
            }
            end = append(pieces, &tokens, end, &mut cells.bytes, ends)?;
        }
        end = ends[self.tokens.count()] as usize;
        if end != self.decoded_bytes {
            return Err(OTHER_LENGTHS);
        }
        cells.bytes.truncate(end);
        // Ends in tokens become ends in bytes.
        self.ends
            .append_to(self.tokens.count(), &mut cells.offsets)?;
        for offset in &mut cells.offsets {
            *offset = ends[*offset as usize] as i32;
        }
        Ok(cells)
    }

    /// Unpacks a group of tokens; behind the last one is the first of all.
    fn unpack(&self, group: usize, tokens: &mut NarrowGroup) {
        self.tokens.unpack_group(group, tokens);
        let count = self.tokens.count() - group * GROUP;
        if count < GROUP {
            tokens[count..].fill(0);
        }
    }

    fn check_length(&self, bytes: usize) -> Result<(), PageError> {
        if bytes <= self.decoded_bytes {
            Ok(())
        } else {
            Err(TOO_LONG)
        }
    }
}

/// Writes the pieces of a group's tokens behind `end`. Leaves where each of them ends, and returns
/// where the last one does.
fn append<const N: usize>(
    pieces: &[Piece; N],
    tokens: &NarrowGroup,
    mut end: usize,
    bytes: &mut [u8],
    ends: &mut NarrowGroup,
) -> Result<usize, PageError> {
    let strides = tokens.as_chunks::<STRIDE>().0.iter();
    for (tokens, ends) in strides.zip(ends.as_chunks_mut::<STRIDE>().0) {
        let free = bytes.get_mut(end..).and_then(|free| free.first_chunk_mut());
        let free: &mut [u8; STRIDE_BYTES_MAX] = free.ok_or(TOO_LONG)?;
        let mut used = 0;
        for (&token, piece_end) in tokens.iter().zip(ends) {
            let piece = &pieces[token as usize % N];
            free[used..used + PIECE_BYTES].copy_from_slice(piece.bytes());
            used += piece.len();
            *piece_end = (end + used) as u32;
        }
        end += used;
    }
    Ok(end)
}

impl<'a> TextDecoder<'a> for Grammar<'a> {
    fn open(mut segment: Cursor<'a>, rows: usize, section: &'a [u8]) -> Result<Self, PageError> {
        let segment_bytes = segment.len();
        let literal_count = segment.count(LITERALS)?;
        let literals = segment.take(literal_count)?;
        let rule_count = segment.count(TOKENS_MAX - literal_count)?;
        let width = token_bits(literal_count + rule_count);
        let rules = Packed::take(&mut segment, 2 * width, rule_count)?;
        let decoded_bytes = segment.count(i32::MAX as usize)?;
        check_decoded_bytes(decoded_bytes, segment_bytes, rows)?;
        let token_count = segment.count(decoded_bytes)?;
        Ok(Self {
            literals,
            rules,
            decoded_bytes,
            ends: Ends::open(&mut segment, rows, section)?,
            tokens: Packed::take(&mut segment, width, token_count)?,
        })
    }

    fn decode(&self, memory: TextCells) -> Result<TextCells, PageError> {
        match self.tokens.width() {
            _ if self.rules.count() == 0 => self.spell_out(memory),
            0..=LITERAL_BITS => self.expand::<LITERALS>(memory),
            9 => self.expand::<512>(memory),
            10 => self.expand::<1024>(memory),
            11 => self.expand::<2048>(memory),
            _ => self.expand::<TOKENS_MAX>(memory),
        }
    }

    fn gather(&self, slots: &[u32]) -> Result<TextCells, PageError> {
        if slots.len() * RULES_A_CELL >= self.rules.count() {
            return self.gather_by_table(slots);
        }
        let (mut cells, mut cell) = (TextCells::default().emptied(slots.len(), 0), Vec::new());
        for &slot in slots {
            (cells.bytes).extend_from_slice(self.cell(slot as usize, &mut cell)?);
            self.check_length(cells.bytes.len())?;
            cells.offsets.push(cells.bytes.len() as i32);
        }
        Ok(cells)
    }

    fn cell<'b>(&'b self, slot: usize, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], PageError> {
        buffer.clear();
        let tokens = self.ends.range(slot);
        if tokens.start > tokens.end || tokens.end > self.tokens.count() {
            return Err(NOT_ASCENDING);
        }
        for index in tokens {
            self.spell(self.tokens.get(index), buffer)?;
            self.check_length(buffer.len())?;
        }
        Ok(buffer)
    }
}

const NO_TOKEN: PageError = PageError::Malformed("a token is neither a literal nor a rule");
const NO_PART: PageError = PageError::Malformed("a part of a rule does not come before it");
const LONG_PIECE: PageError = PageError::Malformed("a rule stands for more than 15 bytes");
const OTHER_LENGTHS: PageError =
    PageError::Malformed("cells have other lengths than the segment says");
const TOO_LONG: PageError = PageError::Malformed("cells are longer than the segment says");
