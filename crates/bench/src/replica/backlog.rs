//! The backlog: random single-row updates at the publisher, made while nobody listens.

use anyhow::Result;
use testbed::PostgresServer;

use super::DATABASE;

/// Updates in one transaction.
pub const UPDATES_PER_TRANSACTION: u64 = 100;

/// A stretch of the publisher's log.
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    /// Changed rows in it.
    pub changes: u64,
    /// Where it begins, as a number.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
}

impl Backlog {
    /// The share that so many bytes of the log are of the backlog. The backlog is uniform, so
    /// this is also the share of its changes.
    pub fn share_of(&self, bytes: u64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a share for a rate")]
        let share = bytes as f64 / (self.end - self.start) as f64;
        share
    }
}

/// Makes the procedure that makes backlogs.
pub fn install(publisher: &PostgresServer) -> Result<()> {
    publisher.execute(
        DATABASE,
        "create procedure make_backlog(transactions bigint, updates bigint, rows bigint)
         language plpgsql as $$
         declare
           -- In the condition itself it would be drawn anew for every row of the table.
           chosen int;
         begin
           for t in 1..transactions loop
             for u in 1..updates loop
               chosen := 1 + floor(random() * rows)::int;
               update pgbench_accounts set abalance = floor(random() * 1e6) where aid = chosen;
             end loop;
             commit;
           end loop;
         end $$;",
    )
}

/// Makes a backlog of random updates.
pub fn make(publisher: &PostgresServer, updates: u64, rows: u64) -> Result<Backlog> {
    let transactions = updates / UPDATES_PER_TRANSACTION;
    of(
        publisher,
        transactions * UPDATES_PER_TRANSACTION,
        &format!("call make_backlog({transactions}, {UPDATES_PER_TRANSACTION}, {rows})"),
        "update pgbench_accounts set abalance = 0 where aid = 1",
    )
}

/// Makes a backlog of what a statement changes, so many rows. `last` is one more change: something to arrive
/// at, for who has confirmed that one has all of the backlog.
pub fn of(
    publisher: &PostgresServer,
    changes: u64,
    statement: &str,
    last: &str,
) -> Result<Backlog> {
    let mut client = publisher.connect(DATABASE)?;
    let start = log_end(&mut client)?;
    client.batch_execute("set synchronous_commit = off")?;
    client.batch_execute(statement)?;
    let end = log_end(&mut client)?;
    // Its commit waits for the disk, and with it everything before.
    client.batch_execute(&format!("set synchronous_commit = on; {last}"))?;
    // What the publisher's tables have become is on its way to the same disk for half a minute otherwise, and whoever
    // has to sync something waits for it: a second in a drain of three.
    rustix::fs::sync();
    Ok(Backlog {
        changes,
        start,
        end,
    })
}

/// The end of the publisher's log as a number.
fn log_end(client: &mut postgres::Client) -> Result<u64> {
    let row = client.query_one("select (pg_current_wal_insert_lsn() - '0/0')::int8", &[])?;
    Ok(u64::try_from(row.get::<_, i64>(0))?)
}

/// A number as PostgreSQL writes a place in its log.
pub fn as_lsn(position: u64) -> String {
    format!("{:X}/{:X}", position >> 32, position & 0xFFFF_FFFF)
}
