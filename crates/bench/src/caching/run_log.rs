//! Runs that are done, in a file: all sides and seeds together take hours, and may take several days'
//! slices of them.
//!
//! A line is a run, as JSON, with the commit of the code that it ran. A run of other code does not
//! count: it is run again.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::load::Load;
use super::run::Run;
use super::side::Side;

/// The runs that are done.
#[derive(Debug)]
pub struct RunLog {
    /// Without one nothing is kept.
    file: Option<(PathBuf, Commit)>,
    scale: &'static str,
    known: Vec<Run>,
}

/// The newest commit that changed code.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
struct Commit(String);

#[derive(Deserialize, Serialize)]
struct Line<R> {
    commit: Commit,
    scale: String,
    run: R,
}

impl RunLog {
    /// Those of this code at a scale; the file need not be there.
    pub fn open(path: Option<&Path>, scale: &'static str) -> Result<Self> {
        let file = match path {
            None => None,
            Some(path) => Some((path.to_owned(), Commit::of_this_code()?)),
        };
        Self::of(file, scale)
    }

    fn of(file: Option<(PathBuf, Commit)>, scale: &'static str) -> Result<Self> {
        let known = match &file {
            None => Vec::new(),
            Some((path, commit)) => read(path, commit, scale)?,
        };
        Ok(Self { file, scale, known })
    }

    /// The run of a side under a load with a seed.
    pub fn find(&self, side: Side, load: &Load, seed: u64) -> Option<&Run> {
        let is_it = |run: &&Run| (run.side, run.seed) == (side, seed) && run.load == load.name;
        self.known.iter().find(is_it)
    }

    /// Adds a run.
    pub fn add(&self, run: &Run) -> Result<()> {
        let Some((path, commit)) = &self.file else {
            return Ok(());
        };
        let line = Line {
            commit: commit.clone(),
            scale: self.scale.to_owned(),
            run,
        };
        let text = serde_json::to_string(&line)? + "\n";
        let file = OpenOptions::new().create(true).append(true).open(path);
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.with_context(|| path.display().to_string())
    }
}

fn read(path: &Path, commit: &Commit, scale: &str) -> Result<Vec<Run>> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.with_context(|| path.display().to_string())?,
    };
    let mut runs = Vec::new();
    for (text, number) in text.lines().zip(1..) {
        let line: Line<Run> = serde_json::from_str(text)
            .with_context(|| format!("{}, line {number}", path.display()))?;
        if line.commit == *commit && line.scale == scale {
            runs.push(line.run);
        }
    }
    Ok(runs)
}

impl Commit {
    /// An error if something has changed since.
    fn of_this_code() -> Result<Self> {
        let code = [":/crates", ":/Cargo.toml", ":/Cargo.lock"];
        let changed = git(&[&["status", "--porcelain", "--"], &code[..]].concat())?;
        ensure!(
            changed.is_empty(),
            "runs are kept for a commit, and there are changes:\n{changed}"
        );
        git(&[&["log", "-1", "--format=%h", "--"], &code[..]].concat()).map(Self)
    }
}

fn git(arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").args(arguments).output()?;
    ensure!(output.status.success(), "git {arguments:?} failed");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use contender::caching::{CachingReport, Phase};
    use tempfile::TempDir;

    use super::*;

    fn log_of(folder: &TempDir, commit: &str, scale: &'static str) -> Result<RunLog> {
        let path = folder.path().join("runs");
        RunLog::of(Some((path, Commit(commit.to_owned()))), scale)
    }

    #[test]
    fn runs_of_the_same_code_and_scale_are_found_again() -> Result<()> {
        let folder = TempDir::new()?;
        let log = log_of(&folder, "one", "full")?;
        let load = Load::range_hot();
        for seed in [1, 2] {
            log.add(&Run {
                side: Side::PlainLsm,
                load: load.name.clone(),
                seed,
                report: CachingReport {
                    settings: "as they are".to_owned(),
                    quiet: Phase::default(),
                    written: Phase::default(),
                    rows_written: 6 + seed,
                    recovered: Phase::default(),
                    inserts_a_second: 1.5,
                    insert_busy_seconds: 0.5,
                    bytes_at_end: 9,
                },
            })?;
        }
        let log = log_of(&folder, "one", "full")?;
        let found = log.find(Side::PlainLsm, &load, 2).expect("it was run");
        assert_eq!(found.report.rows_written, 8);
        assert!(log.find(Side::PlainLsm, &load, 3).is_none());
        assert!(log.find(Side::Hedgerow, &load, 1).is_none());
        for (commit, scale) in [("one", "quick"), ("two", "full")] {
            let other = log_of(&folder, commit, scale)?;
            assert!(other.find(Side::PlainLsm, &load, 1).is_none());
        }
        Ok(())
    }
}
