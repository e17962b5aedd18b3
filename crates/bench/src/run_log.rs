//! Runs that are done, in a file: all runs of an experiment together take hours, and may take several days'
//! slices of them.
//!
//! A line is a run, as JSON, with the commit of the code that it ran. A run of other code does not
//! count: it is run again.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The runs that are done.
#[derive(Debug)]
pub struct RunLog<R> {
    /// Without one nothing is kept.
    file: Option<(PathBuf, Commit)>,
    scale: &'static str,
    known: Vec<R>,
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

impl<R: Serialize + DeserializeOwned> RunLog<R> {
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

    /// The first run that is wanted.
    pub fn find(&self, is_wanted: impl Fn(&R) -> bool) -> Option<&R> {
        self.known.iter().find(|run| is_wanted(run))
    }

    /// Adds a run.
    pub fn add(&self, run: &R) -> Result<()> {
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

fn read<R: DeserializeOwned>(path: &Path, commit: &Commit, scale: &str) -> Result<Vec<R>> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.with_context(|| path.display().to_string())?,
    };
    let mut runs = Vec::new();
    for (text, number) in text.lines().zip(1..) {
        let line: Line<R> = serde_json::from_str(text)
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
    use tempfile::TempDir;

    use super::*;

    fn log_of(
        folder: &TempDir,
        commit: &str,
        scale: &'static str,
    ) -> Result<RunLog<(String, u64)>> {
        let path = folder.path().join("runs");
        RunLog::of(Some((path, Commit(commit.to_owned()))), scale)
    }

    #[test]
    fn runs_of_the_same_code_and_scale_are_found_again() -> Result<()> {
        let folder = TempDir::new()?;
        let log = log_of(&folder, "one", "full")?;
        for seed in [1, 2] {
            log.add(&("plain".to_owned(), seed))?;
        }
        let log = log_of(&folder, "one", "full")?;
        let has = |log: &RunLog<_>, seed| log.find(|run: &(_, _)| run.1 == seed).is_some();
        assert!(has(&log, 2));
        assert!(!has(&log, 3));
        for (commit, scale) in [("one", "quick"), ("two", "full")] {
            assert!(!has(&log_of(&folder, commit, scale)?, 1));
        }
        Ok(())
    }
}
