//! Numbers that look random and are a function of a seed, a purpose and two coordinates.
//!
//! The workload draws every fact about an order this way, so that any order can be told again
//! at any time without having told those before it. Two rounds of the SplitMix64 finaliser are
//! far better mixed than a demonstration needs and cost a few nanoseconds.
//!
//! Invariant: the function never changes. A data directory holds facts drawn by an earlier
//! release, and the stream goes on from them.

/// What a number is for, so that two facts about the same order are unrelated.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    RollbackSlot = 1,
    EpochFactor,
    EpochOffset,
    SlotOwner,
    CancelledBasket,
    BasketLines,
    BasketComment,
    BasketCarrier,
    LineItem,
    LineQuantity,
    LineDiscount,
    ItemPrice,
    ItemName,
    CustomerName,
    CustomerSince,
    OrderMoment,
    OrderClerk,
    OrderCompletion,
    LineDelivery,
    StatusOrder,
    StatusLine,
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
const FIRST_COORDINATE: u64 = 0xD6E8_FEB8_6659_FD93;
const SECOND_COORDINATE: u64 = 0xA076_1D64_78BD_642F;

/// One drawn number, uniform over all 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drawn(u64);

/// Draws numbers for one seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw {
    seed: u64,
}

fn finalise(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The number for `purpose` at coordinates `a` and `b`.
    pub(crate) fn at(self, purpose: Purpose, a: u64, b: u64) -> Drawn {
        let bits = self.seed.wrapping_add(GOLDEN.wrapping_mul(purpose as u64));
        let bits = finalise(bits.wrapping_add(FIRST_COORDINATE.wrapping_mul(a)));
        Drawn(finalise(
            bits.wrapping_add(SECOND_COORDINATE.wrapping_mul(b))
                .wrapping_add(GOLDEN),
        ))
    }
}

impl Drawn {
    /// All 64 bits.
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// Uniform in `0..bound`, for bounds far below 2^32.
    pub(crate) fn below(self, bound: u64) -> u64 {
        ((self.0 >> 32) * bound) >> 32
    }

    /// In `0..bound` with small numbers more likely: the square of a uniform number, as a few
    /// customers place most orders and a few items sell most.
    pub(crate) fn skewed_below(self, bound: u64) -> u64 {
        let uniform = self.0 >> 32;
        (((uniform * uniform) >> 32) * bound) >> 32
    }

    /// One of `choices`.
    pub(crate) fn pick<T: Copy>(self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// Another number, unrelated to this one.
    pub(crate) fn next(self) -> Self {
        Self(finalise(self.0.wrapping_add(GOLDEN)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_changes() {
        let drawn = Draw::new(42).at(Purpose::LineItem, 7, 3);
        assert_eq!(
            drawn.bits(),
            Draw::new(42).at(Purpose::LineItem, 7, 3).bits()
        );
        assert_ne!(drawn, Draw::new(43).at(Purpose::LineItem, 7, 3));
        assert_ne!(drawn, Draw::new(42).at(Purpose::LineItem, 3, 7));
        assert_eq!(
            drawn.bits(),
            PINNED,
            "data directories hold facts drawn by this function"
        );
    }

    const PINNED: u64 = 5_244_025_627_009_210_370;

    #[test]
    fn stays_below_its_bound_and_reaches_all_of_it() {
        let mut seen = [0_u32; 10];
        let mut skewed = [0_u32; 10];
        for a in 0..10_000 {
            let drawn = Draw::new(1).at(Purpose::SlotOwner, a, 0);
            seen[drawn.below(10) as usize] += 1;
            skewed[drawn.skewed_below(10) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (850..1150).contains(&n)), "{seen:?}");
        assert!(skewed[0] > 2 * skewed[5] && skewed[9] > 0, "{skewed:?}");
    }
}
