//! The numbers below a count in a scattered order that is known both ways.
//!
//! The number at a place is the place times a step that has no divisor in common with the count.
//! With a step near the golden section, neighbours in the order are far from each other.

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    count: u64,
    step: u64,
    inverse: u64,
}

impl Permutation {
    /// Of the numbers below `count`.
    ///
    /// # Panics
    ///
    /// When the count is zero, or has more than 31 bits.
    pub fn new(count: u64) -> Self {
        assert!(0 < count && count < 1 << 31, "products fit in 64 bits");
        let golden = (count as f64 * 0.618_034) as u64;
        let inverse = |step| Some((step, inverse(step % count, count)?));
        let found = (golden.max(1)..).find_map(inverse);
        let (step, inverse) = found.expect("a larger prime has no divisor in common");
        Self {
            count,
            step: step % count,
            inverse,
        }
    }

    /// How many numbers.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number at a place.
    pub fn at(&self, place: u64) -> u64 {
        place % self.count * self.step % self.count
    }

    /// The place of a number.
    pub fn place_of(&self, number: u64) -> u64 {
        number % self.count * self.inverse % self.count
    }
}

/// What `step` has to be multiplied by to give 1, modulo `count`; by Euclid's algorithm.
fn inverse(step: u64, count: u64) -> Option<u64> {
    let modulus = count.cast_signed();
    let (mut old, mut new) = ((modulus, 0_i64), (step.cast_signed(), 1_i64));
    while new.0 != 0 {
        let quotient = old.0 / new.0;
        (old, new) = (new, (old.0 - quotient * new.0, old.1 - quotient * new.1));
    }
    (old.0 == 1).then(|| old.1.rem_euclid(modulus).cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_one_place() {
        for count in [1, 2, 3, 6, 64, 200, 1_000, 4_099] {
            let permutation = Permutation::new(count);
            let mut numbers: Vec<u64> = (0..count).map(|place| permutation.at(place)).collect();
            let places = numbers.iter().map(|&number| permutation.place_of(number));
            assert!(places.eq(0..count));
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..count));
        }
    }
}
