//! A short piece of text that is copied as a whole.
//!
//! Its length lies in its last byte, so that one access finds both. To copy all of it is faster
//! than to look how much of it is needed: what is too much is overwritten by the next piece.

/// A piece of fewer than `N` bytes, filled up with zeros, and its length. `N` is a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Piece<const N: usize>([u8; N]);

impl<const N: usize> Piece<N> {
    /// Bytes that it has at most.
    pub(super) const BYTES_MAX: usize = {
        assert!(N.is_power_of_two() && N <= 1 << u8::BITS);
        N - 1
    };

    /// No text.
    pub(super) const EMPTY: Self = Self([0; N]);

    /// # Panics
    /// When the text is too long.
    #[inline]
    pub(super) fn of(text: &[u8]) -> Self {
        let mut piece = [0; N];
        piece[..Self::BYTES_MAX][..text.len()].copy_from_slice(text);
        piece[Self::BYTES_MAX] = text.len() as u8;
        Self(piece)
    }

    /// A piece whose length stands in its last byte.
    #[inline]
    pub(super) fn of_bytes(bytes: [u8; N]) -> Self {
        Self(bytes)
    }

    /// The length.
    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.0[Self::BYTES_MAX]) & Self::BYTES_MAX
    }

    /// The text and what lies behind it, to be copied at once.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8; N] {
        &self.0
    }
}
