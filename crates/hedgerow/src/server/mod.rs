//! The PostgreSQL server: any client that speaks protocol 3.0 may ask.
//!
//! One task a connection: [`encryption`] begins TLS, [`startup`] lets the client in,
//! [`connection`] carries out its messages, [`query`] runs statements through the SQL session, [`copy_out`] sends what COPY copies ([`copy_rows`]). The modules below them know no
//! sockets: [`protocol`] reads what clients send, [`backend`] writes what they are told,
//! [`parameter`] has values on the way in, [`statement`] what is prepared, [`named_commands`] what SQL says about that and
//! about cursors ([`declared_cursor`]).
//!
//! Invariants: before a client has proven the password it gets ten seconds, sixteen kilobytes
//! and one of a bounded number of places ([`handshakes`]), and a wrong password is answered
//! slowly ([`throttle`]); afterwards what it sends ([`wire`]), what it names ([`named`]) and how
//! long it takes nothing of what it is sent are bounded; a client that goes away takes its
//! statement with it; no message, however malformed, ends more than its own connection.
//!
//! Without a certificate ([`tls`]) only loopback addresses are served.

pub mod backend;
pub mod cancel;
mod connection;
mod copy_out;
mod copy_rows;
mod declared_cursor;
mod encryption;
pub mod failure;
mod handshakes;
mod idle_limit;
mod listener;
mod named;
mod named_commands;
mod parameter;
mod query;
mod startup;
mod statement;
mod throttle;
pub mod tls;
mod wire;

pub use listener::{ListenError, ResyncTable, Server, ServerOptions, SourceCommands, VerifyRows};
