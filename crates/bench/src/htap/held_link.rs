//! A network link between hedgerow and its source that holds the source's log back and delivers it at a given pace.
//!
//! 1. Connections are forwarded byte by byte, but for what the server says on one that asks for a replication stream.
//! 2. There the messages of the log wait in a queue, a transaction at a time. They leave it in their order: at once
//!    while the link is open, not at all while it is held, so many row changes a second while it delivers.
//! 3. While nothing leaves, a keepalive a second says that the server is there. It names the end of the last
//!    transaction that has left, so that nothing is confirmed that has not.
//! 4. Of what was delivered is noted what each transaction has left in the stopwatch, and when it left.
//!
//! Does not: encrypt; serve two streams at the same time: a new one takes over.

use std::collections::VecDeque;
use std::io::{self, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use parking_lot::{Condvar, Mutex};
use replication::postgres::pgoutput::{Cell, Message, Wrapper, decode, unwrap};

use super::calls::now_us;
use super::writers::{Stamp, WRITERS, Written};

/// The table whose rows tell when a transaction was written.
const STOPWATCH: &str = "stopwatch";
/// How long the source's log may take to come.
const LIMIT: Duration = Duration::from_secs(600);
/// Between two keepalives.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(1);
/// What a client asks before it says who it is: encryption, by two protocols.
const ENCRYPTION_REQUESTS: [u32; 2] = [80_877_103, 80_877_104];
/// Longer than any message of the start-up, or of the log of these tables.
const MESSAGE_BYTES_MAX: usize = 1 << 24;

/// See the module. Its threads end with their connections, the one that accepts them with the process.
#[derive(Debug)]
pub struct HeldLink {
    port: u16,
    log: Arc<Log>,
}

/// The messages on their way.
#[derive(Debug, Default)]
struct Log {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    pace: Pace,
    /// Row changes that wait.
    changes: u64,
    /// Of each writer the last stamp that has come from the source.
    arrived: [i64; WRITERS],
    delivered: Written,
    /// The end of the last transaction that has left.
    left_end: u64,
    /// Streams that have begun: the last one has the queue.
    streams: usize,
}

/// When messages leave.
#[derive(Clone, Copy, Debug, Default)]
enum Pace {
    #[default]
    Open,
    Held,
    Delivering {
        since: Instant,
        changes_a_second: f64,
    },
}

/// A transaction, or what comes between two.
#[derive(Debug, Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// Rows that it changes, the stopwatch's not counted.
    changes: u64,
    /// Who has written it, and the time then.
    stamp: Option<(usize, i64)>,
    /// Its end in the log, if it is a transaction.
    end: Option<u64>,
}

impl HeldLink {
    /// Forwards a fresh port to `target_port`, both on the loopback address.
    pub fn to(target_port: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port for a link")?;
        let port = listener.local_addr()?.port();
        let log = Arc::<Log>::default();
        let accepted = Arc::clone(&log);
        start_thread(move || {
            for client in listener.incoming().flatten() {
                let log = Arc::clone(&accepted);
                let started = start_thread(move || {
                    if let Err(error) = forward(&client, target_port, &log) {
                        eprintln!("the link: {error:#}");
                    }
                    // One that is closed already is what was wanted.
                    let _ = client.shutdown(Shutdown::Both);
                });
                if let Err(error) = started {
                    eprintln!("the link: {error:#}");
                }
            }
        })?;
        Ok(Self { port, log })
    }

    /// Where to connect instead of the target.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// From now on messages wait.
    pub fn hold(&self) {
        self.log.set_pace(Pace::Held);
    }

    /// What waits leaves, and what comes later leaves at once.
    pub fn open(&self) {
        self.log.set_pace(Pace::Open);
    }

    /// Waits until so many row changes wait.
    pub fn wait_for_changes(&self, changes: u64) -> Result<()> {
        self.wait_until(|queue| queue.changes >= changes)
    }

    /// Waits until these stamps have come from the source.
    pub fn wait_for_stamps(&self, stamps: [i64; WRITERS]) -> Result<()> {
        self.wait_until(|queue| (0..WRITERS).all(|w| queue.arrived[w] >= stamps[w]))
    }

    fn wait_until(&self, is_there: impl Fn(&Queue) -> bool) -> Result<()> {
        let mut queue = self.log.queue.lock();
        let is_missing = |queue: &mut Queue| !is_there(queue);
        let waited = self
            .log
            .changed
            .wait_while_for(&mut queue, is_missing, LIMIT);
        ensure!(!waited.timed_out(), "the log has not come in {LIMIT:?}");
        Ok(())
    }

    /// Delivers what waits, so many row changes a second, while `during` runs; gives what was delivered.
    pub fn deliver_while<T>(
        &self,
        changes_a_second: f64,
        during: impl FnOnce() -> Result<T>,
    ) -> Result<(T, Written)> {
        let since = Instant::now();
        let streams = self.log.queue.lock().streams;
        self.log.set_pace(Pace::Delivering {
            since,
            changes_a_second,
        });
        let outcome = during();
        let mut queue = self.log.queue.lock();
        queue.pace = Pace::Held;
        let outcome = outcome?;
        let mut delivered = std::mem::take(&mut queue.delivered);
        delivered.seconds = since.elapsed().as_secs_f64();
        ensure!(
            !queue.waiting.is_empty(),
            "everything was delivered before the phase was over"
        );
        ensure!(queue.streams == streams, "the stream was broken off");
        Ok((outcome, delivered))
    }
}

impl Log {
    fn set_pace(&self, pace: Pace) {
        self.queue.lock().pace = pace;
        self.changed.notify_all();
    }

    /// Begins a stream, in which what an earlier one has left comes again. Gives its number.
    fn begin(&self) -> usize {
        let mut queue = self.queue.lock();
        queue.waiting.clear();
        queue.changes = 0;
        queue.streams += 1;
        queue.streams
    }

    fn push(&self, waiting: Waiting) {
        let mut queue = self.queue.lock();
        queue.changes += waiting.changes;
        if let Some((writer, stamp)) = waiting.stamp {
            queue.arrived[writer] = stamp;
        }
        queue.waiting.push_back(waiting);
        drop(queue);
        self.changed.notify_all();
    }

    /// The bytes of a stream that leave next: waits for them, but gives a keepalive when it is time for one.
    fn next(&self, stream: usize) -> Result<Vec<u8>> {
        let mut queue = self.queue.lock();
        let alive_at = Instant::now() + KEEPALIVE_INTERVAL;
        loop {
            ensure!(queue.streams == stream, "another stream has begun");
            let leaving = queue.take_due(Instant::now())?;
            if !leaving.is_empty() {
                return Ok(leaving);
            }
            let until = queue.due_at().map_or(alive_at, |due| due.min(alive_at));
            if Instant::now() >= alive_at {
                return Ok(keepalive(queue.left_end));
            }
            self.changed.wait_until(&mut queue, until);
        }
    }
}

impl Queue {
    /// When the next transaction is due, while the link delivers.
    fn due_at(&self) -> Option<Instant> {
        match self.pace {
            Pace::Delivering {
                since,
                changes_a_second,
            } if !self.waiting.is_empty() => {
                #[expect(clippy::cast_precision_loss, reason = "row counts are far below 2^52")]
                let seconds = self.delivered.changes as f64 / changes_a_second;
                Some(since + Duration::from_secs_f64(seconds))
            }
            _ => None,
        }
    }

    /// Takes everything that may leave now.
    fn take_due(&mut self, now: Instant) -> Result<Vec<u8>> {
        let mut leaving = Vec::new();
        loop {
            let is_due = match self.pace {
                Pace::Open => true,
                Pace::Held => false,
                Pace::Delivering { .. } => self.due_at().is_some_and(|due| due <= now),
            };
            let Some(next) = is_due.then(|| self.waiting.pop_front()).flatten() else {
                return Ok(leaving);
            };
            self.changes -= next.changes;
            self.left_end = next.end.unwrap_or(self.left_end);
            if let Pace::Delivering { .. } = self.pace {
                self.delivered.changes += next.changes;
                if let Some((writer, value)) = next.stamp {
                    let since_us = now_us()?;
                    self.delivered.stamps[writer].push(Stamp { value, since_us });
                }
            }
            leaving.extend_from_slice(&next.bytes);
        }
    }
}

/// Ends by itself when the connections of its work close.
fn start_thread(work: impl FnOnce() + Send + 'static) -> Result<()> {
    let thread = thread::Builder::new().name("held-link".to_owned());
    thread.spawn(work)?;
    Ok(())
}

/// Forwards a connection until it is closed.
fn forward(client: &TcpStream, target_port: u16, log: &Arc<Log>) -> Result<()> {
    let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, target_port))?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let asks_for_log = forward_start_up(client, &mut server)?;
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    start_thread(move || {
        // However it ends, the other direction ends with it.
        let _ = io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Both);
    })?;
    match asks_for_log {
        false => io::copy(&mut server, &mut &*client).map(|_| ())?,
        true => forward_log(&server, client, log)?,
    }
    Ok(())
}

/// Forwards what a client says first. Says whether it wants to replicate.
fn forward_start_up(mut client: &TcpStream, server: &mut TcpStream) -> Result<bool> {
    loop {
        let mut length = [0; 4];
        client.read_exact(&mut length)?;
        let rest = (u32::from_be_bytes(length) as usize).checked_sub(4);
        let rest = rest.filter(|rest| (4..MESSAGE_BYTES_MAX).contains(rest));
        let mut message = vec![0; rest.context("no start-up message")?];
        client.read_exact(&mut message)?;
        server.write_all(&length)?;
        server.write_all(&message)?;
        let (code, parameters) = message.split_first_chunk().context("it was checked")?;
        if !ENCRYPTION_REQUESTS.contains(&u32::from_be_bytes(*code)) {
            let mut words = parameters.split(|byte| *byte == 0);
            return Ok(words.any(|word| word == b"replication"));
        }
        let mut answer = [0];
        server.read_exact(&mut answer)?;
        client.write_all(&answer)?;
        ensure!(answer == [b'N'], "the link cannot read what is encrypted");
    }
}

/// Forwards what a server says until a stream begins, then the stream by way of the queue.
fn forward_log(server: &TcpStream, mut client: &TcpStream, log: &Arc<Log>) -> Result<()> {
    let mut server = BufReader::with_capacity(1 << 18, server);
    let mut message = Vec::new();
    while read_message(&mut server, &mut message)? {
        client.write_all(&message)?;
        if message[0] == b'W' {
            let stream = log.begin();
            let (client, log_to_send) = (client.try_clone()?, Arc::clone(log));
            start_thread(move || {
                // It ends when the connection does, or with the next stream.
                let _ = send_log(client, stream, &log_to_send);
            })?;
            return queue_log(&mut server, log);
        }
    }
    Ok(())
}

/// A message with its kind and length; false at the end of the connection.
fn read_message(server: &mut impl Read, message: &mut Vec<u8>) -> Result<bool> {
    message.resize(5, 0);
    if server.read_exact(message).is_err() {
        return Ok(false);
    }
    let length = u32::from_be_bytes(message[1..5].try_into()?) as usize;
    ensure!((4..MESSAGE_BYTES_MAX).contains(&length), "{length} bytes");
    message.resize(1 + length, 0);
    server.read_exact(&mut message[5..])?;
    Ok(true)
}

/// Sends what leaves the queue until the connection is closed, or another stream begins.
fn send_log(mut client: TcpStream, stream: usize, log: &Log) -> Result<()> {
    loop {
        client.write_all(&log.next(stream)?)?;
    }
}

/// Puts a stream into the queue, a transaction at a time.
fn queue_log(server: &mut impl Read, log: &Log) -> Result<()> {
    let (mut message, mut waiting, mut is_open) = (Vec::new(), Waiting::default(), false);
    let mut stopwatch = None;
    while read_message(server, &mut message)? {
        waiting.bytes.extend_from_slice(&message);
        if message[0] == b'd'
            && let Wrapper::Data { payload, .. } = unwrap(&message[5..])?
        {
            match decode(payload)? {
                Message::Begin { .. } => is_open = true,
                Message::Commit { end, .. } => {
                    waiting.end = Some(end);
                    is_open = false;
                }
                Message::Relation(relation) if relation.name.name == STOPWATCH => {
                    stopwatch = Some(relation.id);
                }
                Message::Update { relation, new, .. } if stopwatch == Some(relation) => {
                    waiting.stamp = Some(stamp_of(new.cells())?);
                }
                Message::Insert { .. } | Message::Update { .. } | Message::Delete { .. } => {
                    waiting.changes += 1;
                }
                Message::Relation(_) | Message::Truncate { .. } | Message::Ignored => {}
            }
        }
        if !is_open {
            log.push(std::mem::take(&mut waiting));
        }
    }
    Ok(())
}

/// A row of the stopwatch: the writer, and the time.
fn stamp_of<'a>(cells: impl Iterator<Item = Cell<'a>>) -> Result<(usize, i64)> {
    let numbers = cells.map(|cell| match cell {
        Cell::Text(text) => Ok(std::str::from_utf8(text)?.parse::<i64>()?),
        Cell::Null | Cell::Unchanged => None.context("a cell of the stopwatch is missing"),
    });
    let numbers: Vec<i64> = numbers.collect::<Result<_>>()?;
    ensure!(numbers.len() == 2, "{} cells", numbers.len());
    let writer = usize::try_from(numbers[0])?;
    ensure!(writer < WRITERS, "writer {writer}");
    Ok((writer, numbers[1]))
}

/// A keepalive that asks for no answer. (Its time, microseconds since 2000, is for nobody.)
fn keepalive(end: u64) -> Vec<u8> {
    let mut message = vec![b'd', 0, 0, 0, 22, b'k'];
    message.extend_from_slice(&end.to_be_bytes());
    message.extend_from_slice(&[0; 9]);
    message
}
