//! Runs a side: a process with a memory limit that is fed rows and reports.

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::thread;

use anyhow::{Context, Result, ensure};
use contender::Report;
use serde::de::DeserializeOwned;

use super::rows::ShuffledRows;
use super::side::Side;
use crate::limits::disk::DiskProfile;
use crate::limits::memory::MemoryLimit;

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
        let mut command = side.command(self.peers.as_deref())?;
        command
            .args(["--memory-bytes", &self.memory_bytes.to_string()])
            .arg("--folder")
            .arg(folder);
        if side == Side::Innodb {
            let seconds = self.innodb_seconds_max.to_string();
            command.args(["--seconds-max", &seconds]);
        }
        if let Some(limit) = limit {
            command.arg("--memory-group").arg(limit.group());
        }
        Ok(command)
    }
}

/// Starts the program, hands it what `write` writes as far as it takes that, and reads its report.
pub fn feed<Report: DeserializeOwned>(
    mut command: Command,
    write: impl FnOnce(ChildStdin) -> io::Result<()> + Send,
) -> Result<Report> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start {command:?}"))?;
    let input = child.stdin.take().context("its input is piped")?;
    let output = child.stdout.take().context("its output is piped")?;
    let mut line = String::new();
    let (written, status) = thread::scope(|scope| {
        // Beside reading: a contender that has enough reports while it is still offered more.
        let writing = scope.spawn(|| write(input));
        let read = BufReader::new(output).read_line(&mut line);
        let status = child.wait();
        let written = writing.join().expect("writing does not panic");
        read.and(status).map(|status| (written, status))
    })?;
    ensure!(status.success(), "the contender ended with {status}");
    match written {
        // It took as many as it wanted; the report says how many.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        written => written.context("could not hand over all rows")?,
    }
    Ok(serde_json::from_str(&line)?)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Longer than what a pipe holds, as are the rows that nobody takes any more.
    #[test]
    fn a_contender_that_has_enough_may_report_at_length() -> Result<()> {
        let mut command = Command::new("sh");
        command.args(["-c", r#"head -c 1 >/dev/null; printf '"%0200000d"\n' 0"#]);
        let rows =
            |mut input: ChildStdin| (0..100).try_for_each(|_| input.write_all(&[0; 1 << 16]));
        let report: String = feed(command, rows)?;
        assert_eq!(report.len(), 200_000);
        Ok(())
    }
}
