//! A loaded database, and transactions on it.

use std::path::Path;
use std::thread;

use anyhow::{Result, bail, ensure};
use contender::tpcc::Scale;
use contender::tpcc::conditions::Totals;
use contender::tpcc::transactions::Mix;
use env::Env;
use oltp::{
    AntiCacheOptions, Call, Outcome, Partition, PartitionPlan, ProcedureNumber, Refusal, Stop,
};
use tpcc::{calls, dump, load, schema};

/// Commits that may wait for the log.
const UNACKNOWLEDGED_MAX: u64 = 1 << 16;

/// Refusals of a call after which there will be no room.
pub const REFUSALS_MAX: usize = 1_000_000;

/// The partition, without rows.
pub fn open(folder: &Path, anti_cache: Option<AntiCacheOptions>) -> Result<Partition> {
    let plan = PartitionPlan {
        tables: schema::tables(),
        procedures: calls::procedures(),
        anti_cache,
        has_log: true,
        feed: None,
    };
    Ok(Partition::open(&Env::real(), folder, plan)?)
}

/// Loads it.
pub fn fill(partition: &mut Partition, scale: &Scale) -> Result<()> {
    let now_us = Env::real().clock.wall_us();
    load::load_all(scale, 1, now_us, &mut |call, reply| {
        run_to_end(partition, call, reply)?;
        keep_pace(partition)
    })?;
    await_durable(partition)
}

/// The conditions hold.
pub fn check(partition: &mut Partition, scale: &Scale) -> Result<()> {
    let mut totals = Totals::default();
    dump::dump_all(
        scale,
        1,
        &mut |call, reply| run_to_end(partition, call, reply),
        |row| totals.add(&row),
    )?;
    let broken = totals.check(scale);
    ensure!(broken.is_empty(), "not consistent: {:?}", broken[0]);
    Ok(())
}

fn run_to_end(partition: &mut Partition, call: Call<'_>, reply: &mut Vec<u8>) -> Result<()> {
    let (mut completed, mut refusals) = (Vec::new(), 0);
    let mut outcome = partition.execute(call, reply);
    loop {
        match outcome {
            Outcome::Committed(_) => return Ok(()),
            Outcome::Stopped(stop) => bail!(stop),
            Outcome::Refused(Refusal::Poisoned) => bail!(Refusal::Poisoned),
            Outcome::Refused(refusal) => {
                refusals += 1;
                ensure!(refusals < REFUSALS_MAX, "refused for good: {refusal}");
                partition.poll(&mut completed)?;
                thread::yield_now();
                outcome = partition.execute(call, reply);
            }
            Outcome::Waiting(ticket) => {
                partition.poll(&mut completed)?;
                thread::yield_now();
                outcome = match completed.pop() {
                    Some(completion) => {
                        *reply = completion.reply;
                        completion.outcome
                    }
                    None => Outcome::Waiting(ticket),
                };
            }
        }
    }
}

/// Hands the log on; waits when too much is not durable yet.
pub fn keep_pace(partition: &mut Partition) -> Result<()> {
    poll(partition)?;
    while partition.position().0 - partition.durable().0 > UNACKNOWLEDGED_MAX {
        thread::yield_now();
        poll(partition)?;
    }
    Ok(())
}

/// Goes on with what has waited; fails when that has failed.
pub fn poll(partition: &mut Partition) -> Result<()> {
    let mut completed = Vec::new();
    partition.poll(&mut completed)?;
    let mut ends = completed.iter().map(|completion| &completion.outcome);
    ends.try_for_each(|outcome| has_ended(outcome).map(drop))
}

/// Waits until everything is durable.
pub fn await_durable(partition: &mut Partition) -> Result<()> {
    while partition.durable() < partition.position() {
        poll(partition)?;
        thread::yield_now();
    }
    Ok(())
}

/// Whether a transaction has ended as the specification has it: committed, or rolled back for want of
/// an item. Anything else is a failure.
pub fn has_ended(outcome: &Outcome) -> Result<bool> {
    match outcome {
        Outcome::Committed(_) | Outcome::Stopped(Stop::Abort(_)) => Ok(true),
        Outcome::Stopped(stop) => bail!("{stop}"),
        Outcome::Refused(Refusal::Poisoned) => bail!(Refusal::Poisoned),
        Outcome::Waiting(_) | Outcome::Refused(_) => Ok(false),
    }
}

/// Transactions that were drawn before the clock runs.
pub struct Drawn {
    /// Procedure, and where its parameters end.
    calls: Vec<(ProcedureNumber, usize)>,
    parameters: Vec<u8>,
}

impl Drawn {
    /// So many more of the mix.
    pub fn draw(mix: &mut Mix, count: usize) -> Self {
        let (mut calls, mut parameters) = (Vec::new(), Vec::new());
        let mut encoded = Vec::new();
        for _ in 0..count {
            let procedure = calls::encode(&mix.draw(), &mut encoded);
            parameters.extend_from_slice(&encoded);
            calls.push((procedure, parameters.len()));
        }
        Self { calls, parameters }
    }

    /// The calls.
    pub fn iter(&self) -> impl Iterator<Item = Call<'_>> {
        let mut start = 0;
        self.calls.iter().map(move |&(procedure, end)| {
            let parameters = &self.parameters[start..end];
            start = end;
            Call {
                procedure,
                parameters,
            }
        })
    }
}
