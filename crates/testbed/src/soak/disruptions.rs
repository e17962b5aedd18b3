//! When hedgerow is killed and PostgreSQL crashes, and doing it.
//!
//! Each disruption gets an equal share of the run and a seeded moment inside its share, so
//! kills hit copies, flushes, merges and recoveries alike. Crashes of PostgreSQL are spread
//! evenly among the kills.

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rand::Rng;

use super::{SoakOptions, SoakReport};
use crate::postgres_server::Shutdown;
use crate::{Hedgerow, PostgresServer};

/// What is disrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// SIGKILL to hedgerow.
    Hedgerow,
    /// An immediate shutdown of PostgreSQL, which is a crash to it.
    PostgreSql,
}

impl fmt::Display for Victim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hedgerow => "SIGKILL to hedgerow",
            Self::PostgreSql => "crash of PostgreSQL",
        })
    }
}

/// Moments since the start of the load, ascending.
pub type Plan = Vec<(Duration, Victim)>;

/// Spreads all disruptions over `span`.
pub fn plan(options: SoakOptions, span: Duration, random: &mut impl Rng) -> Plan {
    let total = options.kills + options.restarts;
    let victim = |index: u32| {
        // Crash number k falls on the first index with index * restarts / total >= k.
        let crashes_until = |index: u32| index * options.restarts / total;
        if crashes_until(index + 1) > crashes_until(index) {
            Victim::PostgreSql
        } else {
            Victim::Hedgerow
        }
    };
    (0..total)
        .map(|index| {
            let share = span / total;
            (
                share * index + share.mul_f64(random.random::<f64>()),
                victim(index),
            )
        })
        .collect()
}

/// Carries out the plan, starting now.
pub fn carry_out(
    plan: &Plan,
    postgres: &mut PostgresServer,
    hedgerow: &mut Hedgerow,
    say: &(dyn Fn(&str) + Sync),
) -> Result<SoakReport> {
    let started = Instant::now();
    let mut report = SoakReport::default();
    for &(moment, victim) in plan {
        thread::sleep(moment.saturating_sub(started.elapsed()));
        say(&format!(
            "{:>6.1} s  {victim}",
            started.elapsed().as_secs_f64()
        ));
        // A server that is gone before it was killed did not survive the last disruption.
        if let Some(status) = hedgerow.ended()? {
            bail!(
                "hedgerow ended by itself with {status}: {}",
                hedgerow.log_tail()
            );
        }
        match victim {
            Victim::Hedgerow => {
                hedgerow.kill()?;
                hedgerow.start_again()?;
                report.kills += 1;
            }
            Victim::PostgreSql => {
                postgres
                    .restart(Shutdown::Immediate)
                    .context("restart of PostgreSQL")?;
                report.restarts += 1;
            }
        }
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn the_plan_has_all_disruptions_in_order() {
        let options = SoakOptions {
            seconds: 120,
            kills: 20,
            restarts: 2,
            scale: 1,
            answers_min: 0,
            seed: 7,
        };
        let span = Duration::from_secs(options.seconds);
        let plan = plan(options, span, &mut StdRng::seed_from_u64(options.seed));
        let crashes = plan
            .iter()
            .filter(|(_, victim)| *victim == Victim::PostgreSql)
            .count();
        assert_eq!((plan.len(), crashes), (22, 2));
        assert!(plan.is_sorted_by_key(|(moment, _)| *moment));
        assert!(plan.iter().all(|(moment, _)| *moment < span));
    }
}
