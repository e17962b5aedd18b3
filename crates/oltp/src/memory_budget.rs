//! The memory budget of a partition: what counts, and what is done before it is exceeded.
//!
//! All that is allocated counts ([`MemoryUse::held_bytes`]). Between two calls, now and then:
//!
//! ```text
//!                      what is in use stays below      defragmentation begins    calls that grow are refused
//!  0 ------------------------------|-----------------------------|-------------------------|---------- budget
//!                       31/32 of the room               127/128 of it                  the room
//! ```
//!
//! 1. The *room* is the budget without what is set aside for blocks that wait to be written.
//! 2. Rows are evicted while more than 31/32 of the room are in use. A row that leaves frees a slot, which the next one of
//!    its size takes: so memory stays what it is while rows of one kind come and go.
//! 3. When others come instead, allocated and used memory part. When what is allocated comes near the room, memory
//!    between rows is given back ([`Defragmentation`](crate::anti_cache)). If that is too little, more is evicted.
//! 4. Calls that may grow are refused while nothing helps.
//!
//! **Invariant:** a step does a bounded amount of all that. Every call goes on with it before the memory has room again.

use crate::anti_cache::{AntiCache, Moves};
use crate::change_feed::ChangedRows;
use crate::partition::Partition;
use crate::snapshot::Snapshots;
use crate::statistics::MemoryUse;
use crate::table::Table;

/// Memory is looked at once in so many calls.
const CALLS_BETWEEN_LOOKS: u32 = 32;

/// One in so many bytes of the room is kept for what lies between rows.
const RESERVE_ONE_IN: usize = 32;

/// So near to the room defragmentation begins.
const NEAR_ONE_IN: usize = 128;

/// The bounds, in bytes; see the module.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    used_max: usize,
    held_near: usize,
    held_max: usize,
}

impl Bounds {
    fn of_room(room: usize) -> Self {
        Self {
            used_max: room - room / RESERVE_ONE_IN,
            held_near: room - room / NEAR_ONE_IN,
            held_max: room,
        }
    }

    fn is_near(self, used: MemoryUse) -> bool {
        used.live_bytes > self.used_max || used.held_bytes > self.held_near
    }

    fn is_exceeded(self, used: MemoryUse) -> bool {
        used.live_bytes > self.used_max || used.held_bytes > self.held_max
    }

    /// Less than this is not worth a choice of chunks.
    fn gain_min(self) -> usize {
        (self.held_max - self.used_max) / 4
    }
}

impl Partition {
    /// Keeps the budget, as far as one step may; see the module.
    pub(crate) fn make_room(&mut self) {
        self.calls_until_look = CALLS_BETWEEN_LOOKS;
        self.work.trim();
        if let Some(rows) = &mut self.changed_rows {
            rows.trim();
        }
        let Some(mut anti_cache) = self.anti_cache.take() else {
            return;
        };
        anti_cache.drop_written();
        let bounds = Bounds::of_room(anti_cache.room_bytes());
        let mut used = self.budgeted(&anti_cache);
        if bounds.is_near(used) || anti_cache.defragmentation.is_running() {
            let begun = self.clock.monotonic();
            self.free_memory(&mut anti_cache, bounds);
            let took = self.clock.monotonic().saturating_sub(begun);
            self.counts.eviction_stalls.note(took);
            used = self.budgeted(&anti_cache);
        }
        self.is_full = bounds.is_exceeded(used);
        self.anti_cache = Some(anti_cache);
    }

    fn free_memory(&mut self, anti_cache: &mut AntiCache, bounds: Bounds) {
        let mut moves = Moves::of_step();
        while !moves.are_used_up() {
            let used = self.budgeted(anti_cache);
            let tables = &mut self.tables;
            let is_over = used.live_bytes > bounds.used_max;
            let goes_on = if is_over && anti_cache.evict(tables, self.time_us, &mut moves) {
                true
            } else if anti_cache.defragmentation.is_running() {
                anti_cache.defragment(tables, &mut moves);
                true
            } else {
                used.held_bytes > bounds.held_near
                    && (anti_cache.defragmentation.begin(tables, bounds.gain_min())
                        || anti_cache.evict(tables, self.time_us, &mut moves))
            };
            if !goes_on {
                return;
            }
        }
    }

    /// What is held against the room.
    fn budgeted(&self, beside: &AntiCache) -> MemoryUse {
        let beside = beside.bookkeeping_bytes() + self.waiting.promised_bytes();
        self.used_with(beside)
    }

    fn used_with(&self, beside: usize) -> MemoryUse {
        let beside = beside + self.own_bytes();
        let sum = |bytes: fn(&Table) -> usize| self.tables.iter().map(bytes).sum::<usize>();
        MemoryUse {
            live_bytes: sum(Table::live_bytes) + beside,
            held_bytes: sum(Table::held_bytes) + beside,
        }
    }

    fn own_bytes(&self) -> usize {
        let log = self.log.as_ref().map_or(0, |log| log.lock().held_bytes());
        let feed = self.feed.as_ref().map_or(0, |feed| feed.held_bytes());
        let shared = (log + feed) / usize::from(self.place.partitions);
        let changes = self.changed_rows.as_ref();
        let changes = changes.map_or(0, ChangedRows::held_bytes);
        let snapshots = self.snapshots.as_ref().map_or(0, Snapshots::held_bytes);
        self.work.held_bytes() + self.waiting.held_bytes() + shared + changes + snapshots
    }

    /// Where its memory is.
    pub fn memory(&self) -> MemoryUse {
        self.used_with(self.anti_cache.as_ref().map_or(0, AntiCache::held_bytes))
    }
}
