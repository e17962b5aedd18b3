//! TRUNCATE at the source empties the copy at its own position, no more and no less.

use anyhow::Result;

use crate::replica::Replica;

#[test]
fn rows_before_a_truncate_go_and_rows_after_it_stay() -> Result<()> {
    let mut replica = Replica::of(
        "create table a (id int primary key, t text);
         create table b (id int primary key, t text);
         create table c (id int primary key, t text);
         insert into a select i, 'old' from generate_series(1, 1000) i;
         insert into b select i, 'old' from generate_series(1, 1000) i;
         insert into c select i, 'kept' from generate_series(1, 1000) i;",
    )?;
    replica.at_source(
        "begin;
         insert into a values (2000, 'before, in the same transaction');
         truncate a, b;
         insert into a select i, 'new' from generate_series(1, 10) i;
         commit;",
    )?;
    replica.ensure_same("select * from a order by id")?;
    replica.ensure_same("select * from b order by id")?;
    replica.ensure_same("select count(*) from c")?;
    replica.kill_and_restart()?;
    replica.ensure_same("select * from a order by id")?;
    replica.ensure_same("select count(*) from b")?;
    replica.at_source("insert into b values (7, 'again'); truncate c")?;
    replica.ensure_same("select * from b")?;
    replica.ensure_same("select count(*) from c")?;
    replica.hedgerow.verify()?;
    Ok(())
}

#[test]
fn a_large_transaction_truncates_what_it_wrote_itself() -> Result<()> {
    let mut replica = Replica::of(
        "create table a (id int primary key, t text);
         create table b (id int primary key, t text);
         insert into a select i, 'old' from generate_series(1, 1000) i;
         insert into b select i, 'old' from generate_series(1, 1000) i;",
    )?;
    // Large enough to go out in parts, and either sent at its commit or while it is in progress.
    for memory in ["64MB", "64kB"] {
        replica.at_source(&format!(
            "alter system set logical_decoding_work_mem = '{memory}'"
        ))?;
        replica.at_source("select pg_reload_conf()")?;
        let large = "insert into a select i, repeat('x', 1000) from generate_series(2000, 9999) i";
        replica.at_source(&format!(
            "begin; delete from b where id % 2 = 0; {large}; truncate a;
             insert into a select i, 'new' from generate_series(1, 10) i; {large}; truncate a, b;
             insert into a values (7, '{memory}'); insert into b values (3, '{memory}'); commit;"
        ))?;
        replica.ensure_same("select * from a order by id")?;
        replica.ensure_same("select * from b order by id")?;
        replica.kill_and_restart()?;
        replica.at_source("insert into a select i, 'later' from generate_series(100, 200) i")?;
        replica.ensure_same("select * from a order by id")?;
        replica.at_source("delete from a where id >= 100")?;
    }
    replica.hedgerow.verify()?;
    Ok(())
}

#[test]
fn a_transaction_keeps_rows_that_are_truncated_meanwhile() -> Result<()> {
    let mut replica = Replica::of(
        "create table a (id int primary key);
         insert into a select generate_series(1, 1000);",
    )?;
    let mut reader = replica.connect()?;
    reader.batch_execute("begin isolation level repeatable read read only")?;
    let count = |client: &mut postgres::Client| {
        testbed::bank::single_value(client, "select count(*) from a")
    };
    assert_eq!(count(&mut reader)?, "1000");
    replica.at_source("truncate a")?;
    replica.catch_up()?;
    assert_eq!(count(&mut replica.connect()?)?, "0");
    assert_eq!(count(&mut reader)?, "1000");
    reader.batch_execute("commit")?;
    assert_eq!(count(&mut reader)?, "0");
    Ok(())
}
