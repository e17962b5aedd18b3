//! What a contender is told on its command line.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;

/// See the module.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// Where the data go
    #[arg(long)]
    pub folder: PathBuf,
    /// The memory limit, bytes
    #[arg(long)]
    pub memory_bytes: u64,
    /// The control group that has the limit
    #[arg(long)]
    pub memory_group: Option<PathBuf>,
    /// After so many seconds no more rows are read
    #[arg(long)]
    pub seconds_max: Option<u64>,
}

/// What a contender is told that has its rows and is to read them: see [`crate::reading`].
#[derive(Clone, Debug, Args)]
pub struct ReadingArguments {
    /// What all are told.
    #[command(flatten)]
    pub common: Arguments,
    /// So many existing keys are fed, and as many missing ones after them
    #[arg(long, default_value_t = 0)]
    pub keys: usize,
    /// Milliseconds that a sample of look-ups takes
    #[arg(long, default_value_t = 500)]
    pub sample_ms: u64,
    /// After the keys come rows that overwrite others
    #[arg(long)]
    pub overwrite: bool,
}

impl ReadingArguments {
    /// How long a sample of look-ups takes.
    pub fn sample_time(&self) -> Duration {
        Duration::from_millis(self.sample_ms)
    }
}

impl Arguments {
    /// Joins the group, where there is one, and makes the folder.
    pub fn enter(&self) -> Result<()> {
        if let Some(group) = &self.memory_group {
            let members = group.join("cgroup.procs");
            std::fs::write(&members, std::process::id().to_string())
                .with_context(|| format!("could not join {}", group.display()))?;
        }
        std::fs::create_dir_all(&self.folder)
            .with_context(|| format!("could not make {}", self.folder.display()))
    }

    /// How long rows are read; `None` is until there are no more.
    pub fn time_max(&self) -> Option<Duration> {
        self.seconds_max.map(Duration::from_secs)
    }
}
