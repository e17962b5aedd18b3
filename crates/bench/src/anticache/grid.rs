//! The cells of the grid, and how large everything is.

use std::fmt;

use clap::Args;
use contender::ycsb::Task;
use contender::ycsb::row::DATA_BYTES;
use serde::{Deserialize, Serialize};

use crate::Scale;
use crate::limits::disk::DiskProfile;
use crate::results::Results;

/// The paper's skews, the highest first: what it needs in memory is most of what the next one needs.
const SKEWS: [f64; 5] = [1.5, 1.25, 1.0, 0.75, 0.5];

/// The paper's mixes.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mix {
    /// Reads alone.
    ReadOnly,
    /// One transaction of ten updates.
    ReadHeavy,
    /// Every other one does.
    WriteHeavy,
}

impl Mix {
    /// All, in the order of the paper.
    pub const ALL: [Self; 3] = [Self::ReadOnly, Self::ReadHeavy, Self::WriteHeavy];

    /// The share of updates.
    pub fn updates(self) -> f64 {
        match self {
            Self::ReadOnly => 0.0,
            Self::ReadHeavy => 0.1,
            Self::WriteHeavy => 0.5,
        }
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadOnly => "read-only",
            Self::ReadHeavy => "read-heavy",
            Self::WriteHeavy => "write-heavy",
        })
    }
}

/// What a side does with its data.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Cell {
    /// What the disk may do.
    pub profile: DiskProfile,
    /// The mix.
    pub mix: Mix,
    /// The skew of the keys.
    pub skew: f64,
}

impl Cell {
    /// Each cell draws keys of its own, which are the same for all sides: with those of a cell before, what they brought into
    /// memory would be found there, seldom as each of them is wanted.
    fn seed(&self) -> u64 {
        let skew = (self.skew * 100.0) as u64;
        skew << 16 | (self.mix as u64) << 8 | self.profile as u64
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { profile, mix, skew } = self;
        write!(f, "{profile}, {mix}, skew {skew}")
    }
}

/// Which parts of the grid are run.
#[derive(Clone, Debug, Default, Args)]
pub struct GridChoice {
    /// Runs only data of so many times the memory; may be given again
    #[arg(long)]
    times: Vec<u64>,
    /// Runs only this skew; may be given again
    #[arg(long)]
    skew: Vec<f64>,
    /// Runs only this disk profile; may be given again
    #[arg(long, value_enum)]
    profile: Vec<DiskProfile>,
    /// Leaves out what tracking costs
    #[arg(long)]
    pub without_tracking: bool,
}

impl GridChoice {
    /// Data by memory.
    pub fn times(&self, sizes: &Sizes) -> Vec<u64> {
        match &self.times[..] {
            [] => sizes.times.to_vec(),
            chosen => chosen.to_vec(),
        }
    }

    /// Disk profiles.
    pub fn profiles(&self, scale: Scale) -> Vec<DiskProfile> {
        match (&self.profile[..], scale) {
            ([], Scale::Quick) => vec![DiskProfile::Native],
            ([], Scale::Full) => vec![DiskProfile::Native, DiskProfile::Cloud],
            (chosen, _) => chosen.to_vec(),
        }
    }

    /// The cells, in the order in which they are run.
    pub fn cells(&self, profiles: &[DiskProfile]) -> Vec<Cell> {
        let skews = match &self.skew[..] {
            [] => &SKEWS[..],
            chosen => chosen,
        };
        let mut cells = Vec::new();
        for &profile in profiles {
            for mix in Mix::ALL {
                cells.extend(skews.iter().map(|&skew| Cell { profile, mix, skew }));
            }
        }
        cells
    }
}

/// How large.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Of the scale.
    pub name: &'static str,
    /// The memory limit.
    pub memory_bytes: u64,
    /// Data by memory.
    times: &'static [u64],
    warm_seconds: f64,
    window_seconds: f64,
}

/// Windows of which the median is taken.
const WINDOWS: usize = 3;

impl Sizes {
    /// Those of a scale.
    pub fn of(scale: Scale) -> Self {
        match scale {
            Scale::Quick => Self {
                name: "quick",
                memory_bytes: 128 << 20,
                times: &[8],
                warm_seconds: 0.3,
                window_seconds: 0.2,
            },
            Scale::Full => Self {
                name: "full",
                memory_bytes: 512 << 20,
                times: &[1, 2, 4, 8],
                // `cloud` fills the memory with pages of 16 KiB in ten seconds; it was filled by the cell
                // before, and most of that is wanted.
                warm_seconds: 8.0,
                window_seconds: 4.0,
            },
        }
    }

    /// Rows of data so many times as large as the memory.
    pub fn rows(&self, times: u64) -> u64 {
        times * self.memory_bytes / DATA_BYTES as u64
    }

    /// What is done in a cell.
    pub fn task(&self, cell: &Cell) -> Task {
        Task {
            updates: cell.mix.updates(),
            skew: cell.skew,
            warm_seconds: self.warm_seconds,
            windows: WINDOWS,
            window_seconds: self.window_seconds,
            seed: cell.seed(),
        }
    }

    /// Room for the largest data twice, and for logs and snapshots.
    pub fn disk_bytes(&self) -> u64 {
        let most = self.times.iter().max().copied().unwrap_or_default();
        (3 * most + 16) * self.memory_bytes + (2 << 30)
    }

    /// Notes them.
    pub fn note(&self, results: &mut Results) {
        results.setting("memory limit, MiB", self.memory_bytes >> 20);
        results.setting("bytes of a row's key and texts", DATA_BYTES);
        results.setting(
            "seconds of a cell",
            format!(
                "{} to warm up, {WINDOWS} times {}",
                self.warm_seconds, self.window_seconds
            ),
        );
    }
}
