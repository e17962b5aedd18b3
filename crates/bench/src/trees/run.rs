//! Has a side filled, and has it read.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use contender::{ReadingReport, Report, Scans};

use super::input::Input;
use super::side::Side;
use crate::limits::disk::DiskProfile;
use crate::limits::memory::MemoryLimit;
use crate::side_process::{self, feed};
use crate::weather::rows::ShuffledRows;

/// What a side did under a disk profile.
#[derive(Debug)]
pub struct Run {
    /// Who.
    pub side: Side,
    /// Where.
    pub profile: DiskProfile,
    /// What it saw.
    pub report: ReadingReport,
}

/// What all sides get.
#[derive(Debug)]
pub struct Conditions<'a> {
    /// Where the data go.
    pub place: &'a Path,
    /// The memory limit, bytes.
    pub memory_bytes: u64,
    /// How long a sample of look-ups takes, milliseconds.
    pub sample_ms: u64,
    /// The peers' program, once it is built.
    pub peers: Option<PathBuf>,
}

impl Conditions<'_> {
    /// A side's folder.
    pub fn folder(&self, side: Side) -> PathBuf {
        self.place.join(side.to_string())
    }

    /// Has the side's folder filled with all rows, in their random order, and all merges done.
    pub fn fill(&self, side: Side, rows: &ShuffledRows) -> Result<()> {
        let Some(contender) = side.filled_by() else {
            return Ok(());
        };
        let command = contender.command(self.peers.as_deref())?;
        let limit = MemoryLimit::new(&format!("trees-fill-{side}"), self.memory_bytes);
        let command = self.with_arguments(command, side, limit.as_ref());
        let report: Report = feed(command, |input| rows.write(input))?;
        ensure!(report.rows == rows.count(), "{side} lost rows");
        Ok(())
    }

    /// Has the side look up and scan and, if wanted, overwrite and scan again.
    pub fn read(
        &self,
        side: Side,
        profile: DiskProfile,
        input: &Input,
        overwrite: bool,
    ) -> Result<Run> {
        let command = side.reading_command(self.peers.as_deref())?;
        let limit = MemoryLimit::new(&format!("trees-{profile}-{side}"), self.memory_bytes);
        let mut command = self.with_arguments(command, side, limit.as_ref());
        let (keys, sample_ms) = (input.keys().to_string(), self.sample_ms.to_string());
        command.args(["--keys", &keys, "--sample-ms", &sample_ms]);
        if overwrite {
            command.arg("--overwrite");
        }
        let report: Result<ReadingReport> = feed(command, |out| input.write(overwrite, out));
        let report = report.with_context(|| format!("{side}, disk profile {profile}"))?;
        check(side, &report.scans, input, false)?;
        check(side, &report.fresh_scans, input, true)?;
        Ok(Run {
            side,
            profile,
            report,
        })
    }

    fn with_arguments(&self, command: Command, side: Side, limit: Option<&MemoryLimit>) -> Command {
        side_process::within(command, &self.folder(side), self.memory_bytes, limit)
    }
}

/// Scans must have found every cell.
fn check(side: Side, scans: &[Scans], input: &Input, after: bool) -> Result<()> {
    for Scans { wanted, cells, .. } in scans {
        let expected = input.scanned(*wanted, after);
        ensure!(
            *cells == expected,
            "{side} scanned {cells:?}, not {expected:?}"
        );
    }
    Ok(())
}
