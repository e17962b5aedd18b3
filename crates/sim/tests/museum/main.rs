//! The museum: each bug of [`lsm::museum`] is caught by some scenario that passes without it.
//!
//! For every exhibit the scenarios are tried in turn, a seed each, then the next seed, until one
//! of them finds a violation. `cargo test -p sim --test museum -- --nocapture` shows which one
//! found what; `HEDGEROW_SIM_EXHIBIT=name` looks at one exhibit only.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

use lsm::museum::{self, Exhibit};
use sim::scenario::{self, threads};

/// Seeds of every scenario that are tried before an exhibit counts as not caught.
const SEEDS_MAX: u64 = 40;

/// How an exhibit was caught.
struct Catch {
    scenario: &'static str,
    seed: u64,
    /// Runs of scenarios until then, this one counted.
    runs: usize,
    /// The first words of the violation.
    words: String,
}

/// What a scenario finds.
fn violation(run: impl FnOnce()) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(run)).err()?;
    let words = panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|&words| words.to_owned()));
    Some(words.unwrap_or_default())
}

/// Runs a scenario with a seed, and with an exhibit on show or without any.
type Run = Box<dyn Fn(u64, Option<Exhibit>)>;

/// The scenarios with their names, real threads last: only their course is not the seed's.
fn scenarios() -> Vec<(&'static str, Run)> {
    let mut all: Vec<(_, Run)> = Vec::new();
    for &(name, run) in &scenario::ALL {
        all.push((
            name,
            Box::new(move |seed, exhibit| shown(exhibit, || run(seed))),
        ));
    }
    let in_threads = |seed, exhibit| {
        shown(exhibit, || threads::run(seed, &|| museum::show(exhibit)));
    };
    all.push(("threads", Box::new(in_threads)));
    let only = std::env::var("HEDGEROW_SIM_SCENARIO").ok();
    all.retain(|(name, _)| only.as_ref().is_none_or(|only| only == name));
    all
}

/// Has this thread run something with the exhibit on show.
fn shown(exhibit: Option<Exhibit>, run: impl FnOnce()) {
    museum::show(exhibit);
    run();
}

/// How the exhibit is caught; an error if it is not, or if a scenario fails without it as well.
fn catch(exhibit: Exhibit) -> Result<Catch, String> {
    let scenarios = scenarios();
    let mut runs = 0;
    for seed in 0..SEEDS_MAX {
        for (scenario, run) in &scenarios {
            runs += 1;
            let Some(words) = violation(|| run(seed, Some(exhibit))) else {
                continue;
            };
            if let Some(words) = violation(|| run(seed, None)) {
                return Err(format!(
                    "{scenario}, seed {seed}, fails without {exhibit:?}: {words}"
                ));
            }
            return Ok(Catch {
                scenario,
                seed,
                runs,
                words,
            });
        }
    }
    Err(format!("{exhibit:?} is not caught"))
}

fn report(exhibit: Exhibit, found: &Catch) {
    let name = format!("{exhibit:?}");
    let words: String = found.words.chars().take(90).collect();
    let (scenario, seed, runs) = (found.scenario, found.seed, found.runs);
    println!("{name:26} {scenario:20} seed {seed:2}, run {runs:3}: {words}");
}

fn exhibits() -> Vec<Exhibit> {
    let only = std::env::var("HEDGEROW_SIM_EXHIBIT").ok();
    let wanted = |exhibit: &&Exhibit| {
        only.as_ref()
            .is_none_or(|only| *only == format!("{exhibit:?}"))
    };
    Exhibit::ALL.iter().filter(wanted).copied().collect()
}

#[test]
fn every_exhibit_is_caught() {
    std::panic::set_hook(Box::new(|_| ()));
    let left = Mutex::new(exhibits().into_iter());
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let lanes = thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..lanes {
            scope.spawn(|| {
                loop {
                    let next = left.lock().expect("no panic").next();
                    let Some(exhibit) = next else { return };
                    match catch(exhibit) {
                        Ok(found) => report(exhibit, &found),
                        Err(why) => failures.lock().expect("no panic").push(why),
                    }
                }
            });
        }
    });
    drop(std::panic::take_hook());
    let failures = failures.into_inner().expect("no panic");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
