//! Schema changes are applied from the log, at their own position; tables come, go and are copied
//! again while the others go on.

use anyhow::Result;
use testbed::bank::single_value;
use testbed::patience::wait_for;

use crate::replica::Replica;

#[test]
fn columns_come_and_go_and_change_names() -> Result<()> {
    let mut replica = Replica::of(
        "create table t (id int primary key, a varchar(20), b int);
         insert into t select i, 'x' || i, i from generate_series(1, 1000) i;",
    )?;
    let changes = [
        "alter table t add column c int default 7",
        "alter table t add column d text",
        "alter table t rename column a to e",
        "alter table t drop column b",
        "alter table t add column b numeric(10, 2) default -0.05",
        "alter table t alter column b type numeric(12, 2)",
        "alter table t alter column b type numeric",
        "alter table t alter column e type text",
        "alter table t alter column c drop default, alter column c set not null",
        "alter table t rename to u; create view t as select 1",
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let table = if change.contains("rename to") {
            "u"
        } else {
            "t"
        };
        replica.at_source(&format!(
            "{change}; insert into {table} (id, c) values ({}, 5);
             delete from {table} where id = {number}",
            2000 + number
        ))?;
        replica.ensure_same(&format!("select * from {table} order by id"))?;
    }
    replica.kill_and_restart()?;
    replica.at_source("update u set d = 'y' where id % 3 = 0")?;
    replica.ensure_same("select * from u order by id")?;
    replica.hedgerow.verify()?;
    Ok(())
}

#[test]
fn a_snapshot_before_a_schema_change_sees_the_table_as_it_was() -> Result<()> {
    let mut replica = Replica::of(
        "create table t (id int primary key, a text); insert into t values (1, 'x'), (2, 'y');",
    )?;
    let mut reader = replica.connect()?;
    reader.batch_execute("begin; select * from t")?;
    replica.at_source("alter table t add column b int default 3; update t set a = 'z'")?;
    replica.ensure_same("select * from t order by id")?;
    assert_eq!(
        single_value(&mut reader, "select string_agg(a, '') from t")?,
        "xy"
    );
    assert!(reader.simple_query("select b from t").is_err());
    reader.batch_execute("rollback")?;
    assert_eq!(single_value(&mut reader, "select sum(b) from t")?, "6");
    Ok(())
}

#[test]
fn what_the_log_does_not_tell_is_copied_again_by_itself() -> Result<()> {
    let mut replica = Replica::of(
        "create table t (id int primary key, a int); insert into t select i, i from generate_series(1, 1000) i;
         create table other (id int primary key, n int); insert into other values (1, 0);",
    )?;
    for change in [
        "alter table t alter column a type bigint using a * 1000000000::bigint",
        "alter table t add column r float8 default random()",
        "alter table t drop column a, add column a text default 'new'",
        "alter table t drop constraint t_pkey, add primary key (a, id)",
        "drop table t; create table t (id int primary key, z text); insert into t values (1, 'q')",
    ] {
        replica.at_source(&format!(
            "{change}; insert into t (id) values (-1); update other set n = n + 1;
            delete from t where id = -1"
        ))?;
        replica.ensure_same("select * from other")?;
        replica.wait_for_same("select * from t order by id")?;
    }
    replica.hedgerow.verify()?;
    Ok(())
}

#[test]
fn tables_join_the_publication_and_leave() -> Result<()> {
    let mut replica = Replica::of("create table first (id int primary key)")?;
    replica.at_source(
        "create table second (id int primary key, t text);
         insert into second select i, 'a' from generate_series(1, 5000) i;
         insert into first values (1);",
    )?;
    replica.wait_for_same("select count(*), sum(id) from second")?;
    replica.at_source("drop table second; insert into first values (2)")?;
    replica.ensure_same("select * from first order by id")?;
    wait_for("the dropped table to go", || {
        let (code, _) = match replica.refusal("select * from second") {
            Ok(refusal) => refusal,
            Err(_) => return Ok(None),
        };
        Ok((code == "42P01").then_some(()))
    })
}

#[test]
fn a_table_is_copied_again_by_one_command() -> Result<()> {
    let mut replica = Replica::of(
        "create table t (id int primary key, n numeric(10, 2)); insert into t select i, i from generate_series(1, 20000) i;
         create table other (id int primary key);",
    )?;
    let output = replica.hedgerow.run(&["resync", "t"])?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{text} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("complete, 20000 rows"), "{text}");
    // It follows the log again, and what changes while it is copied is not lost.
    for round in 0..5 {
        let mut client = replica.connect()?;
        client.batch_execute("resync table t")?;
        replica.at_source(&format!(
            "update t set n = n + 1 where id % 10 = {round}; delete from t where id = {round};
             insert into t values ({}, {round})",
            100_000 + round
        ))?;
        replica.wait_for_same("select count(*), sum(n), sum(id) from t")?;
    }
    replica.hedgerow.verify()?;
    Ok(())
}

#[test]
fn a_copy_that_is_cut_off_by_the_end_of_the_process_begins_again() -> Result<()> {
    let mut replica = Replica::of(
        "create table t (id int primary key, a text);
         insert into t select i, repeat('x', 200) from generate_series(1, 200000) i;",
    )?;
    replica.connect()?.batch_execute("resync table t")?;
    replica.kill_and_restart()?;
    replica.at_source("update t set a = 'y' where id < 100")?;
    replica.wait_for_same("select count(*), sum(length(a)) from t")?;
    replica.hedgerow.verify()?;
    Ok(())
}
