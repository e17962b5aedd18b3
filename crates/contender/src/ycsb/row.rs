//! The rows: each text tells which row, column and version it is of, and the rest follows from that.

use anyhow::{Result, ensure};

/// Texts of a row, and bytes of each.
pub const TEXTS: usize = 10;
/// Bytes of a text.
pub const TEXT_BYTES: usize = 100;

/// Bytes of a row's texts.
pub const ROW_BYTES: usize = TEXTS * TEXT_BYTES;

/// Bytes of a row with its key: what "data" means where it is held against memory.
pub const DATA_BYTES: usize = 8 + ROW_BYTES;

/// Bytes at the beginning of a text that tell the row, the column and the version, as digits.
const HEAD_BYTES: usize = 20;

const DIGITS: [u8; 64] = *b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-";

/// The version of all texts when they are loaded.
pub const LOADED: u32 = 0;

/// Writes the text of a row's column in a version: characters that no codec makes much smaller.
pub fn write_text(key: u64, column: usize, version: u32, text: &mut [u8; TEXT_BYTES]) {
    let mut state = key
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .wrapping_add(((column as u64) << 32) | u64::from(version))
        | 1;
    for digits in text.chunks_mut(10) {
        // xorshift64.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        write_digits(state, digits);
    }
    write_digits(key, &mut text[..11]);
    write_digits(column as u64, &mut text[11..13]);
    write_digits(u64::from(version), &mut text[13..HEAD_BYTES]);
}

/// The lowest six bits first.
fn write_digits(mut number: u64, digits: &mut [u8]) {
    for digit in digits {
        *digit = DIGITS[(number & 63) as usize];
        number >>= 6;
    }
}

/// Writes the texts of a row as it is loaded.
pub fn write_row(key: u64, texts: &mut [u8; ROW_BYTES]) {
    let (texts, _) = texts.as_chunks_mut();
    for (column, text) in texts.iter_mut().enumerate() {
        write_text(key, column, LOADED, text);
    }
}

/// Whether these are texts of the row: a look at the head of each.
pub fn check_heads<'a>(key: u64, texts: impl Iterator<Item = &'a [u8]>) -> Result<()> {
    let mut head = [0; 13];
    write_digits(key, &mut head[..11]);
    let mut columns = 0;
    for (column, text) in texts.enumerate() {
        write_digits(column as u64, &mut head[11..]);
        let is_it = text.len() == TEXT_BYTES && text.starts_with(&head);
        ensure!(
            is_it,
            "row {key}, column {column}: {:?}",
            text.escape_ascii().to_string()
        );
        columns += 1;
    }
    ensure!(columns == TEXTS, "row {key} has {columns} texts");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_tells_its_row_column_and_version() {
        let mut row = [0; ROW_BYTES];
        write_row(7, &mut row);
        let texts = || row.chunks(TEXT_BYTES);
        check_heads(7, texts()).unwrap();
        assert!(check_heads(8, texts()).is_err());
        assert!(check_heads(7, texts().skip(1)).is_err());
        assert!(check_heads(7, texts().take(9)).is_err());
        let mut text = [0; TEXT_BYTES];
        write_text(7, 3, LOADED, &mut text);
        assert_eq!(texts().nth(3), Some(&text[..]));
        write_text(7, 3, 1, &mut text);
        assert_ne!(row[300..400], text);
        assert!(text.is_ascii());
    }
}
