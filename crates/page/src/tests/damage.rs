//! Whatever the bytes are, reading ends with an array or an error.

use std::ops::Bound;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::BooleanBuffer;
use proptest::prelude::*;
use types::{ColumnType, ValueRange};

use super::{IDENTITY, Nulls, Recipe, Shape, any_recipe, mix, one_page, open};
use crate::header::reseal;
use crate::{Column, OpenColumn, Page, PageError, PageIdentity};

/// A small page with most codecs in it.
fn mixed_page() -> (Vec<u8>, Vec<ColumnType>) {
    let mut recipes = Vec::new();
    for (index, column_type) in super::TYPES.into_iter().enumerate() {
        let shape = Shape::ALL[index % Shape::ALL.len()];
        let nulls = [Nulls::None, Nulls::Rare, Nulls::Half][index % 3];
        recipes.push(Recipe {
            column_type,
            shape,
            nulls,
            seed: index as u64,
        });
    }
    for shape in Shape::ALL {
        for column_type in [ColumnType::Int64, ColumnType::Text] {
            recipes.push(Recipe {
                column_type,
                shape,
                nulls: Nulls::Rare,
                seed: 1,
            });
        }
    }
    // Floats that are decimal and that are not, text that is sorted, see `Recipe`.
    for (column_type, seed) in [
        (ColumnType::Float64, 1),
        (ColumnType::Float64, 2),
        (ColumnType::Float32, 0),
        (ColumnType::Text, 0),
        (ColumnType::Bytes, 26),
    ] {
        recipes.push(Recipe {
            column_type,
            shape: Shape::Ascending,
            nulls: Nulls::Rare,
            seed,
        });
    }
    let types: Vec<ColumnType> = recipes.iter().map(|r| r.column_type).collect();
    let columns: Vec<ArrayRef> = recipes.iter().map(|r| r.array(400)).collect();
    (one_page(&types, &columns, 100_000).0, types)
}

/// Reads everything; only the absence of a panic counts.
fn read_all(page: &Page, columns: usize) {
    let every_third: Vec<u32> = (0..page.rows() as u32).step_by(3).collect();
    for column in 0..columns {
        let _ = page.decode(column);
        let _ = page.decode_slots(column, &every_third);
        let _ = page.constant(column);
        if let Ok(Some(distinct)) = page.distinct_text(column) {
            let _ = distinct.rows_of(&BooleanBuffer::new_set(distinct.cells().len()));
            let _ = distinct.codes(Some(&every_third));
        }
        let _ = page.append_integers(column, None, &mut Vec::new());
        search_column(page, column, &every_third);
    }
}

/// Looks every third cell up by slot, and then some of what was found by value.
fn search_column(page: &Page, column: usize, slots: &[u32]) {
    let Ok(opened) = page.column(column) else {
        return;
    };
    search_opened(page, column, &opened, slots);
    if let OpenColumn::Passing(opened) = opened {
        search_opened(page, column, &opened.prepare(), slots);
    }
}

fn search_opened(page: &Page, column: usize, opened: &Column<'_>, slots: &[u32]) {
    let mut buffer = Vec::new();
    for &slot in slots {
        let Ok(value) = opened.value(slot as usize, &mut buffer) else {
            continue;
        };
        if slot % 32 == 0 {
            let _ = page.find([(column, value)]);
            let _ = opened.find(slot as usize..page.rows(), &value);
            let _ = opened.select(ValueRange {
                low: Bound::Included(value),
                high: Bound::Unbounded,
            });
            let _ = opened.select(ValueRange {
                low: Bound::Unbounded,
                high: Bound::Excluded(value),
            });
        }
    }
}

#[test]
fn a_flipped_bit_anywhere_is_found() {
    let (mut bytes, types) = mixed_page();
    for at in 0..bytes.len() {
        let bit = 1 << (mix(at as u64) % 8);
        bytes[at] ^= bit;
        assert!(
            matches!(open(&bytes, &types), Err(PageError::Checksum { .. })),
            "byte {at}"
        );
        bytes[at] ^= bit;
    }
    assert!(open(&bytes, &types).is_ok());
}

#[test]
fn a_page_at_another_place_is_found() {
    let (bytes, types) = mixed_page();
    let elsewhere = [
        PageIdentity {
            offset: IDENTITY.offset + 4096,
            ..IDENTITY
        },
        PageIdentity {
            file: IDENTITY.file + 1,
            ..IDENTITY
        },
    ];
    for identity in elsewhere {
        let opened = Page::open(bytes.as_slice().into(), &Arc::from(&types[..]), identity);
        assert!(matches!(opened, Err(PageError::Checksum { .. })));
    }
}

#[test]
fn a_torn_page_is_found() {
    let (bytes, types) = mixed_page();
    for len in 0..bytes.len() {
        assert!(open(&bytes[..len], &types).is_err(), "{len} bytes");
    }
}

#[test]
fn a_newer_version_is_not_taken_for_damage() {
    let (mut bytes, types) = mixed_page();
    bytes[8] = 2;
    reseal(&mut bytes, IDENTITY);
    let error = open(&bytes, &types).expect_err("version 2");
    assert_eq!(
        error,
        PageError::VersionTooNew {
            found: 2,
            supported: 1
        }
    );
}

#[test]
fn the_schema_must_match() {
    let (bytes, mut types) = mixed_page();
    types.pop();
    assert!(matches!(open(&bytes, &types), Err(PageError::Malformed(_))));
}

/// One column without NULLs in a frame that is right.
fn page_of(rows: u16, codec: u8, segment: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    bytes.extend_from_slice(b"HrPg\x01\0\x01\0");
    let size = 23 + segment.len();
    bytes.extend_from_slice(&(size as u32).to_le_bytes());
    bytes.extend_from_slice(&rows.to_le_bytes());
    bytes.extend_from_slice(&[2, 0, codec]);
    bytes.extend_from_slice(&(size as u16).to_le_bytes());
    bytes.extend_from_slice(segment);
    reseal(&mut bytes, IDENTITY);
    bytes
}

/// A page of 5 KB could otherwise claim 80 MB for one column.
#[test]
fn text_that_unfolds_without_end_is_refused() {
    let types = [ColumnType::Text];
    let constant = |length| page_of(16_384, 17, &vec![b'x'; length]);
    let page = open(&constant(64), &types).expect("the frame is right");
    assert_eq!(
        page.decode(0).expect("64 bytes a row are allowed").len(),
        16_384
    );
    let page = open(&constant(5000), &types).expect("the frame is right");
    assert!(matches!(page.decode(0), Err(PageError::Malformed(_))));
    assert!(matches!(
        page.decode_slots(0, &[0, 1]),
        Err(PageError::Malformed(_))
    ));
}

/// Two front-coded cells: `ab`, and one that shares `prefix` bytes with it and ends in `c`.
fn front_coded(prefix: u8) -> Vec<u8> {
    let plain = |words: [u8; 2]| {
        let bytes = words.map(|word| u64::from(word).to_le_bytes());
        [&[2], bytes.as_flattened()].concat()
    };
    page_of(
        2,
        20,
        &[plain([0, prefix]), plain([2, 3]), b"abc".to_vec()].concat(),
    )
}

#[test]
fn a_cell_shares_only_what_the_cell_before_has() {
    let types = [ColumnType::Text];
    let page = open(&front_coded(2), &types).expect("the frame is right");
    let expected: ArrayRef = Arc::new(arrow_array::StringArray::from(vec!["ab", "abc"]));
    super::assert_same(&page.decode(0).expect("two bytes are there"), &expected);

    let page = open(&front_coded(3), &types).expect("the frame is right");
    let column = page.column(0).expect("nothing is decoded yet");
    assert!(page.decode(0).is_err());
    assert!(page.decode_slots(0, &[1]).is_err());
    assert!(column.value(1, &mut Vec::new()).is_err());
}

#[test]
fn exponents_beyond_the_powers_are_refused() {
    let decimal = |exponent| page_of(1, 10, &[exponent, 0, 1, 4]);
    let types = [ColumnType::Float64];
    let page = open(&decimal(1), &types).expect("the frame is right");
    let expected: ArrayRef = Arc::new(arrow_array::Float64Array::from(vec![0.2]));
    super::assert_same(
        &page.decode(0).expect("a constant of 2 and exponent 1"),
        &expected,
    );
    let page = open(&decimal(23), &types).expect("the frame is right");
    assert!(page.decode(0).is_err());
    for _ in 0..2 {
        assert!(page.column(0).is_err(), "a failure is not kept");
    }
}

#[test]
fn rows_beyond_the_limit_are_refused() {
    let constant = |rows| page_of(rows, 1, &[0]);
    assert!(open(&constant(16_384), &[ColumnType::Int64]).is_ok());
    assert!(open(&constant(16_385), &[ColumnType::Int64]).is_err());
    assert!(open(&constant(0), &[ColumnType::Int64]).is_err());
}

#[test]
fn a_codec_of_another_type_is_refused() {
    for codec in 0..32 {
        let page = open(&page_of(1, codec, &[0; 40]), &[ColumnType::Int64]).expect("a right frame");
        assert_eq!(
            page.decode(0).is_ok(),
            [0, 1, 2, 4, 5].contains(&codec),
            "codec {codec}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Damage that a checksum cannot find, because it is right.
    #[test]
    fn resealed_damage_never_panics(
        recipes in proptest::collection::vec(any_recipe(), 1..4),
        rows in 1_usize..600,
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let types: Vec<ColumnType> = recipes.iter().map(|r| r.column_type).collect();
        let columns: Vec<ArrayRef> = recipes.iter().map(|r| r.array(rows)).collect();
        let (mut bytes, _) = one_page(&types, &columns, 8192);
        for (at, byte) in damage {
            let at = at.index(bytes.len() - 8) + 8;
            bytes[at] = byte;
        }
        reseal(&mut bytes, IDENTITY);
        if let Ok(page) = open(&bytes, &types) {
            read_all(&page, types.len());
        }
    }

    /// Any bytes behind a directory that makes sense.
    #[test]
    fn noise_in_segments_never_panics(
        types in proptest::collection::vec(proptest::sample::select(&super::TYPES[..]), 1..4),
        encodings in proptest::collection::vec(any::<u8>(), 4),
        rows in 1_u16..500,
        noise in proptest::collection::vec(any::<u8>(), 40..400),
    ) {
        let directory_bytes = types.len() * 3;
        let size = 20 + directory_bytes + noise.len();
        let mut bytes = vec![0; 4];
        bytes.extend_from_slice(b"HrPg");
        bytes.extend_from_slice(&1_u16.to_le_bytes());
        bytes.extend_from_slice(&(types.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&(size as u32).to_le_bytes());
        bytes.extend_from_slice(&rows.to_le_bytes());
        bytes.extend_from_slice(&[2, 0]);
        for (column, encoding) in (1..=types.len()).zip(&encodings) {
            let end = 20 + directory_bytes + noise.len() * column / (types.len() + 1);
            bytes.push(*encoding);
            bytes.extend_from_slice(&(end as u16).to_le_bytes());
        }
        bytes.extend_from_slice(&noise);
        reseal(&mut bytes, IDENTITY);
        let page = open(&bytes, &types).expect("the frame is right");
        read_all(&page, types.len());
    }
}
