//! Runs what a statement says twice only once: a WITH query of several uses, above all.
//!
//! ```text
//!     WITH revenue AS (… GROUP BY supplier)
//!     SELECT … FROM revenue WHERE total = (SELECT max(total) FROM revenue)
//!
//!     FilterExec                      AggregateExec: max          two plans in one statement
//!       SharedExec: 1                   SharedExec: 1             take turns at one result
//!         AggregateExec: by supplier      AggregateExec           one of the two is run
//! ```
//!
//! DataFusion puts a WITH query's plan wherever it is named. PostgreSQL runs one of several uses once
//! ("WITH Queries", section 7.8.3 of its manual).
//!
//! 1. [`rule`] finds the subplans that are equal once the statement is optimized, where each use has the columns
//!    and conditions that it needs: aggregates and limits over tables, because their results are short more often
//!    than not.
//! 2. [`planner`] gives the operators of equal subplans one [`operator::SharedRows`].
//! 3. [`operator`]: the first use that is asked for rows has its input run to the end, and all uses take their
//!    rows from what that gave.
//!
//! A result stays in memory, within the statement's part of it. Statements that start over with joins on disk share
//! nothing.
//!
//! Does not: share what contains volatile functions, whose uses may differ, or subqueries as values.

mod operator;
pub(crate) mod planner;
mod rule;
