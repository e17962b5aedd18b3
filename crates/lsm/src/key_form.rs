//! The three forms of sort keys as types, so that merge loops compile once a form.
//!
//! The form is looked at once a merge step; inside the loops a key is a plain `u64`, `u128` or
//! byte slice.

use types::SortKeys;

/// One form of sort keys.
pub(crate) trait KeyForm {
    /// A batch of keys.
    type View<'a>: Copy;
    /// One key.
    type Key<'a>: Ord + Copy;

    /// The batch in this form.
    ///
    /// # Panics
    /// When the keys have another form: the caller chose the form by looking at them.
    fn view(keys: &SortKeys) -> Self::View<'_>;

    /// The key of a row.
    fn key<'a>(view: Self::View<'a>, row: usize) -> Self::Key<'a>;
}

/// Keys of at most 64 bits.
pub(crate) struct U64Form;
/// Keys of at most 128 bits.
pub(crate) struct U128Form;
/// Keys of any length.
pub(crate) struct BytesForm;

const MISMATCH: &str = "keys of one table have one form";

impl KeyForm for U64Form {
    type View<'a> = &'a [u64];
    type Key<'a> = u64;

    fn view(keys: &SortKeys) -> &[u64] {
        let SortKeys::U64(keys) = keys else {
            panic!("{MISMATCH}")
        };
        keys
    }

    #[inline]
    fn key<'a>(view: Self::View<'a>, row: usize) -> Self::Key<'a> {
        view[row]
    }
}

impl KeyForm for U128Form {
    type View<'a> = &'a [u128];
    type Key<'a> = u128;

    fn view(keys: &SortKeys) -> &[u128] {
        let SortKeys::U128(keys) = keys else {
            panic!("{MISMATCH}")
        };
        keys
    }

    #[inline]
    fn key<'a>(view: Self::View<'a>, row: usize) -> Self::Key<'a> {
        view[row]
    }
}

impl KeyForm for BytesForm {
    type View<'a> = (&'a [u32], &'a [u8]);
    type Key<'a> = &'a [u8];

    fn view(keys: &SortKeys) -> (&[u32], &[u8]) {
        let SortKeys::Bytes { offsets, data } = keys else {
            panic!("{MISMATCH}")
        };
        (offsets, data)
    }

    #[inline]
    fn key<'a>((offsets, data): Self::View<'a>, row: usize) -> Self::Key<'a> {
        &data[offsets[row] as usize..offsets[row + 1] as usize]
    }
}
