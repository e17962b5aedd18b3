//! The initial copy: cut short by kills, overtaken by changes.

use std::time::Duration;

use anyhow::{Result, bail};
use postgres::NoTls;
use tempfile::TempDir;
use testbed::bank::single_value;
use testbed::patience::wait_for;
use testbed::{Hedgerow, HedgerowOptions};

use crate::replica::{DATABASE, Replica, source};

#[test]
fn a_copy_that_is_killed_and_overtaken_by_changes_ends_equal() -> Result<()> {
    let postgres = source(
        "create table big (id int primary key, n int, t text);
         create table grown (n int);
         insert into big select i, 0, md5(i::text) from generate_series(1, 400000) i;
         insert into grown select generate_series(1, 100000);",
    )?;
    let folder = TempDir::with_prefix("testbed-copy-")?;
    let options = HedgerowOptions::new(postgres.url(DATABASE), &folder.path().join("data"))?;
    let mut hedgerow = Hedgerow::start(options)?;
    let mut source = postgres::Client::connect(&postgres.url(DATABASE), NoTls)?;
    for round in 0..4 {
        for change in 0..20 {
            source.batch_execute(&format!(
                "update big set n = n + 1 where id % 1000 = {change};
                 delete from big where id = {round} * 1000 + {change} + 500;
                 insert into grown values ({round})"
            ))?;
        }
        std::thread::sleep(Duration::from_millis(150));
        hedgerow.kill()?;
        hedgerow.start_again()?;
    }
    hedgerow.wait_ready()?;
    source.batch_execute("update testbed_barrier set value = 1")?;
    hedgerow.wait_for_value("select value from testbed_barrier", "1")?;
    wait_for_equality(&hedgerow)?;
    // One replica, one slot: what was begun and given up must not hold the source's log.
    let slots = single_value(&mut source, "select count(*) from pg_replication_slots")?;
    assert_eq!(slots, "1");
    Ok(())
}

/// A statement of the source finds tables and columns in the newest catalog, whatever snapshot it reads.
#[test]
fn tables_that_change_before_their_turn_in_the_copy_are_copied_as_they_are_then() -> Result<()> {
    let big = |number| {
        format!(
            "create table big_{number} (id int primary key, t text);
             insert into big_{number} select i, md5(i::text) from generate_series(1, 400000) i;"
        )
    };
    let small = "create table narrowed (id int primary key, kept int, dropped int);
         insert into narrowed select i, i, i from generate_series(1, 100) i;
         create table gone (id int primary key); insert into gone values (1);
         create table emptied (n int); alter table emptied replica identity full;
         insert into emptied select generate_series(1, 100);";
    let setup: String = (0..4).map(big).collect();
    let postgres = source(&format!("{setup} {small}"))?;
    let folder = TempDir::with_prefix("testbed-copy-")?;
    let options = HedgerowOptions::new(postgres.url(DATABASE), &folder.path().join("data"))?;
    let mut hedgerow = Hedgerow::start(options)?;
    // The large ones come first.
    let mut source = postgres.connect(DATABASE)?;
    wait_for("the copy to begin", || {
        let copies = single_value(&mut source, "select count(*) from pg_stat_progress_copy")?;
        Ok((copies != "0").then_some(()))
    })?;
    source.batch_execute("alter table narrowed drop column dropped; drop table gone")?;
    // Its rows are gone from the copy's snapshot, too, but the log shows them once more.
    source.batch_execute("update emptied set n = -n")?;
    source.batch_execute("truncate emptied")?;
    source.batch_execute("insert into emptied values (1), (1), (2)")?;
    hedgerow.wait_ready()?;
    hedgerow.wait_for_value("select sum(kept) from narrowed", "5050")?;
    source.batch_execute("insert into narrowed values (101, 1)")?;
    hedgerow.wait_for_value("select sum(kept) from narrowed", "5051")?;
    hedgerow.wait_for_value("select count(*) from emptied", "3")?;
    wait_for_equality(&hedgerow)?;
    let mut client = hedgerow.connect()?;
    let columns = client.prepare("select * from narrowed")?.columns().len();
    assert_eq!(columns, 2);
    assert!(client.simple_query("select * from gone").is_err());
    Ok(())
}

/// Tables may be being copied beside the log; once they are not, both sides are equal.
fn wait_for_equality(hedgerow: &Hedgerow) -> Result<()> {
    wait_for("a verdict on all tables", || {
        let verdict = hedgerow.verify().map(drop);
        match &verdict {
            Err(error) if !error.to_string().contains("DIFFERENT") => bail!("{error}"),
            _ => Ok(Some(verdict)),
        }
    })?
}

#[test]
fn tables_that_were_complete_when_a_copy_was_cut_off_stay() -> Result<()> {
    let postgres = source(
        "create table giant (id int primary key, a text, b text);
         create table small (id int primary key, n int);
         create table other (id int, n int); alter table other replica identity full;
         insert into giant select i, repeat(md5(i::text), 4), md5(i::text) from generate_series(1, 600000) i;
         insert into small select i, i from generate_series(1, 1000) i;
         insert into other select i % 10, 1 from generate_series(1, 1000) i;",
    )?;
    let folder = TempDir::with_prefix("testbed-copy-")?;
    let options = HedgerowOptions::new(postgres.url(DATABASE), &folder.path().join("data"))?;
    let mut hedgerow = Hedgerow::start(options)?;
    let mut source = postgres.connect(DATABASE)?;
    // The largest comes first, the others go beside it and are complete soon.
    let mut has_begun = false;
    wait_for("the largest table to be copied for a while", || {
        let age_ms = single_value(
            &mut source,
            "select coalesce(max((extract(epoch from clock_timestamp() - query_start) * 1000)::int), -1)
             from pg_stat_activity where state = 'active' and query like 'COPY%giant%'",
        )?;
        let age_ms: i32 = age_ms.parse()?;
        let has_ended = has_begun && age_ms < 0;
        has_begun |= age_ms >= 0;
        Ok((has_ended || age_ms > 700).then_some(()))
    })?;
    hedgerow.stop()?;
    source.batch_execute(
        "update small set n = 0 where id % 2 = 0; delete from other where n = 1 and id = 3;
         delete from giant where id < 1000; update giant set a = 'new' where id % 1000 = 7;
         insert into other select 3, 2",
    )?;
    hedgerow.start_again()?;
    hedgerow.wait_ready()?;
    // What was complete needs nothing but the log.
    let small = "select count(*) filter (where n = 0) from small";
    hedgerow.wait_for_value(small, "500")?;
    wait_for_equality(&hedgerow)?;
    let sql = "select coalesce(warnings, '') from hedgerow.sources";
    let warnings = single_value(&mut hedgerow.connect()?, sql)?;
    assert!(!warnings.contains("starting over"), "{warnings}");
    Ok(())
}

/// The log brings rows of a new table before its copy begins, and while it goes on; without a key
/// nothing but their position tells them from those of the snapshot.
#[test]
fn rows_without_a_key_are_there_once_however_they_came() -> Result<()> {
    let mut replica = Replica::of("create table keyed (id int primary key)")?;
    replica.at_source("create table grown (n int); insert into grown values (1), (2), (2)")?;
    let all = "select n from grown order by n";
    replica.wait_for_same(all)?;
    replica.at_source("insert into grown select generate_series(3, 5000)")?;
    for round in 0..3 {
        replica.at_source("insert into grown values (0)")?;
        replica.connect()?.batch_execute("resync table grown")?;
        replica.at_source(&format!("insert into grown values (-{round})"))?;
    }
    replica.wait_for_same(all)?;
    Ok(())
}

/// As migration tools do it: a new table takes the place of an old one.
#[test]
fn tables_that_swap_their_names_are_read_under_the_new_ones() -> Result<()> {
    let mut replica = Replica::of(
        "create table orders (id int primary key, n int); insert into orders values (1, 1);
         create table orders_new (id int primary key, n int); insert into orders_new values (1, 2);",
    )?;
    replica.at_source(
        "begin; alter table orders rename to orders_old;
         alter table orders_new rename to orders; commit;
         insert into orders values (2, 3)",
    )?;
    replica.ensure_same("select id, n from orders order by id")?;
    replica.ensure_same("select id, n from orders_old order by id")?;
    Ok(())
}
