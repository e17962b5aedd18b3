//! How long most of many things took.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Milliseconds within which a share of them were done.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub struct Quantiles {
    /// How many there were.
    pub count: usize,
    /// Half.
    pub ms_p50: f64,
    /// 99 of 100.
    pub ms_p99: f64,
    /// 9,999 of 10,000.
    pub ms_p9999: f64,
    /// All.
    pub ms_max: f64,
}

impl Quantiles {
    /// Zeros where there are none.
    pub fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let Some(last) = times.len().checked_sub(1) else {
            return Self::default();
        };
        let ms = |index: usize| times[index].as_secs_f64() * 1e3;
        Self {
            count: times.len(),
            ms_p50: ms(last / 2),
            ms_p99: ms(last * 99 / 100),
            ms_p9999: ms(last * 9_999 / 10_000),
            ms_max: ms(last),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_took_less() {
        let found = Quantiles::of((0..=10_000).rev().map(Duration::from_millis).collect());
        let expected = [5_000.0, 9_900.0, 9_999.0, 10_000.0];
        let found = [found.ms_p50, found.ms_p99, found.ms_p9999, found.ms_max];
        assert!(
            found
                .iter()
                .zip(expected)
                .all(|(found, wanted)| (found - wanted).abs() < 1e-9)
        );
        assert_eq!(Quantiles::of(Vec::new()).count, 0);
    }
}
