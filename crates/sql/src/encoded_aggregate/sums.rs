//! Sums and counts by group.
//!
//! One sum after the other, each waiting for the last one, takes some five cycles where neighbouring rows
//! belong to one group. With few groups there are [`LANES`] sums for each, which do not wait for
//! each other.

use multiversion::multiversion;

use super::arithmetic::{Numbers, Register};
use super::group_ids::GroupIds;

/// Neighbouring rows go to so many sums of their group.
const LANES: usize = 4;
/// With more groups the lanes leave the fastest cache.
const GROUPS_IN_LANES: usize = 64;

/// Sums by group, and how many numbers are in each.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub(super) sums: Vec<i128>,
    pub(super) counts: Vec<u64>,
}

impl Sums {
    /// Adds the numbers of a fragment's rows, if 64 bits are enough for the sum of all; whether they are.
    pub(super) fn add(&mut self, register: &Register<'_>, ids: &GroupIds, counts: &[u64]) -> bool {
        let rows: u64 = counts.iter().sum();
        if register.bits + (u64::BITS - rows.leading_zeros()) >= i64::BITS {
            return false;
        }
        self.sums.resize(counts.len(), 0);
        self.counts.resize(counts.len(), 0);
        match (&register.numbers, ids) {
            (Numbers::All(number), _) => {
                for (sum, &count) in self.sums.iter_mut().zip(counts) {
                    *sum += i128::from(*number) * i128::from(count);
                }
            }
            (Numbers::Each(numbers), GroupIds::All(group)) => {
                self.sums[*group] += i128::from(sum_of(numbers));
            }
            (Numbers::Each(numbers), GroupIds::Each(groups)) => {
                if counts.len() <= GROUPS_IN_LANES {
                    add_in_lanes(&mut self.sums, groups, numbers);
                } else {
                    for (&group, &number) in groups.iter().zip(&**numbers) {
                        self.sums[usize::from(group)] += i128::from(number);
                    }
                }
            }
        }
        for (sum, count) in self.counts.iter_mut().zip(counts) {
            *sum += count;
        }
        true
    }
}

fn add_in_lanes(sums: &mut [i128], groups: &[u16], numbers: &[i64]) {
    let mut lanes = [[0_i64; LANES]; GROUPS_IN_LANES];
    let (group_chunks, last_groups) = groups.as_chunks::<LANES>();
    let (number_chunks, last_numbers) = numbers.as_chunks::<LANES>();
    for (groups, numbers) in group_chunks.iter().zip(number_chunks) {
        for lane in 0..LANES {
            // Below the number of groups; the remainder spares a check of it.
            lanes[usize::from(groups[lane]) % GROUPS_IN_LANES][lane] += numbers[lane];
        }
    }
    for (&group, &number) in last_groups.iter().zip(last_numbers) {
        lanes[usize::from(group) % GROUPS_IN_LANES][0] += number;
    }
    for (sum, lanes) in sums.iter_mut().zip(&lanes) {
        *sum += i128::from(lanes.iter().sum::<i64>());
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2"))]
fn sum_of(numbers: &[i64]) -> i64 {
    numbers.iter().sum()
}

/// How many rows each group has.
pub(super) fn counts(ids: &GroupIds, rows: usize, groups: usize) -> Vec<u64> {
    let mut counts = vec![0_u64; groups];
    match ids {
        GroupIds::All(group) => counts[*group] = rows as u64,
        GroupIds::Each(ids) if groups <= GROUPS_IN_LANES => {
            let mut lanes = [[0_u32; LANES]; GROUPS_IN_LANES];
            for ids in ids.chunks(LANES) {
                for (lane, &id) in ids.iter().enumerate() {
                    lanes[usize::from(id) % GROUPS_IN_LANES][lane] += 1;
                }
            }
            for (count, lanes) in counts.iter_mut().zip(&lanes) {
                *count = lanes.iter().copied().map(u64::from).sum();
            }
        }
        GroupIds::Each(ids) => ids.iter().for_each(|&id| counts[usize::from(id)] += 1),
    }
    counts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sums_are_those_of_one_row_after_the_other(
            groups in prop_oneof![Just(3_usize), Just(64), Just(65), Just(300)],
            rows in prop::collection::vec((any::<u16>(), -(1_i64 << 50)..1 << 50), 0..200),
        ) {
            let (ids, numbers): (Vec<u16>, Vec<i64>) =
                rows.into_iter().map(|(id, number)| (id % groups as u16, number)).unzip();
            let mut expected = Sums { sums: vec![5; groups], counts: vec![1; groups] };
            let mut found = Sums { sums: vec![5; groups], counts: vec![1; groups] };
            for (&id, &number) in ids.iter().zip(&numbers) {
                expected.sums[usize::from(id)] += i128::from(number);
                expected.counts[usize::from(id)] += 1;
            }
            let rows = ids.len();
            let ids = GroupIds::Each(ids);
            let counts = counts(&ids, rows, groups);
            let register = Register { numbers: Numbers::Each(numbers.into()), bits: 51 };
            prop_assert!(found.add(&register, &ids, &counts));
            prop_assert_eq!(&found.sums, &expected.sums);
            prop_assert_eq!(&found.counts, &expected.counts);
        }
    }

    #[test]
    fn numbers_whose_sum_might_not_fit_are_left_alone() {
        let register = |bits| Register {
            numbers: Numbers::All(1),
            bits,
        };
        let mut sums = Sums::default();
        assert!(sums.add(&register(59), &GroupIds::All(0), &[15]));
        assert!(!sums.add(&register(60), &GroupIds::All(0), &[15]));
        assert_eq!((sums.sums, sums.counts), (vec![15], vec![15]));
    }
}
