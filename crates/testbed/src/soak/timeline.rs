//! Memory, disk and lag over time, as a file of lines that grows.

use std::fmt;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
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

/// As a line of the file.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            seconds,
            resident_bytes,
            disk_bytes,
            lag_ms,
            starts,
        } = self;
        let lag_ms = lag_ms.map_or(String::new(), |lag| format!("{lag:.0}"));
        write!(
            f,
            "{seconds:.1},{resident_bytes},{disk_bytes},{lag_ms},{starts}"
        )
    }
}

impl FromStr for Moment {
    type Err = anyhow::Error;

    fn from_str(line: &str) -> Result<Self> {
        let cells: Vec<&str> = line.split(',').collect();
        let &[seconds, resident_bytes, disk_bytes, lag_ms, starts] = cells.as_slice() else {
            anyhow::bail!("{} cells, five are expected", cells.len());
        };
        let lag_ms = Some(lag_ms).filter(|lag| !lag.is_empty());
        Ok(Self {
            seconds: seconds.parse()?,
            resident_bytes: resident_bytes.parse()?,
            disk_bytes: disk_bytes.parse()?,
            lag_ms: lag_ms.map(str::parse).transpose()?,
            starts: starts.parse()?,
        })
    }
}

/// The moments in a file that a timeline has written.
pub fn read_timeline(file: &Path) -> Result<Vec<Moment>> {
    let name = file.display();
    let text = fs::read_to_string(file).with_context(|| format!("no timeline in {name}"))?;
    let mut lines = text.lines().zip(1..);
    let first = lines.next().map_or("", |(line, _)| line);
    ensure!(
        first == HEADER,
        "{name} is no timeline: it begins with {first:?} instead of {HEADER:?}"
    );
    let read = |(line, number): (&str, usize)| -> Result<Moment> {
        line.parse()
            .with_context(|| format!("{name}, line {number}: {line:?}"))
    };
    lines.map(read).collect()
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
            writeln!(file, "{moment}")?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn moments() -> [Moment; 2] {
        let answered = Moment {
            seconds: 5.0,
            resident_bytes: 142_000_000,
            disk_bytes: 7,
            lag_ms: Some(12.0),
            starts: 1,
        };
        let killed = Moment {
            seconds: 10.5,
            lag_ms: None,
            ..answered
        };
        [answered, killed]
    }

    #[test]
    fn what_is_written_is_read() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("slice.csv");
        let [answered, killed] = moments();
        fs::write(&file, format!("{HEADER}\n{answered}\n{killed}\n"))?;
        assert_eq!(read_timeline(&file)?, moments());
        Ok(())
    }

    #[test]
    fn a_bad_line_is_named() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("slice.csv");
        fs::write(&file, format!("{HEADER}\n{}\n1,2\n", moments()[0]))?;
        let error = read_timeline(&file).expect_err("a line of two cells");
        let error = format!("{error:#}");
        assert!(
            error.ends_with("slice.csv, line 3: \"1,2\": 2 cells, five are expected"),
            "{error}"
        );
        fs::write(&file, "1,2\n")?;
        assert!(read_timeline(&file).is_err());
        Ok(())
    }
}
