//! `cargo xtask simulate`: a long run of the simulation, with its counts.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use mimalloc::MiMalloc;
use sim::campaign::{self, Campaign, Goal};

/// A quarter of the time went into the system's allocator.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Check crash states and model operations, seed after seed
#[derive(Debug, Parser)]
struct Arguments {
    /// Distinct crash states to check
    #[arg(long, default_value_t = 1_000_000)]
    crash_states: u64,
    /// Operations to check: row changes, truncations and steps
    #[arg(long, default_value_t = 10_000_000)]
    operations: u64,
    /// Stop after so many seconds
    #[arg(long, default_value_t = 86_400)]
    seconds: u64,
    /// Stop after so many runs
    #[arg(long, default_value_t = u64::MAX)]
    runs: u64,
    /// The seed of the first run; each run after it takes the next one
    #[arg(long, default_value_t = 1_000_000)]
    seed: u64,
    /// Run this scenario only
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(campaign::names()))]
    scenario: Option<String>,
}

/// Time between two lines of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let goal = Goal {
        crash_states: arguments.crash_states,
        operations: arguments.operations,
        runs_max: arguments.runs,
        time_max: Duration::from_secs(arguments.seconds),
        seed: arguments.seed,
        scenario: arguments.scenario,
    };
    let mut shown = Instant::now();
    let campaign = Campaign::run(&goal, |campaign| {
        if shown.elapsed() >= PROGRESS_EVERY {
            shown = Instant::now();
            show(campaign, &goal);
        }
    });
    let seconds = campaign.elapsed().as_secs();
    println!("{campaign}, {seconds} s, seeds from {}", goal.seed);
    for violation in campaign.violations() {
        println!("{violation}");
    }
    ExitCode::from(u8::from(!campaign.violations().is_empty()))
}

/// One line: how far it is, how long it will take, what has been checked.
fn show(campaign: &Campaign, goal: &Goal) {
    let (seconds, share) = (campaign.elapsed().as_secs(), campaign.share(goal));
    let left = seconds as f64 / share.max(f64::EPSILON) - seconds as f64;
    let left = (left.ceil() as u64).min(goal.time_max.as_secs().saturating_sub(seconds));
    let percent = (share * 100.0) as u64;
    eprintln!("{percent:2} %, {seconds} s, {left} s left: {campaign}");
}
