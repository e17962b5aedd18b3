//! Weather readings inserted in random order, under a memory limit: Rose's experiment.
//!
//! 1. Rows of the weather schema (Table 4; `pages/weather` tells how they are made and why they
//!    are no easier to compress than a real station's) are put in random order.
//! 2. A contender runs as a process of its own with a memory limit, on a disk with a profile. It
//!    reads the rows from its standard input, inserts them in batches of [`BATCH_ROWS`], and
//!    reports what it saw: see `report`.
//! 3. The clock runs from the first row until the last one is durable. Then merges end, and what
//!    is on disk counts as live data.
//!
//! Does not yet: run peers, and Rose as published. Without them nothing here is a ratio.

mod contender;
mod hedgerow_side;
mod report;
mod rows;

use anyhow::Result;
use tempfile::TempDir;

use crate::Scale;
use crate::limits::disk::{Disk, DiskProfile};
use crate::limits::memory::MemoryLimit;
use crate::limits::undo::AtEnd;
use crate::results::Results;

pub use hedgerow_side::{SideArguments, run as run_side};
use report::Report;
use rows::ShuffledRows;

/// Rows of a batch, which becomes visible at once.
const BATCH_ROWS: usize = 1_000;

/// Rows of a window, of which the slowest counts.
const WINDOW_ROWS: usize = 100_000;

/// Sizes of a run.
#[derive(Clone, Copy, Debug)]
struct Plan {
    name: &'static str,
    rows: usize,
    memory_bytes: u64,
}

impl Plan {
    fn of(scale: Scale) -> Self {
        match scale {
            Scale::Quick => Self {
                name: "quick",
                rows: 3_000_000,
                memory_bytes: 96 << 20,
            },
            Scale::Full => Self {
                name: "full",
                rows: 100_000_000,
                memory_bytes: 384 << 20,
            },
        }
    }

    /// Room for rows that are not compressed at all, twice.
    fn disk_bytes(&self) -> u64 {
        2 * (self.rows * rows::RECORD_BYTES) as u64 + (1 << 30)
    }
}

/// Runs the experiment.
pub fn run(scale: Scale) -> Result<Results> {
    let plan = Plan::of(scale);
    let folder = TempDir::with_prefix("bench-weather-")?;
    // Unmounts before the folder goes.
    let _undone = AtEnd;
    let mut results = Results::new("weather", plan.name);
    eprintln!("making {} rows in random order", plan.rows);
    let rows = ShuffledRows::make(plan.rows)?;
    results.setting("rows", rows.count());
    results.setting("memory limit, MiB", plan.memory_bytes >> 20);

    let disk = Disk::is_possible()
        .then(|| Disk::make(folder.path(), plan.disk_bytes()))
        .transpose()?;
    let profiles: &[_] = match disk {
        Some(_) => &[DiskProfile::Native, DiskProfile::Cloud],
        None => &[DiskProfile::Native],
    };
    let place = disk.as_ref().map_or(folder.path(), Disk::path);
    for profile in profiles {
        if let Some(disk) = &disk {
            disk.set_profile(*profile)?;
        }
        eprintln!("inserting, disk profile {profile}");
        let limit = MemoryLimit::new(&format!("weather-{profile}"), plan.memory_bytes);
        let report = contender::run(&rows, place, limit.as_ref(), plan.memory_bytes)?;
        note(&mut results, &profile.to_string(), &report);
    }
    Ok(results)
}

/// Notes what a contender reported under a disk profile.
fn note(results: &mut Results, profile: &str, report: &Report) {
    let mut figure = |name: &str, value, unit| {
        results.figure(&format!("{profile}: {name}"), value, unit, None);
    };
    figure("inserts", report.rate(), "rows/s");
    figure("inserts, last tenth", report.rate_at_end(), "rows/s");
    figure("slowest window / mean", report.slowest_window(), "x");
    figure("batch p99.99", report.batch_ms_p9999, "ms");
    figure("slowest batch", report.batch_ms_max, "ms");
    figure("on disk", report.bytes_a_row(), "B/row");
    figure("most on disk / live", report.space_max(), "x");
    figure("write amplification", report.write_amplification(), "x");
    figure("merges went on for", report.settle_seconds, "s");
}
