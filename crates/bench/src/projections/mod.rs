//! What projections give to queries, and what they take from the apply loop.
//!
//! 1. A PostgreSQL holds a table of sales, in no other order than that of its key; hedgerow copies it.
//! 2. Backlogs of updates are made while hedgerow is stopped, and drained: with what the log has by
//!    default, with `REPLICA IDENTITY FULL`, and then with two projections on top. An update changes an
//!    amount, and every second one what a projection is ordered by. Rows a second until all is durable.
//! 3. The same queries are asked before the projections are made and once they are ready. All answers
//!    have to be equal, and those of PostgreSQL, too.
//!
//! A query's figure is how many times faster it got, and the least of those; the apply rate with
//! both projections is told as a share of the rate without.

mod drain;
mod queries;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use testbed::patience::wait_at_most;
use testbed::soak::settled_bytes;
use testbed::{Hedgerow, HedgerowOptions, PostgresOptions, PostgresServer};

use crate::Scale;
use crate::results::{Results, median};

use drain::Drain;
use queries::QUERIES;

const DATABASE: &str = "postgres";
/// How long a copy, a backlog or a projection may take.
const LIMIT: Duration = Duration::from_secs(3600);
/// How often a query is asked before its time counts, so that its pages are in the cache.
const WARM_UPS: usize = 3;
/// What is ordered anew.
const PROJECTIONS: [&str; 2] = [
    "create projection by_day on sales order by sold_on",
    "create projection by_customer on sales order by customer",
];

/// Sizes of a run.
#[derive(Clone, Copy, Debug)]
struct Plan {
    name: &'static str,
    rows: u64,
    updates: u64,
    /// Backlogs of each kind.
    drains: usize,
    /// How often each query is asked.
    asks: usize,
}

impl Plan {
    fn of(scale: Scale) -> Self {
        match scale {
            Scale::Quick => Self {
                name: "quick",
                rows: 1_000_000,
                updates: 50_000,
                drains: 1,
                asks: 3,
            },
            Scale::Full => Self {
                name: "full",
                // Large enough that reading all of a column takes longer than planning a query.
                rows: 20_000_000,
                updates: 1_000_000,
                drains: 3,
                asks: 7,
            },
        }
    }
}

/// A query's time and answer.
struct Answer {
    milliseconds: f64,
    rows: Vec<String>,
}

/// Runs the experiment.
pub fn run(scale: Scale) -> Result<Results> {
    run_plan(Plan::of(scale))
}

fn run_plan(plan: Plan) -> Result<Results> {
    let folder = TempDir::with_prefix("bench-projections-")?;
    let postgres = PostgresServer::start(PostgresOptions::default().with("shared_buffers", "1GB"))?;
    make_sales(&postgres, plan)?;
    let options = HedgerowOptions::new(postgres.url(DATABASE), &folder.path().join("hedgerow"))?
        .with(&["--memory", "2GiB"]);
    let mut hedgerow = Hedgerow::start(options)?;
    hedgerow.wait_ready_at_most(LIMIT)?;
    let drain = Drain::new(&postgres, plan)?;
    let by_default = drain.rates(&mut hedgerow)?;
    let identity = "alter table sales replica identity full";
    postgres.execute(DATABASE, identity)?;
    let with_old_rows = drain.rates(&mut hedgerow)?;
    let without = ask_all(&hedgerow, plan)?;
    let filling = make_projections(&hedgerow)?;
    let with = ask_all(&hedgerow, plan)?;
    compare(&without, &with, "with projections")?;
    let maintained = drain.rates(&mut hedgerow)?;
    let after = ask_all(&hedgerow, plan)?;
    compare(
        &ask_postgres(&postgres)?,
        &after,
        "of PostgreSQL after more updates",
    )?;
    let mut results = Results::new("projections", plan.name);
    results.setting("rows", plan.rows);
    results.setting("updates in a backlog", plan.updates);
    results.setting("projections", PROJECTIONS.len());
    note_queries(&mut results, &without, &with);
    let kept = median(&maintained) / median(&with_old_rows);
    results.figure("apply rate kept", kept, "share", None);
    results.median_figure(
        "applied, old rows not in the log",
        &by_default,
        "rows/s",
        None,
    );
    results.median_figure(
        "applied, without projections",
        &with_old_rows,
        "rows/s",
        None,
    );
    results.median_figure("applied, with projections", &maintained, "rows/s", None);
    results.figure("filling both", filling, "s", None);
    Ok(results)
}

fn note_queries(results: &mut Results, without: &[Answer], with: &[Answer]) {
    let mut least = f64::INFINITY;
    for ((query, without), with) in QUERIES.iter().zip(without).zip(with) {
        let times = without.milliseconds / with.milliseconds;
        least = least.min(times);
        let name = query.name;
        results.figure(
            &format!("{name}, without"),
            without.milliseconds,
            "ms",
            None,
        );
        results.figure(&format!("{name}, with"), with.milliseconds, "ms", None);
        results.figure(&format!("{name}, faster"), times, "times", None);
    }
    results.figure("all queries, faster at least", least, "times", None);
}

fn make_sales(postgres: &PostgresServer, plan: Plan) -> Result<()> {
    let rows = plan.rows;
    let customers = rows / 4;
    postgres.execute(
        DATABASE,
        &format!(
            "create table sales (
                 id bigint primary key, sold_on date not null, customer int not null,
                 amount numeric(12,2) not null, note text);
             insert into sales
                 select i, date '2020-01-01' + (hashint8(i) & 2047), (hashint8(-i) & 2147483647) % {customers},
                        (hashint8(i + 7) & 1048575) / 100.0, md5(i::text)
                 from generate_series(1, {rows}) i"
        ),
    )?;
    postgres.execute(DATABASE, "vacuum analyze sales")
}

/// Makes the projections; returns how many seconds it takes until both are ready.
fn make_projections(hedgerow: &Hedgerow) -> Result<f64> {
    let mut client = hedgerow.connect()?;
    let started = Instant::now();
    for statement in PROJECTIONS {
        client.batch_execute(statement).context(statement)?;
    }
    wait_at_most(LIMIT, "the projections to be ready", || {
        let states = "select count(*) from hedgerow.projections where state = 'ready'";
        let ready: i64 = client.query_one(states, &[])?.get(0);
        Ok((ready == PROJECTIONS.len() as i64).then_some(()))
    })?;
    Ok(started.elapsed().as_secs_f64())
}

/// Asks all queries once merges have settled; the median counts of what follows the warming up.
fn ask_all(hedgerow: &Hedgerow, plan: Plan) -> Result<Vec<Answer>> {
    settled_bytes(hedgerow)?;
    let mut client = hedgerow.connect()?;
    let ask = |query: &queries::Query| -> Result<Answer> {
        let mut rows = answer(&mut client, query.sql)?;
        for _ in 1..WARM_UPS {
            answer(&mut client, query.sql)?;
        }
        let mut milliseconds = Vec::new();
        for _ in 0..plan.asks {
            let started = Instant::now();
            let again = answer(&mut client, query.sql)?;
            milliseconds.push(started.elapsed().as_secs_f64() * 1e3);
            ensure!(rows == again, "{} has two answers", query.name);
            rows = again;
        }
        Ok(Answer {
            milliseconds: median(&milliseconds),
            rows,
        })
    };
    QUERIES.iter().map(ask).collect()
}

fn ask_postgres(postgres: &PostgresServer) -> Result<Vec<Answer>> {
    let mut client = postgres.connect(DATABASE)?;
    let ask = |query: &queries::Query| {
        Ok(Answer {
            milliseconds: f64::NAN,
            rows: answer(&mut client, query.sql)?,
        })
    };
    QUERIES.iter().map(ask).collect()
}

/// A query's rows as text.
fn answer(client: &mut postgres::Client, sql: &str) -> Result<Vec<String>> {
    let messages = client.simple_query(sql).with_context(|| sql.to_owned())?;
    let row = |message: &postgres::SimpleQueryMessage| match message {
        postgres::SimpleQueryMessage::Row(row) => {
            let cells: Vec<&str> = (0..row.len())
                .map(|place| row.get(place).unwrap_or("\\N"))
                .collect();
            Some(cells.join("|"))
        }
        _ => None,
    };
    Ok(messages.iter().filter_map(row).collect())
}

fn compare(expected: &[Answer], found: &[Answer], what: &str) -> Result<()> {
    for ((query, expected), found) in QUERIES.iter().zip(expected).zip(found) {
        let name = query.name;
        ensure!(
            expected.rows == found.rows,
            "{name}: the answer {what} is another one"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
