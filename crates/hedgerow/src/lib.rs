//! The parts of the `hedgerow` program: command line, wiring, PostgreSQL server, client.
//!
//! * [`cli`], [`settings`]: what can be said on the command line and in the settings file.
//! * [`command`]: the commands.
//! * [`node`]: one store, one source, the SQL engine and the server, started and ended in order.
//! * [`primary`]: the built-in primary that `serve` runs, and the schema that its data directory has.
//! * [`server`]: the PostgreSQL server.
//! * [`client`]: the built-in client, [`client_tls`] its encryption.
//! * [`demo`]: a node with a built-in source, and checks of all its answers.
//!
//! All wiring is here and nothing but wiring: what the program does is in the crates below.

mod address_file;
mod aligned_table;
mod background;
mod byte_size;
pub mod cli;
mod client;
mod client_tls;
pub mod command;
pub mod demo;
mod logging;
mod memory_plan;
pub mod node;
pub mod open_files;
mod password;
pub mod primary;
mod progress;
pub mod server;
pub mod settings;
mod verification;
mod verify_rows;
pub mod web;
