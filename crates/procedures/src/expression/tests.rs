//! Expressions: their values against PostgreSQL's and against sums without bounds, their faults, their limits.

use std::fmt::Write;

use oltp::Stop;
use proptest::prelude::*;

use super::evaluate::{Context, RowAtHand};
use super::scope::{Scope, Slots};
use crate::cast::cast;
use crate::datum::Datum;
use crate::fault::Fault;
use crate::sql_type::SqlType;
use crate::syntax::cursor::Cursor;

const NOON_US: i64 = 1_000_000 * 43_200;

/// The value as text, or the SQLSTATE.
fn value(text: &str) -> String {
    match evaluated(text) {
        Ok(Ok(Datum::Null)) => "NULL".to_owned(),
        Ok(Ok(Datum::Bytes(bytes))) => String::from_utf8(bytes.into_owned()).expect("text"),
        Ok(Ok(Datum::Double(float))) => float.to_string(),
        Ok(Ok(Datum::Real(float))) => float.to_string(),
        Ok(Ok(other)) => unreachable!("{other:?} was cast to text"),
        Ok(Err(Stop::Rejected(rejection))) => rejection.code.to_owned(),
        Ok(Err(other)) => panic!("{other}"),
        Err(fault) => fault.code.to_owned(),
    }
}

fn evaluated(text: &str) -> Result<Result<Datum<'static>, Stop>, Fault> {
    let syntax = Cursor::new(text)?.expression()?;
    let mut slots = Slots::of_procedure("p");
    slots.add("a", SqlType::Integer, true);
    slots.add("t", SqlType::Text, true);
    slots.add("n", SqlType::BigInt, true);
    let mut scope = Scope {
        slots: &mut slots,
        columns: None,
        has_time: true,
        depth: 0,
    };
    let expression = scope.expression(&syntax)?;
    let values = [Datum::Int(7), Datum::text("seven"), Datum::Null];
    let context = Context {
        slots: &values,
        row: RowAtHand::None,
        time_us: NOON_US,
    };
    let result = expression.node.evaluate(&context).map(Datum::into_owned);
    Ok(result.and_then(|datum| match datum {
        datum @ (Datum::Real(_) | Datum::Double(_)) => Ok(datum),
        datum => Ok(cast(datum, expression.sql_type, SqlType::Text)?),
    }))
}

/// What PostgreSQL 15 answers.
#[test]
fn values_are_those_of_postgresql() {
    for (text, expected) in [
        ("1 + 2 * 3", "7"),
        ("-7 / 2", "-3"),
        ("-7 % 2", "-1"),
        ("7 / 2.0", "3.5000000000000000"),
        ("0.1 + 0.2", "0.3"),
        ("1.10 * 3", "3.30"),
        ("2147483647 + 1", "22003"),
        ("2147483648 + 1", "2147483649"),
        ("9223372036854775807 + 1", "22003"),
        ("1 / 0", "22012"),
        ("1 % 0", "22012"),
        ("32767::smallint + 1::smallint", "22003"),
        ("a + 1", "8"),
        ("p.a * a", "49"),
        ("$1 + 1", "8"),
        ("$4", "42P02"),
        ("b", "42703"),
        ("q.a", "42P01"),
        ("n + 1", "NULL"),
        ("n is null", "true"),
        ("n is not null or a is null", "false"),
        ("n = 1 and false", "false"),
        ("n = 1 and true", "NULL"),
        ("n = 1 or true", "true"),
        ("not n = 1", "NULL"),
        ("n is distinct from 1", "true"),
        ("n is not distinct from null", "true"),
        ("(n = 1) is not true", "true"),
        ("a in (1, 7)", "true"),
        ("a not in (1, n)", "NULL"),
        ("a between 1 and 7", "true"),
        ("a not between 1 and 7", "false"),
        ("t || ' is ' || a", "seven is 7"),
        ("t || n", "NULL"),
        ("t = 'seven'", "true"),
        ("t < 'six'", "true"),
        ("t = 1", "42883"),
        ("a = '7'", "true"),
        ("a = 'x'", "22P02"),
        ("a = 7.0", "true"),
        ("case when a > 5 then 'many' else 'few' end", "many"),
        ("case a when 7 then 1.5 when 8 then 2 end", "1.5"),
        ("case a when 8 then 1 end", "NULL"),
        ("case when a then 1 end", "42804"),
        ("case when true then 1 else 'x' end", "22P02"),
        ("case when true then 1 else t end", "42804"),
        ("coalesce(n, a, 0)", "7"),
        ("coalesce(n, null)", "NULL"),
        ("nullif(a, 7)", "NULL"),
        ("greatest(a, n, 9)", "9"),
        ("least(1.5, a)", "1.5"),
        ("abs(-a)", "7"),
        ("length(t)", "5"),
        ("length('grün')", "4"),
        ("cast('12' as bigint) * 2", "24"),
        ("t::integer", "22P02"),
        ("a::text || 'x'", "7x"),
        ("a::boolean", "true"),
        ("date '2026-11-24' + a", "2026-12-01"),
        ("date '2026-11-24' - date '2026-11-01'", "23"),
        (
            "date '2026-11-24' < timestamp '2026-11-24 00:00:01'",
            "true",
        ),
        ("now()", "1970-01-01 12:00:00+00"),
        ("current_date", "1970-01-01"),
        ("localtimestamp", "1970-01-01 12:00:00"),
        ("current_timestamp = now()", "true"),
        ("1.5::double precision * 2", "3"),
        ("1e308::double precision * 10", "22003"),
        ("1::real / 3::double precision > 0.3", "true"),
        ("true and 1", "42804"),
        ("true + 1", "42883"),
        ("-t", "42883"),
        ("random()", "42883"),
        ("now(1)", "42883"),
        ("a ~ 1", "42883"),
        ("array[1]", "0A000"),
        ("1 +", "42601"),
        ("x'", "42601"),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn expressions_have_an_end() {
    let sum = |terms: usize| vec!["1"; terms].join(" + ");
    assert_eq!(value(&sum(100)), "100");
    for terms in [130, 1_900, 2_100, 500_000] {
        assert_eq!(value(&sum(terms)), "54000", "{terms} terms");
    }
    let list = |items: usize| format!("a in ({})", vec!["1"; items].join(", "));
    assert_eq!(value(&list(1_000)), "false");
    assert_eq!(
        value(&format!("{}1{}", "(".repeat(1_000), ")".repeat(1_000))),
        "54000"
    );
}

#[test]
fn a_fault_says_where_and_what_is_possible() {
    let fault = evaluated("a +\n  nobody").map(drop).expect_err("unknown");
    assert_eq!(
        fault.to_string(),
        "line 2, column 3: column \"nobody\" does not exist. Parameters and variables: a, t, n"
    );
    let fault = evaluated("t like 'x'").map(drop).expect_err("refused");
    assert!(fault.hint.is_some_and(|hint| hint.contains("IN (list)")));
}

/// An expression of whole numbers, and what it comes to in numbers without bounds.
#[derive(Clone, Debug)]
struct Sum {
    text: String,
    value: Option<i128>,
}

fn sums() -> impl Strategy<Value = Sum> {
    let leaf = (-3_000_000_000i64..3_000_000_000).prop_map(|int| Sum {
        text: format!("({int})::bigint"),
        value: Some(int.into()),
    });
    leaf.prop_recursive(5, 40, 2, |inner| {
        (inner.clone(), 0..5usize, inner).prop_map(|(a, operator, b)| {
            let mut text = String::new();
            let sign = ["+", "-", "*", "/", "%"][operator];
            write!(text, "({} {sign} {})", a.text, b.text).expect("written to memory");
            let compute = |a: i128, b: i128| match operator {
                0 => Some(a + b),
                1 => Some(a - b),
                2 => Some(a * b),
                3 => a.checked_div(b),
                _ => a.checked_rem(b),
            };
            let value = a.value.zip(b.value).and_then(|(a, b)| compute(a, b));
            let value = value.filter(|value| i64::try_from(*value).is_ok());
            Sum { text, value }
        })
    })
}

proptest! {
    #[test]
    fn sums_are_right_or_refused(sum in sums()) {
        let found = value(&sum.text);
        match sum.value {
            Some(value) => prop_assert_eq!(found, value.to_string()),
            None => prop_assert!(found == "22003" || found == "22012", "{} gives {}", sum.text, found),
        }
    }
}
