//! Runs a side: a process with a memory limit that loads, and then does cell after cell.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use contender::ycsb::{Loaded, TaskReport};
use serde::{Deserialize, Serialize};

use super::grid::{Cell, Sizes};
use super::sides::Side;
use crate::limits::disk::{Disk, DiskProfile};
use crate::limits::memory::MemoryLimit;
use crate::run_log::RunLog;
use crate::side_process::{self, Conversation};

/// What a side did in a cell.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Run {
    /// Who.
    pub side: Side,
    /// Data by memory.
    pub times: u64,
    /// Which cell.
    pub cell: Cell,
    /// What the side is.
    pub loaded: Loaded,
    /// What came out.
    pub report: TaskReport,
    /// Resident memory of all its processes afterwards, by the limit; where there is one.
    pub resident: Option<f64>,
}

/// What all sides get.
#[derive(Debug)]
pub struct Conditions<'a> {
    /// Where the data go.
    pub place: &'a Path,
    /// The disk, where there can be one.
    pub disk: Option<&'a Disk>,
    /// How large everything is.
    pub sizes: Sizes,
    /// The peers' program, once it is built.
    pub peers: Option<PathBuf>,
}

impl Conditions<'_> {
    /// Has a side do all cells that are not in the log; `note` gets each cell's run, known or new.
    pub fn run_all(
        &self,
        side: Side,
        times: u64,
        cells: &[Cell],
        log: &RunLog<Run>,
        mut note: impl FnMut(Run) -> Result<()>,
    ) -> Result<()> {
        let mut missing = Vec::new();
        for cell in cells {
            match log.find(|run| (run.side, run.times, run.cell) == (side, times, *cell)) {
                Some(run) => note(run.clone())?,
                None => missing.push(*cell),
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let folder = self.place.join(side.to_string());
        let ended = self.run_in(&folder, side, times, &missing, |run| {
            log.add(&run)?;
            note(run)
        });
        // Also of one that failed: the next one needs the room.
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        ended.with_context(|| format!("{side}, {times} x memory"))
    }

    fn run_in(
        &self,
        folder: &Path,
        side: Side,
        times: u64,
        cells: &[Cell],
        mut note: impl FnMut(Run) -> Result<()>,
    ) -> Result<()> {
        if let Some(disk) = self.disk {
            disk.trim()?;
        }
        eprintln!("{times} x memory: {side} loads");
        let memory_bytes = self.sizes.memory_bytes;
        let limit = MemoryLimit::new(&format!("anticache-{side}-{times}"), memory_bytes);
        let command = side.command(self.peers.as_deref())?;
        let mut command = side_process::within(command, folder, memory_bytes, limit.as_ref());
        command.args(["--rows", &self.sizes.rows(times).to_string()]);
        let mut conversation = Conversation::start(command)?;
        let loaded: Loaded = conversation.hear()?;
        for cell in cells {
            if let Some(disk) = self.disk {
                disk.set_profile(cell.profile)?;
            }
            let report: TaskReport = conversation.ask(&self.sizes.task(cell))?;
            let resident = limit
                .as_ref()
                .map(MemoryLimit::bytes_resident)
                .transpose()?;
            let rate = crate::results::median(&report.rates);
            eprintln!("{times} x memory, {cell}: {side} {rate:.0} a second");
            note(Run {
                side,
                times,
                cell: *cell,
                loaded: loaded.clone(),
                report,
                resident: resident.map(|bytes| bytes as f64 / memory_bytes as f64),
            })?;
        }
        if let Some(disk) = self.disk {
            // It may have to write a lot before it ends.
            disk.set_profile(DiskProfile::Native)?;
        }
        conversation.end()
    }
}
