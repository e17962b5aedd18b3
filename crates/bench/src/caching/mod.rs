//! What merges leave of a cache: LSbM-tree's experiments (ICDCS 2017), with its rivals.
//!
//! Rows are read by eight readers and overwritten at a steady rate: see `contender::caching`. The sizes
//! stand to each other as in the paper, data : hot range : cache : C0 as 20 : 3 : 6 : 0.1. All sides
//! have the same cache, read directly, and have pages or blocks of 4 KiB with four rows; filters and
//! indexes are in memory beside it.
//!
//! * `rangehot`: 98 of 100 reads from one range of keys.
//! * `zipfian`: reads by Zipf distributions, a cache that is too small, about right and too large, and a
//!   hot range that moves.
//! * `rangescan`: short ranges instead of single keys, hot and cold.

mod figures;
mod hedgerow_side;
mod hit_ratio_figure;
mod key_value_cache;
mod load;
mod run;
mod side;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use contender::caching::CachingArguments;
use tempfile::TempDir;

use crate::Scale;
use crate::choice::Choice;
use crate::limits::disk::{Disk, DiskProfile};
use crate::limits::undo::AtEnd;
use crate::peers_program::{self, Needs};
use crate::results::Results;
use crate::run_log::RunLog;

use load::{Load, Sizes};
use run::{Conditions, Run};
pub use side::Side;

/// Which experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Experiment {
    /// One hot range.
    RangeHot,
    /// Zipf distributions, and a hot range that moves.
    Zipfian,
    /// Short ranges.
    RangeScan,
}

impl Experiment {
    fn name(self) -> &'static str {
        match self {
            Self::RangeHot => "rangehot",
            Self::Zipfian => "zipfian",
            Self::RangeScan => "rangescan",
        }
    }

    fn loads(self) -> Vec<Load> {
        match self {
            Self::RangeHot => vec![Load::range_hot()],
            Self::Zipfian => Load::zipfian(),
            Self::RangeScan => Load::range_scan(),
        }
    }
}

/// What came out so far.
#[derive(Debug)]
pub struct Outcome {
    /// Without figures.
    heading: Results,
    runs: Vec<Run>,
}

/// What is run, and where the outcome goes.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Which experiment.
    pub experiment: Experiment,
    /// How large.
    pub scale: Scale,
    /// How often.
    pub seeds: u64,
    /// Written after each run, the figure beside it.
    pub json: Option<&'a Path>,
    /// Runs that need not be run again.
    pub runs: Option<&'a Path>,
}

/// Runs an experiment, once for each seed.
pub fn run(plan: Plan<'_>, choice: &Choice<Side>) -> Result<Outcome> {
    let sizes = Sizes::of(plan.scale);
    let log = RunLog::open(plan.runs, sizes.name)?;
    let sides = match plan.scale {
        Scale::Quick => choice.sides(plan.scale, &[Side::Hedgerow, Side::PlainLsm]),
        Scale::Full => choice.sides(plan.scale, &Side::own()),
    };
    let with_peers = sides.iter().any(|side| side.is_rocksdb());
    let peers = with_peers
        .then(|| peers_program::build(&[Needs::Rocksdb]))
        .transpose()?;
    let folder = TempDir::with_prefix("bench-caching-")?;
    // Unmounts before the folder goes.
    let _undone = AtEnd;
    let disk = Disk::is_possible()
        .then(|| Disk::make(folder.path(), sizes.disk_bytes()))
        .transpose()?;
    let conditions = Conditions {
        place: disk.as_ref().map_or(folder.path(), Disk::path),
        disk: disk.as_ref(),
        profile: disk
            .as_ref()
            .map_or(DiskProfile::Native, |_| DiskProfile::Cloud),
        sizes,
        peers,
    };
    let mut heading = Results::new(plan.experiment.name(), sizes.name);
    sizes.note(&mut heading, plan.seeds, disk.is_some());
    let mut outcome = Outcome {
        heading,
        runs: Vec::new(),
    };
    for load in plan.experiment.loads() {
        for seed in 1..=plan.seeds {
            for &side in &sides {
                let run = run_once(&conditions, &log, side, &load, seed)?;
                outcome.runs.push(run);
                plan.json.map_or(Ok(()), |path| outcome.write(path))?;
            }
        }
    }
    Ok(outcome)
}

/// Runs a side, unless that was done.
fn run_once(
    conditions: &Conditions<'_>,
    log: &RunLog<Run>,
    side: Side,
    load: &Load,
    seed: u64,
) -> Result<Run> {
    if let Some(run) = log.find(|run| run.is(side, load, seed)) {
        return Ok(run.clone());
    }
    eprintln!("{}, seed {seed}: {side}", load.name);
    let run = conditions.run(side, load, seed)?;
    log.add(&run)?;
    Ok(run)
}

/// A side that this program is: runs, and prints the report.
pub fn run_side(side: Side, arguments: &CachingArguments) -> Result<()> {
    hedgerow_side::run(side, arguments)
}

impl Outcome {
    fn results(&self) -> Results {
        let mut results = self.heading.clone();
        figures::note(&mut results, &self.runs);
        results
    }

    /// Writes the JSON file, and the figure beside it.
    fn write(&self, json: &Path) -> Result<()> {
        self.results().write(json)?;
        let path = json.with_extension("svg");
        std::fs::write(&path, hit_ratio_figure::draw(&self.runs))
            .with_context(|| format!("could not write {}", path.display()))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.results().fmt(f)
    }
}
