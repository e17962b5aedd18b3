//! Reading a segment front to back with every length checked, and variable-length numbers.
//!
//! Numbers are LEB128: seven bits a byte, least significant first, the high bit says that
//! another byte follows. Signed ones are zigzag-folded before, so that small magnitudes are
//! short: 0, -1, 1, -2 become 0, 1, 2, 3.

use crate::error::PageError;

/// The bytes of a segment that have not been read yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    /// The rest of the segment, and what lies behind it in the page.
    bytes: &'a [u8],
    /// Bytes of the rest of the segment.
    len: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self::before(bytes, bytes.len())
    }

    /// A segment that is the first `len` of the bytes. Others lie behind it.
    pub(crate) fn before(bytes: &'a [u8], len: usize) -> Self {
        assert!(len <= bytes.len(), "the segment is among the bytes");
        Self { bytes, len }
    }

    /// Bytes that have not been read.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The next `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], PageError> {
        Ok(&self.take_with_rest(count)?[..count])
    }

    /// The next `count` bytes and what lies behind them in the page, be it of the segment or not:
    /// whoever loads more at once than it needs may touch that.
    pub(crate) fn take_with_rest(&mut self, count: usize) -> Result<&'a [u8], PageError> {
        if count > self.len {
            return Err(PageError::Malformed("a segment ends inside a field"));
        }
        let bytes = self.bytes;
        self.bytes = &bytes[count..];
        self.len -= count;
        Ok(bytes)
    }

    /// Everything that is left.
    pub(crate) fn take_rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[..self.len];
        self.bytes = &self.bytes[self.len..];
        self.len = 0;
        rest
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], PageError> {
        let bytes = self.take(N)?;
        Ok(*bytes.first_chunk().expect("N bytes were taken"))
    }

    pub(crate) fn byte(&mut self) -> Result<u8, PageError> {
        Ok(self.array::<1>()?[0])
    }

    /// A width in bits, at most 64.
    pub(crate) fn bit_width(&mut self) -> Result<u32, PageError> {
        match self.byte()? {
            width @ 0..=64 => Ok(u32::from(width)),
            _ => Err(PageError::Malformed("a bit width exceeds 64")),
        }
    }

    pub(crate) fn unsigned(&mut self) -> Result<u64, PageError> {
        let mut value = 0_u64;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if (bits << shift) >> shift != bits {
                return Err(PageError::Malformed("a number exceeds 64 bits"));
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(PageError::Malformed("a number exceeds 64 bits"))
    }

    pub(crate) fn signed(&mut self) -> Result<i64, PageError> {
        let folded = self.unsigned()?;
        Ok((folded >> 1) as i64 ^ -((folded & 1) as i64))
    }

    /// A count or a size that is at most `limit`.
    pub(crate) fn count(&mut self, limit: usize) -> Result<usize, PageError> {
        usize::try_from(self.unsigned()?)
            .ok()
            .filter(|&count| count <= limit)
            .ok_or(PageError::Malformed("a count exceeds its limit"))
    }
}

pub(crate) fn put_unsigned(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_unsigned(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Bytes that [`put_unsigned`] writes.
pub(crate) fn unsigned_bytes(value: u64) -> usize {
    (u64::BITS - value.leading_zeros()).div_ceil(7).max(1) as usize
}

/// Bytes that [`put_signed`] writes.
pub(crate) fn signed_bytes(value: i64) -> usize {
    unsigned_bytes(((value << 1) ^ (value >> 63)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip_in_the_announced_bytes() {
        let values = [0, 1, -1, 63, 64, -64, -65, 8191, 8192, i64::MAX, i64::MIN];
        for value in values {
            let mut bytes = Vec::new();
            put_signed(&mut bytes, value);
            assert_eq!(bytes.len(), signed_bytes(value));
            let mut cursor = Cursor::new(&bytes);
            assert_eq!(cursor.signed(), Ok(value));
            assert!(cursor.take_rest().is_empty());
        }
    }

    #[test]
    fn endless_and_too_large_numbers_are_errors() {
        assert!(Cursor::new(&[0x80; 11]).unsigned().is_err());
        assert!(Cursor::new(&[0x80]).unsigned().is_err());
        let mut too_large = [0xFF; 10];
        too_large[9] = 0x02;
        assert!(Cursor::new(&too_large).unsigned().is_err());
    }
}
