//! The web page and the metrics of a running server.

use std::io::{Read, Write};
use std::net::TcpStream;

use anyhow::{Context, Result};
use tempfile::TempDir;
use testbed::free_port::free_port;
use testbed::{Hedgerow, HedgerowOptions};

use crate::replica::source;

/// Asks for a path, as a browser that was told of `host` would; head and body of the answer.
pub fn get(port: u16, path: &str, host: &str) -> Result<(String, String)> {
    let mut socket = TcpStream::connect(("127.0.0.1", port))?;
    write!(socket, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("an answer")?;
    Ok((head.to_owned(), body.to_owned()))
}

#[test]
fn a_running_server_is_seen_over_http() -> Result<()> {
    let postgres =
        source("create table orders (id int primary key); insert into orders values (1)")?;
    let folder = TempDir::with_prefix("testbed-web-")?;
    let port = free_port()?;
    let options = HedgerowOptions::new(postgres.url("postgres"), &folder.path().join("data"))?
        .with(&["--web", &format!("127.0.0.1:{port}")]);
    let hedgerow = Hedgerow::start_ready(options)?;
    let host = format!("localhost:{port}");
    let (head, page) = get(port, "/", &host)?;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(page.contains("<title>Hedgerow</title>"), "{page}");
    let (_, status) = get(port, "/status.json", &host)?;
    assert!(status.contains("\"state\":\"streaming\""), "{status}");
    assert!(status.contains("\"name\":\"public.orders\""), "{status}");
    let (_, metrics) = get(port, "/metrics", &host)?;
    for line in [
        "hedgerow_table_state{table=\"public.orders\",state=\"live\"} 1",
        "# TYPE hedgerow_page_cache_hits_total counter",
        "# TYPE hedgerow_slot_retained_bytes gauge",
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
    let (head, _) = get(port, "/metrics", "elsewhere.example")?;
    assert!(head.starts_with("HTTP/1.1 421"), "{head}");
    let refused = HedgerowOptions::new(postgres.url("postgres"), &folder.path().join("other"))?
        .with(&["--web", "0.0.0.0:0"]);
    let refusal = Hedgerow::start_refused(refused)?;
    assert!(refusal.message.contains("loopback"), "{}", refusal.message);
    hedgerow.verify()?;
    Ok(())
}
