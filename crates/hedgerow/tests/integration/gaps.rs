//! A log that cannot be followed any further: what was copied is served on, marked as stale, or
//! copied once more, as configured.

use anyhow::{Result, ensure};
use testbed::bank::single_value;
use testbed::patience::wait_for;
use testbed::postgres_server::Shutdown;

use crate::replica::Replica;

const STATE: &str = "select state from hedgerow.sources";
const REASON: &str = "select reason from hedgerow.sources";
const SETUP: &str = "create table a (id int primary key, t text);
     insert into a select i, 'copied' from generate_series(1, 1000) i;";

/// Drops the slot at the source, whoever reads it.
fn drop_slot(replica: &Replica) -> Result<()> {
    wait_for("the slot to be dropped", || {
        replica.at_source(
            "select pg_terminate_backend(active_pid) from pg_replication_slots where active;
             select pg_drop_replication_slot('hedgerow')",
        )?;
        Ok(Some(()))
    })
}

fn value(replica: &Replica, query: &str) -> Result<String> {
    single_value(&mut replica.connect()?, query)
}

#[test]
fn without_its_slot_the_copy_is_served_as_stale_also_after_a_restart() -> Result<()> {
    let mut replica = Replica::of(SETUP)?;
    replica.at_source("insert into a values (2000, 'streamed')")?;
    replica.ensure_same("select * from a order by id")?;
    drop_slot(&replica)?;
    replica.hedgerow.wait_for_value(STATE, "stale")?;
    assert!(value(&replica, REASON)?.starts_with("slot gone"));
    replica.at_source("insert into a values (3000, 'never seen')")?;
    assert_eq!(value(&replica, "select count(*) from a")?, "1001");
    replica.hedgerow.stop()?;
    replica.hedgerow.start_again()?;
    wait_for("the copy to be served again", || {
        ensure!(value(&replica, STATE)? == "stale");
        ensure!(value(&replica, "select count(*) from a")? == "1001");
        Ok(Some(()))
    })
}

#[test]
fn a_slot_that_has_lost_log_is_named() -> Result<()> {
    let mut replica = Replica::of(SETUP)?;
    replica.hedgerow.stop()?;
    replica.at_source("alter system set max_slot_wal_keep_size = '1MB'")?;
    replica.at_source("select pg_reload_conf()")?;
    wait_for("the slot to be lost", || {
        replica.at_source("update a set t = t || '.' where id < 50; select pg_switch_wal()")?;
        replica.at_source("checkpoint")?;
        let status = "select wal_status from pg_replication_slots";
        let status = single_value(&mut replica.postgres.connect("postgres")?, status)?;
        ensure!(status == "lost", "the slot is {status}");
        Ok(Some(()))
    })?;
    replica.hedgerow.start_again()?;
    replica.hedgerow.wait_for_value(STATE, "stale")?;
    assert!(value(&replica, REASON)?.starts_with("slot lost"));
    assert_eq!(value(&replica, "select count(*) from a")?, "1000");
    replica
        .hedgerow
        .wait_for_value("select alarm from hedgerow.slots", "slot lost")
}

#[test]
fn a_source_that_is_older_than_the_copy_is_not_followed() -> Result<()> {
    let mut replica = Replica::of(SETUP)?;
    replica.ensure_same("select * from a order by id")?;
    replica.postgres.stop(Shutdown::Fast)?;
    replica.postgres.back_up()?;
    replica.postgres.start_again()?;
    replica.at_source("update a set t = 'lost with the server'")?;
    replica.ensure_same("select * from a order by id")?;
    replica.postgres.stop(Shutdown::Immediate)?;
    replica.postgres.restore()?;
    replica.postgres.start_again()?;
    replica.hedgerow.wait_for_value(STATE, "stale")?;
    assert!(value(&replica, REASON)?.starts_with("log ends early"));
    let lost = "select count(*) from a where t = 'lost with the server'";
    assert_eq!(value(&replica, lost)?, "1000");
    // What the reason tells to do: a new copy, as soon as the slot is free.
    replica.hedgerow.stop()?;
    std::fs::remove_dir_all(replica.hedgerow.data())?;
    drop_slot(&replica)?;
    replica.hedgerow.start_again()?;
    replica.hedgerow.wait_ready()?;
    assert_eq!(value(&replica, lost)?, "0");
    replica.hedgerow.verify()?;
    Ok(())
}

#[test]
fn a_promoted_source_is_copied_again_where_that_is_asked_for() -> Result<()> {
    let mut replica = Replica::of(SETUP)?;
    replica.postgres.stop(Shutdown::Fast)?;
    replica.postgres.start_in_recovery()?;
    // Whether it lacks anything is not known before it is promoted. Since version 16 it decodes its log meanwhile.
    if replica.postgres.version()? < 16 {
        let in_recovery = "select state from hedgerow.sources where reason like '%is in recovery%'";
        replica
            .hedgerow
            .wait_for_value(in_recovery, "reconnecting")?;
    }
    replica.postgres.promote()?;
    replica.at_source(
        "select pg_terminate_backend(active_pid) from pg_replication_slots where active",
    )?;
    replica.hedgerow.wait_for_value(STATE, "stale")?;
    assert!(value(&replica, REASON)?.starts_with("timeline changed"));
    replica.at_source("delete from a where id <= 10")?;
    assert_eq!(value(&replica, "select count(*) from a")?, "1000");
    replica.hedgerow.stop()?;
    replica.hedgerow.add_arguments(&["--on-gap", "copy-again"]);
    replica.hedgerow.start_again()?;
    replica.hedgerow.wait_ready()?;
    replica.ensure_same("select * from a order by id")?;
    assert_eq!(value(&replica, "select count(*) from a")?, "990");
    replica.hedgerow.verify()?;
    Ok(())
}

#[test]
fn everything_is_copied_again_where_that_is_asked_for() -> Result<()> {
    let mut replica = Replica::of(SETUP)?;
    replica.hedgerow.stop()?;
    replica.hedgerow.add_arguments(&["--on-gap", "copy-again"]);
    replica.at_source("create table later (id int primary key); insert into later values (1)")?;
    drop_slot(&replica)?;
    replica
        .at_source("delete from a where id % 2 = 0; update a set t = 'changed' where id < 10")?;
    replica.hedgerow.start_again()?;
    replica.hedgerow.wait_ready()?;
    replica.ensure_same("select * from a order by id")?;
    replica.ensure_same("select * from later")?;
    // Now while it follows the log, with a reader in the middle of it.
    let mut reader = replica.connect()?;
    reader.batch_execute("begin isolation level repeatable read read only")?;
    assert_eq!(single_value(&mut reader, "select count(*) from a")?, "500");
    drop_slot(&replica)?;
    replica.at_source("delete from a where id < 100; drop table later")?;
    wait_for("the second copy", || {
        ensure!(value(&replica, "select count(*) from a")? == "450");
        Ok(Some(()))
    })?;
    assert_eq!(single_value(&mut reader, "select count(*) from a")?, "500");
    reader.batch_execute("commit")?;
    replica.at_source("insert into a values (5, 'after')")?;
    replica.ensure_same("select * from a order by id")?;
    let slots = "select count(*) from pg_replication_slots";
    let slots = single_value(&mut replica.postgres.connect("postgres")?, slots)?;
    assert_eq!(slots, "1");
    replica.kill_and_restart()?;
    replica.ensure_same("select * from a order by id")?;
    replica.hedgerow.verify()?;
    Ok(())
}
