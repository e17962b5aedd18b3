//! Runs a side: a process with a memory limit that is fed rows and reports.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use contender::Report;

use super::rows::ShuffledRows;
use super::side::Side;
use crate::limits::disk::DiskProfile;
use crate::limits::memory::MemoryLimit;
use crate::side_process::{self, feed};

/// What a side did under a disk profile.
#[derive(Debug)]
pub struct Run {
    /// Who.
    pub side: Side,
    /// Where.
    pub profile: DiskProfile,
    /// What it saw.
    pub report: Report,
}

/// What all sides get.
#[derive(Debug)]
pub struct Conditions<'a> {
    /// Where the data go.
    pub place: &'a Path,
    /// The memory limit, bytes.
    pub memory_bytes: u64,
    /// How long InnoDB inserts, seconds.
    pub innodb_seconds_max: u64,
    /// The peers' program, once it is built.
    pub peers: Option<PathBuf>,
}

impl Conditions<'_> {
    /// Has a side insert the rows into a folder of its own, which then goes.
    pub fn run(&self, side: Side, profile: DiskProfile, rows: &ShuffledRows) -> Result<Run> {
        let folder = self.place.join(side.to_string());
        let limit = MemoryLimit::new(&format!("weather-{profile}-{side}"), self.memory_bytes);
        let command = self.command(side, &folder, limit.as_ref())?;
        let report: Result<Report> = feed(command, |input| rows.write(input));
        // Also of one that failed: the next one needs the room.
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        let report = report.with_context(|| format!("{side}, disk profile {profile}"))?;
        ensure!(
            report.rows == rows.count() || side == Side::Innodb,
            "{side} inserted {} of {} rows",
            report.rows,
            rows.count()
        );
        Ok(Run {
            side,
            profile,
            report,
        })
    }

    fn command(&self, side: Side, folder: &Path, limit: Option<&MemoryLimit>) -> Result<Command> {
        let command = side.command(self.peers.as_deref())?;
        let mut command = side_process::within(command, folder, self.memory_bytes, limit);
        if side == Side::Innodb {
            let seconds = self.innodb_seconds_max.to_string();
            command.args(["--seconds-max", &seconds]);
        }
        Ok(command)
    }
}
