//! What changes at the source without a word in the log: labels of enums, row filters, column lists; and what
//! a publication has in it.

use anyhow::Result;

use crate::replica::Replica;

/// The first PostgreSQL with row filters and column lists.
const WITH_FILTERS: u32 = 15;
/// The first PostgreSQL that publishes generated columns.
const WITH_GENERATED: u32 = 18;

/// Whether the source is of this version at least; says so if it is not.
fn is_at_least(replica_version: u32, version: u32, test: &str) -> bool {
    if replica_version < version {
        println!("skipped: {test}: PostgreSQL {replica_version} has nothing of the kind");
    }
    replica_version >= version
}

/// The version of the servers that tests start.
fn version() -> Result<u32> {
    testbed::PostgresServer::start(testbed::PostgresOptions::default())?.version()
}

#[test]
fn a_renamed_label_is_found() -> Result<()> {
    let mut replica = Replica::of(
        "create type mood as enum ('sad', 'ok', 'happy');
         create domain temper as mood;
         create type pair as (a int, m mood);
         create table plain (id int primary key, m mood);
         create table nested (id int primary key, ms mood[], t temper, p pair);
         create table other (id int primary key, t text);
         insert into plain values (1, 'sad'), (2, 'ok');
         insert into nested values (1, '{ok,sad}', 'ok', row(1, 'ok'));",
    )?;
    let queries = [
        "select id, m::text from plain order by id",
        "select id, ms::text, t::text, p::text from nested order by id",
    ];
    replica.at_source("alter type mood add value 'glad' after 'ok'")?;
    replica.at_source("insert into plain values (3, 'glad')")?;
    for query in queries {
        replica.ensure_same(query)?;
    }
    replica.at_source("alter type mood rename value 'ok' to 'fine'")?;
    // The catalog is compared at every connect, and three times a minute.
    replica.restart()?;
    for query in queries {
        replica.wait_for_same(query)?;
    }
    replica.at_source("insert into plain values (4, 'fine'); insert into other values (1, 'x')")?;
    replica.ensure_same(queries[0])?;
    replica.hedgerow.verify()?;
    Ok(())
}

/// What the log tells of a new column's labels is older than what the catalog says when we read of the column.
#[test]
fn a_label_that_is_renamed_before_its_column_is_read_is_found() -> Result<()> {
    let mut replica = Replica::of(
        "create type mood as enum ('sad', 'ok');
         create table t (id int primary key, n int);
         insert into t select i, i from generate_series(1, 100) i;",
    )?;
    replica.hedgerow.stop()?;
    replica.at_source("alter table t add m mood, add ms mood[]")?;
    replica.at_source("update t set m = 'ok', ms = '{ok,sad}' where id < 50")?;
    replica.at_source("alter type mood rename value 'ok' to 'fine'")?;
    replica.at_source("update t set m = 'fine' where id > 90")?;
    replica.hedgerow.start_again()?;
    replica.hedgerow.wait_ready()?;
    replica.wait_for_same("select id, n, m::text, ms::text from t order by id")?;
    replica.hedgerow.verify()?;
    Ok(())
}

/// The log shows an old row that goes with the label's new name; ours has the old one, and nothing but its cells
/// to be found by.
#[test]
fn a_row_without_a_key_goes_after_its_label_was_renamed() -> Result<()> {
    let mut replica = Replica::of(
        "create type mood as enum ('sad', 'ok');
         create table t (m mood, n int); alter table t replica identity full;
         insert into t select 'ok', i from generate_series(1, 100) i;",
    )?;
    replica.at_source("alter type mood rename value 'ok' to 'fine'")?;
    replica.at_source("delete from t where n = 7")?;
    // That stops the table; the catalog is compared at every connect.
    replica.catch_up()?;
    replica.restart()?;
    replica.wait_for_same("select m::text, n from t order by n")?;
    replica.at_source("update t set n = n + 1 where n > 50")?;
    replica.ensure_same("select m::text, n from t order by n")?;
    replica.hedgerow.verify()?;
    Ok(())
}

#[test]
fn another_row_filter_or_column_list_is_found() -> Result<()> {
    if !is_at_least(version()?, WITH_FILTERS, "another_row_filter") {
        return Ok(());
    }
    let mut replica = Replica::with(
        "create table t (id int primary key, a int, b text);
         insert into t select i, i % 10, 'b' || i from generate_series(1, 100) i;
         create publication p for table testbed_barrier, t (id, a) where (id > 10);",
        &["--publication", "p"],
    )?;
    assert_eq!(replica.column_names("t")?, ["id", "a"]);
    assert_eq!(replica.rows("t")?, "90");
    replica
        .at_source("alter publication p set table testbed_barrier, t (id, a) where (id > 50)")?;
    replica.restart()?;
    replica.wait_for_rows("t", "50")?;
    replica.at_source("alter publication p set table testbed_barrier, t where (id > 50)")?;
    replica.restart()?;
    replica.wait_for_same("select id, a, b from t where id > 50 order by id")?;
    replica
        .at_source("alter publication p set table testbed_barrier, t (id, b) where (id > 50)")?;
    replica.restart()?;
    replica.wait_for_rows("t", "50")?;
    assert_eq!(replica.column_names("t")?, ["id", "b"]);
    replica.at_source("update t set b = 'new' where id < 60; delete from t where id = 55")?;
    replica.ensure_same("select id, b from t where id > 50 order by id")?;
    replica.hedgerow.verify()?;
    Ok(())
}

#[test]
fn generated_columns_that_are_published_are_copied_and_followed() -> Result<()> {
    if !is_at_least(version()?, WITH_GENERATED, "generated_columns") {
        return Ok(());
    }
    let tables = "create table stored (id int primary key, a int,
           twice int generated always as (a * 2) stored, v int generated always as (a * 3) virtual);
         create table listed (id int primary key, a int, twice int generated always as (a * 2) stored,
           other int generated always as (a * 4) stored);
         insert into stored (id, a) select i, i from generate_series(1, 50) i;
         insert into listed (id, a) select i, i from generate_series(1, 50) i;";
    for (publication, shown) in [
        (
            "create publication p for table testbed_barrier, stored, listed
               with (publish_generated_columns = stored);",
            ["id a twice", "id a twice other"],
        ),
        (
            "create publication p for table testbed_barrier, stored, listed (id, twice);",
            ["id a", "id twice"],
        ),
    ] {
        let setup = format!("{tables} {publication}");
        let mut replica = Replica::with(&setup, &["--publication", "p"])?;
        for _ in 0..2 {
            replica.at_source(
                "update stored set a = a + 1; update listed set a = a + 1;
                 delete from stored where id % 7 = 0; delete from listed where id % 7 = 0",
            )?;
            for (table, columns) in ["stored", "listed"].into_iter().zip(shown) {
                let columns: Vec<_> = columns.split(' ').collect();
                assert_eq!(replica.column_names(table)?, columns);
                let columns = columns.join(", ");
                replica.ensure_same(&format!("select {columns} from {table} order by id"))?;
            }
            assert_eq!(replica.warnings()?, "");
            replica.kill_and_restart()?;
        }
        replica.hedgerow.verify()?;
    }
    Ok(())
}

#[test]
fn a_column_that_was_never_validated_may_have_nulls() -> Result<()> {
    if !is_at_least(version()?, WITH_GENERATED, "never_validated") {
        return Ok(());
    }
    let mut replica = Replica::of(
        "create table t (id int primary key, a int); insert into t values (1, null), (2, 2);
         alter table t add constraint a_there not null a not valid;",
    )?;
    let query = "select id, a from t order by id";
    replica.ensure_same(query)?;
    replica.at_source("delete from t where id = 1; insert into t values (3, 3)")?;
    replica.at_source("alter table t validate constraint a_there; update t set a = 4")?;
    replica.wait_for_same(query)?;
    replica.hedgerow.verify()?;
    Ok(())
}
