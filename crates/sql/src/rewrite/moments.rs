//! `generate_series` of moments: bounds and steps that are literals.
//!
//! PostgreSQL gives a literal without a type the type of the bound beside it, and a step is an interval. Dates become moments with a time zone.

use datafusion::sql::sqlparser::ast::{
    DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, TimezoneInfo,
    TypedString,
};

use super::casts::{INTERVAL, cast, is_quoted};
use super::row_functions::GENERATE_SERIES;

/// Whether a call is of a series whose step is an interval.
pub(super) fn is_series(function: &Function) -> bool {
    let name = function.name.0.last().and_then(|part| part.as_ident());
    let is_series = name.is_some_and(|name| name.value.eq_ignore_ascii_case(GENERATE_SERIES));
    let FunctionArguments::List(list) = &function.args else {
        return false;
    };
    let step = list.args.get(2).and_then(value);
    is_series && step.is_some_and(|step| is_quoted(step) || is_interval(step))
}

/// Gives the bounds and the step of such a series their types.
pub(super) fn typed(function: &mut Function) {
    if !is_series(function) {
        return;
    }
    let FunctionArguments::List(list) = &mut function.args else {
        return;
    };
    let bounds = list.args.iter().take(2).filter_map(value);
    let told = bounds.filter_map(type_of).next();
    let told = match told {
        Some(DataType::Date) => Some(DataType::Timestamp(None, TimezoneInfo::Tz)),
        told => told,
    };
    for (place, argument) in list.args.iter_mut().enumerate() {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument else {
            continue;
        };
        match (place, &told) {
            (2, _) if is_quoted(argument) => *argument = cast(argument.clone(), INTERVAL),
            (0 | 1, Some(told)) if is_quoted(argument) || is_date(argument) => {
                *argument = cast(argument.clone(), told.clone());
            }
            _ => {}
        }
    }
}

fn value(argument: &FunctionArg) -> Option<&Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value),
        _ => None,
    }
}

/// The type that a bound says it has.
fn type_of(bound: &Expr) -> Option<DataType> {
    match bound {
        Expr::Nested(bound) => type_of(bound),
        Expr::Cast { data_type, .. } | Expr::TypedString(TypedString { data_type, .. }) => {
            Some(data_type.clone())
        }
        _ => None,
    }
}

fn is_date(bound: &Expr) -> bool {
    type_of(bound) == Some(DataType::Date)
}

fn is_interval(step: &Expr) -> bool {
    matches!(step, Expr::Interval(_)) || matches!(type_of(step), Some(DataType::Interval { .. }))
}
