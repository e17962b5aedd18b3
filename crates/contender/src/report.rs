//! What a contender saw while it inserted, as one line of JSON.

use serde::{Deserialize, Serialize};

use crate::WINDOW_ROWS;
use crate::disk_use::Sample;

/// See the module.
#[derive(Debug, Deserialize, Serialize)]
pub struct Report {
    /// The contender's settings, in words.
    pub settings: String,
    /// Rows inserted.
    pub rows: usize,
    /// Seconds until each window of rows was inserted.
    pub window_ends: Vec<f64>,
    /// Seconds that the host took from the processors, all together, during each window; empty where nobody looked.
    pub window_stolen: Vec<f64>,
    /// Seconds until the last row was inserted.
    pub insert_seconds: f64,
    /// Seconds until all were durable.
    pub seconds: f64,
    /// Of batches of the usual size; a contender may take others.
    pub batch_times: Option<BatchTimes>,
    /// The same of windows during which the host took nothing.
    pub undisturbed_batch_times: Option<BatchTimes>,
    /// Rows inserted, and bytes on disk then.
    pub space: Vec<Sample>,
    /// Bytes on disk after all merges.
    pub bytes_at_end: u64,
    /// Bytes that were written in all.
    pub bytes_written: u64,
    /// Seconds that merges went on after the last insert.
    pub settle_seconds: f64,
}

/// How long batches took, milliseconds.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct BatchTimes {
    /// Of 10,000 batches all but one took less.
    pub ms_p9999: f64,
    /// The slowest.
    pub ms_max: f64,
}

impl BatchTimes {
    /// Of batches that took so many microseconds.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn of(micros: &[u32]) -> Self {
        let mut sorted = micros.to_vec();
        sorted.sort_unstable();
        let last = sorted.len() - 1;
        let ms = |index: usize| f64::from(sorted[index]) / 1_000.0;
        Self {
            ms_p9999: ms(last * 9_999 / 10_000),
            ms_max: ms(last),
        }
    }
}

/// Samples of space count once so many rows of all are there: a fraction of the data tells more of
/// the last flush than of merges.
const SPACE_FROM_SHARE: usize = 10;

impl Report {
    /// Rows a second, until all were durable.
    pub fn rate(&self) -> f64 {
        self.rows as f64 / self.seconds
    }

    /// Rows a second in the last tenth of the windows and the rows after them, which a contender
    /// whose time was up may have only few windows before.
    pub fn rate_at_end(&self) -> f64 {
        let windows = self.window_ends.len();
        let before = windows - windows.div_ceil(10);
        let begin = match before {
            0 => 0.0,
            before => self.window_ends[before - 1],
        };
        let rows = self.rows - before * WINDOW_ROWS;
        rows as f64 / (self.insert_seconds - begin)
    }

    /// Seconds that each window of rows took.
    pub fn window_seconds(&self) -> impl Iterator<Item = f64> {
        let begins = std::iter::once(&0.0).chain(&self.window_ends);
        let windows = self.window_ends.iter().zip(begins);
        windows.map(|(end, begin)| end - begin)
    }

    /// The rate of the slowest window, the mean rate of all being 1.
    pub fn slowest_window(&self) -> f64 {
        self.mean_window_seconds() / self.window_seconds().fold(0.0, f64::max)
    }

    /// The same among the windows during which the host took nothing from the processors, if there are any.
    pub fn slowest_undisturbed_window(&self) -> Option<f64> {
        let windows = self.window_seconds().zip(&self.window_stolen);
        let undisturbed = windows.filter(|(_, stolen)| **stolen == 0.0);
        let longest = undisturbed.map(|(seconds, _)| seconds).reduce(f64::max);
        longest.map(|longest| self.mean_window_seconds() / longest)
    }

    fn mean_window_seconds(&self) -> f64 {
        let end = self.window_ends.last().copied().unwrap_or(f64::NAN);
        end / self.window_ends.len() as f64
    }

    /// Seconds that the host took from the processors during all windows.
    pub fn stolen_seconds(&self) -> f64 {
        self.window_stolen.iter().sum()
    }

    /// Bytes on disk a row, in the end.
    pub fn bytes_a_row(&self) -> f64 {
        self.bytes_at_end as f64 / self.rows as f64
    }

    /// The most that was on disk at a time, what was live then being 1. `relative` is what a row
    /// takes when there are so many, what it takes in the end being 1.
    pub fn space_max(&self, relative: impl Fn(usize) -> f64) -> f64 {
        let counts = |&&(rows, _): &&Sample| rows * SPACE_FROM_SHARE >= self.rows;
        let live = |rows: usize| rows as f64 * relative(rows) * self.bytes_a_row();
        let share = |&(rows, bytes): &Sample| bytes as f64 / live(rows);
        self.space
            .iter()
            .filter(counts)
            .map(share)
            .fold(0.0, f64::max)
    }

    /// Bytes written for each that is there in the end.
    pub fn write_amplification(&self) -> f64 {
        self.bytes_written as f64 / self.bytes_at_end as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report {
            settings: String::new(),
            rows: 4 * WINDOW_ROWS,
            window_ends: vec![1.0, 2.0, 5.0, 6.0],
            window_stolen: vec![0.0, 0.25, 0.5, 0.0],
            insert_seconds: 6.0,
            seconds: 8.0,
            batch_times: None,
            undisturbed_batch_times: None,
            space: vec![
                (1, 1 << 40),
                (2 * WINDOW_ROWS, 3 << 20),
                (4 * WINDOW_ROWS, 5 << 20),
            ],
            bytes_at_end: 4 << 20,
            bytes_written: 6 << 20,
            settle_seconds: 0.0,
        }
    }

    #[test]
    fn windows_and_space_are_taken_against_the_mean() {
        let report = report();
        let is = |figure: f64, expected: f64| (figure - expected).abs() < 1e-9;
        assert!(is(report.rate(), WINDOW_ROWS as f64 / 2.0));
        assert!(is(report.rate_at_end(), WINDOW_ROWS as f64));
        assert!(is(report.slowest_window(), 0.5));
        assert!(is(report.slowest_undisturbed_window().unwrap(), 1.5));
        assert!(is(report.stolen_seconds(), 0.75));
        assert!(is(report.space_max(|_| 1.0), 1.5));
        assert!(is(report.space_max(|_| 1.25), 1.2));
        assert!(is(report.write_amplification(), 1.5));
    }

    #[test]
    fn rows_after_the_last_window_count_at_the_end() {
        let report = Report {
            rows: 4 * WINDOW_ROWS + WINDOW_ROWS / 2,
            insert_seconds: 9.0,
            ..report()
        };
        let expected = 1.5 * WINDOW_ROWS as f64 / 4.0;
        assert!((report.rate_at_end() - expected).abs() < 1e-9);
        let report = Report {
            rows: 10,
            window_ends: Vec::new(),
            insert_seconds: 5.0,
            ..report
        };
        assert!((report.rate_at_end() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn one_batch_of_ten_thousand_may_be_slower() {
        let mut micros = vec![1_000; 10_000];
        micros[3] = 50_000;
        let times = BatchTimes::of(&micros);
        assert!((times.ms_p9999 - 1.0).abs() < 1e-9);
        assert!((times.ms_max - 50.0).abs() < 1e-9);
    }
}
