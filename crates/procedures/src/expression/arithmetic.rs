//! Sums, differences, products, quotients and remainders, with PostgreSQL's errors.

use oltp::Rejection;

use crate::cast::int_of;
use crate::datum::Datum;
use crate::fault::code;
use crate::sql_type::SqlType;

/// An operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Computes; neither operand is NULL.
pub(super) fn compute<'a>(
    operator: Operator,
    sql_type: SqlType,
    left: &Datum<'_>,
    right: &Datum<'_>,
) -> Result<Datum<'a>, Rejection> {
    match (left, right) {
        (Datum::Int(a), Datum::Int(b)) => of_ints(operator, sql_type, *a, *b),
        (Datum::Numeric(a), Datum::Numeric(b)) => {
            let result = match operator {
                Operator::Add => a.plus(*b),
                Operator::Subtract => a.minus(*b),
                Operator::Multiply => a.multiply(*b),
                Operator::Divide => a.divide(*b),
                Operator::Remainder => a.remainder(*b),
            };
            result.map(Datum::Numeric)
        }
        (Datum::Real(a), Datum::Real(b)) => {
            let result = of_floats(operator, f64::from(*a), f64::from(*b))? as f32;
            let is_lost = result.is_infinite() && a.is_finite() && b.is_finite();
            if is_lost {
                Err(overflow())
            } else {
                Ok(Datum::Real(result))
            }
        }
        (Datum::Double(a), Datum::Double(b)) => of_floats(operator, *a, *b).map(Datum::Double),
        _ => unreachable!("operands are numbers of one type"),
    }
}

fn of_ints<'a>(
    operator: Operator,
    sql_type: SqlType,
    a: i64,
    b: i64,
) -> Result<Datum<'a>, Rejection> {
    if matches!(operator, Operator::Divide | Operator::Remainder) && b == 0 {
        return Err(by_zero());
    }
    let result = match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide => a.checked_div(b),
        // The remainder of the smallest number and -1 is 0; only Rust minds how it is computed.
        Operator::Remainder => Some(a.wrapping_rem(b)),
    };
    match result {
        Some(result) => int_of(result, sql_type),
        None => Err(Rejection::new(
            code::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("{} out of range", sql_type.name()),
        )),
    }
}

fn of_floats(operator: Operator, a: f64, b: f64) -> Result<f64, Rejection> {
    if operator == Operator::Divide && b == 0.0 {
        return Err(by_zero());
    }
    let result = match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        Operator::Remainder => unreachable!("compiling refuses remainders of floats"),
    };
    if result.is_infinite() && a.is_finite() && b.is_finite() {
        return Err(overflow());
    }
    Ok(result)
}

/// The number with the other sign.
pub(super) fn negate<'a>(datum: &Datum<'_>, sql_type: SqlType) -> Result<Datum<'a>, Rejection> {
    Ok(match datum {
        Datum::Int(int) => return of_ints(Operator::Subtract, sql_type, 0, *int),
        Datum::Numeric(number) => Datum::Numeric(number.negate()),
        Datum::Real(float) => Datum::Real(-float),
        Datum::Double(float) => Datum::Double(-float),
        _ => unreachable!("only numbers are negated"),
    })
}

/// The number without its sign.
pub(super) fn absolute<'a>(datum: &Datum<'_>, sql_type: SqlType) -> Result<Datum<'a>, Rejection> {
    let is_negative = match datum {
        Datum::Int(int) => *int < 0,
        Datum::Numeric(number) => number.unscaled < 0,
        Datum::Real(float) => float.is_sign_negative(),
        Datum::Double(float) => float.is_sign_negative(),
        _ => unreachable!("only numbers have a sign"),
    };
    if is_negative {
        negate(datum, sql_type)
    } else {
        Ok(datum.clone().into_owned())
    }
}

fn by_zero() -> Rejection {
    Rejection::new(code::DIVISION_BY_ZERO, "division by zero")
}

fn overflow() -> Rejection {
    let message = "value out of range: overflow";
    Rejection::new(code::NUMERIC_VALUE_OUT_OF_RANGE, message)
}
