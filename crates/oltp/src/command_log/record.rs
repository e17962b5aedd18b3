//! One committed transaction in the log.
//!
//! ```text
//! bytes u32 | position u64 | number u64 | time i64 | name's bytes u16 | name | parameters
//! ```
//!
//! `bytes` counts what follows it.

use types::CommitPosition;

use crate::transaction::Circumstances;

/// Before the name.
const FIXED_BYTES: usize = 8 + 8 + 8 + 2;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub(crate) position: CommitPosition,
    pub(crate) circumstances: Circumstances,
    pub(crate) procedure: &'a str,
    pub(crate) parameters: &'a [u8],
}

impl<'a> Record<'a> {
    /// Appends the record.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let name = self.procedure.as_bytes();
        let bytes = FIXED_BYTES + name.len() + self.parameters.len();
        out.extend_from_slice(&(bytes as u32).to_le_bytes());
        out.extend_from_slice(&self.position.0.to_le_bytes());
        out.extend_from_slice(&self.circumstances.number.to_le_bytes());
        out.extend_from_slice(&self.circumstances.time_us.to_le_bytes());
        out.extend_from_slice(&(name.len() as u16).to_le_bytes());
        out.extend_from_slice(name);
        out.extend_from_slice(self.parameters);
    }

    /// Takes the first record off `bytes`; `None` when there is no whole one.
    pub(crate) fn decode(bytes: &mut &'a [u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (record, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let (position, record) = record.split_first_chunk()?;
        let (number, record) = record.split_first_chunk()?;
        let (time, record) = record.split_first_chunk()?;
        let (name, record) = record.split_first_chunk()?;
        let (name, parameters) = record.split_at_checked(u16::from_le_bytes(*name).into())?;
        *bytes = rest;
        Some(Self {
            position: CommitPosition(u64::from_le_bytes(*position)),
            circumstances: Circumstances {
                number: u64::from_le_bytes(*number),
                time_us: i64::from_le_bytes(*time),
            },
            procedure: std::str::from_utf8(name).ok()?,
            parameters,
        })
    }
}
