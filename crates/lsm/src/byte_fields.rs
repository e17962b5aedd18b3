//! Little-endian fields of this crate's own blocks: page index, footer, manifest records.
//!
//! Writing appends to a `Vec<u8>` ([`put_u32`] and its siblings); reading goes through
//! [`FieldReader`], which never reads past the end and never allocates more than the bytes that
//! are there. A block is always read behind its checksum, so a [`Malformed`] field means that
//! the writer was wrong or the checksum collided; it is an error all the same, never a panic.

use types::key::SortKey;

/// The form of a [`SortKey::U64`]. On disk, like the other two: never change it.
pub(crate) const KEY_U64: u8 = 0;
/// The form of a [`SortKey::U128`].
pub(crate) const KEY_U128: u8 = 1;
/// The form of a [`SortKey::Bytes`].
pub(crate) const KEY_BYTES: u8 = 2;

/// A field that cannot be what the writer wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Malformed(pub(crate) &'static str);

/// Appends one byte.
pub(crate) fn put_u8(out: &mut Vec<u8>, value: u8) {
    out.push(value);
}

/// Appends a 32-bit number.
pub(crate) fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a 64-bit number.
pub(crate) fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a number in seven bits a byte, least significant first; the high bit says that
/// another byte follows (LEB128).
pub(crate) fn put_leb(out: &mut Vec<u8>, mut value: u128) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a number of items that follow.
pub(crate) fn put_count(out: &mut Vec<u8>, count: usize) {
    put_u32(
        out,
        u32::try_from(count).expect("a block holds less than 2^32 items"),
    );
}

/// Appends bytes with their length.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Appends a key with its form.
pub(crate) fn put_key(out: &mut Vec<u8>, key: &SortKey) {
    match key {
        SortKey::U64(key) => {
            put_u8(out, KEY_U64);
            put_u64(out, *key);
        }
        SortKey::U128(key) => {
            put_u8(out, KEY_U128);
            out.extend_from_slice(&key.to_le_bytes());
        }
        SortKey::Bytes(key) => {
            put_u8(out, KEY_BYTES);
            put_bytes(out, key);
        }
    }
}

/// Reads the fields of a block front to back.
pub(crate) struct FieldReader<'a> {
    rest: &'a [u8],
}

impl<'a> FieldReader<'a> {
    /// Starts at the front of `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Bytes that have not been read.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(Malformed("the block ends inside a field"))?;
        self.rest = rest;
        Ok(head)
    }

    /// Bytes of a fixed number.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, rest) = self
            .rest
            .split_first_chunk()
            .ok_or(Malformed("the block ends inside a field"))?;
        self.rest = rest;
        Ok(*head)
    }

    /// One byte.
    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    /// A 32-bit number.
    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// A 64-bit number.
    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A number of variable length, see [`put_leb`].
    pub(crate) fn leb(&mut self) -> Result<u128, Malformed> {
        let mut value = 0;
        for shift in (0..u128::BITS).step_by(7) {
            let byte = self.u8()?;
            let bits = u128::from(byte & 0x7F);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed("a number exceeds 128 bits"))
    }

    /// A number of variable length and at most 64 bits.
    pub(crate) fn leb_u64(&mut self) -> Result<u64, Malformed> {
        u64::try_from(self.leb()?).map_err(|_| Malformed("a number exceeds 64 bits"))
    }

    /// A number of variable length and at most 32 bits.
    pub(crate) fn leb_u32(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.leb()?).map_err(|_| Malformed("a number exceeds 32 bits"))
    }

    /// Bytes with their length, which has a variable length.
    pub(crate) fn leb_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(self.leb()?);
        self.take(length.map_err(|_| Malformed("a number exceeds 64 bits"))?)
    }

    /// A number of items of at least `item_bytes_min` bytes each: never more than can follow, so
    /// it is safe to allocate for.
    pub(crate) fn count(&mut self, item_bytes_min: usize) -> Result<usize, Malformed> {
        let count = self.u32()? as usize;
        if count > self.rest.len() / item_bytes_min.max(1) {
            return Err(Malformed("more items announced than the block can hold"));
        }
        Ok(count)
    }

    /// Bytes with their length.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.count(1)?;
        self.take(length)
    }

    /// Text.
    pub(crate) fn text(&mut self) -> Result<String, Malformed> {
        let bytes = self.bytes()?.to_vec();
        String::from_utf8(bytes).map_err(|_| Malformed("a text is not UTF-8"))
    }

    /// A key with its form.
    pub(crate) fn key(&mut self) -> Result<SortKey, Malformed> {
        match self.u8()? {
            KEY_U64 => Ok(SortKey::U64(self.u64()?)),
            KEY_U128 => Ok(SortKey::U128(u128::from_le_bytes(self.array()?))),
            KEY_BYTES => Ok(SortKey::Bytes(self.bytes()?.to_vec())),
            _ => Err(Malformed("unknown key form")),
        }
    }

    /// Ends the block: nothing may be left.
    pub(crate) fn finish(self) -> Result<(), Malformed> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Malformed("the block has bytes left over"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_as_they_went_in() {
        let keys = [
            SortKey::U64(7),
            SortKey::U128(1 << 99),
            SortKey::Bytes(b"k\0".to_vec()),
        ];
        let mut out = Vec::new();
        put_u8(&mut out, 3);
        put_u32(&mut out, 4);
        put_u64(&mut out, 5);
        put_bytes(&mut out, b"text");
        keys.iter().for_each(|key| put_key(&mut out, key));
        for number in [0, 127, 128, u128::from(u64::MAX), u128::MAX] {
            put_leb(&mut out, number);
        }

        let mut reader = FieldReader::new(&out);
        assert_eq!(reader.u8(), Ok(3));
        assert_eq!(reader.u32(), Ok(4));
        assert_eq!(reader.u64(), Ok(5));
        assert_eq!(reader.text().as_deref(), Ok("text"));
        for key in keys {
            assert_eq!(reader.key(), Ok(key));
        }
        assert_eq!((reader.leb_u32(), reader.leb_u32()), (Ok(0), Ok(127)));
        assert_eq!(
            (reader.leb_u64(), reader.leb_u64()),
            (Ok(128), Ok(u64::MAX))
        );
        assert_eq!(reader.leb(), Ok(u128::MAX));
        assert_eq!(reader.finish(), Ok(()));
    }

    #[test]
    fn a_count_never_exceeds_what_can_follow() {
        let mut out = Vec::new();
        put_u32(&mut out, u32::MAX);
        put_u64(&mut out, 0);
        assert!(FieldReader::new(&out).count(1).is_err());
        assert!(FieldReader::new(&out).bytes().is_err());
        assert!(FieldReader::new(&out[..3]).u32().is_err());
        assert!(FieldReader::new(&[0xFF; 20]).leb().is_err());
        assert!(FieldReader::new(&[5, 0, 0]).leb_bytes().is_err());
    }
}
