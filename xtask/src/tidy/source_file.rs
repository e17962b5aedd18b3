//! The workspace's Rust files, read once for all checks.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::step::workspace;

/// A Rust file.
#[derive(Debug)]
pub struct SourceFile {
    /// Relative to the workspace, such as `crates/lsm/src/store.rs`.
    pub path: PathBuf,
    /// All of it.
    pub text: String,
}

/// All Rust files of all crates, in the order of their paths.
pub fn all() -> Result<Vec<SourceFile>> {
    let root = workspace();
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        for path in files_below(&root.join(folder))? {
            if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path)
                    .with_context(|| format!("could not read {}", path.display()))?;
                files.push(SourceFile {
                    path: path.strip_prefix(&root)?.to_owned(),
                    text,
                });
            }
        }
    }
    files.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(files)
}

/// All files below a folder, without build output.
pub fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder)
            .with_context(|| format!("could not list {}", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                files.push(entry.path());
            } else if entry.file_name() != "target" {
                folders.push(entry.path());
            }
        }
    }
    Ok(files)
}

impl SourceFile {
    /// The crate's name: its folder.
    pub fn package(&self) -> &str {
        let mut folders = self.path.iter().filter_map(|part| part.to_str());
        match folders.next() {
            Some("crates") => folders.next().unwrap_or_default(),
            other => other.unwrap_or_default(),
        }
    }

    /// The file's name without its ending.
    pub fn stem(&self) -> &str {
        self.path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default()
    }

    /// Whether all of the file is beside the product: tests of any kind, benches, examples.
    pub fn is_test(&self) -> bool {
        let in_folder = self
            .path
            .iter()
            .any(|part| part == "tests" || part == "benches" || part == "examples");
        in_folder || self.stem() == "tests"
    }

    /// Numbered lines of product code: up to the inline test module, which ends a file, without
    /// comments.
    pub fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let is_comment = |line: &str| line.trim_start().starts_with("//");
        self.text
            .lines()
            .enumerate()
            .take_while(|(_, line)| line.trim() != "#[cfg(test)]")
            .filter(move |(_, line)| !is_comment(line))
            .map(|(index, line)| (index + 1, line))
    }
}
