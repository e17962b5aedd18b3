//! Rows by key: what is answered past the planner is what the planner would answer.

use std::sync::Arc;

use futures::StreamExt;
use sql::arrow::datatypes::{DataType, Schema};
use sql::{Outcome, ScalarValue, Session};

use crate::harness::{Fixture, failure, lines, run};

/// One table a kind of key.
fn fixture() -> Fixture {
    let mut fixture = Fixture::new();
    let accounts = fixture.table(
        "accounts",
        "id integer key, owner varchar(20), balance numeric(12,2)",
    );
    fixture.write(accounts, "1|ann|10.00\n2|bob|20.50\n3|\\N|0.00\n4|cid|7.00");
    fixture.write(accounts, "2|bob|21.50\n- 4|x|0");
    let lines = fixture.table(
        "order_lines",
        "order_id bigint key, line smallint key, what text",
    );
    fixture.write(lines, "7|1|a\n7|2|b\n8|1|c\n9|3|d");
    let things = fixture.table("things", "id uuid key, n integer");
    fixture.write(things, "123e4567-e89b-12d3-a456-426614174000|1");
    let days = fixture.table("days", "day date key, code char(4) key, n integer");
    fixture.write(days, "2020-02-29|ab|1\n2020-03-01|ab|2");
    let measures = fixture.table("measures", "at double key, n integer");
    fixture.write(measures, "1.5|1");
    let prices = fixture.table("prices", "price numeric(8,2) key, n integer");
    fixture.write(prices, "9.90|1\n10.00|2");
    fixture
}

fn int(number: i32) -> ScalarValue {
    ScalarValue::Int32(Some(number))
}

fn text(text: &str) -> ScalarValue {
    ScalarValue::Utf8(Some(text.to_owned()))
}

fn integers(numbers: &[Option<i32>]) -> ScalarValue {
    let numbers: Vec<ScalarValue> = numbers.iter().map(|&n| ScalarValue::Int32(n)).collect();
    ScalarValue::List(ScalarValue::new_list_nullable(&numbers, &DataType::Int32))
}

/// A result's columns and its rows in order.
async fn answer(
    session: &Session,
    sql: &str,
    parameters: Vec<ScalarValue>,
) -> (Arc<Schema>, Vec<String>) {
    let statement = sql::parse(sql).expect("parses").remove(0);
    let outcome = session.execute(&statement, parameters).await;
    let Ok(Outcome::Rows {
        schema, mut stream, ..
    }) = outcome
    else {
        panic!("{sql} gives rows");
    };
    let mut rows = Vec::new();
    while let Some(batch) = stream.next().await {
        let batch = batch.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        assert_eq!(batch.schema(), schema, "{sql}");
        rows.extend(lines(&batch));
    }
    rows.sort();
    (schema, rows)
}

#[tokio::test]
async fn a_look_up_gives_the_rows_and_columns_that_the_planner_gives() {
    let fixture = fixture();
    let session = fixture.session();
    let uuid = "{123E4567e89b12d3a456426614174000}";
    let statements: Vec<(&str, Vec<ScalarValue>, bool)> = vec![
        ("select * from accounts where id = $1", vec![int(2)], true),
        ("select * from accounts where id = $1", vec![int(99)], true),
        ("select * from accounts where id = $1", vec![int(4)], true),
        ("select owner from accounts where id = 3", vec![], true),
        (
            "select a.balance, a.owner as who from public.accounts a where a.id = $1",
            vec![ScalarValue::Int64(Some(1))],
            true,
        ),
        (
            "select id from accounts where id = $1",
            vec![ScalarValue::Int64(Some(1 << 40))],
            false,
        ),
        (
            "select id from accounts where id = $1",
            vec![ScalarValue::Int32(None)],
            true,
        ),
        (
            "select id from accounts where id in ($1, 3, $1, 99)",
            vec![int(1)],
            true,
        ),
        (
            "select id from accounts where id = any($1)",
            vec![integers(&[Some(3), None, Some(1), Some(3)])],
            true,
        ),
        (
            "select * from order_lines where line = $2 and order_id = $1",
            vec![ScalarValue::Int64(Some(7)), ScalarValue::Int16(Some(2))],
            true,
        ),
        (
            "select what from order_lines where order_id in (7, 8, 9) and line in (1, 3)",
            vec![],
            true,
        ),
        (
            "select * from order_lines where order_id = 7",
            vec![],
            false,
        ),
        ("select n from things where id = $1", vec![text(uuid)], true),
        (
            "select n from days where day = $1 and code = $2",
            vec![ScalarValue::Date32(Some(18_321)), text("ab  ")],
            true,
        ),
        (
            "select n from measures where at = $1",
            vec![ScalarValue::Float64(Some(1.5))],
            false,
        ),
        (
            "select n from prices where price = $1",
            vec![ScalarValue::Decimal128(Some(990), 8, 2)],
            true,
        ),
        (
            "select n from prices where price = $1",
            vec![ScalarValue::Decimal128(Some(9_900), 9, 3)],
            false,
        ),
        (
            "select * from accounts where owner = $1",
            vec![text("ann")],
            false,
        ),
    ];
    for (sql, parameters, looked_up) in statements {
        let before = fixture.store.stats().lookups;
        let found = answer(&session, sql, parameters.clone()).await;
        let asked = fixture.store.stats().lookups - before;
        let empty = parameters.iter().any(ScalarValue::is_null);
        assert_eq!(asked > 0, looked_up && !empty, "{sql}");
        let (head, condition) = sql.split_once(" where ").expect("has a condition");
        let planned = format!("{head} where true and {condition}");
        assert_eq!(found, answer(&session, &planned, parameters).await, "{sql}");
    }
}

#[tokio::test]
async fn a_limit_holds_for_look_ups() {
    let fixture = fixture();
    let session = fixture.session();
    for (sql, rows) in [
        ("select id from accounts where id in (1, 2, 3) limit 2", 2),
        ("select id from accounts where id = 1 limit 0", 0),
        ("select id from accounts where id = 1 limit 21", 1),
    ] {
        let found = run(&session, sql).await.expect("runs");
        assert_eq!(found.len(), rows, "{sql}");
    }
}

#[tokio::test]
async fn a_look_up_knows_what_became_of_its_table() {
    let fixture = fixture();
    let session = fixture.session();
    let statement = sql::parse("select n from things where id = $1").expect("parses");
    let asked = || session.execute(&statement[0], vec![text("no uuid")]);
    assert_eq!(asked().await.err().map(|error| error.code), Some("22P02"));
    let things = fixture.catalog.by_name("public", "things").expect("there");
    fixture.catalog.set_state(
        things.id,
        replication::catalog::TableState::Stopped {
            position: fixture.position(),
            reason: "a column was dropped".to_owned(),
        },
    );
    assert_eq!(asked().await.err().map(|error| error.code), Some("55000"));
    let error = failure(&session, "select n from nothing where id = 1").await;
    assert_eq!(error.code, "42P01");
    let error = failure(&session, "select missing from accounts where id = 1").await;
    assert_eq!(error.code, "42703");
}

#[tokio::test]
async fn a_transaction_looks_up_in_its_snapshot() {
    let mut fixture = fixture();
    let session = fixture.session();
    let accounts = fixture
        .catalog
        .by_name("public", "accounts")
        .expect("there");
    let balance = "select balance from accounts where id = 1";
    run(&session, "begin").await.expect("begins");
    assert_eq!(run(&session, balance).await.expect("runs"), ["10.00"]);
    fixture.write(accounts.id, "1|ann|99.00");
    assert_eq!(run(&session, balance).await.expect("runs"), ["10.00"]);
    run(&session, "commit").await.expect("commits");
    assert_eq!(run(&session, balance).await.expect("runs"), ["99.00"]);
}
