//! Answers are PostgreSQL's.

use crate::harness::{Fixture, row, run, run_with};

fn fixture() -> Fixture {
    let mut fixture = Fixture::new();
    let table = fixture.table(
        "v",
        "a integer key, b bigint, c numeric(15,2), d double, e text, f date, g timestamp, h timestamptz, i char(5), \
         j uuid, k boolean, l smallint",
    );
    fixture.write(
        table,
        "1|9223372036854775807|10.50|1.5|abc|1998-12-01|2020-02-29 12:34:56.789|2020-02-29 12:34:56Z|ab|\
         123e4567-e89b-12d3-a456-426614174000|true|7
         2|9223372036854775807|-3.25|-0.5|Abd|2000-01-31|1999-12-31 23:59:59|1999-12-31 23:59:59Z|b|\
         00000000-0000-0000-0000-000000000000|false|8
         3|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N",
    );
    fixture
}

/// Statements and what PostgreSQL answers (numbers may have more zeros at their ends).
const ANSWERS: &[(&str, &str)] = &[
    (
        "select sum(a), sum(b), sum(c), sum(l) from v",
        "6|18446744073709551614|7.25|15",
    ),
    (
        "select avg(a), avg(c) from v",
        "2.00000000000000000000|3.62500000000000000000",
    ),
    (
        "select avg(b) from v",
        "9223372036854775807.00000000000000000000",
    ),
    (
        "select avg(distinct c), sum(distinct b) from v",
        "3.62500000000000000000|9223372036854775807",
    ),
    (
        "select extract(second from g), extract(epoch from f), extract(week from f) from v where a = 1",
        "56.789000|912470400|49",
    ),
    (
        "select date_part('month', g) + 0.5, extract(dow from g) from v where a = 1",
        "2.5|6",
    ),
    (
        "select interval '1 day' * 2 = interval '48 hours', g - timestamp '2020-02-28' > interval '1 day', \
         age(g, f::timestamp) > interval '20 years' from v where a = 1",
        "true|true|true",
    ),
    (
        "select to_char(g, 'DD Mon YYYY HH24:MI'), to_char(f, 'FMDay') from v where a = 1",
        "29 Feb 2020 12:34|Tuesday",
    ),
    (
        "select round(2.5::float8), sign(-2.5), ceiling(1.2), every(k) from v where a = 1",
        "2.0|-1|2|true",
    ),
    (
        "select k, sum(a), count(distinct l) from v where k group by k",
        "true|1|1",
    ),
    ("select 7 / 2, -7 / 2, 7 % 3", "3|-3|1"),
    ("select 'abc'::varchar(2), cast(12345 as character varying(3)) || 'x', null::varchar(2)", "ab|123x|NULL"),
    (
        "select timestamp '2024-07-01 10:00' at time zone 'UTC' at time zone 'America/New_York'",
        "2024-07-01T06:00:00",
    ),
    (
        "select extract(hour from timestamptz '2024-07-01 10:00+00' at time zone 'Asia/Tokyo'),
                (timestamptz '2024-07-01 20:00+00' at time zone 'Asia/Tokyo')::date",
        "19|2024-07-02",
    ),
    (
        "select date_trunc('day', timestamptz '2024-07-01 02:00+00' at time zone 'America/New_York')
             = '2024-06-30'::timestamp",
        "true",
    ),
    (
        "select timestamptz '2024-07-01 10:00+00' at time zone interval '2 hours' = '2024-07-01 12:00'::timestamp,
                timezone(null, now()) is null",
        "true|true",
    ),
    (
        "select 'abc' similar to '(a|b)%', 'abc' not similar to 'a_', 'a%c' similar to 'a#%c' escape '#',
                'xabc' similar to 'abc', null similar to 'a'",
        "true|true|true|false|NULL",
    ),
    (
        "select 'foo bar' ~ '\\mbar', 'ab' ~ 'a\\M', 'a{' ~ 'a{', E'a\\nb' ~ 'a.b', 'a&' ~ '[a&&b]$', 'a.b' ~ '***=a.b',
                '<' similar to '<', 'a1' similar to 'a\\d', 'ab' ~ null",
        "true|false|true|true|true|true|true|true|NULL",
    ),
    (
        "select 'AB' ~* 'a.', 'AB' !~* 'b', 'ab' !~ 'x', 'AB' ~* '(?c)ab', regexp_like('AB', 'b', 'i'),
                count(*) filter (where e ~ '^a.c$') from v",
        "true|false|true|false|true|1",
    ),
    (
        "select regexp_replace('foobarbaz', 'b(..)', 'X\\1Y', 'g'), regexp_replace('A PostgreSQL function', 'a|e|i|o|u', 'X', 1, 3, 'i'),
                regexp_replace('abc', 'b', '\\&\\\\', 2), regexp_replace('abc', '$', 'x', 5)",
        "fooXarYXazY|A PostgrXSQL function|ab\\c|abc",
    ),
    (
        "with recursive t(n, s, d) as (select 1, null::text, null union all select n + 1, coalesce(s, '') || n, 'a' from t where n < 3)
         select max(n), pg_typeof(max(n)), max(s), count(d) from t",
        "3|integer|12|2",
    ),
    (
        "with recursive t(n) as (select 1.0 union all select n * 1.5 from t where n < 10),
                        u(n) as (select max(n)::float8 from t union select n / 1.5 from u where n > 5)
         select (select max(n) = 11.390625 from t), (select min(n) = 3.375 from u), count(*) from t",
        "true|true|7",
    ),
    (
        "with recursive t as (values (1, array[1]) union all select column1 + 1, column2 || column1 from t where column1 < 3)
         select max(column2), pg_typeof(max(column1)) from t",
        "[1, 1, 2]|integer",
    ),
    (
        "with recursive t(n, path, name) as (select 1, array[1], null union all select v.a, path || v.a, v.e from t join v on v.a = n + 1)
         select max(path), count(name), pg_typeof(max(n)), pg_typeof(max(path)) from t",
        "[1, 2, 3]|1|integer|integer[]",
    ),
    (
        "select string_agg(x::text, ',') from (select x from (values (3), (1), (2), (2)) v (x) order by x desc
             offset 1 fetch first 1 row with ties) q",
        "2,2",
    ),
    (
        "select count(*) from (select a from v order by k nulls last, b is null offset 3 fetch first 0 rows with ties) q",
        "0",
    ),
    (
        "select 5 between symmetric 9 and 1, 5 not between symmetric 1 + 3 and 2, 5 between asymmetric 9 and 1",
        "true|true|false",
    ),
    (
        "select (1, 2) = (select 1, 2), row(1, 3) < (select 1, 2), (1, 2) = any (select 1, 2), (1, 2) <> all (select 1, 3),
                (1, 2) = (select 1, 2 where false), row(1, 2) in (select 1, 3), (1, null) = (select 1, 2)",
        "true|false|true|true|NULL|false|NULL",
    ),
    (
        "select percentile_cont(array[0.25, null, 1]) within group (order by a), percentile_disc(array[1, 0.5]) within group (order by e),
                percentile_disc(array[0.5]) within group (order by c) from v",
        "[1.5, NULL, 3.0]|[abc, Abd]|[-3.25]",
    ),
    (
        "select (select a from v where false), (select a from v where false) is null, (select a from v where a = 2),
                (select 1 where false) is null, (select 'x' from v where a > 9) || 'y', coalesce((select 7 where false), 8)",
        "NULL|true|2|true|NULL|8",
    ),
    (
        "select count(*), min(pg_typeof(x)), max(x) from
             (select generate_series(date_trunc('month', max(g)), max(f) + 7400, interval '1 month') x from v
              union all select generate_series(min(g), timestamp '2000-01-01 01:00', '1 hour') from v where a = 2) q",
        "6|timestamp without time zone|2020-05-01T00:00:00",
    ),
    (
        "select string_agg(concat_ws(':', x, y, g, n), ' ' order by g, x, y) from
             (select a % 2 as x, l + 1 as y, grouping(a % 2, l + 1) as g, count(*) as n from v group by rollup(1, (l + 1, e))) q",
        "0:9:0:1 1:8:0:1 1:0:1 0:1:1 1:1:2 3:3",
    ),
    (
        "select count(*) from (select a, l from v group by cube((a, b), (l))) q",
        "10",
    ),
    (
        "select count(*), sum(g) from (select a from v group by rollup(a, a)) q,
             (select max(g) as g from (select grouping(l + 1 > (select max(a) from v), c::integer) as g from v
                  group by cube(l + 1 > (select max(a) from v), c::integer)) s) r",
        "7|21",
    ),
    (
        "select count(*) from v as e where exists (select 1 from v w where w.a = e.a + 1)",
        "2",
    ),
    (
        "select length('\\xc3a4'::bytea), octet_length('\\xc3a4'::bytea), length('ä'), octet_length('ä'), length(null::bytea),
                1 + '2', '2' * 1.5, 7 / '2', trim(both from ' a ')",
        "2|2|1|2|NULL|3|3.0|3|a",
    ),
    (
        "select (v).e, (v).a + 1 from v where (v).a = 2",
        "Abd|3",
    ),
    (
        "select avg(b - a)::text, sum(b - a)::text, (percentile_cont(0.5) within group (order by b - a))::text,
                (percentile_disc(1) within group (order by b - a))::text,
                extract(epoch from avg(b - a)) / 3600 = 18, avg(a - null::timestamp)
         from (values (timestamp '2024-01-01', timestamp '2024-01-02'), ('2024-01-01', '2024-01-01 12:00'), (null, null)) v (a, b)",
        "18:00:00|1 day 12:00:00|18:00:00|1 day|true|NULL",
    ),
    (
        "select pg_typeof(n), n from (select '2' as n union select 2) x",
        "integer|2",
    ),
    (
        "select max(day) from (select '2024-01-02' as day union select date '2024-01-01') x",
        "2024-01-02",
    ),
    (
        "select array_to_string(array_remove(array[1, 2, 1], 1), ','),
                array_to_string(array_replace(array[1, 2, 1], 1, 3), ',')",
        "2|3,2,3",
    ),
    (
        "select 7.0 / 2, 1 / 3.0, 2.0 / 3",
        "3.50000000000000000000|0.33333333333333333333|0.66666666666666666667",
    ),
    ("select c / 3 from v where a = 1", "3.50000000000000000000"),
    ("select sum(c) / count(*) from v", "2.41666666666666670000"),
    ("select count(*), count(c) from v", "3|2"),
    ("select coalesce(sum(c), 0) from v where a > 99", "0.00"),
    (
        "select sum(c), count(*), avg(c) from v where a > 99",
        "NULL|0|NULL",
    ),
    (
        "select date '1998-12-01' - interval '90 day' < date '1998-09-03'",
        "true",
    ),
    (
        "select extract(year from f), extract(month from f) from v where a = 1",
        "1998|12",
    ),
    (
        "select substring(e from 1 for 2), substring(e from 2) from v where a = 1",
        "ab|bc",
    ),
    (
        "select e like '%b_', e ilike 'AB%', e not like 'x%' from v where a = 2",
        "true|true|true",
    ),
    (
        "select i = 'ab', i = 'ab   ', length(i) from v where a = 1",
        "true|true|2",
    ),
    (
        "select count(*) from v where j = '123E4567-e89b-12d3-a456-426614174000'",
        "1",
    ),
    (
        "select count(*) from v where j = '123e4567-e89b-12d3-a456-426614174000'::uuid",
        "1",
    ),
    ("select a from v where c = (select min(c) from v)", "2"),
    (
        "select case when k then 'yes' else 'no' end from v where a = 1",
        "yes",
    ),
    (
        "select position('b' in e), upper(e), e || '!' from v where a = 1",
        "2|ABC|abc!",
    ),
    (
        "select date '2000-01-31' - date '2000-01-01', date '2000-01-31' + 1",
        "30|2000-02-01",
    ),
    (
        "select ceil(9.9), floor(-9.9), trunc(9.99), ceil(c), floor(c) from v where a = 1",
        "10|-10|9|11|10",
    ),
    ("select sum(d), avg(d) from v", "1.0|0.5"),
    (
        "select nullif(-0.0 * d, 0), nullif(d, 1.5), nullif(d, 2), nullif(d, null) from v where a = 1",
        "NULL|NULL|1.5|1.5",
    ),
    (
        "select nullif(interval '1 month 30 days', interval '2 months') is null,
                nullif(interval '1 day', interval '24 hours') is null, nullif(interval '1 day', interval '23 hours') is null",
        "true|true|false",
    ),
    (
        "select interval '1 day' is distinct from interval '24 hours', g - g is not distinct from interval '00:00',
                interval '1 month' in ('30 days', '2 days'), interval '1 day' between '24 hours' and '25 hours',
                case interval '1 day' when '24 hours' then 1 else 2 end, null is distinct from interval '1 day' from v where a = 1",
        "false|true|true|true|1|true",
    ),
    (
        "select max(x)::text, min(x)::text, string_agg(n::text, ',' order by n) filter (where x > '23:30') from (values
         (1, interval '1 day'), (2, interval '25 hours'), (3, interval '23 hours'), (4, null)) t(n, x)",
        "25:00:00|23:00:00|1,2",
    ),
    (
        "select string_agg(n::text, ',' order by place) from (select n, row_number() over (order by x) as place from (values
         (1, interval '1 day'), (2, interval '25 hours'), (3, interval '23 hours')) t(n, x)) s",
        "3,1,2",
    ),
    (
        "select n from (values (1, interval '1 day'), (2, interval '25 hours'), (3, interval '23 hours')) t(n, x)
         order by x desc limit 1",
        "2",
    ),
    (
        "select -(1 & a), a & -a, -(a | 4), a # -a, - -a, -(a::smallint & 2) from v where a = 3",
        "-1|1|-7|-2|3|-2",
    ),
    (
        "select to_hex(-1), to_hex(255), to_hex(-1::bigint), 'abc' ^@ 'ab', ((array[1,2,3])[:2])::text, ((array[1,2,3])[2:])::text",
        "ffffffff|ff|ffffffffffffffff|true|{1,2}|{2,3}",
    ),
    (
        "select round(coalesce(c / 9, 0), 12), round(greatest(c / 9, 1), 12), round(case when k then c / 9 else 1 end, 12)
         from v where a = 1",
        "1.166666666667|1.166666666667|1.166666666667",
    ),
    (
        "select round(max(x), 12) from (select c / 9 as x from v where a = 1 union all select 1) s",
        "1.166666666667",
    ),
    (
        "select round(coalesce(sum(c) / 9, b), 12), coalesce(div(c, 3), 0.25) from v where a = 1 group by b, c",
        "1.166666666667|3.00000000000000000000",
    ),
    (
        "select ceil(case when k then 3.1::numeric(5,2) else c * 1.001 end) from v where a = 2",
        "-3",
    ),
    (
        "select ceil(case when k then 3::numeric(3,0) else c end) from v where a = 2",
        "-3",
    ),
    (
        "select max(c), max(c::bigint), max(c::integer) over () from v group by c order by 1 limit 1",
        "-3.25|-3|11",
    ),
    ("select count(*) from v where not (e = e) or e = 'abc'", "1"),
    ("select a from v where not (e = e) union all select 7", "7"),
    ("select count(*) from v where e is null or e like 'A%'", "2"),
    (
        "select round(2.5), round(-2.5), round(1.235, 2), trunc(1.999, 1)",
        "3|-3|1.24|1.9",
    ),
    (
        "select abs(-1.5), ceil(1.2), floor(-1.2), mod(7, 3), power(2, 3)",
        "1.5|2|-2|1|8.0",
    ),
    (
        "select 'a' < 'b', null is null, 1 between 0 and 2, 1 in (1, 2)",
        "true|true|true|true",
    ),
    (
        "select greatest(1, 2), least(1, 2), nullif(1, 1)",
        "2|1|NULL",
    ),
    ("select string_agg(e, ',' order by e) from v", "Abd,abc"),
    (
        "select percentile_disc(0.5) within group (order by c), percentile_disc(0.51) within group (order by e desc), \
                percentile_disc(0) within group (order by f), mode() within group (order by b), \
                mode() within group (order by e) from v",
        "-3.25|Abd|1998-12-01|9223372036854775807|Abd",
    ),
    (
        "select percentile_cont(0.25) within group (order by d), percentile_cont(0.25) within group (order by d desc), \
                percentile_cont(0.1) within group (order by c), percentile_cont(0.5) within group (order by a) from v",
        "0.0|1.0|-1.875|2.0",
    ),
    (
        "select percentile_disc(0.5) within group (order by l), mode() within group (order by a desc) from v \
         where k group by k",
        "7|1",
    ),
    (
        "select percentile_disc(null) within group (order by a), percentile_cont(0.5) within group (order by c) \
         from v where a > 2",
        "NULL|NULL",
    ),
    ("select percentile_disc(0.5) within group (order by a) filter (where a > 1) from v", "2"),
    (
        "select string_agg(distinct x, ','), array_agg(distinct x)::text \
         from (values ('c'), ('b'), ('a'), ('b'), (null)) t(x)",
        "a,b,c|{a,b,c,NULL}",
    ),
    (
        "select string_agg(distinct x, ','), string_agg(distinct x, ',' order by x desc) \
         from (values ('c'), ('b'), ('a'), ('b')) t(x)",
        "a,b,c|c,b,a",
    ),
    (
        "select num_nulls(1, null, 'a'), num_nonnulls(1, null), num_nonnulls(b, c), num_nulls(b, null) \
         from v where a > 2",
        "1|1|0|2",
    ),
    (
        "select '{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}'::uuid, 'a0eebc999c0b4ef8bb6d6bb9bd380a11'::uuid, \
                length(gen_random_uuid()::text)",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11|a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11|36",
    ),
    ("select count(distinct k) from v", "2"),
    ("select 0.1 + 0.2, 1e3, 1.5e-3", "0.3|1000|0.0015"),
    (
        "select date_trunc('month', g) from v where a = 1",
        "2020-02-01T00:00:00",
    ),
    (
        "select max(f), min(g) from v",
        "2000-01-31|1999-12-31T23:59:59",
    ),
    ("select bool_and(k), bool_or(k) from v", "false|true"),
    (
        "select current_database(), current_user, current_schema()",
        "hedgerow|ann|public",
    ),
    (
        "select count(*) from v a join v b on a.a = b.a where a.k",
        "1",
    ),
    (
        "select '12'::int + 1, 12::text || 'x', '1.50'::numeric(10,2)",
        "13|12x|1.50",
    ),
    (
        "select 2147483647 + 1::bigint, 2147483648 + 1, 9223372036854775807::numeric + 1",
        "2147483648|2147483649|9223372036854775808",
    ),
    (
        "select count(*) from v where a < 18446744073709551613 and b > -18446744073709551613 \
         and a <> 3000000000 and l < 3000000000",
        "2",
    ),
    (
        "select count(*) from v where a = 18446744073709551613 or a in (1, 18446744073709551613)",
        "1",
    ),
    (
        "select a + 0 > 18446744073709551613, a between -18446744073709551613 and 1 from v where a = 1",
        "false|true",
    ),
    (
        "select timestamp '2020-01-01 00:00' + interval '1 month'",
        "2020-02-01T00:00:00",
    ),
    (
        "select f from v where f >= '1999-01-01' order by f limit 1",
        "2000-01-31",
    ),
    ("select count(*) from v where h > '2000-01-01'", "1"),
    ("select a from v order by c desc nulls last limit 1", "1"),
    ("select a from v order by c desc limit 1", "3"),
    (
        "select sum(a), (select sum(a) from v), (select sum(b) from v) from v",
        "6|6|18446744073709551614",
    ),
    (
        "select k, sum(a), sum(b), sum(l) from v group by k order by 2 limit 1",
        "true|1|9223372036854775807|7",
    ),
    (
        "select sum(a) over (order by a), sum(b) over (order by a), sum(l) over (order by a desc) from v where a = 2",
        "2|9223372036854775807|8",
    ),
    (
        "select 2.5::int, -2.5::int, 7.6::bigint, 2.5::float8::int, 3.5::float8::int, 7.6::real::smallint",
        "3|-3|8|2|4|8",
    ),
    (
        "select 1.5::numeric, 2::numeric, '1.50'::numeric, '7'::int",
        "1.5|2|1.50|7",
    ),
    (
        "select date '1998-12-01' - interval '90 day', date '2020-01-01' + interval '1 hour'",
        "1998-09-02T00:00:00|2020-01-01T01:00:00",
    ),
    (
        "select count(*) from v where f < date '1998-12-01' + interval '1 day'",
        "1",
    ),
    (
        "select timestamptz '2020-01-01 02:00+02' = timestamptz '2020-01-01 00:00Z'",
        "true",
    ),
    (
        "select a, (select e from v x where x.a = v.a) from v where a = 1",
        "1|abc",
    ),
    (
        "select (select x.e from v x where x.a = v.a + 10) is null from v where a = 1",
        "true",
    ),
    (
        "select array(select a from v order by 1 desc), array(select a from v where a > 9)",
        "[3, 2, 1]|[]",
    ),
    (
        "with recursive t(n) as (select 1 union all select n + 1 from t where n < 4) select sum(n) from t",
        "10",
    ),
    (
        "select count(*) from (select 1 as x) s where exists (select 1 from v where v.a = s.x)",
        "1",
    ),
    ("select a from v order by c limit 1", "2"),
    ("select count(*) from (table v) s", "3"),
    ("select a isnull, c isnull from v where b isnull or a = 1 order by a limit 1", "false|false"),
    ("select (null, null) is null, row(1, null) is null, (1, null) is not null, row(1, 2) is not null", "true|false|false|true"),
    ("select 1 as a, 2 as a", "1|2"),
    ("select a from v order by a offset 1 fetch first 1 row only", "2"),
    ("select a > all (select a from v where a < 3) from v where a = 3", "true"),
    ("select count(*) from v where a > all (select a from v where a < 2)", "2"),
    ("select 1 = all (select 1 where false), 1 < any (select 1 where false), 1 < any (select null::int)", "true|false|NULL"),
    ("select 'ab' like any (array['x', 'a%']), 3 <> all ('{1,2}'), 2 > all (array[0, 1]), 'b' = any ('{a,b}'::text[])", "true|true|true|true"),
    ("select coalesce(null::date, '2024-01-02'), greatest(9, '10'), least(2.5, '1.5')", "2024-01-02|10|1.5"),
    ("select (case when a = 2 then '10' else a end) > 9 from v where a = 2", "true"),
    (
        "select timestamptz '2024-01-01 07:00+00'::text, timestamp '2024-01-01 07:00:01.5' || '', 1.0::float8::text, true::text",
        "2024-01-01 07:00:00+00|2024-01-01 07:00:01.5|1|true",
    ),
    (
        "select concat(true, 1e20::float8, date '2024-01-01'), array[1, null]::text, interval '1 day 2 hours' || ''",
        "t1e+202024-01-01|{1,NULL}|1 day 02:00:00",
    ),
    ("select current_schema = current_schema()", "true"),
    ("select true || 'x', 'is ' || (1 > 2)", "truex|is false"),
    (
        "select to_date('05 Dec 2000', 'DD Mon YYYY'), to_date('20240105', 'YYYYMMDD'), to_date('1/2/24', 'MM/DD/YY'), \
         to_date('2024  -  01', 'YYYY-MM'), to_date('12 x 2024', 'MM \"x\" YYYY'), to_date(null, 'YYYY')",
        "2000-12-05|2024-01-05|2024-01-02|2024-01-01|2024-12-01|NULL",
    ),
    (
        "select to_timestamp('2024-01-02 03:04:05.678', 'YYYY-MM-DD HH24:MI:SS.MS')::text, \
         to_timestamp('2024-01-02 12:04 AM', 'YYYY-MM-DD HH:MI AM')::text, \
         to_timestamp('2024-01-02 03:04:05 +02', 'YYYY-MM-DD HH24:MI:SS TZH')::text, to_timestamp(1.5)::text",
        "2024-01-02 03:04:05.678+00|2024-01-02 00:04:00+00|2024-01-02 01:04:05+00|1970-01-01 00:00:01.5+00",
    ),
    (
        "select timestamp '2024-01-01' + '1 day', '1 day' + timestamp '2024-01-02', date '2024-01-02' - '2024-01-01'",
        "2024-01-02T00:00:00|2024-01-03T00:00:00|1",
    ),
    ("select sqrt(16::float8), power(2, 10), ln(1::float8), exp(0::float8)", "4.0|1024.0|0.0|1.0"),
    ("select name || value from v cross join lateral (values ('a', v.a), ('l', v.l::int)) u(name, value) where v.a = 1 order by 1 limit 1", "a1"),
    (
        "select encode('\\x01ff', 'hex'), encode('\\x01ff'::bytea, 'base64'), encode('a\\\\b'::bytea, 'hex')",
        "01ff|Af8=|615c62",
    ),
    (
        "select 'a  '::char(5) = 'a', length('ab  '::char(5)), 'ab'::char, 'ab '::char(4) || '!', 'abc'::char(2)",
        "true|2|a|ab!|ab",
    ),
    (
        "select date_trunc('week', date '2024-01-03') = timestamptz '2024-01-01 00:00:00+00', \
         date_trunc('month', date '2024-01-03')::date, pg_typeof(date_trunc('month', f)) from v where a = 1",
        "true|2024-01-01|timestamp with time zone",
    ),
    (
        "select isfinite(date '2024-01-01'), isfinite('infinity'::timestamp), isfinite(g) from v where a = 1",
        "true|false|true",
    ),
    (
        "select make_interval(days => 2, hours => 3) = interval '2 days 3 hours', make_interval(1, 2) = interval '14 months'",
        "true|true",
    ),
    (
        "select substring('foobar' from 'o(.)b'), substring('foobar' from 'o+'), substring('foobar' from 'z'), \
         substring('foobar' from 2 for 3)",
        "o|oo|NULL|oob",
    ),
    (
        "select div(7, 2), div(-7.5, 2), mod(7, 3), e collate \"C\" < 'a' collate \"C\" from v where a = 2",
        "3|-3|1|true",
    ),
    (
        "select pg_typeof(a), pg_typeof(c), pg_typeof(h), pg_typeof(array[a]), pg_typeof(j), pg_typeof(e) from v where a = 1",
        "integer|numeric|timestamp with time zone|integer[]|uuid|text",
    ),
    (
        "select date_trunc('day', timestamptz '2024-06-01 23:30:00+00', 'Europe/Berlin') = timestamptz '2024-06-01 22:00:00+00'",
        "true",
    ),
    (
        "select to_char(1234567.891, 'FM9,999,999.00'), to_char(-0.5, '0.00'), to_char(42, '000'), to_char(0.5::float8, '9.99'), \
         to_char(l, 'FM99%'), to_char(null::int, '9'), to_char(1.5::real, '99.99') from v where a = 1",
        "1,234,567.89|-0.50| 042|  .50|7%|NULL|  1.50",
    ),
];

#[tokio::test]
async fn answers_are_those_of_postgresql() {
    let fixture = fixture();
    let session = fixture.session();
    let mut wrong = Vec::new();
    for (text, expected) in ANSWERS {
        match run(&session, text).await {
            Ok(rows) if rows == [*expected] => {}
            other => wrong.push(format!("{text}\n  expected {expected}\n  got {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Subqueries in the place of values, and what they are for each row.
const SUBQUERIES: &[(&str, &[&str])] = &[
    (
        "select a, exists (select 1 from v w where w.a = v.a + 1) from v order by a",
        &["1|true", "2|true", "3|false"],
    ),
    (
        "select a, not exists (select w.l from v w where w.l = v.l order by w.a) from v order by a",
        &["1|false", "2|false", "3|true"],
    ),
    (
        "select exists (select 1 from v where a > 9), exists (select 1 from v), not exists (select 1 from v limit 0)",
        &["false|true|true"],
    ),
    (
        "select a in (select a from v where a < 2), a not in (select a + 1 from v), l in (select l from v), \
         l in (select l from v where a = 1), l in (select l from v where a > 9) from v order by a",
        &[
            "true|true|true|true|false",
            "false|false|true|false|false",
            "false|false|NULL|NULL|false",
        ],
    ),
    (
        "select 1 in (select l from v), 1 not in (select l from v), 7 not in (select l from v)",
        &["NULL|NULL|false"],
    ),
    (
        "select a, 2 in (select w.a from v w where w.b = v.b) from v order by a",
        &["1|true", "2|true", "3|false"],
    ),
    (
        "select a, a in (select w.l - 6 from v w order by w.a), exists (select 1 from v where a = 2) from v order by 1",
        &["1|true|true", "2|true|true", "3|NULL|true"],
    ),
    (
        "select sum(case when a in (select a from v where k) then 1 else 10 end) from v",
        &["21"],
    ),
    (
        "select sum((select count(*) from v w where w.a = v.a and w.k)), \
         sum((select w.l from v w where w.a = v.a)) from v",
        &["1|15"],
    ),
    (
        "select count(*) from v where case when a = 3 then exists (select 1 from v where k) else l in (select 8) end",
        &["2"],
    ),
    (
        "select a, (select w.a from v w where w.b = v.b order by w.a desc limit 1) from v order by a",
        &["1|2", "2|2", "3|NULL"],
    ),
    (
        "select a, (select w.c * 2 from v w where w.b = v.b order by w.a limit 1) from v order by a",
        &["1|21.00", "2|21.00", "3|NULL"],
    ),
    (
        "select a, (select w.b is null from v w where w.a = v.a limit 1) from v order by a",
        &["1|false", "2|false", "3|true"],
    ),
    // Both are named v, and the inner one depends on u.
    (
        "select v.a in (select v.a from v where v.b = u.b) from v join v u on u.a = v.a + 1 order by v.a",
        &["true", "false"],
    ),
];

#[tokio::test]
async fn subqueries_are_values() {
    let fixture = fixture();
    let session = fixture.session();
    let mut wrong = Vec::new();
    for (text, expected) in SUBQUERIES {
        match run(&session, text).await {
            Ok(rows) if rows == *expected => {}
            other => wrong.push(format!("{text}\n  expected {expected:?}\n  got {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn key_bounds_give_the_same_rows_as_no_bounds() {
    let mut fixture = Fixture::new();
    let table = fixture.table("k", "a integer key, b text key, c date key, n integer");
    let texts = ["", "a", "ab", "b"].into_iter().cycle();
    let lines: String = (0..400)
        .zip(texts)
        .map(|(n, text)| format!("{}|{text}|2020-01-{:02}|{n}\n", n % 7 - 3, n % 28 + 1))
        .collect();
    fixture.write(table, &lines);
    let session = fixture.session();
    let filters = [
        "a = 2",
        "a = 2 and b = 'a'",
        "a = 2 and b > 'a'",
        "a = 2 and b >= 'a' and b < 'b'",
        "a = -3 and b = 'ab' and c between '2020-01-05' and '2020-01-20'",
        "a > 1",
        "a >= 1 and a <= 1",
        "a < -1",
        "a in (1, 3)",
        "a = 1 and a = 2",
        "b = 'a'",
        "a = 3 and c < '2020-01-10'",
        "3 = a and 'b' > b",
        "a = 2 or a = 1",
        "a = 18446744073709551613",
        "a < 18446744073709551613",
        "a >= -3000000000 and a < 3000000000",
        "a in (1, 3000000000)",
        "a > 0.5 and a < 2.5",
        "a = 3 and c < date '2019-12-10' + interval '1 month'",
    ];
    for filter in filters {
        let narrowed = row(
            &session,
            &format!("select count(*), sum(n) from k where {filter}"),
        )
        .await;
        // Adding zero hides the column from the bounds.
        let hidden = filter
            .replace("a ", "a + 0 ")
            .replace("= a", "= a + 0")
            .replace("b ", "b || '' ");
        let all = row(
            &session,
            &format!("select count(*), sum(n) from k where {hidden}"),
        )
        .await;
        assert_eq!(narrowed, all, "{filter}");
    }
}

/// The types of results, as PostgreSQL names them.
const TYPES: &[(&str, &str)] = &[
    (
        "select 1, 2147483648, 9223372036854775808",
        "int4|int8|numeric",
    ),
    (
        "select sum(a), sum(b), sum(l), sum(c), sum(d) from v",
        "int8|numeric|int8|numeric|float8",
    ),
    (
        "select (select sum(a) from v), (select sum(b) from v)",
        "int8|numeric",
    ),
    (
        "select k, sum(a), sum(l), sum(b) from v group by k",
        "bool|int8|int8|numeric",
    ),
    (
        "select sum(a) over (order by a), sum(b) over (partition by k), sum(l) over () from v",
        "int8|numeric|int8",
    ),
    (
        "select sum(s), sum(t) from (select sum(a) as s, sum(l) as t from v group by k) x",
        "numeric|numeric",
    ),
    ("select sum(case when k then 1 else 0 end) from v", "int8"),
    (
        "select a + 1, l + 1, b + 1, a + b, a * 2, l - l from v where a = 3",
        "int4|int4|int8|int8|int4|int2",
    ),
    (
        "select f - f, f + 1, f + interval '1 day' from v",
        "int4|date|timestamp",
    ),
    ("select count(*), max(a), min(l) from v", "int8|int4|int2"),
    (
        "select percentile_disc(0.5) within group (order by c), percentile_cont(0.5) within group (order by a), \
                mode() within group (order by l), num_nulls(1) from v",
        "numeric|float8|int2|int4",
    ),
    ("select x + 1 from (values (1), (2)) as t(x)", "int4"),
    ("select 1 union all select 3000000000", "int8"),
    (
        "select coalesce(null, 1), nullif(1, 2), case when true then 1 end",
        "int4|int4|int4",
    ),
    (
        "select 7 / 2, 7 % 2, mod(7, 2), 7.0 / 2",
        "int4|int4|int4|numeric",
    ),
];

#[tokio::test]
async fn types_are_those_of_postgresql() {
    let fixture = fixture();
    let session = fixture.session();
    let mut wrong = Vec::new();
    for (text, expected) in TYPES {
        let statement = sql::parse(text).expect("parses").remove(0);
        let told = session.describe(&statement, &[]).await;
        let schema = told.unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let schema = schema.schema.expect("gives rows");
        let names: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| match sql::pg_type::field_oid(field) {
                16 => "bool",
                20 => "int8",
                21 => "int2",
                23 => "int4",
                701 => "float8",
                1082 => "date",
                1114 => "timestamp",
                1700 => "numeric",
                _ => "?",
            })
            .collect();
        if names.join("|") != *expected {
            wrong.push(format!("{text}\n  expected {expected}\n  got {names:?}"));
        }
        if let Err(error) = run(&session, text).await {
            wrong.push(format!("{text}\n  {error:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Statements that PostgreSQL refuses, and the codes of its errors.
const ERRORS: &[(&str, &str)] = &[
    ("select 2147483647 + 1", "22003"),
    ("select now() at time zone 'nowhere'", "22023"),
    ("select now() at time zone interval '1 day'", "22023"),
    ("select a from v limit -1", "2201W"),
    ("select a from v offset -1", "2201X"),
    ("select 'a' similar to 'a' escape 'ab'", "22025"),
    ("select 'a' ~ '(a'", "2201B"),
    ("select 'a' ~ '(?=a)'", "0A000"),
    ("select regexp_like('a', 'a', 'g')", "22023"),
    ("select regexp_replace('a', 'a', 'b', 0)", "22023"),
    ("select regexp_replace('a', 'a')", "42883"),
    ("select 'a' union select 1", "22P02"),
    ("select a from v fetch first 2 rows with ties", "42601"),
    ("select (1, 2) = (select a, l from v)", "21000"),
    (
        "with recursive t(n) as (select 1 union all select n * 1.5 from t where n < 9) select n from t",
        "42804",
    ),
    (
        "with recursive t(n) as (select 1 union all select n || '' from t where n < 9) select n from t",
        "42804",
    ),
    (
        "with recursive t(n) as (select 2000000000 union all select n + 1000000000 from t where n < 3000000000) select n from t",
        "22003",
    ),
    ("select 'a'::text union all select 1", "42804"),
    ("select true union select 1", "42804"),
    ("select a + 2147483647 from v", "22003"),
    ("select b + 1 from v", "22003"),
    ("select l * 32767::smallint from v", "22003"),
    ("select 1 from v where a = '18446744073709551613'", "22003"),
    ("select 3000000000::integer", "22003"),
    ("select 1 from v where a = 'x'", "22P02"),
    ("select date 'x'", "22007"),
    ("select '2024-02-30'::date", "22008"),
    ("select '25:00'::time", "22008"),
    ("select now() - '1 hour'", "22007"),
    ("select to_date('2024-02-30', 'YYYY-MM-DD')", "22008"),
    ("select to_date('abc', 'YYYY-MM-DD')", "22007"),
    ("select to_timestamp('13', 'HH12')", "22007"),
    ("select exp(1000::float8)", "22003"),
    ("select ln(0)", "2201E"),
    ("select log(-1)", "2201E"),
    ("select sqrt(-1)", "2201F"),
    ("select power(-1, 0.5)", "2201F"),
    ("select power(0, -1)", "2201F"),
    ("select sum(e) from v", "42883"),
    (
        "select percentile_disc(1.5) within group (order by a) from v",
        "22003",
    ),
    (
        "select percentile_cont(0.5) within group (order by e) from v",
        "42883",
    ),
    ("select 'abc'::uuid", "22P02"),
    ("select ' a0eebc999c0b4ef8bb6d6bb9bd380a11'::uuid", "22P02"),
    ("select 'a0eeb-c999c0b4ef8bb6d6bb9bd380a11'::uuid", "22P02"),
    (
        "select (select x.a from v x where x.b = v.b) from v",
        "21000",
    ),
];

#[tokio::test]
async fn errors_are_those_of_postgresql() {
    let fixture = fixture();
    let session = fixture.session();
    let mut wrong = Vec::new();
    for (text, expected) in ERRORS {
        match run(&session, text).await {
            Err(error) if error.code == *expected => {}
            other => wrong.push(format!("{text}\n  expected {expected}\n  got {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn arithmetic_with_parameters_has_their_types() {
    let fixture = fixture();
    let session = fixture.session();
    let integer = || vec![sql::ScalarValue::Int32(Some(i32::MAX))];
    let bigint = || vec![sql::ScalarValue::Int64(Some(i64::from(i32::MAX)))];
    let text = "select $1 + 1";
    let error = run_with(&session, text, integer()).await;
    assert_eq!(error.expect_err("is too large").code, "22003");
    let sum = run_with(&session, text, bigint()).await;
    assert_eq!(sum.expect("fits"), ["2147483648"]);
    let largest = vec![sql::ScalarValue::Int64(Some(i64::MAX))];
    let error = run_with(&session, text, largest).await;
    assert_eq!(error.expect_err("is too large").code, "22003");
    let found = run_with(&session, "select a from v where a + $1 = 1 + $1", bigint()).await;
    assert_eq!(found.expect("runs"), ["1"]);
}
