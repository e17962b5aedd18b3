//! `row_number`, `rank` and `dense_rank` over rows that come in the order of their window.
//!
//! DataFusion's operator for windows computes one value at a time and copies what it has read of a
//! partition with every batch: a quarter of a microsecond a row, which is more than the sort below it
//! takes. These three functions need no frame, and of the rows before only the last:
//!
//! 1. [`changes`]: which rows have another partition than the row before, which are no peers of it. NULLs
//!    are equal, and so are both zeros of a float.
//! 2. [`counts`]: the numbers that follow from these, batch after batch.
//!
//! [`rule`] finds the operators that have such functions only; [`operator`] takes their place.
//!
//! Does not: know `ntile`, `percent_rank` and `cume_dist`, which depend on the rows to come, or
//! functions with a frame.

mod changes;
mod counts;
mod operator;
pub(crate) mod rule;
