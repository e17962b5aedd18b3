//! Runs the 22 TPC-H queries on PostgreSQL and on its replica and compares the answers.
//!
//! Every query ends up in the table: equal, different with the first difference, or refused
//! with the error.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Parser;
use postgres::Client;
use tempfile::TempDir;
use testbed::soak::settled_bytes;
use testbed::tpch::answers::Answer;
use testbed::tpch::{queries, tables};
use testbed::{Hedgerow, HedgerowOptions, PostgresServer};

/// TPC-H on PostgreSQL and on its replica.
#[derive(Debug, Parser)]
struct Arguments {
    /// Scale factor; 1 is 6 million line items
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let folder = TempDir::with_prefix("testbed-tpch-")?;
    let postgres = PostgresServer::start(tables::reference_options())?;
    let mut source = postgres.connect("postgres")?;
    let started = Instant::now();
    tables::load(&mut source, arguments.scale)?;
    println!(
        "loaded scale {} in {:.1} s",
        arguments.scale,
        started.elapsed().as_secs_f64()
    );
    let postgres_bytes = tables::table_and_key_bytes(&mut source)?;

    let started = Instant::now();
    let mut hedgerow = Hedgerow::start(HedgerowOptions::new(
        postgres.url("postgres"),
        &folder.path().join("data"),
    )?)?;
    hedgerow.wait_ready_at_most(Duration::from_secs(3600))?;
    println!("copied in {:.1} s", started.elapsed().as_secs_f64());
    let hedgerow_bytes = settled_bytes(&hedgerow)?;

    tables::add_reference_indexes(&mut source)?;
    let failures = compare_all(&mut source, &hedgerow)?;
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    let ratio = hedgerow_bytes as f64 / postgres_bytes as f64;
    println!(
        "on disk {hedgerow_bytes} bytes, PostgreSQL's tables and keys {postgres_bytes} bytes: \
         ratio {ratio:.4}"
    );
    print!("{}", hedgerow.verify()?);
    ensure!(
        failures == 0,
        "{failures} of 22 queries without PostgreSQL's answer"
    );
    Ok(())
}

/// Prints one line a query; the number of queries without the right answer.
fn compare_all(source: &mut Client, hedgerow: &Hedgerow) -> Result<u32> {
    println!(
        "{:>5} {:>8} {:>12} {:>12}  outcome",
        "query", "rows", "PostgreSQL", "hedgerow"
    );
    let mut failures = 0;
    for number in queries::NUMBERS {
        let query = queries::text(number)?;
        let (expected, postgres_time) = timed(|| Answer::ask(source, &query));
        let expected = expected?;
        // A new connection each: a failure of one query must not take the others along.
        let (answer, hedgerow_time) = timed(|| {
            hedgerow
                .connect()
                .and_then(|mut client| Answer::ask(&mut client, &query))
        });
        let outcome = answer.and_then(|answer| answer.ensure_same(&expected, number));
        failures += u32::from(outcome.is_err());
        println!(
            "{number:>5} {:>8} {:>9.0} ms {:>9.0} ms  {}",
            expected.rows.len(),
            postgres_time.as_secs_f64() * 1e3,
            hedgerow_time.as_secs_f64() * 1e3,
            outcome.map_or_else(|error| format!("{error:#}"), |()| "equal".to_owned()),
        );
    }
    Ok(failures)
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let started = Instant::now();
    let value = work();
    (value, started.elapsed())
}
