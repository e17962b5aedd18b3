//! Slices of the soak, laid end to end: memory, disk and lag over time, drawn, and whether they drift.
//!
//! 1. `cargo xtask soak --timeline FILE` has written each slice while it ran.
//! 2. Drift is what the last quarter of a slice takes beyond its second one, medians of both; the first is for
//!    caches to fill and for the first merges. A slice's data has the same size from its beginning to its end, so
//!    that what grows is a leak.
//!
//! Does not: run anything.

mod figure;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use testbed::soak::{Moment, read_timeline};

use crate::results::median;

/// Part of the soak, run in one go.
#[derive(Debug)]
struct Slice {
    name: String,
    moments: Vec<Moment>,
}

impl Slice {
    fn read(file: &Path) -> Result<Self> {
        const MOMENTS_MIN: usize = 8;
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let moments = read_timeline(file)?;
        ensure!(
            moments.len() >= MOMENTS_MIN,
            "{name} has {} moments; for its drift {MOMENTS_MIN} are needed",
            moments.len()
        );
        Ok(Self {
            name: name.into_owned(),
            moments,
        })
    }

    fn seconds(&self) -> f64 {
        self.moments.last().map_or(0.0, |moment| moment.seconds)
    }

    /// A figure in the middle of the second and of the last quarter.
    fn early_and_late(&self, figure: fn(&Moment) -> f64) -> (f64, f64) {
        let quarter = |which: usize| {
            let (from, to) = (
                self.moments.len() * which / 4,
                self.moments.len() * (which + 1) / 4,
            );
            let figures: Vec<f64> = self.moments[from..to].iter().map(figure).collect();
            median(&figures)
        };
        (quarter(1), quarter(3))
    }

    fn most(&self, figure: fn(&Moment) -> f64) -> f64 {
        self.moments.iter().map(figure).fold(0.0, f64::max)
    }

    /// The lags, from the least.
    fn lags_ms(&self) -> Vec<f64> {
        let mut lags: Vec<f64> = self.moments.iter().filter_map(|m| m.lag_ms).collect();
        lags.sort_by(f64::total_cmp);
        lags
    }
}

fn resident_mib(moment: &Moment) -> f64 {
    mib(moment.resident_bytes)
}

fn disk_mib(moment: &Moment) -> f64 {
    mib(moment.disk_bytes)
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// A slice's line of the table.
impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (resident, disk) = (
            self.early_and_late(resident_mib),
            self.early_and_late(disk_mib),
        );
        let lags = self.lags_ms();
        let lag = |share: f64| {
            let last = lags.len().saturating_sub(1) as f64;
            lags.get((last * share) as usize).copied().unwrap_or(0.0)
        };
        write!(
            f,
            "{:<20} {:>7.2} {:>7} {:>9} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>8.0} {:>8.0} {:>8.0}",
            self.name,
            self.seconds() / 3_600.0,
            self.moments.last().map_or(0, |moment| moment.starts),
            self.moments.len() - lags.len(),
            resident.0,
            resident.1,
            self.most(resident_mib),
            disk.0,
            disk.1,
            self.most(disk_mib),
            lag(0.5),
            lag(0.99),
            lag(1.0),
        )
    }
}

/// Tells what the slices took, and draws them.
pub fn run(files: &[PathBuf], svg: &Path) -> Result<()> {
    let slices: Vec<Slice> = files
        .iter()
        .map(|file| Slice::read(file))
        .collect::<Result<_>>()?;
    println!(
        "{:<20} {:>7} {:>7} {:>9} {:^26} {:^26} {:^26}",
        "", "", "", "", "resident MiB", "disk MiB", "lag ms"
    );
    println!(
        "{:<20} {:>7} {:>7} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "slice",
        "hours",
        "starts",
        "no answer",
        "early",
        "late",
        "most",
        "early",
        "late",
        "most",
        "p50",
        "p99",
        "most"
    );
    slices.iter().for_each(|slice| println!("{slice}"));
    let hours = slices.iter().map(Slice::seconds).sum::<f64>() / 3_600.0;
    println!("{hours:.2} hours in {} slices", slices.len());
    fs::write(svg, figure::draw(&slices))
        .with_context(|| format!("could not write {}", svg.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(name: &str, resident_mib: impl Fn(u32) -> u64) -> Slice {
        let moment = |number: u32| Moment {
            seconds: f64::from(number) * 30.0,
            resident_bytes: resident_mib(number) << 20,
            disk_bytes: 7 << 20,
            lag_ms: (number != 10).then_some(f64::from(number + 1)),
            starts: 1 + number / 60,
        };
        Slice {
            name: name.to_owned(),
            moments: (0..=120).map(moment).collect(),
        }
    }

    #[test]
    fn what_grows_after_the_first_quarter_is_drift() {
        let warming = slice("warming", |number| u64::from(number.min(30)) * 10);
        assert_eq!(warming.early_and_late(resident_mib), (300.0, 300.0));
        let leaking = slice("leaking", u64::from);
        assert_eq!(leaking.early_and_late(resident_mib), (44.5, 105.0));
    }

    #[test]
    fn a_line_tells_hours_starts_and_moments_without_an_answer() {
        let line = slice("first", |_| 64).to_string();
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells[..4], ["first", "1.00", "3", "1"]);
        assert_eq!(cells[10..], ["61", "119", "121"]);
    }

    #[test]
    fn slices_lie_end_to_end_in_the_drawing() {
        let slices = [slice("first", |_| 64), slice("second", |_| 65)];
        let drawing = figure::draw(&slices);
        assert!(drawing.contains(">first</text>") && drawing.contains(">second</text>"));
        // Three curves of each slice; a lag has a gap where there was no answer.
        assert_eq!(drawing.matches("<polyline").count(), 8);
    }
}
