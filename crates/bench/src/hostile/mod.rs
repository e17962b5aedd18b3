//! Honest clients beside hostile ones: their p99 may double at most, and memory stays within its limit.
//!
//! 1. A PostgreSQL holds a table of accounts; hedgerow copies it. It has its default memory, and places
//!    for as many clients as there are slow ones that know the password: they hold theirs for good.
//! 2. Honest clients ([`honest`]) ask by a timetable: some stay and look rows up by key, some come anew,
//!    log in, have rows added up and go. Phases take turns: alone, beside the crowd, alone again.
//! 3. The crowd ([`crowd`], [`kinds`]):
//!    * 1,000 are *slow*, a byte every 100 ms: a third in logging in, a third in sending statements
//!      once they are logged in, a third in reading a result of megabytes;
//!    * 1,000 are *half open*: they begin their first packet and say no more;
//!    * 100 *guess* passwords. Their proofs are made up, which spares them what a proof costs.
//!
//!    Whose connection the server ends comes again a second later; whose guess is refused, at once.
//!
//! The p99 of a phase beside the crowd is taken against the mean of those before and after it; medians
//! count. Memory is the most that is resident from when the crowd comes until it has gone. A wrong
//! answer to an honest client, and none, is a failure.
//!
//! All clients share the machine's processors with the server. The crowd has the lowest priority.

mod connection;
mod crowd;
mod figures;
mod honest;
mod kinds;
mod phase;
mod tally;
#[cfg(test)]
mod tests;

use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::Scale;
use crate::accounts;
use crate::results::Results;

use crowd::Sizes;
use figures::Figures;
use honest::Load;
use phase::{Outcome, Sides};

/// The default of `hedgerow serve`.
const MEMORY_MIB: u64 = 512;
/// Places for honest clients; the default of `hedgerow serve`.
const HONEST_PLACES: usize = 100;

/// Longer than a client may take to log in: whoever is ended for that has come again.
const SETTLING: Duration = Duration::from_secs(12);

/// Sizes of a run.
#[derive(Clone, Copy, Debug)]
struct Plan {
    name: &'static str,
    rounds: u64,
    /// How long a crowd is there before honest clients are measured beside it.
    settling: Duration,
    /// How long a phase goes on.
    seconds: f64,
    honest: Load,
    crowd: Sizes,
}

impl Plan {
    fn of(scale: Scale) -> Self {
        let (name, rows, rounds, seconds) = match scale {
            Scale::Quick => ("quick", 100_000, 1, 10.0),
            Scale::Full => ("full", 500_000, 5, 30.0),
        };
        Self {
            name,
            rounds,
            settling: SETTLING,
            seconds,
            honest: Load {
                rows,
                staying: 8,
                look_ups_a_second: 50.0,
                coming: 4,
                visits_a_second: 5.0,
            },
            crowd: Sizes {
                slow: 1_000,
                half_open: 1_000,
                guessing: 100,
            },
        }
    }

    fn memory_bytes(self) -> u64 {
        MEMORY_MIB << 20
    }

    fn connections(self) -> usize {
        HONEST_PLACES + self.crowd.inside()
    }
}

/// Runs the experiment.
pub fn run(scale: Scale) -> Result<Results> {
    run_plan(Plan::of(scale))
}

fn run_plan(plan: Plan) -> Result<Results> {
    let folder = TempDir::with_prefix("bench-hostile-")?;
    let postgres = accounts::publisher(plan.honest.rows)?;
    let (memory, connections) = (format!("{MEMORY_MIB}MiB"), plan.connections().to_string());
    let limits = ["--memory", &memory, "--connections", &connections];
    let hedgerow = accounts::copied(&postgres, folder.path(), &limits)?;
    let login = accounts::login_of_hedgerow(&hedgerow)?;
    let sides = Sides {
        plan,
        login: &login,
        process: hedgerow.process_id().context("hedgerow runs")?,
    };
    // It only warms up.
    told("warming up", sides.alone(0)?);
    let mut figures = Figures::default();
    figures.alone.push(told("alone", sides.alone(1)?));
    for round in 1..=plan.rounds {
        let beside = sides.beside_crowd(2 * round)?;
        figures.beside.push(told("beside the crowd", beside));
        figures
            .alone
            .push(told("alone", sides.alone(2 * round + 1)?));
    }
    let mut results = Results::new("hostile", plan.name);
    note_settings(&mut results, plan);
    figures.note(&mut results, plan);
    Ok(results)
}

/// Shows an outcome while others are still to come.
fn told(phase: &str, outcome: Outcome) -> Outcome {
    eprintln!("{phase}: {outcome}");
    if let Some(failure) = outcome.failures.first() {
        eprintln!("the first failure: {failure}");
    }
    outcome
}

fn note_settings(results: &mut Results, plan: Plan) {
    let Load {
        rows,
        staying,
        look_ups_a_second,
        coming,
        visits_a_second,
    } = plan.honest;
    results.setting("rows", rows);
    results.setting("rounds", plan.rounds);
    results.setting("seconds of a phase", plan.seconds);
    results.setting("memory of hedgerow", format!("{MEMORY_MIB} MiB"));
    results.setting("connections of hedgerow", plan.connections());
    let staying = format!("{staying} stay, {look_ups_a_second} look-ups a second each");
    let coming = format!("{coming} come anew, {visits_a_second} times a second each");
    results.setting("honest clients", format!("{staying}; {coming}"));
    let Sizes {
        slow,
        half_open,
        guessing,
    } = plan.crowd;
    let crowd = format!("{slow} slow, {half_open} half-open, {guessing} guessing");
    results.setting("hostile clients", crowd);
    let pause = connection::BYTE_PAUSE.as_millis();
    results.setting("slow clients' pause after a byte, ms", pause);
}
