//! Runs a contender: a process with a memory limit that is fed rows and reports.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::report::Report;
use super::rows::ShuffledRows;
use crate::limits::memory::MemoryLimit;

/// Has hedgerow insert the rows into a folder of `place`.
pub fn run(
    rows: &ShuffledRows,
    place: &Path,
    limit: Option<&MemoryLimit>,
    memory_bytes: u64,
) -> Result<Report> {
    let folder = place.join("hedgerow");
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg("weather-side")
        .args(["--memory-bytes", &memory_bytes.to_string()])
        .arg("--folder")
        .arg(&folder);
    if let Some(limit) = limit {
        command.arg("--memory-group").arg(limit.group());
    }
    let report = feed(command, rows)?;
    std::fs::remove_dir_all(&folder)?;
    Ok(report)
}

/// Starts the program, hands it all rows, and reads its report.
fn feed(mut command: Command, rows: &ShuffledRows) -> Result<Report> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start {command:?}"))?;
    let input = child.stdin.take().context("its input is piped")?;
    let output = child.stdout.take().context("its output is piped")?;
    let written = rows.write(input);
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    let status = child.wait()?;
    ensure!(status.success(), "the contender ended with {status}");
    written.context("could not hand over all rows")?;
    Ok(serde_json::from_str(&line)?)
}
