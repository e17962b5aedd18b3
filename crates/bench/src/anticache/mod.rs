//! Anti-caching: what tracking costs while everything is in memory, and data larger than memory beside
//! InnoDB, InnoDB behind memcached, and RocksDB.
//!
//! * [`tracking`]: the chain at alpha 0, 0.01 and 1 (Anti-Caching, section 4.3).
//! * The grid of the paper's Figure 6 ([`grid`]): data of 1, 2, 4 and 8 times the memory, skews from 0.5 to
//!   1.5, three mixes, and disk profiles.
//!
//! How the grid is run:
//!
//! 1. Every side is a process with the same memory limit ([`sides`], [`hedgerow_side`], the crate `peers`). The
//!    kernel counts all that the side needs: its servers, its clients, and the page cache. "Data" are keys
//!    and texts, 1,008 bytes a row; what a side takes beside them is its own affair.
//! 2. It loads once for each size, in the order of the keys, on the disk as it is, and is checked
//!    (`contender::ycsb`). Then it does the cells of the grid one after the other: for each profile the
//!    mixes, for each mix the skews, the highest first. All sides come to a cell by the same way, and before
//!    each they warm up. What updates have left behind (holes, dirty pages, levels to be merged) stays.
//! 3. Nothing counts before it is durable, if it has changed anything: command log, InnoDB's log and
//!    RocksDB's log are synced for groups of transactions. Ours trims its log by snapshots meanwhile.
//! 4. A cell's figure is the median of three windows right after each other.
//!
//! Ours runs in the process of its client, on one partition; RocksDB too, on all processors. InnoDB and
//! memcached are asked through Unix sockets, many transactions at a time. For each cell that memcached's share
//! of the memory counts with which it does best.

mod figures;
mod grid;
mod grid_figure;
mod hedgerow_side;
mod run;
mod sides;
#[cfg(test)]
mod tests;
mod tracking;

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::Scale;
use crate::choice::Choice;
use crate::limits::disk::{Disk, DiskProfile};
use crate::limits::memory::MemoryLimit;
use crate::limits::undo::AtEnd;
use crate::peers_program;
use crate::results::Results;
use crate::run_log::RunLog;

pub use grid::GridChoice;
use grid::Sizes;
pub use hedgerow_side::run as run_side;
use run::{Conditions, Run};
pub use sides::Side;

/// What is run, and where the outcome goes.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// How large.
    pub scale: Scale,
    /// Which parts.
    pub grid: &'a GridChoice,
    /// Written after each cell, the figure beside it.
    pub json: Option<&'a Path>,
    /// Runs that need not be run again.
    pub runs: Option<&'a Path>,
}

/// What came out so far.
#[derive(Debug)]
pub struct Outcome {
    /// Without the grid's figures.
    heading: Results,
    runs: Vec<Run>,
}

/// The experiment.
pub fn run(plan: Plan<'_>, choice: &Choice<Side>) -> Result<Outcome> {
    let sizes = Sizes::of(plan.scale);
    let log = RunLog::open(plan.runs, sizes.name)?;
    let sides = choice.sides(plan.scale, &[Side::Hedgerow]);
    let mut needs: Vec<_> = sides
        .iter()
        .flat_map(|side| side.needs())
        .copied()
        .collect();
    needs.dedup();
    let peers = match &needs[..] {
        [] => None,
        needs => Some(peers_program::build(needs)?),
    };
    let mut heading = Results::new("anticache", sizes.name);
    if !plan.grid.without_tracking {
        tracking::run(plan.scale, &mut heading)?;
    }
    let folder = TempDir::with_prefix("bench-anticache-")?;
    // Unmounts before the folder goes.
    let _undone = AtEnd;
    let disk = Disk::is_possible()
        .then(|| Disk::make(folder.path(), sizes.disk_bytes()))
        .transpose()?;
    let profiles = match disk {
        Some(_) => plan.grid.profiles(plan.scale),
        None => vec![DiskProfile::Native],
    };
    let conditions = Conditions {
        place: disk.as_ref().map_or(folder.path(), Disk::path),
        disk: disk.as_ref(),
        sizes,
        peers,
    };
    sizes.note(&mut heading);
    heading.setting("disk profiles", disk.is_some());
    heading.setting(
        "memory limited",
        MemoryLimit::new("probe", 1 << 30).is_some(),
    );
    let mut outcome = Outcome {
        heading,
        runs: Vec::new(),
    };
    for times in plan.grid.times(&sizes) {
        for &side in &sides {
            let cells = plan.grid.cells(&profiles);
            let ended = conditions.run_all(side, times, &cells, &log, |run| {
                outcome.runs.push(run);
                plan.json.map_or(Ok(()), |path| outcome.write(path))
            });
            match ended {
                Err(error) if side == Side::Hedgerow => return Err(error),
                Err(error) => {
                    eprintln!("failed: {error:#}");
                    let name = format!("{side} failed, {times} x memory");
                    outcome.heading.setting(&name, format!("{error:#}"));
                }
                Ok(()) => {}
            }
        }
    }
    Ok(outcome)
}

impl Outcome {
    fn results(&self) -> Results {
        let mut results = self.heading.clone();
        figures::note(&mut results, &self.runs);
        results
    }

    /// Writes the JSON file, and the figure beside it.
    pub fn write(&self, json: &Path) -> Result<()> {
        self.results().write(json)?;
        let path = json.with_extension("svg");
        std::fs::write(&path, grid_figure::draw(&self.runs))
            .with_context(|| format!("could not write {}", path.display()))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.heading.fmt(f)?;
        figures::write_tables(f, &self.runs)
    }
}
