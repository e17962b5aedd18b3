//! PostgreSQL's functions and types where DataFusion's differ or are missing.
//!
//! * [`session`]: what a session knows of itself (`current_user`, `now()`, `hedgerow.position()`).
//! * [`types`]: type names in casts.
//! * [`quotient`], [`division`]: division of decimals.
//! * [`checked`]: integer arithmetic that notices overflow.
//! * [`casts`], [`round_to_even`], [`typed_text`]: casts and quoted literals.
//! * [`literals`]: text literals take the type of what they are compared with.
//! * [`dates`]: arithmetic of dates.
//! * [`whole`]: `trunc`, `ceil` and `floor`.
//! * [`only_element`]: the value of a subquery.
//! * [`aggregates`], [`decimal_sums`], [`widened`]: `sum` and `avg`.

pub(crate) mod aggregates;
pub(crate) mod casts;
pub(crate) mod checked;
pub(crate) mod dates;
pub(crate) mod decimal_sums;
pub(crate) mod division;
pub(crate) mod literals;
pub(crate) mod only_element;
pub(crate) mod quotient;
pub(crate) mod round_to_even;
pub(crate) mod session;
pub(crate) mod typed_text;
pub(crate) mod types;
pub(crate) mod whole;
pub(crate) mod widened;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::FunctionRegistry;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};

use aggregates::ExactAggregate;
use casts::CastRewrite;
use checked::CheckedRewrite;
use dates::DateRewrite;
use division::{Division, DivisionRewrite};
use literals::LiteralRewrite;
use whole::WholeRewrite;

/// Adds this crate's functions and rules to a state.
pub(crate) fn register(state: &mut SessionState) -> Result<()> {
    let division = Arc::new(ScalarUDF::from(Division::new()));
    state.register_udf(division.clone())?;
    state.register_function_rewrite(Arc::new(CastRewrite::new()))?;
    state.register_function_rewrite(Arc::new(LiteralRewrite))?;
    state.register_function_rewrite(Arc::new(DateRewrite))?;
    state.register_function_rewrite(Arc::new(WholeRewrite))?;
    state.register_function_rewrite(Arc::new(DivisionRewrite::new(division)))?;
    state.register_function_rewrite(Arc::new(CheckedRewrite::new()))?;
    let sum = Arc::new(AggregateUDF::from(ExactAggregate::sum()));
    state.register_udaf(sum)?;
    state.register_udaf(Arc::new(AggregateUDF::from(ExactAggregate::avg())))?;
    Ok(())
}
