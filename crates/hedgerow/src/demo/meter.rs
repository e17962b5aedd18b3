//! Rates and latencies of the last while.

use std::collections::VecDeque;
use std::time::Duration;

/// Samples that a [`RateMeter`] keeps; also the width of its picture.
pub(super) const RATE_SAMPLES: usize = 24;

/// Latencies that a [`LatencyMeter`] keeps.
const LATENCIES: usize = 1_000;

/// Turns a counter that only grows into rates.
#[derive(Debug, Default)]
pub(super) struct RateMeter {
    last: Option<(Duration, u64)>,
    rates: VecDeque<f64>,
}

impl RateMeter {
    /// Notes what the counter reads at `now`.
    pub(super) fn note(&mut self, now: Duration, counter: u64) {
        if let Some((before, counted)) = self.last {
            let seconds = now.saturating_sub(before).as_secs_f64();
            if seconds <= 0.0 {
                return;
            }
            if self.rates.len() == RATE_SAMPLES {
                self.rates.pop_front();
            }
            self.rates
                .push_back(counter.saturating_sub(counted) as f64 / seconds);
        }
        self.last = Some((now, counter));
    }

    /// The rates of the last samples, oldest first.
    pub(super) fn history(&self) -> impl Iterator<Item = f64> + '_ {
        self.rates.iter().copied()
    }

    /// The mean of the last few samples, a second.
    pub(super) fn rate(&self) -> f64 {
        const RECENT: usize = 4;
        let recent = self.rates.iter().rev().take(RECENT);
        let count = recent.len();
        if count == 0 {
            0.0
        } else {
            recent.sum::<f64>() / count as f64
        }
    }
}

/// Remembers the latest latencies.
#[derive(Debug, Default)]
pub(super) struct LatencyMeter {
    latest: VecDeque<Duration>,
}

impl LatencyMeter {
    /// Notes one latency.
    pub(super) fn note(&mut self, latency: Duration) {
        if self.latest.len() == LATENCIES {
            self.latest.pop_front();
        }
        self.latest.push_back(latency);
    }

    /// The latencies below which the given shares of the latest ones lie; `None` before the
    /// first.
    pub(super) fn quantiles<const N: usize>(&self, shares: [f64; N]) -> Option<[Duration; N]> {
        let mut sorted: Vec<_> = self.latest.iter().copied().collect();
        sorted.sort_unstable();
        let last = sorted.len().checked_sub(1)?;
        Some(shares.map(|share| sorted[(share * last as f64).round() as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_is_the_growth_a_second() {
        let mut meter = RateMeter::default();
        assert_eq!(meter.rate(), 0.0);
        for tick in 0..100_u64 {
            meter.note(Duration::from_millis(500 * tick), 1_000 * tick);
        }
        assert_eq!(meter.rate(), 2_000.0);
        assert_eq!(meter.history().count(), RATE_SAMPLES);
    }

    #[test]
    fn quantiles_are_of_the_latest() {
        let mut meter = LatencyMeter::default();
        assert!(meter.quantiles([0.5]).is_none());
        for ms in 0..2_000 {
            meter.note(Duration::from_millis(ms));
        }
        let [low, middle, high] = meter.quantiles([0.0, 0.5, 1.0]).expect("there are some");
        assert_eq!(low, Duration::from_millis(1_000));
        assert_eq!(middle, Duration::from_millis(1_500));
        assert_eq!(high, Duration::from_millis(1_999));
    }
}
