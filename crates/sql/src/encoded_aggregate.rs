//! Aggregates over few groups, computed where a table is scanned, on what its pages unpack to.
//!
//! DataFusion's first phase of an aggregate gets arrays: texts to hash row by row, decimals of 128 bits.
//! Where it stands right above a scan this crate's own operator takes its place:
//!
//! 1. The scan gives [`Fragment`](lsm::Fragment)s: the wanted rows of one page each, text as codes of its
//!    dictionary, numbers as they are packed.
//! 2. [`group_ids`]: the codes of a page become groups, looked up once for each combination of codes.
//! 3. [`arithmetic`]: sums of decimals are computed in 64 bits, where the fragment's numbers show that
//!    nothing can overflow, and added up by group ([`sums`]).
//! 4. What has no such form (other aggregates, NULLs, long numbers) is evaluated on arrays and given
//!    to DataFusion's accumulators with the same groups ([`aggregation`]).
//! 5. The states of all groups go to DataFusion's second phase.
//!
//! [`rule`] finds such aggregates; [`operator`] runs them, and gives a partition back to the operator whose
//! place it took when its first rows have too many groups.
//!
//! Does not: know DISTINCT, FILTER or ORDER BY in an aggregate, or aggregates in one phase.

mod aggregation;
mod arithmetic;
mod group_ids;
mod operator;
pub(crate) mod rule;
mod sums;
