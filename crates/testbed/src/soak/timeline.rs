//! Memory, disk and lag over time, as a file of lines that grows.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use postgres::Client;

use crate::Hedgerow;
use crate::bank::single_value;

/// The first line.
const HEADER: &str = "seconds,resident_bytes,disk_bytes,lag_ms,starts";

/// What was seen at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// Since the start of the run.
    pub seconds: f64,
    /// What hedgerow's process has in memory, page cache not counted.
    pub resident_bytes: u64,
    /// What the data directory takes.
    pub disk_bytes: u64,
    /// How old the newest change was that a reader saw; none while there was no answer.
    pub lag_ms: Option<f64>,
    /// How often hedgerow had been started.
    pub starts: u32,
}

/// Moments, taken at a steady pace.
pub struct Timeline {
    file: Option<fs::File>,
    begun: Instant,
    pace: Duration,
    next: Instant,
    moments: Vec<Moment>,
}

impl Timeline {
    /// A timeline that begins now; also in `file`, if there is one.
    pub fn begin(file: Option<&Path>, pace: Duration) -> Result<Self> {
        let create = |path: &Path| -> Result<fs::File> {
            let mut file = fs::File::create(path)
                .with_context(|| format!("no timeline in {}", path.display()))?;
            writeln!(file, "{HEADER}")?;
            Ok(file)
        };
        let now = Instant::now();
        Ok(Self {
            file: file.map(create).transpose()?,
            begun: now,
            pace,
            next: now,
            moments: Vec::new(),
        })
    }

    /// When the next moment is due.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Takes a moment, if it is due.
    pub fn look(&mut self, hedgerow: &Hedgerow, starts: u32) -> Result<()> {
        let now = Instant::now();
        if now < self.next {
            return Ok(());
        }
        self.next = now + self.pace;
        let moment = Moment {
            seconds: (now - self.begun).as_secs_f64(),
            resident_bytes: resident_bytes(hedgerow)?,
            disk_bytes: hedgerow.bytes_on_disk()?,
            lag_ms: lag_ms(hedgerow).ok(),
            starts,
        };
        if let Some(file) = &mut self.file {
            let Moment {
                seconds,
                resident_bytes,
                disk_bytes,
                lag_ms,
                starts,
            } = moment;
            let lag_ms = lag_ms.map_or(String::new(), |lag| format!("{lag:.0}"));
            writeln!(
                file,
                "{seconds:.1},{resident_bytes},{disk_bytes},{lag_ms},{starts}"
            )?;
        }
        self.moments.push(moment);
        Ok(())
    }

    /// All moments.
    pub fn moments(&self) -> &[Moment] {
        &self.moments
    }
}

fn resident_bytes(hedgerow: &Hedgerow) -> Result<u64> {
    let process = hedgerow.process_id().context("hedgerow does not run")?;
    // A process that has just ended has no memory.
    let text = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kibibytes.map_or(Ok(0), str::parse::<u64>)? << 10)
}

/// How long ago the source's clock said what the replica shows; both run on this machine.
fn lag_ms(hedgerow: &Hedgerow) -> Result<f64> {
    let mut client: Client = hedgerow.connect()?;
    let query = "select extract(epoch from clock_timestamp() - at) * 1000 from tick";
    Ok(single_value(&mut client, query)?.parse()?)
}
