//! A backlog of the log, read by statement instead of as a stream.
//!
//! A walsender hands every change to its socket by itself and looks for an answer after every record,
//! which takes nearly half of its time (see [`super::pace`]). The same decoder also runs below an SQL
//! function, whose rows leave in full buffers. But the function decodes all that it is asked for before
//! its first row comes. So the backlog is read in stretches, by two sessions in turn: while the stretch
//! of one is read, that of the other is decoded.
//!
//! ```text
//! log        ├── 1 ──┼── 2 ──┼──── 3 ────┼──── 4 ────┤ its end at the connect
//! session 0   decode   send   skip 2, decode     send
//! session 1   skip 1, decode   send    skip 3, decode       send
//! read here            1       2                 3          4    then the stream
//! ```
//!
//! 1. Each session makes a temporary copy of our slot, which goes with the session.
//! 2. With one query it moves our own slot to what is durable here, so that the source may forget its
//!    log; moves its copy over what the other session reads; and asks for the messages of its stretch.
//! 3. The end of a stretch is passed on as the stream's keepalive would be: everything that committed
//!    before it has come.
//!
//! A session reads its stretch, twice, from where the decoder can start, which moves on only where the
//! log has a snapshot of the running transactions (every 15 s of work). To skip a mebibyte takes 1.0 ms,
//! to read it once more 1.4, to decode it 6.7 (one AMD EPYC, PostgreSQL 15). So a stretch has half as much
//! log again as what has to be read before it, and what the source keeps of it in temporary files is
//! bounded by [`STRETCH_BYTES_MAX`].
//!
//! Invariants: every stretch but the last ends inside a page of the log, where no gap can be between
//! two records, so a commit is in one stretch exactly; our own slot never moves past what is durable.
//!
//! Does not: read past where the log ended at the connect; cope with a transaction that is sent in
//! progress and does not end in its stretch, as the next one would have all of it again: the caller
//! turns to the stream.

use std::time::Duration;

use postgres_protocol::message::backend;
use types::CommitPosition;

use super::catalog::first;
use super::config::PostgresConfig;
use super::connection::{Connection, ConnectionError, Mode, identifier, literal, server_error};
use super::pgoutput::Wrapper;
use crate::source::Stop;

/// The shortest stretches, bytes of log.
const STRETCH_BYTES_MIN: u64 = 128 << 20;
/// The longest stretches, bytes of log.
const STRETCH_BYTES_MAX: u64 = 512 << 20;
/// Stretches end so far behind a multiple of [`PAGE_BYTES_MAX`]: inside a page, whatever its size.
const IN_PAGE_BYTES: u64 = 512;
/// The largest page that a source's log can have.
const PAGE_BYTES_MAX: u64 = 64 << 10;
/// Bounds each session's receive buffer: what has been sent of a stretch while the other is read.
const WINDOW_BYTES: usize = 256 << 10;
/// What COPY in binary format begins with; flags and the length of nothing follow.
const COPY_SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// The number of columns that says that there are no more rows.
const NO_MORE_ROWS: [u8; 2] = [0xFF; 2];

/// What is read, and from where to where.
#[derive(Clone, Copy, Debug)]
pub struct BacklogOrder<'a> {
    /// The source.
    pub config: &'a PostgresConfig,
    /// The publication.
    pub publication: &'a str,
    /// Everything that committed before is here.
    pub from: u64,
    /// Where the source's log ends.
    pub log_end: u64,
    /// Up to here all is durable here.
    pub durable: u64,
}

/// The backlog that is being read.
pub struct Backlog {
    sessions: [Session; 2],
    /// Whose stretch is read.
    turn: usize,
    stretches: Stretches,
    durable: u64,
    slot: String,
    publication: String,
}

/// A session, with a slot of its own.
struct Session {
    connection: Connection,
    slot: String,
    /// Where the stretch that it was asked for ends.
    end: Option<u64>,
}

impl Backlog {
    /// Has the first two stretches decoded.
    pub fn begin(order: BacklogOrder<'_>, stop: &Stop) -> Result<Self, ConnectionError> {
        let slot = order.config.slot.clone();
        let mut connections = [connect(order.config, stop)?, connect(order.config, stop)?];
        // The copies start there. Being told what is durable has not moved it.
        connections[0].execute(&advance_restart(&slot))?;
        let [one, other] = connections;
        let mut sessions = [Session::begin(one, &slot)?, Session::begin(other, &slot)?];
        let restart = sessions[0].restart()?;
        let mut backlog = Self {
            sessions,
            turn: 0,
            stretches: Stretches {
                restart,
                next: order.from,
                log_end: order.log_end,
            },
            durable: order.durable,
            slot,
            publication: order.publication.to_owned(),
        };
        for session in 0..backlog.sessions.len() {
            backlog.ask(session)?;
        }
        Ok(backlog)
    }

    /// Up to here all is durable here.
    pub fn set_durable(&mut self, position: u64) {
        self.durable = position;
    }

    /// Whether all of it has been read.
    pub fn is_over(&self) -> bool {
        self.sessions[self.turn].end.is_none()
    }

    /// The next message that has been received, as the stream would bring it.
    pub fn next(&mut self) -> Result<Option<Wrapper<'_>>, ConnectionError> {
        if self.is_over() {
            return Ok(None);
        }
        loop {
            let connection = &mut self.sessions[self.turn].connection;
            match connection.next_tag()? {
                None => return Ok(None),
                Some(backend::COPY_DATA_TAG | backend::ERROR_RESPONSE_TAG) => break,
                Some(backend::READY_FOR_QUERY_TAG) => {
                    connection.buffered_frame()?;
                    return self.end_stretch().map(Some);
                }
                // The answers of the statements before, the beginning and the end of the copy.
                Some(_) => _ = connection.buffered_frame()?,
            }
        }
        let frame = self.sessions[self.turn].connection.buffered_frame()?;
        frame
            .map(|frame| match frame.tag {
                backend::COPY_DATA_TAG => read_copied(frame.body),
                _ => Err(server_error(frame.body)),
            })
            .transpose()
    }

    /// Receives what there is of the stretch that is read; how many bytes.
    pub fn fill(&mut self, timeout: Duration) -> Result<usize, ConnectionError> {
        self.sessions[self.turn].connection.fill(timeout)
    }

    /// The stretch that was read is all here: has another one decoded, and turns to the other session.
    fn end_stretch(&mut self) -> Result<Wrapper<'_>, ConnectionError> {
        let end = self.sessions[self.turn]
            .end
            .take()
            .expect("it was asked for");
        self.ask(self.turn)?;
        self.turn = (self.turn + 1) % self.sessions.len();
        Ok(Wrapper::Keepalive {
            wal_end: end,
            reply: false,
        })
    }

    /// Asks a session for the next stretch, if there is one.
    fn ask(&mut self, session: usize) -> Result<(), ConnectionError> {
        let Some((start, end)) = self.stretches.next() else {
            return Ok(());
        };
        let session = &mut self.sessions[session];
        let sql = format!(
            "{}; {}; COPY (SELECT lsn, data FROM pg_logical_slot_get_binary_changes({}, '{}', NULL, \
             'proto_version', '2', 'streaming', 'on', 'publication_names', {})) TO STDOUT (FORMAT binary)",
            // The stream that was left may still hold it.
            advance(&self.slot, self.durable) + " AND NOT active",
            advance(&session.slot, start),
            literal(&session.slot),
            CommitPosition(end),
            literal(&identifier(&self.publication)),
        );
        session.end = Some(end);
        session.connection.send_query(&sql)
    }
}

fn connect(config: &PostgresConfig, stop: &Stop) -> Result<Connection, ConnectionError> {
    let mut connection = Connection::open(config, Mode::Query, stop)?;
    connection.bound_receive_buffer(WINDOW_BYTES)?;
    // Where the server's system cannot tell, it decodes to the end of the stretch for nobody.
    _ = connection.execute("SET client_connection_check_interval = '1s'");
    Ok(connection)
}

impl Session {
    /// Makes the copy of our slot.
    fn begin(mut connection: Connection, slot: &str) -> Result<Self, ConnectionError> {
        // The process's number makes the name the only one, whatever another session has left.
        let sql = format!(
            "SELECT slot_name FROM pg_copy_logical_replication_slot({slot}, \
             left({slot}, 48) || '_' || pg_backend_pid(), true)",
            slot = literal(slot)
        );
        let slot = first(connection.query(&sql)?)?.text(0)?.to_owned();
        Ok(Self {
            connection,
            slot,
            end: None,
        })
    }

    /// Where the decoder starts.
    fn restart(&mut self) -> Result<u64, ConnectionError> {
        let sql = format!(
            "SELECT restart_lsn FROM pg_replication_slots WHERE slot_name = {}",
            literal(&self.slot)
        );
        let restart: CommitPosition = first(self.connection.query(&sql)?)?.parse(0)?;
        Ok(restart.0)
    }
}

/// Moves a slot forward; one that is there or further stays.
fn advance(slot: &str, position: u64) -> String {
    let (slot, position) = (literal(slot), CommitPosition(position));
    format!(
        "SELECT pg_replication_slot_advance(slot_name, '{position}') FROM pg_replication_slots \
         WHERE slot_name = {slot} AND confirmed_flush_lsn < '{position}'"
    )
}

/// Moves the place where a slot's decoder starts up to what the slot has confirmed; not while a stream that was
/// just left still holds it.
fn advance_restart(slot: &str) -> String {
    format!(
        "SELECT pg_replication_slot_advance(slot_name, confirmed_flush_lsn) \
         FROM pg_replication_slots WHERE slot_name = {} AND NOT active",
        literal(slot)
    )
}

/// Cuts a piece of the log into stretches.
#[derive(Clone, Debug)]
struct Stretches {
    /// Where the decoder starts.
    restart: u64,
    /// Where the next one begins.
    next: u64,
    /// Where the last one ends.
    log_end: u64,
}

/// Start and end of each.
impl Iterator for Stretches {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        let start = self.next;
        if start >= self.log_end {
            return None;
        }
        let read_before = start.saturating_sub(self.restart);
        let bytes = (read_before * 3 / 2).clamp(STRETCH_BYTES_MIN, STRETCH_BYTES_MAX);
        let end = (start + bytes).next_multiple_of(PAGE_BYTES_MAX) + IN_PAGE_BYTES;
        // A short rest is not worth what is read again for it.
        let is_last = end + bytes / 2 >= self.log_end;
        self.next = if is_last { self.log_end } else { end };
        Some((start, self.next))
    }
}

/// Reads a piece of the copy: a row of two columns, position and message, behind the signature if it is
/// the first one; or the end.
fn read_copied(piece: &[u8]) -> Result<Wrapper<'_>, ConnectionError> {
    let row = piece.strip_prefix(COPY_SIGNATURE).unwrap_or(piece);
    if row == NO_MORE_ROWS {
        // Nothing came, and nothing is known to have ended.
        return Ok(Wrapper::Keepalive {
            wal_end: 0,
            reply: false,
        });
    }
    let columns = row.split_first_chunk().and_then(|(head, rest)| {
        let [0, 2, 0, 0, 0, 8, position @ ..]: [u8; 14] = *head else {
            return None;
        };
        let (length, payload) = rest.split_first_chunk()?;
        let is_whole = u32::from_be_bytes(*length) as usize == payload.len();
        is_whole.then_some((u64::from_be_bytes(position), payload))
    });
    match columns {
        Some((position, payload)) => Ok(Wrapper::Data { position, payload }),
        None => Err(ConnectionError::Protocol(format!(
            "a row of {} bytes that is not a position and a message",
            row.len()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn stretches_cover_the_backlog_without_gap_and_overlap_and_end_inside_a_page() {
        for (restart, from, bytes) in [
            (0, 0, 1),
            (7, 7, 64 * MIB),
            (0x1_AC11_0C48, 0x1_AC11_0C80, 238 * MIB),
            (678, 12_345_678, 10_000 * MIB),
        ] {
            let log_end = from + bytes;
            let stretches = Stretches {
                restart,
                next: from,
                log_end,
            };
            let stretches: Vec<_> = stretches.collect();
            assert_eq!(stretches[0].0, from);
            assert_eq!(stretches[stretches.len() - 1].1, log_end);
            for pair in stretches.windows(2) {
                let end = pair[0].1;
                assert_eq!(end, pair[1].0);
                for page in [1 << 10, 8 << 10, PAGE_BYTES_MAX] {
                    assert!((64..page - 64).contains(&(end % page)), "{end:X}");
                }
            }
            let longest = STRETCH_BYTES_MAX * 3 / 2 + PAGE_BYTES_MAX + IN_PAGE_BYTES;
            assert!(stretches.iter().all(|(start, end)| end - start <= longest));
        }
    }

    #[test]
    fn rows_are_read_with_and_without_signature_and_cut_ones_refused() {
        let mut row = vec![
            0, 2, 0, 0, 0, 8, 0, 0, 0, 1, 0xAC, 0x11, 0x0C, 0x80, 0, 0, 0, 3,
        ];
        row.extend(b"Bxy");
        let expected = Wrapper::Data {
            position: 0x1_AC11_0C80,
            payload: b"Bxy",
        };
        assert_eq!(read_copied(&row).expect("a row"), expected);
        let first = [COPY_SIGNATURE, &row].concat();
        assert_eq!(read_copied(&first).expect("the first row"), expected);
        for cut in 0..row.len() {
            assert!(read_copied(&row[..cut]).is_err(), "cut at {cut}");
        }
        row.push(0);
        assert!(read_copied(&row).is_err(), "a byte too many");
    }

    #[test]
    fn the_end_of_a_copy_says_nothing_of_the_log() {
        let nothing = Wrapper::Keepalive {
            wal_end: 0,
            reply: false,
        };
        for end in [
            NO_MORE_ROWS.to_vec(),
            [COPY_SIGNATURE, &NO_MORE_ROWS].concat(),
        ] {
            assert_eq!(read_copied(&end).expect("an end"), nothing);
        }
    }
}
