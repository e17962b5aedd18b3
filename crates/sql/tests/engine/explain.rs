//! `explain analyze`: what a scan skipped, and where it read from.

use std::fmt::Write;

use sql::Session;

use crate::harness::{Fixture, run};

/// The figure called `name` in a plan's one scan.
async fn figure(session: &Session, query: &str, name: &str) -> f64 {
    let plan = run(session, &format!("explain analyze {query}")).await;
    let plan = plan.expect("a plan");
    let scan = plan.iter().find(|line| line.contains("ScanExec"));
    let scan = scan.unwrap_or_else(|| panic!("no scan in {plan:#?}"));
    let (_, rest) = scan
        .split_once(&format!("{name}="))
        .unwrap_or_else(|| panic!("no {name} in {scan}"));
    let end = rest.find([',', ']']).expect("the figures have an end");
    // DataFusion writes 60000 as "60.00 K".
    let (digits, factor) = match rest[..end].split_once(" K") {
        Some((digits, _)) => (digits, 1_000.0),
        None => (&rest[..end], 1.0),
    };
    digits.parse::<f64>().expect("a number") * factor
}

#[tokio::test]
async fn a_scan_by_key_tells_what_it_skipped_and_where_the_rest_came_from() {
    let mut fixture = Fixture::new();
    let table = fixture.table("numbers", "id bigint key, square bigint");
    let mut lines = String::new();
    for id in 0..60_000_u64 {
        writeln!(
            lines,
            "{id}|{}",
            id.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 8
        )
        .expect("text");
    }
    fixture.write(table, &lines);
    let session = fixture.session();
    let few = "select sum(square) from numbers where id between 1000 and 1999";
    assert!(is(figure(&session, few, "segments").await, 0.0));
    assert!(is(figure(&session, few, "rows_read").await, 1_000.0));

    fixture.store.flush().expect("the flush works");
    let pages = figure(&session, few, "pages").await;
    let skipped = figure(&session, few, "pages_skipped").await;
    assert!(0.0 < skipped && skipped < pages, "{skipped} of {pages}");
    let taken = figure(&session, few, "pages_from_cache").await
        + figure(&session, few, "pages_from_disk").await;
    assert!(is(taken, pages - skipped), "{taken}");
    let rows = figure(&session, few, "rows_read").await;
    assert!((1_000.0..60_000.0).contains(&rows), "{rows}");

    let all = "select sum(square) from numbers";
    assert!(is(figure(&session, all, "pages_skipped").await, 0.0));
    assert!(is(figure(&session, all, "rows_read").await, 60_000.0));
    assert!(is(figure(&session, all, "pages_from_disk").await, 0.0));
    assert!(is(figure(&session, all, "pages_from_cache").await, pages));
}

/// Equal as far as a plan shows it.
fn is(figure: f64, expected: f64) -> bool {
    (figure - expected).abs() < 0.5
}
