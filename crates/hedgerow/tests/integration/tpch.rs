//! The 22 TPC-H queries at a small scale: PostgreSQL's answers, to the character but for
//! averages and ratios.

use anyhow::Result;
use tempfile::TempDir;
use testbed::tpch::answers::Answer;
use testbed::tpch::{queries, tables};
use testbed::{Hedgerow, HedgerowOptions, PostgresOptions, PostgresServer};

#[test]
fn all_queries_have_the_answers_of_postgresql() -> Result<()> {
    let postgres = PostgresServer::start(PostgresOptions::default().with("jit", "off"))?;
    let mut source = postgres.connect("postgres")?;
    tables::load(&mut source, 0.01)?;
    tables::add_reference_indexes(&mut source)?;
    let folder = TempDir::with_prefix("testbed-tpch-")?;
    let options = HedgerowOptions::new(postgres.url("postgres"), &folder.path().join("data"))?;
    let hedgerow = Hedgerow::start_ready(options)?;
    let mut failures = Vec::new();
    for number in queries::NUMBERS {
        let query = queries::text(number)?;
        let expected = Answer::ask(&mut source, &query)?;
        let answer = hedgerow
            .connect()
            .and_then(|mut client| Answer::ask(&mut client, &query));
        if let Err(error) = answer.and_then(|answer| answer.ensure_same(&expected, number)) {
            failures.push(format!("query {number}: {error:#}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    hedgerow.verify()?;
    Ok(())
}
