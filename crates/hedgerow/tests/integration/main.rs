//! The binary against a real PostgreSQL: what users do, and what goes wrong for them.
//!
//! One test binary, one module a subject. Every test has servers of its own.

mod backlog;
mod bad_page;
mod clients;
mod copy;
mod copy_out;
mod cursors;
mod cut_link;
mod demo;
mod differential;
mod disk_full;
mod drift;
mod encryption;
mod gaps;
mod histories;
mod hostile_clients;
mod keys;
mod partitions;
mod primary;
mod projections;
mod refusals;
mod replica;
mod schema_changes;
mod screenshots;
mod slots;
mod soak;
mod source_encryption;
mod stopped_tables;
mod toast;
mod tools;
mod tpch;
mod transactions;
mod truncate;
mod types;
mod web;
