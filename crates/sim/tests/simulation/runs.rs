//! Which seeds are run, and what a failure prints.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A number from the environment.
fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")),
    )
}

/// Runs a scenario for `seeds` seeds, or as the environment says. The scenario's name keeps the
/// seeds of different scenarios apart.
pub fn for_seeds(scenario: &str, seeds: u64, run: impl Fn(u64)) {
    let seeds = seeds * variable("HEDGEROW_SIM_RUNS").unwrap_or(1);
    let only = variable("HEDGEROW_SIM_SEED");
    let range = only.map_or(0..seeds, |seed| seed..seed + 1);
    for seed in range {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(seed))) {
            eprintln!("{scenario}: repeat with HEDGEROW_SIM_SEED={seed}");
            resume_unwind(panic);
        }
    }
}
