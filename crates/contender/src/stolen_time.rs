//! What the host of a virtual machine takes from its processors while they have work, as the kernel counts it.

use std::io;

/// What Linux tells programs, whatever it counts itself: stolen time comes in hundredths of a second.
const TICKS_A_SECOND: f64 = 100.0;

/// The field of `/proc/stat`'s first line, its name being the first one.
const STEAL_FIELD: usize = 8;

/// Seconds that were taken from all processors together so far.
pub fn seconds() -> io::Result<f64> {
    parse(&std::fs::read_to_string("/proc/stat")?)
}

fn parse(text: &str) -> io::Result<f64> {
    let all = text.lines().next().unwrap_or_default();
    let ticks = all.split_whitespace().nth(STEAL_FIELD);
    let ticks: Option<f64> = ticks.and_then(|ticks| ticks.parse().ok());
    let seconds = ticks.map(|ticks| ticks / TICKS_A_SECOND);
    seconds.ok_or_else(|| io::Error::other("/proc/stat tells no stolen time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eighth_number_of_all_processors_counts() {
        let text = "cpu  1 2 3 4 5 6 7 250 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert!((parse(text).unwrap() - 2.5).abs() < 1e-9);
        assert!(parse("cpu  1 2 3\n").is_err());
        assert!(seconds().unwrap() >= 0.0);
    }
}
