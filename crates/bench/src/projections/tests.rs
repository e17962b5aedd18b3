//! The experiment runs, its answers are equal, and it tells all its figures.

use super::*;

#[test]
#[ignore = "starts a PostgreSQL and needs the hedgerow binary; the experiment itself compares all answers"]
fn a_small_run_tells_all_figures() {
    let plan = Plan {
        name: "tiny",
        rows: 40_000,
        updates: 2_000,
        drains: 1,
        asks: 1,
    };
    let results = run_plan(plan).expect("it runs");
    assert!(results.value("all queries, faster at least", None) > 0.0);
    assert!(results.value("apply rate kept", None) > 0.0);
}
