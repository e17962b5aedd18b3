//! Slows down guessing of passwords: each failure from an address makes the next answer "no"
//! take longer.
//!
//! Only refusals are delayed, so that nobody's mistakes hold up somebody else's login from the
//! same address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

const FIRST_DELAY: Duration = Duration::from_millis(50);
const DELAY_MAX: Duration = Duration::from_secs(3);
/// After so long without a failure an address starts afresh.
const FORGET_AFTER: Duration = Duration::from_secs(60);
/// Addresses that are remembered at most; beyond that all are forgotten.
const ADDRESSES_MAX: usize = 1_024;

#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    last: Instant,
}

/// Who failed how often.
#[derive(Default)]
pub struct Throttle {
    failures: Mutex<HashMap<IpAddr, Failures>>,
}

impl Throttle {
    /// Notes a failure; gives how long to wait before it is told.
    pub fn delay(&self, address: IpAddr, now: Instant) -> Duration {
        let mut failures = self.failures.lock();
        if failures.len() >= ADDRESSES_MAX && !failures.contains_key(&address) {
            failures.clear();
        }
        let entry = failures.entry(address).or_insert(Failures {
            count: 0,
            last: now,
        });
        if now.duration_since(entry.last) > FORGET_AFTER {
            entry.count = 0;
        }
        let delay = FIRST_DELAY.saturating_mul(1 << entry.count.min(16));
        *entry = Failures {
            count: entry.count.saturating_add(1),
            last: now,
        };
        delay.min(DELAY_MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn delays_grow_up_to_a_bound_and_are_forgotten() {
        let throttle = Throttle::default();
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let now = Instant::now();
        assert_eq!(throttle.delay(address, now), FIRST_DELAY);
        assert_eq!(throttle.delay(address, now), FIRST_DELAY * 2);
        for _ in 0..100 {
            assert!(throttle.delay(address, now) <= DELAY_MAX);
        }
        let later = now + FORGET_AFTER + Duration::from_secs(1);
        assert_eq!(throttle.delay(address, later), FIRST_DELAY);
    }
}
