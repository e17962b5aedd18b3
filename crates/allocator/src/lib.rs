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
//! The allocator looks for what it may give back only while somebody allocates: a process that has
//! become idle keeps what it had. So a thread looks once a second.

use std::ffi::{c_int, c_long};
use std::hint::black_box;
use std::io;
use std::thread;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// For how long free memory is kept.
const KEPT: Duration = Duration::from_millis(100);

/// `mi_option_purge_delay` in the allocator's list of options, which has it in milliseconds.
const PURGE_DELAY: c_int = 15;

/// How often the thread looks.
const INTERVAL: Duration = Duration::from_secs(1);

/// Has this process, and those that it starts, keep little that it does not use. The thread that
/// sees to it ends with the process.
pub fn give_back_early() -> io::Result<()> {
    rustix::thread::disable_transparent_huge_pages(true)?;
    // SAFETY: stores a number; the allocator's threads read it anew whenever they free memory.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, KEPT.as_millis() as c_long) }
    let thread = thread::Builder::new().name("give-back".to_owned());
    thread.spawn(|| {
        // A thread that has not allocated has nothing to collect through.
        drop(black_box(Box::new(0_u8)));
        loop {
            thread::sleep(INTERVAL);
            give_back_expired();
        }
    })?;
    Ok(())
}

/// Gives back what has been free for a while, of all threads.
fn give_back_expired() {
    // SAFETY: takes a flag (do not wait for memory that is in use, nor hurry) and may be called by
    // any thread at any time; the allocator's own threads of execution call it, too.
    unsafe { libmimalloc_sys::mi_collect(false) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Instant;

    use super::*;

    const FREED_BYTES: usize = 256 << 20;

    /// Bytes of memory that this process occupies.
    fn resident_bytes() -> usize {
        let pages = fs::read_to_string("/proc/self/statm").expect("Linux");
        let pages = pages.split(' ').nth(1).expect("the second number");
        pages.parse::<usize>().expect("a number") * 4096
    }

    /// What was used and freed goes back although nobody allocates any more.
    #[test]
    fn an_idle_process_gives_memory_back() {
        // SAFETY: reads a number.
        let delay_ms = unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert_eq!(delay_ms, 1_000, "the default of the option that is set");
        give_back_early().expect("a thread can be started");
        let batches: Vec<Vec<u8>> = (0..256).map(|_| vec![1; FREED_BYTES / 256]).collect();
        let full = resident_bytes();
        drop(black_box(batches));
        let waited = Instant::now();
        while resident_bytes() + FREED_BYTES * 9 / 10 > full {
            assert!(
                waited.elapsed() < Duration::from_secs(60),
                "{} of {full} bytes are still resident",
                resident_bytes()
            );
            thread::sleep(INTERVAL / 10);
        }
    }
}
