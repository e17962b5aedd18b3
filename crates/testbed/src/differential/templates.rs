//! What random expressions and queries are made of: [templates](super::template).
//!
//! Most expressions are valid; overflow, division by zero and impossible casts come up by themselves. A divisor is a column:
//! PostgreSQL computes what is constant even where no row needs it. ORDER BY is by the key or by all columns where LIMIT follows,
//! so that it determines rows.

use super::column::{Column, O, T, Type};

/// Constants of a type.
pub fn constants(of: Type) -> &'static [&'static str] {
    match of {
        Type::Small => &["3::smallint", "(-7)::smallint", "100::smallint"],
        Type::Integer => &["0", "1", "2", "-3", "42", "1000", "'17'::integer"],
        Type::Big => &["5::bigint", "3000000000", "(-12)::bigint"],
        Type::Numeric => &["0.5", "1.25", "-7.125", "100.00", "3.1::numeric(5,2)"],
        Type::Real => &["0.5::real", "(-2.25)::real"],
        Type::Double => &["0.5::float8", "(-1e3)::double precision", "2::float8"],
        Type::Text => &["''", "'abc'", "'x y'", "'äö'", "'%'", "'v3'"],
        Type::Boolean => &["true", "false", "null::boolean"],
        Type::Date => &["date '2020-02-29'", "'2020-01-15'::date"],
        Type::Timestamp => &[
            "timestamp '2020-03-01 12:34:56.5'",
            "timestamp '2020-02-01'",
        ],
        Type::Moment => &[
            "timestamptz '2000-03-26 02:30:00+00'",
            "'1999-12-31 23:59:59.75-05'::timestamptz",
        ],
        Type::Interval => &[
            "interval '1 day'",
            "interval '2 months 3 hours'",
            "interval '90 minutes'",
        ],
    }
}

/// What exists for every type `T`; the last has no place where values that are as large as each other may differ.
pub const GENERAL: &[&str] = &[
    "case when {boolean} then {T} else {T} end",
    "coalesce({T}, {T})",
    "nullif({T}, {leaf T})",
    "{greatest|least}({T}, {T})",
];

/// Operators and functions that give a type.
pub fn operations(of: Type) -> &'static [&'static str] {
    match of {
        Type::Small => &[],
        Type::Integer => INTEGERS,
        Type::Big => BIGS,
        Type::Numeric => NUMERICS,
        Type::Real => &["({real} {+|-} {real})", "({integer})::real", "abs({real})"],
        Type::Double => DOUBLES,
        Type::Text => TEXTS,
        Type::Boolean => BOOLEANS,
        Type::Date => DATES,
        Type::Timestamp => TIMESTAMPS,
        Type::Moment => MOMENTS,
        Type::Interval => INTERVALS,
    }
}

const INTEGERS: &[&str] = &[
    "({integer} {+|-|*} {integer})",
    "({integer} {+|-|*} {integer})",
    "({integer} {/|%} {column integer})",
    "({integer} {+|-} {small})",
    "abs({integer})",
    "(- {integer})",
    "mod({integer}, {column integer})",
    "({integer} {&|#} {integer})",
    "({integer} >> {0..5})",
    "{length|char_length|octet_length|ascii}({text})",
    "position('b' in {text})",
    "strpos({text}, {leaf text})",
    "({date} - {date})",
    "({numeric})::integer",
    "({boolean})::integer",
    "extract({year|month|doy} from {date})::integer",
    "array_length(array[{integer}, {leaf integer}], 1)",
    "array_position(array[{leaf integer}, {leaf integer}, {constant integer}], {leaf integer})",
    "cardinality(array[{text}, {leaf text}])",
    "(array[{integer}, {leaf integer}, {leaf integer}])[{0..4}]",
    "coalesce((select max(o.line) from o where o.t_id = {column integer}), {leaf integer})",
];

const BIGS: &[&str] = &[
    "({big} {+|-|*} {integer})",
    "({big} {/|%} {column integer})",
    "({integer})::bigint",
    "({double})::bigint",
    "abs({big})",
    "({big} {&|#} {big})",
    "(select count(*) from o where o.t_id {=|<} {column integer})",
];

const NUMERICS: &[&str] = &[
    "({numeric} {+|-|*} {numeric})",
    "({numeric} {+|-|*} {numeric})",
    "({numeric} / {column numeric})",
    "({numeric} {+|-|*} {integer})",
    "{round|trunc}({numeric}, {0..4})",
    "{ceil|ceiling|floor|trunc|round|abs|sign}({numeric})",
    "extract({year|month|day|dow|doy|quarter|week|isodow|century|isoyear|decade|millennium} from {date})",
    "extract({year|month|hour|minute|second|epoch|milliseconds|microseconds} from {timestamp})",
    "extract({year|month|day|hour|minute|epoch} from {interval})",
    "extract({hour|day|epoch} from {moment})",
    "({integer})::numeric",
    "({integer})::numeric({9..13},2)",
    "mod({numeric}, {column numeric})",
    "(select {max|min|sum}(o.amount) from o where o.t_id = {column integer})",
];

const DOUBLES: &[&str] = &[
    "({double} {+|-|*} {double})",
    "({double} / {column double})",
    "({double} {+|-} {integer})",
    "sqrt(abs({double}))",
    "{ceil|ceiling|floor|trunc|round|sign|abs}({double})",
    "power({double}, 2)",
    "date_part('{month|hour|week}', {timestamp})",
    "({numeric})::float8",
    "{exp|sin|cos|atan|degrees|radians}({leaf double} / 100)",
    "ln(1 + abs({double}))",
];

const TEXTS: &[&str] = &[
    "({text} || {text})",
    "({text} || {text})",
    "({text} || {integer})",
    "{upper|lower|initcap|reverse}({text})",
    "substring({text} from {1..4} for 3)",
    "substr({text}, {-1..4}{|, 2})",
    "substring({text} from '{b.|[a-c]+|(x)|\\s(.)}')",
    "replace({text}, 'b', 'BB')",
    "{trim|ltrim|rtrim}({text})",
    "{btrim|ltrim|rtrim}({text}, 'ab')",
    "trim({leading|trailing|both} 'a' from {text})",
    "{left|right}({text}, {-2..4})",
    "{lpad|rpad}({text}, {0..7}{|, '*'|, 'xy'})",
    "split_part({text}, '{b| |}', {1..3})",
    "translate({text}, 'abc', 'x{y|}')",
    "repeat({text}, {-1..3})",
    "overlay({text} placing 'ZZ' from {1..4}{| for 1})",
    "regexp_replace({text}, '{[aeiou]|b+|^.|\\s}', '{-|<\\&>|}'{|, 'g'|, 'gi'})",
    "md5({text})",
    "{quote_literal|quote_ident}({text})",
    "concat_ws('-', {text}, {integer}, {leaf text})",
    "format('%s/%s', {text}, {integer})",
    "array_to_string(array[{text}, {leaf text}], ','{|, '*'})",
    "({{integer}|{big}|{small}|{boolean}|{date}|{timestamp}|{moment}})::text",
    "chr(65 + abs({leaf integer}) % 26)",
    "to_hex(abs({leaf integer}))",
    "to_char({timestamp}, '{YYYY-MM-DD|DD Mon YYYY|HH24:MI:SS|Day, DD Month|Q|YY/MM|FMMonth DD|DDD|HH12:MI AM|IYYY-IW|MS US|J}')",
    "to_char({numeric}, '{FM9999990.00|99999|S000.9|9,999.99|999PR}')",
    "to_char({integer}, '{FM000000|999,999|MI999}')",
    "to_char({interval}, '{DD HH24:MI|HH24:MI:SS}')",
    "concat({text}, {integer})",
    "(select min(o.what) from o where o.t_id = {column integer})",
];

const BOOLEANS: &[&str] = &[
    "{let T any}({T} {=|<>|<|<=|>|>=} {T})",
    "{let T any}({T} {=|<>|<|<=|>|>=} {T})",
    "{let T any}({T} {=|<>|<|<=|>|>=} {T})",
    "{let A number}{let B number}({A} {=|<>|<|<=|>|>=} {B})",
    "({date} {=|<|>=} {timestamp})",
    "({boolean} {and|or} {boolean})",
    "({boolean} {and|or} {boolean})",
    "(not {boolean})",
    "({any} {is null|is not null})",
    "{let T plain}({T} {|not }between {leaf T} and {leaf T})",
    "{let T plain}({T} {|not }between symmetric {leaf T} and {leaf T})",
    "{let T plain}({T} {|not }in ({leaf T}, {constant T}))",
    "{let T plain}({T} {= any|<> all|< any|>= all} (array[{leaf T}, {constant T}]))",
    "({text} {like|not like|ilike|not ilike} '{%b%|a_c%||%\\%%|v%|_|%}')",
    "({text} like {leaf text} || '%')",
    "({text} {~|!~|~*|!~*} '{b|^[a-c]|\\d$|^$|[[:space:]]|ä}')",
    "({text} {~|!~*} '(a|x).')",
    "({text} similar to '{a%|[a-z]+|_b_}')",
    "({text} {|not }similar to '(v|x)%')",
    "starts_with({text}, {leaf text})",
    "{let T any}({T} {is distinct from|is not distinct from} {T})",
    "({boolean} {is true|is not true|is false|is not false|is unknown|is not unknown})",
    "{let A plain}{let B plain}(({A}, {B}) {=|<>|<|>=} ({A}, {B}))",
    "{let A plain}(({A}, {integer}) in (({leaf A}, 1), ({constant A}, {column integer})))",
    "(({leaf integer}, {leaf integer}) {=|<|>=} (select o.line, o.t_id from o order by o.k, o.line limit {0..1}))",
    "(({date}, {date}) overlaps ({column date}, {constant date}))",
    "({integer} {|not }in (select o.t_id from o where o.line = {0..3}{| and o.t_id is not null}))",
    "({numeric} {<|>} (select avg(o.amount) / {50..200} from o))",
    "(exists (select from o where o.t_id = {column integer} and o.line {=|<} {0..3}))",
    "({integer} {= any|< all|<> all|>= any} (select o.t_id from o where o.k < {5..60}))",
];

const DATES: &[&str] = &[
    "({date} {+|-} {1|30|({leaf small})::integer})",
    "({date} {+|-} {1|30|({leaf small})::integer})",
    "({timestamp})::date",
    "({moment})::date",
    "date_trunc('{month|year|week}', {date})::date",
    "make_date({1999..2024}, 1 + abs({leaf integer}) % 12, {1..29})",
    "to_date('{2020-02-1|1999-11-2}' || {1..9}, 'YYYY-MM-DD')",
    "(select max(o.due) from o where o.t_id = {column integer})",
];

const TIMESTAMPS: &[&str] = &[
    "({timestamp} {+|-} {interval})",
    "({date} {+|-} {interval})",
    "date_trunc('{year|quarter|month|week|day|hour|minute|decade}', {timestamp})",
    "({date})::timestamp",
    "({moment} at time zone '{UTC|Europe/Berlin|America/New_York|+03}')",
    "({moment})::timestamp",
    "make_timestamp({1999..2024}, {1..13}, {1..29}, {0..24}, {0..60}, {0..59}.5)",
    "date_bin('{15 minutes|2 hours|3 days}', {timestamp}, timestamp '2001-01-01')",
    "({date} + time '{00:00|12:34:56|23:59:59.5}')",
];

const MOMENTS: &[&str] = &[
    "({moment} {+|-} {interval})",
    "({timestamp} at time zone '{UTC|Europe/Berlin|America/New_York|-02:30}')",
    "date_trunc('{year|month|week|day|hour}', {moment}{|, 'Asia/Tokyo'|, 'Europe/Berlin'})",
    "({timestamp})::timestamptz",
    "({date})::timestamptz",
    "to_timestamp({integer})",
];

/// Products of products would leave the range of 64 bits in nanoseconds.
const INTERVALS: &[&str] = &[
    "({timestamp} - {timestamp})",
    "({moment} - {moment})",
    "({leaf interval} {*|/} {column integer})",
    "({leaf interval} * {leaf double})",
    "({interval} {+|-} {interval})",
    "age({timestamp}, {timestamp})",
    "(- {interval})",
    "justify_{hours|days|interval}({interval})",
    "make_interval({days|hours|mins|months} => {leaf integer})",
    "({leaf integer} || ' {days|hours|minutes}')::interval",
];

/// Calls of aggregate functions.
pub const AGGREGATES: &[&str] = &[
    "count(*)",
    "count({any})",
    "count(distinct {leaf plain})",
    "sum({number})",
    "sum({number})",
    "avg({number})",
    "{min|max}({number})",
    "{min|max}({text})",
    "{min|max}({{date}|{timestamp}|{moment}})",
    "{bool_and|bool_or|every}({boolean})",
    "string_agg({leaf text}, ',' order by t.id{| desc})",
    "string_agg(distinct {leaf text}, ',' order by {column text})",
    "array_agg({{leaf integer}|{column text}|{leaf date}|{leaf boolean}} order by t.id)",
    "{stddev|variance|stddev_pop|var_pop}({leaf double})",
    "{sum|avg|count}(distinct {leaf integer})",
    "{sum|avg}({leaf interval})",
    "{bit_and|bit_or}({column integer})",
    "percentile_cont({0|0.25|0.5|0.9}) within group (order by {column double})",
    "percentile_disc({0|0.25|0.5|1}) within group (order by {column plain})",
    "percentile_cont(array[0.1, 0.5, {0|1}]) within group (order by {column double})",
    "percentile_disc(array[0.1, 0.5, {0|1}]) within group (order by {column integer})",
    "mode() within group (order by {column plain})",
];

/// Which rows an aggregate counts.
pub const FILTERED: &str = " filter (where {boolean})";

/// Queries of one kind.
#[derive(Debug)]
pub struct Shape {
    /// How many they are of a hundred.
    pub share: u32,
    /// What they are made of.
    pub templates: &'static [&'static str],
    /// The tables whose columns expressions use.
    pub tables: &'static [&'static [Column]],
}

const fn shape(
    share: u32,
    templates: &'static [&'static str],
    tables: &'static [&'static [Column]],
) -> Shape {
    Shape {
        share,
        templates,
        tables,
    }
}

/// All kinds.
pub const SHAPES: &[Shape] = &[
    shape(24, ROWS, &[T]),
    shape(20, GROUPS, &[T]),
    shape(12, JOINS, &[T, O]),
    shape(12, WINDOWS, &[T]),
    shape(9, SETS, &[T]),
    shape(14, SUBQUERIES, &[T]),
    shape(3, DOCUMENTS, &[T]),
    shape(6, MISTAKES, &[T]),
];

const ROWS: &[&str] = &[
    "select {list 4} from t",
    "select {list 4} from t where {boolean 3}",
    "select t.id, {list 4} from t order by t.id{| desc} limit {0..30} offset {0..5}",
    "{let by computed plain 2}select t.id, {by} as by from t where {boolean 3} order by {by}{| nulls first| desc| desc nulls last}, t.id",
    "select distinct {computed plain 2} as x, t.b from t where {boolean 2}",
    "{let by column plain}select distinct on ({by}) {by} as by, t.id, {any 2} as x from t order by {by}, t.id{| desc}",
    "select {list 3} from t where {boolean 2} and {boolean 2}",
    "select {list 3} from t where {boolean 2} or {boolean 2}",
    "select q.* from (select t.id, t.v from t order by {t.b|t.v desc|t.c|t.i2 nulls first} fetch first {1..20} rows with ties) q",
];

const GROUPS: &[&str] = &[
    "select {aggregate} as a, {aggregate} as b from t",
    "select {aggregate} as a, {aggregate} as b from t where {boolean 2}",
    "select {aggregate} as a from t where false",
    "select {computed plain 1} as g, {aggregate} as a, {aggregate} as b from t where {boolean 2} group by 1",
    "{let key computed plain 1}select {key} as g, {aggregate} as a from t group by {key} having count(*) > 2",
    "{let key computed plain 1}select {key} as g, {aggregate} as a from t group by {key} having {min|max}({column plain}) is not null",
    "{let key computed plain 1}select {key} as g, count(*), {aggregate} as a from t group by 1 order by 2 desc, 1 limit {1..9}",
    "select t.b, t.v, {aggregate} as a, grouping(t.b, t.v) from t group by {rollup|cube}(t.b, t.v)",
    "select t.b, t.c, {aggregate} as a from t group by grouping sets ((t.b, t.c), (t.{b|c}), ())",
    "{let key computed plain 1}select {key} as g, t.b, grouping({key}, t.b) as h, {aggregate} as a from t group by {rollup|cube}({1, 2|(1, t.c), (t.b)|2, 1})",
    "select t.b, {aggregate} as a from t group by t.b order by {aggregate}, 1, 2",
    "select case when t.b then 'yes' else t.v end as g, {aggregate} as a, {aggregate} + 1 as b from t group by 1",
    "select t.id, t.*, count(o.k) from t left join o on o.t_id = t.id group by t.id",
];

const JOINS: &[&str] = &[
    "select {list 3} from t {join|left join|right join|full join} o on {o.t_id = t.id|o.line = t.i2|o.k = t.id and o.line = 1} where {boolean 2}",
    "select {list 3} from t {join|left join|right join|full join} o on {o.t_id = t.id|o.line = t.i2|o.k = t.id and o.line = 1}",
    "select *, {list 3} from t {join|left join|right join|full join} (select t_id as id, o.* from o) as o using (id)",
    "select id, count(*), sum(o.amount) from t {join|left join|right join|full join} (select t_id as id, o.* from o) as o using (id) where {boolean 2} group by id",
    "select t.b, count(*), sum(o.amount), min(o.due) from t {join|left join|right join|full join} o on {o.t_id = t.id|o.line = t.i2} group by t.b",
    "select {list 2} from t {join|left join} o on o.t_id = t.id and {boolean 2}",
    "select {list 2} from t, o where t.id = o.t_id and {boolean 2}",
    "select t.id, u.id, o.k, {any 2} from t join t as u on u.id = t.id {+ 1|* 2} left join o on o.t_id = u.id where {boolean 2}",
    "select t.id, l.* from t cross join lateral (select o.k, o.amount, {any 1} as x from o where o.t_id = t.id order by o.k, o.line limit {1..3}) l",
    "select t.id, l.* from t left join lateral (select count(*), {max|min}(o.amount) as m from o where o.t_id = t.id and o.line {<|>=} {0..3}) l on true",
    "select t.id, g, {any 2} from t cross join generate_series({0..3}, {1..5}) g join o on o.t_id = t.id",
    "select v.a, v.b, {any 2} from t join (values ({1..200}, 'one'), ({1..200}, null), (7, 'three')) v(a, b) on v.a = t.id left join o on o.t_id = t.id",
];

const WINDOWS: &[&str] = &[
    "select t.id, {row_number()|ntile({2..6})|count(*)} over (partition by {t.b|t.i2 % 3|t.c|t.v|t.d} order by t.id{| desc}) as w from t",
    "{let T plain}select t.id, {lag|lead}({column T}{|, 2|, 1, {constant T}}) over (partition by {t.b|t.c|t.v} order by t.id) as w from t",
    "select t.id, {first_value|last_value|max|min|count}({column plain}) over (partition by {t.b|t.i2 % 3|t.v} order by t.id{| rows between 2 preceding and current row| rows between unbounded preceding and 1 following| rows between 1 following and 3 following}) as w from t",
    "select t.id, nth_value({column plain}, {1..4}) over (order by t.id{| rows between 2 preceding and 2 following}) as w from t",
    "select t.id, {sum|avg|count}({leaf number}) over (partition by {t.b|t.c} order by t.id{| rows between 2 preceding and current row| rows {2..4} preceding}) as w from t",
    "select t.id, {sum|avg|max}({leaf integer}) over (order by t.id range between {0..9} preceding and {0..9} following) as w from t",
    "select t.id, {count|max|min}({leaf integer}) over (order by t.day range between interval '{10|20} days' preceding and current row) as w from t",
    "select t.id, {count(*)|sum(t.i4)|min(t.day)} over (partition by t.b order by {t.v|t.i2 % 5|t.day} {|groups between 1 preceding and current row|range unbounded preceding}) as w from t",
    "select t.id, {rank()|dense_rank()|percent_rank()|cume_dist()} over (partition by {t.b|t.i2 % 3|t.c|t.v|t.d} order by {t.i4|t.d|t.r desc|t.v, t.n|t.day nulls first}) from t",
    "select t.id, sum({leaf integer}) filter (where {boolean 2}) over (partition by t.v order by t.id) as w from t",
    "select t.v, {aggregate} as a, sum(count(*)) over (order by t.v) as w, rank() over (order by count(*) desc, t.v) as r from t group by t.v",
    "select t.id, sum(t.i4) over w as s, count(*) over w as c, avg(t.n) over (partition by t.c) as p from t window w as (partition by t.b order by t.id)",
    "select * from (select t.id, {any 2} as x, row_number() over (partition by t.v order by t.n, t.id) as w from t) q where w <= {1..4}",
    "select t.id, {sum|count|max}({leaf integer}) over () as w, {any 2} from t where {boolean 2}",
];

const SETS: &[&str] = &[
    "{let T plain}select {T 2} as x from t where {boolean 2} {union|union all|intersect|except} select {T 2} from t where {boolean 2}",
    "{let T plain}select {T 2} as x from t where {boolean 2} {intersect all|except all} select {T 2} from t where {boolean 2}",
    "{let A number}{let B number}select {A 1} as x from t {union|union all|intersect|except} select {B 1} from t",
    "{let T plain}select t.id, {T 1} as x from t where t.id < {9..99} union all select o.line, {constant T} from o order by 1, 2 limit {3..30}",
    "{let T plain}select {T 1} as x from t union {|all }select null union {|all }select {T 1} from t where {boolean 2}",
    "{let T plain}(select {T 1} as x from t order by t.id limit {1..20}) {union|union all|except} (select {T 1} from t order by t.id desc limit {1..20})",
    "{let T plain}select x, count(*) from (select {T 1} as x from t union all select {T 1} from t) u group by x",
    "select {date 1} as x from t union select {timestamp 1} from t",
];

const SUBQUERIES: &[&str] = &[
    "select {list 2} from t where t.id in (select o.t_id from o where o.line = 1)",
    "select {list 2} from t where t.id not in (select o.t_id from o where o.t_id is not null)",
    "select {list 2} from t where exists (select 1 from o where o.t_id = t.id and o.amount > 500)",
    "select {list 2} from t where not exists (select from o where o.t_id = t.id)",
    "select t.id, (select sum(o.amount) from o where o.t_id = t.id) as total from t",
    "select t.id, (select count(*) from o where o.t_id = t.id) as times from t",
    "with u as (select * from t where {boolean 2}) select count(*), max(u.i4), sum(u.n) from u",
    "select q.a, count(*) from (select {aggregate} as a, t.i2 from t group by t.i2) q group by q.a",
    "select {list 2} from t where t.n > (select avg(amount) / 100 from o)",
    "with u as (select t.v, {aggregate} as a from t group by t.v) select u.v, u.a, t.id from u join t on t.v = u.v where t.id < {9..99}",
    "with t as (select * from t where {boolean 2}), n as (select count(*) as c from t) select {list 2}, n.c from t, n",
    "select t.id, (select o.what from o where o.t_id = t.id order by o.k, o.line limit 1) as first, {any 2} from t",
    "select t.id, (select string_agg(o.what, '/' order by o.k, o.line) from o where o.t_id = t.id) as all_of_them from t",
    "select t.id, exists (select from o where o.t_id = t.id and o.amount > {100..900}) as e, {any 2} from t",
    "select {list 2} from t where (t.i2, t.b) in (select u.i2, u.b from t u where u.id < {9..99})",
    "select {list 2} from t where ({leaf integer}, {leaf integer}) {= any|<> all} (select o.line, o.t_id from o where o.k < {5..60} and o.t_id is not null)",
    "select {list 2} from t where t.i4 {> all|< any|= any|<> all} (select u.i2 from t u where u.id {<|>} {9..190}{| and u.i2 is not null})",
    "select t.v, {aggregate} as a from t group by t.v having count(*) > (select count(*) from o where o.line = {0..3}) / {5..30}",
    "select {list 2} from t where t.n = (select max(u.n) from t u where u.v = t.v)",
    "select t.id, (select u.id from t u where u.id = {150..250}) as x, (select u.id from t u where u.id = {150..250}) is null as y from t",
    "with recursive r as (select t.id, t.i4 as x, t.day as y, t.s as z, 1 as depth from t where t.id = {1..9} union all select t.id, {column integer}, {column date}, {column text} || '', r.depth + 1 from r join t on t.id = r.id * {2..3} + 1) select * from r",
    "with recursive r(n, s) as (select {1..4}, 'a'::text union all select n + 1, s || n from r where n < {4..9}) select r.*, {any 2} from r join t on t.id = r.n",
    "select * from (select {any 2} as x, t.id from t where {boolean 2}) q where q.x is not null and q.id > {9..99}",
    "select t.b, count(*) from t where t.id in (select t_id from o group by t_id having count(*) > 1) group by t.b",
    "select {list 2} from t where {boolean 2} and t.id in (select o.t_id from o where o.amount > 500 union select u.id from t u where u.b)",
];

const DOCUMENTS: &[&str] = &[
    "select k, d {->|->>} '{a|b|tags|f|n|missing}' as x from j",
    "select k, d {#>|#>>} '{{b,c}|{b,d,0}|{tags,0}|{0}}' as x from j",
    "select k, jsonb_set(d, '{{a}|{b,c}|{tags,0}|{tags,-1}|{tags,9}|{zz}|{zz,a}}', '{1|\"x\"|[1, 2]}'{|, false|, true}) as x from j where k <= 2",
    "select k, jsonb_insert(d, '{{tags,0}|{tags,-1}|{new}}', '5'{|, true}) as x from j where k <= 2",
    "select k, d #- '{{a}|{b,c}|{tags,0}|{0}}' as x from j where k <= {2..3}",
    "select k, jsonb_{pretty|strip_nulls}(d) as x from j",
    "select k, {jsonb_typeof|jsonb_array_length}(d -> 'tags') as x from j where k <= 2",
    "select k from j where d {@>|<@} '{{\"a\": 1}|{}|[10]|{\"b\": {\"c\": \"y\"}}}'",
    "select k from j where d {? 'a'|?& array['a', 'b']|? 'text'}",
    "select k from j where d ?| array['tags', 'z']",
    "select k, e.* from j cross join jsonb_each{|_text}(d) e where k <= 2",
    "select k, e from j cross join jsonb_array_elements{|_text}(d -> 'tags') e where k <= 2",
    "select t.b, {json|jsonb}_agg(t.id order by t.id) as x from t where {boolean 2} group by t.b",
    "select t.id, {json|jsonb}_build_object('a', {column plain}, 'b', {column plain}) as x from t",
    "select {jsonb_object_agg|json_object_agg}(t.id, {column integer} order by t.id) as x from t where t.id < {4..40}",
    "select t.id, to_jsonb({column plain}) as x from t",
    "select (d ->> 'a')::integer + {1..9} as x from j where k <= 2",
    "select k, jsonb_path_query_array(d, '{lax|strict} $.{a|b|tags|*|**}{|[*]|[0]|[last]|.c|.*}{|.type()|.size()|.double()}'{|, '{}'|, '{}', true}) as x from j where k <= {2..5}",
    "select k, jsonb_path_query_first(d, '{|strict }$.{tags|b.d|**}[{0|last|0 to 1|*}]{| ? (@ > $x)}', '{\"x\": {1|\"b\"|null}}') as x from j where k <= {2..5}",
    "select k from j where d {@?|@@} '$.{a|b.c|tags[*]} {==|<>|<|>=} {1|2|\"x\"|\"red\"|null|$.a}'",
    "select k, x from j cross join jsonb_path_query(d, '$.{**|*|tags} ? (@.type() {==|!=} \"{number|string|array}\")') x where k <= 3",
    "select k, jsonb_path_{exists|match}(d, '$.a {+|-|*|/|%} {2|1.5|0} {==|<|>} {1|2.5}'{|, '{}', true}) as x from j where k <= {2..5}",
];

/// Queries that PostgreSQL refuses.
const MISTAKES: &[&str] = &[
    "select t.missing from t",
    "select * from missing",
    "select missing({any 1}) from t",
    "select 1 / (t.id - t.id) from t",
    "select t.s + 1 from t",
    "select 'x'::integer from t",
    "select t.id, count(*) from t",
    "select t.i4 * 2147483647 from t",
    "select {any 1} from t where t.id",
    "select date '2020-02-30'",
    "select id from t, o, e where id = 1",
    "select {any 1} from from t",
    "select sum({text 1}) from t",
    "select {date 1} + {date 1} from t",
    "select t.id from t union select t.s from t",
    "select t.id, t.b from t union select t.id from t",
    "select {text 1} < {integer 1} from t",
    "select count(*) from t where count(*) > 1",
    "select sum(sum(t.id)) from t",
    "select row_number() over () from t where row_number() over () = 1",
    "select (select o.k, o.line from o) from t",
    "select (select o.k from o) from t",
    "select t.id from t group by t.b",
    "select t.id from t order by missing",
    "select coalesce({integer 1}, {date 1}) from t",
    "select case when {integer 1} then 1 end from t",
    "select t.id as a from t where a = 1",
];
