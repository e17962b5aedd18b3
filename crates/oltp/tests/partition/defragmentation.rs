//! Rows of other sizes take the place of those that have gone to disk: what is allocated stays within the budget,
//! because what lies between rows is given back.

use std::ops::RangeInclusive;

use oltp::{AntiCacheOptions, Partition, Refusal, Sampling};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sim::SimulatedDisk;

use crate::script::{GROUPS, Kind, Operation, show_row};
use crate::world::{open, settle, try_run};

const MEMORY_BYTES: usize = 8 << 20;

/// A partition, and how long each row's text is.
struct Table {
    partition: Partition,
    random: StdRng,
    lengths: Vec<u16>,
    refusals: u32,
}

impl Table {
    fn run(&mut self, kind: Kind, id: usize, length: u16) -> Vec<u8> {
        let operation = Operation {
            kind,
            table: 0,
            id: id as i64,
            group: id as i64 % GROUPS,
            text: Some((id as u8, length)),
        };
        for _ in 0..100 {
            let answer = try_run(&mut self.partition, &[operation]);
            let held = self.partition.memory().held_bytes;
            assert!(held <= MEMORY_BYTES, "{held} bytes");
            match answer {
                Ok(answer) => return answer.expect("it commits"),
                Err(refusal) => assert_eq!(refusal, Refusal::MemoryFull),
            }
            self.refusals += 1;
            settle(&mut self.partition);
        }
        panic!(
            "there is no room for row {id}: {:?}",
            self.partition.memory()
        );
    }

    fn insert(&mut self, length: u16) {
        self.run(Kind::Insert, self.lengths.len(), length);
        self.lengths.push(length);
    }

    fn update(&mut self, id: usize, length: u16) {
        self.run(Kind::Update, id, length);
        self.lengths[id] = length;
    }

    fn get(&mut self, id: usize) {
        let (mut expected, text) = (Vec::new(), vec![id as u8; self.lengths[id].into()]);
        show_row(id as i64, id as i64 % GROUPS, Some(&text), &mut expected);
        // What ends an operation is in the answer, too.
        assert!(
            self.run(Kind::Get, id, 0).starts_with(&expected),
            "row {id}"
        );
    }

    /// Inserts rows with texts of so many bytes; after each two others are read or get such a text.
    fn grow(&mut self, rows: usize, lengths: RangeInclusive<u16>) {
        for row in 0..rows {
            let length = self.random.random_range(lengths.clone());
            self.insert(length);
            for _ in 0..2 {
                let id = self.random.random_range(0..self.lengths.len());
                if self.random.random() {
                    self.get(id);
                } else {
                    self.update(id, length);
                }
            }
            if row % 8 == 0 {
                settle(&mut self.partition);
            }
        }
        settle(&mut self.partition);
    }
}

/// The sizes of rows change several times while some times the memory comes. Every row is what it was made, and at no time
/// more is allocated than the budget.
#[test]
fn what_is_allocated_stays_within_the_budget_when_sizes_change() {
    let options = AntiCacheOptions {
        sampling: Sampling::Accesses(0.5),
        ..AntiCacheOptions::new(MEMORY_BYTES)
    };
    let partition = open(&SimulatedDisk::new(1), Some(options), false).expect("nothing fails");
    let mut table = Table {
        partition,
        random: StdRng::seed_from_u64(1),
        lengths: Vec::new(),
        refusals: 0,
    };
    for (rows, lengths) in [
        (10_000, 1_000..=1_000),
        (10_000, 200..=200),
        (10_000, 0..=400),
        (5_000, 2_000..=2_000),
    ] {
        table.grow(rows, lengths);
    }
    let statistics = table.partition.anti_cache_statistics();
    assert!(statistics.moved_rows > 1_000, "{statistics:?}");
    assert!(table.refusals < 100, "{}", table.refusals);
    for id in 0..table.lengths.len() {
        table.get(id);
    }
}
