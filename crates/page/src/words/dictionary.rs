//! Each distinct word once, ascending, and a code for each row: for words that are few but far
//! apart, such as the positions of a few transactions, or floats.
//!
//! ```text
//! entries (LEB128) · stream of entries words · stream of rows codes
//! ```
//!
//! Entries are a frame without exceptions, so that looking up one of them is a single step.

use std::array::from_fn;

use arrow_buffer::BooleanBuffer;

use crate::bit_packing::{bits, packed_bytes};
use crate::cell::Cell;
use crate::cursor::{Cursor, put_unsigned};
use crate::error::PageError;
use crate::limits::ROWS_MAX;

use super::group::largest;
use super::{Profile, Sink, Stream, all_or_none, encode_stream_as};

/// Distinct words that are fine whatever the number of rows.
const ENTRIES_MIN: usize = 64;

/// One distinct word in so many rows is the most that pays: an entry costs some bytes, and what
/// it saves is a part of a word for each row.
const ROWS_PER_ENTRY: usize = 4;

/// Words that are looked at before all are.
const SAMPLE: usize = 64;

/// Rows of which all words take as long to look up as a byte counts.
const ROWS_PER_BYTE: usize = 8;

/// The dictionary of a column's words.
#[derive(Debug)]
struct Draft {
    /// Ascending as signed integers.
    entries: Vec<u64>,
    entry_profile: Profile,
    codes: Vec<u64>,
    code_profile: Profile,
    cost: usize,
}

impl Draft {
    /// The dictionary, if it costs less than `cost_max`.
    fn of(words: &[u64], cost_max: usize) -> Option<Self> {
        if cost_max <= cost_min(words) {
            return None;
        }
        let (mut entries, mut codes) = number(words)?;
        sort(&mut entries, &mut codes);
        let code_profile = Profile::of(&codes);
        let entry_profile = Profile::flat(&entries);
        let cost = |profile: &Profile| profile.cheapest(size_of::<u64>()).cost;
        let cost = cost(&entry_profile) + cost(&code_profile) + words.len() / ROWS_PER_BYTE;
        (cost < cost_max).then_some(Self {
            entries,
            entry_profile,
            codes,
            code_profile,
            cost,
        })
    }

    fn encode(&self, sink: &mut Sink<'_>) {
        put_unsigned(sink.segment, self.entries.len() as u64);
        encode_stream_as(&self.entries, &self.entry_profile, sink);
        encode_stream_as(&self.codes, &self.code_profile, sink);
    }
}

/// Encodes the words with a dictionary and returns what it costs, if that is less than
/// `cost_max`.
pub(super) fn encode(words: &[u64], cost_max: usize, sink: &mut Sink<'_>) -> Option<usize> {
    let draft = Draft::of(words, cost_max)?;
    draft.encode(sink);
    Some(draft.cost)
}

/// What a dictionary costs at least, as far as a sample tells: as much as can be where hardly a
/// word repeats. (Codes that come in runs may cost less; then words do, and cost little anyway.)
fn cost_min(words: &[u64]) -> usize {
    let mut sample: [u64; SAMPLE] = from_fn(|index| words[index * words.len() / SAMPLE]);
    sample.sort_unstable();
    let distinct = 1 + sample.windows(2).filter(|pair| pair[0] != pair[1]).count();
    if words.len() > 2 * SAMPLE && distinct * 8 > SAMPLE * 7 {
        return usize::MAX;
    }
    words.len() / ROWS_PER_BYTE + packed_bytes(words.len(), bits(distinct as u64 - 1))
}

/// Distinct words in the order of first appearance, and the code of each word; `None` as soon
/// as there are too many to be worth it.
fn number(words: &[u64]) -> Option<(Vec<u64>, Vec<u64>)> {
    let mut numbers = Numbers::default();
    let mut codes = Vec::with_capacity(words.len());
    for (row, &word) in words.iter().enumerate() {
        let known = numbers.entries.len();
        codes.push(numbers.number(word));
        if numbers.entries.len() > known && known >= ENTRIES_MIN + row / ROWS_PER_ENTRY {
            return None;
        }
    }
    Some((numbers.entries, codes))
}

/// Numbers words in the order of first appearance: a hash table with its keys in a list beside it,
/// small enough for the nearest cache. That takes a third of the time of a general one, and
/// numbering is most of what it takes to encode a dictionary.
struct Numbers {
    entries: Vec<u64>,
    /// At the place of a word or behind it: its number and one more; 0 where there is none.
    places: Vec<u16>,
    /// From a hash to a place.
    shift: u32,
}

impl Default for Numbers {
    fn default() -> Self {
        Self {
            entries: Vec::with_capacity(Self::PLACES_MIN / 2),
            places: vec![0; Self::PLACES_MIN],
            shift: u64::BITS - Self::PLACES_MIN.trailing_zeros(),
        }
    }
}

impl Numbers {
    const PLACES_MIN: usize = 1024;

    #[inline]
    fn number(&mut self, word: u64) -> u64 {
        let mut place = self.place(word);
        loop {
            let number = self.places[place];
            if number == 0 {
                return self.add(word, place);
            }
            if self.entries[usize::from(number) - 1] == word {
                return u64::from(number) - 1;
            }
            place = (place + 1) % self.places.len();
        }
    }

    /// The first place for a word: the high bits of a product with an odd number without pattern
    /// (2^64 over the golden ratio; Knuth, The Art of Computer Programming, 6.4).
    #[inline]
    fn place(&self, word: u64) -> usize {
        (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    #[cold]
    fn add(&mut self, word: u64, place: usize) -> u64 {
        self.entries.push(word);
        self.places[place] = self.entries.len() as u16;
        if self.entries.len() * 2 > self.places.len() {
            self.grow();
        }
        self.entries.len() as u64 - 1
    }

    fn grow(&mut self) {
        let places = self.places.len() * 2;
        self.shift -= 1;
        self.places.clear();
        self.places.resize(places, 0);
        for (number, &word) in (1..).zip(&self.entries) {
            let mut place = self.place(word);
            while self.places[place] != 0 {
                place = (place + 1) % places;
            }
            self.places[place] = number;
        }
    }
}

const _: () = assert!(ROWS_MAX < u16::MAX as usize); // Numbers fit a place.

fn sort(entries: &mut [u64], codes: &mut [u64]) {
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_unstable_by_key(|&number| entries[number] as i64);
    let mut ranks = vec![0; entries.len()];
    for (rank, &number) in order.iter().enumerate() {
        ranks[number] = rank as u64;
    }
    for code in codes {
        *code = ranks[*code as usize];
    }
    entries.sort_unstable_by_key(|&word| word as i64);
}

/// A parsed segment.
#[derive(Debug)]
pub(crate) struct Dictionary<'a> {
    entry_count: usize,
    rows: usize,
    entries: Stream<'a>,
    codes: Stream<'a>,
    /// The entries once more, where cells are to be looked up and entries are few.
    few: Option<FewEntries>,
}

/// Unpacked entries, as what they are above the lowest: half a kilobyte at most.
#[derive(Debug)]
struct FewEntries {
    base: u64,
    distances: Box<[u32]>,
}

const FEW_ENTRIES: usize = 128;

impl FewEntries {
    /// `None` if they are many or far apart.
    fn of(entries: &Stream<'_>, count: usize) -> Option<Self> {
        if count > FEW_ENTRIES {
            return None;
        }
        let base = (0..count).map(|code| entries.get(code) as i64).min()? as u64;
        let distance = |code| u32::try_from(entries.get(code).wrapping_sub(base)).ok();
        let distances = (0..count).map(distance).collect::<Option<_>>()?;
        Some(Self { base, distances })
    }

    #[inline]
    fn get(&self, code: usize) -> Option<u64> {
        let distance = self.distances.get(code)?;
        Some(self.base.wrapping_add(u64::from(*distance)))
    }
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
            few: None,
        })
    }

    /// Unpacks entries to look up cells.
    pub(super) fn prepare(&mut self) {
        self.few = FewEntries::of(&self.entries, self.entry_count);
    }

    /// Bytes of what is unpacked.
    pub(super) fn memory_bytes(&self) -> usize {
        let few = self.few.as_ref();
        few.map_or(0, |few| size_of_val(&*few.distances))
    }

    /// Appends all cells.
    pub(super) fn decode<T: Cell>(&self, cells: &mut Vec<T>) -> Result<(), PageError> {
        let table = Table::of(&self.entries, self.entry_count)?;
        (self.codes).for_each(self.rows, |codes| table.look_up(codes, cells))
    }

    /// Appends the cells of `slots`.
    pub(super) fn gather<T: Cell>(
        &self,
        slots: &[u32],
        cells: &mut Vec<T>,
    ) -> Result<(), PageError> {
        let mut codes: Vec<Code> = Vec::with_capacity(slots.len());
        self.codes.gather(slots, &mut codes)?;
        Table::of(&self.entries, self.entry_count)?.look_up(&codes, cells)
    }

    /// The word of a slot; `None` if its code has none.
    #[inline]
    pub(super) fn get(&self, slot: usize) -> Option<u64> {
        let code = usize::from(self.codes.get(slot) as Code);
        match &self.few {
            Some(few) => few.get(code),
            None => self.entry(code),
        }
    }

    #[inline(never)]
    fn entry(&self, code: usize) -> Option<u64> {
        (code < self.entry_count).then(|| self.entries.get(code))
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
}

/// Decoded entries.
enum Table<T> {
    /// Of which one byte numbers all: then no access needs to be checked.
    Small {
        entries: [T; 256],
        count: usize,
    },
    Large(Vec<T>),
}

impl<T: Cell> Table<T> {
    fn of(entries: &Stream<'_>, count: usize) -> Result<Self, PageError> {
        let mut decoded: Vec<T> = Vec::with_capacity(count);
        entries.decode(&mut decoded)?;
        let mut entries = [T::default(); 256];
        Ok(match entries.get_mut(..count) {
            None => Self::Large(decoded),
            Some(small) => {
                small.copy_from_slice(&decoded);
                Self::Small { entries, count }
            }
        })
    }

    fn look_up(&self, codes: &[Code], cells: &mut Vec<T>) -> Result<(), PageError> {
        match self {
            Self::Small { entries, count } => {
                if usize::from(largest(codes)) >= *count {
                    return Err(NO_SUCH_CODE);
                }
                // One by one: gathering takes the processor longer.
                cells.extend(codes.iter().map(|&code| entries[usize::from(code as u8)]));
            }
            Self::Large(entries) => {
                for &code in codes {
                    cells.push(*entries.get(usize::from(code)).ok_or(NO_SUCH_CODE)?);
                }
            }
        }
        Ok(())
    }
}

pub(crate) const NO_SUCH_CODE: PageError = PageError::Malformed("a code is not in the dictionary");

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
    if usize::from(largest(&decoded)) >= contained.len() {
        return Err(NO_SUCH_CODE);
    }
    Ok(BooleanBuffer::collect_bool(rows, |row| {
        contained[usize::from(decoded[row])]
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_numbered_as_they_appear() {
        let word = |row: u64| (row * row % 700).wrapping_mul(0x0123_4567_89AB_CDEF);
        let words: Vec<u64> = (0..16_000).map(word).collect();
        let (entries, codes) = number(&words).expect("few enough are distinct");
        assert!(
            codes
                .iter()
                .map(|&code| entries[code as usize])
                .eq(words.iter().copied())
        );
        let first = |code: u64| codes.iter().position(|&other| other == code);
        assert!((0..entries.len() as u64).map(first).is_sorted());
        let distinct: std::collections::BTreeSet<u64> = words.into_iter().collect();
        assert_eq!(entries.len(), distinct.len());
    }

    #[test]
    fn too_many_are_given_up() {
        let words: Vec<u64> = (0..1000).collect();
        assert!(number(&words).is_none());
        assert!(number(&words[..ENTRIES_MIN]).is_some());
    }
}
