//! The rival: a PostgreSQL logical subscriber under the same limits.
//!
//! It gets what its manual recommends for the role: a quarter of the memory as shared buffers,
//! and, because a replica can always fetch again, no waiting for its own commits.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use postgres::Client;
use testbed::bank::single_value;
use testbed::patience::wait_at_most;
use testbed::postgres_server::Shutdown;
use testbed::{PostgresOptions, PostgresServer};

use super::backlog::Backlog;
use super::{DATABASE, SUM_OF_BALANCES, rate};
use crate::limits::memory::MemoryLimit;

/// Also the slot's name.
const SUBSCRIPTION: &str = "subscriber";

/// What the report says of it.
pub const SETTINGS_IN_WORDS: &str = "shared_buffers = memory limit / 4, synchronous_commit = off, \
     max_wal_size = 4 GB, checkpoint_timeout = 15 min, streaming = on";

/// How often to look how far it is. Each look has it flush its log.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
/// How long its worker may take to apply the first transaction.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long the initial copy may take.
const COPY_LIMIT: Duration = Duration::from_secs(3600);

/// A subscriber, stopped between the rounds.
pub struct Subscriber {
    server: PostgresServer,
    limit: Option<MemoryLimit>,
}

impl Subscriber {
    /// Makes the subscriber and waits for its copy.
    pub fn copy(
        publisher: &PostgresServer,
        folder: &Path,
        limit: Option<MemoryLimit>,
        memory_bytes: u64,
    ) -> Result<Self> {
        let mut options = PostgresOptions {
            fsync: true,
            ..PostgresOptions::default()
        }
        .with("shared_buffers", &format!("{}kB", memory_bytes / 4 / 1024))
        .with("synchronous_commit", "off")
        .with("max_wal_size", "4GB")
        .with("checkpoint_timeout", "15min")
        .with("wal_receiver_status_interval", "1s");
        options.parent = Some(folder.to_owned());
        options.memory_group = limit.as_ref().map(|limit| limit.group().to_owned());
        let server = PostgresServer::start(options)?;
        publisher.execute(
            DATABASE,
            &format!("create publication {SUBSCRIPTION} for table pgbench_accounts"),
        )?;
        let mut client = server.connect(DATABASE)?;
        client.batch_execute(
            "create table pgbench_accounts (
               aid integer primary key, bid integer, abalance integer, filler char(84))",
        )?;
        client.batch_execute(&format!(
            "create subscription {SUBSCRIPTION} connection '{}' publication {SUBSCRIPTION}
             with (streaming = on)",
            publisher.url(DATABASE)
        ))?;
        wait_at_most(COPY_LIMIT, "the subscriber's copy", || {
            let row = client.query_one(
                "select count(*) from pg_subscription_rel where srsubstate <> 'r'",
                &[],
            )?;
            Ok((row.get::<_, i64>(0) == 0).then_some(()))
        })?;
        client.batch_execute(&format!("alter subscription {SUBSCRIPTION} disable"))?;
        client.batch_execute("vacuum analyze")?;
        client.batch_execute("checkpoint")?;
        drop(client);
        let mut subscriber = Self { server, limit };
        subscriber.server.stop(Shutdown::Fast)?;
        Ok(subscriber)
    }

    /// Drains the backlog, or what fits into `window`; rows a second.
    pub fn drain(
        &mut self,
        publisher: &PostgresServer,
        backlog: &Backlog,
        window: Duration,
    ) -> Result<f64> {
        if let Some(limit) = &self.limit {
            limit.make_cold()?;
        }
        self.server.start_again()?;
        let mut at_publisher = publisher.connect(DATABASE)?;
        let mut client = self.server.connect(DATABASE)?;
        let before = backlog
            .start
            .min(durable(&mut client)?.unwrap_or(backlog.start));
        client.batch_execute(&format!("alter subscription {SUBSCRIPTION} enable"))?;
        let give_up = Instant::now() + START_LIMIT;
        // Its worker may be started only after a pause of several seconds, which is not counted.
        let mut started = Instant::now();
        let mut reached = before;
        while reached < backlog.end && started.elapsed() < window {
            let looked = Instant::now();
            thread::sleep(LOOK_INTERVAL);
            if reached == before {
                started = looked;
                ensure!(
                    looked < give_up,
                    "the subscriber has not moved in {START_LIMIT:?}"
                );
            }
            reached = durable(&mut client)?.unwrap_or(before);
        }
        let elapsed = started.elapsed();
        client.batch_execute(&format!("alter subscription {SUBSCRIPTION} disable"))?;
        if reached >= backlog.end {
            let expected = single_value(&mut at_publisher, SUM_OF_BALANCES)?;
            let sum = single_value(&mut client, SUM_OF_BALANCES)?;
            ensure!(
                sum == expected,
                "the subscriber's sum is {sum}, the publisher's {expected}"
            );
        }
        drop(client);
        self.server.stop(Shutdown::Fast)?;
        // After a round that was cut short it is still in an earlier backlog of the same kind.
        let share = backlog.share_of(reached.min(backlog.end) - before.min(reached));
        Ok(rate(backlog, share, elapsed))
    }
}

/// Up to where the subscriber has applied and flushed, by its own account: it tells the publisher
/// only when it has nothing left to read. `None` before its first transaction.
fn durable(subscriber: &mut Client) -> Result<Option<u64>> {
    let row = subscriber.query_one(
        "select (pg_replication_origin_progress('pg_' || oid, true) - '0/0')::int8
         from pg_subscription",
        &[],
    )?;
    let place = row.get::<_, Option<i64>>(0).map(u64::try_from);
    place.transpose().context("a negative place in the log")
}
