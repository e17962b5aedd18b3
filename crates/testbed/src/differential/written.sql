-- Queries that people write, one a paragraph, asked of PostgreSQL and of Hedgerow. The tables are those of `data`.

-- Documents: parts.
select k, d from j order by k;
select k, d->'a', d->>'a', d->'b'->>'c' from j where k < 4 order by k;
select k, d->0, d->>-1, d->5 from j order by k;
select d#>'{b,d,1}', d#>>'{b,d,1,e}', d#>array['b','c'] from j where k = 2;
select d->'n' is null, d->>'n' is null from j where k = 1;
select jsonb_extract_path(d, 'b', 'c'), jsonb_extract_path_text(d, 'b', 'c') from j where k = 1;
select d['a'], d['tags'][0], d['b']['c'] from j where k < 3 order by k;
select (d->>'a')::int + 1, (d->'a')::int, (d->>'f')::numeric, (d->'a')::bigint from j where k = 1;
select sum((d->>'a')::int), max(d->>'a') from j where k < 3;
select coalesce(d->>'zz', 'none') from j where k = 1;
select case when d ? 'a' then d->>'a' else t end from j where k < 4 order by k;
select '{"b":1,  "a":[1,2 ]}'::json, '{"b":1,  "a":[1,2 ]}'::jsonb;
select '{"a":1e2}'::jsonb->'a', '{"a":1.0}'::jsonb = '{"a": 1.0}';
select ('{"a":1,"a":2}'::json)->>'a';
select t::jsonb->'z', t::json->>'z' from j where k = 5;
select d->'a' as a, count(*) from j where k < 3 group by d->'a' order by 2, 1;
select count(distinct d->>'a') from j;

-- Documents: what they are and contain.
select k, jsonb_typeof(d), jsonb_typeof(d->'a') from j order by k;
select distinct jsonb_typeof(d) from j order by 1;
select json_typeof('1'), json_typeof('null'), json_array_length('[1,2]');
select jsonb_array_length(d->'tags') from j where k < 3 order by k;
select k from j where d @> '{"b":{"c":"x"}}';
select k from j where d @> '[20]' order by k;
select k from j where '{"a": 2, "x": 1, "b": 3, "tags": 4}' @> d;
select k from j where d <@ '[10, 20, "a", "b"]';
select k from j where d ? 'a' order by k;
select k from j where d ?| array['tags','zz'] and d ?& '{a,f}';
select d->'b' = '{"c": "x"}', d->>'a' = '1', d->'a' = '1' from j where k = 1;
select k from j where d->'b'->>'c' like 'x%' or d->>'a' in ('2') order by k;

-- Documents: others.
select d || '{"a": 9, "zz": [1]}' from j where k = 2;
select d - 'tags' - 'b' from j where k = 1;
select d - 0, d - array['a'], d - -1 from j where k = 3;
select d || d from j where k > 2 order by k;

-- Documents: rows.
select k, e from j, jsonb_array_elements(d->'tags') e where k < 3 order by k, e::text;
select k, e.value, e.value->>0 from j, jsonb_array_elements(d) e where k = 3 order by e.value::text;
select k, tag from j cross join lateral jsonb_array_elements_text(d->'tags') as tag where k < 3 order by 1, 2;
select k, tag, o from j, jsonb_array_elements_text(d->'tags') with ordinality as x(tag, o) where k = 1 order by o;
select k, tag from j left join lateral jsonb_array_elements_text(d->'tags') as tag on true where k < 3 order by 1, 2;
select key, value from j, jsonb_each(d) where k = 1 order by key;
select key, value from j, jsonb_each_text(d) where k = 1 order by key;
select x.key, jsonb_typeof(x.value) from j, jsonb_each(d) as x where k = 2 order by 1;
select jsonb_object_keys(d) from j where k = 2 order by 1;
select jsonb_array_elements('[1,"a",null]');
select * from json_array_elements_text('["x", null, 1]');
select value from json_array_elements('[{"q": 1}, 2]');
select e->>'q' from json_array_elements('[{"q": 1}, {"q": 2}]') e;
select * from jsonb_to_recordset('[{"a":1,"b":"x"},{"a":2,"c":3}]') as r(a int, b text);
select r.* from j, jsonb_to_record(d) as r(a int, b jsonb) where k = 2;
select k, (select jsonb_agg(e) from jsonb_array_elements(j.d->'tags') e) from j where k < 3 order by k;
select k from j where exists (select 1 from jsonb_array_elements_text(d->'tags') x where x = 'red');
select string_to_table('a,b', ',');
select * from string_to_table('a,b', ',') s;

-- Documents: out of values.
select jsonb_agg(k order by k desc) from j;
select json_agg(t order by k) from j;
select jsonb_agg(d->'a' order by k) filter (where k < 3) from j;
select jsonb_object_agg(t, k) from j where t is not null and k < 4;
select json_object_agg(t, k order by k) from j where k < 4;
select json_agg(k) from j where k > 100;
select k % 2, jsonb_agg(k order by k) from j group by 1 order by 1;
select jsonb_agg(distinct k % 2) from j;
select json_build_object('k', k, 't', t, 'd', d->'a') from j where k < 3 order by k;
select jsonb_build_object('zz', 1, 'a', array[1,2], 'x', null, 'ts', timestamp '2024-01-02 03:04:05.5', 'day', date '2024-01-02');
select json_build_array(1, 'a', true, null, 1.50, timestamptz '2024-01-02 03:04:05+00');
select to_json(array['a','b"c']), to_jsonb(1.50), to_json('x'::text), to_jsonb(true), to_json(null::int);
select i4, to_json(n), to_json(d), to_jsonb(day), to_json(at), to_json(z), to_json(b), to_json(s) from t order by id;
select t_id, jsonb_build_object('n', count(*), 'sum', sum(k)) from o group by t_id order by t_id nulls first;

-- Documents: errors.
select '{'::jsonb;
select '[1,2'::json;
select t::jsonb from j where k = 1;
select jsonb_array_length(d) from j where k = 1;
select jsonb_array_elements(d) from j where k = 1;
select jsonb_object_keys(d) from j where k = 3;
select json_build_object('a');
select jsonb_build_object(null, 1);
select json_object_agg(null, 1);
select '1'::jsonb - 'a';

-- Numbers as texts.
select to_char(n, 'FM999,990.00'), to_char(i4, '0000'), to_char(d, 'S99.9'), to_char(i2, '999PR'), to_char(r, '9.999') from t order by id;
select to_char(1234567.891, 'FM9,999,999.00'), to_char(-0.5, '0.00'), to_char(42, '000'), to_char(0.5::float8, '9.99');
select to_char(1e10::float8, '9999999999999.99999999'), to_char(1.5::real, '99.99'), to_char('NaN'::float8, '99'), to_char(12345, '999');
select to_char(n, '9G999D99'), to_char(i8, '999,999MI'), to_char(i8, 'SG99999'), to_char(i4, '999th') from t order by id;

-- Times.
select date_trunc('week', day), date_trunc('month', at), date_trunc('hour', z) from t order by id;
select date_trunc('month', day)::date as m, count(*), sum(i4) from t group by 1 order by 1;
select isfinite(day), isfinite(at), isfinite('infinity'::timestamp) from t where id < 20 order by id;
select make_interval(days => 2, hours => 3), make_interval(1, 2), at + make_interval(mins => i4) from t where i4 > 0 order by id;
select date_trunc('day', z, 'Europe/Berlin') from t order by id;
select age(at, z::timestamp), age(day, date '2000-02-29') from t order by id;
select extract(year from day), extract(dow from at), extract(epoch from z), extract(isodow from day) from t order by id;
select day + 1, day - interval '1 month', at - at, at + interval '1 year 2 days' from t order by id;
select z at time zone 'America/New_York', at at time zone 'Europe/Berlin' from t order by id;
select day::timestamptz, at::date, z::time, at::time from t order by id;
select generate_series(date '2020-01-01', date '2020-01-05', interval '2 days');
select g::date, count(t.id) from generate_series(timestamp '2020-01-01', '2020-01-10', '1 day') g left join t on t.day = g group by g order by g;
select to_char(at, 'YYYY-MM-DD HH24:MI:SS.US'), to_char(day, 'FMMonth DDth'), to_char(z, 'IYYY-IW') from t order by id;
select to_date('05 Dec 2000', 'DD Mon YYYY'), to_timestamp('2000-12-05 10:20', 'YYYY-MM-DD HH24:MI');
select at between '2020-03-01' and '2020-04-01', day in ('2020-01-01', '2020-01-06') from t order by id;

-- Texts.
select '\x01ff'::bytea, encode('\x01ff', 'hex'), encode('\x01ff'::bytea, 'base64'), 'a\\b'::bytea;
select 'a  '::char(5) = 'a', length('ab  '::char(5)), 'ab'::char, 'ab '::char(4) || '!';
select 'abc'::char(2), 'abcdef'::varchar(3), 'abc'::varchar;
select c, c = 'c1', c || '!', length(c), c::text || '.' from t order by id;
select substring('foobar' from 'o(.)b'), substring('foobar' from 'o+'), substring('foobar' from 'z'), substring('foobar' from 2 for 3);
select s, upper(s), initcap(s), left(s, 2), right(s, -1), lpad(s, 8, '*'), reverse(s), strpos(s, 'c') from t order by id;
select split_part('a,b,c', ',', 2), split_part('a,b,c', ',', -1), replace('abab', 'a', 'x'), translate('12345', '143', 'ax'), repeat('ab', 3);
select s like '%c%', s ilike 'A%', s ~ '^[a-c]', s !~* 'X' from t order by id;
select trim(both 'x' from 'xxaxx'), ltrim('  a'), rtrim('a  '), btrim('xyaxy', 'xy');
select concat(s, '-', i4, null, b), concat_ws('/', s, v, c), s || i4 from t order by id;
select ascii('a'), chr(228), md5('a'), length('äöü'), octet_length('äöü'), bit_length('a');
select format('%s-%s', 'a', 1), quote_ident('a b'), quote_literal('it''s'), quote_nullable(null);
select string_agg(s, ',' order by id) from t where id < 12;
select v, count(*) from t group by v order by v collate "C" nulls first;
select regexp_replace('foobar', 'o', '0', 'g'), regexp_replace('foobar', '(o)(b)', '\2\1'), starts_with('abc', 'ab');
select overlay('abcdef' placing 'XX' from 2 for 3), position('c' in 'abc'), to_hex(255);

-- Numbers.
select div(7, 2), div(-7.5, 2), mod(7, 3), 7 % -3, -7 / 2, 7.0 / 2, 2 ^ 10;
select round(n), round(n, 1), trunc(n, 1), ceil(n), floor(d), abs(i4), sign(n) from t order by id;
select n::int, d::int, r::bigint, i4::smallint, b::int, n::text, d::text, i8::numeric from t order by id;
select greatest(i2, i4, i8), least(n, 1.5), nullif(i2, 7), coalesce(i4, -1) from t order by id;
select sqrt(2.0::float8), cbrt(27.0::float8), power(2::float8, 0.5);
select 5 & 3, 5 | 3, 5 # 3, ~5, 1 << 4, 256 >> 2;
select pg_typeof(1)::text, pg_typeof(1.5)::text, pg_typeof(now())::text, pg_typeof(array[1])::text, pg_typeof('{}'::jsonb)::text, pg_typeof('a'::text)::text;
select 1/0;
select i4 / (i4 - i4) from t where i4 is not null;
select 'abc'::int;
select 99999999999::int;
select random() < 2, pi(), degrees(pi()), exp(1.0::float8), ln(10.0::float8), log(100.0::float8);

-- Aggregates and groups.
select b, count(*), count(i4), sum(n), avg(i4), min(s), max(day), bool_and(i2 > 0), every(id > 0) from t group by b order by b nulls first;
select i4 % 3 as m, count(*) filter (where b), sum(i8) filter (where d > 0) from t group by m order by m nulls first;
select b, v, grouping(b, v), count(*) from t group by rollup (b, v) order by 1, 2, 3, 4;
select b, v, count(*) from t group by grouping sets ((b), (v), ()) order by 1, 2, 3;
select b, v, count(*) from t group by cube (b, v) order by 1, 2, 3;
select percentile_cont(0.5) within group (order by d), percentile_disc(0.9) within group (order by i4), mode() within group (order by v) from t;
select stddev(d), variance(r), var_pop(d), corr(d, r), covar_pop(d, r), regr_slope(d, r) from t;
select count(distinct v), count(distinct (b)), sum(distinct i2), array_agg(distinct b order by b) from t;
select array_agg(id order by id desc), string_agg(distinct v, '|') from t where id < 20;
select count(*) from t having count(*) > 10;
select max(id) from t having max(id) > 1000;
select bit_and(i2), bit_or(i4), bool_or(b) from t;
select t_id, sum(amount) from o group by t_id having sum(amount) > 900 order by 2 desc, 1 limit 5;

-- Windows.
select id, row_number() over (order by id), rank() over (order by b), dense_rank() over (order by v nulls first), ntile(4) over (order by id) from t order by id;
select id, sum(i4) over (partition by b order by id), avg(n) over (order by id rows between 2 preceding and current row) from t order by id;
select id, lag(i4) over (order by id), lead(s, 2, 'none') over (order by id), first_value(d) over (partition by b order by id) from t order by id;
select id, last_value(id) over (partition by v order by id rows between unbounded preceding and unbounded following), nth_value(id, 2) over (order by id) from t order by id;
select id, percent_rank() over (order by id), cume_dist() over (order by i2 nulls first) from t order by id;
select id, count(*) over w, sum(id) over w from t window w as (partition by b order by id) order by id;
select v, sum(sum(i4)) over (order by v) from t group by v order by v;
select id, sum(id) over (order by day range between interval '30 days' preceding and current row) from t where day is not null order by id;
select * from (select id, row_number() over (partition by v order by id) as n from t) x where n <= 2 order by id;

-- Joins, subqueries, sets.
select t.id, o.amount from t join o on o.t_id = t.id where o.due > '2020-02-01' order by 1, 2;
select t.id, count(o.k) from t left join o on o.t_id = t.id and o.amount > 500 group by t.id order by t.id;
select count(*) from t full join o on o.t_id = t.id;
select a.id, b.id from t a, t b where a.i4 = b.i4 and a.id < b.id order by 1, 2;
select id from t where i4 > (select avg(i4) from t) order by id;
select id from t where exists (select 1 from o where o.t_id = t.id and o.line = 2) order by id;
select id from t where id not in (select t_id from o where t_id is not null) order by id;
select id, (select max(amount) from o where o.t_id = t.id) from t order by id;
select t.id, x.amount from t cross join lateral (select amount from o where o.t_id = t.id order by amount desc nulls last limit 1) x order by t.id;
select id from t where i4 > all (select i2 from t where i2 is not null) order by id;
select id from t where v = any (array['v1', 'v2']) order by id;
with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) select sum(n)::int from r;
with a as (select v, sum(i4) as s from t group by v), b as (select max(s) as m from a) select v from a, b where s = m;
select v::text from t union select what from o order by 1 nulls first limit 10;
select id from t except select t_id from o order by 1 limit 10;
select id from t intersect select t_id from o order by 1 limit 10;
select distinct on (b) b, id from t order by b, id desc;
select * from (values (1, 'a'), (2, 'b')) x(n, s) where n in (select 2);
select id from t order by i4 desc nulls last, id limit 5 offset 3;
select id from t where (i2, i4) > (10, 20) order by id;
select id from t where (b, v) in (select b, v from t where id = 3) order by id;
select x::int, y::int from generate_series(1, 3) x, generate_series(x, 3) y order by 1, 2;
select unnest(array[1, 2]) as a, unnest(array['x', 'y', 'z']) as b;
select array_length(array[1,2,3], 1), array[1,2] || 3, array_position(array['a','b'], 'b'), (array[1,2,3])[2:3], cardinality(array[1,2]);
select id, case v when 'v1' then 'one' when 'v2' then 'two' end, case when i4 > 0 then i4 else n end from t order by id;
select s is distinct from 'abc', b is not true, (i2 is null) = (i4 is null) from t order by id;
select count(*) from t where not (i4 > 0 and b) or s is null;
select no_such_column from t;
select * from no_such_table;
select no_such_function(1);
select sum(s) from t;
select s + 1 from t;
select id from t group by v;

-- Joins by columns of the same name.
select * from t left join e using (id) order by id limit 5;
select id, t.id, e.id from t left join e using (id) order by 1 limit 5;
select * from (select id, i4 from t where id < 4) a right join (select 500 as id, 's' as s) b using (id);
select * from (select 1 as id, 4 as i4) a full join (select 500 as id, 's' as s) b using (id) order by id;
select count(id), sum(id) from (select 1 as id, 4 as i4) a right join (select 500 as id, 's' as s) b using (id);
select id from (select 1 as id, 4 as i4) b left join (select 500 as id, 's' as s) a using (id) where id = 1;
select b.*, id from (select 1 as id, 4 as i4) b left join (select 500 as id, 's' as s) a using (id);
select * from (select 1 as x, 2 as id) b natural join (select 3 as y, 2 as id) a;
select * from (select 1 as x, 2 as id) b natural left join (select 3 as y) a;
select * from (select 1 as x, 2 as id) b join (select 3 as y, 2 as id) a using (id) join (select 2 as id, 9 as q) c using (id);
with c as (select id, i4 from t where id < 5), d as (select id, s from c join e using (id)) select * from c full join d using (id) order by 1;
select id, count(*) from t full join (select t_id as id, k from o) x using (id) group by id order by id nulls first limit 20;
select id from t where exists (select 1 from o join (select 1::bigint as k) x using (k) where o.t_id = t.id) order by id;
select * from t join o using (nope);
select * from (select 1 as id) a join (select 1 as id) b on true join (select 1 as id) c using (id);

-- Rows as values.
select row_to_json(x) from (select k, t, d->'a' as a from j) x order by k;
select row_to_json(j) from j where k = 1;
select json_agg(x order by k) from (select k, t from j) x;
select coalesce(json_agg(x), '[]') from (select k, t from j where k > 300) x;
select to_jsonb(x) from (select k as kk, t as a, 1.50 as n from j where k < 3) x order by kk;
select jsonb_agg(x.* order by x.k) from (select k, t from j where k < 3) x;
select json_build_object('row', x) from (select 1 as a, array[1,2] as b, date '2020-01-02' as c) x;
select x from (select 1 as a, 'x y' as b, null as c, '' as d) x;
select t.id, row_to_json(e), to_json(e.*) from t left join e on e.id = t.id where t.id < 4 order by t.id;
select count(e), count(*) from t left join e on e.id = t.id;
select row(1, 'a', null), row_to_json(row(1, 'foo'));
select array_to_json(array_agg(x order by x.k)) from (select k, t from j) x;
select json_agg(array[k, 1] order by k) from j;
select what, json_agg(o order by k, line) from o where k < 4 group by what order by what nulls first;
select (select json_agg(y) from (select k from j order by k) y);

-- Other words for the same.
select |/ 25.0, @ -5, @ i4 from t order by id;
select date(at), date(z), date '2020-01-02' from t order by id;
select make_timestamp(2013, 7, 15, 8, 15, 23.5), make_timestamptz(2013, 7, 15, 8, 15, 23.5, 'UTC');
select 'today'::date = current_date, date 'yesterday' = current_date - 1, 'epoch'::timestamp, 'tomorrow'::timestamp > 'now'::timestamp;
select localtime is not null, clock_timestamp() is not null, transaction_timestamp() = now();
select (date '2020-01-01', date '2020-02-01') overlaps (date '2020-01-15', date '2020-03-01'), (date '2020-01-01', interval '1 day') overlaps (date '2020-01-02', date '2020-01-03');
select (at, interval '30 days') overlaps (timestamp '2020-03-01', timestamp '2020-03-10') from t order by id;
select 'a_c' like 'a!_c' escape '!', 'abc' like 'a!_c' escape '!', 'a\c' like 'a\c' escape '', s not ilike 'A|%' escape '|' from t order by id;
select '{1,2}'::int[], '{a,"b c",null}'::text[], ('{1,2}'::int[])[1], '{}'::int[];
select array_agg(id) = '{1,2}'::int[] from t where id < 3;
select ('{' || id || ',7}')::int[] from t where id < 4 order by id;
select '{1,x}'::int[];
select '{1,2'::int[];
select s::uuid from t where s is not null;
select 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid, ('a0eebc999c0b4ef8bb6d6bb9bd380a1' || id)::uuid from t where id < 3 order by id;
select '1.2.3'::inet;
select g, g * 2 from generate_series(1, 5, 2) g;
select generate_series from generate_series(1, 3);
select max(g) from generate_series(-3, 1000) as x(g);
select generate_series(1, 3), generate_series(1, 2);
select i, a[i] from (select array['x','y'] as a) q, generate_subscripts(q.a, 1) i;
select id, g from t, generate_series(1, id) g where id < 4 order by 1, 2;
select gcd(12, 18), lcm(4, 6), gcd(i4, 6) from t order by id;
select not exists (select 1 from t where id = -1), substr('abcdef', 3);
select id from t order by 2;
select id, x.amount from t join e using (id), lateral (select amount from o where o.t_id = t.id order by amount desc nulls last limit 1) x order by id;
select *, id from e order by 1;
select *, s as id from e order by 1;
select e.*, 1 as one, e.* from e order by 1;
select s as id, * from e order by 2;

-- Patterns, templates and other functions of texts and numbers.
select regexp_matches('foobarbequebazilbarfbonk', '(b[^b]+)(b[^b]+)', 'g');
select regexp_matches('foobarbequebaz', '(bar)(x)?(beque)');
select regexp_matches('aab', 'a*', 'g');
select regexp_matches('abc', '(b)(x)?|c', 'g');
select regexp_matches('abc', 'x', 'g');
select id, regexp_matches(s, '[a-z]', 'g') from t where id < 20 order by id;
select id, m from t, regexp_matches(s, '([a-z])([a-z])', 'g') m where id < 20 order by id, m;
select id, (regexp_matches(s, '[[:alpha:]]+'))[1] from t where id < 20 order by id;
select * from regexp_matches('a1b2', '([a-z])([0-9])', 'g');
select * from regexp_matches('a1b2', '([a-z])([0-9])', 'g') with ordinality;
select pg_typeof(regexp_matches('ab', 'a'))::text;
select regexp_split_to_array('the quick brown', '\s*'), regexp_split_to_array('hello world', ''), regexp_split_to_array('', ','), regexp_split_to_array(',a,,b,', ',');
select regexp_split_to_table('a, b ,c', '\s*,\s*');
select word, count(*) from t, regexp_split_to_table(s, '') word group by word order by word;
select id, regexp_split_to_array(s, '[aeiouäöü]') from t where id < 20 order by id;
select regexp_substr('abcabc', '^abc', 2), regexp_substr('abcabc', '(a)(b)?', 1, 2, '', 2), regexp_substr('ABCDEFGHI', '(c)(.)', 1, 1, 'i', 2), regexp_substr('abc', 'b', 5), regexp_substr('abc', 'x*', 4);
select regexp_count('aaa', 'a', 2), regexp_count('ABCABCAXYaxy', 'A.', 1, 'i'), regexp_count('ab', 'x*'), regexp_count('aab', 'a*'), regexp_count('', ''), regexp_count('abc', '');
select pg_typeof(regexp_count('a','a'))::text;
select regexp_instr('number of your street, town zip, FR', '[^,]+', 1, 2), regexp_instr('ABCDEFGHI', '(c..)(...)', 1, 1, 0, 'i', 2), regexp_instr('abc', 'b', 1, 1, 1), regexp_instr('abc', '(x)?b', 1, 1, 1, '', 1), regexp_instr('äbc', 'b');
select regexp_match('foo bar', '\mb'), regexp_match('foo123bar', '\d+\y'), regexp_match('ab', '(a)|(b)'), regexp_match('abc', ''), regexp_match('abc', 'x');
select regexp_match('a]b}', 'a]b}'), regexp_match('a{b', 'a{b'), regexp_match('a-b', '[a-]-'), regexp_match('x]', '[]x]+'), regexp_match('ab', '(?i)AB'), regexp_match('AäÖ1', '[[:alpha:]]+'), regexp_match('a.b', '.', 'q');
select regexp_match('a b', 'a b', 'x'), regexp_match('ab', 'a b # c', 'x'), regexp_match(E'a\nb', '^b', 'n'), regexp_match(E'a\nb', 'a.b', 'n'), regexp_match(E'a\nb', 'a.b'), regexp_match(E'a\nb', 'a[^x]b', 'n'), regexp_match(E'a\nb', '^b', 'w'), regexp_match(E'a\nb', 'a$', 'm');
select id, regexp_count(s, '[a-z]'), regexp_instr(s, '[^a-z]'), regexp_substr(s, '[^ ]+', 1, 2) from t order by id;
select regexp_match('abc', 'a', 'g');
select regexp_matches('abc', 'a', 'z');
select regexp_match('abc', '(a');
select regexp_match('abc', '[a');
select regexp_match('abc', 'a**');
select regexp_match('abc', '\q');
select regexp_substr('abc', 'b', 0);
select regexp_count('abc', 'b', 1, 'g');
select regexp_instr('abc', 'b', 1, 1, 2);
select width_bucket(5.35, 0.024, 10.06, 5), width_bucket(5.35::float8, 0.024, 10.06, 5), width_bucket(10.06, 0.024, 10.06, 5), width_bucket(0.0, 0.024, 10.06, 5), width_bucket(5, 10, 0, 5), width_bucket(3.0, 10.0, 0.0, 4);
select id, width_bucket(n, -20, 20.5, 7), width_bucket(d, -12, 60, 9), width_bucket(r, 50, -3, 4), width_bucket(i4, 0, 1000, 10), width_bucket(i2, -100, 100, 3) from t order by id;
select width_bucket(n, -40, 40, 4) bucket, count(*) from t group by bucket order by bucket;
select width_bucket(5, array[1, 3, 4, 10]), width_bucket(0.5, array[1, 2]), width_bucket('c'::text, array['a', 'c', 'd']), width_bucket(date '2024-01-02', array[date '2024-01-01', date '2024-01-02']);
select id, width_bucket(i4, array[0, 100, 500]) from t order by id;
select width_bucket(1, 1, 1, 5);
select width_bucket(1.0, 0, 2, 0);
select width_bucket('NaN'::float8, 0, 2, 3);
select width_bucket(1.0, 0.0, 1.0, 2147483647);
select width_bucket(5, array[1, null, 3]);
select to_char(interval '1 year 2 mons 3 days 30:05:06.789', 'YYYY YYY YY Y MM DD HH24 HH12 HH MI SS MS US SSSS AM pm'), to_char(interval '1 year 2 mons 3 days 30:05:06.789', 'DDD WW W Q CC RM J Y,YYY');
select to_char(interval '-1 year -2 mons -3 days -30:05:06.789', 'YYYY MM DD HH24:MI:SS.MS'), to_char(interval '-30:05:06.789', 'FMHH24:FMMI:FMSS'), to_char(interval '-12 hours', 'HH12 AM');
select id, to_char(at - timestamp '2020-03-01', 'DD HH24:MI:SS.US'), to_char(at - timestamp '2020-03-01', 'FMDD"d" HH24"h"') from t order by id;
select to_char(interval '1 day', 'Month');
select to_char(interval '1 day', 'D');
select id, to_char(day, 'J RM Y,YYY BC IDDD'), to_char(at, 'FF1 FF3 FMMS I IYYY') from t order by id;
select to_number('12,454.8-', '99G999D9S'), to_number('-12.5', 'S99.99'), to_number('12.50', '99.99'), to_number('<12>', '99PR'), to_number('1,234', '9,999'), to_number('$12.3', 'L99.9'), to_number('5.01-', 'FM9.999999MI'), to_number('1st', '9th'), to_number('12345', '999'), to_number('1 2', '999'), to_number('1e5', '9999');
select id, to_number(v, 'L9'), to_number(i4::text, 'S9999') from t where v is not null order by id;
select to_number('abc', '999');
select to_number('1.2.3', '9.9.9');
select to_number('99.99', '9.9');
select to_number('1', '9EEEE');
select upper('straße ŉ ᾳ ǆ ı ŀ'), lower('ΑΣ İ');
select id, upper(s), lower(upper(s)) from t order by id;
select id, upper(s) from e order by id;
select like_escape('a!%b!!c\d!e', '!'), like_escape('a\b', ''), like_escape('a\%', '\');
select id, s like like_escape('%!_%', '!'), s like like_escape('%#ä%', '#') from t order by id;
select like_escape('a', '!!');
select format('[%10s][%-10s][%*s][%-*s][%*s]', 'a', 'b', 4, 'c', 4, 'd', -4, 'e'), format('%1$*2$s|', 'a', 5), format('%5I|%-8L|', 'aB', 'x'), format('%s %s %s', true, date '2024-01-01', 1.50), format('%L %s', true, 1.5::float8);
select id, format('%s|%5s|%-5s|%L', s, i2, b, day) from t order by id;
select quote_literal('a\b'), format('%L', 'a\b');
select format('%x', 'a');
select format('%s');
select format('%I', null);
select format('%*1s', 'a');
select format('%*s', 'x', 'y');
select chr(0);
select chr(-1);
select chr(1114112);
select chr(228), ascii(chr(8364));
select convert_from('\xc3a4'::bytea, 'UTF8'), convert_to('ä', 'UTF8'), convert_from('\xe4'::bytea, 'LATIN1'), get_byte('\x0102ff'::bytea, 2);
select id, convert_from(convert_to(s, 'UTF8'), 'UTF8') = s from t order by id;
select convert_from('\xff61'::bytea, 'UTF8');
select convert_to('a', 'nope');
select get_byte('\x01'::bytea, 1);
select justify_hours(interval '27 hours'), justify_days(interval '35 days'), justify_interval(interval '1 mon -1 hour'), justify_hours(interval '1 day -2 hours'), justify_days(interval '1 mon -40 days'), justify_interval(interval '-1 mon 40 days 30 hours');
select id, justify_interval(at - timestamp '2020-01-01'), justify_days(at - timestamp '2020-06-01'), justify_hours((at - timestamp '2020-06-01') * 1.5) from t order by id;
select sind(30), cosd(60), tand(45), sind(45), cosd(0), cotd(45), asind(0.5), acosd(0.5), atand(1), atan2d(1, 1), sind(100.5);
select id, sind(d), cosd(d), tand(d) from t order by id;
select asind(2);
select interval '3 days 30:05:06', interval '1-2', '2h 30m ago'::interval, interval 'P1DT2H';
select id from t where at - timestamp '2020-01-01' > '59 days 30:05:06' order by id;
select id, at - timestamp '2020-01-01' = '58 days 05:28:30.25', '24 hours' < at - timestamp '2020-03-01' from t order by id;
select interval '24 hours' = '1 day', interval '30 days' >= '1 month', '1 mon' = interval '30 days';
