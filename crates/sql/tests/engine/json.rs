//! Documents: parts, what they contain, elements as rows, and documents out of values. The expectations are PostgreSQL's answers.

use crate::harness::{Fixture, run};

fn fixture() -> Fixture {
    let mut fixture = Fixture::new();
    let table = fixture.table("j", "k integer key, d jsonb, t text");
    fixture.write(
        table,
        r#"1|{"a": 1, "b": {"c": "x"}, "f": 1.50, "n": null, "tags": ["red", "blue"]}|one
           2|{"a": 2, "b": {"c": "y", "d": [1, {"e": true}]}, "tags": []}|two
           3|[10, 20, "a"]|three
           4|"text"|\N
           5|\N|{"z": 1}"#,
    );
    fixture
}

#[tokio::test]
async fn documents_are_those_of_postgresql() {
    let fixture = fixture();
    let session = fixture.session();
    let mut wrong = Vec::new();
    for (text, expected) in [
        (
            "select k, d from j order by k",
            &[
                "1|{\"a\": 1, \"b\": {\"c\": \"x\"}, \"f\": 1.50, \"n\": null, \"tags\": [\"red\", \"blue\"]}",
                "2|{\"a\": 2, \"b\": {\"c\": \"y\", \"d\": [1, {\"e\": true}]}, \"tags\": []}",
                "3|[10, 20, \"a\"]",
                "4|\"text\"",
                "5|NULL",
            ][..],
        ),
        (
            "select k, d->'a', d->>'a', d->'b'->>'c' from j where k < 4 order by k",
            &["1|1|1|x", "2|2|2|y", "3|NULL|NULL|NULL"],
        ),
        (
            "select k, d->0, d->>-1, d->5 from j order by k",
            &[
                "1|NULL|NULL|NULL",
                "2|NULL|NULL|NULL",
                "3|10|a|NULL",
                "4|\"text\"|text|NULL",
                "5|NULL|NULL|NULL",
            ],
        ),
        (
            "select d#>'{b,d,1}', d#>>'{b,d,1,e}', d#>array['b','c'] from j where k = 2",
            &["{\"e\": true}|true|\"y\""],
        ),
        (
            "select d->'n' is null, d->>'n' is null from j where k = 1",
            &["false|true"],
        ),
        ("select k from j where d @> '{\"b\":{\"c\":\"x\"}}'", &["1"]),
        ("select k from j where d ? 'a' order by k", &["1", "2", "3"]),
        (
            "select k from j where d ?| array['tags','zz'] and d ?& '{a,f}'",
            &["1"],
        ),
        (
            "select k, jsonb_typeof(d), jsonb_typeof(d->'a') from j order by k",
            &[
                "1|object|number",
                "2|object|number",
                "3|array|NULL",
                "4|string|NULL",
                "5|NULL|NULL",
            ],
        ),
        (
            "select jsonb_array_length(d->'tags') from j where k < 3 order by k",
            &["2", "0"],
        ),
        (
            "select jsonb_set(d, '{b,c}', '[1,2]'), jsonb_set(d, array['x'], to_jsonb(k), false) = d from j where k = 1",
            &[
                "{\"a\": 1, \"b\": {\"c\": [1, 2]}, \"f\": 1.50, \"n\": null, \"tags\": [\"red\", \"blue\"]}|true",
            ],
        ),
        (
            "select jsonb_insert(d, '{1}', '15'), jsonb_insert(d, '{-1}', '\"b\"', true), d #- '{0}' from j where k = 3",
            &["[10, 15, 20, \"a\"]|[10, 20, \"a\", \"b\"]|[20, \"a\"]"],
        ),
        (
            "select jsonb_strip_nulls(d) ? 'n', json_strip_nulls(t::json), jsonb_pretty('[1]'), jsonb_set(d, null, '1')
             from j where k = 5 union all select jsonb_strip_nulls(d) ? 'n', null, null, null from j where k = 1
             order by 1 nulls first",
            &["NULL|{\"z\":1}|[\n    1\n]|NULL", "false|NULL|NULL|NULL"],
        ),
        (
            "select k, d @? '$.tags[*] ? (@ == \"red\")', d @@ '$.a == 1' from j order by k",
            &[
                "1|true|true",
                "2|false|false",
                "3|false|false",
                "4|false|false",
                "5|NULL|NULL",
            ],
        ),
        (
            "select k, x from j, jsonb_path_query(d, '$[*] ? (@ > $low)', '{\"low\": 15}') x where k < 4 order by k",
            &["3|20"],
        ),
        (
            "select jsonb_path_query_array(d, 'strict $.b.*'), jsonb_path_query_first(d, '$.z') is null,
                    jsonb_path_exists(d, 'strict $.z', '{}', true), jsonb_path_match(d, '$.a > 0') from j where k = 1",
            &["[\"x\"]|true|NULL|true"],
        ),
        (
            "select d || '{\"a\": 9, \"zz\": [1]}' from j where k = 2",
            &[
                "{\"a\": 9, \"b\": {\"c\": \"y\", \"d\": [1, {\"e\": true}]}, \"zz\": [1], \"tags\": []}",
            ],
        ),
        (
            "select d - 'tags' - 'b' from j where k = 1",
            &["{\"a\": 1, \"f\": 1.50, \"n\": null}"],
        ),
        (
            "select d - 0, d - array['a'] from j where k = 3",
            &["[20, \"a\"]|[10, 20]"],
        ),
        (
            "select (d->>'a')::int + 1, (d->'a')::int from j where k = 1",
            &["2|1"],
        ),
        ("select sum((d->>'a')::int) from j where k < 3", &["3"]),
        (
            "select k, e from j, jsonb_array_elements(d->'tags') e where k < 3 order by k, e::text",
            &["1|\"blue\"", "1|\"red\""],
        ),
        (
            "select k, e.value, e.value->>0 from j, jsonb_array_elements(d) e where k = 3 order by e.value::text",
            &["3|\"a\"|a", "3|10|10", "3|20|20"],
        ),
        (
            "select k, tag from j cross join lateral jsonb_array_elements_text(d->'tags') as tag where k < 3 order by 1, 2",
            &["1|blue", "1|red"],
        ),
        (
            "select k, tag, o from j, jsonb_array_elements_text(d->'tags') with ordinality as x(tag, o) where k = 1 order by o",
            &["1|red|1", "1|blue|2"],
        ),
        (
            "select key, value from j, jsonb_each(d) where k = 1 order by key",
            &[
                "a|1",
                "b|{\"c\": \"x\"}",
                "f|1.50",
                "n|null",
                "tags|[\"red\", \"blue\"]",
            ],
        ),
        (
            "select key, value from j, jsonb_each_text(d) where k = 1 order by key",
            &[
                "a|1",
                "b|{\"c\": \"x\"}",
                "f|1.50",
                "n|NULL",
                "tags|[\"red\", \"blue\"]",
            ],
        ),
        (
            "select x.key, jsonb_typeof(x.value) from j, jsonb_each(d) as x where k = 2 order by 1",
            &["a|number", "b|object", "tags|array"],
        ),
        (
            "select jsonb_object_keys(d) from j where k = 2 order by 1",
            &["a", "b", "tags"],
        ),
        (
            "select jsonb_array_elements('[1,\"a\",null]')",
            &["1", "\"a\"", "null"],
        ),
        (
            "select jsonb_agg(k order by k desc) from j",
            &["[5, 4, 3, 2, 1]"],
        ),
        (
            "select json_agg(t order by k) from j",
            &["[\"one\", \"two\", \"three\", null, \"{\\\"z\\\": 1}\"]"],
        ),
        (
            "select jsonb_agg(d->'a' order by k) filter (where k < 3) from j",
            &["[1, 2]"],
        ),
        (
            "select jsonb_object_agg(t, k) from j where t is not null and k < 4",
            &["{\"one\": 1, \"two\": 2, \"three\": 3}"],
        ),
        (
            "select json_object_agg(t, k order by k) from j where k < 4",
            &["{ \"one\" : 1, \"two\" : 2, \"three\" : 3 }"],
        ),
        ("select json_agg(k) from j where k > 100", &["NULL"]),
        (
            "select k % 2, jsonb_agg(k order by k) from j group by 1 order by 1",
            &["0|[2, 4]", "1|[1, 3, 5]"],
        ),
        (
            "select json_build_object('k', k, 't', t, 'd', d->'a') from j where k < 3 order by k",
            &[
                "{\"k\" : 1, \"t\" : \"one\", \"d\" : 1}",
                "{\"k\" : 2, \"t\" : \"two\", \"d\" : 2}",
            ],
        ),
        (
            "select jsonb_build_object('zz', 1, 'a', array[1,2], 'x', null, 'ts', timestamp '2024-01-02 03:04:05.5', 'day', date '2024-01-02')",
            &[
                "{\"a\": [1, 2], \"x\": null, \"ts\": \"2024-01-02T03:04:05.5\", \"zz\": 1, \"day\": \"2024-01-02\"}",
            ],
        ),
        (
            "select json_build_array(1, 'a', true, null, 1.50, timestamptz '2024-01-02 03:04:05+00')",
            &["[1, \"a\", true, null, 1.50, \"2024-01-02T03:04:05+00:00\"]"],
        ),
        (
            "select to_json(array['a','b\"c']), to_jsonb(1.50), to_json('x'::text), to_jsonb(true), to_json(null::int)",
            &["[\"a\",\"b\\\"c\"]|1.50|\"x\"|true|NULL"],
        ),
        (
            "select '{\"b\":1,  \"a\":[1,2 ]}'::json, '{\"b\":1,  \"a\":[1,2 ]}'::jsonb",
            &["{\"b\":1,  \"a\":[1,2 ]}|{\"a\": [1, 2], \"b\": 1}"],
        ),
        (
            "select '{\"a\":1e2}'::jsonb->'a', '{\"a\":1.0}'::jsonb = '{\"a\": 1.0}'",
            &["100|true"],
        ),
        ("select ('{\"a\":1,\"a\":2}'::json)->>'a'", &["2"]),
        (
            "select t::jsonb->'z', t::json->>'z' from j where k = 5",
            &["1|1"],
        ),
        (
            "select d->'a' as a, count(*) from j where k < 3 group by d->'a' order by 2, 1",
            &["1|1", "2|1"],
        ),
        (
            "select distinct jsonb_typeof(d) from j order by 1",
            &["array", "object", "string", "NULL"],
        ),
        (
            "select * from jsonb_to_recordset('[{\"a\":1,\"b\":\"x\"},{\"a\":2,\"c\":3}]') as r(a int, b text)",
            &["1|x", "2|NULL"],
        ),
        (
            "select r.* from j, jsonb_to_record(d) as r(a int, b jsonb) where k = 2",
            &["2|{\"c\": \"y\", \"d\": [1, {\"e\": true}]}"],
        ),
        (
            "select * from json_array_elements_text('[\"x\", null, 1]')",
            &["x", "NULL", "1"],
        ),
        (
            "select value from json_array_elements('[{\"q\": 1}, 2]')",
            &["{\"q\": 1}", "2"],
        ),
        (
            "select json_typeof('1'), json_typeof('null'), json_array_length('[1,2]')",
            &["number|null|2"],
        ),
        (
            "select jsonb_extract_path(d, 'b', 'c'), jsonb_extract_path_text(d, 'b', 'c') from j where k = 1",
            &["\"x\"|x"],
        ),
        (
            "select d->'b' = '{\"c\": \"x\"}', d->>'a' = '1', d->'a' = '1' from j where k = 1",
            &["true|true|true"],
        ),
        (
            "select k from j where d->'b'->>'c' like 'x%' or d->>'a' in ('2')",
            &["1", "2"],
        ),
        (
            "select coalesce(d->>'zz', 'none') from j where k = 1",
            &["none"],
        ),
        (
            "select case when d ? 'a' then d->>'a' else t end from j where k < 4 order by k",
            &["1", "2", "NULL"],
        ),
        ("select jsonb_agg(distinct k % 2) from j", &["[0, 1]"]),
        (
            "select k, (select jsonb_agg(e) from jsonb_array_elements(j.d->'tags') e) from j where k < 3 order by k",
            &["1|[\"red\", \"blue\"]", "2|NULL"],
        ),
        ("select string_to_table('a,b', ',')", &["a", "b"]),
        ("select * from string_to_table('a,b', ',') s", &["a", "b"]),
    ] {
        match run(&session, text).await {
            Ok(rows) if rows == expected => {}
            other => wrong.push(format!("{text}: {other:?}, not {expected:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn what_is_no_document_or_has_no_such_parts_is_an_error() {
    let fixture = fixture();
    let session = fixture.session();
    for (text, code) in [
        ("select '{'::jsonb", "22P02"),
        ("select '[1,2'::json", "22P02"),
        ("select t::jsonb from j where k = 1", "22P02"),
        ("select jsonb_array_length(d) from j where k = 1", "22023"),
        ("select jsonb_array_elements(d) from j where k = 1", "22023"),
        ("select jsonb_object_keys(d) from j where k = 3", "22023"),
        ("select json_build_object('a')", "22023"),
        ("select jsonb_build_object(null, 1)", "22023"),
        ("select json_object_agg(null, 1)", "22023"),
        ("select '1'::jsonb - 'a'", "22023"),
        (
            "select jsonb_path_match(d, '$.a') from j where k = 1",
            "22038",
        ),
        ("select jsonb_path_exists(d, '$.') from j", "42601"),
        (
            "select jsonb_path_query(d, 'strict $.z') from j where k = 1",
            "2203A",
        ),
    ] {
        let error = run(&session, text).await.expect_err(text);
        assert_eq!(error.code, code, "{text}: {error:?}");
    }
}
