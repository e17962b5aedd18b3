//! How long reads took: counts in steps of an eighth of a power of two.

use std::time::Duration;

/// Steps of a power of two.
const STEPS: usize = 8;

/// Powers of two of nanoseconds: up to minutes.
const POWERS: usize = 40;

/// Counts of latencies.
#[derive(Clone, Debug)]
pub struct Latencies([u64; STEPS * POWERS]);

impl Default for Latencies {
    fn default() -> Self {
        Self([0; STEPS * POWERS])
    }
}

impl Latencies {
    /// Counts one.
    pub fn add(&mut self, latency: Duration) {
        let steps = (latency.as_nanos().max(1) as f64).log2() * STEPS as f64;
        self.0[(steps as usize).min(STEPS * POWERS - 1)] += 1;
    }

    /// Counts those of another one, too.
    pub fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a += b);
    }

    /// Microseconds that this share of them took at most, to a tenth.
    pub fn micros(&self, share: f64) -> f64 {
        let wanted = self.0.iter().sum::<u64>() as f64 * share;
        let mut seen = 0;
        let step = self.0.iter().position(|&count| {
            seen += count;
            seen as f64 >= wanted
        });
        let end = (step.unwrap_or(0) + 1) as f64 / STEPS as f64;
        end.exp2() / 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_took_less() {
        let mut latencies = Latencies::default();
        for micros in 1..=1000 {
            latencies.add(Duration::from_micros(micros));
        }
        let is_about = |share: f64, expected: f64| {
            let found = latencies.micros(share);
            assert!((found / expected - 1.0).abs() < 0.1, "{found}");
        };
        is_about(0.5, 500.0);
        is_about(0.99, 990.0);
        is_about(0.001, 1.0);
    }
}
