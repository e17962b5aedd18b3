//! The source's log: an idle database does not hold it, and an alarm tells when something does.

use anyhow::{Result, ensure};
use postgres::Client;
use testbed::bank::single_value;
use testbed::patience::wait_for;

use crate::replica::{DATABASE, Replica};

/// What the slot may keep of the log of an idle database, bytes.
const RETAINED_BYTES_MAX: u64 = 64 << 20;
/// Log that is written beside it, MiB; `HEDGEROW_UNRELATED_WAL_MIB` for another amount.
const UNRELATED_MIB: u64 = 160;
/// Log that is written at a time, MiB.
const PART_MIB: u64 = 16;

fn retained_bytes(source: &mut Client) -> Result<u64> {
    let query = "select pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint
                 from pg_replication_slots where slot_name = 'hedgerow'";
    Ok(single_value(source, query)?.parse()?)
}

/// About [`PART_MIB`] of log.
const WRITE_PART: &str =
    "insert into noise select repeat('x', 1000) from generate_series(1, 16000);
     truncate noise";

fn follow_beside_noise(arguments: &[&str]) -> Result<()> {
    let mib = std::env::var("HEDGEROW_UNRELATED_WAL_MIB");
    let mib = mib.map_or(Ok(UNRELATED_MIB), |text| text.parse())?;
    let mut replica = Replica::of("create table quiet (id int primary key)")?;
    replica.hedgerow.stop()?;
    replica.hedgerow.add_arguments(arguments);
    replica.hedgerow.start_again()?;
    replica.hedgerow.wait_ready()?;
    // A server that checkpoints as often as one with this much log does.
    replica.at_source("alter system set max_wal_size = '64MB'")?;
    replica.at_source("select pg_reload_conf()")?;
    let mut other = replica.postgres.create_database("other")?;
    other.batch_execute("create table noise (t text)")?;
    let mut source = replica.postgres.connect(DATABASE)?;
    for _ in 0..mib / PART_MIB {
        other.batch_execute(WRITE_PART)?;
        wait_for("the slot to let go of unrelated log", || {
            let bytes = retained_bytes(&mut source)?;
            ensure!(bytes < RETAINED_BYTES_MAX, "{bytes} bytes are retained");
            Ok(Some(()))
        })?;
    }
    replica.at_source("insert into quiet values (1)")?;
    replica.ensure_same("select * from quiet")
}

#[test]
fn an_idle_database_does_not_hold_the_log_of_others() -> Result<()> {
    follow_beside_noise(&[])
}

#[test]
fn a_heartbeat_moves_the_slot_too() -> Result<()> {
    follow_beside_noise(&["--heartbeat-seconds", "1"])
}

#[test]
fn much_retained_log_raises_an_alarm_that_ends_with_it() -> Result<()> {
    let mut replica = Replica::of("create table a (id int primary key, t text)")?;
    replica.hedgerow.stop()?;
    replica.hedgerow.add_arguments(&["--retained-max", "8MiB"]);
    replica.hedgerow.start_again()?;
    replica.hedgerow.wait_ready()?;
    let alarm = "select coalesce(alarm, 'none') from hedgerow.slots";
    // A transaction that stays open at the source.
    let mut holder = replica.postgres.connect(DATABASE)?;
    holder.batch_execute("begin; insert into a values (1, 'open')")?;
    let mut other = replica.postgres.create_database("other")?;
    other.batch_execute("create table noise (t text)")?;
    other.batch_execute(WRITE_PART)?;
    replica
        .hedgerow
        .wait_for_value(alarm, "much log retained")?;
    holder.batch_execute("commit")?;
    wait_for("the alarm to end", || {
        replica.at_source("checkpoint")?;
        ensure!(single_value(&mut replica.connect()?, alarm)? == "none");
        Ok(Some(()))
    })?;
    replica.ensure_same("select * from a")
}
