//! A small run from end to end: everything is seen, and every answer is PostgreSQL's.

use super::*;

#[test]
fn all_is_seen_and_answers_are_those_of_the_source() -> Result<()> {
    let plan = Plan {
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
    let folder = TempDir::with_prefix("bench-test-")?;
    let source = Source::start(plan.rows)?;
    let hedgerow = copied(&source, plan, folder.path())?;
    let queries = queries::all()?;
    let sides = Sides {
        source: &source,
        hedgerow: &hedgerow,
        queries: &queries,
        plan,
    };
    for phase in [Phase::Writes, Phase::Busy] {
        let (_, outcome) = sides.run(phase, 1)?;
        let written = outcome.written.context("something was written")?;
        let transactions: usize = written.stamps.iter().map(Vec::len).sum();
        let seen = outcome.freshness.context("it was watched")?.count;
        assert_eq!(seen, transactions);
        assert!(written.changes > 0);
    }
    compare(&source, &hedgerow, &queries)
}
