//! PostgreSQL's functions and types where DataFusion's differ or are missing.
//!
//! * [`session`]: what a session knows of itself (`current_user`, `now()`, `hedgerow.position()`).
//! * [`types`]: type names in casts; [`type_name`]: `pg_typeof`.
//! * [`quotient`], [`division`]: division of decimals; [`float_division`]: of floats.
//! * [`null_counts`]: `num_nulls` and `num_nonnulls`.
//! * [`nullif`]: `nullif` of floats and intervals.
//! * [`constant_call`]: what is computed once a batch.
//! * [`checked`]: integer arithmetic that notices overflow.
//! * [`casts`], [`round_to_even`], [`typed_text`], [`interval_text`]: casts and quoted literals.
//! * [`case_types`]: the branches of a CASE agree on a type; [`cast_names`]: names that tell casts.
//! * [`array_of`], [`array_operators`]: columns of arrays as lists.
//! * [`common_type`]: values of which one is taken have one type.
//! * [`json`]: `json` and `jsonb`.
//! * [`literals`]: text literals take the type of what they are compared with.
//! * [`dates`]: constant dates.
//! * [`extract`], [`date_trunc`], [`date_bin`], [`to_char`], [`intervals`]: parts, texts and arithmetic of times, on [`calendar`].
//! * [`from_char`]: `to_date` and `to_timestamp`.
//! * [`justify`]: intervals whose parts are not longer than the next larger one.
//! * [`to_number`]: numbers in texts, by the templates of [`to_char`].
//! * [`regular_expressions`], [`similar`], [`like_escape`]: patterns; [`pattern_words`]: what tells the engine of them.
//! * [`letter_case`]: `upper` and `lower`.
//! * [`chr`], [`encodings`]: characters and bytes.
//! * [`width_bucket`]: the parts of a range. [`degrees`]: `sind` and its like.
//! * [`float_domains`]: `ln`, `sqrt` and their like, where they have no value.
//! * [`text_in`]: texts as values of types that are stored as text. [`text_out`]: the texts of values.
//! * [`timezone`]: AT TIME ZONE, by [`zone`].
//! * [`rows`]: rows as values.
//! * [`operators`]: the operators of dates, times and intervals.
//! * [`window_counts`]: `row_number` and its like.
//! * [`whole`], [`sign`]: `trunc`, `ceil`, `floor`, `round` and `sign`.
//! * [`ordered_sets`], [`distinct_order`]: aggregates of values in an order.
//! * [`wide_comparison`]: comparisons of decimals that have no common type.
//! * [`only_element`]: the value of a subquery.
//! * [`short_decimals`]: arithmetic of decimals that fit in 64 bits.
//! * [`aggregates`], [`decimal_sums`], [`interval_sums`], [`short_sums`], [`widened`]: `sum` and `avg`.

pub(crate) mod aggregates;
pub(crate) mod array_of;
pub(crate) mod array_operators;
mod byte_length;
pub(crate) mod calendar;
mod case_types;
pub(crate) mod cast_names;
pub(crate) mod casts;
pub(crate) mod checked;
mod chr;
pub(crate) mod common_type;
mod constant_call;
mod date_bin;
mod date_trunc;
pub(crate) mod dates;
pub(crate) mod decimal_sums;
mod degrees;
pub(crate) mod distinct_order;
pub(crate) mod division;
mod encodings;
pub(crate) mod extract;
pub(crate) mod float_division;
mod float_domains;
mod from_char;
mod interval_sums;
mod interval_text;
pub(crate) mod intervals;
pub(crate) mod json;
mod justify;
mod letter_case;
mod like_escape;
pub(crate) mod literals;
mod null_counts;
mod nullif;
pub(crate) mod only_element;
pub(crate) mod operators;
mod ordered_sets;
mod pattern_words;
pub(crate) mod quotient;
pub(crate) mod quoting;
mod regular_expressions;
pub(crate) mod retyped;
pub(crate) mod round_to_even;
pub(crate) mod rows;
mod series;
pub(crate) mod session;
pub(crate) mod short_decimals;
mod short_sums;
pub(crate) mod sign;
mod similar;
mod taken_types;
pub(crate) mod text_in;
mod text_out;
mod timezone;
pub(crate) mod to_char;
mod to_number;
mod type_name;
pub(crate) mod typed_text;
pub(crate) mod types;
pub(crate) mod whole;
mod wide_comparison;
pub(crate) mod widened;
mod width_bucket;
pub(crate) mod window_counts;
pub(crate) mod with_ties;
mod zone;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::FunctionRegistry;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};

use aggregates::ExactAggregate;
use array_of::ArrayOf;
use byte_length::ByteLength;
use case_types::CaseTypes;
use casts::CastRewrite;
use checked::CheckedRewrite;
use chr::Chr;
use common_type::{CommonType, OneOf};
use date_bin::DateBin;
use date_trunc::DateTrunc;
use dates::DateRewrite;
use division::DivisionRewrite;
use extract::{Extract, Form};
use float_division::FloatDivisionRewrite;
use float_domains::InDomain;
use from_char::{FromChar, Wanted};
use intervals::{Intervals, Operation};
use letter_case::LetterCase;
use literals::LiteralRewrite;
use nullif::NullifRewrite;
use rows::Row;
use series::Series;
use short_decimals::ShortDecimalsRewrite;
use sign::Sign;
use text_out::TextOutRewrite;
use timezone::Timezone;
use to_char::ToChar;
use to_number::{ToNumber, ToNumberRewrite};
use type_name::TypeName;
use whole::WholeRewrite;
use wide_comparison::WideComparisonRewrite;
use width_bucket::WidthBucket;
use with_ties::WithTies;

/// Adds this crate's functions and rules to a state.
pub(crate) fn register(state: &mut SessionState) -> Result<()> {
    state.register_function_rewrite(Arc::new(CommonType))?;
    state.register_function_rewrite(Arc::new(CaseTypes))?;
    state.register_function_rewrite(Arc::new(CastRewrite::new()))?;
    state.register_function_rewrite(Arc::new(TextOutRewrite::new()))?;
    state.register_function_rewrite(Arc::new(LiteralRewrite))?;
    state.register_function_rewrite(Arc::new(DateRewrite))?;
    state.register_function_rewrite(Arc::new(NullifRewrite::new()))?;
    state.register_function_rewrite(Arc::new(ToNumberRewrite))?;
    state.register_function_rewrite(Arc::new(WholeRewrite::new()))?;
    state.register_function_rewrite(Arc::new(DivisionRewrite))?;
    state.register_function_rewrite(Arc::new(FloatDivisionRewrite::new()))?;
    state.register_function_rewrite(Arc::new(WideComparisonRewrite::new()))?;
    state.register_function_rewrite(Arc::new(CheckedRewrite::new()))?;
    state.register_function_rewrite(Arc::new(ShortDecimalsRewrite::new()))?;
    let sum = Arc::new(AggregateUDF::from(ExactAggregate::sum()));
    state.register_udaf(sum)?;
    state.register_udaf(Arc::new(AggregateUDF::from(ExactAggregate::avg())))?;
    for name in common_type::NAMES {
        let function = state.udf(name)?;
        state.register_udf(Arc::new(ScalarUDF::from(OneOf::new(function))))?;
    }
    for function in ordered_sets::functions() {
        state.register_udaf(Arc::new(function))?;
    }
    for name in float_domains::NAMES {
        let function = state.udf(name)?;
        state.register_udf(Arc::new(ScalarUDF::from(InDomain::new(function))))?;
    }
    for name in byte_length::NAMES {
        let function = state.udf(name)?;
        state.register_udf(Arc::new(ScalarUDF::from(ByteLength::new(function))))?;
    }
    for name in letter_case::NAMES {
        let function = state.udf(name)?;
        state.register_udf(Arc::new(ScalarUDF::from(LetterCase::new(function))))?;
    }
    let function = state.udf(series::NAME)?;
    state.register_udf(Arc::new(ScalarUDF::from(Series::new(function))))?;
    register_alias(state, "ceil", "ceiling")?;
    register_alias(state, "uuid", "gen_random_uuid")?;
    register_aggregate_alias(state, "bool_and", "every")?;
    register_aggregate_alias(state, "var", "variance")?;
    for function in [
        ScalarUDF::from(ArrayOf::new()),
        ScalarUDF::from(Chr::new()),
        ScalarUDF::from(DateBin::new()),
        ScalarUDF::from(DateTrunc::new()),
        ScalarUDF::from(Extract::new(Form::DatePart)),
        ScalarUDF::from(Intervals::new(Operation::Age)),
        ScalarUDF::from(FromChar::new(Wanted::Date)),
        ScalarUDF::from(FromChar::new(Wanted::Moment)),
        ScalarUDF::from(Row::of_values()),
        ScalarUDF::from(Row::of_some_table()),
        ScalarUDF::from(Sign::new()),
        ScalarUDF::from(Timezone::new()),
        ScalarUDF::from(ToChar::new()),
        ScalarUDF::from(ToNumber::new()),
        ScalarUDF::from(TypeName::new()),
        ScalarUDF::from(WidthBucket::new()),
        ScalarUDF::from(WithTies::new()),
    ] {
        state.register_udf(Arc::new(function))?;
    }
    for function in degrees::functions() {
        state.register_udf(Arc::new(function))?;
    }
    for function in encodings::functions() {
        state.register_udf(Arc::new(function))?;
    }
    for function in json::functions() {
        state.register_udf(Arc::new(function))?;
    }
    for function in justify::functions() {
        state.register_udf(Arc::new(function))?;
    }
    for function in null_counts::functions() {
        state.register_udf(Arc::new(function))?;
    }
    for function in pattern_words::functions() {
        state.register_udf(Arc::new(function))?;
    }
    for function in quoting::functions() {
        state.register_udf(Arc::new(function))?;
    }
    for function in regular_expressions::functions() {
        state.register_udf(Arc::new(function))?;
    }
    for function in window_counts::functions() {
        state.register_udwf(Arc::new(function))?;
    }
    Ok(())
}

/// Lets a function be called by another name, too.
fn register_alias(state: &mut SessionState, name: &str, alias: &'static str) -> Result<()> {
    if let Some(function) = state.scalar_functions().get(name) {
        let function = ScalarUDF::clone(function).with_aliases([alias]);
        state.register_udf(Arc::new(function))?;
    }
    Ok(())
}

/// The same for an aggregate.
fn register_aggregate_alias(
    state: &mut SessionState,
    name: &str,
    alias: &'static str,
) -> Result<()> {
    if let Some(function) = state.aggregate_functions().get(name) {
        let function = AggregateUDF::clone(function).with_aliases([alias]);
        state.register_udaf(Arc::new(function))?;
    }
    Ok(())
}
