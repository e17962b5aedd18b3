//! When hedgerow is killed or stopped, PostgreSQL crashes, the link between them is cut and the slot dropped; and
//! doing it.
//!
//! Each disruption gets an equal share of the run and a seeded moment inside its share, in a seeded order, so
//! that they hit copies, flushes, merges and recoveries alike. How long a stop lasts is added to its share.

use std::fmt;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rand::Rng;
use rand::seq::SliceRandom;

use super::{SoakOptions, Stage};
use crate::patience::wait_for;
use crate::postgres_server::Shutdown;

/// What is disrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Disruption {
    /// SIGKILL to hedgerow.
    Kill,
    /// Hedgerow is stopped in order, and is away for [`SoakOptions::stop_length`].
    Stop,
    /// An immediate shutdown of PostgreSQL, which is a crash to it.
    Crash,
    /// The link between both is closed in the middle of whatever is on its way, and stays so for a while.
    Cut,
    /// The slot is dropped at the source, and with it the log that hedgerow has not read.
    SlotDrop,
}

impl fmt::Display for Disruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kill => "SIGKILL to hedgerow",
            Self::Stop => "hedgerow is stopped",
            Self::Crash => "crash of PostgreSQL",
            Self::Cut => "the link is cut",
            Self::SlotDrop => "the slot is dropped",
        })
    }
}

/// Moments since the start of the run, ascending.
pub type Plan = Vec<(Duration, Disruption)>;

/// Spreads all disruptions over the run.
pub fn plan(options: &SoakOptions, random: &mut impl Rng) -> Plan {
    let counts = [
        (Disruption::Kill, options.kills),
        (Disruption::Stop, options.stops),
        (Disruption::Crash, options.crashes),
        (Disruption::Cut, options.cuts),
        (Disruption::SlotDrop, options.slot_drops),
    ];
    let each = |(disruption, count): (Disruption, u32)| (0..count).map(move |_| disruption);
    let mut all: Vec<Disruption> = counts.into_iter().flat_map(each).collect();
    all.shuffle(random);
    let stopped = options.stop_length * options.stops;
    let others = Duration::from_secs(options.seconds).saturating_sub(stopped);
    let share = others.div_f64(all.len().max(1) as f64);
    let mut begin = Duration::ZERO;
    let moments = all.into_iter().map(|disruption| {
        let moment = begin + share.mul_f64(random.random::<f64>());
        begin += share;
        if disruption == Disruption::Stop {
            begin += options.stop_length;
        }
        (moment, disruption)
    });
    moments.collect()
}

/// Does it.
pub fn carry_out(
    disruption: Disruption,
    stage: &mut Stage,
    options: &SoakOptions,
    random: &mut impl Rng,
) -> Result<()> {
    // A server that is gone before it was killed did not survive the last disruption.
    stage.ensure_running()?;
    match disruption {
        Disruption::Kill => {
            stage.hedgerow.kill()?;
            stage.hedgerow.start_again()
        }
        Disruption::Stop => {
            stage.hedgerow.stop()?;
            thread::sleep(options.stop_length);
            stage.hedgerow.start_again()
        }
        Disruption::Crash => stage
            .postgres
            .restart(Shutdown::Immediate)
            .context("restart of PostgreSQL"),
        Disruption::Cut => {
            stage.link.cut();
            thread::sleep(Duration::from_millis(random.random_range(0..3_000)));
            stage.link.mend();
            Ok(())
        }
        Disruption::SlotDrop => {
            stage.link.cut();
            let dropped = drop_slot(stage);
            stage.link.mend();
            dropped
        }
    }
}

/// Drops the slot. While it is being made anew there is none; then there is one again soon.
fn drop_slot(stage: &Stage) -> Result<()> {
    const FREE: &str = "select pg_terminate_backend(active_pid) from pg_replication_slots
                        where slot_name = 'hedgerow' and active";
    const DROP: &str = "select pg_drop_replication_slot(slot_name) from pg_replication_slots
                        where slot_name = 'hedgerow'";
    wait_for("the slot to be dropped", || {
        let mut source = stage.postgres.connect("postgres")?;
        source.batch_execute(FREE)?;
        let dropped = source.simple_query(DROP)?;
        if !dropped.iter().any(is_row) {
            stage.link.mend();
            bail!("there is no slot to drop");
        }
        Ok(Some(()))
    })
}

fn is_row(message: &postgres::SimpleQueryMessage) -> bool {
    matches!(message, postgres::SimpleQueryMessage::Row(_))
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
            crashes: 2,
            cuts: 7,
            slot_drops: 1,
            stops: 2,
            stop_length: Duration::from_secs(30),
            ..SoakOptions::default()
        };
        let plan = plan(&options, &mut StdRng::seed_from_u64(7));
        let count = |wanted| plan.iter().filter(|(_, found)| *found == wanted).count();
        assert_eq!(plan.len(), 32);
        assert_eq!(count(Disruption::Crash), 2);
        assert_eq!(count(Disruption::SlotDrop), 1);
        assert!(plan.is_sorted_by_key(|(moment, _)| *moment));
        // 60 of the 120 seconds are left for the 32 disruptions.
        let share = Duration::from_secs(60).div_f64(32.0);
        let mut free = Duration::ZERO;
        for (moment, disruption) in plan {
            assert!(free <= moment && moment < free + share, "{moment:?}");
            free += share;
            if disruption == Disruption::Stop {
                free += options.stop_length;
            }
        }
        assert_eq!(free, Duration::from_secs(120));
    }
}
