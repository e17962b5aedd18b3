//! Transactions of the source are all or nothing; read-only transactions keep their snapshot.

use anyhow::Result;
use testbed::bank::single_value;

use crate::replica::Replica;

const TABLES: &str = "create table a (id int primary key, n bigint);
     create table b (id int primary key, n bigint);
     insert into a select i, 0 from generate_series(1, 100) i;
     insert into b select i, 0 from generate_series(1, 100) i;";

#[test]
fn a_read_only_transaction_keeps_its_snapshot_of_all_tables() -> Result<()> {
    let mut replica = Replica::of(TABLES)?;
    let sum = "select (select sum(n) from a) + (select sum(n) from b)";
    let mut reader = replica.connect()?;
    reader.batch_execute("begin transaction isolation level repeatable read, read only")?;
    // The snapshot is taken by the first statement and covers tables that are read later.
    assert_eq!(single_value(&mut reader, "select sum(n) from a")?, "0");
    for _ in 0..20 {
        replica.at_source("begin; update a set n = n + 1; update b set n = n + 1; commit")?;
    }
    replica.catch_up()?;
    assert_eq!(single_value(&mut reader, sum)?, "0");
    assert_eq!(single_value(&mut replica.connect()?, sum)?, "4000");
    reader.batch_execute("rollback")?;
    assert_eq!(single_value(&mut reader, sum)?, "4000");
    Ok(())
}

#[test]
fn rolled_back_work_never_shows() -> Result<()> {
    let mut replica = Replica::of(TABLES)?;
    replica.at_source("begin; update a set n = 99; rollback")?;
    replica.at_source(
        "begin;
         update a set n = 1 where id = 1;
         savepoint s;
         update a set n = 2 where id in (1, 2);
         savepoint inner_one;
         delete from a where id = 3;
         release inner_one;
         rollback to s;
         update a set n = 3 where id = 4;
         commit",
    )?;
    replica.ensure_same("select * from a order by id")
}

#[test]
fn prepared_transactions_come_when_they_commit() -> Result<()> {
    let mut replica = Replica::of(TABLES)?;
    // Larger ones are sent while they are in progress.
    replica.at_source("alter system set logical_decoding_work_mem = '64kB'")?;
    replica.at_source("select pg_reload_conf()")?;
    replica.at_source("update a set n = 1")?;
    for rows in [10, 20_000] {
        replica.at_source(&format!(
            "begin; insert into b select i, 1 from generate_series(1000, 999 + {rows}) i;
             savepoint s; update a set n = 2; rollback to s; update a set n = 3 where id = 1;
             prepare transaction 'kept'"
        ))?;
        replica.at_source(&format!(
            "begin; insert into b select i, 1 from generate_series(100000, 99999 + {rows}) i;
             update a set n = 4 where id = 2; prepare transaction 'undone'"
        ))?;
        replica.at_source("update a set n = 5 where id = 3")?;
        replica.ensure_same("select * from a order by id")?;
        replica.ensure_same("select count(*) from b")?;
        replica.kill_and_restart()?;
        replica.at_source("commit prepared 'kept'")?;
        replica.at_source("rollback prepared 'undone'")?;
        replica.ensure_same("select * from a order by id")?;
        replica.ensure_same("select count(*), sum(id), sum(n) from b")?;
        replica.at_source("delete from b where id > 100; update a set n = 6")?;
        replica.ensure_same("select * from a order by id")?;
    }
    replica.hedgerow.verify()?;
    Ok(())
}

#[test]
fn a_transaction_larger_than_the_source_keeps_in_memory_is_one_step() -> Result<()> {
    let mut replica = Replica::of("create table large (id int primary key, t text)")?;
    // A statement of its own: it refuses to run in the block that several statements make.
    replica.at_source("alter system set logical_decoding_work_mem = '64kB'")?;
    replica.at_source("select pg_reload_conf()")?;
    let mut reader = replica.connect()?;
    let writer = replica.postgres.connect("postgres")?;
    let writing = std::thread::Builder::new().spawn(move || -> Result<()> {
        let mut writer = writer;
        writer.batch_execute(
            "begin;
             insert into large select i, repeat('x', 50) from generate_series(1, 150000) i;
             savepoint s;
             insert into large select i, 'gone' from generate_series(150001, 200000) i;
             rollback to s;
             update large set t = 'changed' where id % 3 = 0;
             delete from large where id % 5 = 0;
             commit",
        )?;
        Ok(())
    })?;
    let rows = "select count(*) from large";
    let mut seen = "0".to_owned();
    while !writing.is_finished() {
        let count = single_value(&mut reader, rows)?;
        assert!(
            count == "0" || count == "120000",
            "{count} rows of an unfinished transaction"
        );
        seen = count;
    }
    assert!(seen == "0" || seen == "120000");
    writing
        .join()
        .map_err(|_| anyhow::anyhow!("the writer panicked"))??;
    replica.ensure_same("select count(*), min(id), max(id), sum(id), sum(length(t)) from large")?;
    replica.hedgerow.verify()?;
    Ok(())
}
