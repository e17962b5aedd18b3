//! What happens while the store is in the middle of something.
//!
//! * An interruption: at some operation of the disk, what another thread would do then.
//! * Crash images: what would be found if the process had ended at some operation, and what was
//!   known at that moment. The process itself goes on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use lsm::Store;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use types::{CommitPosition, TableId};

use crate::disk::{Crash, Moment, SimulatedDisk};

/// What another thread does.
pub(super) type Action = Box<dyn FnOnce() + Send>;

/// What is known of a process at a moment.
#[derive(Default)]
struct Known {
    store: Weak<Store>,
    acknowledged: CommitPosition,
    tables: BTreeMap<TableId, bool>,
}

/// What would be found, and what was known.
pub(super) struct Image {
    pub(super) disk: SimulatedDisk,
    pub(super) acknowledged: CommitPosition,
    pub(super) tables: BTreeMap<TableId, bool>,
    /// For everything that is up to chance afterwards.
    pub(super) seed: u64,
}

/// Which moments are looked at.
struct Lens {
    random: StdRng,
    /// One of so many.
    every: u32,
}

#[derive(Default)]
struct State {
    known: Known,
    lens: Option<Lens>,
    images: Vec<Image>,
    interruption: Option<(u32, Action)>,
}

/// Watches the disk of one replica.
#[derive(Clone, Default)]
pub(super) struct Watch {
    state: Arc<Mutex<State>>,
}

/// How a process may end.
pub(super) fn some_crash(random: &mut StdRng) -> Crash {
    match random.random_range(0..8) {
        0 => Crash::Kill,
        1 => Crash::PowerCut { keep: 0.0 },
        2 => Crash::PowerCut { keep: 1.0 },
        3..6 => Crash::PowerCut { keep: 0.5 },
        6 => Crash::PowerCut { keep: 0.1 },
        _ => Crash::PowerCut { keep: 0.9 },
    }
}

impl Watch {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches this disk from now on.
    pub(super) fn begin(&self, disk: &SimulatedDisk) {
        let watch = self.clone();
        disk.watch(Some(Arc::new(move |moment| watch.look(moment))));
    }

    /// From now on makes an image at one of `every` moments.
    pub(super) fn make_images(&self, every: u32, seed: u64) {
        let random = StdRng::seed_from_u64(seed);
        self.state().lens = Some(Lens { random, every });
    }

    /// The images since the last call.
    pub(super) fn take_images(&self) -> Vec<Image> {
        std::mem::take(&mut self.state().images)
    }

    /// What is known from now on.
    pub(super) fn know(&self, acknowledged: CommitPosition, tables: &BTreeMap<TableId, bool>) {
        let known = &mut self.state().known;
        known.acknowledged = acknowledged;
        known.tables.clone_from(tables);
    }

    /// The store that may be asked what is durable.
    pub(super) fn ask(&self, store: &Arc<Store>) {
        self.state().known.store = Arc::downgrade(store);
    }

    /// Plans an action for the operation after `operations` others.
    pub(super) fn plan(&self, operations: u32, action: Action) {
        self.state().interruption = Some((operations, action));
    }

    /// The action, if its time did not come.
    pub(super) fn take_planned(&self) -> Option<Action> {
        self.state().interruption.take().map(|(_, action)| action)
    }

    fn look(&self, moment: &Moment<'_>) {
        self.make_image(moment);
        let mut state = self.state();
        if let Some((left, _)) = &mut state.interruption {
            if *left > 0 {
                *left -= 1;
                return;
            }
            let due = state.interruption.take();
            drop(state);
            due.into_iter().for_each(|(_, action)| action());
        }
    }

    fn make_image(&self, moment: &Moment<'_>) {
        let mut state = self.state();
        let Some(lens) = &mut state.lens else { return };
        if !lens.random.random_ratio(1, lens.every) {
            return;
        }
        let (crash, seed) = (some_crash(&mut lens.random), lens.random.random());
        let durable = state
            .known
            .store
            .upgrade()
            .map(|store| store.durable().position);
        let image = Image {
            disk: moment.found_after(crash, seed),
            acknowledged: durable.unwrap_or(state.known.acknowledged),
            tables: state.known.tables.clone(),
            seed,
        };
        state.images.push(image);
    }
}
