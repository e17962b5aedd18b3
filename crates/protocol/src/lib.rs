//! PostgreSQL's protocol as bytes: what clients send, and values on the way in and out.
//!
//! * [`frontend`]: frames cut from what a client has sent, and the messages in them.
//! * [`scram`]: the password dialogue.
//! * [`binary_value`], [`bytea`]: values of parameters.
//! * [`encode`]: Arrow batches as data rows.
//!
//! Invariants: bytes in, bytes out; no sockets, no statements, no state of a connection; bytes from a client,
//! whatever they are, give an answer or an error, never a panic, and never more memory than what they take
//! themselves and a fixed multiple of it.

pub mod binary_value;
pub mod bytea;
pub mod encode;
pub mod frontend;
pub mod scram;
