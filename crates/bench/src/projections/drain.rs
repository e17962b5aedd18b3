//! Backlogs of updates, drained by a hedgerow that was stopped while they were made.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use testbed::patience::wait_at_most;
use testbed::{Hedgerow, PostgresServer};

use super::{DATABASE, LIMIT, Plan};
use crate::replica::wait_until_active;

/// Updates in one transaction.
const UPDATES_PER_TRANSACTION: u64 = 100;

/// Makes backlogs and has them drained.
pub struct Drain<'a> {
    postgres: &'a PostgresServer,
    plan: Plan,
    slot: String,
}

impl<'a> Drain<'a> {
    /// Of the one replica that `postgres` has.
    pub fn new(postgres: &'a PostgresServer, plan: Plan) -> Result<Self> {
        postgres.execute(
            DATABASE,
            "create procedure make_backlog(transactions bigint, updates bigint, rows bigint)
             language plpgsql as $$
             declare
               chosen bigint;
             begin
               for t in 1..transactions loop
                 for u in 1..updates loop
                   chosen := 1 + floor(random() * rows)::bigint;
                   update sales set amount = floor(random() * 1e6) / 100, sold_on = sold_on + (u % 2)::int
                       where id = chosen;
                 end loop;
                 commit;
               end loop;
             end $$",
        )?;
        let slot = postgres
            .connect(DATABASE)?
            .query_one("select slot_name::text from pg_replication_slots", &[])
            .context("hedgerow's slot")?
            .get(0);
        Ok(Self {
            postgres,
            plan,
            slot,
        })
    }

    /// Rows a second of each of the plan's backlogs.
    pub fn rates(&self, hedgerow: &mut Hedgerow) -> Result<Vec<f64>> {
        (0..self.plan.drains).map(|_| self.rate(hedgerow)).collect()
    }

    fn rate(&self, hedgerow: &mut Hedgerow) -> Result<f64> {
        hedgerow.stop()?;
        let mut client = self.postgres.connect(DATABASE)?;
        let transactions = self.plan.updates / UPDATES_PER_TRANSACTION;
        let rows = self.plan.rows;
        client.batch_execute("set synchronous_commit = off")?;
        client.batch_execute(&format!(
            "call make_backlog({transactions}, {UPDATES_PER_TRANSACTION}, {rows})"
        ))?;
        client.batch_execute("checkpoint")?;
        let end = "select (pg_current_wal_flush_lsn() - '0/0')::int8";
        let end: i64 = client.query_one(end, &[])?.get(0);
        hedgerow.start_again()?;
        wait_until_active(&mut client, &self.slot)?;
        let started = Instant::now();
        wait_at_most(LIMIT, "hedgerow to drain the backlog", || {
            ensure!(
                hedgerow.ended()?.is_none(),
                "hedgerow ended: {}",
                hedgerow.log_tail()
            );
            let confirmed: i64 = client
                .query_one(
                    "select (confirmed_flush_lsn - '0/0')::int8 from pg_replication_slots
                     where slot_name = $1",
                    &[&self.slot],
                )?
                .get(0);
            Ok((confirmed >= end).then_some(()))
        })?;
        let elapsed = started.elapsed();
        hedgerow.wait_ready()?;
        #[expect(clippy::cast_precision_loss, reason = "row counts are far below 2^52")]
        let rate = (transactions * UPDATES_PER_TRANSACTION) as f64 / elapsed.as_secs_f64();
        Ok(rate)
    }
}
