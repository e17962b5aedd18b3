//! Weather readings inserted in random order, under a memory limit: Rose's experiment.
//!
//! 1. Rows of the weather schema (Table 4; `pages/weather` tells how they are made and why they
//!    are no easier to compress than a real station's) are put in random order.
//! 2. Every side runs as a process of its own with a memory limit, on a disk with a profile, one
//!    after the other. It reads the rows from its standard input, inserts them in batches, and
//!    reports what it saw: see the crate `contender`. Then its folder goes, and the disk is as
//!    empty for the next one as it was for it.
//! 3. The clock runs from the first row until the last one is durable. Then merges end, and what
//!    is on disk counts as live data.
//!
//! InnoDB would take many hours over all rows, because it gets ever slower. It inserts for a
//! limited time, and its rate at the end of that counts: that is in its favour, because it only
//! falls further with size.
//!
//! Two baselines are our own engine under other merge policies: Rose as it was published, and stepped
//! merge.

mod figures;
pub mod hedgerow_side;
mod live_data;
pub mod rows;
pub mod run;
pub mod side;
mod throughput;

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::Scale;
use crate::choice::Choice;
use crate::limits::disk::{Disk, DiskProfile};
use crate::limits::memory::MemoryLimit;
use crate::limits::undo::AtEnd;
use crate::pages::weather;
use crate::peers_program::{self, Needs};
use crate::results::Results;

pub use hedgerow_side::run as run_side;
use live_data::LiveData;
use rows::ShuffledRows;
use run::{Conditions, Run};
pub use side::{OwnSide, Side};

/// Sizes of a run.
#[derive(Clone, Copy, Debug)]
struct Plan {
    name: &'static str,
    rows: usize,
    memory_bytes: u64,
    /// How long InnoDB inserts.
    innodb_seconds_max: u64,
}

impl Plan {
    fn of(scale: Scale) -> Self {
        match scale {
            Scale::Quick => Self {
                name: "quick",
                rows: 3_000_000,
                memory_bytes: 96 << 20,
                innodb_seconds_max: 40,
            },
            Scale::Full => Self {
                name: "full",
                rows: 100_000_000,
                memory_bytes: 384 << 20,
                innodb_seconds_max: 600,
            },
        }
    }

    /// Room for rows that are not compressed at all, twice, and for a server's own files.
    fn disk_bytes(&self) -> u64 {
        2 * (self.rows * contender::record::RECORD_BYTES) as u64 + (2 << 30)
    }
}

/// What came out.
#[derive(Debug)]
pub struct Outcome {
    results: Results,
    runs: Vec<Run>,
}

/// Runs the experiment.
pub fn run(scale: Scale, choice: &Choice<Side>) -> Result<Outcome> {
    let plan = Plan::of(scale);
    let sides = choice.sides(scale, &[Side::Hedgerow]);
    let mut needs = Vec::new();
    if sides.iter().any(|side| side.is_rocksdb()) {
        needs.push(Needs::Rocksdb);
    }
    if sides.contains(&Side::Innodb) {
        needs.push(Needs::Mariadb);
    }
    let peers = match &needs[..] {
        [] => None,
        needs => Some(peers_program::build(needs)?),
    };
    let folder = TempDir::with_prefix("bench-weather-")?;
    // Unmounts before the folder goes.
    let _undone = AtEnd;
    let mut results = Results::new("weather", plan.name);
    eprintln!("making {} rows in random order", plan.rows);
    let rows = ShuffledRows::of(&weather::data_set(plan.rows)?);
    let live_data = LiveData::measure(&rows, lsm::StoreOptions::default().page_bytes)?;

    let disk = Disk::is_possible()
        .then(|| Disk::make(folder.path(), plan.disk_bytes()))
        .transpose()?;
    let conditions = Conditions {
        place: disk.as_ref().map_or(folder.path(), Disk::path),
        memory_bytes: plan.memory_bytes,
        innodb_seconds_max: plan.innodb_seconds_max,
        peers,
    };
    note_settings(&mut results, plan, disk.is_some(), rows.count());
    if sides.contains(&Side::Innodb) {
        let most = format!(
            "{} s; its rate at the end counts, which is in its favour: it only falls with size",
            plan.innodb_seconds_max
        );
        results.setting("innodb inserts for", most);
    }
    let runs = run_all(&mut results, &conditions, disk.as_ref(), &sides, &rows)?;
    figures::note(&mut results, &runs, &live_data, plan.memory_bytes);
    Ok(Outcome { results, runs })
}

/// Runs all sides under all profiles that can be had. A peer that fails is missed in the figures
/// and noted; it costs nobody else's.
fn run_all(
    results: &mut Results,
    conditions: &Conditions,
    disk: Option<&Disk>,
    sides: &[Side],
    rows: &ShuffledRows,
) -> Result<Vec<Run>> {
    let profiles: &[_] = match disk {
        Some(_) => &[DiskProfile::Native, DiskProfile::Cloud],
        None => &[DiskProfile::Native],
    };
    let mut runs = Vec::new();
    for &profile in profiles {
        for &side in sides {
            if let Some(disk) = disk {
                disk.trim()?;
                disk.set_profile(profile)?;
            }
            eprintln!("disk profile {profile}: {side} inserts");
            match conditions.run(side, profile, rows) {
                Ok(run) => runs.push(run),
                Err(error) if side == Side::Hedgerow => return Err(error),
                Err(error) => {
                    eprintln!("failed: {error:#}");
                    results.setting(&format!("{profile}: {side} failed"), format!("{error:#}"));
                }
            }
        }
    }
    Ok(runs)
}

fn note_settings(results: &mut Results, plan: Plan, profiles: bool, rows: usize) {
    results.setting("rows", rows);
    results.setting("memory limit, MiB", plan.memory_bytes >> 20);
    results.setting(
        "memory limited",
        MemoryLimit::new("probe", 1 << 30).is_some(),
    );
    results.setting("disk profiles", profiles);
}

impl Outcome {
    /// Writes the JSON file, and the figure beside it.
    pub fn write(&self, json: &Path) -> Result<()> {
        self.results.write(json)?;
        let path = json.with_extension("svg");
        std::fs::write(&path, throughput::draw(&self.runs))
            .with_context(|| format!("could not write {}", path.display()))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.results.fmt(f)
    }
}

#[cfg(test)]
mod tests;
