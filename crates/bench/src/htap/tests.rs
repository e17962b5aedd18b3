//! Small runs from end to end: everything is seen, and every answer is right.

use super::*;

const PLAN: Plan = Plan {
    name: "test",
    rows: Rows {
        warehouses: 2,
        items: 1_000,
        customers: 100,
    },
    rounds: 1,
    seconds: 0.5,
    changes_a_second: 2_000.0,
    memory: "256MiB",
};

#[test]
fn all_is_seen_and_answers_are_those_of_the_source() -> Result<()> {
    let folder = TempDir::with_prefix("bench-test-")?;
    let source = PostgresSource::start(PLAN.rows)?;
    let hedgerow = copied(&source.url(), &[], PLAN, folder.path())?;
    let queries = queries::all()?;
    write_and_ask(Source::Postgres(&source), &hedgerow, &queries)?;
    compare(&source, &hedgerow, &queries)
}

/// The log of a phase is there before it begins, comes at its pace, and all of it comes in the end.
#[test]
fn a_log_that_is_held_back_is_delivered_at_its_pace() -> Result<()> {
    let folder = TempDir::with_prefix("bench-test-")?;
    let source = PostgresSource::start(PLAN.rows)?;
    let link = HeldLink::to(source.port())?;
    let url = source.url_through(link.port());
    let hedgerow = copied(&url, &BY_STREAM, PLAN, folder.path())?;
    let queries = queries::all()?;
    let held = HeldSource {
        source: &source,
        link: &link,
    };
    write_and_ask(Source::Held(&held), &hedgerow, &queries)?;
    compare(&source, &hedgerow, &queries)
}

#[test]
fn all_of_the_built_in_primary_is_seen_and_consistent() -> Result<()> {
    let folder = TempDir::with_prefix("bench-test-")?;
    let hedgerow = primary_source::start(PLAN.rows, PLAN.memory, folder.path())?;
    primary_source::check(&hedgerow)?;
    let queries = queries::all()?;
    write_and_ask(Source::Primary(&hedgerow), &hedgerow, &queries)?;
    primary_source::check(&hedgerow)?;
    let mut client = hedgerow.connect()?;
    // A payment of which half is there is found.
    client.batch_execute("update district set d_ytd = d_ytd + 1 where d_w_id = 1 and d_id = 1")?;
    let broken = primary_source::check(&hedgerow).expect_err("a district has too much");
    assert!(broken.to_string().starts_with("1 and 8"), "{broken}");
    Ok(())
}

/// Every transaction of both phases is seen.
fn write_and_ask(source: Source<'_>, hedgerow: &Hedgerow, queries: &[Query]) -> Result<()> {
    let sides = Sides {
        source,
        hedgerow,
        queries,
        plan: PLAN,
    };
    for phase in [Phase::Writes, Phase::Busy] {
        let (_, outcome) = sides.run(phase, 1)?;
        let written = outcome.written.context("something was written")?;
        let transactions: usize = written.stamps.iter().map(Vec::len).sum();
        let seen = outcome.freshness.context("it was watched")?.count;
        assert_eq!(seen, transactions);
        assert!(written.changes > 0);
    }
    Ok(())
}
