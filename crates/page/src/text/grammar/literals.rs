//! Cells without rules: a token a byte, for noise of few different bytes. Letters and digits, as
//! keys and tokens are made of, take six bits each.

use super::super::TextRows;
use super::Draft;
use super::rules::LITERALS;

/// Numbers the bytes that occur, in their order.
pub(super) fn draft(rows: TextRows<'_>) -> Draft {
    let text = rows.contents();
    let mut occurs = [false; LITERALS];
    for &byte in text {
        occurs[usize::from(byte)] = true;
    }
    let literals: Vec<u8> = (0..=u8::MAX)
        .filter(|&byte| occurs[usize::from(byte)])
        .collect();
    let mut numbers = [0_u64; LITERALS];
    for (number, &byte) in (0..).zip(&literals) {
        numbers[usize::from(byte)] = number;
    }
    let begin = rows.offsets[0];
    let ends = rows.offsets[1..].iter().map(|end| (end - begin) as u64);
    Draft {
        literals,
        rules: Vec::new(),
        decoded_bytes: text.len(),
        tokens: text
            .iter()
            .map(|&byte| numbers[usize::from(byte)])
            .collect(),
        ends: ends.collect(),
    }
}
