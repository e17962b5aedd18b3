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
//! Invariant: everything follows from the seed and the planned faults.

mod interruption;
mod watch;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::AddAssign;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use lsm::{
    BufferOptions, CachePolicy, HistoryHold, MergePolicy, Snapshot, Store, StoreError,
    StoreOptions, Warming, Work,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use types::{CommitPosition, TableId};

use crate::clock::SimulatedClock;
use crate::compare;
use crate::disk::{Crash, Faults, SimulatedDisk};
use crate::environment_with;
use crate::model::{Change, Key, Rows, State, Write};
use crate::source::{HOT_KEYS, KEYS, Source};
use crate::tables::{Table, rows_between};
use watch::{Image, Watch};

/// Where the store is.
pub const DIRECTORY: &str = "/data";

/// The tables that a replica has at most at once.
const TABLES_MAX: usize = 4;

/// Snapshots that are held at most at once.
const SNAPSHOTS_MAX: usize = 4;

/// How long a replica waits: stores are idle by then.
const WAIT: Duration = Duration::from_secs(60);

/// Keys of a table that are looked up, about, when all of it is compared.
const KEYS_LOOKED_UP: usize = 8;

/// Keys that are looked up at once where all are.
const KEYS_TOGETHER: usize = 100;

/// One step that a replica takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The source commits a few transactions.
    Commit,
    /// The next changes of the source's log are ingested, up to some place in a transaction.
    Ingest,
    /// Everything that was ingested whole is published.
    Publish,
    /// A flush in the calling thread.
    Flush,
    /// One piece of background work.
    Work(Work),
    /// A flush is asked for.
    RequestFlush,
    /// Time passes.
    Wait,
    /// A snapshot is taken and kept.
    Pin,
    /// A kept snapshot is compared and dropped.
    Unpin,
    /// History is held from now on.
    Hold,
    /// The hold is released.
    Release,
    /// A snapshot at an older position is taken under the hold and kept.
    PinAt,
    /// A snapshot is scanned and compared: one table, some range, some columns.
    Scan,
    /// Some keys of a table, there or not, are looked up and compared.
    LookUp,
    /// The ranges that a table is cut into for parallel scans are compared.
    Split,
    /// A table is made.
    CreateTable,
    /// A table is dropped.
    DropTable,
    /// The process ends in order and a new one starts.
    Restart,
}

/// A step failed, but nothing wrong was seen: the store said so.
pub type StepResult = Result<(), StoreError>;

/// A snapshot that is kept, and what it must show.
struct Kept {
    snapshot: Snapshot,
    state: Arc<State>,
}

/// The next change to ingest.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    transaction: usize,
    change: usize,
}

/// What the stores of a replica did, to see that a scenario is worth its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Merges that were committed.
    pub merges: u64,
    /// Bytes that flushes wrote.
    pub bytes_flushed: u64,
    /// Bytes that merges wrote.
    pub bytes_merged: u64,
    /// Processes that started.
    pub starts: u64,
    /// Row changes and truncations that were ingested.
    pub changes: u64,
    /// Steps that were taken.
    pub steps: u64,
    /// Rows that were compared when whole tables were.
    pub rows: u64,
}

impl AddAssign for Done {
    fn add_assign(&mut self, other: Self) {
        self.merges += other.merges;
        self.bytes_flushed += other.bytes_flushed;
        self.bytes_merged += other.bytes_merged;
        self.starts += other.starts;
        self.changes += other.changes;
        self.steps += other.steps;
        self.rows += other.rows;
    }
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

/// Options that make everything happen early and often.
pub fn small_options(random: &mut StdRng) -> StoreOptions {
    StoreOptions {
        memory_bytes: 1 << random.random_range(13..18),
        cache_bytes: 1 << random.random_range(10..18),
        cache_policy: [CachePolicy::ScanResistant, CachePolicy::LeastRecentlyUsed]
            [random.random_range(0..2)],
        page_bytes: 1 << random.random_range(9..13),
        segment_bytes: 1 << random.random_range(11..16),
        runs_max: random.random_range(2..6),
        filter_bytes: 1 << random.random_range(6..16),
        merge_policy: merge_policy(random),
        warming: warming(random),
        compaction_buffer: compaction_buffer(random),
    }
}

/// The product's in two of six replicas.
fn warming(random: &mut StdRng) -> Warming {
    match random.random_range(0..6) {
        0 => Warming::None,
        1 => Warming::NoneDeadPagesStay,
        2 => Warming::Overlapping,
        3 => Warming::Everything,
        _ => Warming::Inherited,
    }
}

/// In one of three replicas.
fn compaction_buffer(random: &mut StdRng) -> Option<BufferOptions> {
    let options = buffer_options(random);
    random.random_bool(0.34).then_some(options)
}

fn buffer_options(random: &mut StdRng) -> BufferOptions {
    BufferOptions {
        cached_share_min: random.random_range(0.0..0.6),
        trim_period_ms: random.random_range(0..20),
    }
}

fn leveled(random: &mut StdRng) -> MergePolicy {
    let ratio = random.random_range(2..5);
    MergePolicy::Leveled { ratio }
}

/// The product's in two of five replicas.
fn merge_policy(random: &mut StdRng) -> MergePolicy {
    match random.random_range(0..5) {
        4 => leveled(random),
        0 => MergePolicy::Rose,
        1 => MergePolicy::SteppedMerge {
            runs_a_level: random.random_range(2..6),
        },
        _ => MergePolicy::SizeTiered,
    }
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
        let ratio = self.random.random_range(3..8);
        let merge_policy = match self.random.random_bool(0.7) {
            true => MergePolicy::Leveled { ratio },
            false => MergePolicy::SizeTiered,
        };
        let options = StoreOptions {
            memory_bytes: 1 << self.random.random_range(12..16),
            merge_policy,
            compaction_buffer: Some(buffer_options(&mut self.random)),
            ..self.options.clone()
        };
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

    /// Takes one step.
    ///
    /// # Panics
    /// When the store shows anything but what the model says.
    pub fn step(&mut self, step: Step) -> StepResult {
        self.note(|done| done.steps += 1);
        self.watch.know(self.acknowledged, &self.tables);
        match step {
            Step::Commit => self.commit(),
            Step::Ingest => self.ingest()?,
            Step::Publish => self.publish(),
            Step::Flush => self.flush()?,
            Step::Work(kind) => self.interrupted(|store| store.work(kind).map(drop))?,
            Step::RequestFlush => self.store().request_flush(),
            Step::Wait => self.clock.advance(WAIT),
            Step::Pin => self.pin(),
            Step::Unpin => self.unpin()?,
            Step::Hold => self.hold = Some(self.store().hold_history()),
            Step::Release => self.hold = None,
            Step::PinAt => self.pin_at(),
            Step::Scan => self.scan()?,
            Step::LookUp => self.look_up()?,
            Step::Split => self.split()?,
            Step::CreateTable => self.create_table()?,
            Step::DropTable => self.drop_table()?,
            Step::Restart => self.restart()?,
        }
        self.acknowledge();
        Ok(())
    }

    /// A step such as a running replica takes, chosen at random.
    pub fn random_step(&mut self) -> Step {
        match self.random.random_range(0..100) {
            0..14 => Step::Commit,
            14..38 => Step::Ingest,
            38..40 => Step::Wait,
            40..54 => Step::Publish,
            54..58 => Step::Flush,
            58..64 => Step::Work(Work::Flush),
            64..72 => Step::Work(Work::Merge),
            72..74 => Step::RequestFlush,
            74..78 => Step::Pin,
            78..81 => Step::Unpin,
            81..83 => Step::Hold,
            83..84 => Step::Release,
            84..86 => Step::PinAt,
            86..91 => Step::Scan,
            91..95 => Step::LookUp,
            95..97 => Step::Split,
            97 => Step::CreateTable,
            98 => Step::DropTable,
            _ => Step::Restart,
        }
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

    fn commit(&mut self) {
        let tables = self.table_ids();
        for _ in 0..self.random.random_range(1..=5) {
            Rc::make_mut(&mut self.source).commit(&mut self.random, &tables);
        }
    }

    /// Ingests the rest of the transaction under way and a few more, or stops inside one.
    fn ingest(&mut self) -> StepResult {
        let stop = self.some_stop();
        let changes = self.changes_until(stop);
        for (table, changes) in changes {
            self.ingest_table(Table { id: table }, &changes)?;
        }
        self.next = stop;
        Ok(())
    }

    fn some_stop(&mut self) -> Cursor {
        let log = self.source.log();
        let transactions = self.random.random_range(1..=4);
        let end = (self.next.transaction + transactions).min(log.len());
        let mut stop = Cursor {
            transaction: end,
            change: 0,
        };
        if let Some(transaction) = log.get(end).filter(|_| self.random.random_ratio(1, 4)) {
            let first = if end == self.next.transaction {
                self.next.change
            } else {
                0
            };
            stop.change = self.random.random_range(first..=transaction.changes.len());
        }
        stop
    }

    /// The changes from the cursor on, by table, in order. Changes of tables that do not exist
    /// any more are left out.
    fn changes_until(&self, stop: Cursor) -> BTreeMap<TableId, Vec<(CommitPosition, Change)>> {
        let mut changes: BTreeMap<TableId, Vec<(CommitPosition, Change)>> = BTreeMap::new();
        for index in self.next.transaction..=stop.transaction {
            let Some(transaction) = self.source.log().get(index) else {
                break;
            };
            let first = if index == self.next.transaction {
                self.next.change
            } else {
                0
            };
            let last = if index == stop.transaction {
                stop.change
            } else {
                transaction.changes.len()
            };
            for change in &transaction.changes[first.min(last)..last] {
                if self.tables.contains_key(&change.table()) {
                    let of_table = changes.entry(change.table()).or_default();
                    of_table.push((transaction.position, change.clone()));
                }
            }
        }
        changes
    }

    fn ingest_table(&mut self, table: Table, changes: &[(CommitPosition, Change)]) -> StepResult {
        let store = Arc::clone(self.store());
        self.note(|done| done.changes += changes.len() as u64);
        let mut writes: Vec<(CommitPosition, Key, Write)> = Vec::new();
        for (position, change) in changes {
            match change {
                Change::Write { key, write, .. } => writes.push((*position, *key, write.clone())),
                Change::Truncate { .. } => store.truncate(table.id, *position)?,
            }
            if self.random.random_ratio(1, 50) {
                store.ingest(table.id, table.versions(&std::mem::take(&mut writes)))?;
            }
        }
        store.ingest(table.id, table.versions(&writes))
    }

    fn publish(&mut self) {
        let Some(position) = self.publishable() else {
            return;
        };
        self.store().publish(position, metadata(position));
        self.published(position);
    }

    /// The last transaction that is ingested whole, if it is not visible.
    fn publishable(&self) -> Option<CommitPosition> {
        let last = self.next.transaction.checked_sub(1)?;
        let position = self.source.log()[last].position;
        (position > self.visible).then_some(position)
    }

    fn published(&mut self, position: CommitPosition) {
        self.visible_state = self.state_at(position);
        self.visible = position;
        let state = Arc::clone(&self.visible_state);
        self.states
            .retain(|position, _| *position >= self.acknowledged);
        self.states.insert(position, state);
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

    fn flush(&mut self) -> StepResult {
        let published = self.visible;
        self.interrupted(|store| store.flush())?;
        let durable = self.store().durable().position;
        assert!(durable >= published, "a flush makes all durable");
        Ok(())
    }

    fn pin(&mut self) {
        let snapshot = self.store().pin();
        assert_eq!(snapshot.position(), self.visible);
        let state = Arc::clone(&self.visible_state);
        self.keep(Kept { snapshot, state });
    }

    fn keep(&mut self, kept: Kept) {
        if self.kept.len() == SNAPSHOTS_MAX {
            let oldest = self.random.random_range(0..SNAPSHOTS_MAX);
            self.kept.swap_remove(oldest);
        }
        self.kept.push(kept);
    }

    fn unpin(&mut self) -> StepResult {
        if self.kept.is_empty() {
            return Ok(());
        }
        let index = self.random.random_range(0..self.kept.len());
        let kept = self.kept.swap_remove(index);
        self.check_all_tables(&kept.snapshot, &kept.state)
    }

    fn pin_at(&mut self) {
        let Some(hold) = &self.hold else { return };
        let position = self
            .random
            .random_range(hold.position().0..=self.visible.0 + 3);
        let position = CommitPosition(position);
        let snapshot = self.store().pin_at(hold, position);
        assert_eq!(
            snapshot.is_some(),
            position <= self.visible,
            "held positions can be pinned"
        );
        if let Some(snapshot) = snapshot {
            assert_eq!(snapshot.position(), position);
            let state = self.state_at(position);
            self.keep(Kept { snapshot, state });
        }
    }

    /// Scans a part of a table in a kept snapshot or in a new one.
    fn scan(&mut self) -> StepResult {
        let Some(table) = self.some_table() else {
            return Ok(());
        };
        let mut bound = || {
            self.random
                .random_bool(0.5)
                .then(|| self.random.random_range(0..KEYS))
        };
        let (start, end) = (bound(), bound());
        let index = self.random.random_range(0..=self.kept.len());
        let batch_rows = self.random.random_range(1..200);
        let latest;
        let (snapshot, state) = match self.kept.get(index) {
            Some(kept) => (&kept.snapshot, &kept.state),
            None => {
                latest = self.store().pin();
                (&latest, &self.visible_state)
            }
        };
        let rows = state.rows(table.id);
        let expected = rows_between(&rows, start, end);
        let range = table.range(start, end);
        if self.random.random_bool(0.7) {
            let request = compare::all_columns(table, range, batch_rows);
            return compare::scan(snapshot, table, request, expected);
        }
        compare::count(snapshot, table, range, expected.count())
    }

    /// Looks keys up in a kept snapshot or in a new one.
    fn look_up(&mut self) -> StepResult {
        let Some(table) = self.some_table() else {
            return Ok(());
        };
        let keys = self.random_keys();
        let index = self.random.random_range(0..=self.kept.len());
        match self.kept.get(index) {
            Some(kept) => {
                compare::look_ups(&kept.snapshot, table, &kept.state.rows(table.id), &keys)
            }
            None => {
                let rows = self.visible_state.rows(table.id);
                compare::look_ups(&self.store().pin(), table, &rows, &keys)
            }
        }
    }

    /// Neighbours, some twice, in any order.
    fn random_keys(&mut self) -> Vec<Key> {
        let keys = [HOT_KEYS, KEYS][self.random.random_range(0..2)];
        let first = self.random.random_range(0..keys);
        let nearby = self.random.random_range(1..keys);
        let count = self.random.random_range(1..40);
        let key = |_| (first + self.random.random_range(0..nearby)) % keys;
        (0..count).map(key).collect()
    }

    fn split(&mut self) -> StepResult {
        let Some(table) = self.some_table() else {
            return Ok(());
        };
        let parts = self.random.random_range(1..8);
        let snapshot = self.store().pin();
        let ranges = snapshot.split(table.id, parts)?;
        let found = ranges.len();
        assert!(found <= parts.max(1), "{found} of {parts} parts");
        let rows = self.visible_state.rows(table.id);
        compare::scans(&snapshot, table, ranges, rows_between(&rows, None, None))
    }

    fn create_table(&mut self) -> StepResult {
        if self.tables.len() == TABLES_MAX {
            return Ok(());
        }
        let table = Table {
            id: TableId(self.next_table),
        };
        self.next_table += 1;
        self.tables.insert(table.id, false);
        self.watch.know(self.acknowledged, &self.tables);
        let created = self.store().create_table(table.id, table.schema());
        self.settle_table(table.id, created.is_ok(), &created);
        created
    }

    fn drop_table(&mut self) -> StepResult {
        if self.tables.len() < 3 {
            return Ok(());
        }
        let Some(table) = self.some_table() else {
            return Ok(());
        };
        self.tables.insert(table.id, false);
        self.watch.know(self.acknowledged, &self.tables);
        let dropped = self.store().drop_table(table.id);
        self.settle_table(table.id, dropped.is_err(), &dropped);
        dropped
    }

    /// A change of the tables that failed did not happen. But for a failed sync: then the next
    /// process finds out.
    fn settle_table(&mut self, table: TableId, exists: bool, result: &StepResult) {
        let unknown = matches!(result, Err(StoreError::Poisoned(_))) || self.disk.has_crashed();
        match (unknown, exists) {
            (true, _) => {}
            (false, true) => {
                self.tables.insert(table, true);
            }
            (false, false) => {
                self.tables.remove(&table);
            }
        }
    }

    fn restart(&mut self) -> StepResult {
        if self.random.random_bool(0.5) {
            self.stop();
        } else {
            self.end(Crash::Kill);
        }
        self.start()
    }

    /// What the next process finds is a position that was published, and nothing that was
    /// acknowledged is missing.
    fn check_recovered(&mut self, store: &Store) {
        let position = store.visible();
        assert!(
            position >= self.acknowledged,
            "{position} was recovered, but {} had been acknowledged",
            self.acknowledged
        );
        assert!(position <= self.visible, "{position} was never published");
        let log = self.source.log();
        let ends = self.source.transactions_until(position).checked_sub(1);
        let committed = ends.map_or(CommitPosition::ZERO, |last| log[last].position);
        assert_eq!(
            position, committed,
            "a position between two commits was recovered"
        );
        let expected = if position == CommitPosition::ZERO {
            Vec::new()
        } else {
            metadata(position)
        };
        assert_eq!(
            *store.metadata(),
            *expected,
            "metadata of another position was recovered"
        );
        assert_eq!(store.durable().position, position);
        self.check_tables(store);
    }

    fn check_tables(&mut self, store: &Store) {
        let found: Vec<TableId> = store.tables().iter().map(|(table, _)| *table).collect();
        for (table, certain) in &self.tables {
            assert!(
                !certain || found.contains(table),
                "table {table} is missing"
            );
        }
        for &table in &found {
            assert!(self.tables.contains_key(&table), "table {table} is back");
            assert_eq!(
                store.schema(table).as_deref(),
                Some(&Table { id: table }.schema())
            );
        }
        self.tables = found.into_iter().map(|table| (table, true)).collect();
    }

    /// Compares every table in every kept snapshot and in a new one.
    pub fn check_everything(&self) -> StepResult {
        for kept in &self.kept {
            self.check_all_tables(&kept.snapshot, &kept.state)?;
        }
        let latest = self.store().pin();
        self.check_all_tables(&latest, &self.visible_state)
    }

    fn check_all_tables(&self, snapshot: &Snapshot, state: &State) -> StepResult {
        for &id in self.tables.keys() {
            self.note(|done| done.rows += state.rows(id).len() as u64);
            self.tolerate(check_table(snapshot, Table { id }, &state.rows(id)))?;
        }
        Ok(())
    }

    /// Looks every key of every table up, there or not.
    pub fn look_everything_up(&self) -> StepResult {
        let snapshot = self.store().pin();
        let keys: Vec<Key> = (0..KEYS).collect();
        for table in self.tables.keys().map(|&id| Table { id }) {
            let rows = self.visible_state.rows(table.id);
            for keys in keys.chunks(KEYS_TOGETHER) {
                let compared = compare::look_up_together(&snapshot, table, &rows, keys);
                self.tolerate(compared)?;
            }
        }
        Ok(())
    }

    fn tolerate(&self, compared: StepResult) -> StepResult {
        match (compared, &self.damage) {
            (Err(error @ StoreError::Corrupt { .. }), Some(damage)) => {
                damage.borrow_mut().push(error);
                Ok(())
            }
            (compared, _) => compared,
        }
    }
}

/// Compares all rows of a table, and looks some of them up, and their neighbours.
fn check_table(snapshot: &Snapshot, table: Table, rows: &Rows) -> StepResult {
    let everything = compare::all_columns(table, table.range(None, None), 1_000);
    compare::scan(snapshot, table, everything, rows_between(rows, None, None))?;
    compare::look_ups(snapshot, table, rows, &some_keys(rows))
}

/// Keys from all over a table and their neighbours, and some of those that come and go.
fn some_keys(rows: &Rows) -> Vec<Key> {
    let stride = (rows.len() / KEYS_LOOKED_UP).max(1);
    let some = rows.keys().step_by(stride);
    let hot = (0..HOT_KEYS).step_by(HOT_KEYS as usize / KEYS_LOOKED_UP);
    some.flat_map(|&key| [key, key + 1]).chain(hot).collect()
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
