//! Changes of keys, composite and odd keys, tables without any.

use anyhow::Result;

use crate::replica::Replica;

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
