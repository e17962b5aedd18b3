//! A thousand trees in one store, two hundred of them written: does memory stay within its limit,
//! and does each tree get the merges that it needs?
//!
//! 1. The tables are those of tenants with the same applications ([`shapes`]): few are large,
//!    many small ([`tables`]). They are loaded.
//! 2. A fifth of them change, few of them often and many seldom, in batches over many tables as a
//!    replica gets them: rows come, change and go ([`history`]). Meanwhile rows of all tables are
//!    looked up and scanned, and each answer is checked ([`reader`]).
//! 3. Each tree is watched: how many runs it has, and how long it waits for a merge
//!    ([`starvation`]).
//!
//! All this is one process ([`side`]) with a memory limit, on a disk with a profile; one profile
//! after the other.
//!
//! Does not: have peers.

mod figures;
mod history;
mod permutation;
mod reader;
mod report;
mod rows_maker;
mod shape;
mod shapes;
mod side;
mod starvation;
mod tables;

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::Args;
use tempfile::TempDir;

use crate::Scale;
use crate::limits::disk::{Disk, DiskProfile};
use crate::limits::memory::MemoryLimit;
use crate::limits::undo::AtEnd;
use crate::results::Results;
use crate::side_process;

use figures::Run;
pub use side::run as run_side;
use tables::BATCH_ROWS;

/// How many tables and rows.
#[derive(Clone, Copy, Debug, Args)]
pub struct Sizes {
    /// Tables
    #[arg(long)]
    tables: usize,
    /// Tables that are written to
    #[arg(long)]
    written: usize,
    /// Rows of all tables before
    #[arg(long)]
    rows_before: u64,
    /// Changes of all tables
    #[arg(long)]
    rows: u64,
}

impl Sizes {
    fn batches(&self) -> u64 {
        self.rows / BATCH_ROWS
    }

    fn arguments(&self) -> [String; 8] {
        let Self {
            tables,
            written,
            rows_before,
            rows,
        } = self;
        [
            "--tables".to_owned(),
            tables.to_string(),
            "--written".to_owned(),
            written.to_string(),
            "--rows-before".to_owned(),
            rows_before.to_string(),
            "--rows".to_owned(),
            rows.to_string(),
        ]
    }
}

/// Sizes of a run.
#[derive(Clone, Copy, Debug)]
struct Plan {
    name: &'static str,
    sizes: Sizes,
    memory_bytes: u64,
    profiles: &'static [DiskProfile],
}

/// More than a row of any shape takes, compressed or not, and what merges write meanwhile.
const ROW_BYTES_MAX: u64 = 300;

impl Plan {
    fn of(scale: Scale) -> Self {
        let (tables, written) = (1_000, 200);
        match scale {
            Scale::Quick => Self {
                name: "quick",
                sizes: Sizes {
                    tables,
                    written,
                    rows_before: 1_000_000,
                    rows: 3_000_000,
                },
                // A thousand trees take about 100 MiB beside C0, cache and filters.
                memory_bytes: 256 << 20,
                profiles: &[DiskProfile::Native],
            },
            Scale::Full => Self {
                name: "full",
                sizes: Sizes {
                    tables,
                    written,
                    rows_before: 10_000_000,
                    rows: 15_000_000,
                },
                memory_bytes: 384 << 20,
                profiles: &[DiskProfile::Native, DiskProfile::Cloud],
            },
        }
    }

    fn disk_bytes(&self) -> u64 {
        (self.sizes.rows_before + self.sizes.rows) * ROW_BYTES_MAX + (2 << 30)
    }
}

/// Runs the experiment.
pub fn run(scale: Scale) -> Result<Results> {
    let plan = Plan::of(scale);
    let folder = TempDir::with_prefix("bench-many-trees-")?;
    // Unmounts before the folder goes.
    let _undone = AtEnd;
    let disk = Disk::is_possible()
        .then(|| Disk::make(folder.path(), plan.disk_bytes()))
        .transpose()?;
    let mut results = Results::new("many-trees", plan.name);
    note_settings(&mut results, &plan, disk.is_some());
    for &profile in plan.profiles {
        match &disk {
            Some(disk) => {
                disk.trim()?;
                disk.set_profile(profile)?;
            }
            None if profile != DiskProfile::Native => continue,
            None => {}
        }
        let place = disk.as_ref().map_or(folder.path(), Disk::path);
        match run_one(&plan, profile, place) {
            Ok(run) => figures::note(&mut results, &run),
            // The kernel ends a process that exceeds its limit: that costs this profile's figures.
            Err(error) => {
                eprintln!("failed: {error:#}");
                results.setting(&format!("{profile}: failed"), format!("{error:#}"));
            }
        }
    }
    Ok(results)
}

fn run_one(plan: &Plan, profile: DiskProfile, place: &Path) -> Result<Run> {
    eprintln!("disk profile {profile}: tables are loaded, written and read");
    let folder = place.join("trees");
    let limit = MemoryLimit::new(&format!("many-trees-{profile}"), plan.memory_bytes);
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("many-trees-side").args(plan.sizes.arguments());
    let command = side_process::within(command, &folder, plan.memory_bytes, limit.as_ref());
    let report = side_process::feed(command, |_| Ok(()));
    // Also of one that failed: the next one needs the room.
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    Ok(Run {
        profile,
        memory_bytes: plan.memory_bytes,
        memory_bytes_max: limit.map(|limit| limit.bytes_max()).transpose()?,
        report: report?,
    })
}

fn note_settings(results: &mut Results, plan: &Plan, profiles: bool) {
    results.setting("tables", plan.sizes.tables);
    results.setting("tables written to", plan.sizes.written);
    results.setting("rows before", plan.sizes.rows_before);
    results.setting("changes", plan.sizes.rows);
    results.setting("memory limit, MiB", plan.memory_bytes >> 20);
    results.setting("disk profiles", profiles);
    let limited = MemoryLimit::new("probe", 1 << 30).is_some();
    results.setting("memory limited", limited);
}

#[cfg(test)]
mod tests;
