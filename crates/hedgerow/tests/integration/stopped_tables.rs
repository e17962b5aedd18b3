//! What the stream cannot carry stops one table with a reason; the others go on.

use anyhow::Result;
use testbed::bank::single_value;
use testbed::patience::wait_for;

use crate::replica::Replica;

/// SQLSTATE of a read of a stopped table.
const STOPPED: &str = "55000";

/// Waits until reading `table` is refused, and gives the texts of the error.
fn stop_of(replica: &mut Replica, table: &str) -> Result<String> {
    replica.catch_up()?;
    let (code, texts) = replica.refusal(&format!("select * from {table}"))?;
    assert_eq!(code, STOPPED, "{texts}");
    assert!(texts.contains(table), "{texts}");
    Ok(texts)
}

/// Has a table leave the publication, which stops it.
fn unpublish(replica: &mut Replica, table: &str) -> Result<()> {
    replica.at_source(&format!("alter table {table} set unlogged"))?;
    // The publication is looked at at every connect.
    replica.restart()
}

/// The state that schema `hedgerow` tells of a table.
fn state_of(replica: &Replica, table: &str) -> Result<String> {
    let query = format!("select state from hedgerow.tables where name = '{table}'");
    single_value(&mut replica.connect()?, &query)
}

#[test]
fn a_stopped_table_stays_stopped_and_the_others_go_on() -> Result<()> {
    let mut replica = Replica::of(
        "create table changed (id int primary key, n int);
         create table other (id int primary key, t text);
         insert into changed select i, 1 from generate_series(1, 100) i;
         insert into other select i, 'x' from generate_series(1, 100) i;",
    )?;
    unpublish(&mut replica, "changed")?;
    replica
        .at_source("update changed set n = 2 where id = 7; insert into other values (101, 'y')")?;
    stop_of(&mut replica, "changed")?;
    replica.ensure_same("select * from other order by id")?;
    assert!(state_of(&replica, "changed")?.contains("stopped"));
    // The state outlives a crash, and the others go on again.
    replica.kill_and_restart()?;
    replica.at_source("update changed set n = 9; update other set t = 'z' where id < 50")?;
    stop_of(&mut replica, "changed")?;
    replica.ensure_same("select * from other order by id")
}

#[test]
fn a_repair_outlives_a_kill_right_after_it_was_acknowledged() -> Result<()> {
    let mut replica = Replica::of(
        "create table broken (id int primary key, n int);
         insert into broken select i, 1 from generate_series(1, 100) i;",
    )?;
    unpublish(&mut replica, "broken")?;
    stop_of(&mut replica, "broken")?;
    replica.at_source("alter table broken set logged; update broken set n = 2 where id = 7")?;
    replica.connect()?.batch_execute("resync table broken")?;
    replica.kill_and_restart()?;
    wait_for("the table to be complete", || {
        replica.ensure_same("select * from broken order by id")?;
        Ok(Some(()))
    })?;
    replica.hedgerow.verify()?;
    Ok(())
}

#[test]
fn a_table_made_later_does_not_disturb_the_others() -> Result<()> {
    let mut replica = Replica::of("create table first (id int primary key)")?;
    replica.at_source(
        "create table second (id int primary key, t text);
         insert into second values (1, 'a');
         insert into first values (1);",
    )?;
    replica.ensure_same("select * from first")?;
    // Either it is followed, or it is not there; it is never half there.
    wait_for("a clear answer about the new table", || {
        match single_value(&mut replica.connect()?, "select t from second") {
            Ok(text) => assert_eq!(text, "a"),
            Err(error) => assert!(format!("{error:#}").contains("second"), "{error:#}"),
        }
        Ok(Some(()))
    })
}
