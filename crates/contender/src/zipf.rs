//! Zipf's distribution by rejection-inversion (Hörmann and Derflinger, 1996): right at every skew, 1
//! included, where the usual generator of YCSB divides by zero.

use rand::Rng;

/// Draws ranks from 1 to a bound; rank `k` comes in proportion to `k` to the power of minus the skew.
#[derive(Clone, Debug)]
pub struct Zipf {
    skew: f64,
    ranks: f64,
    first: f64,
    last: f64,
    accepted: f64,
}

impl Zipf {
    /// The distribution over so many ranks; a skew of 0 is the even one.
    pub fn new(ranks: u64, skew: f64) -> Self {
        let integral = |x: f64| integral(x, skew);
        Self {
            skew,
            ranks: ranks as f64,
            first: integral(1.5) - 1.0,
            last: integral(ranks as f64 + 0.5),
            accepted: 2.0 - inverse(integral(2.5) - density(2.0, skew), skew),
        }
    }

    /// A rank; 1 is the most frequent.
    #[inline]
    pub fn draw(&self, random: &mut impl Rng) -> u64 {
        loop {
            let u = self.last + random.random::<f64>() * (self.first - self.last);
            let x = inverse(u, self.skew);
            let rank = x.round().clamp(1.0, self.ranks);
            let bound = integral(rank + 0.5, self.skew) - density(rank, self.skew);
            if rank - x <= self.accepted || u >= bound {
                return rank as u64;
            }
        }
    }
}

fn density(x: f64, skew: f64) -> f64 {
    (-skew * x.ln()).exp()
}

/// From 1 to x; near a skew of 1 the quotient is 0 by 0, and its limit is taken.
fn integral(x: f64, skew: f64) -> f64 {
    let exponent = (1.0 - skew) * x.ln();
    let quotient = if exponent.abs() > 1e-8 {
        exponent.exp_m1() / exponent
    } else {
        1.0 + exponent / 2.0
    };
    quotient * x.ln()
}

fn inverse(area: f64, skew: f64) -> f64 {
    // Rounding may bring it below -1.
    let exponent = (area * (1.0 - skew)).max(-1.0);
    let quotient = if exponent.abs() > 1e-8 {
        exponent.ln_1p() / exponent
    } else {
        1.0 - exponent / 2.0
    };
    (quotient * area).exp()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::*;

    /// Shares of the first ranks and of all others, against the sums themselves.
    #[test]
    fn shares_are_those_of_the_distribution() {
        for skew in [0.0, 0.5, 0.99, 1.0, 1.01, 1.25, 1.5] {
            let (ranks, draws) = (1_000, 400_000);
            let (zipf, mut random) = (Zipf::new(ranks, skew), SmallRng::seed_from_u64(7));
            let mut counts = vec![0_u32; ranks as usize + 1];
            (0..draws).for_each(|_| counts[zipf.draw(&mut random) as usize] += 1);
            let weight = |rank: u64| (rank as f64).powf(-skew);
            let all: f64 = (1..=ranks).map(weight).sum();
            for range in [1..=1, 2..=2, 3..=10, 11..=100, 101..=1_000] {
                let expected = range.clone().map(weight).sum::<f64>() / all;
                let found: u32 = range.clone().map(|rank| counts[rank as usize]).sum();
                let found = f64::from(found) / f64::from(draws);
                let error = 5.0 * (expected / f64::from(draws)).sqrt();
                assert!(
                    (found - expected).abs() < error,
                    "{skew} {range:?}: {found}, {expected}"
                );
            }
        }
    }
}
