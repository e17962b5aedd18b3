//! The process ends at any operation that changes something on the disk, by a kill or a power
//! cut. What was acknowledged is there afterwards, and nothing that was not published. It ends
//! again in the middle of the recovery, and again.
//!
//! 1. One process goes on undisturbed. At many operations the disk is copied as it would be found
//!    if the process had ended there: a crash state.
//! 2. Each crash state is opened and compared with the model in full.
//! 3. Some of these recoveries are watched in the same way: second crash states, and third ones.
//! 4. Some of the recovered stores go on for a few steps: it must be able to.

use std::collections::HashSet;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::model::{start_with_tables, started};
use crate::disk::{Crash, Faults};
use crate::replica::Replica;

/// How much is done for one seed.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Steps of the process.
    pub steps: usize,
    /// A crash state is made at one of so many operations.
    pub every: u32,
    /// One of so many recoveries is watched.
    pub watched: u32,
    /// While one is watched, a crash state is made at one of so many operations.
    pub watched_every: u32,
    /// One of so many recovered stores goes on.
    pub going_on: u32,
    /// Writes that a transaction has at most in one table.
    pub writes_max: u32,
}

/// For the ordinary tests.
pub const SHORT: Plan = Plan {
    steps: 60,
    every: 2,
    watched: 6,
    watched_every: 2,
    going_on: 4,
    writes_max: u32::MAX,
};

/// Recoveries of recoveries are watched up to this many crashes.
const CRASHES_MAX: usize = 3;

/// Steps after a recovery.
const STEPS_AFTER: usize = 15;

/// Crash states that were checked.
#[derive(Debug, Default)]
pub struct Seen {
    /// Contents of disks after one crash.
    pub first: HashSet<u64>,
    /// Contents of disks after a crash in a recovery; none of them is in `first`.
    pub later: HashSet<u64>,
    /// Contents with what had to be found in them, and whether another crash could change them:
    /// what need not be checked again.
    known: HashSet<(u64, (u64, bool))>,
    /// Recoveries that were checked.
    pub checked: u64,
}

impl Seen {
    /// Whether this is a new crash state, or a known one in which more must be found.
    fn note(&mut self, replica: &Replica, crashes: usize) -> bool {
        let contents = replica.disk().contents();
        if crashes == 1 {
            self.first.insert(contents);
            self.later.remove(&contents);
        } else if !self.first.contains(&contents) {
            self.later.insert(contents);
        }
        let expectation = (replica.expectation(), replica.disk().is_settled());
        let is_new = self.known.insert((contents, expectation));
        self.checked += u64::from(is_new);
        is_new
    }

    /// Distinct contents.
    pub fn distinct(&self) -> usize {
        self.first.len() + self.later.len()
    }
}

/// Takes steps; none may fail.
fn go(replica: &mut Replica, steps: usize) {
    for number in 0..steps {
        let step = replica.random_step();
        let result = replica.step(step);
        if replica.disk().has_crashed() {
            return;
        }
        if let Err(error) = result {
            panic!("step {number}, {step:?}: {error}; {replica:?}");
        }
    }
}

fn recover(replica: &mut Replica) {
    if let Err(error) = replica.start() {
        panic!("recovery: {error}; {replica:?}");
    }
}

/// Checks the crash states of one process. The process as it stopped in the end.
///
/// # Panics
/// At a violation.
pub fn run(seed: u64, plan: &Plan, seen: &mut Seen) -> Replica {
    let mut random = StdRng::seed_from_u64(seed);
    let mut replica = Replica::new(seed).with_writes(plan.writes_max);
    replica.make_images(plan.every, random.random());
    start_with_tables(&mut replica);
    for number in 0..plan.steps {
        let step = replica.random_step();
        if let Err(error) = replica.step(step) {
            panic!("step {number}, {step:?}: {error}; {replica:?}");
        }
        for found in replica.take_images() {
            check(found, 1, plan, &mut random, seen);
        }
    }
    replica.check_everything().expect("nothing fails");
    replica.stop();
    replica
}

/// Opens what was found after so many crashes.
fn check(mut found: Replica, crashes: usize, plan: &Plan, random: &mut StdRng, seen: &mut Seen) {
    // Its own: what is drawn for one must not depend on whether others were known.
    let random = &mut StdRng::seed_from_u64(random.random());
    if !seen.note(&found, crashes) {
        return;
    }
    let chance = if crashes == 1 {
        plan.watched
    } else {
        plan.watched * 4
    };
    if crashes < CRASHES_MAX && random.random_ratio(1, chance) {
        found.make_images(plan.watched_every, random.random());
    }
    recover(&mut found);
    for again in found.take_images() {
        check(again, crashes + 1, plan, random, seen);
    }
    if random.random_ratio(1, plan.going_on) {
        found.make_images(u32::MAX, 0);
        go(&mut found, STEPS_AFTER);
        found.check_everything().expect("nothing fails");
    }
}

/// As above, for a few moments, by processes that really end there: what they would still do is
/// refused.
///
/// # Panics
/// At a violation.
pub fn ended_processes(seed: u64) {
    let first = started(seed).disk().changes();
    let last = scenario(seed, None).disk().changes();
    let mut random = StdRng::seed_from_u64(seed);
    for _ in 0..4 {
        let mut replica = scenario(seed, Some(random.random_range(first..last)));
        assert!(replica.disk().has_crashed(), "equal seeds do equal things");
        replica.end(some_end(&mut random));
        let now = replica.disk().changes();
        let mut whole = replica.fork();
        recover(&mut whole);
        go(&mut whole, STEPS_AFTER);
        whole.check_everything().expect("nothing fails");
        let mut again = replica.fork();
        again.disk().plan(Faults {
            crash_at: Some(now + random.random_range(0..20)),
            ..Faults::default()
        });
        // Late operations of the recovery may fail without harm, or the end come after it.
        let _ = again.start();
        again.end(some_end(&mut random));
        again.disk().plan(Faults::default());
        recover(&mut again);
    }
}

fn some_end(random: &mut StdRng) -> Crash {
    match random.random_range(0..4) {
        0 => Crash::Kill,
        1 => Crash::PowerCut { keep: 0.0 },
        _ => Crash::PowerCut { keep: 0.5 },
    }
}

fn scenario(seed: u64, crash_at: Option<u64>) -> Replica {
    let mut replica = started(seed);
    replica.disk().plan(Faults {
        crash_at,
        ..Faults::default()
    });
    go(&mut replica, SHORT.steps);
    replica
}
