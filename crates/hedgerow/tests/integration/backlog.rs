//! A long backlog is read by statement, in stretches: nothing is lost or doubled where two of them meet, and where
//! that does not work the stream does.

use anyhow::Result;
use postgres::Client;
use testbed::bank::single_value;
use testbed::patience::wait_for;
use testbed::postgres_server::Shutdown;

use crate::replica::{DATABASE, Replica, fill_log};

const SETUP: &str = "create table counted (id int primary key, n int, t text);
     create table grown (n int);
     create table late (n int);
     insert into counted select i, 0, 'copied' from generate_series(1, 2000) i;";

const COUNTED: &str = "select * from counted order by id";
const GROWN: &str = "select n, count(*) from grown group by n order by n";

/// What the log of hedgerow says where a backlog is read by statement.
const BY_STATEMENT: &str = "reading the backlog";
/// And where that is refused.
const REFUSED: &str = "the backlog cannot be read by statement";

/// Small transactions all over `mib` mebibytes of log: rows changed, made, deleted, rolled back in part.
fn write_backlog(source: &mut Client, mib: u32) -> Result<()> {
    let fill = fill_log(1);
    for round in 0..mib {
        source.batch_execute(&format!(
            "{fill};
             begin; update counted set n = n + 1 where id % 20 = {round} % 20;
             savepoint s; delete from counted where id <= 1000; rollback to s;
             insert into grown select {round} from generate_series(1, 5); commit;
             delete from counted where id = {round} * 3;
             insert into counted values ({round} * 3, {round}, 'again')"
        ))?;
    }
    Ok(())
}

fn ensure_equal(replica: &mut Replica) -> Result<()> {
    ensure_same_rows(replica)?;
    replica.hedgerow.verify().map(drop)
}

fn ensure_same_rows(replica: &mut Replica) -> Result<()> {
    replica.ensure_same(COUNTED)?;
    replica.ensure_same(GROWN)?;
    replica.ensure_same("select * from late order by n")
}

#[test]
fn stretches_meet_without_gap_or_duplicate() -> Result<()> {
    let mut replica = Replica::of(SETUP)?;
    replica.hedgerow.stop()?;
    // This one is open over all the stretches, and belongs to the last.
    let mut open = replica.postgres.connect(DATABASE)?;
    open.batch_execute("begin; insert into late values (1)")?;
    let mut source = replica.postgres.connect(DATABASE)?;
    write_backlog(&mut source, 200)?;
    source.batch_execute(
        "alter table counted add column later text default 'added';
         truncate grown; update counted set t = 'changed', later = 'written' where id > 1900",
    )?;
    write_backlog(&mut source, 250)?;
    open.batch_execute("insert into late values (2); commit")?;
    replica.hedgerow.start_again()?;
    replica.hedgerow.wait_ready()?;
    ensure_equal(&mut replica)?;
    assert!(replica.hedgerow.log().contains(BY_STATEMENT));
    // All of it is durable and known to be, and what follows comes on the stream.
    replica.kill_and_restart()?;
    ensure_equal(&mut replica)
}

#[test]
fn a_large_transaction_over_the_end_of_a_stretch_comes_once() -> Result<()> {
    let mut replica = Replica::of(SETUP)?;
    replica.hedgerow.stop()?;
    let mut source = replica.postgres.connect(DATABASE)?;
    // So that it is sent in progress.
    source.batch_execute("alter system set logical_decoding_work_mem = '64kB'")?;
    source.batch_execute("select pg_reload_conf()")?;
    let mut large = replica.postgres.connect(DATABASE)?;
    write_backlog(&mut source, 100)?;
    large.batch_execute("begin; insert into grown select 7000 from generate_series(1, 5000)")?;
    write_backlog(&mut source, 150)?;
    large.batch_execute(
        "insert into grown select 8000 from generate_series(1, 5000);
         update counted set t = 'large' where id between 1500 and 1600; commit",
    )?;
    write_backlog(&mut source, 100)?;
    replica.hedgerow.start_again()?;
    replica.hedgerow.wait_ready()?;
    ensure_equal(&mut replica)?;
    let log = replica.hedgerow.log();
    assert!(
        log.contains(BY_STATEMENT) && !log.contains(REFUSED),
        "{log}"
    );
    Ok(())
}

#[test]
fn what_a_source_refuses_comes_on_the_stream() -> Result<()> {
    let mut replica = Replica::of(SETUP)?;
    replica.hedgerow.stop()?;
    // Ours is the only slot that there may be.
    replica.at_source("alter system set max_replication_slots = 1")?;
    replica.postgres.restart(Shutdown::Fast)?;
    write_backlog(&mut replica.postgres.connect(DATABASE)?, 70)?;
    replica.hedgerow.start_again()?;
    replica.hedgerow.wait_ready()?;
    // `verify` wants a slot, too.
    ensure_same_rows(&mut replica)?;
    let log = replica.hedgerow.log();
    assert!(
        log.contains(REFUSED) && !log.contains(BY_STATEMENT),
        "{log}"
    );
    Ok(())
}

#[test]
fn lost_sessions_are_made_again() -> Result<()> {
    let mut replica = Replica::of(SETUP)?;
    replica.hedgerow.stop()?;
    let mut source = replica.postgres.connect(DATABASE)?;
    write_backlog(&mut source, 450)?;
    replica.hedgerow.start_again()?;
    wait_for("a session that reads the backlog", || {
        let ended = single_value(
            &mut source,
            "select count(pg_terminate_backend(pid)) from pg_stat_activity
             where query like '%pg_logical_slot_get_binary_changes%' and pid <> pg_backend_pid()",
        )?;
        Ok((ended != "0").then_some(()))
    })?;
    replica.hedgerow.wait_ready()?;
    ensure_equal(&mut replica)?;
    // Their slots went with them.
    let slots = single_value(&mut source, "select count(*) from pg_replication_slots")?;
    assert_eq!(slots, "1");
    Ok(())
}
