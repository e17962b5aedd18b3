//! Calls that will be executed soon: what they declare comes into the cache meanwhile.
//!
//! A call on one row of a large table waits for memory three times, one after the other: for the index, the
//! row, and its texts. The calls before it have nothing to do with that, so a partition whose next calls
//! are known goes ahead ([`Partition::expect`]), for each key in three steps some keys apart:
//!
//! 1. The place in the index is asked for.
//! 2. The key is looked up, and the row is asked for.
//! 3. The row's texts are asked for, and where many uses are tracked its neighbours in the chain. By then
//!    the row may have gone, and another be in its place: that costs time, and nothing else.
//!
//! Other keys than those of unique indexes of numbers are left alone, and so are those that were asked for
//! lately: their rows are in the cache still. Asking again costs 700 instructions of a read's 2,200.

use crate::call::Call;
use crate::index::SoughtKey;
use crate::options::Sampling;
use crate::partition::Partition;
use crate::pointer::{Target, TupleId};
use crate::procedure::DeclaredKeys;
use crate::schema::{IndexId, TableNumber};
use crate::table::Table;

/// Keys between two steps: enough for the memory to come, few enough for it to stay.
const STEP: usize = 4;

/// From this share on so many uses are tracked that neighbours in the chain are asked for.
const ALPHA_MIN: f64 = 0.25;

/// Keys that are remembered: of rows of 1 KB, a cache of the second level has about as many.
const LATELY: usize = 1 << LATELY_BITS;
const LATELY_BITS: u32 = 10;

/// Keys that a call declares.
#[derive(Default)]
pub(crate) struct Declared {
    pub(crate) keys: Vec<(IndexId, SoughtKey)>,
    pub(crate) bytes: Vec<u8>,
}

/// See the module.
#[derive(Default)]
pub(crate) struct ExpectedCalls {
    /// Those that have taken the first step.
    keys: [Option<(IndexId, SoughtKey)>; STEP],
    /// Those that have taken the second.
    rows: [Option<(TableNumber, TupleId)>; STEP],
    next: usize,
    lately: AskedLately,
}

/// Keys that were asked for lately, each in the place that its hash names: the last one that has come there.
struct AskedLately([u32; LATELY]);

impl Default for AskedLately {
    fn default() -> Self {
        Self([0; LATELY])
    }
}

impl AskedLately {
    /// Whether a key is not among them. Then it is from now on. Two keys that look alike do no harm.
    #[inline]
    fn is_new(&mut self, index: IndexId, number: u128) -> bool {
        let of_index = (u64::from(index.table.0) << 16) | u64::from(index.index);
        let word = (number as u64) ^ ((number >> 64) as u64) ^ of_index.rotate_right(32);
        let hash = word.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let place = &mut self.0[(hash >> (u64::BITS - LATELY_BITS)) as usize];
        // The bits that follow, and one that no empty place has.
        let tag = (hash >> (u32::BITS - LATELY_BITS)) as u32 | 1;
        std::mem::replace(place, tag) != tag
    }
}

impl Declared {
    /// Where a call on these tables declares its keys.
    pub(crate) fn start<'p>(&'p mut self, tables: &'p [Table]) -> DeclaredKeys<'p> {
        self.keys.clear();
        self.bytes.clear();
        DeclaredKeys {
            tables,
            keys: &mut self.keys,
            bytes: &mut self.bytes,
        }
    }
}

impl Partition {
    /// So many calls ahead is early enough to be expected, when each declares one key.
    pub const EXPECTED_AHEAD: usize = 3 * STEP;

    /// Says that a call will be executed soon, after those that were expected before it. Pays where rows
    /// are not in the cache: of 2,000,000 rows of 1 KB that are read with skew 1, 1.7 times as many a second,
    /// with skew 1.25 still 1.07 times; where they are it costs: 0.03 us of 0.23 a read with skew 1.5.
    ///
    /// # Panics
    /// When there is no such procedure.
    pub fn expect(&mut self, call: Call<'_>) {
        let procedure = &self.procedures[usize::from(call.procedure.0)];
        let mut keys = self.declared.start(&self.tables);
        if procedure.expect(call.parameters, &mut keys).is_err() {
            // The call will say what is wrong when it is executed.
            return;
        }
        let is_tracked = self.anti_cache.as_ref().is_some_and(|anti_cache| {
            let (Sampling::Transactions(alpha) | Sampling::Accesses(alpha)) =
                anti_cache.options.sampling;
            alpha >= ALPHA_MIN
        });
        for (index, key) in self.declared.keys.drain(..) {
            if let SoughtKey::Number { number, .. } = key {
                let is_new = self.expected.lately.is_new(index, number);
                let key = is_new.then_some((index, key));
                self.expected.advance(&self.tables, is_tracked, key);
            }
        }
    }
}

impl ExpectedCalls {
    /// Takes the steps that are due when another key is expected, one that takes steps itself or none.
    #[inline]
    fn advance(&mut self, tables: &[Table], is_tracked: bool, key: Option<(IndexId, SoughtKey)>) {
        if let Some((index, sought)) = &key {
            let of_key = &tables[usize::from(index.table.0)].indexes[usize::from(index.index)];
            of_key.prefetch(sought.of(&[]));
        }
        let second = std::mem::replace(&mut self.keys[self.next], key);
        let found = second.and_then(|key| find(tables, &key));
        if let Some((table, id)) = found {
            tables[usize::from(table.0)].prefetch_row(id);
        }
        let third = std::mem::replace(&mut self.rows[self.next], found);
        if let Some((table, id)) = third {
            tables[usize::from(table.0)].prefetch_rest(id, is_tracked);
        }
        self.next = (self.next + 1) % STEP;
    }
}

/// The row in memory with a key.
fn find(tables: &[Table], (index, key): &(IndexId, SoughtKey)) -> Option<(TableNumber, TupleId)> {
    let table = &tables[usize::from(index.table.0)];
    let of_key = &table.indexes[usize::from(index.index)];
    if !of_key.is_unique {
        return None;
    }
    match of_key.first(key.of(&[]))?.target() {
        Target::Memory(id) => Some((index.table, id)),
        Target::Evicted(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key is asked for once, until another one has taken its place.
    #[test]
    fn keys_are_asked_for_once() {
        let (index, other) = (IndexId::new(0, 0), IndexId::new(3, 1));
        let mut lately = AskedLately::default();
        for number in 0..100 {
            assert!(lately.is_new(index, number));
            assert!(!lately.is_new(index, number));
            assert!(lately.is_new(other, number), "the same of another index");
        }
        let others = (1_000..20_000).filter(|number| lately.is_new(index, *number));
        assert_eq!(others.count(), 19_000);
        let forgotten = (0..100).filter(|number| lately.is_new(index, *number));
        assert!(forgotten.count() > 90);
    }
}
