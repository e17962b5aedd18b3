//! Ranges of keys.

use types::key::SortKey;

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
        !self.is_after(first) && !self.is_before(last)
    }
}
