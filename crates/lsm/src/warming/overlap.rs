//! Which part of a page's versions lies between two keys, as far as the page index tells.
//!
//! The index has a page's first and last key. In between the keys are taken to be spread evenly:
//! as numbers, or, where they are bytes, by the first eight bytes in which the two ends differ.

use types::key::SortKey;

use crate::segment::PageEntry;

/// The part of the page's versions with keys from `first` to `last`, from 0 to 1; more than 0 for a
/// page that reaches into the range.
pub(super) fn overlap(page: &PageEntry, first: &SortKey, last: &SortKey) -> f64 {
    let ends = (&page.first_key, &page.last_key);
    if page.last_key < *first || page.first_key > *last {
        return 0.0;
    }
    if page.first_key == page.last_key {
        return 1.0;
    }
    let one_version = 1.0 / f64::from(page.rows);
    (place(last, ends) - place(first, ends)).clamp(one_version, 1.0)
}

/// Where a key lies between two ends, from 0 to 1.
fn place(key: &SortKey, (low, high): (&SortKey, &SortKey)) -> f64 {
    if key <= low {
        return 0.0;
    }
    if key >= high {
        return 1.0;
    }
    match (key, low, high) {
        (SortKey::U64(key), SortKey::U64(low), SortKey::U64(high)) => {
            (key - low) as f64 / (high - low) as f64
        }
        (SortKey::U128(key), SortKey::U128(low), SortKey::U128(high)) => {
            (key - low) as f64 / (high - low) as f64
        }
        (SortKey::Bytes(key), SortKey::Bytes(low), SortKey::Bytes(high)) => {
            place_of_bytes(key, low, high)
        }
        _ => unreachable!("keys of one table have one form"),
    }
}

/// `key` lies between `low` and `high`.
fn place_of_bytes(key: &[u8], low: &[u8], high: &[u8]) -> f64 {
    let same = low.iter().zip(high).take_while(|(a, b)| a == b).count();
    let number = |bytes: &[u8]| {
        let mut eight = [0; 8];
        let differing = bytes.get(same..).unwrap_or_default();
        let length = differing.len().min(8);
        eight[..length].copy_from_slice(&differing[..length]);
        u64::from_be_bytes(eight)
    };
    let (key, low, high) = (number(key), number(low), number(high));
    match high - low {
        0 => 0.5,
        width => key.saturating_sub(low) as f64 / width as f64,
    }
}

#[cfg(test)]
mod tests {
    use types::CommitPosition;

    use super::*;

    fn page(first_key: SortKey, last_key: SortKey) -> PageEntry {
        PageEntry {
            offset: 0,
            length: 1,
            rows: 100,
            checksum: 0,
            first_key,
            last_key,
            position_min: CommitPosition::ZERO,
            position_max: CommitPosition::ZERO,
            all_puts: true,
            unique_keys: true,
        }
    }

    fn is_about(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-3, "{found}, not {expected}");
    }

    #[test]
    fn numbers_are_spread_evenly() {
        let key = |number: u64| SortKey::U64(number);
        let page = page(key(1000), key(2000));
        let overlap = |first, last| overlap(&page, &key(first), &key(last));
        is_about(overlap(0, 3000), 1.0);
        is_about(overlap(1250, 1500), 0.25);
        is_about(overlap(0, 1500), 0.5);
        is_about(overlap(1900, 3000), 0.1);
        is_about(overlap(0, 999), 0.0);
        is_about(overlap(2001, 3000), 0.0);
    }

    #[test]
    fn a_page_that_reaches_into_the_range_gives_a_version_at_least() {
        let key = |number: u128| SortKey::U128(number);
        let page = page(key(1000), key(2000));
        is_about(overlap(&page, &key(0), &key(1000)), 0.01);
        is_about(overlap(&page, &key(1500), &key(1500)), 0.01);
    }

    #[test]
    fn bytes_count_from_where_they_differ() {
        let key = |text: &str| SortKey::Bytes(text.as_bytes().to_vec());
        let of = page(key("order 1000"), key("order 9000"));
        is_about(overlap(&of, &key("order 0"), &key("order 5000")), 0.5);
        is_about(overlap(&of, &key("order 3000"), &key("order 5000")), 0.25);
        let same = page(key("order"), key("order\0\0\0\0\0\0\0\0\0\0"));
        is_about(overlap(&same, &key("order\0"), &key("p")), 0.5);
    }

    #[test]
    fn a_page_with_one_key_is_in_the_range_or_not() {
        let page = page(SortKey::U64(7), SortKey::U64(7));
        is_about(overlap(&page, &SortKey::U64(7), &SortKey::U64(9)), 1.0);
        is_about(overlap(&page, &SortKey::U64(8), &SortKey::U64(9)), 0.0);
    }
}
