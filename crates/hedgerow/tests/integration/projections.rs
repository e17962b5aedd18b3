//! Projections of tables of a real PostgreSQL: made, kept, read, stopped and made anew.

use anyhow::{Context, Result, ensure};
use testbed::patience::wait_for;

use crate::replica::Replica;

const SALES: &str = "create table sales (id bigint primary key, day date, clerk text, amount int not null, note text);
    alter table sales replica identity full;
    insert into sales
        select i, date '2024-01-01' + (i * 7919 % 366)::int, nullif('clerk ' || i * 31 % 50, 'clerk 7'), i % 1000,
               repeat('n', (i % 20)::int)
        from generate_series(1, 20000) i;";

fn create(replica: &Replica, statement: &str) -> Result<()> {
    let mut client = replica.hedgerow.connect()?;
    client
        .batch_execute(statement)
        .with_context(|| statement.to_owned())
}

fn wait_until_ready(replica: &Replica, name: &str) -> Result<()> {
    let state = format!("select state from hedgerow.projections where name = '{name}'");
    replica.hedgerow.wait_for_value(&state, "ready")
}

/// Whether a statement reads a projection.
fn reads(replica: &Replica, statement: &str, projection: &str) -> Result<bool> {
    let mut client = replica.hedgerow.connect()?;
    let plan = client.query(&format!("explain {statement}"), &[])?;
    let wanted = format!("projection={projection},");
    Ok(plan
        .iter()
        .any(|line| line.get::<_, String>(0).contains(&wanted)))
}

/// Everything, read in the order of each projection, is what the source has.
fn ensure_same_in_order(replica: &mut Replica) -> Result<()> {
    for (statement, projection) in [
        (
            "select day, id, clerk, amount, note from sales order by day, id",
            "by_day",
        ),
        (
            "select clerk, amount, id, day from sales order by clerk, amount, id",
            "by_clerk",
        ),
    ] {
        // Not while it has far more pages than its table: until it is merged as well.
        wait_for(&format!("{statement} to read {projection}"), || {
            Ok(reads(replica, statement, projection)?.then_some(()))
        })?;
        replica.ensure_same(statement)?;
    }
    Ok(())
}

#[test]
fn projections_follow_every_change_and_restarts() -> Result<()> {
    let mut replica = Replica::of(SALES)?;
    create(&replica, "create projection by_day on sales order by day")?;
    create(
        &replica,
        "create projection by_clerk on sales order by clerk, amount",
    )?;
    wait_until_ready(&replica, "by_day")?;
    wait_until_ready(&replica, "by_clerk")?;
    ensure_same_in_order(&mut replica)?;
    replica.at_source(
        "update sales set day = day + 1 where id % 3 = 0;
         update sales set note = note || 'x' where id % 5 = 0;
         update sales set clerk = null, amount = -amount where id % 7 = 0;
         update sales set id = id + 100000 where id % 11 = 0;
         delete from sales where id % 13 = 0;
         insert into sales select i, null, 'new', i, null from generate_series(300000, 300100) i",
    )?;
    ensure_same_in_order(&mut replica)?;
    // A row that moves there and back in one transaction, and one that comes and goes.
    replica.at_source(
        "begin; update sales set day = day + 9 where id = 1; update sales set day = day - 9 where id = 1;
         insert into sales values (400000, '2024-02-02', 'c', 1, ''); delete from sales where id = 400000;
         update sales set amount = 5 where id = 2; commit",
    )?;
    ensure_same_in_order(&mut replica)?;
    replica.kill_and_restart()?;
    ensure_same_in_order(&mut replica)?;
    replica.at_source("update sales set day = day - 2 where id % 2 = 0; truncate sales; insert into sales values (1, '2024-01-01', 'a', 1, '')")?;
    ensure_same_in_order(&mut replica)?;
    replica.hedgerow.verify()?;
    // What was acknowledged outlives a kill in the same moment.
    create(&replica, "drop projection by_day")?;
    replica.kill_and_restart()?;
    let left = "select string_agg(name, ' ') from hedgerow.projections";
    replica.hedgerow.wait_for_value(left, "by_clerk")?;
    let by_day = "select id from sales order by day, id";
    ensure!(!reads(&replica, by_day, "by_day")?);
    replica.ensure_same(by_day)
}

#[test]
fn large_values_that_stay_as_they_are_are_in_the_projection() -> Result<()> {
    let mut replica = Replica::of(
        "create table t (id int primary key, n int not null, large text);
         alter table t alter large set storage external;
         alter table t replica identity full;
         insert into t select i, i % 10, repeat('large' || i, 2000) from generate_series(1, 200) i",
    )?;
    create(&replica, "create projection by_n on t order by n")?;
    wait_until_ready(&replica, "by_n")?;
    replica.at_source(
        "update t set n = n + 1 where id % 2 = 0; update t set id = id + 1000 where id % 3 = 0",
    )?;
    let all = "select n, id, length(large), md5(large) from t order by n, id";
    ensure!(reads(&replica, all, "by_n")?);
    replica.ensure_same(all)
}

#[test]
fn without_former_cells_there_is_none_and_one_that_loses_them_is_stopped() -> Result<()> {
    let mut replica = Replica::of(&SALES.replace("alter table sales replica identity full;", ""))?;
    let statement = "create projection by_day on sales order by day";
    let (code, texts) = replica.refusal(statement)?;
    ensure!(
        code == "55000" && texts.contains("REPLICA IDENTITY FULL"),
        "{code}: {texts}"
    );
    create(&replica, "create projection by_key on sales order by id")?;
    wait_until_ready(&replica, "by_key")?;
    replica.at_source(
        "alter table sales replica identity full; update sales set amount = 3 where id = 3",
    )?;
    create(&replica, statement)?;
    wait_until_ready(&replica, "by_day")?;
    replica.at_source("update sales set day = '2024-01-01' where id % 10 = 0")?;
    let by_day = "select day, id from sales order by day, id limit 100";
    ensure!(reads(&replica, by_day, "by_day")?);
    replica.ensure_same(by_day)?;
    replica.at_source("alter table sales replica identity default; update sales set day = '2023-01-01' where id = 3")?;
    let state = "select state || ' ' || (reason like '%REPLICA IDENTITY FULL%') from hedgerow.projections where name = 'by_day'";
    replica.hedgerow.wait_for_value(state, "stopped true")?;
    ensure!(!reads(&replica, by_day, "by_day")?);
    replica.ensure_same(by_day)?;
    replica.at_source(
        "alter table sales replica identity full; update sales set day = '2022-01-01' where id = 4",
    )?;
    create(&replica, "drop projection by_day")?;
    create(&replica, statement)?;
    wait_until_ready(&replica, "by_day")?;
    replica.ensure_same(by_day)?;
    ensure!(reads(&replica, by_day, "by_day")?);
    replica.hedgerow.verify().map(|_| ())
}

#[test]
fn it_goes_on_with_its_table_in_another_tree() -> Result<()> {
    let mut replica = Replica::of(SALES)?;
    create(&replica, "create projection by_day on sales order by day")?;
    create(
        &replica,
        "create projection by_clerk on sales order by clerk, amount",
    )?;
    wait_until_ready(&replica, "by_clerk")?;
    replica.at_source(
        "alter table sales add column more int default 4; update sales set day = day + 1, more = 5 where id % 2 = 0",
    )?;
    wait_until_ready(&replica, "by_day")?;
    wait_until_ready(&replica, "by_clerk")?;
    ensure_same_in_order(&mut replica)?;
    let more = "select day, id, more from sales order by day, id limit 1000";
    ensure!(reads(&replica, more, "by_day")?);
    replica.ensure_same(more)?;
    let output = replica.hedgerow.run(&["resync", "sales"])?;
    ensure!(output.status.success(), "{output:?}");
    replica.at_source("update sales set clerk = 'again' where id % 9 = 0")?;
    wait_for("the projections to be ready again", || {
        let both = "select count(*) from hedgerow.projections where state = 'ready'";
        let ready: i64 = replica.hedgerow.connect()?.query_one(both, &[])?.get(0);
        Ok((ready == 2).then_some(()))
    })?;
    ensure_same_in_order(&mut replica)?;
    replica.kill_and_restart()?;
    ensure_same_in_order(&mut replica)?;
    // The column goes, and what is ordered by it.
    replica.at_source("alter table sales drop column clerk; insert into sales values (900000, '2024-05-05', 1, '')")?;
    let names = "select string_agg(name || ' ' || state, ', ') from hedgerow.projections";
    replica.hedgerow.wait_for_value(names, "by_day ready")?;
    replica.ensure_same("select day, id, amount from sales order by day, id")
}

#[test]
fn a_projection_that_a_crash_cuts_off_is_filled_again() -> Result<()> {
    let mut replica = Replica::of(
        "create table t (id int primary key, n int, note text);
         alter table t replica identity full;
         insert into t select i, (i::bigint * 7919 % 100000)::int, md5(i::text) from generate_series(1, 300000) i",
    )?;
    create(&replica, "create projection by_n on t order by n")?;
    replica.kill_and_restart()?;
    replica.at_source("update t set n = n + 1 where id % 100 = 0")?;
    wait_until_ready(&replica, "by_n")?;
    let all = "select count(*), sum(place * (id % 7)) from (select id, row_number() over (order by n, id) as place from t) t";
    ensure!(reads(&replica, all, "by_n")?);
    replica.ensure_same(all)
}
