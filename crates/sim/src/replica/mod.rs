//! A replica under test: the real store on a simulated disk, fed from a made-up source and held
//! against the model.
//!
//! The replica knows what the store was told and what it acknowledged, so it can check at any
//! time that
//!
//! 1. every live snapshot shows exactly the source's state at its position, whatever was
//!    flushed, merged or ingested since;
//! 2. after any end of the process, the reopened store is at a position that was published,
//!    with its metadata, not before the last one that was acknowledged;
//! 3. an operation that failed changed nothing that can be seen.
//!
//! While the store flushes or merges, changes arrive and snapshots are taken between two
//! operations of its disk, as other threads would do it.
//!
//! Here is a replica's life from one process to the next; beside it
//!
//! * [`options`]: the store's options, at random;
//! * [`steps`]: what it does while the process runs; [`ingestion`]: of that, what it takes from the
//!   source;
//! * [`interruption`]: what comes in between two operations of the disk;
//! * [`checks`]: what it must show;
//! * [`watch`]: what would be found if the process ended at some operation of the disk;
//! * [`done`]: what was done.
//!
//! Invariant: everything follows from the seed and the planned faults.

mod checks;
mod done;
mod ingestion;
mod interruption;
mod options;
mod steps;
mod watch;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use lsm::{HistoryHold, Snapshot, Store, StoreError, StoreOptions};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use types::{CommitPosition, TableId};

use crate::clock::SimulatedClock;
use crate::disk::{Crash, Faults, SimulatedDisk};
use crate::environment_with;
use crate::model::State;
use crate::source::Source;
use crate::tables::Table;
pub use done::Done;
use ingestion::Cursor;
pub use options::small_options;
pub use steps::Step;
use watch::{Image, Watch};

/// Where the store is.
pub const DIRECTORY: &str = "/data";

/// How long a replica waits: stores are idle by then.
const WAIT: Duration = Duration::from_secs(60);

/// A step failed, but nothing wrong was seen: the store said so.
pub type StepResult = Result<(), StoreError>;

/// A snapshot that is kept, and what it must show.
struct Kept {
    snapshot: Snapshot,
    state: Arc<State>,
}

/// The store with everything that has to be known to check it.
pub struct Replica {
    random: StdRng,
    disk: SimulatedDisk,
    clock: Arc<SimulatedClock>,
    options: StoreOptions,
    source: Rc<Source>,
    store: Option<Arc<Store>>,
    next: Cursor,
    /// Tables that exist for certain, and those whose making or dropping was not acknowledged.
    tables: BTreeMap<TableId, bool>,
    next_table: u32,
    visible: CommitPosition,
    visible_state: Arc<State>,
    /// The source's states at positions that were published and may be recovered.
    states: BTreeMap<CommitPosition, Arc<State>>,
    acknowledged: CommitPosition,
    watch: Watch,
    kept: Vec<Kept>,
    hold: Option<HistoryHold>,
    /// Errors of scans that a damaged disk is allowed, see [`Replica::tolerate_damage`].
    damage: Option<RefCell<Vec<StoreError>>>,
    done: Cell<Done>,
}

/// What the store keeps for the source with a position.
fn metadata(position: CommitPosition) -> Vec<u8> {
    format!("resume at {position}").into_bytes()
}

impl Replica {
    /// A replica with three empty tables, one of each shape, on a new disk.
    pub fn new(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let options = small_options(&mut random);
        let disk = SimulatedDisk::new(random.random());
        Self {
            random,
            disk,
            clock: Arc::default(),
            options,
            source: Rc::default(),
            store: None,
            next: Cursor::default(),
            tables: BTreeMap::new(),
            next_table: 0,
            visible: CommitPosition::ZERO,
            visible_state: Arc::default(),
            states: BTreeMap::new(),
            acknowledged: CommitPosition::ZERO,
            watch: Watch::default(),
            kept: Vec::new(),
            hold: None,
            damage: None,
            done: Cell::default(),
        }
    }

    /// The same with a source of smaller transactions.
    pub fn with_writes(self, writes_max: u32) -> Self {
        Self {
            source: Rc::new(Source::with_writes(writes_max)),
            ..self
        }
    }

    /// The same with room for every filter.
    pub fn with_filters(self) -> Self {
        let options = StoreOptions {
            filter_bytes: usize::MAX,
            ..self.options.clone()
        };
        Self { options, ..self }
    }

    /// The same with compaction buffers, under policies that let them grow, and room for every
    /// filter, without which nobody asks them.
    pub fn with_buffers(mut self) -> Self {
        let options = options::with_buffers(&self.options, &mut self.random);
        Self { options, ..self }.with_filters()
    }

    /// The disk, to plan faults.
    pub fn disk(&self) -> &SimulatedDisk {
        &self.disk
    }

    /// A number that sums up what has to be found when the process starts: the position that was
    /// acknowledged, the tables.
    pub fn expectation(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.acknowledged.0, &self.tables).hash(&mut hasher);
        hasher.finish()
    }

    /// The store's options.
    pub fn options(&self) -> &StoreOptions {
        &self.options
    }

    /// A second replica that goes on from the same place, on a copy of the disk.
    ///
    /// # Panics
    /// When the process runs: there is no second one in the same state.
    pub fn fork(&self) -> Self {
        assert!(self.store.is_none(), "no process runs");
        Self {
            random: self.random.clone(),
            ..self.on(self.disk.fork())
        }
    }

    /// From now on remembers what would be found if the process ended at some operation of the
    /// disk: at one of `every`, chosen by `seed`.
    pub fn make_images(&self, every: u32, seed: u64) {
        self.watch.make_images(every, seed);
    }

    /// What would have been found since the last call, each as a replica that has not started.
    pub fn take_images(&self) -> Vec<Self> {
        let images = self.watch.take_images();
        images.into_iter().map(|image| self.found(image)).collect()
    }

    /// What would be found if the process ended now, without any fault planned.
    pub fn found_after(&self, crash: Crash) -> Self {
        let disk = self.disk.fork().crash(crash);
        disk.plan(Faults::default());
        let durable = self.store.as_ref().map(|store| store.durable().position);
        Self {
            acknowledged: durable.unwrap_or(self.acknowledged),
            ..self.on(disk)
        }
    }

    fn found(&self, image: Image) -> Self {
        Self {
            random: StdRng::seed_from_u64(image.seed),
            acknowledged: image.acknowledged,
            tables: image.tables,
            done: Cell::default(),
            ..self.on(image.disk)
        }
    }

    fn on(&self, disk: SimulatedDisk) -> Self {
        Self {
            random: StdRng::seed_from_u64(0),
            disk,
            clock: Arc::default(),
            options: self.options.clone(),
            source: Rc::clone(&self.source),
            store: None,
            next: self.next,
            tables: self.tables.clone(),
            next_table: self.next_table,
            visible: self.visible,
            visible_state: Arc::clone(&self.visible_state),
            states: self.states.clone(),
            acknowledged: self.acknowledged,
            watch: Watch::default(),
            kept: Vec::new(),
            hold: None,
            damage: self.damage.clone(),
            done: self.done.clone(),
        }
    }

    /// From now on a scan may answer with an error that names a damaged file; rows still have to
    /// be right. [`Self::damage`] has the errors.
    pub fn tolerate_damage(&mut self) {
        self.damage = Some(RefCell::default());
    }

    /// The disk may have lied: what was acknowledged need not be there, and damage is tolerated.
    pub fn distrust_disk(&mut self) {
        self.tolerate_damage();
        self.acknowledged = CommitPosition::ZERO;
        self.tables = (0..self.next_table)
            .map(|table| (TableId(table), false))
            .collect();
    }

    /// The damage that scans reported.
    pub fn damage(&self) -> Vec<StoreError> {
        self.damage
            .as_ref()
            .map(|damage| damage.borrow().clone())
            .unwrap_or_default()
    }

    /// What was done so far.
    pub fn done(&self) -> Done {
        self.done.get()
    }

    /// Whether the process runs.
    pub fn is_running(&self) -> bool {
        self.store.is_some()
    }

    /// Starts the process: opens the store and checks what was recovered. An error is the
    /// store's own.
    pub fn start(&mut self) -> StepResult {
        assert!(self.store.is_none(), "one process at a time");
        let environment = environment_with(&self.disk, &self.clock);
        self.watch.know(self.acknowledged, &self.tables);
        self.watch.begin(&self.disk);
        let store = Store::open(environment, Path::new(DIRECTORY), self.options.clone())?;
        self.watch.ask(&store);
        self.check_recovered(&store);
        self.visible_state = self.state_at(store.visible());
        self.visible = store.visible();
        self.next = Cursor {
            transaction: self.source.transactions_until(self.visible),
            change: 0,
        };
        self.store = Some(store);
        self.note(|done| done.starts += 1);
        self.check_everything()
    }

    /// Ends the process, if it runs, and finds the disk that it leaves. What the process would
    /// do on its way out is not done.
    pub fn end(&mut self, crash: Crash) {
        self.acknowledge();
        let found = self.disk.crash(crash);
        self.stop();
        self.disk = found;
    }

    /// Ends the process in order; the disk is as it leaves it.
    pub fn stop(&mut self) {
        self.acknowledge();
        self.kept.clear();
        self.hold = None;
        if let Some(store) = self.store.take() {
            let stats = store.stats();
            self.note(|done| {
                done.merges += stats.merges_done;
                done.bytes_flushed += stats.bytes_flushed;
                done.bytes_merged += stats.bytes_merged;
            });
        }
    }

    fn note(&self, change: impl FnOnce(&mut Done)) {
        let mut done = self.done.get();
        change(&mut done);
        self.done.set(done);
    }

    fn store(&self) -> &Arc<Store> {
        self.store.as_ref().expect("the process runs")
    }

    /// The source is told what is durable.
    fn acknowledge(&mut self) {
        let Some(store) = &self.store else { return };
        let durable = store.durable();
        assert!(durable.position >= self.acknowledged, "durable went back");
        assert!(
            durable.position <= self.visible,
            "durable before it was visible"
        );
        self.acknowledged = durable.position;
    }

    fn table_ids(&self) -> Vec<TableId> {
        self.tables.keys().copied().collect()
    }

    fn some_table(&mut self) -> Option<Table> {
        let ids = self.table_ids();
        let index = self.random.random_range(0..ids.len().max(1));
        ids.get(index).map(|&id| Table { id })
    }

    /// The source's state at a position, added up from one that is known.
    fn state_at(&self, position: CommitPosition) -> Arc<State> {
        let known = self.states.range(..=position).next_back();
        let visible = Some((&self.visible, &self.visible_state));
        let visible = visible.filter(|&(visible, _)| *visible <= position);
        let known = known.into_iter().chain(visible).max_by_key(|known| known.0);
        match known {
            None => Arc::new(self.source.state_at(position)),
            Some((known, state)) if *known == position => Arc::clone(state),
            Some((known, state)) => {
                let mut state = State::clone(state);
                let log = &self.source.log()[self.source.transactions_until(*known)..];
                let news = log.iter().take_while(|news| news.position <= position);
                news.for_each(|transaction| state.apply(transaction));
                Arc::new(state)
            }
        }
    }
}

impl fmt::Debug for Replica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replica")
            .field("options", &self.options)
            .field("transactions", &self.source.log().len())
            .field("next", &self.next)
            .field("visible", &self.visible)
            .field("acknowledged", &self.acknowledged)
            .finish_non_exhaustive()
    }
}
