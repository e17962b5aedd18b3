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
//! With `--source primary` orders are entered at the primary that is built in ([`primary_source`]): its work is hedgerow's
//! own, there is no *elsewhere*, and instead of PostgreSQL's answers the consistency conditions of TPC-C are asked
//! for in the end.
//!
//! With `--source held` the source works as if it ran elsewhere ([`held_source`]): the log of each phase is written
//! before the phase and delivered during it. So there is no *elsewhere* either: what following takes is measured alone.
//!
//! What is written is New-Order, Payment and Delivery in the specification's mix, a transaction at a time on
//! a few connections ([`writers`]). How fresh answers are is what a reader over the wire finds
//! ([`freshness`]).
//!
//! Does not: limit memory or disk; wait for PostgreSQL's disk (it runs without fsync: what is measured
//! begins with a commit that is done; at the primary it begins before the call, and has its sync in it).

mod calls;
mod figures;
mod freshness;
mod held_link;
mod held_source;
mod load;
mod phase;
mod postgres_calls;
mod postgres_source;
mod primary_calls;
mod primary_source;
mod queries;
mod row_text;
mod source;
mod suppliers;
#[cfg(test)]
mod tests;
mod writers;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use contender::tpcc::Scale as Rows;
use tempfile::TempDir;
use testbed::soak::settled_bytes;
use testbed::tpch::answers::Answer;
use testbed::{Hedgerow, HedgerowOptions};

use crate::Scale;
use crate::results::Results;

use figures::Figures;
use held_link::HeldLink;
use held_source::HeldSource;
use phase::{Phase, Sides};
use postgres_source::PostgresSource;
use queries::Query;
use source::Source;
pub use source::SourceKind;

/// Row changes a second, all writers together.
const CHANGES_A_SECOND: f64 = 20_000.0;
/// How long copying and catching up may take.
const LIMIT: Duration = Duration::from_secs(1800);

/// Has the log read by the stream however much of it waits.
const BY_STREAM: [&str; 2] = ["--backlog", "stream"];

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
pub fn run(scale: Scale, kind: SourceKind) -> Result<Results> {
    let plan = Plan::of(scale);
    match kind {
        SourceKind::Postgres => run_beside_postgres(plan),
        SourceKind::Held => run_with_held_log(plan),
        SourceKind::Primary => run_on_primary(plan),
    }
}

fn run_beside_postgres(plan: Plan) -> Result<Results> {
    let folder = TempDir::with_prefix("bench-htap-")?;
    let source = PostgresSource::start(plan.rows)?;
    let hedgerow = copied(&source.url(), &[], plan, folder.path())?;
    let queries = queries::all()?;
    let sides = Sides {
        source: Source::Postgres(&source),
        hedgerow: &hedgerow,
        queries: &queries,
        plan,
    };
    let phases = [Phase::Writes, Phase::Busy, Phase::Quiet, Phase::Elsewhere];
    let mut figures = run_rounds(sides, &phases)?;
    compare(&source, &hedgerow, &queries)?;
    figures.add(sides.run(Phase::Peer, plan.rounds + 1)?);
    Ok(results(plan, postgres_source::SETTINGS_IN_WORDS, &figures))
}

fn run_with_held_log(plan: Plan) -> Result<Results> {
    let folder = TempDir::with_prefix("bench-htap-")?;
    let source = PostgresSource::start(plan.rows)?;
    let link = HeldLink::to(source.port())?;
    let url = source.url_through(link.port());
    let hedgerow = copied(&url, &BY_STREAM, plan, folder.path())?;
    let queries = queries::all()?;
    let held = HeldSource {
        source: &source,
        link: &link,
    };
    let sides = Sides {
        source: Source::Held(&held),
        hedgerow: &hedgerow,
        queries: &queries,
        plan,
    };
    let figures = run_rounds(sides, &[Phase::Writes, Phase::Busy, Phase::Quiet])?;
    compare(&source, &hedgerow, &queries)?;
    let of_source = format!(
        "{}; its log is written before each phase, held back and delivered at its pace",
        postgres_source::SETTINGS_IN_WORDS
    );
    Ok(results(plan, &of_source, &figures))
}

fn run_on_primary(plan: Plan) -> Result<Results> {
    let folder = TempDir::with_prefix("bench-htap-")?;
    let hedgerow = primary_source::start(plan.rows, plan.memory, folder.path())?;
    settled_bytes(&hedgerow)?;
    let queries = queries::all()?;
    let sides = Sides {
        source: Source::Primary(&hedgerow),
        hedgerow: &hedgerow,
        queries: &queries,
        plan,
    };
    let figures = run_rounds(sides, &[Phase::Writes, Phase::Busy, Phase::Quiet])?;
    primary_source::check(&hedgerow)?;
    Ok(results(plan, primary_source::SETTINGS_IN_WORDS, &figures))
}

/// A quiet phase, and these phases in each round.
fn run_rounds(sides: Sides<'_>, phases: &[Phase]) -> Result<Figures> {
    let mut figures = Figures::default();
    figures.add(sides.run(Phase::Quiet, 0)?);
    for round in 1..=sides.plan.rounds {
        for &phase in phases {
            figures.add(sides.run(phase, round)?);
        }
    }
    Ok(figures)
}

fn results(plan: Plan, source: &str, figures: &Figures) -> Results {
    let mut results = Results::new("htap", plan.name);
    results.setting("source", source);
    results.setting("warehouses", plan.rows.warehouses);
    results.setting("rounds", plan.rounds);
    results.setting("seconds of a phase, at least", plan.seconds);
    results.setting("changes a second asked for", plan.changes_a_second);
    results.setting("writing connections", writers::WRITERS);
    results.setting("pause between two looks, ms", freshness::PAUSE.as_millis());
    results.setting("memory of hedgerow", plan.memory);
    figures.note(&mut results);
    results
}

fn copied(url: &str, arguments: &[&str], plan: Plan, folder: &Path) -> Result<Hedgerow> {
    eprintln!("copying to hedgerow");
    let options = HedgerowOptions::new(url.to_owned(), &folder.join("hedgerow"))?
        .with(&["--memory", plan.memory])
        .with(arguments);
    let mut hedgerow = Hedgerow::start(options)?;
    hedgerow.wait_ready_at_most(LIMIT)?;
    settled_bytes(&hedgerow)?;
    Ok(hedgerow)
}

/// All answers are PostgreSQL's, once its last transaction is visible.
fn compare(source: &PostgresSource, hedgerow: &Hedgerow, queries: &[Query]) -> Result<()> {
    eprintln!("comparing answers");
    let mut ours = hedgerow.connect()?;
    let mut theirs = source.connect()?;
    freshness::wait_until_visible(&mut theirs, &mut ours)?;
    for query in queries {
        let answer = Answer::ask(&mut ours, &query.text)?;
        let expected = Answer::ask(&mut theirs, &query.text)?;
        query
            .ensure_same(answer, expected)
            .with_context(|| format!("query {}", query.number))?;
    }
    Ok(())
}
