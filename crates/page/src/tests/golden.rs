//! Pages that were written once and must be readable for ever, and the example of the format's
//! document.
//!
//! A golden file is one page of `GOLDEN_IDENTITY`. What is in it, `recipes` says. When the
//! format changes, version 1's files stay and new ones join them.

use arrow_array::{ArrayRef, Int32Array, Int64Array, StringArray, UInt64Array};
use std::collections::BTreeSet;
use std::sync::Arc;
use types::ColumnType;

use super::{DECIMAL, Nulls, Recipe, Shape, assert_same};
use crate::header::Header;
use crate::{Page, PageEncoder, PageIdentity};

const GOLDEN_IDENTITY: PageIdentity = PageIdentity {
    file: 1,
    offset: 65_536,
};

const ROWS: usize = 600;

const GOLDEN: [(&str, &[u8]); 8] = [
    ("words", include_bytes!("golden/v1-words.page")),
    ("text", include_bytes!("golden/v1-text.page")),
    ("floats", include_bytes!("golden/v1-floats.page")),
    ("prefixes", include_bytes!("golden/v1-prefixes.page")),
    ("large", include_bytes!("golden/v1-large.page")),
    ("grammar", include_bytes!("golden/v1-grammar.page")),
    ("alphabet", include_bytes!("golden/v1-alphabet.page")),
    ("bundles", include_bytes!("golden/v1-bundles.page")),
];

fn recipe(column_type: ColumnType, shape: Shape, nulls: Nulls, seed: u64) -> Recipe {
    Recipe {
        column_type,
        shape,
        nulls,
        seed,
    }
}

/// The columns of a golden file.
fn recipes(name: &str) -> Vec<Recipe> {
    use Shape::{Ascending, Noise, Outliers, Small};
    let shapes = Shape::ALL;
    match name {
        "words" => {
            let mut recipes: Vec<Recipe> = super::TYPES[..12]
                .iter()
                .enumerate()
                .map(|(seed, &t)| recipe(t, shapes[seed % shapes.len()], Nulls::Rare, seed as u64))
                .collect();
            recipes.extend(shapes.map(|shape| recipe(ColumnType::Int64, shape, Nulls::None, 5)));
            // Seeds 0, 1 and 2 make decimals of 64 bits, with a base, and of 128 bits.
            recipes.extend([0, 1, 2].map(|seed| recipe(DECIMAL, Small, Nulls::Half, seed)));
            recipes.push(recipe(DECIMAL, Noise, Nulls::Mostly, 2));
            recipes.push(recipe(ColumnType::Date, Small, Nulls::All, 0));
            recipes
        }
        "text" => shapes
            .iter()
            .flat_map(|&shape| {
                [
                    recipe(ColumnType::Text, shape, Nulls::None, 7),
                    recipe(ColumnType::Bytes, shape, Nulls::Half, 8),
                    recipe(ColumnType::Text, shape, Nulls::Mostly, 9),
                ]
            })
            .collect(),
        // Seeds 0, 1 and 2 make other kinds of floats.
        "floats" => [ColumnType::Float32, ColumnType::Float64]
            .into_iter()
            .flat_map(|t| [0, 1, 2].map(|seed| (t, seed)))
            .flat_map(|(t, seed)| {
                [
                    recipe(t, Ascending, Nulls::None, seed),
                    recipe(t, Outliers, Nulls::Rare, seed),
                ]
            })
            .collect(),
        // Seeds 0 and 1 of 5 make sorted text, the latter with long prefixes.
        "prefixes" => vec![
            recipe(ColumnType::Text, Ascending, Nulls::None, 0),
            recipe(ColumnType::Bytes, Ascending, Nulls::Half, 26),
        ],
        "large" => vec![recipe(ColumnType::Text, Noise, Nulls::None, 3); 6],
        "grammar" => vec![
            recipe(ColumnType::Text, Noise, Nulls::None, 4),
            recipe(ColumnType::Bytes, Noise, Nulls::Half, 5),
        ],
        // Seeds that end with 2 make digits to a base of 2 and more: 8, 5, 4, 3, 2 and 2 to a byte.
        "alphabet" => [2, 12, 22, 42, 52, 142]
            .into_iter()
            .flat_map(|seed| {
                [
                    recipe(ColumnType::Text, Noise, Nulls::None, seed),
                    recipe(ColumnType::Bytes, Noise, Nulls::Half, seed),
                ]
            })
            .collect(),
        // Seeds that end with 6 make documents.
        "bundles" => vec![
            recipe(ColumnType::Text, Noise, Nulls::Half, 6),
            recipe(ColumnType::Bytes, Noise, Nulls::Mostly, 16),
        ],
        _ => unreachable!("there are eight golden files"),
    }
}

fn arrays(recipes: &[Recipe]) -> (Vec<ColumnType>, Vec<ArrayRef>) {
    let types = recipes.iter().map(|r| r.column_type).collect();
    (types, recipes.iter().map(|r| r.array(ROWS)).collect())
}

#[test]
fn golden_pages_are_readable() {
    for (name, bytes) in GOLDEN {
        let (types, columns) = arrays(&recipes(name));
        let page = Page::open(bytes.into(), &Arc::from(&types[..]), GOLDEN_IDENTITY).expect(name);
        for (column, expected) in columns.iter().enumerate() {
            let decoded = page.decode(column).expect(name);
            assert_same(&decoded, expected);
        }
    }
}

/// A codec that no golden file has could change unnoticed.
#[test]
fn golden_pages_have_every_codec_and_null_form() {
    let (mut codecs, mut null_forms) = (BTreeSet::new(), BTreeSet::new());
    for (name, bytes) in GOLDEN {
        let columns = recipes(name).len();
        let header = Header::open(bytes, columns, GOLDEN_IDENTITY).expect(name);
        for column in 0..columns {
            let encoding = header.encoding(bytes, column);
            codecs.insert(encoding.codec);
            null_forms.insert(encoding.null_form as u8);
        }
    }
    let expected = [
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 20, 21, 22, 23,
    ];
    assert_eq!(codecs, BTreeSet::from(expected));
    assert_eq!(null_forms, BTreeSet::from([0, 1, 2, 3]));
}

#[test]
#[ignore = "writes golden files that are new, which are there but empty"]
fn write_golden_pages() {
    for (name, _) in GOLDEN.into_iter().filter(|(_, bytes)| bytes.is_empty()) {
        let (types, columns) = arrays(&recipes(name));
        let (mut encoder, mut bytes) = (PageEncoder::new(&types, 1 << 20), Vec::new());
        // A grammar is only learned after some pages.
        for _ in 0..if name == "grammar" { 64 } else { 1 } {
            bytes.clear();
            let rows = encoder.encode(&columns, 0, GOLDEN_IDENTITY, &mut bytes);
            assert_eq!(rows, ROWS);
        }
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/golden");
        std::fs::write(format!("{folder}/v1-{name}.page"), bytes).expect("the folder is there");
    }
}

/// The page of the worked example in `docs/format/page.md`.
fn example() -> Vec<u8> {
    let types = [
        ColumnType::Int64,
        ColumnType::Int32,
        ColumnType::Text,
        ColumnType::UInt64,
    ];
    let columns: [ArrayRef; 4] = [
        Arc::new(Int64Array::from(vec![10, 11, 12, 1 << 60])),
        Arc::new(Int32Array::from(vec![Some(5), None, Some(7), Some(6)])),
        Arc::new(StringArray::from(vec!["paid", "late", "paid", "paid"])),
        Arc::new(UInt64Array::from(vec![300; 4])),
    ];
    let mut bytes = Vec::new();
    let identity = PageIdentity { file: 1, offset: 0 };
    PageEncoder::new(&types, 4096).encode(&columns, 0, identity, &mut bytes);
    bytes
}

/// The document's example is what the code writes, so the one cannot change without the other.
#[test]
fn the_document_shows_these_bytes() {
    let document = include_str!("../../../../docs/format/page.md");
    let example_text = document
        .split("## Worked example")
        .nth(1)
        .expect("there is an example");
    let shown: Vec<u8> = example_text
        .lines()
        .filter_map(|line| line.strip_prefix("    "))
        .flat_map(|line| line.split("  ").next().unwrap_or_default().split(' '))
        .map(|byte| u8::from_str_radix(byte, 16).expect("two hexadecimal digits"))
        .collect();
    assert_eq!(shown, example(), "{:02x?}", example());
}
