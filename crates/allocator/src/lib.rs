//! The allocator, and how a process gives back what it no longer needs.
//!
//! Batches of columns come and go on many threads, and the allocator keeps for a while what they
//! leave behind. How long is a choice between memory and time: what is given back at once is
//! faulted in again by the next merge. And the kernel's huge pages make it coarse: one small
//! allocation keeps two megabytes, which are cleared in one go when they are faulted in.
//!
//! Weather rows, 20.7 million under 384 MiB, 3.1 million under 96 MiB, same minutes, means of two
//! (`bench weather-side`, a processor of the Zen 5 kind whose other core was busy; most memory
//! resident, C0 takes half of the limit, which nothing enforces):
//!
//! | huge pages | kept for | million rows/s | 99.99 % of batches within | MiB of 384 | MiB of 96 |
//! |---|---|---|---|---|---|
//! | yes | 1,000 ms | 2.1 | 27 ms | 300 | 168 |
//! | yes | 100 ms | 2.0 | 22 ms | 301 | 135 |
//! | no | 100 ms | 2.7 | 12 ms | 279 | 117 |
//! | no | 30 ms | 2.4 | 16 ms | 278 | |
//! | no | 10 ms | | | | 97 |
//!
//! Statements that find the memory of those before them save its faults and the clearing of its pages. So a process
//! that tells its limit keeps free memory for longer while it is well below. Of twelve aggregates and six joins of one
//! table of 4,000,000 rows, asked with `psql`, the kernel had 1.3 and 1.1 s with 100 ms, 0.5 with 1 s (once), 0.5 twice
//! with 5 s, beside 2.9 to 3.4 s of their own (`/proc`, an AMD EPYC of the Zen 3 kind, two processors, 512 MiB, 408 to 459 MB
//! resident at most).
//!
//! The allocator looks for what it may give back only while somebody allocates: a process that has
//! become idle keeps what it had. So a thread looks, once a second, and ten times a second how near the limit is.

use std::ffi::{c_int, c_long};
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{fs, thread};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// For how long free memory is kept.
const KEPT: Duration = Duration::from_millis(100);

/// The same while memory is ample.
const KEPT_AMPLE: Duration = Duration::from_secs(1);

/// `mi_option_purge_delay` in the allocator's list of options, which has it in milliseconds.
const PURGE_DELAY: c_int = 15;

/// How often the thread looks for what it may give back.
const INTERVAL: Duration = Duration::from_secs(1);

/// How often it looks meanwhile how much memory the process occupies: that takes some 30 us.
const LOOKS_AN_INTERVAL: u32 = 10;

/// What the process may occupy, in bytes; nothing of it is ample until it is told.
static LIMIT_BYTES: AtomicU64 = AtomicU64::new(0);

/// Has this process, and those that it starts, keep little that it does not use. The thread that
/// sees to it ends with the process.
pub fn give_back_early() -> io::Result<()> {
    rustix::thread::disable_transparent_huge_pages(true)?;
    keep(KEPT);
    let thread = thread::Builder::new().name("give-back".to_owned());
    thread.spawn(|| {
        // A thread that has not allocated has nothing to collect through.
        drop(black_box(Box::new(0_u8)));
        loop {
            for _ in 0..LOOKS_AN_INTERVAL {
                thread::sleep(INTERVAL / LOOKS_AN_INTERVAL);
                keep(match is_ample() {
                    true => KEPT_AMPLE,
                    false => KEPT,
                });
            }
            give_back_expired();
        }
    })?;
    Ok(())
}

/// Tells what the process may occupy: from then on it keeps free memory for longer while it is below seven eighths of
/// that.
pub fn set_limit(bytes: u64) {
    LIMIT_BYTES.store(bytes, Ordering::Relaxed);
}

fn is_ample() -> bool {
    let ample = LIMIT_BYTES.load(Ordering::Relaxed) / 8 * 7;
    ample > 0 && resident_bytes().is_some_and(|bytes| bytes < ample)
}

/// Bytes of memory that this process occupies.
fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let resident = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = resident.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib << 10)
}

/// Has free memory be kept for so long.
fn keep(kept: Duration) {
    // SAFETY: stores a number; the allocator's threads read it anew whenever they free memory.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, kept.as_millis() as c_long) }
}

/// Gives back what has been free for a while, of all threads.
fn give_back_expired() {
    // SAFETY: takes a flag (do not wait for memory that is in use, nor hurry) and may be called by
    // any thread at any time; the allocator's own threads of execution call it, too.
    unsafe { libmimalloc_sys::mi_collect(false) }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const FREED_BYTES: u64 = 256 << 20;

    fn resident() -> u64 {
        resident_bytes().expect("Linux tells it")
    }

    /// Memory is ample while there is a limit, and the process well below it.
    #[test]
    fn memory_is_ample_far_below_the_limit() {
        assert!(!is_ample(), "no limit was told");
        set_limit(u64::MAX);
        assert!(is_ample());
        set_limit(1 << 20);
        assert!(!is_ample(), "the program alone is larger");
        set_limit(0);
    }

    /// What was used and freed goes back although nobody allocates any more.
    #[test]
    fn an_idle_process_gives_memory_back() {
        // SAFETY: reads a number.
        let delay_ms = unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert_eq!(delay_ms, 1_000, "the default of the option that is set");
        give_back_early().expect("a thread can be started");
        let batches: Vec<Vec<u8>> = (0..256).map(|_| vec![1; 1 << 20]).collect();
        let full = resident();
        drop(black_box(batches));
        let waited = Instant::now();
        while resident() + FREED_BYTES * 9 / 10 > full {
            assert!(
                waited.elapsed() < Duration::from_secs(60),
                "{} of {full} bytes are still resident",
                resident()
            );
            thread::sleep(INTERVAL / 10);
        }
    }
}
