//! Look-ups and scans of trees that do not fit in the cache, beside RocksDB and a Parquet file.
//!
//! 1. Every side is filled as in `weather`: the same rows in the same random order, by a process
//!    with a memory limit; then merges end. RocksDB is compacted to one level, because its
//!    iterator is served best so. Ours stays as its own merges leave it, that is what the goals
//!    are about, and takes part once more with all runs merged into one. The rows are written
//!    into a Parquet file, too, in key order.
//! 2. Every side reads in a process of its own, under each disk profile: see `contender::reading`.
//!    The driver makes up the keys and knows what every look-up and every scan has to find; each
//!    answer is checked.
//! 3. All sides read their files directly, past the page cache, and have a cache for an eighth of
//!    their own bytes on disk: so each has to read for about the same share of its keys, and the
//!    one that compresses best has the least memory. Filters and indexes are in memory beside it.
//! 4. In the end, under the native profile, a tenth of the rows is overwritten, and everything is
//!    scanned again at once, whatever merges have or have not been done by then.
//!
//! Does not: measure a mixed load.

mod arrays;
mod figures;
mod hedgerow_side;
mod input;
mod parquet_chunks;
mod parquet_side;
mod rates_figure;
mod run;
mod side;

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use contender::ReadingArguments;
use tempfile::TempDir;

use crate::Scale;
use crate::choice::Choice;
use crate::limits::disk::{Disk, DiskProfile};
use crate::limits::memory::MemoryLimit;
use crate::limits::undo::AtEnd;
use crate::pages::weather;
use crate::peers_program::{self, Needs};
use crate::results::Results;
use crate::weather::rows::ShuffledRows;

use input::Input;
use run::{Conditions, Run};
pub use side::{OwnSide, Side};

/// Sizes of a run.
#[derive(Clone, Copy, Debug)]
struct Plan {
    name: &'static str,
    rows: usize,
    memory_bytes: u64,
    /// Keys of each kind that are looked up, again and again.
    keys: usize,
    sample_ms: u64,
    /// The last one is that under which rows are overwritten.
    profiles: &'static [DiskProfile],
}

impl Plan {
    fn of(scale: Scale) -> Self {
        match scale {
            Scale::Quick => Self {
                name: "quick",
                rows: 2_000_000,
                memory_bytes: 96 << 20,
                keys: 100_000,
                sample_ms: 250,
                profiles: &[DiskProfile::Native],
            },
            Scale::Full => Self {
                name: "full",
                rows: 20_000_000,
                memory_bytes: 384 << 20,
                keys: 400_000,
                sample_ms: 1_000,
                profiles: &[DiskProfile::Cloud, DiskProfile::Native],
            },
        }
    }

    /// Room for rows that are not compressed at all, and for what merges write meanwhile, for
    /// all sides.
    fn disk_bytes(&self) -> u64 {
        4 * (self.rows * contender::record::RECORD_BYTES) as u64 + (2 << 30)
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
    let sides = choice.sides(
        scale,
        &[Side::Hedgerow, Side::HedgerowOneRun, Side::Parquet],
    );
    let with_peers = sides.iter().any(|side| side.is_rocksdb());
    let peers = with_peers
        .then(|| peers_program::build(&[Needs::Rocksdb]))
        .transpose()?;
    let folder = TempDir::with_prefix("bench-trees-")?;
    // Unmounts before the folder goes.
    let _undone = AtEnd;
    let disk = Disk::is_possible()
        .then(|| Disk::make(folder.path(), plan.disk_bytes()))
        .transpose()?;
    let conditions = Conditions {
        place: disk.as_ref().map_or(folder.path(), Disk::path),
        memory_bytes: plan.memory_bytes,
        sample_ms: plan.sample_ms,
        peers,
    };
    let (rows, input) = make_rows(plan, &conditions)?;
    let mut results = Results::new("trees", plan.name);
    note_settings(&mut results, plan, disk.is_some(), &rows, &input);
    let runs = run_all(&conditions, disk.as_ref(), plan, &sides, &rows, &input)?;
    figures::note(&mut results, &runs);
    Ok(Outcome { results, runs })
}

/// The rows, also as a file, and what readers are fed.
fn make_rows(plan: Plan, conditions: &Conditions<'_>) -> Result<(ShuffledRows, Input)> {
    eprintln!("making {} rows in random order", plan.rows);
    let data = weather::data_set(plan.rows)?;
    parquet_side::write(&data, &conditions.folder(Side::Parquet))?;
    let rows = ShuffledRows::of(&data);
    let input = Input::draw(&rows, plan.keys);
    Ok((rows, input))
}

/// Fills one side after the other, and has it read under all profiles that can be had.
fn run_all(
    conditions: &Conditions<'_>,
    disk: Option<&Disk>,
    plan: Plan,
    sides: &[Side],
    rows: &ShuffledRows,
    input: &Input,
) -> Result<Vec<Run>> {
    let mut runs = Vec::new();
    for &side in sides {
        eprintln!("{side} is filled");
        conditions.fill(side, rows)?;
        for &profile in plan.profiles {
            match disk {
                Some(disk) => disk.set_profile(profile)?,
                None if profile != DiskProfile::Native => continue,
                None => {}
            }
            eprintln!("disk profile {profile}: {side} reads");
            let is_last = plan.profiles.last() == Some(&profile);
            runs.push(conditions.read(side, profile, input, is_last)?);
        }
        std::fs::remove_dir_all(conditions.folder(side))?;
        if let Some(disk) = disk {
            disk.trim()?;
        }
    }
    Ok(runs)
}

fn note_settings(
    results: &mut Results,
    plan: Plan,
    profiles: bool,
    rows: &ShuffledRows,
    input: &Input,
) {
    results.setting("rows", rows.count());
    results.setting("rows overwritten", input.overwritten());
    results.setting("keys of each kind", input.keys());
    results.setting("sample of look-ups, ms", plan.sample_ms);
    results.setting("memory limit, MiB", plan.memory_bytes >> 20);
    results.setting(
        "memory limited",
        MemoryLimit::new("probe", 1 << 30).is_some(),
    );
    results.setting("disk profiles", profiles);
    results.setting(
        "cache",
        "1/8 of each side's own bytes on disk; filters and indexes beside it",
    );
    results.setting("reads", "direct, on all sides");
}

/// A side that this program is: reads, and prints the report.
pub fn run_side(side: OwnSide, arguments: &ReadingArguments) -> Result<()> {
    match side {
        OwnSide::Hedgerow => hedgerow_side::run(arguments, false),
        OwnSide::HedgerowOneRun => hedgerow_side::run(arguments, true),
        OwnSide::Parquet => parquet_side::run(arguments),
    }
}

impl Outcome {
    /// Writes the JSON file, and the figure beside it.
    pub fn write(&self, json: &Path) -> Result<()> {
        self.results.write(json)?;
        let path = json.with_extension("svg");
        std::fs::write(&path, rates_figure::draw(&self.runs))
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
