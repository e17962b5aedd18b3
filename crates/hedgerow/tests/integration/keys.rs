//! Changes of keys, composite and odd keys, tables without any.

use anyhow::Result;

use crate::replica::{DATABASE, Replica};

#[test]
fn a_row_moves_with_its_key() -> Result<()> {
    let mut replica = Replica::of(
        "create table a (id int primary key, t text);
         insert into a select i, 'row ' || i from generate_series(1, 50) i;",
    )?;
    replica.at_source("update a set id = id + 1000 where id <= 10")?;
    replica.at_source(
        "begin;
         update a set id = 2000 where id = 11;
         update a set id = 11, t = 'moved' where id = 12;
         update a set id = 12 where id = 2000;
         delete from a where id = 13;
         insert into a values (13, 'again');
         update a set t = 'twice' where id = 14;
         update a set t = 'three times' where id = 14;
         insert into a values (3000, 'short life');
         delete from a where id = 3000;
         commit",
    )?;
    replica.ensure_same("select * from a order by id")?;
    replica.kill_and_restart()?;
    replica.ensure_same("select * from a order by id")?;
    replica.hedgerow.verify()?;
    Ok(())
}

#[test]
fn keys_of_several_columns_and_types_find_their_rows() -> Result<()> {
    let mut replica = Replica::of(
        "create table composite (t text, d date, n numeric(12, 3), v int, primary key (d, t, n));
         create table texts (k text primary key, v int);
         create table by_uuid (k uuid primary key, v int);
         create table by_time (k timestamptz primary key, v int);
         create table by_index (k int not null, v int);
         create unique index by_index_key on by_index (k);
         alter table by_index replica identity using index by_index_key;
         create table by_numeric (k numeric primary key, v int);
         create table by_padded (k char(8) primary key, v int);
         insert into composite
           select 'text ' || i % 3, date '2020-01-01' + i % 7, i / 8.0, i from generate_series(1, 200) i;
         insert into texts values ('', 0), ('a', 1), ('a ', 2), ('A', 3), ('ä', 4), ('aa', 5), ('\u{1F333}', 6);
         insert into by_uuid select gen_random_uuid(), i from generate_series(1, 100) i;
         insert into by_time values ('infinity', 1), ('-infinity', 2), ('0044-03-15 BC', 3), ('2000-01-01', 4);
         insert into by_index select i, i from generate_series(1, 100) i;
         insert into by_numeric values (-1.5, 1), (0, 2), (2, 3), (10, 4), (1e30, 5), ('NaN', 6);
         insert into by_padded values ('', 1), ('ab', 2), ('abc', 3);",
    )?;
    replica.at_source(
        "update composite set v = -v where v % 2 = 0;
         delete from composite where v % 3 = 0;
         update texts set v = v * 10; delete from texts where k = 'a';
         update by_uuid set v = v + 1 where v % 2 = 1;
         update by_time set v = v + 10; delete from by_time where k = '-infinity';
         update by_index set v = 0 where k % 2 = 0; delete from by_index where k % 3 = 0;
         update by_numeric set v = v + 10; delete from by_numeric where k = 2;
         update by_padded set v = v + 10; delete from by_padded where k = 'ab';",
    )?;
    let queries = [
        "select t, d, n, v from composite order by d, t, n",
        "select k, v from texts order by v",
        "select count(*), sum(v) from by_uuid",
        "select k, v from by_time order by v",
        "select k, v from by_index order by k",
        "select k, v from by_numeric order by v",
        "select k, v from by_padded order by v",
    ];
    for query in queries {
        replica.ensure_same(query)?;
    }
    replica.hedgerow.verify()?;
    Ok(())
}

#[test]
fn a_table_without_a_key_grows_equal_rows_included() -> Result<()> {
    let mut replica = Replica::of(
        "create table history (at timestamp, delta int, note text);
         insert into history select null, i % 10, 'copied' from generate_series(1, 1000) i;",
    )?;
    replica.at_source(
        "insert into history select now(), i % 10, 'same' from generate_series(1, 500) i",
    )?;
    let counts =
        "select note, delta, count(*) from history group by note, delta order by note, delta";
    replica.ensure_same(counts)?;
    replica.kill_and_restart()?;
    replica
        .at_source("insert into history select null, 0, 'later' from generate_series(1, 5) i")?;
    replica.ensure_same(counts)?;
    replica.hedgerow.verify()?;
    Ok(())
}

#[test]
fn a_table_without_columns_of_its_own_still_counts() -> Result<()> {
    let mut replica = Replica::of("create table only_key (id int primary key)")?;
    replica.at_source("insert into only_key select generate_series(1, 100)")?;
    replica.at_source("delete from only_key where id % 2 = 0; update only_key set id = -id")?;
    replica.ensure_same("select id from only_key order by id")
}

/// Rows of [`MULTISET`] with how often there is each.
const COUNTED: &str = "select a, b, length(big), count(*) from bag group by a, b, length(big) \
     order by a, b, length(big)";

const MULTISET: &str = "create table bag (a int, b text, big text); alter table bag replica identity full;
     alter table bag alter big set storage external;
     insert into bag select i % 5, case when i % 3 > 0 then 'b' || i % 2 end, repeat('x', i % 2 * 9000)
       from generate_series(1, 600) i;";

#[test]
fn a_table_without_a_key_that_shows_its_old_rows_is_a_multiset() -> Result<()> {
    let mut replica = Replica::of(MULTISET)?;
    replica.ensure_same(COUNTED)?;
    for change in [
        // One of many equal rows.
        "delete from bag where ctid = (select min(ctid) from bag where a = 1)",
        "update bag set a = 7 where ctid = (select max(ctid) from bag where a = 2)",
        // The large value stays as it is.
        "update bag set b = b || '!' where a = 3",
        "insert into bag select 1, 'b1', '' from generate_series(1, 100)",
        "begin; insert into bag select 9, null, 'new' from generate_series(1, 10);
         delete from bag where a = 9 and ctid in (select ctid from bag where a = 9 limit 4);
         update bag set a = 8 where a = 9; savepoint s; delete from bag; rollback to s; commit",
        "begin; insert into bag values (6, 'gone', ''); truncate bag;
         insert into bag select i % 4, 'after', '' from generate_series(1, 40) i;
         delete from bag where a = 0; commit",
        "update bag set a = a + 1",
        "insert into bag select i % 7, 'many', '' from generate_series(1, 20000) i",
        "update bag set b = 'most' where a > 2",
        "delete from bag where a < 5",
    ] {
        replica.at_source(change)?;
        replica
            .ensure_same(COUNTED)
            .map_err(|error| error.context(change))?;
    }
    replica.restart()?;
    replica.at_source("delete from bag where ctid = (select min(ctid) from bag)")?;
    // What the log shows anew after a restart may have to be copied again.
    replica.wait_for_same(COUNTED)?;
    replica.at_source("update bag set a = 1")?;
    replica.kill_and_restart()?;
    replica.at_source("update bag set a = 2 where ctid = (select min(ctid) from bag)")?;
    replica.wait_for_same(COUNTED)?;
    replica.at_source("alter table bag add c int default 4; delete from bag where a = 2")?;
    replica.wait_for_same("select a, b, c, count(*) from bag group by a, b, c order by a, b, c")?;
    replica.hedgerow.verify()?;
    Ok(())
}

#[test]
fn a_table_is_copied_while_its_rows_move_and_go() -> Result<()> {
    let mut replica = Replica::of(&format!(
        "{MULTISET} create table moving (id int primary key, n int, big text);
         alter table moving alter big set storage external;
         insert into moving select i, 0, repeat('y', 5000) from generate_series(1, 300) i;"
    ))?;
    for round in 0..4 {
        let mut source = replica.postgres.connect(DATABASE)?;
        let load = std::thread::Builder::new().spawn(move || -> Result<()> {
            for step in 0..60 {
                source.batch_execute(&format!(
                    "update moving set id = id + 1000, n = n + 1 where id % 7 = {step} % 7;
                     update moving set id = id - 1000 where id > 900 and id % 3 = {step} % 3;
                     update bag set a = {step} where ctid = (select min(ctid) from bag);
                     delete from bag where ctid = (select max(ctid) from bag);
                     insert into bag values ({round}, 'b', '')"
                ))?;
            }
            Ok(())
        })?;
        for resync in ["resync table bag", "resync table moving"] {
            replica.connect()?.batch_execute(resync)?;
        }
        load.join().expect("the load does not panic")?;
        replica.wait_for_same(COUNTED)?;
        replica.wait_for_same("select id, n, length(big) from moving order by id")?;
    }
    replica.hedgerow.verify()?;
    Ok(())
}
