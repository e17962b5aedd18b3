//! Which of a table's orders a statement reads, and that its answer is the same.

use std::fmt::Write;

use replication::projection::{Projection, ProjectionState};
use sql::Session;
use types::CommitPosition;

use crate::harness::{Fixture, failure, row, run};

const ROWS: u64 = 60_000;

/// Sales in no order but that of their key; every tenth has no clerk.
fn sales() -> Fixture {
    let mut fixture = Fixture::new();
    let table = fixture.table(
        "sales",
        "id bigint key, day date, clerk integer, amount numeric(12,2), note text",
    );
    let mut lines = String::new();
    for id in 0..ROWS {
        let mixed = id.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        let clerk = match mixed % 10 {
            0 => "\\N".to_owned(),
            _ => (mixed % 997).to_string(),
        };
        let (month, day) = (mixed % 12 + 1, mixed / 12 % 28 + 1);
        let amount = mixed % 100_000;
        writeln!(
            lines,
            "{id}|2024-{month:02}-{day:02}|{clerk}|{}.{:02}|{mixed:x}",
            amount / 100,
            amount % 100
        )
        .expect("text");
    }
    fixture.write(table, &lines);
    fixture.store.flush().expect("the flush works");
    fixture
}

fn project(fixture: &mut Fixture) {
    let table = fixture
        .catalog
        .by_name("public", "sales")
        .expect("sales")
        .id;
    fixture.projection("by_day", table, &["day"]);
    fixture.projection("by_clerk", table, &["clerk", "day"]);
    fixture.store.flush().expect("the flush works");
}

/// The projection that the one scan of a statement reads.
async fn read(session: &Session, query: &str) -> Option<String> {
    let plan = run(session, &format!("explain {query}"))
        .await
        .expect("a plan");
    let scan = plan.iter().find(|line| line.contains("ScanExec"));
    let scan = scan.unwrap_or_else(|| panic!("no scan in {plan:#?}"));
    let (_, name) = scan.split_once("projection=")?;
    name.split(',').next().map(str::to_owned)
}

/// Statements, and the order that is for them.
const STATEMENTS: [(&str, Option<&str>); 18] = [
    (
        "select count(*), sum(amount) from sales where day = date '2024-03-05'",
        Some("by_day"),
    ),
    (
        "select id, note from sales where day between date '2024-03-05' and date '2024-03-07' order by id",
        Some("by_day"),
    ),
    (
        "select id from sales where clerk = 7 and day > date '2024-06-01' order by id",
        Some("by_clerk"),
    ),
    (
        "select id from sales where clerk in (7, 8, 9, 10) order by id",
        Some("by_clerk"),
    ),
    (
        "select count(*) from sales where clerk is null and day = date '2024-01-01'",
        Some("by_day"),
    ),
    (
        "select count(*), sum(id) from sales where clerk is null",
        Some("by_clerk"),
    ),
    (
        "select max(id) from sales where clerk > 990",
        Some("by_clerk"),
    ),
    (
        "select id, day from sales where id between 100 and 110 order by day, id",
        None,
    ),
    ("select day, amount from sales where id = 77", None),
    (
        "select count(*) from sales where day >= date '2024-01-01'",
        None,
    ),
    (
        "select day, id from sales order by day, id limit 20",
        Some("by_day"),
    ),
    (
        "select clerk, day from sales order by clerk, day limit 20",
        Some("by_clerk"),
    ),
    (
        "select clerk from sales order by clerk desc nulls last limit 5",
        None,
    ),
    (
        "select day, count(*), sum(amount) from sales group by day order by day",
        Some("by_day"),
    ),
    (
        "select clerk, count(*), count(note) from sales where amount > 500 group by clerk order by clerk",
        Some("by_clerk"),
    ),
    (
        "select distinct day from sales order by day limit 3",
        Some("by_day"),
    ),
    (
        "select sum(place * id % 7) from (select id, row_number() over (order by day, id) as place from sales) s",
        Some("by_day"),
    ),
    (
        "select id from sales where clerk = 7 and clerk is null",
        None,
    ),
];

#[tokio::test]
async fn a_statement_reads_the_order_that_suits_it_and_answers_the_same() {
    let mut fixture = sales();
    let session = fixture.session();
    let mut expected = Vec::new();
    for (statement, _) in STATEMENTS {
        expected.push(run(&session, statement).await.expect("an answer"));
    }
    project(&mut fixture);
    for ((statement, projection), expected) in STATEMENTS.into_iter().zip(expected) {
        if !statement.contains("clerk = 7 and clerk is null") {
            assert_eq!(
                read(&session, statement).await.as_deref(),
                projection,
                "{statement}"
            );
        }
        let found = run(&session, statement).await.expect("an answer");
        assert_eq!(found, expected, "{statement}");
    }
}

#[tokio::test]
async fn rows_in_the_order_that_is_read_are_not_sorted_and_groups_not_brought_together() {
    let mut fixture = sales();
    project(&mut fixture);
    let session = fixture.session();
    for statement in [
        "select day, id from sales order by day, id limit 20",
        "select clerk, day, id from sales order by clerk, day, id",
        "select day, count(*) from sales group by day order by day",
        "select clerk, count(*) from sales group by clerk order by clerk",
    ] {
        let plan = run(&session, &format!("explain {statement}"))
            .await
            .expect("a plan");
        assert!(
            !plan.iter().any(|line| line.contains("SortExec")),
            "{plan:#?}"
        );
        assert!(
            !plan.iter().any(|line| line.contains("RepartitionExec")),
            "{plan:#?}"
        );
    }
}

#[tokio::test]
async fn a_projection_is_read_by_snapshots_from_its_position_on() {
    let mut fixture = sales();
    let old = fixture.session();
    let count = "select count(*) from sales where day = date '2024-03-05'";
    run(&old, "begin").await.expect("a transaction");
    run(&old, count).await.expect("its snapshot");
    project(&mut fixture);
    assert_eq!(read(&old, count).await, None);
    assert_eq!(
        read(&fixture.session(), count).await.as_deref(),
        Some("by_day")
    );
}

#[tokio::test]
async fn one_that_is_not_ready_is_not_read() {
    let mut fixture = sales();
    project(&mut fixture);
    let session = fixture.session();
    let by_day = fixture.catalog.projection("by_day").expect("it is there");
    let tree = by_day.tree().expect("it has a tree");
    let reason = "why".to_owned();
    let position = CommitPosition(1);
    for state in [
        ProjectionState::Waiting,
        ProjectionState::Filling { tree },
        ProjectionState::Stopped { position, reason },
    ] {
        fixture.catalog.set_projection(Projection {
            state,
            ..Projection::clone(&by_day)
        });
        assert_eq!(
            read(&session, "select day from sales order by day limit 1").await,
            None
        );
    }
}

#[tokio::test]
async fn the_view_tells_how_projections_are() {
    let mut fixture = sales();
    project(&mut fixture);
    let session = fixture.session();
    let all = "select name, schema, \"table\", columns, state, reason, rows from hedgerow.projections order by name";
    assert_eq!(
        run(&session, all).await.expect("the view"),
        [
            format!("by_clerk|public|sales|clerk, day|ready|NULL|{ROWS}"),
            format!("by_day|public|sales|day|ready|NULL|{ROWS}"),
        ]
    );
}

#[tokio::test]
async fn what_cannot_be_a_projection_is_refused_as_an_index_would_be() {
    let mut fixture = sales();
    let table = fixture
        .catalog
        .by_name("public", "sales")
        .expect("sales")
        .id;
    fixture.table("floats", "id bigint key, x double");
    fixture.projection("by_day", table, &["day"]);
    let session = fixture.session();
    for (statement, code) in [
        ("create projection p on nothing order by day", "42P01"),
        ("create projection p on other.sales order by day", "42P01"),
        ("create projection p on sales order by nothing", "42703"),
        ("create projection p on sales order by day, day", "42701"),
        ("create projection by_day on sales order by clerk", "42710"),
        ("create projection p on floats order by x", "0A000"),
        ("create projection p on sales order by day desc", "0A000"),
        ("drop projection p", "42704"),
        ("create projection p on sales", "42601"),
    ] {
        assert_eq!(failure(&session, statement).await.code, code, "{statement}");
    }
    let again = "create projection if not exists by_day on sales order by day";
    assert_eq!(row(&session, again).await, "CREATE PROJECTION");
    assert_eq!(
        row(&session, "drop projection if exists p").await,
        "DROP PROJECTION"
    );
    run(&session, "begin").await.expect("a transaction");
    let inside = failure(&session, "drop projection by_day").await;
    assert_eq!(inside.code, "25001");
}
