//! What a token stands for: up to 15 bytes of text.

/// Bytes of a piece at most: with its length it takes one register.
pub(super) const PIECE_BYTES_MAX: usize = 15;

/// Bytes of a piece and its length.
pub(super) const PIECE_BYTES: usize = size_of::<u128>();

const LENGTH_SHIFT: u32 = 8 * PIECE_BYTES_MAX as u32;

/// A piece of text, filled up with zeros, and behind it its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Piece([u8; PIECE_BYTES]);

impl Piece {
    /// No text. No token stands for it.
    pub(super) const EMPTY: Self = Self([0; PIECE_BYTES]);

    pub(super) fn literal(byte: u8) -> Self {
        Self::of(u128::from(byte), 1)
    }

    /// Two pieces as one, unless that is too long.
    #[inline]
    pub(super) fn join(left: Self, right: Self) -> Option<Self> {
        let length = left.len() + right.len();
        if length > PIECE_BYTES_MAX {
            return None;
        }
        let text = left.text() | right.text() << (8 * left.len());
        Some(Self::of(text, length))
    }

    #[inline]
    fn of(text: u128, length: usize) -> Self {
        Self((text | (length as u128) << LENGTH_SHIFT).to_le_bytes())
    }

    /// The length, at most 15.
    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.0[PIECE_BYTES_MAX]) & PIECE_BYTES_MAX
    }

    /// The text and what lies behind it, to be copied at once.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8; PIECE_BYTES] {
        &self.0
    }

    #[inline]
    fn text(self) -> u128 {
        u128::from_le_bytes(self.0) & ((1 << LENGTH_SHIFT) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &[u8]) -> Option<Piece> {
        let mut literals = text.iter().map(|&byte| Piece::literal(byte));
        let first = literals.next();
        literals.fold(first, |whole, byte| Piece::join(whole?, byte))
    }

    #[test]
    fn pieces_hold_their_text() {
        let text = b"fifteen \0\xFFletter";
        for length in 1..=PIECE_BYTES_MAX {
            let whole = piece(&text[..length]).expect("short enough");
            assert_eq!(whole.len(), length);
            assert_eq!(whole.bytes()[..length], text[..length]);
            for middle in 1..length {
                let left = piece(&text[..middle]).expect("short enough");
                let right = piece(&text[middle..length]).expect("short enough");
                assert_eq!(Piece::join(left, right), Some(whole));
            }
        }
    }

    #[test]
    fn pieces_end_at_fifteen_bytes() {
        assert_eq!(piece(&[b'x'; PIECE_BYTES_MAX + 1]), None);
    }
}
