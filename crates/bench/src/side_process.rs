//! A side of an experiment as a process: what it is told, what it is fed, what it reports.
//!
//! It is fed once ([`feed`]), or asked and answers, line by line ([`Conversation`]).

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
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

/// A process that answers each line with a line. Killed when this goes out of scope before [`Self::end`].
#[derive(Debug)]
pub struct Conversation {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Conversation {
    /// Starts the program.
    pub fn start(mut command: Command) -> Result<Self> {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not start {command:?}"))?;
        let output = process.stdout.take().context("its output is piped")?;
        Ok(Self {
            input: process.stdin.take(),
            process,
            output: BufReader::new(output),
        })
    }

    /// What it says next.
    pub fn hear<T: DeserializeOwned>(&mut self) -> Result<T> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        if line.is_empty() {
            let status = self.process.wait()?;
            anyhow::bail!("the contender ended with {status}");
        }
        Ok(serde_json::from_str(&line)?)
    }

    /// Asks, and waits for the answer.
    pub fn ask<T: DeserializeOwned>(&mut self, question: &impl Serialize) -> Result<T> {
        let line = serde_json::to_string(question)? + "\n";
        let input = self.input.as_mut().context("it has not been told to end")?;
        // One that has ended tells why when it is heard.
        let _ = input.write_all(line.as_bytes());
        self.hear()
    }

    /// Has it end, and waits for that.
    pub fn end(mut self) -> Result<()> {
        drop(self.input.take());
        let status = self.process.wait()?;
        ensure!(status.success(), "the contender ended with {status}");
        Ok(())
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        // Fails when it has ended already, which is what is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn each_question_has_its_answer_and_an_end_is_noticed() -> Result<()> {
        let mut command = Command::new("sh");
        command.args(["-c", r#"echo 7; read one; echo "$one"; read two; exit 3"#]);
        let mut conversation = Conversation::start(command)?;
        assert_eq!(conversation.hear::<u64>()?, 7);
        assert_eq!(conversation.ask::<String>(&"yes")?, "yes");
        let error = conversation.ask::<String>(&"no").unwrap_err();
        assert!(error.to_string().contains("3"), "{error}");
        Ok(())
    }
}
