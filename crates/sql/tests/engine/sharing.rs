//! Partitions of a scan share what is to be read: every row comes once, and whoever relies on which partition
//! has a row gets what it relies on.

use sql::{EngineOptions, Session};

use crate::harness::{Fixture, run};

/// Far more than are read by one thread, in some dozens of pages.
const LINES: u64 = 150_000;
/// Values of the first column of the key: too few for even parts.
const SHOPS: u64 = 3;

/// A number of 63 bits that nobody can pack: pages are to be many.
fn scattered(number: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 31).wrapping_mul(0xD1B5_4A32_D192_ED03) >> 1
}

/// Lines by shop and number, each of which names the one after it in its shop.
fn fixture() -> Fixture {
    let mut fixture = Fixture::with_options(EngineOptions {
        threads: 2,
        ..EngineOptions::default()
    });
    let table = fixture.table(
        "lines",
        "shop bigint key, number bigint key, next bigint, amount bigint, mark bigint",
    );
    let line = |place: u64| {
        let (shop, number) = (place / (LINES / SHOPS), place % (LINES / SHOPS));
        let (amount, mark) = (scattered(number), scattered(place + LINES));
        format!("{shop}|{number}|{}|{amount}|{mark}\n", number + 1)
    };
    fixture.write(table, &(0..LINES).map(line).collect::<String>());
    fixture.store.flush().expect("the flush works");
    fixture
}

async fn plan(session: &Session, query: &str) -> String {
    let plan = run(session, &format!("explain {query}")).await;
    plan.expect("a plan").join("\n")
}

async fn assert_planned(session: &Session, query: &str, expected: &str) {
    let plan = plan(session, query).await;
    assert!(plan.contains(expected), "{plan}");
}

#[tokio::test]
async fn every_row_is_read_once() {
    let fixture = fixture();
    let session = fixture.session();
    let query = "select count(*), sum(number), count(distinct amount) from lines where amount >= 0";
    assert_planned(&session, query, "parts=2 shared").await;
    let numbers = LINES * (LINES / SHOPS - 1) / 2;
    for _ in 0..10 {
        let rows = run(&session, query).await.expect("an answer");
        assert_eq!(rows, [format!("{LINES}|{numbers}|{}", LINES / SHOPS)]);
    }
}

#[tokio::test]
async fn a_part_of_the_keys_is_read_by_all_threads() {
    let fixture = fixture();
    let session = fixture.session();
    let query = "select count(*), sum(number) from lines where shop = 1 and number < 40000";
    assert_planned(&session, query, "parts=2").await;
    let rows = run(&session, query).await.expect("an answer");
    assert_eq!(rows, [format!("40000|{}", 40_000_u64 * 39_999 / 2)]);
}

/// Each step of a recursive statement runs the same operators.
#[tokio::test]
async fn a_recursive_statement_reads_the_table_again_in_each_step() {
    let fixture = fixture();
    let session = fixture.session();
    let query = "with recursive walk(shop, number, steps) as (
             select shop, number, 0 from lines where number = 7
             union all
             select l.shop, l.next, steps + 1 from walk, lines l
             where l.shop = walk.shop and l.number = walk.number and steps < 6)
         select steps, count(*), min(number), max(number) from walk group by steps order by steps";
    assert_planned(&session, query, "parts=2 shared").await;
    let rows = run(&session, query).await.expect("an answer");
    let expected = (0..=6).map(|step| format!("{step}|{SHOPS}|{0}|{0}", 7 + step));
    assert_eq!(rows, expected.collect::<Vec<_>>());
}

#[tokio::test]
async fn groups_are_not_brought_into_the_order_of_the_key_for_nobody() {
    let fixture = fixture();
    let session = fixture.session();
    let by_line = "select shop, number, max(amount) from lines group by shop, number";
    let largest = format!("select count(*) from ({by_line}) x");
    let unordered = plan(&session, &largest).await;
    assert!(
        unordered.contains("RepartitionExec: partitioning=Hash"),
        "{unordered}"
    );
    assert!(!unordered.contains("preserve_order"), "{unordered}");
    let rows = run(&session, &largest).await.expect("an answer");
    assert_eq!(rows, [LINES.to_string()]);
    let ordered = format!("{by_line} order by shop, number");
    let rows = run(&session, &ordered).await.expect("an answer");
    assert_eq!(rows.len() as u64, LINES);
    let keys = rows.iter().map(|row| {
        let mut cells = row.split('|').map(|cell| cell.parse::<u64>().unwrap_or(0));
        (cells.next(), cells.next())
    });
    assert!(keys.is_sorted(), "they are in order");
}

#[tokio::test]
async fn rows_in_the_order_of_the_key_come_range_by_range() {
    let fixture = fixture();
    let session = fixture.session();
    let query = "select shop, number from lines order by shop, number";
    assert_planned(&session, query, "RangeMergeExec").await;
    let each_shop = LINES / SHOPS;
    let line = |place: u64| format!("{}|{}", place / each_shop, place % each_shop);
    let rows = run(&session, query).await.expect("an answer");
    assert_eq!(rows, (0..LINES).map(line).collect::<Vec<_>>());
    let some = "select shop, number from lines where number % 7 = 3 order by shop, number";
    assert_planned(&session, some, "RangeMergeExec").await;
    let rows = run(&session, some).await.expect("an answer");
    let expected = (0..LINES).filter(|place| place % each_shop % 7 == 3);
    assert_eq!(rows, expected.map(line).collect::<Vec<_>>());
    let page = format!("{query} limit 20000 offset 60000");
    let rows = run(&session, &page).await.expect("an answer");
    assert_eq!(rows, (60_000..80_000).map(line).collect::<Vec<_>>());
    let numbered = format!(
        "select count(*) from (select shop, number, row_number() over (order by shop, number) as place from lines) x
         where place <> shop * {each_shop} + number + 1"
    );
    assert_planned(&session, &numbered, "RangeMergeExec").await;
    let rows = run(&session, &numbered).await.expect("an answer");
    assert_eq!(rows, ["0"]);
}

/// The planner relies on rows of one value being in one partition: it groups without bringing them together, and only
/// then puts the groups in order.
#[tokio::test]
async fn groups_that_are_put_in_order_are_whole() {
    const DAYS: u64 = 1_000;
    let mut fixture = Fixture::with_options(EngineOptions {
        threads: 2,
        ..EngineOptions::default()
    });
    let table = fixture.table("visits", "day bigint key, number bigint key, mark bigint");
    let visit = |place: u64| {
        let (day, number) = (place / (LINES / DAYS), place % (LINES / DAYS));
        format!("{day}|{number}|{}\n", scattered(place))
    };
    fixture.write(table, &(0..LINES).map(visit).collect::<String>());
    fixture.store.flush().expect("the flush works");
    let session = fixture.session();
    let query = "select day, count(*), count(distinct mark) from visits group by day order by day";
    let each_day = LINES / DAYS;
    let expected = (0..DAYS).map(|day| format!("{day}|{each_day}|{each_day}"));
    let rows = run(&session, query).await.expect("an answer");
    assert_eq!(rows, expected.collect::<Vec<_>>());
    let query = "select day, count(*) from visits group by day order by day";
    assert_planned(&session, query, "mode=SinglePartitioned").await;
    let expected = (0..DAYS).map(|day| format!("{day}|{each_day}"));
    let rows = run(&session, query).await.expect("an answer");
    assert_eq!(rows, expected.collect::<Vec<_>>());
}
