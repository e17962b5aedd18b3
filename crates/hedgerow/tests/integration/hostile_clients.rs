//! Clients that open connections and say nothing, that stop half-way, that guess passwords, that
//! never read: an honest one beside them keeps getting answers, and the server's memory is bounded.
//!
//! The numbers are those of a small test; `HEDGEROW_HOSTILE_CLIENTS=n` has n silent ones.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use postgres::{Client, NoTls};
use testbed::bank::single_value;
use testbed::hedgerow_process::{DATABASE, USER};
use testbed::patience::wait_for;

use crate::replica::Replica;

const TABLES: &str = "create table orders (id int primary key, note text);
     insert into orders select i, repeat('n', 1000) from generate_series(1, 20000) i;";
const SILENT_CLIENTS: usize = 500;
const GUESSING_CLIENTS: usize = 20;
/// A startup packet for protocol 3.0 that says it has 1,000 bytes.
const HALF_A_STARTUP: [u8; 8] = [0, 0, 0x03, 0xe8, 0, 3, 0, 0];
/// Bytes by which memory may grow under such clients: a few dozen kilobytes each, and what the
/// allocator keeps.
const GROWTH_MAX: u64 = 128 << 20;

fn silent_clients() -> usize {
    let wish = std::env::var("HEDGEROW_HOSTILE_CLIENTS").ok();
    wish.and_then(|wish| wish.parse().ok())
        .unwrap_or(SILENT_CLIENTS)
}

fn connect(port: u16) -> Result<TcpStream> {
    let socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_read_timeout(Some(Duration::from_secs(60)))?;
    Ok(socket)
}

/// Opens connections, one after the other, says `first` on each, and keeps the newest of them
/// open until `ended`.
fn hold_connections(port: u16, count: usize, first: &[u8], ended: &AtomicBool) -> Result<()> {
    let mut held = Vec::new();
    while !ended.load(Ordering::Relaxed) {
        if held.len() >= count {
            held.remove(0);
            thread::sleep(Duration::from_millis(1));
        }
        let mut socket = connect(port)?;
        // The server may have ended it already to make room for a newer one.
        _ = socket.write_all(first);
        held.push(socket);
    }
    Ok(())
}

/// Logs in with wrong passwords until `ended`.
fn guess(port: u16, ended: &AtomicBool, refused: &AtomicU64) -> Result<()> {
    let mut guesses = 0_u64;
    while !ended.load(Ordering::Relaxed) {
        guesses += 1;
        let mut config = Client::configure();
        config
            .host("127.0.0.1")
            .port(port)
            .user(USER)
            .dbname(DATABASE);
        config.password(format!("guess {guesses}"));
        ensure!(config.connect(NoTls).is_err(), "guess {guesses} was right");
        refused.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

fn memory_bytes(replica: &Replica) -> Result<u64> {
    let process = replica.hedgerow.process_id().context("it runs")?;
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kilobytes.context("a size")?.trim().parse::<u64>()? << 10)
}

#[test]
fn an_honest_client_is_served_beside_hostile_ones() -> Result<()> {
    let replica = Replica::of(TABLES)?;
    let port = replica.hedgerow.port();
    let before = memory_bytes(&replica)?;
    let (ended, refused) = (AtomicBool::new(false), AtomicU64::new(0));
    let count = silent_clients() / 2;
    thread::scope(|scope| {
        let mut hostile = vec![
            scope.spawn(|| hold_connections(port, count, b"", &ended)),
            scope.spawn(|| hold_connections(port, count, &HALF_A_STARTUP, &ended)),
        ];
        let guessing = (0..GUESSING_CLIENTS).map(|_| scope.spawn(|| guess(port, &ended, &refused)));
        hostile.extend(guessing);
        let honest = || -> Result<()> {
            // One that is there already, and ones that come.
            let mut staying = replica.connect()?;
            for round in 1..=30_i32 {
                let row = staying.query_one("select id from orders where id = $1", &[&round])?;
                ensure!(row.get::<_, i32>(0) == round, "another row");
                let mut coming = wait_for("a login", || Ok(Some(replica.connect()?)))?;
                let count = single_value(&mut coming, "select count(*) from orders")?;
                ensure!(count == "20000", "{count} rows");
            }
            wait_for("guesses to be refused", || {
                Ok((refused.load(Ordering::Relaxed) > 0).then_some(()))
            })
        };
        let served = honest();
        ended.store(true, Ordering::Relaxed);
        let mut ends = hostile.into_iter().map(|thread| thread.join());
        ends.try_for_each(|end| end.expect("no panic"))?;
        served
    })?;
    let after = memory_bytes(&replica)?;
    ensure!(
        after < before + GROWTH_MAX,
        "from {before} to {after} bytes"
    );
    replica.hedgerow.verify()?;
    Ok(())
}

#[test]
fn whoever_comes_too_late_is_told_and_the_others_stay() -> Result<()> {
    let replica = Replica::of(TABLES)?;
    let mut clients = Vec::new();
    let refusal = loop {
        match replica.connect() {
            Ok(client) => clients.push(client),
            Err(error) => break error,
        }
        ensure!(clients.len() <= 200, "no limit");
    };
    let refusal = format!("{refusal:#}");
    assert!(refusal.contains("too many clients"), "{refusal}");
    assert!(clients.len() >= 99, "{}", clients.len());
    for client in &mut clients {
        assert_eq!(
            single_value(client, "select count(*) from orders where id < 3")?,
            "2"
        );
    }
    // A place is free as soon as somebody goes.
    clients.pop();
    wait_for("a place", || Ok(Some(replica.connect()?)))?;
    Ok(())
}

/// A frame of the protocol.
fn frame(kind: u8, body: &[u8]) -> Result<Vec<u8>> {
    let length = u32::try_from(body.len() + 4)?;
    Ok([&[kind], &length.to_be_bytes()[..], body].concat())
}

#[test]
fn a_message_that_is_too_long_ends_its_connection_before_it_comes() -> Result<()> {
    let replica = Replica::of(TABLES)?;
    for first in [
        // A startup packet of 100 MB.
        [&100_000_000_u32.to_be_bytes()[..], &[0, 3, 0, 0]].concat(),
        // No startup packet at all.
        frame(b'Q', b"select 1\0")?,
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
    ] {
        let mut socket = connect(replica.hedgerow.port())?;
        socket.write_all(&first)?;
        let mut answer = Vec::new();
        // Whether as an error or as a reset: the connection ends, and nothing waits for the rest.
        _ = socket.read_to_end(&mut answer);
        ensure!(answer.is_empty() || answer.starts_with(b"E"), "{answer:?}");
        _ = socket.shutdown(Shutdown::Both);
    }
    let mut client = replica.connect()?;
    assert_eq!(single_value(&mut client, "select 1")?, "1");
    Ok(())
}

#[test]
fn prepared_statements_of_one_session_are_bounded() -> Result<()> {
    let replica = Replica::of(TABLES)?;
    let mut greedy = replica.connect()?;
    let mut kept = Vec::new();
    let long = "x".repeat(8 << 20);
    let refusal = loop {
        match greedy.prepare(&format!("select {} as n, '{long}' as t", kept.len())) {
            Ok(statement) => kept.push(statement),
            Err(error) => break error,
        }
        ensure!(kept.len() < 64, "no limit");
    };
    let refusal = refusal.as_db_error().context("an answer")?;
    assert_eq!(refusal.code().code(), "53400");
    // The session goes on, and has room again once something is closed.
    kept.clear();
    assert_eq!(single_value(&mut greedy, "select 1")?, "1");
    greedy.prepare(&format!("select '{long}' as t"))?;
    Ok(())
}
