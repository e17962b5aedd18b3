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

fn catch(exhibit: Exhibit) -> Option<Catch> {
    museum::show(Some(exhibit));
    let real_threads = |seed| threads::run(seed, &|| museum::show(Some(exhibit)));
    for seed in 0..SEEDS_MAX {
        let run = |(number, (scenario, run)): (usize, (&'static str, &dyn Fn(u64)))| {
            let words = violation(|| run(seed))?;
            museum::show(None);
            let blame = violation(|| run(seed));
            assert_eq!(
                blame, None,
                "{scenario:?}, seed {seed}, fails without a bug"
            );
            let runs = seed as usize * (scenario::ALL.len() + 1) + number + 1;
            Some(Catch {
                scenario,
                seed,
                runs,
                words,
            })
        };
        let ordinary = scenario::ALL
            .iter()
            .map(|(name, run)| (*name, run as &dyn Fn(u64)));
        let only = std::env::var("HEDGEROW_SIM_SCENARIO").ok();
        let mut all = ordinary
            .chain([("threads", &real_threads as &dyn Fn(u64))])
            .filter(|(name, _)| only.as_ref().is_none_or(|only| only == name))
            .enumerate();
        if let Some(found) = all.find_map(run) {
            return Some(found);
        }
    }
    None
}

fn report(exhibit: Exhibit, found: Option<&Catch>) {
    let name = format!("{exhibit:?}");
    match found {
        None => println!("{name:26} NOT CAUGHT"),
        Some(found) => {
            let words: String = found.words.chars().take(90).collect();
            let (scenario, seed, runs) = (found.scenario, found.seed, found.runs);
            println!("{name:26} {scenario:20} seed {seed:2}, run {runs:3}: {words}");
        }
    }
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
    let not_caught = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let lanes = thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..lanes {
            scope.spawn(|| {
                loop {
                    let next = left.lock().expect("no panic").next();
                    let Some(exhibit) = next else { return };
                    let found = catch(exhibit);
                    report(exhibit, found.as_ref());
                    if found.is_none() {
                        not_caught.lock().expect("no panic").push(exhibit);
                    }
                }
            });
        }
    });
    drop(std::panic::take_hook());
    let not_caught = not_caught.into_inner().expect("no panic");
    assert!(not_caught.is_empty(), "not caught: {not_caught:?}");
}
