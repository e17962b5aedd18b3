//! The page index of a segment file: a few bytes a page.
//!
//! ```text
//! form of the keys (u8), then for each page:
//! length · rows · checksum (u32) · flags (u8) · position min · position span
//! first key · last key
//! ```
//!
//! Numbers are LEB128 but for the checksum. Keys ascend, so each is stored as what it has more
//! than the key before it in the index: numbers as the difference, bytes as the length of the
//! prefix that both share, the length of the rest, and the rest. A page's offset is not stored:
//! pages lie back to back.

use types::CommitPosition;
use types::key::SortKey;

use super::PageEntry;
use super::format::aligned;
use crate::byte_fields::{
    FieldReader, KEY_BYTES, KEY_U64, KEY_U128, Malformed, put_leb, put_u8, put_u32,
};

const FLAG_ALL_PUTS: u8 = 1;
const FLAG_UNIQUE_KEYS: u8 = 2;
const FLAGS_KNOWN: u8 = FLAG_ALL_PUTS | FLAG_UNIQUE_KEYS;

/// Length, rows, checksum, flags, two positions, two keys of at least a byte.
const ENTRY_BYTES_MIN: usize = 1 + 1 + 4 + 1 + 1 + 1 + 1 + 1;

/// Bytes of all keys that an index may unfold to, for each of its own: small damage must not
/// claim large memory.
const KEY_EXPANSION_MAX: usize = 64;

/// The bytes of an index.
pub(super) fn encode(entries: &[PageEntry]) -> Vec<u8> {
    let mut out = Vec::new();
    let Some(first) = entries.first() else {
        return out;
    };
    let mut before = KeyBefore::of_form(form(&first.first_key)).expect("the form of a key");
    put_u8(&mut out, form(&first.first_key));
    for entry in entries {
        put_leb(&mut out, u128::from(entry.length));
        put_leb(&mut out, u128::from(entry.rows));
        put_u32(&mut out, entry.checksum);
        put_u8(&mut out, flags(entry));
        let span = entry.position_max.0 - entry.position_min.0;
        put_leb(&mut out, u128::from(entry.position_min.0));
        put_leb(&mut out, u128::from(span));
        before.encode(&entry.first_key, &mut out);
        before.encode(&entry.last_key, &mut out);
    }
    out
}

fn form(key: &SortKey) -> u8 {
    match key {
        SortKey::U64(_) => KEY_U64,
        SortKey::U128(_) => KEY_U128,
        SortKey::Bytes(_) => KEY_BYTES,
    }
}

fn flags(entry: &PageEntry) -> u8 {
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    flag(entry.all_puts, FLAG_ALL_PUTS) | flag(entry.unique_keys, FLAG_UNIQUE_KEYS)
}

/// The key that was stored or read last.
enum KeyBefore {
    U64(u64),
    U128(u128),
    Bytes(Vec<u8>),
}

impl KeyBefore {
    /// What comes before the first key: zero, or no bytes.
    fn of_form(form: u8) -> Result<Self, Malformed> {
        match form {
            KEY_U64 => Ok(Self::U64(0)),
            KEY_U128 => Ok(Self::U128(0)),
            KEY_BYTES => Ok(Self::Bytes(Vec::new())),
            _ => Err(Malformed("unknown key form")),
        }
    }

    fn encode(&mut self, key: &SortKey, out: &mut Vec<u8>) {
        match (self, key) {
            (Self::U64(before), SortKey::U64(key)) => {
                put_leb(out, u128::from(key - *before));
                *before = *key;
            }
            (Self::U128(before), SortKey::U128(key)) => {
                put_leb(out, key - *before);
                *before = *key;
            }
            (Self::Bytes(before), SortKey::Bytes(key)) => {
                let equal = before.iter().zip(key).take_while(|(a, b)| a == b);
                let shared = equal.count();
                put_leb(out, shared as u128);
                put_leb(out, (key.len() - shared) as u128);
                out.extend_from_slice(&key[shared..]);
                before.clone_from(key);
            }
            _ => panic!("keys of one table have one form"),
        }
    }

    /// Reads the next key. `left` is what keys may still take in memory.
    fn decode(
        &mut self,
        fields: &mut FieldReader<'_>,
        left: &mut usize,
    ) -> Result<SortKey, Malformed> {
        match self {
            Self::U64(before) => {
                *before = before
                    .checked_add(fields.leb_u64()?)
                    .ok_or(KEY_OUT_OF_RANGE)?;
                Ok(SortKey::U64(*before))
            }
            Self::U128(before) => {
                *before = before.checked_add(fields.leb()?).ok_or(KEY_OUT_OF_RANGE)?;
                Ok(SortKey::U128(*before))
            }
            Self::Bytes(before) => {
                let shared = fields.leb_u64()? as usize;
                if shared > before.len() {
                    return Err(Malformed("a key shares more than the key before it has"));
                }
                before.truncate(shared);
                before.extend_from_slice(fields.leb_bytes()?);
                *left = left
                    .checked_sub(before.len())
                    .ok_or(Malformed("keys unfold to more than the index allows"))?;
                Ok(SortKey::Bytes(before.clone()))
            }
        }
    }
}

const KEY_OUT_OF_RANGE: Malformed = Malformed("a key exceeds its form");

/// Reads an index and leaves what comes behind it. Its bytes have passed their checksum;
/// `pages_end` is where in the file the pages end.
pub(super) fn decode(
    fields: &mut FieldReader<'_>,
    pages: u32,
    pages_end: u64,
) -> Result<Vec<PageEntry>, Malformed> {
    let pages = pages as usize;
    let bytes = fields.left();
    if pages > bytes / ENTRY_BYTES_MIN {
        return Err(Malformed(
            "the footer announces more pages than the index can hold",
        ));
    }
    let mut entries: Vec<PageEntry> = Vec::with_capacity(pages);
    let mut before = match pages {
        0 => KeyBefore::U64(0),
        _ => KeyBefore::of_form(fields.u8()?)?,
    };
    let mut offset = 0;
    let mut left = bytes * KEY_EXPANSION_MAX;
    for _ in 0..pages {
        let entry = decode_entry(fields, &mut before, &mut left, offset)?;
        offset += aligned(entry.length as usize) as u64;
        check_order(entries.last(), &entry)?;
        entries.push(entry);
    }
    if offset != pages_end {
        return Err(Malformed("the pages do not end where the filter starts"));
    }
    Ok(entries)
}

fn decode_entry(
    fields: &mut FieldReader<'_>,
    before: &mut KeyBefore,
    left: &mut usize,
    offset: u64,
) -> Result<PageEntry, Malformed> {
    let length = fields.leb_u32()?;
    let rows = fields.leb_u32()?;
    let checksum = fields.u32()?;
    let flags = fields.u8()?;
    if flags & !FLAGS_KNOWN != 0 {
        return Err(Malformed("unknown page flags"));
    }
    let position_min = fields.leb_u64()?;
    let position_max = position_min.checked_add(fields.leb_u64()?);
    Ok(PageEntry {
        offset,
        length,
        rows,
        checksum,
        position_min: CommitPosition(position_min),
        position_max: CommitPosition(position_max.ok_or(Malformed("a position exceeds 64 bits"))?),
        first_key: before.decode(fields, left)?,
        last_key: before.decode(fields, left)?,
        all_puts: flags & FLAG_ALL_PUTS != 0,
        unique_keys: flags & FLAG_UNIQUE_KEYS != 0,
    })
}

fn check_order(before: Option<&PageEntry>, entry: &PageEntry) -> Result<(), Malformed> {
    if entry.first_key > entry.last_key || entry.rows == 0 || entry.length == 0 {
        return Err(Malformed("a page's index entry contradicts itself"));
    }
    if before.is_some_and(|before| before.last_key > entry.first_key) {
        return Err(Malformed("the pages are not in key order"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(keys: &[SortKey]) -> Vec<PageEntry> {
        let mut offset = 0;
        let pairs = keys.as_chunks::<2>().0.iter().zip(1_u32..);
        let entry = |([first, last], number): (&[SortKey; 2], u32)| {
            let length = number * 1_000;
            let entry = PageEntry {
                offset,
                length,
                rows: number,
                checksum: !number,
                first_key: first.clone(),
                last_key: last.clone(),
                position_min: CommitPosition(u64::from(number) << 30),
                position_max: CommitPosition(u64::MAX - u64::from(number)),
                all_puts: number.is_multiple_of(2),
                unique_keys: number.is_multiple_of(3),
            };
            offset += aligned(length as usize) as u64;
            entry
        };
        pairs.map(entry).collect()
    }

    fn check(keys: &[SortKey]) -> usize {
        let entries = entries(keys);
        let end = entries.last().map_or(0, |entry| entry.offset)
            + entries
                .last()
                .map_or(0, |entry| aligned(entry.length as usize)) as u64;
        let bytes = encode(&entries);
        let mut fields = FieldReader::new(&bytes);
        assert_eq!(decode(&mut fields, entries.len() as u32, end), Ok(entries));
        assert_eq!(fields.left(), 0);
        bytes.len()
    }

    #[test]
    fn keys_of_every_form_come_back() {
        check(&[]);
        check(&[0, 0, 5, u64::MAX].map(SortKey::U64));
        check(&[0, 7, 1 << 100, u128::MAX].map(SortKey::U128));
        let text = ["", "a", "a", "ab", "abc", "b", "b\0", "b\0c"];
        check(&text.map(|key| SortKey::Bytes(key.into())));
    }

    #[test]
    fn keys_cost_what_they_differ_in() {
        let keys: Vec<SortKey> = (0..100)
            .map(|number| SortKey::Bytes(format!("a long beginning {number:03}").into()))
            .collect();
        assert!(check(&keys) < 50 * (ENTRY_BYTES_MIN + 24));
    }

    #[test]
    fn keys_do_not_unfold_without_end() {
        let long = |last: u8| SortKey::Bytes([vec![b'x'; 10_000], vec![last]].concat());
        let keys: Vec<SortKey> = (0..200).map(long).collect();
        let entries = entries(&keys);
        let bytes = encode(&entries);
        assert!(bytes.len() < 20_000);
        let mut fields = FieldReader::new(&bytes);
        let error = decode(&mut fields, entries.len() as u32, 0).expect_err("2 MB of keys");
        assert_eq!(
            error,
            Malformed("keys unfold to more than the index allows")
        );
    }
}
