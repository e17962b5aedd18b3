//! PostgreSQL's functions and types where DataFusion's differ or are missing.
//!
//! * [`session`]: what a session knows of itself (`current_user`, `now()`, `hedgerow_position()`).
//! * [`types`]: type names in casts.

pub(crate) mod session;
pub(crate) mod types;

use datafusion::execution::session_state::SessionStateBuilder;

/// Adds this crate's functions and rules to a state.
pub(crate) fn register(builder: SessionStateBuilder) -> SessionStateBuilder {
    builder
}
