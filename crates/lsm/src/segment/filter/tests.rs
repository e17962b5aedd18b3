//! Filters: every key passes, hardly any other does, and no bytes lead astray.

use proptest::prelude::*;

use super::*;

/// The filter of pages with these keys, with parts of about `part_keys`.
fn build(pages: &[SortKeys], part_keys: usize) -> Vec<u8> {
    let mut builder = FilterBuilder::with_part_keys(part_keys);
    let mut before: Option<SortKey> = None;
    for keys in pages {
        builder.add_page(keys, 0..keys.len(), before.as_ref());
        before = Some(keys.key(keys.len() - 1));
    }
    builder.finish()
}

fn open(bytes: Vec<u8>, pages: usize) -> Result<Filter, FilterError> {
    Filter::decode(&bytes.into(), pages as u32)
}

/// Pages of even numbers.
fn even(pages: u64, rows: u64) -> Vec<SortKeys> {
    let page = |page| (page * rows..(page + 1) * rows).map(|key| key * 2);
    (0..pages)
        .map(|number| SortKeys::U64(page(number).collect()))
        .collect()
}

#[test]
fn keys_pass_and_hardly_any_other_does() {
    for (pages, rows) in [(1, 1), (1, 2), (2, 3), (10, 10), (40, 2_500)] {
        let keys = even(pages, rows);
        let bytes = build(&keys, 1 << 16);
        let filter = open(bytes.clone(), keys.len()).expect("a filter");
        let mut wrong = 0;
        for (page, keys) in keys.iter().enumerate() {
            for row in 0..keys.len() {
                assert!(filter.may_hold(page, KeyHash::of_row(keys, row)));
                let SortKey::U64(key) = keys.key(row) else {
                    panic!("numbers")
                };
                wrong += usize::from(filter.may_hold(page, KeyHash::of(&SortKey::U64(key + 1))));
            }
        }
        let count = (pages * rows) as usize;
        assert!(wrong <= 5 + count / 128, "{wrong} of {count}");
        let most = 64 + count * 10 / 8 + count.isqrt() * 4;
        assert!(bytes.len() <= most, "{} bytes for {count}", bytes.len());
    }
}

#[test]
fn a_key_is_in_the_part_of_its_first_version() {
    // Key 7 goes on from the first page, which ends a part, to the second and third.
    let pages = [vec![1, 7, 7], vec![7, 7], vec![7, 9]].map(SortKeys::U64);
    let bytes = build(&pages, 2);
    let filter = open(bytes, 3).expect("a filter");
    assert_eq!(filter.parts.len(), 2);
    let hash = |key| KeyHash::of(&SortKey::U64(key));
    assert!(filter.may_hold(0, hash(1)) && filter.may_hold(0, hash(7)));
    assert!(filter.may_hold(2, hash(9)));
}

#[test]
fn hashes_are_those_of_the_format() {
    // Of the reference implementation of XXH3 with the seed "Hedgerow".
    let reference = |bytes: &[u8]| KeyHash(xxh3_64_with_seed(bytes, 0x776F_7265_6764_6548));
    assert_eq!(
        KeyHash::of(&SortKey::U64(1)),
        reference(&[1, 0, 0, 0, 0, 0, 0, 0])
    );
    let wide = [&[0; 15][..], &[1]].concat();
    assert_eq!(KeyHash::of(&SortKey::U128(1 << 120)), reference(&wide));
    assert_eq!(
        KeyHash::of(&SortKey::Bytes(b"ab".to_vec())),
        reference(b"ab")
    );
    let bytes = SortKeys::Bytes {
        offsets: vec![0, 1, 3],
        data: b"xab".to_vec(),
    };
    assert_eq!(KeyHash::of_row(&bytes, 1), reference(b"ab"));
}

/// A part without cells lets every key pass: what is written should no seed do.
#[test]
fn a_part_without_cells_lets_all_keys_pass() {
    let mut builder = FilterBuilder::new();
    builder.pages = 2;
    builder.put_part(0, 0, 0, &[]);
    let filter = open(builder.bytes, 2).expect("a filter");
    assert!((0..100).all(|key| filter.may_hold(1, KeyHash(key))));
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let whole = build(&even(3, 100), 150);
    assert!(open(whole.clone(), 3).is_ok());
    let refused = |bytes: Vec<u8>, pages, at| {
        let error = open(bytes, pages).expect_err("not a filter");
        assert_eq!(error.at, at, "{error:?}");
        error.detail
    };
    let pages = refused(whole.clone(), 4, whole.len());
    assert_eq!(pages, "keys of 3 pages, expected 4");
    refused(whole[..whole.len() - 1].to_vec(), 3, second_part(&whole));
    refused([&whole[..], &[0]].concat(), 3, whole.len());
    let with = |field: usize, value: u32| {
        let mut bytes = whole.clone();
        bytes[4 * field..4 * field + 4].copy_from_slice(&value.to_le_bytes());
        bytes
    };
    refused(with(0, 0), 3, 0);
    for band_cells in [0, 3, 48, 1 << 31, u32::MAX] {
        refused(with(1, band_cells), 3, 0);
    }
    for bands in [0, 1, 2, 1 << 31, u32::MAX] {
        refused(with(2, bands), 3, 0);
    }
    refused(with(3, 1), 3, 0);
}

/// Where the second part begins.
fn second_part(bytes: &[u8]) -> usize {
    let field = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().expect("a field"));
    PART_HEADER_BYTES + field(4) as usize * field(8) as usize
}

proptest! {
    /// With whatever bytes: refused, or asked without a panic.
    #[test]
    fn hostile_bytes_do_not_lead_astray(
        at in 0..PART_HEADER_BYTES,
        value in any::<u8>(),
        tail in prop::collection::vec(any::<u8>(), 0..100),
        cut in 0..400_usize,
        keys in prop::collection::vec(any::<u64>(), 100),
    ) {
        let mut bytes = build(&even(2, 100), 1_000);
        bytes[at] = value;
        bytes.truncate(cut);
        bytes.extend(tail);
        if let Ok(filter) = open(bytes, 2) {
            for key in keys {
                filter.may_hold(key as usize % 2, KeyHash(key));
            }
        }
    }
}
