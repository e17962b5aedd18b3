//! TPC-H against two servers: the data, the 22 queries, and whether the answers agree.
//!
//! * [`tables`]: definitions and generated rows, loaded into PostgreSQL.
//! * [`queries`]: the query texts.
//! * [`answers`]: an answer as text, and what counts as the same answer.

pub mod answers;
pub mod queries;
pub mod tables;
