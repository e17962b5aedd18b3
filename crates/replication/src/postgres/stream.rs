//! The socket thread: follows the log from the last durable position on.
//!
//! One turn of the loop:
//! 1. take in every message that has been received (see [`super::changes`]);
//! 2. hand a batch to the apply loop when its time has come: [`PUBLISH_INTERVAL`] after the
//!    last one at the earliest, so that a lone transaction is visible at once and many small
//!    ones travel together; while the apply loop is busy, batches grow;
//! 3. tell the server what is durable, as soon as it is and at least every [`STATUS_INTERVAL`], also
//!    while waiting for the apply loop: a slow apply never costs the connection;
//! 4. wait for bytes.
//!
//! Large transactions come while they are still in progress and wait in spools (see
//! [`super::in_progress`]) until they commit. Should the spools become too large, the stream begins
//! again without that, and the server keeps them instead.
//!
//! Where much has piled up at the source, it is read by statement first (see [`super::backlog`]), and the
//! stream begins at its end; a stream that falls far behind is left for that between two transactions. The
//! stream is what remains where the source refuses such statements, and where a large transaction is in
//! progress.
//!
//! A lost connection is made again with growing, jittered pauses, and everything that could
//! mean a gap is checked before a single change is read (see [`super::slot`]).
//!
//! Invariant: what the server is told as flushed is only ever what [`crate::source::Confirmed`]
//! says.

use std::time::Duration;

use crossbeam_channel::{Receiver, SendTimeoutError, Sender, TrySendError};
use rand::Rng;
use types::{ChangeBatch, CommitPosition};

use super::POSTGRES_EPOCH_US;
use super::backlog::{Backlog, BacklogOrder};
use super::changes::{Changes, ChangesError, CopyOrder};
use super::config::PostgresConfig;
use super::connection::{Connection, ConnectionError, Mode, literal};
use super::in_progress::{CommittedSpool, InProgress, InProgressError, Taken};
use super::link::{Link, LinkError};
use super::link_choice::LinkChoice;
use super::pace::{self, Pace};
use super::pgoutput::{Wrapper, status_update};
use super::repair::Repairs;
use super::resync::{CopyReport, CopyTurns, Resyncs, TableCopy};
use super::slot::{self, CheckError};
use super::spool::{SpoolError, Spools};
use super::state::PostgresState;
use crate::checkpoint::CheckpointError;
use crate::projection::request::Request;
use crate::source::{Feed, PUBLISH_INTERVAL, SourceError};
use crate::status::SourceState;

/// A server that answers within this time is near.
const NEAR: Duration = Duration::from_millis(2);
/// The server hears from us at least this often.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);
/// Until the replica has caught up, an idle server is asked for its position this often.
const CATCH_UP_INTERVAL: Duration = Duration::from_millis(50);
/// A server that has been silent for so long, though asked, is taken for dead.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// The longest wait for bytes, so that a request to stop is seen.
const TURN: Duration = Duration::from_millis(100);
/// What transactions in progress may take on the disk.
const SPOOL_BYTES_MAX: u64 = 16 << 30;
/// How often our tables are compared with those of the publication.
const COMPARE_INTERVAL: Duration = Duration::from_secs(20);
/// The first pause before a lost connection is made again; it doubles each time.
const PAUSE_MIN: Duration = Duration::from_millis(100);
/// The longest pause before a lost connection is made again.
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// Why a connection's stream ended.
#[derive(Debug, thiserror::Error)]
enum StreamError {
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    #[error(transparent)]
    Changes(#[from] ChangesError),
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error(transparent)]
    Check(#[from] CheckError),
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    #[error(transparent)]
    InProgress(#[from] InProgressError),
    #[error("the server has not answered for {} seconds", SILENCE_MAX.as_secs())]
    Silent,
    /// The apply loop has ended; it tells its own reason.
    #[error("the apply loop has ended")]
    ApplyEnded,
}

impl StreamError {
    /// Whether a new connection may help.
    fn passes(&self) -> bool {
        match self {
            Self::Connection(error)
            | Self::Link(LinkError::Connection(error))
            | Self::Check(CheckError::Connection(error))
            | Self::Changes(ChangesError::Describe(error)) => error.passes(),
            // Without streaming the source keeps them itself, until they commit.
            Self::InProgress(InProgressError::Spool(_)) => true,
            // The stream does not need what is refused there.
            Self::Link(LinkError::Backlog(_) | LinkError::Ended) | Self::Silent => true,
            _ => false,
        }
    }

    fn stopped(&self) -> bool {
        matches!(
            self,
            Self::ApplyEnded
                | Self::Connection(ConnectionError::Stopped)
                | Self::Link(LinkError::Connection(ConnectionError::Stopped))
                | Self::Link(LinkError::Backlog(ConnectionError::Stopped))
                | Self::Check(CheckError::Connection(ConnectionError::Stopped))
                | Self::Changes(ChangesError::Describe(ConnectionError::Stopped))
        )
    }
}

/// Where the stream is to continue.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Everything up to here was applied.
    pub position: CommitPosition,
    /// Where the server continues.
    pub resume: u64,
}

/// The stream of one source, over any number of connections.
pub struct Stream<'a> {
    config: &'a PostgresConfig,
    state: &'a PostgresState,
    feed: &'a Feed,
    changes: Changes,
    in_progress: InProgress,
    /// Whether the log has been followed over some connection.
    followed: bool,
    /// Whether the server sends transactions that are in progress.
    streaming: bool,
    link_choice: LinkChoice,
    /// What the last batch ended with.
    sent: Start,
    last_sent_at: Duration,
    last_asked_at: Duration,
    last_heard_at: Duration,
    pace: Pace,
    /// When to read next.
    read_at: Duration,
    /// The furthest position that the server has told of.
    received: u64,
    confirmed: u64,
    answer_due: bool,
    /// Reports of the copies that go on.
    reports: (Sender<CopyReport>, Receiver<CopyReport>),
    turns: CopyTurns,
    resyncs: Resyncs,
    repairs: Repairs,
    /// Wishes for projections, and the place that the log must have passed.
    wishes: Vec<(Request, CommitPosition)>,
    compared_at: Duration,
}

impl<'a> Stream<'a> {
    /// A stream that continues at `start`.
    pub fn new(
        config: &'a PostgresConfig,
        state: &'a PostgresState,
        feed: &'a Feed,
        changes: Changes,
        resyncs: Resyncs,
        start: Start,
    ) -> Result<Self, SpoolError> {
        let disk = feed.disk.clone();
        let spools = Spools::new(disk, &feed.spool_directory, SPOOL_BYTES_MAX)?;
        Ok(Self {
            in_progress: InProgress::new(spools),
            followed: false,
            streaming: true,
            link_choice: LinkChoice::new(config.backlog),
            config,
            state,
            feed,
            changes,
            sent: start,
            last_sent_at: Duration::ZERO,
            last_asked_at: Duration::ZERO,
            last_heard_at: Duration::ZERO,
            pace: Pace::new(false),
            read_at: Duration::ZERO,
            received: start.resume,
            confirmed: 0,
            answer_due: false,
            reports: crossbeam_channel::unbounded(),
            turns: CopyTurns::default(),
            resyncs,
            repairs: Repairs::default(),
            wishes: Vec::new(),
            compared_at: Duration::ZERO,
        })
    }

    /// Follows the log until told to stop; an error when that is not possible any more.
    pub fn run(&mut self) -> Result<(), SourceError> {
        let mut pause = PAUSE_MIN;
        while !self.feed.stop.is_set() {
            let connected_at = self.feed.clock.monotonic();
            let Err(error) = self.follow() else {
                return Ok(());
            };
            if error.stopped() {
                return Ok(());
            }
            if let StreamError::Check(CheckError::Gap(gap)) = &error {
                return Err(gap.answer(self.config.on_gap, self.followed));
            }
            if !error.passes() {
                return Err(SourceError::Refused(error.to_string()));
            }
            if self.feed.clock.monotonic() - connected_at > PAUSE_MAX {
                pause = PAUSE_MIN;
            }
            tracing::warn!(%error, source = self.feed.status.name(), "connection lost, trying again");
            self.feed
                .status
                .set_state(SourceState::Reconnecting, Some(error.to_string()));
            match error {
                StreamError::InProgress(_) => self.streaming = false,
                StreamError::Link(LinkError::Backlog(error)) if !error.ended_session() => {
                    self.link_choice.meet_refusal(self.feed.clock.monotonic());
                }
                _ => {}
            }
            self.forget_unsent();
            if self
                .feed
                .stop
                .wait(pause.mul_f64(rand::rng().random_range(0.5..1.5)))
            {
                break;
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
        Ok(())
    }

    /// Connects and follows the log, over one link after the other, until the connection is lost or we are told
    /// to stop.
    fn follow(&mut self) -> Result<(), StreamError> {
        while !self.feed.stop.is_set() {
            let mut link = self.connect()?;
            self.followed = true;
            self.feed.status.set_state(SourceState::CatchingUp, None);
            self.last_heard_at = self.feed.clock.monotonic();
            self.answer_due = true;
            self.compare_tables()?;
            self.send_what_must_go(&mut link)?;
            while !self.is_link_done(&link) {
                self.turn(&mut link)?;
                if self.feed.stop.is_set() {
                    return Ok(());
                }
            }
            if self.changes.can_cut() {
                self.send_and_wait(&mut link)?;
            }
            self.forget_unsent();
        }
        Ok(())
    }

    /// One turn of the loop.
    fn turn(&mut self, link: &mut Link) -> Result<(), StreamError> {
        self.take_in(link)?;
        self.see_to_tables(link)?;
        self.send_when_due()?;
        self.report_when_due(link)?;
        self.nap();
        let bytes = link.fill(self.patience())?;
        let now = self.feed.clock.monotonic();
        if bytes > 0 {
            self.last_heard_at = now;
            self.read_at = now + self.pace.nap_after(bytes);
        } else if matches!(link, Link::Backlog(_)) {
            // A stretch is decoded before its first byte comes; the kernel finds out if nobody is there.
            self.last_heard_at = now;
        } else if now - self.last_heard_at > SILENCE_MAX {
            return Err(StreamError::Silent);
        }
        Ok(())
    }

    /// Whether to go on over another link, between two transactions.
    fn is_link_done(&self, link: &Link) -> bool {
        let last = self.changes.last().0;
        match link {
            Link::Backlog(backlog) => backlog.is_over() || self.link_choice.leaves_statements(last),
            // Without streaming the function would pile up a whole large transaction.
            Link::Stream(_) if !self.streaming => false,
            Link::Stream(_) => {
                let log_end = self.feed.status.log_end().map_or(0, |end| end.0);
                let now = self.feed.clock.monotonic();
                self.link_choice.leaves_stream(last, log_end, now)
                    && self.changes.is_between_transactions()
                    && self.in_progress.is_empty()
            }
        }
    }

    /// Whoever comes next sends again what has not gone out.
    fn forget_unsent(&mut self) {
        self.in_progress.reconnect();
        self.changes.reconnect(self.sent.position, self.sent.resume);
    }

    /// Waits for the time of the next read; what was taken in meanwhile counts.
    fn nap(&self) {
        let nap = self.read_at.saturating_sub(self.feed.clock.monotonic());
        if !nap.is_zero() {
            // Whether to stop is looked at in any case.
            _ = self.feed.stop.wait(nap);
        }
    }

    /// Bounds the window if the server is near.
    fn set_pace(&mut self, connection: &mut Connection) -> Result<(), StreamError> {
        let asked_at = self.feed.clock.monotonic();
        connection.query("select 1")?;
        let near = self.feed.clock.monotonic() - asked_at < NEAR;
        if near {
            connection.bound_receive_buffer(pace::WINDOW_BYTES)?;
        }
        self.pace = Pace::new(near);
        Ok(())
    }

    fn connect(&mut self) -> Result<Link, StreamError> {
        let config = self.config;
        let mut connection = Connection::open(config, Mode::Replication, &self.feed.stop)?;
        let resume = CommitPosition(self.sent.resume);
        let log_end = slot::check(&mut connection, config, &self.state.identity, resume)?;
        self.feed
            .status
            .set_target(CommitPosition(log_end.0.saturating_sub(1)));
        self.feed
            .status
            .set_sent(CommitPosition(log_end.0.saturating_sub(1)));
        self.changes.log_ended_at(log_end);
        let now = self.feed.clock.monotonic();
        let choice = &self.link_choice;
        if self.streaming && choice.is_for_statements(resume.0, log_end.0, now) {
            return self.read_backlog(log_end);
        }
        self.set_pace(&mut connection)?;
        connection.copy_both(&format!(
            "START_REPLICATION SLOT \"{}\" LOGICAL {resume} (proto_version '2', \
             streaming '{}', publication_names {})",
            config.slot,
            if self.streaming { "on" } else { "off" },
            literal(&super::connection::identifier(&self.state.publication))
        ))?;
        tracing::info!(source = self.feed.status.name(), %resume, "following the log");
        Ok(Link::Stream(connection))
    }

    fn read_backlog(&mut self, log_end: CommitPosition) -> Result<Link, StreamError> {
        let from = CommitPosition(self.sent.resume);
        let order = BacklogOrder {
            config: self.config,
            publication: &self.state.publication,
            from: from.0,
            log_end: log_end.0,
            durable: self.feed.confirmed.latest()?.resume,
        };
        let backlog = Backlog::begin(order, &self.feed.stop).map_err(LinkError::Backlog)?;
        self.pace = Pace::new(false);
        tracing::info!(source = self.feed.status.name(), %from, %log_end, "reading the backlog");
        Ok(Link::Backlog(Box::new(backlog)))
    }

    /// Takes in every message that has been received.
    fn take_in(&mut self, link: &mut Link) -> Result<(), StreamError> {
        let is_backlog = matches!(link, Link::Backlog(_));
        while let Some(wrapper) = link.next()? {
            let stretch_end = match wrapper {
                Wrapper::Keepalive { wal_end, .. } if is_backlog => wal_end,
                _ => 0,
            };
            match self.take_in_wrapper(wrapper)? {
                None => self.send_what_must_go(link)?,
                Some(committed) => self.take_in_spool(&committed, link)?,
            }
            if stretch_end > 0 && !self.in_progress.is_empty() {
                self.link_choice.meet_transaction(stretch_end);
                break;
            }
        }
        let status = &self.feed.status;
        status.set_received(self.changes.last());
        for warning in self.changes.take_warnings() {
            tracing::warn!(source = status.name(), "{warning}");
            status.warn(warning);
        }
        Ok(())
    }

    /// Sees to copies: of tables that are new, that were asked for, that are complete.
    fn see_to_tables(&mut self, link: &mut Link) -> Result<(), StreamError> {
        while let Ok((table, outcome)) = self.reports.1.try_recv() {
            self.changes.copied(table, outcome)?;
        }
        while let Ok(request) = self.resyncs.receiver.try_recv() {
            let begun = self.changes.resync(&request.table)?;
            self.send_what_must_go(link)?;
            // Who asked may have lost patience.
            _ = request
                .answer
                .send(begun.map(|place| self.changes.tree(place)));
        }
        let now = self.feed.clock.monotonic();
        for (table, damage) in self.repairs.due(now, &self.feed.store, &self.feed.catalog) {
            self.changes.repair(table, &damage)?;
        }
        if now - self.compared_at >= COMPARE_INTERVAL {
            self.compare_tables()?;
        }
        self.changes.compare_partitions()?;
        self.changes.complete_copies()?;
        self.send_what_must_go(link)?;
        self.see_to_projections(link)
    }

    /// Carries out wishes for projections where a transaction has ended.
    fn see_to_projections(&mut self, link: &mut Link) -> Result<(), StreamError> {
        while let Some(request) = self.feed.catalog.projection_requests().next() {
            match self.changes.check_wish(&request.wish)? {
                Ok(place) => self.wishes.push((request, place)),
                Err(refusal) => request.answer(Err(refusal)),
            }
        }
        if self.wishes.is_empty() || !self.changes.is_between_transactions() {
            return Ok(());
        }
        let passed = CommitPosition(self.changes.last().0.saturating_add(1));
        let due: Vec<_> = (self.wishes)
            .extract_if(.., |(_, place)| *place <= passed)
            .collect();
        for (request, _) in due
            .into_iter()
            .filter(|(request, _)| !request.is_given_up())
        {
            let begun = self.changes.carry_out_wish(&request.wish)?;
            // The batch arrives even if the connection is lost.
            let sent = self.send_what_must_go(link);
            request.answer(begun);
            sent?;
        }
        Ok(())
    }

    fn compare_tables(&mut self) -> Result<(), StreamError> {
        self.changes.compare_tables()?;
        self.compared_at = self.feed.clock.monotonic();
        Ok(())
    }

    /// Hands on what must not wait, and has the copies begin whose trees are in it.
    fn send_what_must_go(&mut self, link: &mut Link) -> Result<(), StreamError> {
        let mut lost = Ok(());
        while self.changes.must_cut() {
            // What follows belongs together: a lost connection must not come between.
            lost = lost.and(self.send_and_wait(link));
            for order in self.changes.take_copies() {
                self.begin_copy(order);
            }
            if matches!(lost, Err(StreamError::ApplyEnded)) {
                break;
            }
        }
        lost
    }

    /// The hold is taken before the batch that makes the tree goes out.
    fn begin_copy(&self, order: CopyOrder) {
        let table = order.published.name.clone();
        tracing::info!(%table, "copying a table");
        let copy = TableCopy {
            order,
            hold: self.feed.store.hold_history(),
            target: self.feed.target(),
            config: self.config.clone(),
            reports: self.reports.0.clone(),
            turns: self.turns.clone(),
        };
        (self.feed.spawner)("copy", Box::new(move || copy.run()));
    }

    /// Takes in a transaction that was sent before it committed.
    fn take_in_spool(
        &mut self,
        committed: &CommittedSpool,
        link: &mut Link,
    ) -> Result<(), StreamError> {
        let position = CommitPosition(committed.commit_position);
        self.changes.begin(position, committed.transaction)?;
        if let Some(spool) = &committed.spool {
            let mut messages = spool.messages();
            while let Some(message) = messages.next_message().map_err(InProgressError::Spool)? {
                self.changes.message(message)?;
                if self.changes.must_cut() {
                    self.send_what_must_go(link)?;
                    self.report_when_due(link)?;
                }
            }
        }
        self.changes
            .commit(position, committed.end, committed.commit_time)?;
        self.send_what_must_go(link)
    }

    /// Takes a message in; a transaction that was sent in progress and has committed is the
    /// caller's to take in.
    fn take_in_wrapper(
        &mut self,
        wrapper: Wrapper<'_>,
    ) -> Result<Option<CommittedSpool>, StreamError> {
        match wrapper {
            Wrapper::Data { position, payload } => {
                self.received = self.received.max(position);
                match self.in_progress.take(payload)? {
                    Taken::Ordinary => self.changes.message(payload)?,
                    Taken::Kept => {}
                    Taken::Committed(committed) => return Ok(Some(committed)),
                }
            }
            Wrapper::Keepalive { wal_end, reply } => {
                self.received = self.received.max(wal_end);
                self.changes.keepalive(wal_end);
                self.answer_due |= reply;
            }
        }
        Ok(None)
    }

    /// Hands a batch on if its time has come and the apply loop can take it.
    fn send_when_due(&mut self) -> Result<(), StreamError> {
        let now = self.feed.clock.monotonic();
        if !self.changes.can_cut() || now - self.last_sent_at < PUBLISH_INTERVAL {
            return Ok(());
        }
        if self.feed.batches.is_full() {
            return Ok(());
        }
        let batch = self.take_batch();
        match self.feed.batches.try_send(batch) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_)) => unreachable!("this is the only sender"),
            Err(TrySendError::Disconnected(_)) => Err(StreamError::ApplyEnded),
        }
    }

    /// Hands a batch on, however long the apply loop takes, and keeps the connection alive. The
    /// batch arrives even if the connection is lost meanwhile: the stream goes on behind it.
    fn send_and_wait(&mut self, link: &mut Link) -> Result<(), StreamError> {
        let mut batch = self.take_batch();
        let mut kept_alive = Ok(());
        loop {
            match self.feed.batches.send_timeout(batch, TURN) {
                Ok(()) => return kept_alive,
                Err(SendTimeoutError::Timeout(back)) => batch = back,
                Err(SendTimeoutError::Disconnected(_)) => return Err(StreamError::ApplyEnded),
            }
            if self.feed.stop.is_set() {
                return Err(StreamError::ApplyEnded);
            }
            if kept_alive.is_ok() {
                kept_alive = self.report_when_due(link);
            }
            self.last_heard_at = self.feed.clock.monotonic();
        }
    }

    fn take_batch(&mut self) -> ChangeBatch {
        let batch = self.changes.take_batch();
        if let Some(position) = batch.committed {
            self.sent = Start {
                position,
                resume: batch.resume,
            };
        }
        self.last_sent_at = self.feed.clock.monotonic();
        batch
    }

    /// How long to wait for bytes.
    fn patience(&self) -> Duration {
        if self.changes.can_cut() {
            return PUBLISH_INTERVAL;
        }
        if self.feed.status.caught_up() {
            TURN
        } else {
            CATCH_UP_INTERVAL
        }
    }

    /// Tells the server where we are, when it asks, when more is durable, and now and then;
    /// and asks for its position when it has nothing to send.
    fn report_when_due(&mut self, link: &mut Link) -> Result<(), StreamError> {
        let connection = match link {
            Link::Stream(connection) => connection,
            Link::Backlog(backlog) => {
                backlog.set_durable(self.feed.confirmed.latest()?.resume);
                return Ok(());
            }
        };
        let now = self.feed.clock.monotonic();
        let interval = if self.feed.status.caught_up() {
            STATUS_INTERVAL
        } else {
            CATCH_UP_INTERVAL
        };
        let asks = now - self.last_asked_at >= interval;
        let confirmed = self.feed.confirmed.latest()?.resume;
        if !asks && !self.answer_due && confirmed <= self.confirmed {
            return Ok(());
        }
        self.confirmed = confirmed.max(self.confirmed);
        let visible = self.feed.status.visible().0;
        let time = self.feed.clock.wall_us() - POSTGRES_EPOCH_US;
        let message = status_update(self.received, self.confirmed, visible, time, asks);
        connection.send_copy_data(&message)?;
        // What is told in between must not put off the next question.
        if asks {
            self.last_asked_at = now;
        }
        self.answer_due = false;
        Ok(())
    }
}
