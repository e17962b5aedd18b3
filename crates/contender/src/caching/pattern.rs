//! Which keys readers choose.

use anyhow::{Result, ensure};
use clap::ValueEnum;
use rand::Rng;

use crate::zipf::Zipf;

/// Reads outside the hot range, of a hundred.
const COLD_PERCENT: u32 = 2;

/// How many places the hot range moves to, one after the other, while rows are written.
const SHIFTS: u64 = 5;

/// A prime: numbers of rows are spread over the keys by it.
const SPREAD: u64 = 2_654_435_761;

/// How keys are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    /// 98 of 100 evenly from one range of keys, 2 evenly from the rest.
    RangeHot,
    /// The same, but the range moves on five times.
    ShiftingRange,
    /// By a Zipf distribution whose most frequent keys lie anywhere.
    Zipf,
    /// Evenly from all.
    Uniform,
}

/// Chooses the numbers of rows.
#[derive(Clone, Debug)]
pub struct Pattern {
    shape: Shape,
    rows: u64,
    hot_rows: u64,
    zipf: Zipf,
}

impl Pattern {
    /// A pattern over so many rows; the skew is that of Zipf, the share that of the hot range.
    pub fn new(shape: Shape, rows: u64, skew: f64, hot_share: f64) -> Result<Self> {
        let hot_rows = (rows as f64 * hot_share) as u64;
        ensure!(
            (1..rows).contains(&hot_rows),
            "a hot range of {hot_rows} of {rows} rows"
        );
        Ok(Self {
            shape,
            rows,
            hot_rows,
            zipf: Zipf::new(rows, skew),
        })
    }

    /// The number of a row, when `progress` (0 to 1) of the time is over.
    pub fn choose(&self, random: &mut impl Rng, progress: f64) -> u64 {
        match self.shape {
            Shape::RangeHot => self.in_range(random, (self.rows - self.hot_rows) / 2),
            Shape::ShiftingRange => {
                let place = (progress * SHIFTS as f64) as u64 % SHIFTS;
                let start = (self.rows - self.hot_rows) / SHIFTS * place;
                self.in_range(random, start)
            }
            Shape::Zipf => self.spread(self.zipf.draw(random) - 1),
            Shape::Uniform => random.random_range(0..self.rows),
        }
    }

    /// From the hot range that begins at `start`, or the rest.
    fn in_range(&self, random: &mut impl Rng, start: u64) -> u64 {
        if random.random_range(0..100) >= COLD_PERCENT {
            return start + random.random_range(0..self.hot_rows);
        }
        let cold = random.random_range(0..self.rows - self.hot_rows);
        match cold < start {
            true => cold,
            false => cold + self.hot_rows,
        }
    }

    /// A place anywhere for the row of a rank; each has its own.
    fn spread(&self, rank: u64) -> u64 {
        let product = u128::from(rank) * u128::from(SPREAD);
        (product % u128::from(self.rows)) as u64
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::*;

    const ROWS: u64 = 100_000;
    const DRAWS: usize = 200_000;

    fn draws(shape: Shape, skew: f64, progress: f64) -> Vec<u64> {
        let pattern = Pattern::new(shape, ROWS, skew, 0.15).unwrap();
        let mut random = SmallRng::seed_from_u64(7);
        let draws = (0..DRAWS).map(|_| pattern.choose(&mut random, progress));
        draws.collect()
    }

    fn share(draws: &[u64], wanted: impl Fn(u64) -> bool) -> f64 {
        draws.iter().filter(|&&row| wanted(row)).count() as f64 / draws.len() as f64
    }

    #[test]
    fn of_a_hundred_two_lie_outside_the_hot_range() {
        let draws = draws(Shape::RangeHot, 1.0, 0.0);
        let hot = share(&draws, |row| (42_500..57_500).contains(&row));
        assert!((hot - 0.98).abs() < 0.002, "{hot}");
        let outside = share(&draws, |row| row < 42_500) / share(&draws, |row| row >= 57_500);
        assert!((outside - 1.0).abs() < 0.1, "{outside}");
    }

    #[test]
    fn the_hot_range_moves_on() {
        for (progress, start) in [(0.0, 0), (0.3, 17_000), (0.99, 68_000)] {
            let draws = draws(Shape::ShiftingRange, 1.0, progress);
            let hot = share(&draws, |row| (start..start + 15_000).contains(&row));
            assert!((hot - 0.98).abs() < 0.002, "{hot} at {progress}");
        }
    }

    /// The most frequent row has the share that the sum of all 1 / rank^skew gives it.
    #[test]
    fn ranks_are_as_frequent_as_zipf_has_them() {
        for skew in [0.7, 0.99, 1.0, 1.2] {
            let draws = draws(Shape::Zipf, skew, 0.0);
            let sum: f64 = (1..=ROWS).map(|rank| (rank as f64).powf(-skew)).sum();
            let first = share(&draws, |row| row == 0);
            assert!((first * sum - 1.0).abs() < 0.1, "{first} at {skew}");
        }
    }

    #[test]
    fn every_rank_has_a_row_of_its_own() {
        let pattern = Pattern::new(Shape::Zipf, ROWS, 1.0, 0.15).unwrap();
        let rows: std::collections::HashSet<u64> =
            (0..ROWS).map(|rank| pattern.spread(rank)).collect();
        assert_eq!(rows.len() as u64, ROWS);
    }
}
