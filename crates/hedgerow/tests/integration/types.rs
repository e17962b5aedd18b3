//! Every type, with NULL and its extremes: the replica's text is PostgreSQL's text.
//!
//! Each table gets its values three ways: copied, inserted by the stream and updated by the
//! stream. A value that arrives differently by one of them shows.

use std::fmt::Write as _;

use anyhow::Result;
use testbed::patience::wait_for;
use testbed::{PostgresOptions, PostgresServer};

use crate::replica::Replica;

/// A type and literals of it, as SQL. NULL is added to each.
struct Type {
    name: &'static str,
    values: &'static [&'static str],
}

const fn of(name: &'static str, values: &'static [&'static str]) -> Type {
    Type { name, values }
}

const NUMBERS: &[Type] = &[
    of("bool", &["true", "false"]),
    of("int2", &["0", "-32768", "32767"]),
    of("int4", &["0", "-2147483648", "2147483647"]),
    of(
        "int8",
        &["0", "-9223372036854775808", "9223372036854775807"],
    ),
    of(
        "float4",
        &[
            "0",
            "'-0'",
            "1.1",
            "-3.4028235e38",
            "1e-45",
            "'NaN'",
            "'Infinity'",
            "'-Infinity'",
            "1e10",
        ],
    ),
    of(
        "float8",
        &[
            "0",
            "'-0'",
            "0.1",
            "1.7976931348623157e308",
            "5e-324",
            "'NaN'",
            "'Infinity'",
            "'-Infinity'",
            "1e15",
            "123456789012345680",
        ],
    ),
    of(
        "numeric",
        &[
            "0",
            "0.00",
            "1",
            "1.10",
            "-0.001",
            "'NaN'",
            "'Infinity'",
            "'-Infinity'",
            "12345678901234567890123456789012345678901234567890.123456789",
            "1e100",
        ],
    ),
    of(
        "numeric(10,2)",
        &["0", "-99999999.99", "99999999.99", "0.01", "5"],
    ),
    of(
        "numeric(38,10)",
        &[
            "9999999999999999999999999999.9999999999",
            "-9999999999999999999999999999.9999999999",
            "0",
        ],
    ),
    of(
        "numeric(50,5)",
        &[
            "123456789012345678901234567890123456789012345.12345",
            "-1",
            "0",
        ],
    ),
    of("numeric(5,0)", &["99999", "-99999", "0"]),
    of("numeric(3,-2)", &["99900", "-100", "0"]),
    of("numeric(2,5)", &["0.00099", "-0.00001", "0"]),
    of("money", &["0", "-1234.56"]),
    of("oid", &["0", "4294967295"]),
    of("pg_lsn", &["'0/0'", "'16/B374D848'"]),
];

const TEXTS: &[Type] = &[
    of(
        "text",
        &[
            "''",
            "' '",
            "'NULL'",
            "'null'",
            r"'\N'",
            r"'\.'",
            r"'back\slash'",
            r"e'tab\tline\nreturn\r'",
            "'quote'' and \"double\"'",
            "'äöü ß 漢字 🌳'",
            r"e'\u0001'",
            "repeat('long ', 50000)",
        ],
    ),
    of("varchar", &["''", "'any length'"]),
    of("varchar(5)", &["''", "'abcde'", "'a '", "'漢字漢字漢'"]),
    of("char(5)", &["''", "'ab'", "'abcde'", "' x'", "'漢'"]),
    of("char", &["'z'", "''"]),
    of("\"char\"", &["'c'", "''"]),
    of("name", &["'a name'", "''"]),
    of(
        "bytea",
        &[
            "''",
            r"'\x00'",
            r"'\xdeadbeef00ff'",
            r"'\x5c'",
            r"decode(repeat('ab', 10000), 'hex')",
        ],
    ),
    of(
        "uuid",
        &[
            "'00000000-0000-0000-0000-000000000000'",
            "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
        ],
    ),
    of(
        "json",
        &[
            r#"'{"a":  1, "a": 2}'"#,
            "'null'",
            r#"'"text"'"#,
            "'[1,\n2]'",
        ],
    ),
    of(
        "jsonb",
        &[r#"'{"b": [1, 2.50, null], "a": "ä"}'"#, "'null'", "'[]'"],
    ),
    of("mood", &["'sad'", "'ok'", "'really happy'"]),
];

const TIMES: &[Type] = &[
    of(
        "date",
        &[
            "'2026-11-21'",
            "'1970-01-01'",
            "'0001-01-01'",
            "'0001-12-31 BC'",
            "'4713-01-01 BC'",
            "'5874897-12-31'",
            "'infinity'",
            "'-infinity'",
            "'10000-01-01'",
        ],
    ),
    of(
        "time",
        &["'00:00'", "'24:00'", "'23:59:59.999999'", "'12:34:56.7'"],
    ),
    of("time(0)", &["'00:00'", "'12:34:56'"]),
    of(
        "timetz",
        &["'00:00+00'", "'24:00-15:59'", "'12:34:56.789+05:30'"],
    ),
    of(
        "timestamp",
        &[
            "'2026-11-21 12:34:56.789012'",
            "'1969-12-31 23:59:59.5'",
            "'4713-01-01 00:00:00 BC'",
            "'0044-03-15 12:00 BC'",
            "'infinity'",
            "'-infinity'",
            "'294246-12-31 23:59:59.999999'",
        ],
    ),
    of(
        "timestamp(3)",
        &["'2026-11-21 12:34:56.789'", "'2026-11-21'"],
    ),
    of(
        "timestamptz",
        &[
            "'2026-11-21 12:34:56.789012+02'",
            "'1900-01-01 00:00:00+00'",
            "'infinity'",
            "'-infinity'",
            "'0044-03-15 12:00+00 BC'",
        ],
    ),
    of(
        "interval",
        &[
            "'0'",
            "'1 year 2 mons 3 days 04:05:06.789'",
            "'-1 day +01:00'",
            "'-178000000 years'",
            "'24:00'",
            "'1 mon -1 day'",
        ],
    ),
];

const OTHERS: &[Type] = &[
    of(
        "int4[]",
        &[
            "'{}'",
            "'{1,2,3}'",
            "'{NULL,-1}'",
            "'{{1,2},{3,4}}'",
            "'[0:1]={5,6}'",
        ],
    ),
    of("text[]", &["'{}'", r#"'{a,"b c","NULL",NULL,"\"q\"",""}'"#]),
    of("numeric(10,2)[]", &["'{1.10,NULL,NaN}'"]),
    of(
        "timestamptz[]",
        &["'{infinity,\"2026-11-21 00:00:00+00\"}'"],
    ),
    of("mood[]", &["'{sad,\"really happy\"}'"]),
    of("positive", &["1", "2147483647"]),
    of("pair", &["row(1, 'one')", "row(null, '')"]),
    of("int4range", &["'[1,5)'", "'empty'", "'(,)'"]),
    of("inet", &["'192.168.0.1/24'", "'::1'"]),
    of("cidr", &["'10.0.0.0/8'"]),
    of("macaddr", &["'08:00:2b:01:02:03'"]),
    of("bit(4)", &["B'1010'"]),
    of("varbit", &["B''", "B'101'"]),
    of("point", &["'(1.5,-2)'"]),
    of("tsvector", &["'a fat cat'", "''"]),
    of("xid", &["'7'"]),
    of("xml", &["'<a b=\"c\">d</a>'", "'text'"]),
    of("int4multirange", &["'{[1,3),[5,9)}'", "'{}'"]),
    of(
        "tstzrange",
        &["'[2024-01-01 00:00+00,infinity)'", "'empty'"],
    ),
    of("pair[]", &[r#"array[row(1, 'a,"b"')::pair, null]"#]),
    of("positive[]", &["array[1, null]::positive[]"]),
    of("interval[]", &["array[interval '1 mon -1 day']"]),
    of("text[][][]", &[r"array[[['a', null], ['', e'\\']]]"]),
    of("macaddr8", &["'08:00:2b:01:02:03:04:05'"]),
    of("box", &["'(1,1),(0,0)'"]),
    of("jsonpath", &["'$.a[*] ? (@ > 1)'"]),
];

const DEFINITIONS: &str = "create type mood as enum ('sad', 'ok', 'really happy');
     create domain positive as int check (value > 0);
     create type pair as (n int, t text);";

/// PostgreSQL 14 refuses scales below zero and above the precision.
const ODD_SCALES: [&str; 2] = ["numeric(3,-2)", "numeric(2,5)"];
const WITH_ODD_SCALES: u32 = 15;

fn check(types: &[Type]) -> Result<()> {
    let has_odd_scales =
        PostgresServer::start(PostgresOptions::default())?.version()? >= WITH_ODD_SCALES;
    let is_known = |typ: &&Type| has_odd_scales || !ODD_SCALES.contains(&typ.name);
    let types: Vec<_> = types.iter().filter(is_known).collect();
    let types = &types[..];
    let columns: Vec<String> = (0..types.len()).map(|index| format!("c{index}")).collect();
    let mut setup = format!("{DEFINITIONS} create table every (id int primary key");
    for (column, typ) in columns.iter().zip(types) {
        write!(setup, ", {column} {}", typ.name)?;
    }
    setup += ");";
    let mut replica = Replica::of(&format!("{setup} {}", inserts(types, 0)))?;
    let query = format!("select id, {} from every order by id", columns.join(", "));
    replica.ensure_same(&query)?;

    replica.at_source(&inserts(types, 10_000))?;
    replica.ensure_same(&query)?;

    // Every row takes the values of its neighbour, so each value arrives by an update, too.
    let assignments: Vec<String> = columns.iter().map(|c| format!("{c} = other.{c}")).collect();
    replica.at_source(&format!(
        "update every set {} from every other where other.id = every.id + 1",
        assignments.join(", ")
    ))?;
    replica.ensure_same(&query)?;
    replica.restart()?;
    replica.ensure_same(&query)?;
    replica.hedgerow.verify()?;
    Ok(())
}

/// One row a value; columns with fewer values are NULL in the later rows.
fn inserts(types: &[&Type], first_id: usize) -> String {
    let rows = types.iter().map(|typ| typ.values.len()).max().unwrap_or(0);
    let mut statements = String::new();
    for row in 0..=rows {
        let cells: Vec<String> = types
            .iter()
            .map(|typ| {
                typ.values
                    .get(row)
                    .map_or("null".to_owned(), |v| format!("({v})::{}", typ.name))
            })
            .collect();
        statements += &format!(
            "insert into every values ({}, {});\n",
            first_id + row,
            cells.join(", ")
        );
    }
    statements
}

#[test]
fn numbers_are_the_same_text() -> Result<()> {
    check(NUMBERS)
}

#[test]
fn texts_are_the_same_text() -> Result<()> {
    check(TEXTS)
}

#[test]
fn dates_and_times_are_the_same_text() -> Result<()> {
    check(TIMES)
}

#[test]
fn arrays_and_everything_else_are_the_same_text() -> Result<()> {
    check(OTHERS)
}

#[test]
fn values_that_only_text_holds_are_the_same_text() -> Result<()> {
    let mut replica = Replica::of(
        "create table copied (id int primary key, n numeric(10, 2), t timestamptz);
         insert into copied values (1, 'NaN', now()), (2, 1.5, '294270-01-01 00:00+00');
         create table streamed (n numeric(5, 1) primary key, other numeric(38, 0), t timestamp);
         insert into streamed select i / 10.0, i, now() from generate_series(1, 1000) i;
         create table exact (id int primary key, n numeric(10, 2));
         insert into exact values (1, 1.5);",
    )?;
    let queries = [
        "select * from copied order by id",
        "select n, other, t from streamed order by n::text",
        "select id, n, n * 2 from exact order by id",
    ];
    let same = |replica: &mut Replica| -> Result<()> {
        for query in queries {
            wait_for("the copy with text", || {
                replica.ensure_same(query)?;
                Ok(Some(()))
            })?;
        }
        Ok(())
    };
    same(&mut replica)?;
    replica.at_source(
        "begin; update streamed set other = other + 1 where other < 10;
         insert into streamed values ('NaN', null, '294271-05-06 07:08:09.1');
         update streamed set t = 'infinity' where n = 3; commit;
         insert into exact values (2, 2.5); update copied set n = '-1.10' where id = 1",
    )?;
    same(&mut replica)?;
    replica.at_source("update streamed set other = 'NaN', n = 777 where n = 'NaN'")?;
    same(&mut replica)?;
    replica.kill_and_restart()?;
    replica
        .at_source("delete from streamed where n = 777; insert into copied values (3, 'NaN')")?;
    same(&mut replica)?;
    replica.hedgerow.verify()?;
    Ok(())
}

#[test]
fn more_than_a_page_of_each_type_is_the_same_text() -> Result<()> {
    let mut replica = Replica::of(
        "create table many (
           id int primary key, i2 int2, i8 int8, f4 float4, f8 float8, n numeric(18, 4),
           b bool, t text, c char(6), d date, ts timestamptz, u uuid, y bytea);
         insert into many
           select i, i % 1000, i::int8 * 1000000007, sqrt(i), ln(i), i / 7.0, i % 3 = 0,
                  nullif(md5(i::text), md5('7')), left(md5(i::text), i % 7), date '1990-01-01' + i,
                  timestamptz '2020-01-01 00:00:00+00' + i * interval '1 s 7 ms',
                  md5(i::text)::uuid, decode(md5(i::text), 'hex')
           from generate_series(1, 20000) i;
         update many set i2 = null, t = null, d = null where id % 11 = 0;",
    )?;
    replica.at_source(
        "update many set n = -n, f8 = -f8 where id % 5 = 0; delete from many where id % 13 = 0",
    )?;
    replica.ensure_same("select * from many order by id")?;
    replica.hedgerow.verify()?;
    Ok(())
}
