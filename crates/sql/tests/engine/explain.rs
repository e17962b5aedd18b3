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

/// Rows arrive in the order of their keys: those of a time are side by side.
#[tokio::test]
async fn a_condition_on_times_rules_pages_out() {
    let mut fixture = Fixture::new();
    let table = fixture.table("events", "id bigint key, day date, kind text");
    let day = |id: u64| format!("2026-{:02}-{:02}", 1 + id / 10_000, 1 + id / 400 % 25);
    let lines: String = (0..100_000)
        .map(|id| format!("{id}|{}|kind {:x}\n", day(id), id.wrapping_mul(0x9E37_79B9)))
        .collect();
    fixture.write(table, &lines);
    fixture.store.flush().expect("the flush works");
    let session = fixture.session();
    let late = "select count(kind) from events where day >= date '2026-10-20'";
    assert_eq!(run(&session, late).await.expect("an answer"), ["2400"]);
    let pages = figure(&session, late, "pages").await;
    let ruled_out = figure(&session, late, "pages_ruled_out").await;
    assert!(
        ruled_out > pages / 2.0 && ruled_out < pages,
        "{ruled_out} of {pages}"
    );
    // Nobody has been there yet.
    let never = "select count(kind) from events where day > date '2026-12-01'";
    assert!(is(figure(&session, never, "pages_ruled_out").await, pages));
}

/// Groups by the first column of the key need no exchange of rows between threads.
#[tokio::test]
async fn rows_of_one_leading_key_are_read_by_one_thread() {
    let mut fixture = Fixture::new();
    let table = fixture.table(
        "lines",
        "order_id bigint key, line integer key, amount integer",
    );
    let lines: String = (0..90_000)
        .map(|row| format!("{}|{}|{}\n", row / 7, row % 7, row % 100))
        .collect();
    fixture.write(table, &lines);
    fixture.store.flush().expect("the flush works");
    let session = fixture.session();
    let by_order = "select order_id, sum(amount) s from lines group by order_id";
    let plan = run(&session, &format!("explain {by_order}")).await;
    let plan = plan.expect("a plan").join("\n");
    assert!(
        plan.contains("parts=2") && !plan.contains("RepartitionExec"),
        "{plan}"
    );
    let summed =
        format!("select count(*), sum(s), min(order_id), max(order_id) from ({by_order}) x");
    let expected = (90_000_u64 / 100 * 4_950).to_string();
    let rows = run(&session, &summed).await.expect("an answer");
    assert_eq!(rows, [format!("12858|{expected}|0|12857")]);
}

/// Equal as far as a plan shows it.
fn is(figure: f64, expected: f64) -> bool {
    (figure - expected).abs() < 0.5
}

/// CH-benCHmark's query 21 took minutes: its first two tables have nothing in common.
#[tokio::test]
async fn tables_are_joined_by_the_conditions_beside_exists() {
    let fixture = Fixture::new();
    for (name, columns) in [
        ("suppliers", "id bigint key, nation bigint"),
        ("lines", "id bigint key, item bigint, late bigint"),
        ("stock", "item bigint key, supplier bigint"),
    ] {
        fixture.table(name, columns);
    }
    let session = fixture.session();
    let query = "explain select suppliers.id from suppliers, lines l, stock
         where l.item = stock.item and stock.supplier = suppliers.id
           and not exists (select * from lines where lines.id = l.id and lines.late > l.late)";
    let plan = run(&session, query).await.expect("a plan");
    let crosses = plan.iter().any(|line| line.contains("CrossJoin"));
    assert!(!crosses, "{plan:#?}");
}
