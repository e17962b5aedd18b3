//! The same random queries for PostgreSQL and for Hedgerow, on the same data.
//!
//! 1. [`data`]: tables of many types with NULLs, filled by their source; [`mod@column`]: their columns.
//! 2. [`grammar`]: a query from a seed; the same seed gives the same query. [`mod@template`] makes it out of [`templates`].
//!    [`written`]: queries that people write.
//! 3. [`ask`]: what a server makes of it: column names and types with rows, or an error.
//! 4. [`judge`]: whether two such outcomes are the same, and which differences are allowed.
//! 5. [`run`]: as many seeds as wanted, with a report that counts and quotes.
//!
//! Does not: find out which of the two is right. PostgreSQL is, by definition.

pub mod ask;
pub mod column;
pub mod data;
pub mod grammar;
pub mod judge;
pub mod run;
pub mod template;
pub mod templates;
pub mod written;

pub use run::{Report, compare, compare_written};
