//! Rows by key, past the planner.
//!
//! `SELECT columns FROM t WHERE key = $1` asks for so little that planning it would take a
//! hundred times as long as answering it. Such statements are told from all others when they are
//! parsed:
//!
//! 1. [`shape`]: what the statement asks for, by its words alone; `None` for every other one.
//! 2. [`plan`]: the words' meaning in the catalog, kept with the statement for as long as the
//!    table's entry there stays the same.
//! 3. [`keys`]: parameters as cells of the key columns.
//! 4. [`lsm::Snapshot::multi_get`] finds the rows.
//!
//! Invariant: whatever is answered here the planner would answer with the same rows and the same
//! columns. In doubt (a value of another type than its column, a column that is not of the key)
//! a step says so and the statement is planned.

pub(crate) mod keys;
pub(crate) mod plan;
pub(crate) mod shape;

pub(crate) use plan::LookUp;
