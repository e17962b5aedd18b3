//! Timing on one core: medians of five.

use std::time::Instant;

use anyhow::Result;

/// Runs of which the median counts.
pub const RUNS: usize = 5;

/// Keeps this thread on one of the cores that it may use; false where that is not allowed.
pub fn stay_on_one_core() -> bool {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let last = cores.into_iter().next_back();
    last.is_some_and(core_affinity::set_for_current)
}

/// Seconds of five runs, after one that counts for nothing.
pub fn five(mut run: impl FnMut() -> Result<()>) -> Result<Vec<f64>> {
    run()?;
    let mut seconds = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let start = Instant::now();
        run()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    Ok(seconds)
}

/// Gigabytes (10^9) a second, of each run.
pub fn gigabytes_a_second(bytes: usize, seconds: &[f64]) -> Vec<f64> {
    let rate = |&seconds: &f64| bytes as f64 / 1e9 / seconds;
    seconds.iter().map(rate).collect()
}

/// Nanoseconds an operation, of each run.
pub fn nanoseconds_each(operations: usize, seconds: &[f64]) -> Vec<f64> {
    let each = |&seconds: &f64| seconds * 1e9 / operations as f64;
    seconds.iter().map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_runs_count_and_a_sixth_goes_before() -> Result<()> {
        let mut runs = 0;
        let seconds = five(|| {
            runs += 1;
            Ok(())
        })?;
        assert_eq!((runs, seconds.len()), (RUNS + 1, RUNS));
        Ok(())
    }

    #[test]
    fn rates_are_of_uncompressed_bytes() {
        let rates = gigabytes_a_second(3_000_000_000, &[1.0, 2.0]);
        assert!((rates[0] - 3.0).abs() < 1e-9 && (rates[1] - 1.5).abs() < 1e-9);
        assert!((nanoseconds_each(1_000, &[1e-6])[0] - 1.0).abs() < 1e-9);
    }
}
