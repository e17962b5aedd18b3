//! The engine over a real store.

#![allow(missing_docs, reason = "tests")]

mod aggregates;
mod answers;
mod arrays;
mod catalog;
mod conditions;
mod explain;
mod harness;
mod joins;
mod json;
mod lateral_joins;
mod lookups;
mod numbering;
mod projections;
mod shared_subplans;
mod sharing;
mod statements;
mod tpch;
mod turns;
