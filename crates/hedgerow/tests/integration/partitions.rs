//! Partitioned tables: the log shows their rows as their own, and says nothing of whole partitions.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::replica::{DATABASE, Replica};

const TABLE: &str =
    "create table events (day int, n int, primary key (day, n)) partition by range (day);
     create table events_1 partition of events for values from (0) to (10);
     create table events_2 partition of events for values from (10) to (20);
     insert into events select i % 20, i from generate_series(1, 1000) i;";

const ALL: &str = "select day, n from events order by day, n";

#[test]
fn rows_come_and_go_with_their_partitions() -> Result<()> {
    let mut replica = Replica::of(TABLE)?;
    replica.at_source("insert into events values (3, 2000), (13, 2000)")?;
    replica.ensure_same(ALL)?;
    for change in [
        "drop table events_1",
        "create table filled (day int not null, n int not null, primary key (day, n));
         insert into filled values (21, 1), (22, 2);
         alter table events attach partition filled for values from (20) to (30)",
        "create table later (day int not null, n int not null, primary key (day, n));
         insert into later values (31, 1)",
        "alter table events attach partition later for values from (30) to (40)",
        "truncate events_2",
        "alter table events detach partition filled",
    ] {
        replica.at_source(change)?;
        // Partitions are compared at every connect, and three times a minute.
        replica.restart()?;
        replica
            .wait_for_same(ALL)
            .map_err(|error| error.context(change))?;
    }
    Ok(())
}

#[test]
fn a_table_that_was_emptied_by_its_own_name_needs_no_copy() -> Result<()> {
    let mut replica = Replica::of(TABLE)?;
    replica.at_source("truncate events")?;
    replica.at_source("insert into events values (1, 1), (11, 2)")?;
    replica.ensure_same(ALL)?;
    // Partitions are compared three times a minute.
    std::thread::sleep(Duration::from_secs(25));
    replica.at_source("insert into events values (2, 1), (12, 2)")?;
    replica.ensure_same(ALL)?;
    let warnings = replica.warnings()?;
    ensure!(warnings.is_empty(), "{warnings}");
    Ok(())
}

#[test]
fn a_partition_that_was_made_as_one_needs_no_copy() -> Result<()> {
    let mut replica = Replica::of(TABLE)?;
    replica.at_source("create table events_3 partition of events for values from (20) to (30)")?;
    replica.at_source("grant select on events_3 to public")?;
    for day in [25, 26] {
        replica.restart()?;
        replica.at_source(&format!("insert into events values ({day}, 1)"))?;
        replica.ensure_same(ALL)?;
        let warnings = replica.warnings()?;
        ensure!(warnings.is_empty(), "{warnings}");
    }
    Ok(())
}

#[test]
fn hundreds_of_new_partitions_in_one_transaction_cost_few_questions() -> Result<()> {
    let mut replica = Replica::of(TABLE)?;
    let made: String = (20..220)
        .map(|day| {
            format!(
                "create table day_{day} partition of events for values from ({day}) to ({});",
                day + 1
            )
        })
        .collect();
    let mut source = replica.postgres.connect(DATABASE)?;
    source.batch_execute("select pg_stat_reset()")?;
    replica.at_source(&format!(
        "begin; {made} insert into events select 20 + i % 200, i from generate_series(1, 5000) i; commit"
    ))?;
    replica.ensure_same(ALL)?;
    let warnings = replica.warnings()?;
    ensure!(warnings.is_empty(), "{warnings}");
    // Each question is a transaction. With each partition the log describes the root once more, for which the
    // catalog is asked; for the partitions it is not.
    let sql = "select xact_commit from pg_stat_database where datname = current_database()";
    let transactions: i64 = source.query_one(sql, &[])?.get(0);
    ensure!(
        transactions < 200 * 12,
        "{transactions} transactions at the source"
    );
    Ok(())
}
