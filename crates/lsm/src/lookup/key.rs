//! A key to look up: the values of its columns, the sort key that they fold into, and its hash.

use types::Value;
use types::key::SortKey;

use crate::layout::Layout;
use crate::segment::KeyHash;

/// A key that a row may have.
pub(super) struct LookupKey<'a> {
    /// The values of the key columns, in key order.
    pub values: &'a [Value<'a>],
    /// What they fold into.
    pub sort_key: SortKey,
    /// The hash by which filters know the key.
    pub hash: KeyHash,
}

impl<'a> LookupKey<'a> {
    /// The key with these values; `None` when no row can have it, because a value is NULL or
    /// outside its column's type.
    ///
    /// # Panics
    /// When a value is of another kind than its column, or there are more or fewer values than
    /// key columns.
    pub fn new(layout: &Layout, values: &'a [Value<'a>]) -> Option<Self> {
        let sort_key = SortKey::of_values(values, layout.key_types())?;
        Some(Self {
            values,
            hash: KeyHash::of(&sort_key),
            sort_key,
        })
    }
}
