//! Values as bytes, in parameters and replies. All numbers are little-endian.
//!
//! Parameters lie in the command log: what is written here is read by every later release
//! (`docs/format/procedure-calls.md`).

use std::borrow::Cow;

use crate::datum::Datum;
use crate::numeric::{DIGITS_MAX, Numeric};

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const INT: u8 = 3;
const NUMERIC: u8 = 4;
const REAL: u8 = 5;
const DOUBLE: u8 = 6;
const BYTES: u8 = 7;

/// Appends a value.
pub(crate) fn put(datum: &Datum<'_>, out: &mut Vec<u8>) {
    match datum {
        Datum::Null => out.push(NULL),
        Datum::Bool(false) => out.push(FALSE),
        Datum::Bool(true) => out.push(TRUE),
        Datum::Int(int) => {
            out.push(INT);
            out.extend_from_slice(&int.to_le_bytes());
        }
        Datum::Numeric(number) => {
            out.extend_from_slice(&[NUMERIC, number.scale]);
            out.extend_from_slice(&number.unscaled.to_le_bytes());
        }
        Datum::Real(float) => {
            out.push(REAL);
            out.extend_from_slice(&float.to_le_bytes());
        }
        Datum::Double(float) => {
            out.push(DOUBLE);
            out.extend_from_slice(&float.to_le_bytes());
        }
        Datum::Bytes(bytes) => {
            out.push(BYTES);
            put_bytes(bytes, out);
        }
    }
}

/// Appends bytes behind their number.
pub(crate) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    let length = u32::try_from(bytes.len()).expect("messages of clients are shorter");
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Takes from the front what was put there; `None` when something else is.
pub(crate) struct Reader<'b>(pub(crate) &'b [u8]);

impl<'b> Reader<'b> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    /// A number.
    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    /// A number.
    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    /// A number.
    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// Bytes behind their number.
    pub(crate) fn bytes(&mut self) -> Option<&'b [u8]> {
        let length = usize::try_from(self.u32()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    /// A value.
    pub(crate) fn datum(&mut self) -> Option<Datum<'b>> {
        Some(match self.take::<1>()?[0] {
            NULL => Datum::Null,
            FALSE => Datum::Bool(false),
            TRUE => Datum::Bool(true),
            INT => Datum::Int(self.take().map(i64::from_le_bytes)?),
            NUMERIC => {
                let [scale] = self.take()?;
                let unscaled = self.take().map(i128::from_le_bytes)?;
                (scale <= DIGITS_MAX).then_some(Datum::Numeric(Numeric { unscaled, scale }))?
            }
            REAL => Datum::Real(self.take().map(f32::from_le_bytes)?),
            DOUBLE => Datum::Double(self.take().map(f64::from_le_bytes)?),
            BYTES => Datum::Bytes(Cow::Borrowed(self.bytes()?)),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_and_what_is_cut_off_is_noticed() {
        let number = Numeric {
            unscaled: -12_345,
            scale: 2,
        };
        let all = [
            Datum::Null,
            Datum::Bool(true),
            Datum::Bool(false),
            Datum::Int(i64::MIN),
            Datum::Numeric(number),
            Datum::Real(1.5),
            Datum::Double(-0.0),
            Datum::text("grün"),
            Datum::Bytes(Cow::Borrowed(&[])),
        ];
        let mut bytes = Vec::new();
        all.iter().for_each(|datum| put(datum, &mut bytes));
        let mut reader = Reader(&bytes);
        for datum in &all {
            assert_eq!(reader.datum().as_ref(), Some(datum));
        }
        assert!(reader.0.is_empty());
        for length in 0..bytes.len() {
            let mut reader = Reader(&bytes[..length]);
            assert!(all.iter().any(|_| reader.datum().is_none()), "{length}");
        }
        assert_eq!(Reader(&[9]).datum(), None);
    }

    /// The bytes of `docs/format/procedure-calls.md`.
    #[test]
    fn bytes_are_as_documented() {
        let bytes = |datum| {
            let mut bytes = Vec::new();
            put(&datum, &mut bytes);
            bytes
        };
        assert_eq!(bytes(Datum::Int(10)), [3, 10, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes(Datum::text("ab")), [7, 2, 0, 0, 0, b'a', b'b']);
        let number = Datum::Numeric(Numeric {
            unscaled: 150,
            scale: 2,
        });
        assert_eq!(bytes(number)[..4], [4, 2, 150, 0]);
    }
}
