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
use crate::results::Results;
use crate::weather::peers_program;

use load::{Load, Sizes};
use run::{Conditions, Run};
pub use side::{OwnSide, Side};

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

/// What came out.
#[derive(Debug)]
pub struct Outcome {
    results: Results,
    runs: Vec<Run>,
}

/// Runs an experiment, once for each seed.
pub fn run(
    experiment: Experiment,
    scale: Scale,
    seeds: u64,
    choice: &Choice<Side>,
) -> Result<Outcome> {
    let sizes = Sizes::of(scale);
    let sides = match scale {
        Scale::Quick => choice.sides(scale, &[Side::Hedgerow, Side::PlainLsm]),
        Scale::Full => choice.sides(scale, &Side::own()),
    };
    let with_peers = sides.iter().any(|side| side.is_rocksdb());
    let peers = with_peers.then(peers_program::build).transpose()?;
    let folder = TempDir::with_prefix("bench-caching-")?;
    // Unmounts before the folder goes.
    let _undone = AtEnd;
    let disk = Disk::is_possible()
        .then(|| Disk::make(folder.path(), sizes.disk_bytes()))
        .transpose()?;
    let mut results = Results::new(experiment.name(), sizes.name);
    sizes.note(&mut results, seeds, disk.is_some());
    let conditions = Conditions {
        place: disk.as_ref().map_or(folder.path(), Disk::path),
        disk: disk.as_ref(),
        profile: disk
            .as_ref()
            .map_or(DiskProfile::Native, |_| DiskProfile::Cloud),
        sizes,
        peers,
    };
    let mut runs = Vec::new();
    for load in experiment.loads() {
        for seed in 1..=seeds {
            for &side in &sides {
                eprintln!("{}, seed {seed}: {side}", load.name);
                runs.push(conditions.run(side, &load, seed)?);
            }
        }
    }
    figures::note(&mut results, &runs);
    Ok(Outcome { results, runs })
}

/// A side that this program is: runs, and prints the report.
pub fn run_side(side: OwnSide, arguments: &CachingArguments) -> Result<()> {
    hedgerow_side::run(side, arguments)
}

impl Outcome {
    /// Writes the JSON file, and the figure beside it.
    pub fn write(&self, json: &Path) -> Result<()> {
        self.results.write(json)?;
        let path = json.with_extension("svg");
        std::fs::write(&path, hit_ratio_figure::draw(&self.runs))
            .with_context(|| format!("could not write {}", path.display()))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.results.fmt(f)
    }
}
