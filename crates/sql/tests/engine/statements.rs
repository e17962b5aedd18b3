//! Sessions: snapshots, transactions, settings, errors.

use std::time::Duration;

use futures::StreamExt;
use replication::catalog::TableState;
use sql::arrow::datatypes::DataType;
use sql::{EngineOptions, Outcome, ScalarValue, TransactionStatus};
use types::CommitPosition;

use crate::harness::{Fixture, SOON, failure, lines, row, run, run_with};

fn accounts() -> (Fixture, types::TableId) {
    let mut fixture = Fixture::new();
    let table = fixture.table(
        "accounts",
        "id integer key, owner text, balance numeric(12,2)",
    );
    fixture.write(table, "1|ann|10.00\n2|bob|20.50\n3|\\N|0.00");
    (fixture, table)
}

#[tokio::test]
async fn a_statement_sees_one_position_and_names_it() {
    let (mut fixture, table) = accounts();
    let session = fixture.session();
    let statement = sql::parse("select count(*), sum(balance) from accounts")
        .expect("parses")
        .remove(0);
    let first = fixture.position();
    let outcome = session.execute(&statement, Vec::new()).await.expect("runs");
    fixture.write(table, "4|cid|5.00");
    let Outcome::Rows {
        position,
        mut stream,
        tag,
        ..
    } = outcome
    else {
        panic!("gives rows");
    };
    assert_eq!((position, tag), (first, "SELECT"));
    let batch = stream.next().await.expect("a batch").expect("no error");
    assert_eq!(lines(&batch), ["3|30.50"]);
    assert_eq!(
        row(&session, "select hedgerow_position()").await,
        fixture.position().to_string()
    );
    assert_eq!(
        row(&session, "select hedgerow.position()").await,
        fixture.position().to_string()
    );
    assert_eq!(
        row(&session, "show hedgerow.position").await,
        fixture.position().to_string()
    );
    assert_eq!(row(&session, "select count(*) from accounts").await, "4");
}

#[tokio::test]
async fn a_transaction_keeps_its_snapshot() {
    let (mut fixture, table) = accounts();
    let session = fixture.session();
    run(&session, "begin isolation level read committed read only")
        .await
        .expect("begins");
    assert_eq!(row(&session, "select count(*) from accounts").await, "3");
    fixture.write(table, "4|cid|5.00\n- 1|x|0");
    assert_eq!(row(&session, "select count(*) from accounts").await, "3");
    assert_eq!(session.transaction_status(), TransactionStatus::Open);
    assert_eq!(run(&session, "commit").await.expect("commits"), ["COMMIT"]);
    assert_eq!(
        row(&session, "select min(id), count(*) from accounts").await,
        "2|3"
    );
}

#[tokio::test]
async fn an_error_fails_the_transaction_until_it_ends() {
    let (fixture, _) = accounts();
    let session = fixture.session();
    run(&session, "begin; savepoint a").await.expect("begins");
    assert_eq!(
        failure(&session, "select nothing from accounts").await.code,
        "42703"
    );
    assert_eq!(session.transaction_status(), TransactionStatus::Failed);
    assert_eq!(failure(&session, "select 1").await.code, "25P02");
    run(&session, "rollback to a").await.expect("goes back");
    assert_eq!(row(&session, "select 1").await, "1");
    assert_eq!(failure(&session, "select 1/0").await.code, "22012");
    assert_eq!(run(&session, "commit").await.expect("ends"), ["ROLLBACK"]);
    assert_eq!(session.transaction_status(), TransactionStatus::Idle);
}

#[tokio::test]
async fn settings_follow_the_transaction() {
    let (fixture, _) = accounts();
    let session = fixture.session();
    run(&session, "set application_name = 'one'")
        .await
        .expect("sets");
    run(
        &session,
        "begin; set application_name = 'two'; set local extra_float_digits = 3; rollback",
    )
    .await
    .expect("runs");
    assert_eq!(row(&session, "show application_name").await, "one");
    run(
        &session,
        "begin; set application_name = 'two'; set local extra_float_digits = 3; commit",
    )
    .await
    .expect("runs");
    assert_eq!(row(&session, "show application_name").await, "two");
    assert_eq!(row(&session, "show extra_float_digits").await, "1");
    assert_eq!(
        row(&session, "select current_setting('application_name')").await,
        "two"
    );
    assert_eq!(failure(&session, "set no_such = 1").await.code, "42704");
    assert_eq!(
        row(&session, "show transaction isolation level").await,
        "repeatable read"
    );
}

#[tokio::test]
async fn errors_carry_their_sqlstate() {
    let (fixture, _) = accounts();
    let session = fixture.session();
    for (text, code) in [
        ("select * from nowhere", "42P01"),
        ("select * from other.accounts", "42P01"),
        ("select nothing from accounts", "42703"),
        ("select accounts.nothing from accounts", "42703"),
        ("select id from accounts a, accounts b", "42702"),
        ("select 1 +", "42601"),
        ("insert into accounts values (1)", "25006"),
        ("create table x (a int)", "25006"),
        ("drop table accounts", "25006"),
        ("copy accounts from stdin", "25006"),
        ("select no_such_function(1)", "42883"),
        ("select owner, count(*) from accounts", "42803"),
        ("select 1/0", "22012"),
        ("select 1.0/0", "22012"),
        ("select 'x'::integer", "22P02"),
        ("select $1", "42P02"),
        ("listen x", "0A000"),
    ] {
        assert_eq!(failure(&session, text).await.code, code, "{text}");
    }
}

#[tokio::test]
async fn a_stopped_table_says_why_and_others_go_on() {
    let (mut fixture, table) = accounts();
    let other = fixture.table("other", "id integer key");
    fixture.write(other, "1");
    let session = fixture.session();
    let reason = "numeric value NaN in column balance".to_owned();
    fixture.catalog.set_state(
        table,
        TableState::Stopped {
            position: CommitPosition(0x20),
            reason,
        },
    );
    let error = failure(&session, "select * from accounts").await;
    assert_eq!(error.code, "55000");
    assert!(
        error.message.contains("public.accounts") && error.message.contains("0/20"),
        "{error:?}"
    );
    assert!(error.detail.is_some_and(|detail| detail.contains("NaN")));
    assert!(error.hint.is_some());
    assert_eq!(row(&session, "select count(*) from other").await, "1");
    let query = "select name, state, reason from hedgerow.tables order by name";
    let shown = run(&session, query).await.expect("the views work");
    assert_eq!(
        shown[0],
        "accounts|stopped|numeric value NaN in column balance"
    );
}

#[tokio::test]
async fn tables_wait_until_the_replica_has_caught_up_and_views_do_not() {
    let options = EngineOptions {
        threads: 2,
        catch_up_timeout: Duration::from_millis(50),
        ..EngineOptions::default()
    };
    let mut fixture = Fixture::with_options(options);
    let table = fixture.table("t", "id integer key");
    fixture.write(table, "1");
    let source = fixture.status.register("shop", "postgresql");
    source.set_target(CommitPosition(0x1000));
    let session = fixture.session();
    assert_eq!(failure(&session, "select * from t").await.code, "57P03");
    assert_eq!(
        row(&session, "select name, kind from hedgerow.sources").await,
        "shop|postgresql"
    );
    assert_eq!(row(&session, "select 1").await, "1");
    let position = "select hedgerow.position()";
    assert_eq!(failure(&session, position).await.code, "57P03");

    // What a transaction asks before it reads a table does not keep it at an older state.
    run(&session, "begin isolation level repeatable read")
        .await
        .expect("begins");
    assert_eq!(row(&session, "select 1").await, "1");
    fixture.write(table, "2");
    source.set_visible(CommitPosition(0x1000), 1);
    let at = row(&session, position).await;
    fixture.write(table, "3");
    assert_eq!(row(&session, "select count(*) from t").await, "2");
    assert_eq!(row(&session, position).await, at);
    run(&session, "commit").await.expect("ends");
    assert_eq!(row(&session, "select count(*) from t").await, "3");
}

#[tokio::test]
async fn a_cancel_and_a_timeout_end_the_statement() {
    let (fixture, _) = accounts();
    let session = fixture.session();
    let endless = "select count(*) from generate_series(1, 1000000000000) a(i) where i % 7 = 3";
    let canceller = session.canceller();
    canceller.cancel();
    let running = run(&session, endless);
    let cancelling = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        canceller.cancel();
    };
    let both = async { tokio::join!(running, cancelling) };
    let (result, ()) = tokio::time::timeout(SOON, both).await.expect("ends soon");
    assert_eq!(result.expect_err("is cancelled").code, "57014");
    run(&session, "set statement_timeout = '100ms'")
        .await
        .expect("sets");
    let result = tokio::time::timeout(SOON, run(&session, endless))
        .await
        .expect("ends soon");
    assert_eq!(result.expect_err("times out").code, "57014");
}

#[tokio::test]
async fn memory_is_bounded() {
    let options = EngineOptions {
        threads: 2,
        memory_bytes: 1 << 20,
        ..EngineOptions::default()
    };
    let fixture = Fixture::with_options(options);
    let session = fixture.session();
    let error = failure(
        &session,
        "select count(*) from (select distinct i, repeat('x', 50) || i from generate_series(1, 1000000) a(i)) s",
    )
    .await;
    assert_eq!(error.code, "53200", "{error:?}");
}

/// An engine with little memory and a folder to spill to.
fn spilling() -> (Fixture, tempfile::TempDir) {
    let spill = tempfile::tempdir().expect("a temporary directory");
    let options = EngineOptions {
        threads: 2,
        memory_bytes: 24 << 20,
        spill_directory: Some(spill.path().join("tmp")),
        ..EngineOptions::default()
    };
    (Fixture::with_options(options), spill)
}

#[tokio::test]
async fn larger_than_memory_spills_to_disk() {
    let (fixture, _spill) = spilling();
    let session = fixture.session();
    let query = "select max(i) from (select i, repeat('x', 100) || i as t from generate_series(1, 400000) a(i) \
                 order by t, i offset 1) s";
    assert_eq!(row(&session, query).await, "400000");
}

#[tokio::test]
async fn a_join_larger_than_memory_uses_the_disk() {
    let (fixture, _spill) = spilling();
    let session = fixture.session();
    let side = "select i, repeat('x', 100) || i as t from generate_series(1, 400000) s(i)";
    let query = format!(
        "select count(*), max(a.i) from ({side}) a join ({side}) b on a.t = b.t where a.i % 2 = 0"
    );
    assert_eq!(row(&session, &query).await, "200000|400000");
}

#[tokio::test]
async fn parameters_have_types_and_values() {
    let (fixture, _) = accounts();
    let session = fixture.session();
    let text = "select id, owner, balance from accounts where id = $1 and balance > $2 limit $3";
    let statement = sql::parse(text).expect("parses").remove(0);
    let told = session
        .describe(&statement, &[])
        .await
        .expect("is described");
    let types: Vec<u32> = told
        .parameters
        .iter()
        .map(|parameter| parameter.oid)
        .collect();
    assert_eq!(types, [23, 1700, 20]);
    let schema = told.schema.expect("gives rows");
    let oids: Vec<u32> = schema
        .fields()
        .iter()
        .map(|field| sql::pg_type::field_oid(field))
        .collect();
    assert_eq!(oids, [23, 25, 1700]);
    let values = vec![
        ScalarValue::Int32(Some(2)),
        ScalarValue::Decimal128(Some(100), 12, 2),
        ScalarValue::Int64(Some(5)),
    ];
    assert_eq!(
        run_with(&session, text, values).await.expect("runs"),
        ["2|bob|20.50"]
    );
    let values = vec![
        ScalarValue::Int32(None),
        ScalarValue::Decimal128(None, 12, 2),
        ScalarValue::Int64(Some(5)),
    ];
    assert!(
        run_with(&session, text, values)
            .await
            .expect("runs")
            .is_empty()
    );
    let cast = "select $1::int4 + 1, id from accounts where balance > $2::numeric and $3::date > '2020-01-01' \
                and id in (select $4::int8) and owner = $5::text";
    let cast = sql::parse(cast).expect("parses").remove(0);
    let told = session.describe(&cast, &[]).await.expect("is described");
    let types: Vec<u32> = told.parameters.iter().map(|told| told.oid).collect();
    assert_eq!(types, [23, 1700, 1082, 20, 25]);
    let named = sql::parse("select $1::regclass").expect("parses").remove(0);
    let told = session.describe(&named, &[]).await.expect("is described");
    assert_eq!(told.parameters[0].oid, 25, "a name is read by the cast");
    let untyped = sql::parse("select $1").expect("parses").remove(0);
    let told = session
        .describe(&untyped, &[0])
        .await
        .expect("is described");
    assert_eq!(
        (told.parameters[0].oid, told.parameters[0].data_type.clone()),
        (25, DataType::Utf8)
    );
}

#[tokio::test]
async fn described_columns_are_the_ones_that_come() {
    let (fixture, _) = accounts();
    let session = fixture.session();
    for text in [
        "select *, balance / 3, avg(balance) over (), balance * 2 from accounts",
        "select sum(id), sum(balance), avg(id), count(*), max(owner) from accounts",
        "select 1, 1.5, 'x', null, now(), current_date, date '2020-01-01' + 1",
        "select case when id > 1 then balance else 0 end, coalesce(sum(balance), 0) from accounts group by 1",
        "explain select 1",
        "show timezone",
    ] {
        let statement = sql::parse(text).expect("parses").remove(0);
        let told = session
            .describe(&statement, &[])
            .await
            .expect("is described")
            .schema
            .expect("gives rows");
        let Outcome::Rows {
            schema, mut stream, ..
        } = session.execute(&statement, Vec::new()).await.expect("runs")
        else {
            panic!("gives rows");
        };
        for (a, b) in told.fields().iter().zip(schema.fields()) {
            assert_eq!(
                (a.name(), a.data_type()),
                (b.name(), b.data_type()),
                "{text}"
            );
        }
        assert_eq!(told.fields().len(), schema.fields().len());
        while let Some(batch) = stream.next().await {
            assert_eq!(batch.expect("a batch").schema(), schema, "{text}");
        }
    }
}

#[tokio::test]
async fn a_statement_waits_for_the_position_that_its_client_names() {
    let (mut fixture, table) = accounts();
    let session = fixture.session();
    let next = CommitPosition(fixture.position().0 + 0x10);
    run(&session, &format!("set hedgerow.wait_for = '{next}'"))
        .await
        .expect("is set");
    assert_eq!(
        row(&session, "show hedgerow.wait_for").await,
        next.to_string()
    );
    let writes = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        fixture.write(table, "4|cid|5.00");
    };
    assert_eq!(row(&session, "select 1").await, "1");
    let (found, ()) = tokio::join!(
        row(&session, "select id from accounts where id = 4"),
        writes
    );
    assert_eq!(found, "4");
    assert_eq!(row(&session, "select count(*) from accounts").await, "4");
    for sql in [
        "set hedgerow.wait_for = 'FFFF/0'",
        "set statement_timeout = 50",
    ] {
        run(&session, sql).await.expect("is set");
    }
    for asked in [
        "select count(*) from accounts",
        "select id from accounts where id = 4",
    ] {
        assert_eq!(failure(&session, asked).await.code, "57014", "{asked}");
    }
    run(&session, "reset hedgerow.wait_for")
        .await
        .expect("is reset");
    assert_eq!(row(&session, "select count(*) from accounts").await, "4");
    let error = failure(&session, "set hedgerow.wait_for = 'soon'").await;
    assert_eq!(error.code, "22023");
}
