//! Each distinct word once, ascending, and a code for each row: for words that are few but far
//! apart, such as the positions of a few transactions, or floats.
//!
//! ```text
//! entries (LEB128) · stream of entries words · stream of rows codes
//! ```
//!
//! Streams never use this codec themselves, so nothing nests deeper than this.

use arrow_buffer::BooleanBuffer;
use hashbrown::HashMap;

use crate::cell::Cell;
use crate::cursor::{Cursor, put_unsigned};
use crate::error::PageError;

use super::{Profile, Sink, Stream, all_or_none, encode_stream_as};

/// Distinct words that are fine whatever the number of rows.
const ENTRIES_MIN: usize = 64;

/// One distinct word in so many rows is the most that pays: an entry costs some bytes, and what
/// it saves is a part of a word for each row.
const ROWS_PER_ENTRY: usize = 4;

/// The dictionary of a column's words.
#[derive(Debug)]
pub(super) struct Draft {
    /// Ascending as signed integers.
    entries: Vec<u64>,
    entry_profile: Profile,
    codes: Vec<u64>,
    code_profile: Profile,
}

impl Draft {
    /// The dictionary, if it takes fewer than `bytes_max` bytes.
    pub(super) fn of(words: &[u64], bytes_max: usize) -> Option<Self> {
        let (mut entries, mut codes) = number(words)?;
        sort(&mut entries, &mut codes);
        let entry_profile = Profile::of(&entries);
        let code_profile = Profile::of(&codes);
        let bytes = |profile: &Profile| profile.cheapest(size_of::<u64>()).bytes;
        (bytes(&entry_profile) + bytes(&code_profile) < bytes_max).then_some(Self {
            entries,
            entry_profile,
            codes,
            code_profile,
        })
    }

    pub(super) fn encode(&self, sink: &mut Sink<'_>) {
        put_unsigned(sink.segment, self.entries.len() as u64);
        encode_stream_as(&self.entries, &self.entry_profile, sink);
        encode_stream_as(&self.codes, &self.code_profile, sink);
    }
}

/// Distinct words in the order of first appearance, and the code of each word; `None` as soon
/// as there are too many to be worth it.
fn number(words: &[u64]) -> Option<(Vec<u64>, Vec<u64>)> {
    let mut numbers: HashMap<u64, u64> = HashMap::with_capacity(ENTRIES_MIN);
    let (mut entries, mut codes) = (Vec::new(), Vec::with_capacity(words.len()));
    for (row, &word) in words.iter().enumerate() {
        let next = entries.len() as u64;
        let code = *numbers.entry(word).or_insert(next);
        if code == next {
            entries.push(word);
            if entries.len() > ENTRIES_MIN + row / ROWS_PER_ENTRY {
                return None;
            }
        }
        codes.push(code);
    }
    Some((entries, codes))
}

fn sort(entries: &mut [u64], codes: &mut [u64]) {
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_unstable_by_key(|&number| entries[number] as i64);
    let mut ranks = vec![0; entries.len()];
    for (rank, &number) in order.iter().enumerate() {
        ranks[number] = rank as u64;
    }
    codes
        .iter_mut()
        .for_each(|code| *code = ranks[*code as usize]);
    entries.sort_unstable_by_key(|&word| word as i64);
}

/// A parsed segment.
#[derive(Debug)]
pub(crate) struct Dictionary<'a> {
    entry_count: usize,
    rows: usize,
    entries: Stream<'a>,
    codes: Stream<'a>,
}

/// A code as it is decoded. A page has fewer entries than rows, and those fit 16 bits.
type Code = u16;

impl<'a> Dictionary<'a> {
    pub(super) fn open(
        cursor: &mut Cursor<'a>,
        rows: usize,
        section: &'a [u8],
    ) -> Result<Self, PageError> {
        let entry_count = cursor.count(rows)?;
        if entry_count == 0 {
            return Err(PageError::Malformed("a dictionary is empty"));
        }
        let entries = Stream::open(cursor, entry_count, section)?;
        let codes = Stream::open(cursor, rows, section)?;
        Ok(Self {
            entry_count,
            rows,
            entries,
            codes,
        })
    }

    /// Appends all cells.
    pub(super) fn decode<T: Cell>(&self, cells: &mut Vec<T>) -> Result<(), PageError> {
        let mut codes: Vec<Code> = Vec::with_capacity(self.rows);
        self.codes.decode(&mut codes)?;
        self.look_up(&codes, cells)
    }

    /// Appends the cells of `slots`.
    pub(super) fn gather<T: Cell>(
        &self,
        slots: &[u32],
        cells: &mut Vec<T>,
    ) -> Result<(), PageError> {
        let mut codes: Vec<Code> = Vec::with_capacity(slots.len());
        self.codes.gather(slots, &mut codes)?;
        self.look_up(&codes, cells)
    }

    /// The word of a slot.
    pub(super) fn get(&self, slot: usize) -> Result<u64, PageError> {
        let code = self.codes.get(slot) as Code;
        if usize::from(code) >= self.entry_count {
            return Err(NO_SUCH_CODE);
        }
        Ok(self.entries.get(usize::from(code)))
    }

    /// Which words `contains` holds for: asked once an entry.
    pub(super) fn select(
        &self,
        contains: impl Fn(u64) -> bool,
    ) -> Result<BooleanBuffer, PageError> {
        let mut entries: Vec<u64> = Vec::with_capacity(self.entry_count);
        self.entries.decode(&mut entries)?;
        let contained: Vec<bool> = entries.into_iter().map(contains).collect();
        select_codes(&self.codes, self.rows, &contained)
    }

    fn look_up<T: Cell>(&self, codes: &[Code], cells: &mut Vec<T>) -> Result<(), PageError> {
        let mut entries: Vec<T> = Vec::with_capacity(self.entry_count);
        self.entries.decode(&mut entries)?;
        let largest = codes.iter().copied().max().unwrap_or(0);
        if usize::from(largest) >= entries.len() {
            return Err(NO_SUCH_CODE);
        }
        match SmallTable::of(&entries) {
            Some(table) => cells.extend(codes.iter().map(|&code| table.at(code))),
            None => cells.extend(codes.iter().map(|&code| entries[usize::from(code)])),
        }
        Ok(())
    }
}

/// Entries, if one byte numbers them all: then no access needs to be checked.
struct SmallTable<T>([T; 256]);

impl<T: Cell> SmallTable<T> {
    fn of(entries: &[T]) -> Option<Self> {
        let mut table = [T::default(); 256];
        table.get_mut(..entries.len())?.copy_from_slice(entries);
        Some(Self(table))
    }

    #[inline]
    fn at(&self, code: Code) -> T {
        self.0[usize::from(code as u8)]
    }
}

const NO_SUCH_CODE: PageError = PageError::Malformed("a code is not in the dictionary");

/// Which rows have a code that is contained. Codes are not decoded where no entry is.
pub(crate) fn select_codes(
    codes: &Stream<'_>,
    rows: usize,
    contained: &[bool],
) -> Result<BooleanBuffer, PageError> {
    if !contained.contains(&true) {
        return Ok(all_or_none(rows, false));
    }
    let mut decoded: Vec<Code> = Vec::with_capacity(rows);
    codes.decode(&mut decoded)?;
    let largest = decoded.iter().copied().max().unwrap_or(0);
    if usize::from(largest) >= contained.len() {
        return Err(NO_SUCH_CODE);
    }
    Ok(BooleanBuffer::collect_bool(rows, |row| {
        contained[usize::from(decoded[row])]
    }))
}
