//! What a token stands for: up to 15 bytes of text. With their length they take one register.

/// Bytes of a piece and its length.
pub(super) const PIECE_BYTES: usize = size_of::<u128>();

/// A piece of text that a token stands for. No token stands for the empty one.
pub(super) type Piece = super::super::piece::Piece<PIECE_BYTES>;

/// Bytes of a piece at most.
pub(super) const PIECE_BYTES_MAX: usize = Piece::BYTES_MAX;

const LENGTH_SHIFT: u32 = 8 * PIECE_BYTES_MAX as u32;

impl Piece {
    pub(super) fn literal(byte: u8) -> Self {
        Self::of(&[byte])
    }

    /// Two pieces as one, unless that is too long.
    #[inline]
    pub(super) fn join(left: Self, right: Self) -> Option<Self> {
        let length = left.len() + right.len();
        if length > PIECE_BYTES_MAX {
            return None;
        }
        let text = left.text() | right.text() << (8 * left.len());
        let bytes = (text | (length as u128) << LENGTH_SHIFT).to_le_bytes();
        Some(Self::of_bytes(bytes))
    }

    #[inline]
    fn text(self) -> u128 {
        u128::from_le_bytes(*self.bytes()) & ((1 << LENGTH_SHIFT) - 1)
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
            assert_eq!(whole, Piece::of(&text[..length]));
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
