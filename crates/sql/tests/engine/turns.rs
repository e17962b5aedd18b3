//! Statements that run at the same time take turns on the engine's threads.

use std::fmt::Write;

use sql::EngineOptions;

use crate::harness::{Fixture, run};

/// Enough for thirty batches.
const ROWS: usize = 240_000;

/// A table over which a statement runs long on the one thread that there is, and a small one.
fn fixture() -> Fixture {
    let mut fixture = Fixture::with_options(EngineOptions {
        threads: 1,
        ..EngineOptions::default()
    });
    let large = fixture.table("large", "id integer key");
    let ids = (0..ROWS).fold(String::new(), |mut lines, id| {
        writeln!(lines, "{id}").expect("a string takes everything");
        lines
    });
    fixture.write(large, &ids);
    let small = fixture.table("small", "id integer key");
    fixture.write(small, "1\n2");
    fixture
}

#[tokio::test]
async fn short_statements_are_answered_while_a_long_one_runs() {
    let fixture = fixture();
    let (long, short) = (fixture.session(), fixture.session());
    let runs = run(
        &long,
        "select sum(length(md5(repeat(id::text, 100)))) from large",
    );
    tokio::pin!(runs);
    let mut answered = 0;
    loop {
        tokio::select! {
            biased;
            rows = &mut runs => {
                assert_eq!(rows.expect("it ends"), [(ROWS * 32).to_string()]);
                break;
            }
            rows = run(&short, "select sum(id) from small") => {
                assert_eq!(rows.expect("it ends"), ["3"]);
                answered += 1;
            }
        }
    }
    // An aggregate that reads its table to the end in one go leaves at most the gaps before and after it.
    assert!(answered > 3, "{answered}");
}
