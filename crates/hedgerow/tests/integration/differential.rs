//! Random queries, and those that people write, have PostgreSQL's rows, types and errors.
//!
//! `HEDGEROW_DIFFERENTIAL_SEED` and `HEDGEROW_DIFFERENTIAL_QUERIES` run other seeds and more of
//! them; a failure prints the seed of each query.

use std::str::FromStr;

use anyhow::Result;
use tempfile::TempDir;
use testbed::differential::{compare, compare_written, data};
use testbed::{Hedgerow, HedgerowOptions, PostgresOptions, PostgresServer};

/// Queries of one test run.
const QUERIES: u64 = 1_500;

#[test]
fn queries_have_the_outcomes_of_postgresql() -> Result<()> {
    let postgres = PostgresServer::start(PostgresOptions::default().with("jit", "off"))?;
    let mut source = postgres.connect("postgres")?;
    source.batch_execute(&data::statements())?;
    source.batch_execute("set timezone = 'UTC'; set extra_float_digits = 1")?;
    let folder = TempDir::with_prefix("testbed-differential-")?;
    let options = HedgerowOptions::new(postgres.url("postgres"), &folder.path().join("data"))?;
    let hedgerow = Hedgerow::start_ready(options)?;
    let mut replica = hedgerow.connect()?;
    let seed = from_environment("HEDGEROW_DIFFERENTIAL_SEED", 1);
    let queries = from_environment("HEDGEROW_DIFFERENTIAL_QUERIES", QUERIES);
    let reports = [
        compare_written(&mut source, &mut replica)?,
        compare(&mut source, &mut replica, seed, queries)?,
    ];
    reports.iter().for_each(|report| println!("{report}"));
    for report in reports {
        assert_eq!((report.different, report.refused), (0, 0), "{report}");
    }
    Ok(())
}

fn from_environment<T: FromStr>(name: &str, default: T) -> T {
    let value = std::env::var(name).ok().and_then(|text| text.parse().ok());
    value.unwrap_or(default)
}
