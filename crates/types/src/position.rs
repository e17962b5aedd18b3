//! Positions in a source's log.

use std::fmt;
use std::str::FromStr;

/// The place of a commit in a source's log, as one ordered 64-bit number.
///
/// For PostgreSQL it is the LSN of the commit record, for the built-in sources a command
/// sequence number. Larger is later. Zero is before every commit: versions that every live
/// snapshot sees carry it after a merge, because it compresses to nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitPosition(pub u64);

impl CommitPosition {
    /// Before every commit.
    pub const ZERO: Self = Self(0);
    /// After every commit.
    pub const MAX: Self = Self(u64::MAX);
}

/// Printed as PostgreSQL prints an LSN: two hexadecimal halves.
impl fmt::Display for CommitPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & 0xFFFF_FFFF)
    }
}

/// The text is not two hexadecimal numbers of at most 32 bits with a slash between.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a log position; one looks like 16/B374D848")]
pub struct ParsePositionError(String);

impl FromStr for CommitPosition {
    type Err = ParsePositionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParsePositionError(text.to_owned());
        let (high, low) = text.split_once('/').ok_or_else(error)?;
        let half = |digits: &str| u32::from_str_radix(digits, 16).map_err(|_| error());
        Ok(Self((u64::from(half(high)?) << 32) | u64::from(half(low)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_parses_like_postgresql() {
        let position = CommitPosition(0x16_B374_D848);
        assert_eq!(position.to_string(), "16/B374D848");
        assert_eq!("16/B374D848".parse(), Ok(position));
        assert!("16".parse::<CommitPosition>().is_err());
        assert!("1/123456789".parse::<CommitPosition>().is_err());
    }
}
