//! What a node shows of itself over HTTP: metrics for Prometheus, and a page for people.
//!
//! * [`http`]: as much of HTTP/1.1 as a browser and a scraper need.
//! * [`facts`]: one look at store, sources and tables, which both forms are made of.
//! * [`metrics`]: `/metrics`, in Prometheus' text format.
//! * [`page`]: `/`, one file without a build step, which asks for `/status.json` every second.
//!
//! Invariants: it only reads; it listens on loopback only, and answers no request that names
//! another host, so that a web site cannot ask through its visitor's browser.

pub mod facts;
pub mod http;
pub mod metrics;
pub mod page;

pub use http::{Web, WebError};
