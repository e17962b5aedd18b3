//! A long run: scenarios, seed after seed, until enough has been checked.
//!
//! 1. Crash runs until there are enough distinct crash states, and runs without faults until
//!    there are enough operations: whichever is further behind comes next.
//! 2. Every tenth run is another scenario: failing operations, damage, real threads.
//! 3. A violation is shown with what repeats it; the run goes on with the next seed.

use std::collections::HashSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::replica::{Done, Replica};
use crate::scenario::crashes::{self, Plan, Seen};
use crate::scenario::{self, model, threads};

/// Of most crash runs: small tables, so that many states can be checked.
const SMALL: Plan = Plan {
    steps: 120,
    every: 1,
    watched: 12,
    watched_every: 2,
    going_on: 50,
    writes_max: 20,
};

/// Of the others.
const LARGE: Plan = Plan {
    writes_max: u32::MAX,
    ..SMALL
};

/// One of so many crash runs is large.
const LARGE_EVERY: u64 = 16;

/// Steps of a run without faults.
const STEPS: usize = 2_000;

/// One of so many runs is another scenario.
const OTHERS_EVERY: u64 = 10;

/// How much is to be checked.
#[derive(Clone, Debug)]
pub struct Goal {
    /// Distinct crash states.
    pub crash_states: u64,
    /// Row changes, truncations and steps of processes that go on undisturbed.
    pub operations: u64,
    /// Runs at most.
    pub runs_max: u64,
    /// Time at most.
    pub time_max: Duration,
    /// The first run's seed.
    pub seed: u64,
    /// Only this scenario.
    pub scenario: Option<String>,
}

/// What has been checked.
#[derive(Default)]
pub struct Campaign {
    seen: Seen,
    done: Done,
    options: HashSet<String>,
    runs: u64,
    violations: Vec<String>,
    elapsed: Duration,
}

/// A scenario by name.
type Named = (&'static str, u64);

impl Campaign {
    /// Runs until the goal is reached, and calls `progress` after every run.
    pub fn run(goal: &Goal, mut progress: impl FnMut(&Self)) -> Self {
        let start = Instant::now();
        let mut campaign = Self::default();
        while campaign.goes_on(goal) {
            let scenario = campaign.next(goal);
            campaign.try_run(scenario);
            campaign.runs += 1;
            campaign.elapsed = start.elapsed();
            progress(&campaign);
        }
        campaign
    }

    fn goes_on(&self, goal: &Goal) -> bool {
        let is_short = self.share(goal) < 1.0;
        is_short && self.runs < goal.runs_max && self.elapsed < goal.time_max
    }

    /// How much of the goal has been reached, at most 1.
    pub fn share(&self, goal: &Goal) -> f64 {
        self.state_share(goal).min(self.operation_share(goal))
    }

    fn state_share(&self, goal: &Goal) -> f64 {
        self.seen.distinct() as f64 / goal.crash_states.max(1) as f64
    }

    fn operation_share(&self, goal: &Goal) -> f64 {
        self.operations() as f64 / goal.operations.max(1) as f64
    }

    /// Row changes, truncations and steps.
    pub fn operations(&self) -> u64 {
        self.done.changes + self.done.steps
    }

    /// Violations, each with what repeats it.
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// The time since the beginning.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    fn next(&self, goal: &Goal) -> Named {
        let seed = goal.seed + self.runs;
        let others = names().filter(|name| !["model", "crashes"].contains(name));
        let named = goal.scenario.as_deref();
        let name = match named.and_then(|named| names().find(|name| *name == named)) {
            Some(only) => only,
            None if self.runs % OTHERS_EVERY == OTHERS_EVERY - 1 => {
                let others: Vec<&str> = others.collect();
                others[(self.runs / OTHERS_EVERY) as usize % others.len()]
            }
            None if self.state_share(goal) <= self.operation_share(goal) => "crashes",
            None => "model",
        };
        (name, seed)
    }

    fn try_run(&mut self, (name, seed): Named) {
        let ran = catch_unwind(AssertUnwindSafe(|| self.run_one(name, seed)));
        if ran.is_err() {
            let words = format!(
                "VIOLATION: repeat with cargo xtask simulate --scenario {name:?} --seed {seed} --runs 1"
            );
            eprintln!("{words}");
            self.violations.push(words);
        }
    }

    fn run_one(&mut self, name: &str, seed: u64) {
        match name {
            "crashes" => {
                let plan = [&SMALL, &LARGE][usize::from(seed.is_multiple_of(LARGE_EVERY))];
                let replica = crashes::run(seed, plan, &mut self.seen);
                self.note(&replica);
            }
            "model" => self.note(&model::run(seed, STEPS)),
            "threads" => threads::run(seed, &|| ()),
            _ => {
                let run = scenario::ALL.iter().find(|(known, _)| *known == name);
                run.expect("a known scenario").1(seed);
            }
        }
    }

    fn note(&mut self, replica: &Replica) {
        self.done += replica.done();
        self.options.insert(format!("{:?}", replica.options()));
    }
}

impl fmt::Display for Campaign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seen, done) = (&self.seen, &self.done);
        write!(
            f,
            "{} crash states ({} of them after a crash in a recovery; {} checks), \
             {} operations ({} row changes, {} steps; {} merges), {} option sets, {} runs, \
             {} violations",
            seen.distinct(),
            seen.later.len(),
            seen.checked,
            self.operations(),
            done.changes,
            done.steps,
            done.merges,
            self.options.len(),
            self.runs,
            self.violations.len()
        )
    }
}

/// The names of all scenarios.
pub fn names() -> impl Iterator<Item = &'static str> {
    let ordinary = scenario::ALL.iter().map(|(name, _)| *name);
    ordinary.chain(["threads"])
}
