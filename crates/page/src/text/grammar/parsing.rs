//! Cells in tokens: the longest piece that fits, again and again.
//!
//! Pieces are the paths of a tree of bytes in one array (Aoe, "An Efficient Digital Search
//! Algorithm by Using a Double-Array Structure", 1989): a node's children lie where its base says,
//! xor their byte. No two nodes have one base, so a slot that has the byte it was looked up by is
//! the child. A node knows the longest piece that ends on the way to it.

use super::piece::{PIECE_BYTES_MAX, Piece};
use super::rules::{LITERALS, Rules, TOKENS_MAX, Token};

/// A tree of pieces.
#[derive(Debug)]
pub(super) struct Parser {
    slots: Vec<Slot>,
}

/// A node, or a place for one.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Where children are looked for.
    base: u32,
    /// The byte that leads here, or [`FREE`].
    byte: u16,
    /// The longest piece on the way here: its token, and below that its length in four bits.
    longest: u16,
}

/// No byte leads here.
const FREE: u16 = u16::MAX;

const LENGTH_BITS: u32 = 4;

const _: () = assert!(PIECE_BYTES_MAX < 1 << LENGTH_BITS && TOKENS_MAX << LENGTH_BITS <= 1 << 16);

const FREE_SLOT: Slot = Slot {
    base: 0,
    byte: FREE,
    longest: 0,
};

/// The base of nodes without children. Nothing is ever there.
const NO_CHILDREN: u32 = 0;

const ROOT: usize = LITERALS;

/// Slots are looked at for a node's children: so many of the last ones, and new ones.
const SLOTS_TO_SEARCH: usize = 512;

impl Parser {
    pub(super) fn of(rules: &Rules) -> Self {
        let mut pieces: Vec<(Piece, Token)> = (0..rules.tokens())
            .map(|token| (rules.piece(token), token as Token))
            .collect();
        // Text before what it begins, whatever zeros follow: the length decides last.
        pieces.sort_unstable();
        let mut nursery = Nursery {
            slots: vec![FREE_SLOT; 2 * LITERALS],
            bases: vec![false; 2 * LITERALS],
        };
        nursery.bases[NO_CHILDREN as usize] = true;
        nursery.bases[ROOT] = true;
        nursery.plant(&pieces, 0, ROOT, 0);
        Self {
            slots: nursery.slots,
        }
    }

    /// Appends the tokens of a cell.
    pub(super) fn parse(&self, mut cell: &[u8], tokens: &mut Vec<Token>) {
        let slots = &self.slots[..];
        while let Some((&first, rest)) = cell.split_first() {
            let mut node = slots[ROOT ^ usize::from(first)];
            for &byte in rest {
                let child = slots[node.base as usize ^ usize::from(byte)];
                if child.byte != u16::from(byte) {
                    break;
                }
                node = child;
            }
            tokens.push(node.longest >> LENGTH_BITS);
            let length = node.longest & ((1 << LENGTH_BITS) - 1);
            cell = &cell[usize::from(length)..];
        }
    }
}

/// A tree that grows.
struct Nursery {
    slots: Vec<Slot>,
    /// Which bases nodes have.
    bases: Vec<bool>,
}

impl Nursery {
    /// Puts the children of a node at its base, and theirs elsewhere. The pieces are those that
    /// begin with the node's `depth` bytes and go on, in order.
    fn plant(&mut self, pieces: &[(Piece, Token)], depth: usize, base: usize, longest: u16) {
        let children: Vec<_> = pieces
            .chunk_by(|(left, _), (right, _)| left.bytes()[depth] == right.bytes()[depth])
            .collect();
        let mut grown = Vec::with_capacity(children.len());
        for pieces in children {
            let ends_here = pieces
                .iter()
                .take_while(|(piece, _)| piece.len() == depth + 1);
            let ending = ends_here.count();
            let longest = match ending {
                0 => longest,
                _ => pieces[0].1 << LENGTH_BITS | (depth + 1) as u16,
            };
            let byte = pieces[0].0.bytes()[depth];
            let slot = base ^ usize::from(byte);
            self.slots[slot] = Slot {
                base: NO_CHILDREN,
                byte: u16::from(byte),
                longest,
            };
            grown.push((slot, &pieces[ending..], longest));
        }
        for (slot, pieces, longest) in grown {
            if !pieces.is_empty() {
                let base = self.free_base(pieces, depth + 1);
                self.slots[slot].base = base as u32;
                self.plant(pieces, depth + 1, base, longest);
            }
        }
    }

    /// A base where the bytes at `depth` lead to free slots.
    fn free_base(&mut self, pieces: &[(Piece, Token)], depth: usize) -> usize {
        let byte = |piece: &Piece| usize::from(piece.bytes()[depth]);
        let searched = self.slots.len().saturating_sub(SLOTS_TO_SEARCH).max(ROOT)..self.slots.len();
        let first = byte(&pieces[0].0);
        let mut bases = searched.map(|slot| slot ^ first);
        let fits = |base: &usize| {
            !self.bases[*base]
                && pieces
                    .iter()
                    .all(|(piece, _)| self.slots[base ^ byte(piece)].byte == FREE)
        };
        let base = bases.find(fits).unwrap_or_else(|| self.grow());
        self.bases[base] = true;
        base
    }

    /// Adds slots for all bytes and returns where they begin.
    fn grow(&mut self) -> usize {
        let base = self.slots.len();
        self.slots.resize(base + LITERALS, FREE_SLOT);
        self.bases.resize(base + LITERALS, false);
        base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rules for "ab", "abc" and "abcde", but none for "abcd".
    fn rules() -> (Rules, [Token; 3]) {
        let mut rules = Rules::none();
        let mut add = |left, right| rules.add([left, right]).expect("short");
        let (b, d) = (u16::from(b'b'), u16::from(b'd'));
        let ab = add(u16::from(b'a'), b);
        let abc = add(ab, u16::from(b'c'));
        let de = add(d, u16::from(b'e'));
        let abcde = add(abc, de);
        (rules, [ab, abc, abcde])
    }

    #[test]
    fn the_longest_piece_is_taken() {
        let (rules, [ab, abc, abcde]) = rules();
        let parser = Parser::of(&rules);
        let parse = |cell: &str| {
            let mut tokens = Vec::new();
            parser.parse(cell.as_bytes(), &mut tokens);
            tokens
        };
        let byte = |byte: u8| Token::from(byte);
        assert!(parse("").is_empty());
        assert_eq!(parse("abx"), [ab, byte(b'x')]);
        assert_eq!(parse("abcd"), [abc, byte(b'd')]);
        assert_eq!(parse("xabcdeabc"), [byte(b'x'), abcde, abc]);
    }

    #[test]
    fn without_rules_every_byte_is_a_token() {
        let parser = Parser::of(&Rules::none());
        let bytes: Vec<u8> = (0..=u8::MAX).collect();
        let mut tokens = Vec::new();
        parser.parse(&bytes, &mut tokens);
        assert!(tokens.into_iter().eq(0..256));
    }
}
