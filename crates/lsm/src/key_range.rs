//! Ranges of keys.

use types::key::SortKey;

use crate::museum::{self, Exhibit};

/// Half-open range of keys; `None` = unbounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRange {
    /// The first key in the range.
    pub start: Option<SortKey>,
    /// The first key past the range.
    pub end: Option<SortKey>,
}

impl KeyRange {
    /// Every key.
    pub fn all() -> Self {
        Self::default()
    }

    /// The part of the range at or above a bound.
    pub(crate) fn from(&self, bound: Option<&SortKey>) -> Self {
        Self {
            start: self.start.as_ref().max(bound).cloned(),
            end: self.end.clone(),
        }
    }

    /// Exactly one key.
    pub(crate) fn only(key: &SortKey) -> Self {
        let next = match key {
            SortKey::U64(key) => key.checked_add(1).map(SortKey::U64),
            SortKey::U128(key) => key.checked_add(1).map(SortKey::U128),
            SortKey::Bytes(key) => Some(SortKey::Bytes([key.as_slice(), &[0]].concat())),
        };
        Self {
            start: Some(key.clone()),
            end: next,
        }
    }

    /// Whether `key` is before the range.
    pub(crate) fn is_after(&self, key: &SortKey) -> bool {
        self.start.as_ref().is_some_and(|start| key < start)
    }

    /// Whether `key` is past the range.
    pub(crate) fn is_before(&self, key: &SortKey) -> bool {
        self.end.as_ref().is_some_and(|end| key >= end)
    }

    /// Whether every key of `first..=last` is in the range.
    pub(crate) fn contains(&self, first: &SortKey, last: &SortKey) -> bool {
        let inclusive =
            museum::shows(Exhibit::RangeEndInclusive) && self.end.as_ref() == Some(last);
        !self.is_after(first) && (inclusive || !self.is_before(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_one_key_has_no_neighbour() {
        let check = |before: Option<SortKey>, key: SortKey, after: Option<SortKey>| {
            let range = KeyRange::only(&key);
            assert!(range.contains(&key, &key));
            assert!(before.is_none_or(|before| range.is_after(&before)));
            assert!(after.is_none_or(|after| range.is_before(&after)));
        };
        let bytes = |key: &[u8]| SortKey::Bytes(key.to_vec());
        check(None, SortKey::U64(0), Some(SortKey::U64(1)));
        check(
            Some(SortKey::U64(u64::MAX - 1)),
            SortKey::U64(u64::MAX),
            None,
        );
        check(None, SortKey::U128(u128::MAX), None);
        check(Some(bytes(b"a")), bytes(b"ab"), Some(bytes(b"ab\0")));
        check(None, bytes(b""), Some(bytes(b"\0")));
    }
}
