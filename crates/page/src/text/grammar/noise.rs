//! Whether text is noise: of nothing in it there is more than chance has it, so that no rules make it smaller.
//!
//! To learn rules of 80 KB takes 22 to 27 ms; to find out first that there are none to learn takes 0.5 ms with 16
//! letters and 1.4 ms with 256 (one core of an AMD EPYC).
//!
//! 1. The bits that a byte has, given the one before it (the conditional entropy of pairs): rules of short pieces
//!    cannot go below. Where that is clearly less than a token a byte takes, there may be rules.
//! 2. The share of longer pieces that have been there before. Pieces are as long as it takes to make that unlikely:
//!    six bytes with 16 letters, four with 62.
//!
//! What is called noise wrongly is stored in a token a byte; what is called text wrongly costs the time.

use super::{RULES_PERCENT_MAX, token_bits};

/// Pieces are told apart by so many bits of their hash: 256 KiB of memory, of which a sample of 96 KiB sets 5 %.
const SEEN_BITS: u32 = 21;

/// Bits that pieces have at least, if all are equally likely: of the 2^17 of a sample every 128th has been there.
const PIECE_BITS_MIN: f64 = 23.0;

/// Bytes of a piece at most.
const PIECE_BYTES_MAX: usize = 8;

/// Pieces of noise that seem to have been there before, at most: 1 % by chance, 3 % whose bit is set by another.
const AGAIN_PERCENT_MAX: usize = 6;

/// Whether the cells of a sample are noise.
pub(super) fn is_noise<'a>(cells: impl Iterator<Item = &'a [u8]> + Clone) -> bool {
    let pairs = Pairs::of(cells.clone());
    let letters = pairs.letters();
    let plain_bits = f64::from(token_bits(letters));
    if pairs.bits_per_byte() * 100.0 < plain_bits * RULES_PERCENT_MAX as f64 {
        return false;
    }
    let piece_bytes = (PIECE_BITS_MIN / (letters.max(2) as f64).log2()).ceil() as usize;
    !comes_again(cells, piece_bytes.min(PIECE_BYTES_MAX))
}

/// How often each byte follows each other one.
struct Pairs {
    /// 256 for each first byte.
    counts: Vec<u32>,
    is_used: [bool; 256],
}

impl Pairs {
    fn of<'a>(cells: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut pairs = Self {
            counts: vec![0; 1 << 16],
            is_used: [false; 256],
        };
        for cell in cells {
            let mut before = None;
            for &byte in cell {
                pairs.is_used[usize::from(byte)] = true;
                if let Some(before) = before {
                    pairs.counts[usize::from(before) << 8 | usize::from(byte)] += 1;
                }
                before = Some(byte);
            }
        }
        pairs
    }

    fn letters(&self) -> usize {
        self.is_used.iter().filter(|&&is_used| is_used).count()
    }

    /// The entropy of a byte, given the one before it. Counts of few pairs make it seem less than it is, by half a
    /// bit for as many different pairs as there are pairs in all; that is put right (Miller, Madow).
    fn bits_per_byte(&self) -> f64 {
        let entropy = |count: u32| f64::from(count) * f64::from(count.max(1)).log2();
        let (mut bits, mut kinds, mut all) = (0.0, 0_u32, 0);
        for counts in self.counts.chunks_exact(256) {
            let sum: u32 = counts.iter().sum();
            if sum == 0 {
                continue;
            }
            let used = counts.iter().filter(|&&count| count > 0);
            bits += entropy(sum) - used.clone().map(|&count| entropy(count)).sum::<f64>();
            kinds += used.count() as u32 - 1;
            all += sum;
        }
        let bias = f64::from(kinds) / 2.0 / std::f64::consts::LN_2;
        (bits + bias) / f64::from(all.max(1))
    }
}

/// Whether too many pieces of that length have been there before.
fn comes_again<'a>(cells: impl Iterator<Item = &'a [u8]>, piece_bytes: usize) -> bool {
    // Multiplicative hashing (Knuth, volume 3, section 6.4): 2^64 divided by the golden ratio.
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mask = u64::MAX >> (64 - 8 * piece_bytes);
    let mut seen = vec![0_u64; 1 << (SEEN_BITS - 6)];
    let (mut pieces, mut again) = (0, 0);
    for cell in cells {
        let mut piece = 0;
        for (index, &byte) in cell.iter().enumerate() {
            piece = (piece << 8 | u64::from(byte)) & mask;
            if index + 1 < piece_bytes {
                continue;
            }
            let hash = (piece.wrapping_mul(FACTOR) >> (64 - SEEN_BITS)) as usize;
            let (word, bit) = (&mut seen[hash / 64], 1 << (hash % 64));
            again += usize::from(*word & bit != 0);
            *word |= bit;
            pieces += 1;
        }
    }
    again * 100 > pieces * AGAIN_PERCENT_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2,000 cells of 40 bytes, each drawn from `letters` by a generator of its own.
    fn drawn(letters: &[u8]) -> Vec<Vec<u8>> {
        let mut state = 5_u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            letters[(state >> 33) as usize % letters.len()]
        };
        (0..2_000)
            .map(|_| (0..40).map(|_| draw()).collect())
            .collect()
    }

    fn is_noise_of(cells: &[Vec<u8>]) -> bool {
        is_noise(cells.iter().map(Vec::as_slice))
    }

    const LETTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    #[test]
    fn letters_that_are_drawn_are_noise() {
        let bytes: Vec<u8> = (0..=u8::MAX).collect();
        for letters in [&LETTERS[..16], LETTERS, &bytes] {
            assert!(is_noise_of(&drawn(letters)), "{}", letters.len());
        }
    }

    #[test]
    fn words_are_not() {
        let words = drawn(&LETTERS[10..36]);
        let recurring: Vec<Vec<u8>> = (0..2_000).map(|row| words[row * 7 % 300].clone()).collect();
        assert!(!is_noise_of(&recurring), "300 cells, each several times");
        let short: Vec<Vec<u8>> = (0..10_000)
            .map(|row| words[row * 7 % 1_000][..6].to_vec())
            .collect();
        assert!(!is_noise_of(&short), "a thousand words of six letters");
        let numbered: Vec<Vec<u8>> = (0..2_000)
            .map(|row| format!("the number {} of {row}", row * 77).into_bytes())
            .collect();
        assert!(!is_noise_of(&numbered));
    }

    #[test]
    fn groups_between_dashes_are_not() {
        let mut cells = drawn(&LETTERS[..16]);
        for cell in &mut cells {
            for dash in [8, 13, 18, 23] {
                cell[dash] = b'-';
            }
        }
        assert!(!is_noise_of(&cells));
    }
}
