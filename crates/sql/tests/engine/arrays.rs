//! Columns of arrays: kept as the source's texts, and arrays wherever their elements are asked for.

use crate::harness::{Fixture, run};

fn fixture() -> Fixture {
    let mut fixture = Fixture::new();
    let table = fixture.table("t", "k integer key, tags text[], n integer[]");
    fixture.write(
        table,
        "1|{a,b}|{1,2}
         2|{\"b c\",NULL}|{}
         3|\\N|{3}
         4|{}|{{1,2},{3,4}}",
    );
    fixture
}

#[tokio::test]
async fn elements_of_columns_are_those_of_arrays() {
    let fixture = fixture();
    let session = fixture.session();
    for (text, expected) in [
        (
            "select tags, n from t where k in (2, 4) order by k",
            &["{\"b c\",NULL}|{}", "{}|{{1,2},{3,4}}"][..],
        ),
        (
            "select k, tag from t, unnest(tags) tag order by k, tag",
            &["1|a", "1|b", "2|b c", "2|NULL"],
        ),
        (
            "select k, u.v, u.o from t cross join unnest(t.n) with ordinality as u(v, o) where k < 4 order by 1, 3",
            &["1|1|1", "1|2|2", "3|3|1"],
        ),
        (
            "select unnest(n) + 1 from t where k = 1 order by 1",
            &["2", "3"],
        ),
        ("select k from t where 2 = any(n) and k < 4", &["1"]),
        ("select k from t where 'b c' = any (tags)", &["2"]),
        (
            "select tags[1], n[2], n[3] from t where k = 1",
            &["a|2|NULL"],
        ),
        (
            "select cardinality(tags), array_length(n, 1), array_to_string(n, '+') from t where k = 1",
            &["2|2|1+2"],
        ),
        ("select k from t where tags @> array['a']", &["1"]),
        ("select k from t where tags && '{x,b}'", &["1"]),
        (
            "select k from t where n <@ '{1,2,5}' and k < 4 order by k",
            &["1", "2"],
        ),
        (
            "select count(*) from t where k in (select unnest(n) from t where k = 1)",
            &["2"],
        ),
        (
            "select x.tag, count(*) from t s, unnest(s.tags) x(tag) group by 1 order by 1 nulls first",
            &["NULL|1", "a|1", "b|1", "b c|1"],
        ),
    ] {
        let rows = run(&session, text).await;
        let rows = rows.unwrap_or_else(|error| panic!("{text}: {error:?}"));
        assert_eq!(rows, expected, "{text}");
    }
}

/// The key of a table tells no row of those that its arrays become: each comes as often as it has elements.
#[tokio::test]
async fn rows_that_come_out_of_arrays_have_no_key() {
    let mut fixture = Fixture::new();
    let table = fixture.table("t", "k integer key, tags text[]");
    fixture.write(table, "1|{b,a,c}\n2|{z,y}");
    let session = fixture.session();
    for (text, expected) in [
        (
            "select k, tag from t, unnest(tags) tag order by k, tag",
            &["1|a", "1|b", "1|c", "2|y", "2|z"][..],
        ),
        (
            "select k, unnest(tags) as tag from t order by k, tag desc",
            &["1|c", "1|b", "1|a", "2|z", "2|y"],
        ),
        (
            "select distinct k from (select k, unnest(tags) from t) x order by k",
            &["1", "2"],
        ),
        (
            "select k, count(*), max(tag) from t, unnest(tags) tag group by k order by k",
            &["1|3|c", "2|2|z"],
        ),
        (
            "select k, tag from (select k, array_agg(k - n order by n) as tags from t, generate_series(1, 2) n group by k) s, \
             unnest(s.tags) tag order by k, tag",
            &["1|-1", "1|0", "2|0", "2|1"],
        ),
        (
            "select a.k, tag from t a join (select k, unnest(tags) as tag from t) b on a.k = b.k \
             where a.k = 1 order by a.k, tag",
            &["1|a", "1|b", "1|c"],
        ),
        (
            "select k, (select string_agg(tag, '' order by tag) from unnest(tags) tag) from t order by k",
            &["1|abc", "2|yz"],
        ),
    ] {
        let rows = run(&session, text).await;
        let rows = rows.unwrap_or_else(|error| panic!("{text}: {error:?}"));
        assert_eq!(rows, expected, "{text}");
    }
}

#[tokio::test]
async fn what_has_no_elements_here_is_refused() {
    let fixture = fixture();
    let session = fixture.session();
    for (text, code) in [
        ("select unnest(n) from t where k = 4", "0A000"),
        ("select k[1] from t", "42804"),
        ("select n[1] from (select k::text as n from t) s", "42804"),
    ] {
        let error = run(&session, text).await.expect_err(text);
        assert_eq!(error.code, code, "{text}: {error:?}");
    }
}
