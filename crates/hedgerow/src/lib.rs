//! The parts of the `hedgerow` program: command line, wiring, PostgreSQL server, client.
//!
//! * [`encode`]: Arrow batches as PostgreSQL's data rows.

pub mod encode;
