//! A side of an experiment as a process: what it is told, what it is fed, what it reports.

use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::thread;

use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;

use crate::limits::memory::MemoryLimit;

/// The command with a folder and a memory limit, as `contender::Arguments` has them.
pub fn within(
    mut command: Command,
    folder: &Path,
    memory_bytes: u64,
    limit: Option<&MemoryLimit>,
) -> Command {
    command
        .args(["--memory-bytes", &memory_bytes.to_string()])
        .arg("--folder")
        .arg(folder);
    if let Some(limit) = limit {
        command.arg("--memory-group").arg(limit.group());
    }
    command
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
