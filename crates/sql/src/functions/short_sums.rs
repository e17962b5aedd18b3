//! Sums of decimals that are short, for few groups.
//!
//! One sum of 128 bits after the other, each waiting for the last one and checked for overflow, takes
//! some 20 cycles where neighbouring rows belong to one group. Here a batch is summed in 64 bits, in
//! [`LANES`] sums a group that do not wait for each other; together they are added to the group's sum.

use datafusion::arrow::array::ArrowNativeTypeOp;
use datafusion::arrow::error::ArrowError;

/// Neighbouring rows go to so many sums of their group.
const LANES: usize = 4;
/// With more groups their lanes leave the fastest cache.
const GROUPS_MAX: usize = 256;

/// What a lane has seen of a group.
#[derive(Clone, Copy, Default)]
struct Lane {
    sum: i64,
    count: u64,
}

/// Adds each value to the sum of its group, and one to its count; false: nothing was done, as there
/// are too many groups, or their sums might exceed 64 bits.
pub(super) fn add(
    sums: &mut [i128],
    counts: &mut [u64],
    groups: &[usize],
    values: &[i128],
) -> Result<bool, ArrowError> {
    let few_groups = sums.len() <= GROUPS_MAX && sums.len() * LANES <= values.len();
    if !few_groups || !sums_are_short(values) {
        return Ok(false);
    }
    let mut lanes = vec![[Lane::default(); LANES]; sums.len()];
    let mut add = |lane: usize, group: usize, value: i128| {
        let lane = &mut lanes[group][lane];
        lane.sum += value as i64;
        lane.count += 1;
    };
    let (group_chunks, last_groups) = groups.as_chunks::<LANES>();
    let (value_chunks, last_values) = values.as_chunks::<LANES>();
    for (groups, values) in group_chunks.iter().zip(value_chunks) {
        for lane in 0..LANES {
            add(lane, groups[lane], values[lane]);
        }
    }
    for (&group, &value) in last_groups.iter().zip(last_values) {
        add(0, group, value);
    }
    for ((sum, count), lanes) in sums.iter_mut().zip(counts).zip(&lanes) {
        for lane in lanes {
            *sum = sum.add_checked(i128::from(lane.sum))?;
            *count += lane.count;
        }
    }
    Ok(true)
}

/// Whether no sum of some of `values` exceeds 64 bits.
fn sums_are_short(values: &[i128]) -> bool {
    // The bits that values have besides those that only repeat the sign.
    let magnitudes = values.iter().map(|&value| (value ^ (value >> 127)) as u128);
    let all = magnitudes.fold(0, |all, magnitude| all | magnitude);
    let bits = u128::BITS - all.leading_zeros();
    let summands_bits = usize::BITS - values.len().leading_zeros();
    bits + summands_bits < i64::BITS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value() -> impl Strategy<Value = i128> {
        prop_oneof![
            any::<i32>().prop_map(i128::from),
            (0..60_u32, any::<i64>()).prop_map(|(shift, value)| i128::from(value >> shift)),
        ]
    }

    proptest! {
        #[test]
        fn sums_are_those_of_one_value_after_the_other(
            rows in proptest::collection::vec((0..5_usize, value()), 0..200),
        ) {
            let (groups, values): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
            let (mut sums, mut counts) = ([7_i128; 5], [1_u64; 5]);
            let (mut expected_sums, mut expected_counts) = (sums, counts);
            for (&group, &value) in groups.iter().zip(&values) {
                expected_sums[group] += value;
                expected_counts[group] += 1;
            }
            if add(&mut sums, &mut counts, &groups, &values).expect("128 bits are enough") {
                prop_assert_eq!((sums, counts), (expected_sums, expected_counts));
            } else {
                prop_assert_eq!((sums, counts), ([7; 5], [1; 5]));
            }
        }
    }

    #[test]
    fn the_largest_summands_do_not_overflow() {
        for value in [i128::from(i64::MAX) >> 5, i128::from(i64::MIN) >> 5] {
            let values = [value; 31];
            let (mut sums, mut counts) = ([0_i128], [0_u64]);
            let done = add(&mut sums, &mut counts, &[0; 31], &values).expect("128 bits");
            assert!(done);
            assert_eq!((sums, counts), ([value * 31], [31]));
        }
    }

    #[test]
    fn longer_summands_are_left_alone() {
        let values = [i128::from(i64::MAX); 8];
        let done = add(&mut [0], &mut [0], &[0; 8], &values).expect("nothing is added");
        assert!(!done);
    }
}
