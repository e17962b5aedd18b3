//! Sizes as people write them: `512MiB`, `2GiB`, `1048576`.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

const UNITS: [(&str, u64); 5] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];

impl ByteSize {
    /// Mebibytes.
    pub const fn mib(count: u64) -> Self {
        Self(count << 20)
    }

    /// The number of bytes, as a length in memory.
    pub fn bytes(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// Printed in the largest unit that keeps at least one digit before the point.
impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = UNITS.iter().find(|(_, bytes)| self.0 >= *bytes);
        match unit {
            Some((name, bytes)) if self.0.is_multiple_of(*bytes) => {
                write!(f, "{} {name}", self.0 / bytes)
            }
            Some((name, bytes)) => write!(f, "{:.1} {name}", self.0 as f64 / *bytes as f64),
            None => f.write_str("0 B"),
        }
    }
}

/// The text is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a size; write a number with KiB, MiB, GiB or TiB, such as 512MiB")]
pub struct ParseByteSizeError(String);

impl FromStr for ByteSize {
    type Err = ParseByteSizeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseByteSizeError(text.to_owned());
        let digits_end = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (digits, unit) = text.split_at(digits_end);
        let unit = unit.trim();
        let factor = match unit {
            "" => 1,
            _ => {
                let known = UNITS
                    .iter()
                    .find(|(name, _)| unit.eq_ignore_ascii_case(name));
                known.ok_or_else(error)?.1
            }
        };
        let number: u64 = digits.parse().map_err(|_| error())?;
        number.checked_mul(factor).map(Self).ok_or_else(error)
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizeVisitor;

        impl Visitor<'_> for SizeVisitor {
            type Value = ByteSize;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"512MiB\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ByteSize, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<ByteSize, E> {
                u64::try_from(bytes).map(ByteSize).map_err(E::custom)
            }
        }

        deserializer.deserialize_any(SizeVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_and_without_unit() {
        assert_eq!("512MiB".parse(), Ok(ByteSize::mib(512)));
        assert_eq!("2 gib".parse(), Ok(ByteSize(2 << 30)));
        assert_eq!("7".parse(), Ok(ByteSize(7)));
        for bad in ["", "MiB", "5MB", "-1", "1.5GiB", "99999999999TiB"] {
            assert!(bad.parse::<ByteSize>().is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_printed_in_a_fitting_unit() {
        assert_eq!(ByteSize::mib(512).to_string(), "512 MiB");
        assert_eq!(ByteSize(1_500 << 20).to_string(), "1.5 GiB");
        assert_eq!(ByteSize(0).to_string(), "0 B");
    }
}
