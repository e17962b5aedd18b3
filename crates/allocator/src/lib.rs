//! The allocator, set to give memory back at once.
//!
//! Batches of columns come and go on many threads, and the system's allocator keeps what they
//! leave behind. mimalloc keeps it only as long as it is told to: by default until some later
//! allocation on the same thread finds it old enough, which in a process that has become idle
//! never happens. After `serve --memory 128MiB` had copied 3.4 million rows (`pgbench -s 34`), 117
//! MiB of anonymous memory stayed by default and 50 MiB without the delay; `demo --orders 300000
//! --once` kept its rate within 3 % (medians of three: 1.56 and 1.53 million row changes a second).

use std::ffi::{c_int, c_long};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_purge_delay` of `mimalloc.h`, versions 2 and 3: milliseconds that free memory is
/// kept before it is given back.
const PURGE_DELAY: c_int = 15;
/// At once.
const NO_DELAY: c_long = 0;

/// Has free memory given back to the operating system at once. Called before any other thread
/// runs.
pub fn keep_nothing() {
    // SAFETY: the function takes two numbers, of which the first is an option of this version
    // (a test compares its default), and writes one word that belongs to the allocator. It must
    // not run beside other calls on options, and there is no other thread and no other call.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, NO_DELAY) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_is_the_delay() {
        // SAFETY: reads a word; no test calls `keep_nothing`, and reading initializes the option
        // to the same value on every thread.
        let default = unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        // Other options around it have defaults of 1 and 0; the delay's is written as 10 in
        // mimalloc.h. (1000 where the allocator was built for debugging.)
        assert!(
            default >= 10,
            "option {PURGE_DELAY} is {default} by default"
        );
    }
}
