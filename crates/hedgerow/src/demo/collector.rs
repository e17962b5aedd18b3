//! Collects the figures from everything that runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lsm::Store;
use parking_lot::Mutex;
use replication::orders::positions::orders_at;
use replication::orders::{OrderProgress, Workload};
use replication::primary::Observed;
use replication::status::Status;

use super::figures::{Audit, Component, Figures, Lookups, Merges, Primary, Sizes};
use super::lookups::Tally;
use super::meter::{LatencyMeter, RateMeter};

/// What the figures are collected from.
pub(super) struct Watched {
    pub(super) store: Arc<Store>,
    pub(super) status: Arc<Status>,
    pub(super) workload: Workload,
    pub(super) progress: Arc<Mutex<OrderProgress>>,
    pub(super) tally: Arc<Mutex<Tally>>,
    pub(super) primary: Observed,
    pub(super) primary_tally: Arc<Mutex<Tally>>,
    pub(super) audit: Arc<Mutex<Audit>>,
    pub(super) freshness: Arc<Mutex<LatencyMeter>>,
    /// Orders to try in this run.
    pub(super) goal: Option<u64>,
}

/// Collects figures, with rates since the last time.
pub(super) struct Collector {
    watched: Watched,
    start: Instant,
    orders: RateMeter,
    changes: RateMeter,
    lookups: RateMeter,
}

impl Collector {
    pub(super) fn new(watched: Watched) -> Self {
        Self {
            watched,
            start: Instant::now(),
            orders: RateMeter::default(),
            changes: RateMeter::default(),
            lookups: RateMeter::default(),
        }
    }

    /// How things are now.
    pub(super) fn collect(&mut self) -> Figures {
        let elapsed = self.start.elapsed();
        let progress = *self.watched.progress.lock();
        let source = self.watched.status.sources().into_iter().next();
        let lookups = self.note_lookups(elapsed);
        let orders_held = self.orders_held();
        self.orders.note(elapsed, orders_held);
        self.changes
            .note(elapsed, source.as_ref().map_or(0, |source| source.rows));
        let (size, components) = self.sizes(progress.totals.raw_bytes);
        Figures {
            elapsed,
            tried: progress.taken.orders + progress.taken.rolled_back,
            goal: self.watched.goal,
            orders_held,
            rows_held: if orders_held == 0 {
                0
            } else {
                progress.totals.rows()
            },
            rolled_back: progress.taken.rolled_back,
            orders_rate: self.orders.rate(),
            changes_rate: self.changes.rate(),
            orders_history: self.orders.history().collect(),
            changes_history: self.changes.history().collect(),
            lookups,
            audit: self.watched.audit.lock().clone(),
            freshness: self.watched.freshness.lock().quantiles([0.5, 0.99]),
            visible: self.watched.store.visible(),
            durable: self.watched.store.durable().position,
            size,
            components,
            merges: self.merges(),
            primary: self.primary(progress.is_full),
        }
    }

    /// Orders that readers see.
    fn orders_held(&self) -> u64 {
        let workload = self.watched.workload;
        workload.committed_before(orders_at(workload, self.watched.store.visible()))
    }

    fn note_lookups(&mut self, elapsed: Duration) -> Lookups {
        let tally = self.watched.tally.lock();
        self.lookups.note(elapsed, tally.right + tally.wrong);
        Lookups {
            right: tally.right,
            wrong: tally.wrong,
            rate: self.lookups.rate(),
            history: self.lookups.history().collect(),
            latency: tally.latency.quantiles([0.5, 0.99]),
        }
    }

    /// How the primary is.
    fn primary(&self, is_full: bool) -> Primary {
        let observed = self.watched.primary.latest();
        let statistics = &observed.statistics;
        let tally = self.watched.primary_tally.lock();
        Primary {
            rows_in_memory: statistics.tables.iter().map(|t| t.rows_in_memory).sum(),
            rows_evicted: statistics.tables.iter().map(|t| t.rows_evicted).sum(),
            rows_returned: statistics.anti_cache.returned_rows,
            memory: statistics.memory.held_bytes as u64,
            memory_max: observed.memory_bytes_max as u64,
            is_full,
            right: tally.right,
            wrong: tally.wrong,
            latency: tally.latency.quantiles([0.5, 0.99]),
        }
    }

    fn merges(&self) -> Merges {
        let stats = self.watched.store.stats();
        Merges {
            running: stats.merges_running,
            done: stats.merges_done,
            bytes_flushed: stats.bytes_flushed,
            bytes_merged: stats.bytes_merged,
        }
    }

    /// The bytes of all tables, and their components level by level.
    fn sizes(&self, raw: u64) -> (Sizes, Vec<Component>) {
        let store = &self.watched.store;
        let stats = store.stats();
        let mut size = Sizes {
            raw,
            memory: stats.memory_bytes,
            memory_max: stats.memory_bytes_max,
            disk: 0,
        };
        let mut levels: BTreeMap<String, Component> = BTreeMap::new();
        for (table, _) in store.tables() {
            let Some(table) = store.table_stats(table) else {
                continue;
            };
            size.disk += table.bytes_on_disk;
            for component in table.components {
                let level = levels.entry(component.name.clone()).or_default();
                level.name = component.name;
                level.runs += component.runs;
                level.bytes += component.bytes;
            }
        }
        (size, levels.into_values().collect())
    }
}
