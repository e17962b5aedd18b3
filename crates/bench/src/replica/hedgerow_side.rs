//! Hedgerow as a contender: copied once, stopped while a backlog is made, started to drain it.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use testbed::bank::single_value;
use testbed::patience::wait_at_most;
use testbed::soak::settled_bytes;
use testbed::{Hedgerow, HedgerowOptions, PostgresServer};

use super::backlog::Backlog;
use super::{DATABASE, rate, wait_until_active};
use crate::limits::memory::MemoryLimit;
use crate::results::Results;

/// How long a copy or a drain may take.
const LIMIT: Duration = Duration::from_secs(3600);

/// A replica, stopped between the rounds.
pub struct HedgerowSide {
    hedgerow: Hedgerow,
    limit: Option<MemoryLimit>,
    copy: Duration,
    slot: String,
    check: &'static str,
}

impl HedgerowSide {
    /// Copies the publisher's table and stops. `check` is a query that has one value, which must be the
    /// publisher's after each drain.
    pub fn copy(
        publisher: &PostgresServer,
        folder: &Path,
        limit: Option<MemoryLimit>,
        memory_bytes: u64,
        check: &'static str,
    ) -> Result<Self> {
        let data = folder.join("hedgerow");
        let mut options = HedgerowOptions::new(publisher.url(DATABASE), &data)?
            .with(&["--memory", &format!("{}MiB", memory_bytes >> 20)]);
        options.memory_group = limit.as_ref().map(|limit| limit.group().to_owned());
        let started = Instant::now();
        let mut hedgerow = Hedgerow::start(options)?;
        hedgerow.wait_ready_at_most(LIMIT)?;
        let copy = started.elapsed();
        let slot = publisher
            .connect(DATABASE)?
            .query_one(
                "select slot_name::text from pg_replication_slots where slot_name = 'hedgerow'",
                &[],
            )
            .context("hedgerow's slot")?
            .get(0);
        hedgerow.stop()?;
        Ok(Self {
            hedgerow,
            limit,
            copy,
            slot,
            check,
        })
    }

    /// How long the initial copy took, from the start of the process to the first answer.
    pub fn copy_seconds(&self) -> f64 {
        self.copy.as_secs_f64()
    }

    /// Drains the backlog until all of it is visible and durable; rows a second.
    pub fn drain(&mut self, publisher: &PostgresServer, backlog: &Backlog) -> Result<f64> {
        if let Some(limit) = &self.limit {
            limit.make_cold()?;
        }
        let mut at_publisher = publisher.connect(DATABASE)?;
        self.hedgerow.start_again()?;
        wait_until_active(&mut at_publisher, &self.slot)?;
        let started = Instant::now();
        let (hedgerow, slot) = (&mut self.hedgerow, &self.slot);
        // Only what is durable is confirmed, and only what is visible becomes durable.
        wait_at_most(LIMIT, "hedgerow to drain the backlog", || {
            ensure!(
                hedgerow.ended()?.is_none(),
                "hedgerow ended: {}",
                hedgerow.log_tail()
            );
            let row = at_publisher.query_one(
                "select (confirmed_flush_lsn - '0/0')::int8 from pg_replication_slots
                 where slot_name = $1",
                &[slot],
            )?;
            Ok((u64::try_from(row.get::<_, i64>(0))? >= backlog.end).then_some(()))
        })?;
        let elapsed = started.elapsed();
        let expected = single_value(&mut at_publisher, self.check)?;
        self.hedgerow.wait_ready()?;
        let found = single_value(&mut self.hedgerow.connect()?, self.check)?;
        ensure!(
            found == expected,
            "hedgerow's {} is {found}, the publisher's {expected}",
            self.check
        );
        self.hedgerow.stop()?;
        Ok(rate(backlog, 1.0, elapsed))
    }

    /// Bytes on disk once merges have settled.
    pub fn settled_bytes(&mut self) -> Result<u64> {
        self.hedgerow.start_again()?;
        self.hedgerow.wait_ready()?;
        let bytes = settled_bytes(&self.hedgerow)?;
        self.hedgerow.stop()?;
        Ok(bytes)
    }

    /// Notes the most memory that was ever in use, page cache included.
    pub fn note_memory(&self, results: &mut Results, metric: &str) -> Result<()> {
        if let Some(limit) = &self.limit {
            #[expect(clippy::cast_precision_loss, reason = "a byte count for people")]
            let bytes = limit.bytes_max()? as f64;
            results.figure(metric, bytes, "bytes", None);
        }
        Ok(())
    }
}
