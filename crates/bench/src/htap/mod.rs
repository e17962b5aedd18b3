//! CH-benCHmark: analytical queries here while orders are entered at the source (R3a to R3c, S3).
//!
//! 1. A PostgreSQL is filled with TPC-C's rows and the three tables that CH-benCHmark takes from TPC-H;
//!    hedgerow copies it and follows.
//! 2. Each round has four phases:
//!    * *writes*: the source makes 20,000 row changes a second, nobody asks (R3a, R3b);
//!    * *busy*: it makes them while the 22 queries of CH-benCHmark are asked back to back on one
//!      connection (R3c);
//!    * *quiet*: they are asked while nobody writes. There is one before the first round as well; S3 is
//!      the rate of a busy phase by the mean of the quiet ones before and after it, because the tables
//!      grow;
//!    * *elsewhere*: they are asked while the same transactions run in another database of the same
//!      server: what the source's own work takes from the two processors, and following does not.
//!
//!    Queries are asked in whole sets of 22, for so long at least. Medians over the rounds count.
//! 3. When all is written, every answer has to be PostgreSQL's: the same rows, whatever the order of
//!    those that ORDER BY leaves open. PostgreSQL is asked while it writes as well: the peer.
//!
//! What is written is New-Order, Payment and Delivery in the specification's mix, a transaction at a time on
//! a few connections ([`writers`]). How fresh answers are is what a reader over the wire finds
//! ([`freshness`]).
//!
//! Does not: limit memory or disk; wait for the source's disk (it runs without fsync: what is measured
//! begins with a commit that is done).

mod figures;
mod freshness;
mod phase;
mod queries;
mod row_text;
mod source;
#[cfg(test)]
mod tests;
mod writers;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use contender::tpcc::Scale as Rows;
use tempfile::TempDir;
use testbed::patience::wait_at_most;
use testbed::soak::settled_bytes;
use testbed::tpch::answers::Answer;
use testbed::{Hedgerow, HedgerowOptions};

use crate::Scale;
use crate::results::Results;

use figures::Figures;
use phase::{Phase, Sides};
use queries::Query;
use source::Source;

/// Row changes a second, all writers together.
const CHANGES_A_SECOND: f64 = 20_000.0;
/// How long copying and catching up may take.
const LIMIT: Duration = Duration::from_secs(1800);

/// Sizes of a run.
#[derive(Clone, Copy, Debug)]
struct Plan {
    name: &'static str,
    rows: Rows,
    rounds: u64,
    /// How long a phase goes on at least.
    seconds: f64,
    changes_a_second: f64,
    memory: &'static str,
}

impl Plan {
    fn of(scale: Scale) -> Self {
        let (name, warehouses, rounds, seconds, memory) = match scale {
            Scale::Quick => ("quick", 2, 1, 5.0, "1GiB"),
            Scale::Full => ("full", 10, 3, 60.0, "2GiB"),
        };
        Self {
            name,
            rows: Rows::standard(warehouses),
            rounds,
            seconds,
            changes_a_second: CHANGES_A_SECOND,
            memory,
        }
    }
}

/// Runs the experiment.
pub fn run(scale: Scale) -> Result<Results> {
    run_plan(Plan::of(scale))
}

fn run_plan(plan: Plan) -> Result<Results> {
    let folder = TempDir::with_prefix("bench-htap-")?;
    let source = Source::start(plan.rows)?;
    let hedgerow = copied(&source, plan, folder.path())?;
    let queries = queries::all()?;
    let sides = Sides {
        source: &source,
        hedgerow: &hedgerow,
        queries: &queries,
        plan,
    };
    let mut figures = Figures::default();
    figures.add(sides.run(Phase::Quiet, 0)?);
    for round in 1..=plan.rounds {
        for phase in [Phase::Writes, Phase::Busy, Phase::Quiet, Phase::Elsewhere] {
            figures.add(sides.run(phase, round)?);
        }
    }
    compare(&source, &hedgerow, &queries)?;
    figures.add(sides.run(Phase::Peer, plan.rounds + 1)?);
    let mut results = Results::new("htap", plan.name);
    note_settings(&mut results, plan);
    figures.note(&mut results);
    Ok(results)
}

fn copied(source: &Source, plan: Plan, folder: &Path) -> Result<Hedgerow> {
    eprintln!("copying to hedgerow");
    let options = HedgerowOptions::new(source.url(), &folder.join("hedgerow"))?
        .with(&["--memory", plan.memory]);
    let mut hedgerow = Hedgerow::start(options)?;
    hedgerow.wait_ready_at_most(LIMIT)?;
    settled_bytes(&hedgerow)?;
    Ok(hedgerow)
}

/// All answers are PostgreSQL's, once its last transaction is visible.
fn compare(source: &Source, hedgerow: &Hedgerow, queries: &[Query]) -> Result<()> {
    eprintln!("comparing answers");
    let mut ours = hedgerow.connect()?;
    let mut theirs = source.connect()?;
    let stamps = "select sw_writer, sw_stamp from stopwatch order by sw_writer";
    let wanted = Answer::ask(&mut theirs, stamps)?;
    wait_at_most(LIMIT, "the last transaction to be visible", || {
        Ok((Answer::ask(&mut ours, stamps)? == wanted).then_some(()))
    })?;
    for query in queries {
        let answer = Answer::ask(&mut ours, &query.text)?;
        let expected = Answer::ask(&mut theirs, &query.text)?;
        query
            .ensure_same(answer, expected)
            .with_context(|| format!("query {}", query.number))?;
    }
    Ok(())
}

fn note_settings(results: &mut Results, plan: Plan) {
    results.setting("warehouses", plan.rows.warehouses);
    results.setting("rounds", plan.rounds);
    results.setting("seconds of a phase, at least", plan.seconds);
    results.setting("changes a second asked for", plan.changes_a_second);
    results.setting("writing connections", writers::WRITERS);
    results.setting("pause between two looks, ms", freshness::PAUSE.as_millis());
    results.setting("memory of hedgerow", plan.memory);
    results.setting("source", source::SETTINGS_IN_WORDS);
}
