//! Runs one side once.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use contender::caching::CachingReport;
use serde::{Deserialize, Serialize};

use super::load::{Load, Sizes};
use super::side::Side;
use crate::limits::disk::{Disk, DiskProfile};
use crate::limits::memory::MemoryLimit;
use crate::side_process::{self, feed};

/// What a side saw.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Run {
    /// Who.
    pub side: Side,
    /// The name of the load.
    pub load: String,
    /// What chance began with.
    pub seed: u64,
    /// What it saw.
    pub report: CachingReport,
}

impl Run {
    /// Whether it is the run of a side under a load with a seed.
    pub fn is(&self, side: Side, load: &Load, seed: u64) -> bool {
        (self.side, self.seed) == (side, seed) && self.load == load.name
    }
}

/// What all sides get.
#[derive(Debug)]
pub struct Conditions<'a> {
    /// Where the data go.
    pub place: &'a Path,
    /// The disk, where there can be one.
    pub disk: Option<&'a Disk>,
    /// What the disk may do.
    pub profile: DiskProfile,
    /// How large everything is.
    pub sizes: Sizes,
    /// The peers' program, once it is built.
    pub peers: Option<PathBuf>,
}

impl Conditions<'_> {
    /// Runs it.
    pub fn run(&self, side: Side, load: &Load, seed: u64) -> Result<Run> {
        if let Some(disk) = self.disk {
            disk.trim()?;
            disk.set_profile(self.profile)?;
        }
        let folder = self.place.join(side.to_string());
        let memory_bytes = self.sizes.memory_bytes();
        let limit = MemoryLimit::new(&format!("caching-{side}-{seed}"), memory_bytes);
        let command = side.command(self.peers.as_deref())?;
        let mut command = side_process::within(command, &folder, memory_bytes, limit.as_ref());
        self.sizes.add_arguments(&mut command, load, seed);
        let report = feed(command, |_| Ok(()));
        // Also of one that failed: the next one needs the room.
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        Ok(Run {
            side,
            load: load.name.clone(),
            seed,
            report: report.with_context(|| format!("{}, {side}", load.name))?,
        })
    }
}
