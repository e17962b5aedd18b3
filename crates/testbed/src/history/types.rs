//! The types that columns of random histories have, and random values of them.

/// A column type and an expression of random values, in which `v` is a whole number that differs
/// from row to row.
pub type RandomType = (&'static str, &'static str);

/// The database's own types: an enum, a domain over it and a composite type.
pub const SETUP: &str = "create type mood as enum ('first', 'second', 'third');
     create domain temper as mood;
     create type pair as (a int, m mood)";

/// A random label. Labels are renamed, so that none is named.
const MOOD: &str = "(enum_range(null::mood))[1 + v % 3]";

/// The types.
pub const TYPES: [RandomType; 45] = [
    ("int", "(v % 1000)::int"),
    ("smallint", "(v % 100)::smallint"),
    ("bigint", "v * 1000000"),
    ("real", "(v / 3.0)::real"),
    (
        "double precision",
        "(array['NaN', '-Infinity', '-0', '0.1'])[1 + v % 4]::float8",
    ),
    ("double precision", "sqrt(v)"),
    ("numeric(10,2)", "(v % 10000) / 100.0"),
    ("numeric(38,10)", "v / 7.0"),
    (
        "numeric",
        "(array['NaN', '-0.000', '1e30', 'Infinity'])[1 + v % 4]::numeric",
    ),
    ("money", "(v % 1000)::int::money"),
    ("text", "md5(v::text)"),
    ("text", "repeat(md5(v::text), 200)"),
    // Megabytes, in some rows.
    (
        "text",
        "case v % 300 when 0 then repeat(md5(v::text), 60000) else 'small' end",
    ),
    ("varchar(40)", "'é' || v"),
    ("char(8)", "'c' || v % 10"),
    ("\"char\"", "'x'::\"char\""),
    ("name", "('n' || v)::name"),
    ("boolean", "v % 2 = 0"),
    (
        "date",
        "(array['infinity', '0044-03-15 BC', '2024-02-29'])[1 + v % 3]::date",
    ),
    (
        "timestamp",
        "timestamp '2024-01-01' + (v % 1000000) * interval '1 second'",
    ),
    (
        "timestamptz",
        "timestamptz '2024-01-01 12:00+05' - (v % 100000) * interval '1 day'",
    ),
    (
        "timestamptz",
        "(array['infinity', '-infinity', '0044-03-15 12:00+00 BC'])[1 + v % 3]::timestamptz",
    ),
    (
        "time",
        "(array['24:00', '00:00:00.000001'])[1 + v % 2]::time",
    ),
    (
        "timetz",
        "(array['24:00-15:59', '12:34:56.789+05:30'])[1 + v % 2]::timetz",
    ),
    (
        "interval",
        "(v % 10000) * interval '1 mon -3 days 04:05:06.7'",
    ),
    ("json", "('{\"v\":  ' || v || '}')::json"),
    ("jsonb", "jsonb_build_object('v', v, 'n', null)"),
    ("int[]", "array[(v % 99)::int, null, 3]"),
    ("text[]", "array[array['a,b', null], array['\"', v::text]]"),
    ("numeric(10,2)[]", "array[(v % 100) / 100.0, null, 'NaN']"),
    ("bytea", "decode(md5(v::text), 'hex')"),
    ("uuid", "md5(v::text)::uuid"),
    ("inet", "('10.0.0.' || v % 250)::inet"),
    ("cidr", "('10.' || v % 250 || '.0.0/16')::cidr"),
    (
        "macaddr",
        "('08:00:2b:01:02:' || lpad((v % 90)::text, 2, '0'))::macaddr",
    ),
    ("int4range", "int4range((v % 5)::int, (v % 5 + 5)::int)"),
    (
        "int4multirange",
        "int4multirange(int4range(1, (v % 5 + 2)::int), int4range(9, 10))",
    ),
    ("bit(10)", "(v % 1000)::bit(10)"),
    ("bit varying(40)", "(v % 1000)::bit(10)::varbit"),
    ("xml", "('<a>' || v || '</a>')::xml"),
    ("point", "point(v, -v)"),
    ("mood", MOOD),
    ("temper", MOOD),
    ("mood[]", "array[null, (enum_range(null::mood))[1 + v % 3]]"),
    (
        "pair",
        "row((v % 9)::int, (enum_range(null::mood))[1 + v % 3])::pair",
    ),
];

/// Types that a column may be changed to, with its own.
pub const RETYPED: [(&str, &str); 6] = [
    ("numeric(10,2)", "numeric(14,2)"),
    ("varchar(40)", "text"),
    ("int", "bigint"),
    ("smallint", "int"),
    ("numeric(14,2)", "numeric"),
    ("char(8)", "text"),
];
