//! Lateral joins, and other subqueries that name columns around them: what they give for a row is what the subquery gives
//! with the row's values written into its text.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sql::Session;

use crate::harness::{Fixture, run};

/// Cells of `a` and `b`; the key is a row's place.
type Row = (Option<i32>, Option<i32>);

/// Subqueries of `v` with one column; `{a}` and `{b}` are of the row that they are asked for.
const SUBQUERIES: [&str; 23] = [
    "select {a} + 1 as x",
    "select {a} as x where {b} > 1",
    "select v.a as x from v where v.b = {b}",
    "select v.a as x from v where v.b < {a}",
    "select distinct v.a as x from v where v.k >= {b}",
    "select v.a + {b} as x from v where v.k < 2",
    "select count(*) as x from v where v.a < {a}",
    "select count(v.a) + count(*) as x from v where v.b is not distinct from {a}",
    "select sum(v.a * {b}) as x from v",
    "select max(v.b) as x from v where v.a <> {a} group by v.a",
    "select v.a as x from v where v.b <= {b} group by v.a having count(*) < {a}",
    "select v.k as x from v where v.a >= {a} order by v.b desc nulls last, v.k limit 1",
    "select v.k as x from v where v.a >= {a} order by v.k limit 2 offset 1",
    "select v.k + w.k as x from v join v w on v.a = w.b where w.a < {a}",
    "select w.k as x from v left join v w on w.a = v.b and w.b < {b} where v.a = {a}",
    "select w.k as x from (select * from v where v.b > {b}) v right join v w on w.a = v.a",
    "select v.k as x from v where v.a > {a} union all select {b} as x",
    "select * from (values ({a}), ({b} + 1), (7)) s(x)",
    "select v.b as x from v where v.a > {a} union select v.a as x from v where v.b = {b}",
    "select x from (select v.k as x, row_number() over (partition by v.a order by v.k) as n from v
        where v.b > {b}) s where n = 1",
    "select v.k as x from v where exists (select 1 from v w where w.a = v.b and w.b > {a})",
    "select v.k as x from v where v.a in (select w.b from v w where w.a <> {b})",
    "select s.m as x from v cross join lateral (select max(w.k) as m from v w where w.a < v.a + {a}) s",
];

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let cell = || proptest::option::weighted(0.8, 0..4);
    proptest::collection::vec((cell(), cell()), 0..9)
}

fn fixture(tables: &[(&str, &[Row])]) -> Fixture {
    let mut fixture = Fixture::new();
    for (name, rows) in tables {
        let table = fixture.table(name, "k integer key, a integer, b integer");
        let shown = |cell: Option<i32>| cell.map_or("\\N".to_owned(), |cell| cell.to_string());
        let lines = rows.iter().zip(0..);
        let lines = lines.map(|((a, b), k)| format!("{k}|{}|{}\n", shown(*a), shown(*b)));
        fixture.write(table, &lines.collect::<String>());
    }
    fixture
}

/// The subquery's text with values in it, a NULL with its type.
fn with_values(subquery: &str, a: &str, b: &str) -> String {
    subquery.replace("{a}", a).replace("{b}", b)
}

/// What a subquery gives for each row of `t`, by its own.
async fn of_each_row(session: &Session, subquery: &str, rows: &[Row]) -> Vec<Vec<String>> {
    let literal =
        |cell: Option<i32>| cell.map_or("null::integer".to_owned(), |cell| format!("{cell}"));
    let mut known: HashMap<Row, Vec<String>> = HashMap::new();
    let mut of_each = Vec::new();
    for row in rows {
        if !known.contains_key(row) {
            let text = with_values(subquery, &literal(row.0), &literal(row.1));
            let rows = run(session, &text).await;
            known.insert(
                *row,
                rows.unwrap_or_else(|error| panic!("{text}: {error:?}")),
            );
        }
        of_each.push(known[row].clone());
    }
    of_each
}

async fn check(session: &Session, subquery: &str, rows: &[Row]) -> Result<(), TestCaseError> {
    let of_each = of_each_row(session, subquery, rows).await;
    let named = with_values(subquery, "t.a", "t.b");
    let keyed = |k: usize, x: &String| format!("{k}|{x}");
    let inner: Vec<String> = (0..)
        .zip(&of_each)
        .flat_map(|(k, of_row)| of_row.iter().map(move |x| keyed(k, x)))
        .collect();
    let outer = (0..)
        .zip(&of_each)
        .flat_map(|(k, of_row)| match of_row.as_slice() {
            [] => vec![keyed(k, &"NULL".to_owned())],
            of_row => of_row.iter().map(|x| keyed(k, x)).collect(),
        });
    let mut queries = vec![
        (
            format!("select t.k, s.x from t, lateral ({named}) s"),
            inner,
        ),
        (
            format!("select t.k, s.x from t left join lateral ({named}) s on true"),
            outer.collect(),
        ),
        (
            format!("select t.k, 0 from t where exists ({named})"),
            (0..)
                .zip(&of_each)
                .filter(|(_, of_row)| !of_row.is_empty())
                .map(|(k, _)| keyed(k, &"0".to_owned()))
                .collect(),
        ),
        (
            format!("select t.k, exists ({named}) from t"),
            (0..)
                .zip(&of_each)
                .map(|(k, of_row)| keyed(k, &(!of_row.is_empty()).to_string()))
                .collect(),
        ),
    ];
    if of_each.iter().all(|of_row| of_row.len() <= 1) {
        let values = (0..).zip(&of_each);
        let null = "NULL".to_owned();
        let values = values.map(|(k, of_row)| keyed(k, of_row.first().unwrap_or(&null)));
        queries.push((
            format!("select t.k, ({named}) as x from t"),
            values.collect(),
        ));
    }
    for (text, mut expected) in queries {
        let rows = run(session, &text).await;
        let mut rows = rows.map_err(|error| TestCaseError::fail(format!("{text}: {error:?}")))?;
        rows.sort();
        expected.sort();
        prop_assert_eq!(rows, expected, "{}", text);
    }
    Ok(())
}

#[test]
fn a_lateral_join_gives_what_the_subquery_gives_for_each_row() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut runner = TestRunner::new(Config::with_cases(12));
    let checked = runner.run(&(rows(), rows()), |(outer, inner)| {
        let fixture = fixture(&[("t", &outer), ("v", &inner)]);
        let session = fixture.session();
        for subquery in SUBQUERIES {
            runtime.block_on(check(&session, subquery, &outer))?;
        }
        Ok(())
    });
    checked.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test]
async fn functions_in_from_name_columns_too() {
    let fixture = fixture(&[("t", &[(Some(2), None), (None, Some(1)), (Some(0), Some(3))])]);
    let session = fixture.session();
    for (text, expected) in [
        (
            "select k, g from t, generate_series(1, t.a) g order by k, g",
            &["0|1", "0|2"][..],
        ),
        (
            "select k, g from t left join generate_series(2, a) as x(g) on g > 1 order by k",
            &["0|2", "1|NULL", "2|NULL"],
        ),
        (
            "select k, v, n from t cross join lateral unnest(array[a, b]) with ordinality as u(v, n)
                where v is not null order by k, n",
            &["0|2|1", "1|1|2", "2|0|1", "2|3|2"],
        ),
        (
            "select v, ordinality from unnest(array['x', 'y']) with ordinality v order by 2",
            &["x|1", "y|2"],
        ),
        ("select generate_series(1, 2) as g, k from t where k < 2 order by 2, 1", &["1|0", "2|0", "1|1", "2|1"]),
        ("select sum(x) from unnest(array[1, 2, 4]) x", &["7"]),
    ] {
        let rows = run(&session, text).await.unwrap_or_else(|error| panic!("{text}: {error:?}"));
        assert_eq!(rows, expected, "{text}");
    }
}

/// The rows before the join are read twice, and would be others the second time.
#[tokio::test]
async fn random_rows_are_refused() {
    let fixture = fixture(&[("t", &[(Some(2), None)])]);
    let session = fixture.session();
    let text = "select s.n from (select random() as x from t) r,
        lateral (select count(*) as n from t where t.a < r.x) s";
    let error = run(&session, text).await.expect_err("is refused");
    assert_eq!(error.code, "0A000", "{error:?}");
}
