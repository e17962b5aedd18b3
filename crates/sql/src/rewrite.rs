//! PostgreSQL's forms of statements that DataFusion takes in another form.
//!
//! * [`column_names`]: the names of result columns without an alias.
//! * [`system`]: what clients ask of the system catalogs.

pub(crate) mod column_names;
pub(crate) mod system;
