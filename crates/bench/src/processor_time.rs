//! How much of the processors the servers have used, as the kernel counts it.

use std::fs;

use anyhow::{Context, Result};

/// What Linux tells programs, whatever it counts itself.
const TICKS_A_SECOND: f64 = 100.0;

/// The fields of `/proc/PID/stat` that matter here.
#[derive(Clone, Copy, Debug)]
struct Stat {
    parent: u32,
    own_ticks: u64,
    /// Of children that have ended.
    ended_ticks: u64,
}

impl Stat {
    fn of(process: u32) -> Result<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{process}/stat"))?)
    }

    fn parse(text: &str) -> Result<Self> {
        // The name, in parentheses, may have spaces; the third field follows it.
        let (_, fields) = text.rsplit_once(") ").context("no name")?;
        let fields: Vec<&str> = fields.split(' ').collect();
        let number = |place: usize| -> Result<u64> {
            let field = fields.get(place - 3).context("a field is missing")?;
            Ok(field.parse()?)
        };
        Ok(Self {
            parent: u32::try_from(number(4)?)?,
            own_ticks: number(14)? + number(15)?,
            ended_ticks: number(16)? + number(17)?,
        })
    }
}

/// Seconds of a process so far.
pub fn of_process(process: u32) -> Result<f64> {
    Ok(seconds(Stat::of(process)?.own_ticks))
}

/// Seconds of a process and of its children so far.
pub fn of_family(process: u32) -> Result<f64> {
    let parent = Stat::of(process)?;
    let mut ticks = parent.own_ticks + parent.ended_ticks;
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // It may have ended since.
        if let Ok(stat) = Stat::of(id) {
            ticks += if stat.parent == process {
                stat.own_ticks
            } else {
                0
            };
        }
    }
    Ok(seconds(ticks))
}

fn seconds(ticks: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let ticks = ticks as f64;
    ticks / TICKS_A_SECOND
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_behind_the_name() {
        let stat = Stat::parse("7 (a ) b) S 3 7 7 0 -1 0 0 0 0 0 11 12 20 21 20 0").unwrap();
        assert_eq!((stat.parent, stat.own_ticks, stat.ended_ticks), (3, 23, 41));
        assert!(of_family(std::process::id()).unwrap() >= 0.0);
    }
}
