//! What this process has used so far, as the kernel counts it.

use std::io;

/// Bytes that this process had read from disks so far, not out of the page cache.
pub fn bytes_read() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/self/io")?;
    let mut lines = text.lines();
    let bytes = lines.find_map(|line| line.strip_prefix("read_bytes: ")?.parse().ok());
    bytes.ok_or_else(|| io::Error::other("/proc/self/io does not tell read_bytes"))
}

/// Seconds that this thread was on a processor so far.
pub fn thread_seconds() -> io::Result<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse().ok());
    let nanoseconds: Option<f64> = nanoseconds;
    let seconds = nanoseconds.map(|nanoseconds| nanoseconds / 1e9);
    seconds.ok_or_else(|| io::Error::other("/proc/thread-self/schedstat tells no time"))
}

/// Seconds that all threads of this process, also those that have ended, were on a processor so far.
pub fn process_seconds() -> io::Result<f64> {
    const TICKS_A_SECOND: f64 = 100.0; // What Linux tells programs, whatever it counts itself.
    let text = std::fs::read_to_string("/proc/self/stat")?;
    // The name of the process, in parentheses, may have spaces.
    let fields = text.rsplit(") ").next().unwrap_or_default();
    let ticks = fields.split(' ').skip(11).take(2);
    let ticks: Option<Vec<f64>> = ticks.map(|ticks| ticks.parse().ok()).collect();
    let seconds = ticks.map(|ticks| ticks.iter().sum::<f64>() / TICKS_A_SECOND);
    seconds.ok_or_else(|| io::Error::other("/proc/self/stat tells no time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_processor_time() {
        let before = thread_seconds().unwrap();
        let mut sum = 0_u64;
        while thread_seconds().unwrap() <= before {
            sum = std::hint::black_box(sum + 1);
        }
        bytes_read().unwrap();
        assert!(process_seconds().unwrap() >= 0.0);
    }
}
