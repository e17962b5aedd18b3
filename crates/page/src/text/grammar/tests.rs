//! Grammars of any cells round trip; those that no writer makes are refused.

use proptest::prelude::*;

use super::super::written::{Written, any_damage, with_rows};
use super::super::{TextCells, TextCodec};
use super::{Draft, Memory};
use crate::cursor::put_unsigned;
use crate::words;

/// What a draft becomes.
fn write(draft: &Draft) -> Written {
    Written::by(TextCodec::Grammar, draft.ends.len(), |sink| {
        draft.encode(sink);
    })
}

fn encode(memory: &mut Memory, cells: &[Vec<u8>]) -> Draft {
    with_rows(cells, |rows| memory.encode(rows, rows.bytes.len()))
}

fn check(cells: &[Vec<u8>]) {
    let draft = encode(&mut Memory::default(), cells);
    let written = write(&draft);
    assert!(draft.bytes() <= written.segment.len() + written.section.len());
    assert_eq!(written.cells().expect("intact"), cells);
}

fn words(count: usize) -> Vec<Vec<u8>> {
    let words = [
        "furiously ",
        "final ",
        "deposits ",
        "the ",
        "sleep",
        "quickly",
    ];
    let cell = |row: usize| -> String {
        let word = |place: usize| words[(row * row + place * (row + 5)) % 31 % words.len()];
        (0..row % 9).map(word).collect()
    };
    (0..count).map(|row| cell(row).into_bytes()).collect()
}

#[test]
fn cells_of_words_round_trip() {
    for count in [1, 2, 63, 64, 65, 700, 5000] {
        check(&words(count));
    }
}

#[test]
fn odd_cells_round_trip() {
    check(&[b"x".to_vec()]);
    check(&[vec![], b"x".to_vec(), vec![]]);
    check(&[(0..=u8::MAX).collect::<Vec<u8>>()]);
    check(&vec![(0..=u8::MAX).collect::<Vec<u8>>(); 10]);
    check(&[words(3000).concat()]);
    check(&[words(3000).concat(), vec![], b"short".to_vec()]);
    check(&[b"one two one two one two one two".to_vec()]);
}

#[test]
fn every_width_of_tokens_round_trips() {
    for alphabet in [1, 2, 3, 5, 17, 40, 100, 256] {
        let byte = |place: usize| (place * place / 7 * 31 % alphabet) as u8;
        let cell = |row: usize| (row * 20..row * 21).map(byte).collect();
        check(&(0..120).map(cell).collect::<Vec<Vec<u8>>>());
    }
}

/// What was learned on one page serves the next, whatever that holds.
#[test]
fn rules_are_kept() {
    let mut memory = Memory::default();
    let first = encode(&mut memory, &words(900));
    let next = words(1800)[900..].to_vec();
    let kept = encode(&mut memory, &next);
    assert!(kept.bytes() < first.bytes() * 5 / 4);
    assert_eq!(write(&kept).cells().expect("intact"), next);

    let other = vec![(0..=u8::MAX).rev().collect::<Vec<u8>>(); 3];
    let draft = encode(&mut memory, &other);
    assert!(draft.rules.is_empty());
    assert_eq!(write(&draft).cells().expect("intact"), other);
}

/// Cells of 24 letters and digits, drawn anew for each seed.
fn noise(seed: u64, count: usize) -> Vec<Vec<u8>> {
    let mut state = seed * 2 + 1;
    let mut byte = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
            [(state >> 33) as usize % 62]
    };
    (0..count)
        .map(|_| (0..24).map(|_| byte()).collect())
        .collect()
}

/// A page's draft where nothing else makes text smaller than it is.
fn draft(memory: &mut Memory, cells: &[Vec<u8>]) -> Option<Draft> {
    with_rows(cells, |rows| {
        let text_bytes = rows.bytes.len();
        memory.draft(rows, text_bytes, text_bytes)
    })
}

/// Rules that noise gave up are learned once the column has had other text for long enough; until then
/// each byte is a token.
#[test]
fn noise_leaves_rules_out_for_a_while() {
    let mut memory = Memory::default();
    let (mut pages, mut with_rules) = (0, 0);
    for seed in 0..40 {
        let cells = noise(seed, 1500);
        if let Some(draft) = draft(&mut memory, &cells) {
            pages += 1;
            with_rules += usize::from(!draft.rules.is_empty());
            assert_eq!(write(&draft).cells().expect("intact"), cells);
        }
    }
    assert!(pages > 30, "{pages}");
    assert_eq!(with_rules, 0, "noise is told before rules are learned");

    // The next encoder of the column knows.
    let mut next = Memory::resting(memory.rests());
    assert!(draft(&mut next, &noise(40, 1500)).is_some());

    let cells = words(1500);
    let mut left_out = 0;
    loop {
        let draft = draft(&mut next, &cells).expect("words pay without rules, too");
        assert_eq!(write(&draft).cells().expect("intact"), cells);
        if !draft.rules.is_empty() {
            break;
        }
        left_out += 1;
        assert!(left_out < 100);
    }
    assert!(left_out > 1);
}

#[test]
fn words_take_a_fraction() {
    let cells = words(3000);
    let draft = encode(&mut Memory::default(), &cells);
    assert!(draft.bytes() * 4 < cells.concat().len());
}

/// One cell of the tokens 0, 1 and 2 with the alphabet `a`, `b` and these rules.
fn small(rules: &[[u64; 2]], decoded_bytes: usize) -> Written {
    write(&Draft {
        literals: b"ab".to_vec(),
        rules: rules.to_vec(),
        decoded_bytes,
        tokens: vec![0, 1, 2],
        ends: vec![3],
    })
}

fn assert_refused(written: &Written) {
    let grammar = written.open().expect("the frame is right");
    assert!(grammar.decode(TextCells::default()).is_err());
    assert!(grammar.gather(&[0]).is_err());
    assert!(grammar.cell(0, &mut Vec::new()).is_err());
}

#[test]
fn a_rule_has_earlier_parts() {
    let cells = small(&[[0, 1], [2, 2]], 4).cells();
    assert_eq!(cells.expect("intact"), [b"abab"]);
    assert_refused(&small(&[[0, 2], [0, 0]], 4));
    assert_refused(&small(&[[3, 0], [0, 0]], 4));
}

#[test]
fn a_token_is_a_literal_or_a_rule() {
    let mut written = small(&[[0, 1]], 4);
    assert_eq!(written.cells().expect("intact"), [b"abab"]);
    *written.segment.last_mut().expect("there are tokens") |= 0b11_0000;
    assert_refused(&written);
}

#[test]
fn a_piece_has_at_most_fifteen_bytes() {
    let mut rules = vec![[0, 1], [2, 2], [3, 3], [4, 4]];
    let mut draft = Draft {
        literals: b"ab".to_vec(),
        decoded_bytes: 16,
        tokens: vec![5],
        ends: vec![1],
        rules: rules.clone(),
    };
    assert_refused(&write(&draft));
    rules[3] = [4, 3];
    draft.rules = rules;
    draft.decoded_bytes = 12;
    let cells = write(&draft).cells();
    assert_eq!(cells.expect("intact"), [b"abababababab"]);
}

#[test]
fn cells_have_the_length_that_is_announced() {
    assert!(
        small(&[[0, 1]], 5)
            .open()
            .expect("a frame")
            .decode(TextCells::default())
            .is_err()
    );
    assert_refused(&small(&[[0, 1]], 3));
}

/// Tokens of no bits cannot claim text without end.
#[test]
fn text_without_tokens_is_bounded() {
    let written = Written::by(TextCodec::Grammar, 1, |sink| {
        sink.segment.extend_from_slice(&[1, b'x', 0]);
        put_unsigned(sink.segment, 1 << 30);
        put_unsigned(sink.segment, 1 << 30);
        words::encode_stream(&[1 << 30], sink);
    });
    assert!(written.open().is_err());
}

fn any_cells() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let byte = prop_oneof![4 => b'a'..=b'd', 1 => any::<u8>()];
    let cell = prop_oneof![
        8 => proptest::collection::vec(byte, 0..40),
        1 => Just(b"a piece that recurs".to_vec()),
        1 => proptest::collection::vec(b'x'..=b'x', 0..200),
    ];
    proptest::collection::vec(cell, 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_cells_round_trip(cells in any_cells()) {
        let draft = encode(&mut Memory::default(), &cells);
        let written = write(&draft);
        match written.open() {
            Ok(_) => prop_assert_eq!(written.cells().expect("intact"), cells),
            // Text that unfolds further than readers accept is given to another codec.
            Err(_) => prop_assert!(cells.concat().len() > written.segment.len() * 16),
        }
    }

    #[test]
    fn damage_never_panics(
        cells in any_cells(),
        damage in any_damage(),
    ) {
        let mut written = write(&encode(&mut Memory::default(), &cells));
        written.damage(&damage);
        written.read_all();
    }

    #[test]
    fn noise_never_panics(
        segment in proptest::collection::vec(any::<u8>(), 0..300),
        rows in 1_usize..300,
    ) {
        let written = Written::by(TextCodec::Grammar, rows, |sink| *sink.segment = segment);
        written.read_all();
    }
}
