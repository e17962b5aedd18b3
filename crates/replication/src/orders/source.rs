//! The workload as a source: fills the store's tables through the apply loop, at a pace.
//!
//! 1. On the first start it creates the four tables; on later ones it checks that the stored
//!    ones come from the same seed.
//! 2. It goes on from the checkpoint's command, as the stream can start anywhere.
//! 3. It yields what is due at the wanted rate, or as fast as the channel takes it, until the
//!    wanted number of orders has been placed; then it waits to be stopped.
//!
//! Does not: confirm anything. There is no log to cut, the stream can always be told again.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::SendTimeoutError;
use env::Clock;
use parking_lot::Mutex;
use serde_json::{Value, json};
use types::{ChangeBatch, CommitPosition, TableId};

use super::ledger::Totals;
use super::stream::{OrderStream, Yielded, position_after};
use super::tables::Table;
use super::workload::Workload;
use crate::catalog::{TableEntry, TableState};
use crate::checkpoint::{Checkpoint, Phase};
use crate::source::{Feed, Source, SourceError, Target};
use crate::status::SourceState;

/// The kind under which the source is shown.
pub const KIND: &str = "orders";

/// Grows when the same seed begins to mean other orders.
const GENERATION: u64 = 1;

/// Commands in a batch at most: some tens of thousands of rows.
const BATCH_COMMANDS: u64 = 2_000;
/// How often a paced source yields.
const TICK: Duration = Duration::from_millis(25);
/// How long to wait for room in the channel before looking whether to stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// What the source is to do.
#[derive(Clone, Copy, Debug)]
pub struct OrderOptions {
    /// Which orders there are.
    pub seed: u64,
    /// Orders a second; `None`: as many as the store takes.
    pub rate: Option<f64>,
    /// Orders to place in this run, those that are rolled back among them; `None`: no end.
    pub orders: Option<u64>,
}

/// How far the source is, for whoever watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct OrderProgress {
    /// What this run has yielded.
    pub yielded: Yielded,
    /// What all tables hold when everything yielded is visible.
    pub totals: Totals,
    /// Where everything yielded is visible.
    pub position: CommitPosition,
    /// When it was yielded, by the source's clock.
    pub yielded_at: Duration,
    /// Whether all orders of this run have been yielded.
    pub finished: bool,
}

/// The order-entry source.
pub struct OrderSource {
    options: OrderOptions,
    clock: Arc<dyn Clock>,
    progress: Arc<Mutex<OrderProgress>>,
}

impl OrderSource {
    /// A source that has not begun.
    pub fn new(options: OrderOptions, clock: Arc<dyn Clock>) -> Self {
        Self {
            options,
            clock,
            progress: Arc::default(),
        }
    }

    /// The means to watch it, also once it runs.
    pub fn progress(&self) -> Arc<Mutex<OrderProgress>> {
        self.progress.clone()
    }

    /// What a data directory remembers of its source.
    fn identity(&self) -> Value {
        json!({ "kind": KIND, "generation": GENERATION, "seed": self.options.seed })
    }

    /// Checks that a data directory was filled by this source.
    fn check_identity(&self, stored: &Value) -> Result<(), SourceError> {
        if *stored == self.identity() {
            return Ok(());
        }
        let kind = stored.get("kind").and_then(Value::as_str);
        let reason = if kind != Some(KIND) {
            "the data directory holds the replica of another source. \
             Give the demonstration a directory of its own with --data"
                .to_owned()
        } else {
            format!(
                "the data directory holds other orders than seed {} gives in this release. \
                 Remove it, or give another with --data",
                self.options.seed
            )
        };
        Err(SourceError::Refused(reason))
    }

    /// Creates the tables in a store without a checkpoint: new, or left by a process that ended
    /// before it published anything.
    fn create_tables(&self, target: &Target) -> Result<Checkpoint, SourceError> {
        let mut checkpoint = Checkpoint::new(Phase::Streaming, self.identity());
        for (leftover, _) in target.store.tables() {
            checkpoint.next_table = checkpoint.next_table.max(leftover.0 + 1);
            target.store.drop_table(leftover)?;
        }
        let mut entries = Vec::new();
        for table in Table::ALL {
            let id = TableId(checkpoint.next_table);
            checkpoint.next_table += 1;
            target.store.create_table(id, table.schema())?;
            let schema = Arc::new(table.schema());
            entries.push(TableEntry {
                id,
                schema,
                state: TableState::Live,
            });
        }
        target.catalog.replace(entries);
        checkpoint.record_tables(&target.store, &target.catalog);
        Ok(checkpoint)
    }

    /// The commands to reach in this run.
    fn end_command(&self, start: u64) -> u64 {
        // The first command of all places no order.
        let load = u64::from(start == 0);
        self.options
            .orders
            .map_or(u64::MAX, |orders| start.saturating_add(load + orders))
    }

    fn report(&self, stream: &OrderStream, finished: bool) {
        *self.progress.lock() = OrderProgress {
            yielded: stream.yielded(),
            totals: stream.totals(),
            position: position_after(stream.next_command()),
            yielded_at: self.clock.monotonic(),
            finished,
        };
    }
}

impl Source for OrderSource {
    fn prepare(&mut self, target: &Target) -> Result<Checkpoint, SourceError> {
        let Some(checkpoint) = Checkpoint::load(&target.store)? else {
            return self.create_tables(target);
        };
        self.check_identity(&checkpoint.source)?;
        Ok(checkpoint)
    }

    fn run(&mut self, start: &Checkpoint, feed: &Feed) -> Result<(), SourceError> {
        let workload = Workload::new(self.options.seed);
        let end = self.end_command(start.resume);
        let table_id = |table: Table| {
            let entry = feed.catalog.by_name(super::tables::SCHEMA, table.name());
            entry.expect("preparing put all tables into the catalog").id
        };
        let mut stream = OrderStream::new(workload, start.resume, table_id);
        // Until the first command is visible there is nothing to ask.
        feed.status.set_target(position_after(start.resume.max(1)));
        feed.status.set_state(SourceState::CatchingUp, None);
        self.report(&stream, false);
        let mut pace = Pace::new(self.options.rate, &*self.clock);
        while stream.next_command() < end {
            let left = end - stream.next_command();
            let commands = pace.due(&*self.clock).min(left).min(BATCH_COMMANDS);
            if commands == 0 {
                if feed.stop.wait(TICK) {
                    return Ok(());
                }
                continue;
            }
            let batch = stream.next_batch(commands, self.clock.wall_us());
            pace.took(commands);
            feed.status
                .set_received(position_after(stream.next_command()));
            self.report(&stream, false);
            if !send(feed, batch) {
                return Ok(());
            }
        }
        self.report(&stream, true);
        while !feed.stop.wait(Duration::from_secs(1)) {}
        Ok(())
    }
}

/// Hands a batch to the apply loop; false when that is no longer wanted.
fn send(feed: &Feed, mut batch: ChangeBatch) -> bool {
    loop {
        if feed.stop.is_set() {
            return false;
        }
        match feed.batches.send_timeout(batch, PATIENCE) {
            Ok(()) => return true,
            Err(SendTimeoutError::Timeout(unsent)) => batch = unsent,
            Err(SendTimeoutError::Disconnected(_)) => return false,
        }
    }
}

/// Says how many commands are due.
struct Pace {
    rate: Option<f64>,
    since: Duration,
    /// Commands that are due and were not taken yet; parts of one among them.
    due: f64,
}

impl Pace {
    fn new(rate: Option<f64>, clock: &dyn Clock) -> Self {
        // One command is due at once, so that there is something to see.
        Self {
            rate,
            since: clock.monotonic(),
            due: 1.0,
        }
    }

    fn due(&mut self, clock: &dyn Clock) -> u64 {
        let Some(rate) = self.rate else {
            return BATCH_COMMANDS;
        };
        let now = clock.monotonic();
        self.due += rate * (now - self.since).as_secs_f64();
        // What could not be done within a second is given up, not made up for in a burst.
        self.due = self.due.min(rate.max(1.0));
        self.since = now;
        self.due as u64
    }

    fn took(&mut self, commands: u64) {
        self.due -= commands as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that a test sets.
    struct HandClock(Mutex<Duration>);

    impl Clock for HandClock {
        fn monotonic(&self) -> Duration {
            *self.0.lock()
        }

        fn wall_us(&self) -> i64 {
            0
        }
    }

    #[test]
    fn pace_follows_the_clock_and_gives_up_what_is_late() {
        let clock = HandClock(Mutex::new(Duration::ZERO));
        let mut pace = Pace::new(Some(100.0), &clock);
        assert_eq!(pace.due(&clock), 1);
        pace.took(1);
        assert_eq!(pace.due(&clock), 0);
        *clock.0.lock() = Duration::from_millis(255);
        assert_eq!(pace.due(&clock), 25);
        pace.took(25);
        *clock.0.lock() = Duration::from_secs(60);
        assert_eq!(pace.due(&clock), 100, "a second's worth at most");
        assert_eq!(Pace::new(None, &clock).due(&clock), BATCH_COMMANDS);
    }

    #[test]
    fn a_directory_of_another_source_is_refused() {
        let options = OrderOptions {
            seed: 7,
            rate: None,
            orders: None,
        };
        let source = OrderSource::new(options, Arc::new(HandClock(Mutex::default())));
        assert!(source.check_identity(&source.identity()).is_ok());
        let other = source.check_identity(&json!({ "system": "postgresql" }));
        assert!(other.is_err_and(|e| e.to_string().contains("another source")));
        let seed = json!({ "kind": KIND, "generation": GENERATION, "seed": 8 });
        let other = source.check_identity(&seed);
        assert!(other.is_err_and(|e| e.to_string().contains("seed 7")));
    }

    #[test]
    fn the_end_counts_orders_from_where_the_run_starts() {
        let options = OrderOptions {
            seed: 7,
            rate: None,
            orders: Some(10),
        };
        let source = OrderSource::new(options, Arc::new(HandClock(Mutex::default())));
        assert_eq!(source.end_command(0), 11);
        assert_eq!(source.end_command(11), 21);
    }
}
