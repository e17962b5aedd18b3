//! Statements that nobody would write: whatever they are, they are carried out or refused, and nothing else.

use procedures::{Datum, Numeric, SqlType};
use proptest::prelude::*;
use proptest::sample::select;

use crate::world::World;

const SCHEMA: &str = "
    create table t (
        id integer primary key, flag boolean, small smallint, large bigint, price numeric(8, 3), single real,
        twice double precision, words text, short varchar(4), bytes bytea, day date, moment time, stamp timestamp,
        zoned timestamptz, check (small < 100 or large is null)
    );
    create index t_by_price on t (price, day);
    create index t_by_words on t (words, stamp);
";

const COLUMNS: [&str; 14] = [
    "id", "flag", "small", "large", "price", "single", "twice", "words", "short", "bytes", "day",
    "moment", "stamp", "zoned",
];

const TYPES: [&str; 12] = [
    "boolean",
    "smallint",
    "integer",
    "bigint",
    "numeric",
    "numeric(5, 2)",
    "real",
    "double precision",
    "text",
    "varchar(3)",
    "date",
    "timestamp",
];

/// Expressions that are well formed, and of types that mostly do not go together.
fn expressions() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        select(&COLUMNS[..]).prop_map(str::to_owned),
        select(vec![
            "null",
            "true",
            "1",
            "-1",
            "0",
            "2147483648",
            "1.5",
            "0.001",
            "99999999999999999999",
            "'x'",
            "'2026-11-24'",
            "'1'",
            "'12:00'",
            "''",
            "now()",
            "current_date",
            "$1",
            "$2",
            "'\\x00'",
            "1e30",
            "'NaN'::real",
            "32767::smallint",
            "9223372036854775807",
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        let operators = vec![
            "+", "-", "*", "/", "%", "||", "=", "<>", "<", "<=", ">", ">=", "and", "or",
            "is distinct from",
        ];
        let functions = vec!["coalesce", "nullif", "greatest", "least"];
        prop_oneof![
            4 => (two.clone(), select(operators)).prop_map(|((a, b), o)| format!("({a} {o} {b})")),
            1 => (inner.clone(), select(vec!["not", "-", "+"])).prop_map(|(a, o)| format!("({o} {a})")),
            1 => (inner.clone(), select(&TYPES[..])).prop_map(|(a, t)| format!("cast({a} as {t})")),
            1 => (two.clone(), select(functions)).prop_map(|((a, b), f)| format!("{f}({a}, {b})")),
            1 => inner.clone().prop_map(|a| format!("({a} is null)")),
            1 => inner.clone().prop_map(|a| format!("abs({a})")),
            1 => inner.clone().prop_map(|a| format!("length({a})")),
            1 => (two.clone(), inner.clone()).prop_map(|((a, b), c)| format!("({a} between {b} and {c})")),
            1 => (two.clone(), inner.clone()).prop_map(|((a, b), c)| format!("({a} in ({b}, {c}))")),
            1 => (two, inner).prop_map(|((a, b), c)| format!("(case when {a} then {b} else {c} end)")),
        ]
    })
}

/// A value of a type.
fn value(sql_type: SqlType) -> Datum<'static> {
    match sql_type {
        SqlType::Boolean => Datum::Bool(true),
        SqlType::SmallInt | SqlType::Integer | SqlType::BigInt => Datum::Int(7),
        SqlType::Date => Datum::Int(20_000),
        SqlType::Time | SqlType::Timestamp | SqlType::TimestampTz => Datum::Int(86_399_999_999),
        SqlType::Numeric(_) => Datum::Numeric(Numeric {
            unscaled: -12_345,
            scale: 4,
        }),
        SqlType::Real => Datum::Real(0.5),
        SqlType::Double => Datum::Double(f64::MAX),
        SqlType::Text | SqlType::Varchar(_) => Datum::text("grün"),
        SqlType::Bytea => Datum::Bytes(vec![0, 255].into()),
    }
}

fn world() -> World {
    let mut world = World::new(SCHEMA);
    world.changed(
        "insert into t values
         (1, true, 5, 1000000000000, 12.345, 1.5, -2.5, 'words', 'shrt', '\\x0102', '2026-11-24', '12:30',
          '2026-11-24 12:30', '2026-11-24 12:30+01'), (2, null, null)",
    );
    world
}

/// Sends it with values of the types that it asks for. Whether it was carried out.
fn send(world: &mut World, text: &str) -> bool {
    let Ok(prepared) = world.application.prepare(text, &[]) else {
        return false;
    };
    let values: Vec<_> = prepared.parameters.iter().map(|t| value(*t)).collect();
    let rejection = world.send(text, &values).err();
    // It is the code of bugs.
    assert_ne!(
        rejection.as_ref().map(|r| r.code),
        Some("XX000"),
        "{text}: {rejection:?}"
    );
    rejection.is_none()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn any_expression_is_computed_or_refused(
        expression in expressions(), column in select(&COLUMNS[1..]), key in select(&COLUMNS[..]),
    ) {
        let mut world = world();
        send(&mut world, &format!("update t set {column} = {expression} where id = 1"));
        send(&mut world, &format!("update t set {column} = {expression} where id = 2"));
        send(&mut world, &format!("insert into t (id, {column}) values (3, {expression})"));
        send(&mut world, &format!("delete from t where {key} = {expression} and id > 0"));
        send(&mut world, &format!("delete from t where words = 'words' and stamp > {expression}"));
        send(&mut world, &format!("delete from t where price < {expression}"));
    }

    #[test]
    fn any_words_are_a_statement_or_a_fault(
        words in proptest::collection::vec(select(vec![
            "insert", "into", "update", "delete", "from", "where", "set", "values", "t", "id", "words", "(", ")", ",", "=",
            "1", "'x'", "$1", "$99999", "$0", "and", "or", "not", "null", "default", "case", "when", "then", "end", "::",
            "integer", "*", "-", ";", ".", "public", "call", "[", "]", "interval", "select", "exists", "between", "in",
        ]), 0..14),
        start in select(vec!["insert into t", "update t set", "delete from t where", "call", ""]),
    ) {
        let mut world = world();
        send(&mut world, &format!("{start} {}", words.join(" ")));
    }
}
