//! What a statement says twice is run once, and its uses still have the rows that are theirs.

use std::fmt::Write;

use sql::Session;

use crate::harness::{Fixture, failure, run};

const SALES: u64 = 20_000;
const SHOPS: u64 = 300;

fn amount(id: u64) -> u64 {
    id.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44
}

/// Amounts of sales by shop.
fn sales() -> Fixture {
    let mut fixture = Fixture::new();
    let table = fixture.table("sales", "id bigint key, shop bigint, amount bigint");
    let mut lines = String::new();
    for id in 0..SALES {
        writeln!(lines, "{id}|{}|{}", id % SHOPS, amount(id)).expect("text");
    }
    fixture.write(table, &lines);
    fixture.store.flush().expect("the flush works");
    fixture
}

/// What each shop has sold.
fn totals() -> Vec<u64> {
    let total = |shop| (shop..SALES).step_by(SHOPS as usize).map(amount).sum();
    (0..SHOPS).map(total).collect()
}

/// A query's rows. `shared`: how many operators take rows of a plan that others take rows of as well.
async fn answer(session: &Session, query: &str, shared: usize) -> Vec<String> {
    let plan = run(session, &format!("explain {query}")).await;
    let plan = plan.expect("a plan").join("\n");
    assert_eq!(plan.matches("SharedExec").count(), shared, "{plan}");
    let rows = run(session, query).await;
    rows.unwrap_or_else(|error| panic!("{query}: {error:?}"))
}

const TOTALS: &str = "with totals as (select shop, sum(amount) as total from sales group by shop)";

#[tokio::test]
async fn uses_of_a_with_query_have_one_result() {
    let fixture = sales();
    let session = fixture.session();
    let totals = totals();
    let most = *totals.iter().max().expect("there are shops");
    let best = totals.iter().position(|&total| total == most);
    let expected = [format!("{}|{most}", best.expect("is one of them"))];

    let best =
        format!("{TOTALS} select * from totals where total = (select max(total) from totals)");
    assert_eq!(answer(&session, &best, 2).await, expected);

    // Only one of the two reads the table.
    let plan = run(&session, &format!("explain analyze {best}")).await;
    let plan = plan.expect("a plan").join("\n");
    let all = format!("output_rows={SALES}");
    let thousands = format!("output_rows={:.1} K", SALES as f64 / 1000.0);
    let scans: Vec<&str> = plan
        .lines()
        .filter(|line| line.contains("ScanExec"))
        .collect();
    let read = |line: &&&str| line.contains(&all) || line.contains(&thousands);
    assert_eq!(scans.len(), 2, "{plan}");
    assert!(scans.iter().filter(read).count() <= 1, "{plan}");
}

#[tokio::test]
async fn each_use_has_its_own_conditions_and_columns() {
    let fixture = sales();
    let session = fixture.session();
    let totals = totals();
    let neighbours = format!(
        "{TOTALS} select count(*), sum(b.total) from totals a join totals b on a.shop + 1 = b.shop
         where a.total < b.total"
    );
    let pairs = totals.windows(2).filter(|pair| pair[0] < pair[1]);
    let expected = format!(
        "{}|{}",
        pairs.clone().count(),
        pairs.map(|pair| pair[1]).sum::<u64>()
    );
    assert_eq!(answer(&session, &neighbours, 2).await, [expected]);

    let three = format!(
        "{TOTALS} select (select count(*) from totals), (select max(total) from totals),
         (select count(*) from totals where total >= 0)"
    );
    let expected = format!("{SHOPS}|{}|{SHOPS}", totals.iter().max().expect("some"));
    let rows = run(&session, &three).await.expect("an answer");
    assert_eq!(rows, [expected]);
}

/// A result that nothing orders is cut where the first use cuts it.
#[tokio::test]
async fn uses_of_some_rows_see_the_same_ones() {
    let fixture = sales();
    let session = fixture.session();
    let query = "with some as (select id, amount from sales limit 777)
                 select count(*) from some a join some b on a.id = b.id and a.amount = b.amount";
    assert_eq!(answer(&session, query, 2).await, ["777"]);
}

#[tokio::test]
async fn plans_that_only_look_alike_are_run_each() {
    let fixture = sales();
    let session = fixture.session();
    let counts = "select (select count(*) from generate_series(1, 10)), (select count(*) from generate_series(1, 20))";
    assert_eq!(answer(&session, counts, 0).await, ["10|20"]);
    let conditions = "select (select count(*) from sales where shop < 3), (select count(*) from sales where shop < 4)";
    let shops = |shops: u64| (0..SALES).filter(|id| id % SHOPS < shops).count();
    let expected = format!("{}|{}", shops(3), shops(4));
    assert_eq!(answer(&session, conditions, 0).await, [expected]);
    let drawn = "select a.drawn = b.drawn
                 from (select max(random()) as drawn from sales) a, (select max(random()) as drawn from sales) b";
    assert_eq!(answer(&session, drawn, 0).await, ["false"]);
}

#[tokio::test]
async fn an_error_in_a_shared_plan_is_the_statements() {
    let fixture = sales();
    let session = fixture.session();
    let query =
        "with shares as (select shop, sum(10 / (id - 700)) as share from sales group by shop)
                 select a.share from shares a join shares b on a.shop = b.shop";
    assert_eq!(failure(&session, query).await.code, "22012");
}
