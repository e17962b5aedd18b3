//! The smallest usual word, and the smallest usual step between neighbours, from a small sample:
//! a few that are far below are left out, as exceptions.

use crate::bit_packing::bits;
use crate::exceptions::exception_bits;

use super::profile::BYTES_PER_EXCEPTION;

/// Words or steps that are looked at.
const SAMPLE: usize = 64;

/// Exceptions to leave out at either end.
const LEFT_OUT: [usize; 6] = [0, 1, 2, 4, 8, 16];

/// What an exception costs, about: a slot, two bytes, and its time.
const EXCEPTION_BITS: usize = exception_bits(16) + 8 * BYTES_PER_EXCEPTION;

/// The word from which distances are cheapest, or `min` where that is as good.
pub(super) fn usual_word(words: &[u64], min: i64) -> i64 {
    usual(words.len(), min, |row| words[row] as i64)
}

/// The step above which climbs are cheapest, or `step_min` where that is as good.
pub(super) fn usual_step(words: &[u64], step_min: i64) -> i64 {
    let step = |row: usize| words[row + 1].wrapping_sub(words[row]) as i64;
    usual(words.len() - 1, step_min, step)
}

fn usual(count: usize, min: i64, value: impl Fn(usize) -> i64) -> i64 {
    if count < SAMPLE {
        return min;
    }
    let mut sample: [i64; SAMPLE] = std::array::from_fn(|index| value(index * count / SAMPLE));
    sample.sort_unstable();
    let from_min = cost(&sample, min, 0);
    let usual = LEFT_OUT[1..]
        .iter()
        .map(|&below| (cost(&sample, sample[below], below), sample[below]))
        .min();
    match usual {
        Some((bits, value)) if bits < from_min => value,
        _ => min,
    }
}

/// Bits that the sample takes above `low`, with `below` exceptions below it and the best number
/// of exceptions at the other end.
fn cost(sample: &[i64; SAMPLE], low: i64, below: usize) -> usize {
    let bits_with = |above: usize| {
        let largest = sample[SAMPLE - 1 - above].wrapping_sub(low);
        SAMPLE * bits(largest as u64) as usize + (below + above) * EXCEPTION_BITS
    };
    LEFT_OUT
        .into_iter()
        .map(bits_with)
        .min()
        .unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of which one in forty is -1.
    fn with_none() -> Vec<u64> {
        let word = |row: u64| match row % 40 {
            17 => u64::MAX,
            _ => 1_000_000 + row * 3 + row % 2,
        };
        (0..2000).map(word).collect()
    }

    #[test]
    fn rare_falls_do_not_count() {
        let words = with_none();
        let step_min = -1_100_000;
        assert_eq!(usual_step(&words, step_min), 2);
        assert!(usual_word(&words, -1) >= 1_000_000);
    }

    #[test]
    fn where_steps_are_even_the_smallest_counts() {
        let words: Vec<u64> = (0..2000).map(|row| row * 5 + row % 3).collect();
        assert_eq!(usual_step(&words, 3), 3);
        assert_eq!(usual_word(&words, 0), 0);
    }
}
