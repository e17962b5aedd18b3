//! A backlog of random updates, drained from a real PostgreSQL under a memory limit.
//!
//! 1. The publisher (outside the limits) holds a pgbench table eight times as large as the
//!    memory limit; hedgerow and a PostgreSQL subscriber copy it, on one disk.
//! 2. Both are stopped; the publisher makes a backlog: single-row updates of random rows, 100
//!    a transaction. All contenders drain this same backlog, one after the other:
//!    * the *ceiling*: `pg_recvlogical` writes pgoutput to nowhere, without limits: what the
//!      source can deliver at most;
//!    * hedgerow: from its first connection until all is visible and durable;
//!    * the subscriber: from its first connection until all is applied and flushed, or, where
//!      that takes too long, for a window of time: then the share of the log that it has
//!      applied counts.
//! 3. Repeated for each round, without and then with the throttle of disk profile `cloud`;
//!    medians are compared. Every round starts with cold caches.
//!
//! A drain counts only if the sum over the table then equals the publisher's.
//!
//! [`ceilings`] compares hedgerow with the ceiling for other kinds of change.

mod backlog;
mod ceiling;
mod ceilings;
mod hedgerow_side;
mod size;
mod subscriber;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;
use testbed::{PostgresOptions, PostgresServer};

use crate::Scale;
use crate::limits::disk::{Disk, DiskProfile};
use crate::limits::memory::MemoryLimit;
use crate::limits::undo::AtEnd;
use crate::results::{Results, median};

use backlog::Backlog;
use ceiling::Ceiling;
use hedgerow_side::HedgerowSide;
use subscriber::Subscriber;

/// The published database.
const DATABASE: &str = "postgres";

/// Sizes of a run.
#[derive(Clone, Copy, Debug)]
struct Plan {
    name: &'static str,
    memory_bytes: u64,
    /// pgbench's scale: about 15 MiB of table and key each.
    scale: u32,
    updates: u64,
    rounds: usize,
    /// How long the subscriber may take over one round.
    subscriber_window: Duration,
    /// TPC-H scale factor for the size comparison.
    tpch_scale: f64,
}

impl Plan {
    fn of(scale: Scale) -> Self {
        match scale {
            Scale::Quick => Self {
                name: "quick",
                memory_bytes: 128 << 20,
                scale: 68,
                updates: 100_000,
                rounds: 1,
                subscriber_window: Duration::from_secs(5),
                tpch_scale: 0.05,
            },
            Scale::Full => Self {
                name: "full",
                memory_bytes: 256 << 20,
                scale: 137,
                updates: 1_000_000,
                rounds: 3,
                subscriber_window: Duration::from_secs(240),
                tpch_scale: 1.0,
            },
        }
    }

    fn rows(&self) -> u64 {
        u64::from(self.scale) * 100_000
    }
}

/// Where the contenders live: a disk with a profile, or, where that is not allowed, a folder.
struct Place {
    disk: Option<Disk>,
    folder: PathBuf,
}

impl Place {
    fn make(folder: &Path, plan: Plan) -> Result<Self> {
        if !Disk::is_possible() {
            return Ok(Self {
                disk: None,
                folder: folder.to_owned(),
            });
        }
        let disk = Disk::make(folder, 64 * plan.memory_bytes.max(128 << 20))?;
        let folder = disk.path().to_owned();
        Ok(Self {
            disk: Some(disk),
            folder,
        })
    }

    /// The profiles that can be had here.
    fn profiles(&self) -> &'static [DiskProfile] {
        match self.disk {
            Some(_) => &[DiskProfile::Native, DiskProfile::Cloud],
            None => &[DiskProfile::Native],
        }
    }

    fn set_profile(&self, profile: DiskProfile) -> Result<()> {
        self.disk
            .as_ref()
            .map_or(Ok(()), |disk| disk.set_profile(profile))
    }
}

/// Rates of the rounds under one profile, rows a second.
#[derive(Debug, Default)]
struct Rates {
    ceiling: Vec<f64>,
    hedgerow: Vec<f64>,
    subscriber: Vec<f64>,
}

pub use ceilings::{LOADS as CEILING_LOADS, run as run_ceilings};

/// Runs the experiment.
pub fn run(scale: Scale) -> Result<Results> {
    let plan = Plan::of(scale);
    let folder = TempDir::with_prefix("bench-replica-")?;
    // Unmounts before the folder goes.
    let _undone = AtEnd;
    let mut results = Results::new("replica", plan.name);
    size::tpch(&mut results, plan.tpch_scale)?;

    let place = Place::make(folder.path(), plan)?;
    let publisher = publisher(plan)?;
    let size = size::of_publisher(&publisher)?;
    note_settings(&mut results, plan, &place, size);

    say("copying to hedgerow");
    let limit = MemoryLimit::new("hedgerow", plan.memory_bytes);
    let mut hedgerow = HedgerowSide::copy(
        &publisher,
        &place.folder,
        limit,
        plan.memory_bytes,
        SUM_OF_BALANCES,
    )?;
    #[expect(clippy::cast_precision_loss, reason = "row counts are far below 2^52")]
    let copy_rate = plan.rows() as f64 / hedgerow.copy_seconds();
    results.figure("copy", copy_rate, "rows/s", None);
    say("copying to the subscriber");
    let limit = MemoryLimit::new("subscriber", plan.memory_bytes);
    let mut subscriber = Subscriber::copy(&publisher, &place.folder, limit, plan.memory_bytes)?;
    let ceiling = Ceiling::new(&publisher, "pgbench_accounts")?;

    for &profile in place.profiles() {
        place.set_profile(profile)?;
        let mut rates = Rates::default();
        for round in 1..=plan.rounds {
            say(&format!("{profile}, round {round}: making the backlog"));
            let backlog = backlog::make(&publisher, plan.updates, plan.rows())?;
            let ceiling = ceiling.drain(&publisher, &backlog)?;
            say(&format!("  ceiling {ceiling:.0} rows/s"));
            let hedgerow = hedgerow.drain(&publisher, &backlog)?;
            say(&format!("  hedgerow {hedgerow:.0} rows/s"));
            let subscriber = subscriber.drain(&publisher, &backlog, plan.subscriber_window)?;
            say(&format!("  subscriber {subscriber:.0} rows/s"));
            rates.ceiling.push(ceiling);
            rates.hedgerow.push(hedgerow);
            rates.subscriber.push(subscriber);
        }
        note_rates(&mut results, profile, &rates);
    }
    place.set_profile(DiskProfile::Native)?;
    let bytes = hedgerow.settled_bytes()?;
    results.figure("R4a", size::ratio(bytes, size), "ratio", Some("postgresql"));
    hedgerow.note_memory(&mut results, "memory with page cache, most")?;
    Ok(results)
}

/// A publisher outside the limits, with everything in memory.
fn empty_publisher() -> Result<PostgresServer> {
    say("loading the publisher");
    let options = PostgresOptions::default()
        .with("shared_buffers", "4GB")
        .with("max_wal_size", "64GB")
        .with("checkpoint_timeout", "1d")
        .with("full_page_writes", "off")
        .with("autovacuum", "off");
    PostgresServer::start(options)
}

/// A publisher with pgbench's accounts.
fn publisher(plan: Plan) -> Result<PostgresServer> {
    let publisher = empty_publisher()?;
    let scale = plan.scale.to_string();
    publisher.run_client_program("pgbench", &["-i", "-q", "-s", &scale, DATABASE])?;
    // One table only: the contenders copy and follow exactly this.
    publisher.execute(
        DATABASE,
        "drop table pgbench_branches, pgbench_tellers, pgbench_history",
    )?;
    publisher.execute(DATABASE, "vacuum analyze")?;
    backlog::install(&publisher)?;
    Ok(publisher)
}

fn note_settings(results: &mut Results, plan: Plan, place: &Place, size: u64) {
    results.setting("memory limit, bytes", plan.memory_bytes);
    results.setting(
        "memory limited",
        MemoryLimit::new("probe", 1 << 30).is_some(),
    );
    results.setting("disk profiles", place.disk.is_some());
    results.setting("table and key at the publisher, bytes", size);
    results.setting("rows", plan.rows());
    results.setting("updates a round", plan.updates);
    results.setting("updates a transaction", backlog::UPDATES_PER_TRANSACTION);
    results.setting("rounds", plan.rounds);
    results.setting("subscriber's window, s", plan.subscriber_window.as_secs());
    results.setting("subscriber", subscriber::SETTINGS_IN_WORDS);
}

fn note_rates(results: &mut Results, profile: DiskProfile, rates: &Rates) {
    const PEER: &str = "postgresql-subscriber";
    let (ceiling, hedgerow, subscriber) = (
        median(&rates.ceiling),
        median(&rates.hedgerow),
        median(&rates.subscriber),
    );
    results.figure(&format!("drain, {profile}"), hedgerow, "rows/s", None);
    results.figure(
        &format!("drain, {profile}"),
        subscriber,
        "rows/s",
        Some(PEER),
    );
    results.figure(
        &format!("drain, {profile}"),
        ceiling,
        "rows/s",
        Some("pgoutput-to-nowhere"),
    );
    let ratio = hedgerow / subscriber;
    match profile {
        DiskProfile::Cloud => results.figure("R1a", ratio, "x", Some(PEER)),
        DiskProfile::Native => {
            results.figure("R1b", ratio, "x", Some(PEER));
            results.figure(
                "R1c",
                hedgerow / ceiling,
                "ratio",
                Some("pgoutput-to-nowhere"),
            );
        }
    }
}

/// The sum over the table: what a contender must have when it says it is done.
const SUM_OF_BALANCES: &str = "select sum(abalance) from pgbench_accounts";

/// Changed rows a second.
fn rate(backlog: &Backlog, share: f64, elapsed: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "row counts are far below 2^52")]
    let changes = backlog.changes as f64;
    changes * share / elapsed.as_secs_f64()
}

/// Waits until the slot is in use, or a copy of it: the contender has begun to drain.
pub(crate) fn wait_until_active(publisher: &mut postgres::Client, slot: &str) -> Result<()> {
    testbed::patience::wait_for(&format!("slot {slot} to be in use"), || {
        let row = publisher.query_one(
            "select coalesce(bool_or(active), false) from pg_replication_slots
             where starts_with(slot_name::text, $1)",
            &[&slot],
        )?;
        Ok(row.get::<_, bool>(0).then_some(()))
    })
    .context("the contender never connected")
}

fn say(line: &str) {
    eprintln!("{line}");
}

#[cfg(test)]
mod tests;
