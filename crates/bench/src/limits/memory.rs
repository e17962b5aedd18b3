//! A memory limit for a process and its children: a group of the `memory` controller.
//!
//! It counts the page cache, too, so that systems that lean on the page cache and systems with
//! a cache of their own stand equal.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::undo;

/// Where the controller (version 1) is mounted.
const CONTROLLER: &str = "/sys/fs/cgroup/memory";

/// A group with a limit.
#[derive(Debug)]
pub struct MemoryLimit {
    group: PathBuf,
}

impl MemoryLimit {
    /// A fresh group; `None` where the machine does not allow it.
    pub fn new(name: &str, bytes: u64) -> Option<Self> {
        let group = Path::new(CONTROLLER).join(format!("bench-{}-{name}", std::process::id()));
        if !Path::new(CONTROLLER).join("memory.limit_in_bytes").exists() {
            return None;
        }
        let undone = group.clone();
        undo::register(move || remove(&undone));
        fs::create_dir(&group).ok()?;
        fs::write(group.join("memory.limit_in_bytes"), bytes.to_string()).ok()?;
        Some(Self { group })
    }

    /// The group's folder; a process joins by its id in `cgroup.procs`.
    pub fn group(&self) -> &Path {
        &self.group
    }

    /// Lets go of all cached pages, so that a run starts cold. Nobody may be in the group.
    pub fn make_cold(&self) -> Result<()> {
        fs::write(self.group.join("memory.force_empty"), "0")
            .with_context(|| format!("could not empty {}", self.group.display()))
    }

    /// What is resident of its processes, without the page cache.
    pub fn bytes_resident(&self) -> Result<u64> {
        let path = self.group.join("memory.stat");
        let text = fs::read_to_string(&path)?;
        let mut lines = text.lines();
        let resident = lines.find_map(|line| line.strip_prefix("total_rss "));
        let resident = resident.with_context(|| format!("no total_rss in {}", path.display()))?;
        Ok(resident.parse()?)
    }

    /// The most that was ever in use, page cache included.
    pub fn bytes_max(&self) -> Result<u64> {
        let text = fs::read_to_string(self.group.join("memory.max_usage_in_bytes"))?;
        Ok(text.trim().parse()?)
    }
}

/// A group can only be removed once its last process has gone.
fn remove(group: &Path) -> Result<()> {
    for _ in 0..100 {
        if !group.exists() || fs::remove_dir(group).is_ok() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(50));
    }
    fs::remove_dir(group).with_context(|| format!("could not remove {}", group.display()))
}
