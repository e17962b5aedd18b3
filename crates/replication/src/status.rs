//! How far each source is: written by its threads, read by anyone.
//!
//! The ladder of positions, each at or behind the one before: `sent` (the source has told of
//! it), `received` (decoded here), `visible` (readers see it), `durable` (a restart continues
//! after it). Positions are single atomics; the rest is behind a lock that is held for moments.
//!
//! Does not: wait for anything, decide anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use env::Clock;
use parking_lot::Mutex;
use types::CommitPosition;

use crate::primary::{Observation, Observed};
use crate::slot_status::SlotStatus;

/// What a source is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceState {
    /// Connecting for the first time.
    Connecting,
    /// The initial copy is running.
    Copying,
    /// Following the log, behind the position that the source had when we connected.
    CatchingUp,
    /// Following the log.
    Streaming,
    /// The connection was lost; it is tried again.
    Reconnecting,
    /// The log cannot be followed any further, for the reason told: what was copied is served as
    /// of its last position.
    Stale,
    /// It cannot go on without the operator; the reason says why.
    Failed,
    /// Shut down.
    Stopped,
}

impl SourceState {
    /// The state in lower case, as shown to users.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Copying => "copying",
            Self::CatchingUp => "catching up",
            Self::Streaming => "streaming",
            Self::Reconnecting => "reconnecting",
            Self::Stale => "stale",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }
}

/// How far the initial copy is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CopyProgress {
    /// Tables copied completely.
    pub tables_done: u64,
    /// Tables in all.
    pub tables: u64,
    /// Rows copied.
    pub rows: u64,
    /// Bytes of text received.
    pub bytes: u64,
    /// The size of the tables at the source; an estimate of `bytes` at the end.
    pub bytes_total: u64,
    /// Seconds since the copy began.
    pub elapsed_seconds: f64,
    /// Seconds to go at the average speed so far, once it can be told.
    pub remaining_seconds: Option<f64>,
}

impl CopyProgress {
    /// Rows a second since the copy began.
    pub fn rows_per_second(&self) -> f64 {
        if self.elapsed_seconds > 0.0 {
            self.rows as f64 / self.elapsed_seconds
        } else {
            0.0
        }
    }
}

/// One source, at one moment.
#[derive(Clone, Debug)]
pub struct SourceStatus {
    /// The source's name.
    pub name: String,
    /// What it is, such as `postgresql`.
    pub kind: String,
    /// What it is doing.
    pub state: SourceState,
    /// Why it is in this state, where that needs an explanation.
    pub reason: Option<String>,
    /// What the operator should know, such as tables that are not replicated.
    pub warnings: Vec<String>,
    /// The furthest position that the source has told of.
    pub sent: CommitPosition,
    /// Everything up to here has been decoded.
    pub received: CommitPosition,
    /// Everything up to here is visible to readers.
    pub visible: CommitPosition,
    /// Everything up to here survives a crash.
    pub durable: CommitPosition,
    /// Bytes of log between `sent` and `visible`.
    pub lag_bytes: u64,
    /// Age of the oldest change known not to be visible, 0 when there is none.
    pub lag_seconds: f64,
    /// Transactions applied since the start of the process.
    pub transactions: u64,
    /// Row changes applied since the start of the process.
    pub rows: u64,
    /// The initial copy, while it runs.
    pub copy: Option<CopyProgress>,
    /// What the source keeps of its log for us, once that is known.
    pub slot: Option<SlotStatus>,
    /// How the built-in primary is, where that is the source.
    pub primary: Option<Observation>,
}

/// The states of all sources of a process.
pub struct Status {
    clock: Arc<dyn Clock>,
    sources: Mutex<Vec<Arc<SourceHandle>>>,
}

impl Status {
    /// A status without sources.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            sources: Mutex::new(Vec::new()),
        }
    }

    /// Adds a source and hands out the means to report on it.
    pub fn register(&self, name: &str, kind: &str) -> Arc<SourceHandle> {
        let handle = Arc::new(SourceHandle::new(self.clock.clone(), name, kind));
        self.sources.lock().push(handle.clone());
        handle
    }

    /// All sources as they are now.
    pub fn sources(&self) -> Vec<SourceStatus> {
        self.sources
            .lock()
            .iter()
            .map(|source| source.status())
            .collect()
    }

    /// The time on the clock by which sources say when they saw something.
    pub fn now(&self) -> Duration {
        self.clock.monotonic()
    }

    /// Whether every source has reached the position that it had when this process first
    /// connected to it. Until then a reader could see an older state than it saw before a
    /// restart. Once true it stays true.
    pub fn caught_up_since_start(&self) -> bool {
        self.sources
            .lock()
            .iter()
            .all(|source| source.caught_up.load(Ordering::Acquire))
    }
}

/// What a source's threads report through.
pub struct SourceHandle {
    clock: Arc<dyn Clock>,
    name: String,
    kind: String,
    sent: AtomicU64,
    received: AtomicU64,
    visible: AtomicU64,
    durable: AtomicU64,
    /// Commit time at the source of the last visible transaction, microseconds; 0 = none.
    visible_time_us: AtomicI64,
    transactions: AtomicU64,
    rows: AtomicU64,
    caught_up: AtomicBool,
    /// Where the source was at the first connect; `u64::MAX` until known.
    target: AtomicU64,
    told: Mutex<Told>,
}

/// What is told in words.
struct Told {
    state: SourceState,
    reason: Option<String>,
    warnings: Vec<String>,
    copy: Option<CopyProgress>,
    slot: Option<SlotStatus>,
    primary: Option<Observed>,
}

impl SourceHandle {
    fn new(clock: Arc<dyn Clock>, name: &str, kind: &str) -> Self {
        Self {
            clock,
            name: name.to_owned(),
            kind: kind.to_owned(),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            visible: AtomicU64::new(0),
            durable: AtomicU64::new(0),
            visible_time_us: AtomicI64::new(0),
            transactions: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            caught_up: AtomicBool::new(false),
            target: AtomicU64::new(u64::MAX),
            told: Mutex::new(Told {
                state: SourceState::Connecting,
                reason: None,
                warnings: Vec::new(),
                copy: None,
                slot: None,
                primary: None,
            }),
        }
    }

    /// The source's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The furthest position that the source has told of.
    pub fn set_sent(&self, position: CommitPosition) {
        self.sent.fetch_max(position.0, Ordering::Relaxed);
    }

    /// Everything up to here has been decoded.
    pub fn set_received(&self, position: CommitPosition) {
        self.received.fetch_max(position.0, Ordering::Relaxed);
        self.set_sent(position);
    }

    /// Everything up to here is visible; the last transaction committed at `commit_time_us`.
    pub fn set_visible(&self, position: CommitPosition, commit_time_us: i64) {
        self.set_received(position);
        self.visible_time_us
            .store(commit_time_us, Ordering::Relaxed);
        self.visible.fetch_max(position.0, Ordering::Release);
        self.note_caught_up();
    }

    /// Everything up to here survives a crash.
    pub fn set_durable(&self, position: CommitPosition) {
        self.durable.fetch_max(position.0, Ordering::Relaxed);
    }

    /// Counts what was applied.
    pub fn count(&self, transactions: u64, rows: u64) {
        self.transactions.fetch_add(transactions, Ordering::Relaxed);
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// Everything up to here is visible.
    pub fn visible(&self) -> CommitPosition {
        CommitPosition(self.visible.load(Ordering::Acquire))
    }

    /// Where the source is now. The first call names the position that
    /// [`Status::caught_up_since_start`] waits for; later ones change nothing.
    pub fn set_target(&self, position: CommitPosition) {
        let unknown = u64::MAX;
        let target = &self.target;
        // Lost race and second call alike: the first position stays.
        _ = target.compare_exchange(unknown, position.0, Ordering::AcqRel, Ordering::Acquire);
        self.note_caught_up();
    }

    /// Whether the source has reached the position that it had at the first connect.
    pub fn caught_up(&self) -> bool {
        self.caught_up.load(Ordering::Acquire)
    }

    fn note_caught_up(&self) {
        if self.caught_up() || self.visible().0 < self.target.load(Ordering::Acquire) {
            return;
        }
        self.caught_up.store(true, Ordering::Release);
        let mut told = self.told.lock();
        if told.state == SourceState::CatchingUp {
            told.state = SourceState::Streaming;
        }
    }

    /// Says what the source is doing, and why.
    pub fn set_state(&self, state: SourceState, reason: Option<String>) {
        let mut told = self.told.lock();
        told.state = match state {
            SourceState::CatchingUp if self.caught_up() => SourceState::Streaming,
            state => state,
        };
        told.reason = reason;
    }

    /// What the source is doing.
    pub fn state(&self) -> SourceState {
        self.told.lock().state
    }

    /// Adds something that the operator should know, once.
    pub fn warn(&self, warning: String) {
        let mut told = self.told.lock();
        if !told.warnings.contains(&warning) {
            told.warnings.push(warning);
        }
    }

    /// Says how far the initial copy is; `None` when it is over.
    pub fn set_copy(&self, copy: Option<CopyProgress>) {
        self.told.lock().copy = copy;
    }

    /// Says that the source is a built-in primary, and where that tells how it is.
    pub fn set_primary(&self, primary: Observed) {
        self.told.lock().primary = Some(primary);
    }

    /// Says what the source keeps of its log for us.
    pub fn set_slot(&self, slot: Option<SlotStatus>) {
        self.told.lock().slot = slot;
    }

    /// Where the source's log ended when its slot was looked at last.
    pub fn log_end(&self) -> Option<CommitPosition> {
        self.told.lock().slot.as_ref().map(|slot| slot.log_end)
    }

    /// The log cannot be followed any further. Nothing newer will come, so nobody waits for it.
    pub fn set_stale(&self, reason: String) {
        self.set_state(SourceState::Stale, Some(reason));
        self.caught_up.store(true, Ordering::Release);
    }

    /// The source as it is now.
    pub fn status(&self) -> SourceStatus {
        let visible = self.visible();
        let sent = CommitPosition(self.sent.load(Ordering::Relaxed)).max(visible);
        let lag_bytes = sent.0 - visible.0;
        let told = self.told.lock();
        SourceStatus {
            name: self.name.clone(),
            kind: self.kind.clone(),
            state: told.state,
            reason: told.reason.clone(),
            warnings: told.warnings.clone(),
            sent,
            received: CommitPosition(self.received.load(Ordering::Relaxed)),
            visible,
            durable: CommitPosition(self.durable.load(Ordering::Relaxed)),
            lag_bytes,
            lag_seconds: if lag_bytes > 0 {
                self.seconds_since_visible()
            } else {
                0.0
            },
            transactions: self.transactions.load(Ordering::Relaxed),
            rows: self.rows.load(Ordering::Relaxed),
            copy: told.copy.clone(),
            slot: told.slot.clone(),
            primary: told.primary.as_ref().map(Observed::latest),
        }
    }

    fn seconds_since_visible(&self) -> f64 {
        let time = self.visible_time_us.load(Ordering::Relaxed);
        if time == 0 {
            return 0.0;
        }
        (self.clock.wall_us() - time).max(0) as f64 / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> (Status, Arc<SourceHandle>) {
        let status = Status::new(Arc::new(env::RealClock::new()));
        let source = status.register("orders", "postgresql");
        (status, source)
    }

    #[test]
    fn caught_up_only_at_the_first_target() {
        let (status, source) = status();
        source.set_visible(CommitPosition(90), 1);
        assert!(!status.caught_up_since_start(), "no target yet");
        source.set_target(CommitPosition(100));
        source.set_target(CommitPosition(200));
        source.set_state(SourceState::CatchingUp, None);
        source.set_visible(CommitPosition(99), 1);
        assert!(!status.caught_up_since_start());
        source.set_visible(CommitPosition(100), 1);
        assert!(status.caught_up_since_start());
        assert_eq!(source.state(), SourceState::Streaming);
    }

    #[test]
    fn the_ladder_never_goes_back() {
        let (status, source) = status();
        source.set_visible(CommitPosition(50), 1);
        source.set_received(CommitPosition(40));
        source.set_sent(CommitPosition(70));
        let shown = &status.sources()[0];
        assert_eq!(
            (shown.sent.0, shown.received.0, shown.visible.0),
            (70, 50, 50)
        );
        assert_eq!(shown.lag_bytes, 20);
        assert!(shown.lag_seconds > 0.0);
    }
}
