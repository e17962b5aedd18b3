//! The registry of what readers hold: the visible position, pinned snapshots, history holds.
//!
//! One short lock orders publishing, pinning and the moment at which a merge or flush learns
//! what it has to keep.
//!
//! Files must also keep what a snapshot at the durable position sees, because that is where
//! recovery starts: a large transaction may have put newer versions on disk before its end. So
//! a merge on disk treats the durable position, and the one that a flush is about to make
//! durable, like pins. A merge in memory need not: what it reads is not durable.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::museum::{self, Exhibit};
use crate::retention::Retention;

/// The position and metadata of the last publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Published {
    /// The visible position.
    pub position: u64,
    /// The caller's metadata that belongs to it.
    pub metadata: Arc<[u8]>,
}

struct State {
    published: Published,
    /// Pinned positions with the number of their snapshots.
    pins: BTreeMap<u64, usize>,
    /// Held positions with the number of their holds.
    holds: BTreeMap<u64, usize>,
    /// The position that recovery would restore.
    durable: u64,
    /// The position that the flush going on will make durable.
    flushing: Option<u64>,
}

/// All snapshots and holds of a store.
pub(crate) struct Snapshots {
    state: Mutex<State>,
}

fn count_up(counts: &mut BTreeMap<u64, usize>, position: u64) {
    *counts.entry(position).or_default() += 1;
}

fn count_down(counts: &mut BTreeMap<u64, usize>, position: u64) {
    let count = counts
        .get_mut(&position)
        .expect("what is released was taken");
    *count -= 1;
    if *count == 0 {
        counts.remove(&position);
    }
}

impl Snapshots {
    /// No snapshot, no hold; what is published is durable.
    pub fn new(published: Published) -> Self {
        let state = State {
            durable: published.position,
            published,
            pins: BTreeMap::new(),
            holds: BTreeMap::new(),
            flushing: None,
        };
        Self {
            state: Mutex::new(state),
        }
    }

    /// Makes everything up to `position` visible.
    ///
    /// # Panics
    /// When the position goes back.
    pub fn publish(&self, position: u64, metadata: Arc<[u8]>) {
        let mut state = self.state.lock();
        assert!(
            position >= state.published.position,
            "the visible position never goes back"
        );
        state.published = Published { position, metadata };
    }

    /// The last publish.
    pub fn published(&self) -> Published {
        self.state.lock().published.clone()
    }

    /// Begins a flush of the last publish: returns it, and what the flush has to keep.
    pub fn begin_flush(&self) -> (Published, Retention) {
        let mut state = self.state.lock();
        state.flushing = Some(state.published.position);
        (state.published.clone(), state.retention([]))
    }

    /// Ends the flush: it made `durable` durable, or failed.
    pub fn end_flush(&self, durable: Option<u64>) {
        let mut state = self.state.lock();
        state.flushing = None;
        state.durable = durable.unwrap_or(state.durable);
    }

    /// What a merge in memory has to keep at this moment.
    pub fn retention_in_memory(&self) -> Retention {
        self.state.lock().retention([])
    }

    /// What a merge on disk has to keep at this moment.
    pub fn retention_on_disk(&self) -> Retention {
        let state = self.state.lock();
        if museum::shows(Exhibit::DurablePositionForgotten) {
            return state.retention([]);
        }
        state.retention(std::iter::once(state.durable).chain(state.flushing))
    }

    /// Pins the visible position and returns it.
    pub fn pin(&self) -> u64 {
        let mut state = self.state.lock();
        let position = state.published.position;
        count_up(&mut state.pins, position);
        position
    }

    /// Pins `position`, if that is not above the visible one. The caller has a hold at or below
    /// it.
    pub fn pin_at(&self, position: u64) -> bool {
        let mut state = self.state.lock();
        let visible = position <= state.published.position;
        if visible {
            count_up(&mut state.pins, position);
        }
        visible
    }

    /// Pins `position`, which is the visible one or above it: what is there is kept in any case.
    ///
    /// # Panics
    /// When it is below the visible one.
    pub fn pin_ahead(&self, position: u64) {
        let mut state = self.state.lock();
        assert!(
            position >= state.published.position,
            "older positions need a hold"
        );
        count_up(&mut state.pins, position);
    }

    /// Releases one pin of `position`.
    pub fn unpin(&self, position: u64) {
        count_down(&mut self.state.lock().pins, position);
    }

    /// Holds history from the visible position on and returns that.
    pub fn hold(&self) -> u64 {
        let mut state = self.state.lock();
        let position = state.published.position;
        count_up(&mut state.holds, position);
        position
    }

    /// Releases one hold of `position`.
    pub fn release(&self, position: u64) {
        count_down(&mut self.state.lock().holds, position);
    }

    /// The oldest position that a snapshot has or, because of a hold, may still be taken at.
    pub fn oldest(&self) -> u64 {
        let state = self.state.lock();
        let pinned = state.pins.keys().next();
        let held = state.holds.keys().next();
        let taken = pinned.into_iter().chain(held).copied();
        taken.fold(state.published.position, u64::min)
    }

    /// The number of snapshots, and the oldest one's position.
    pub fn pinned(&self) -> (u64, Option<u64>) {
        let state = self.state.lock();
        let count = state.pins.values().map(|&count| count as u64).sum();
        (count, state.pins.keys().next().copied())
    }
}

impl State {
    fn retention(&self, recoverable: impl IntoIterator<Item = u64>) -> Retention {
        let forgotten = usize::from(museum::shows(Exhibit::OldestSnapshotForgotten));
        let pins = self.pins.keys().copied().skip(forgotten).chain(recoverable);
        let mut oldest_hold = self.holds.keys().next().copied();
        oldest_hold.take_if(|_| museum::shows(Exhibit::HistoryHoldForgotten));
        Retention::new(self.published.position, pins, oldest_hold)
    }
}
