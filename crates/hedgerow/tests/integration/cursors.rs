//! Prepared statements and cursors by SQL: one script in psql, against the source and against its copy.
//!
//! psql itself goes through a cursor when `FETCH_COUNT` is set, psycopg for cursors with a name,
//! `postgres_fdw` for every foreign table.

use std::process::Command;

use anyhow::{Result, ensure};
use testbed::hedgerow_process::USER;

use crate::replica::{DATABASE, Replica};

const TABLES: &str = "create table orders (
       id bigint primary key, customer text not null, price numeric(12, 2), day date);
     insert into orders
       select i, 'customer ' || i % 10, i * 1.25, date '2026-01-01' + i from generate_series(1, 100) i;";

/// Every error is told by its code alone: texts and places are compared elsewhere.
const SCRIPT: &str = r"
\set VERBOSITY sqlstate
\pset pager off
fetch 1 from c;
declare c cursor for select id from orders;
begin;
declare c cursor for select id, customer from orders order by id;
fetch c;
fetch 3 from c;
move 10 in c;
fetch forward 2 from c;
fetch relative 5 from c;
select count(*) from orders;
fetch next in c;
move forward all in c;
fetch c;
declare c cursor for select 1;
fetch from c;
rollback;
fetch c;
begin;
declare kept cursor with hold for select id from orders order by id;
fetch 2 from kept;
commit;
fetch 2 from kept;
select max(id) from orders;
begin;
fetch kept;
rollback;
fetch kept;
close kept;
fetch kept;
close kept;
begin;
declare lost cursor with hold for select id from orders;
rollback;
fetch lost;
declare free cursor with hold for select day from orders order by day desc;
fetch 1 from free;
begin;
declare a cursor for select id from orders order by id;
declare b no scroll cursor without hold for select id from orders order by id desc;
fetch a; fetch b; fetch 2 from a; fetch 2 from b;
close all;
fetch a;
rollback;
fetch free;
begin;
declare broken cursor for select 1 / (id - 3) from orders order by id;
fetch all from broken;
commit;
prepare p (bigint, text) as
  select id, customer from orders where id = $1 or customer = $2 order by id limit 3;
execute p (7, 'customer 1');
execute p (1 + 1, null);
execute p (1);
execute nothing;
prepare p as select 1;
prepare untyped as select price, $2 as said from orders where id = $1;
execute untyped ('12', 'x');
execute untyped ('abc', 'x');
prepare priced (numeric, date) as select id from orders where price < $1 and day > $2 order by id;
execute priced (6, '2026-01-03');
deallocate p;
execute p (1, 'x');
deallocate prepare nothing;
deallocate all;
execute untyped (1, 'x');
prepare bad as select nothing from orders;
prepare bad as show all;
begin;
selct 1;
select 1;
rollback;
prepare p as select 1;
discard all;
execute p;
\set FETCH_COUNT 7
select id, customer from orders where id <= 20 order by id;
\set FETCH_COUNT 100
select id from orders where id < 0;
";

fn printed(psql: &Command, arguments: &[&str], environment: &[(&str, &str)]) -> Result<String> {
    let output = Command::new("sh")
        .args(["-c", "\"$0\" \"$@\" 2>&1"])
        .arg(psql.get_program())
        .args(psql.get_args())
        .args(arguments)
        .envs(
            psql.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .envs(environment.iter().copied())
        .output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn cursors_and_prepared_statements_are_those_of_postgresql() -> Result<()> {
    let replica = Replica::of(TABLES)?;
    let script = replica.folder.path().join("cursors.sql");
    std::fs::write(&script, SCRIPT)?;
    let psql = replica.postgres.client_program("psql");
    let file = script.display().to_string();
    let arguments = ["--no-psqlrc", "--echo-queries", "--file", &file];
    let expected = printed(&psql, &arguments, &[("PGDATABASE", DATABASE)])?;
    let (port, password) = (
        replica.hedgerow.port().to_string(),
        replica.hedgerow.password()?,
    );
    let environment = [
        ("PGHOST", "127.0.0.1"),
        ("PGPORT", &port),
        ("PGUSER", USER),
        ("PGPASSWORD", &password),
        ("PGDATABASE", testbed::hedgerow_process::DATABASE),
    ];
    let found = printed(&psql, &arguments, &environment)?;
    ensure!(expected.lines().count() > 200, "too little: {expected}");
    for (number, (expected, found)) in expected.lines().zip(found.lines()).enumerate() {
        ensure!(
            expected == found,
            "line {}: {found:?} in the place of {expected:?}",
            number + 1
        );
    }
    assert_eq!(found.lines().count(), expected.lines().count());
    Ok(())
}

/// A client's time between two portions of rows does not count for the statement.
#[test]
fn the_statement_timeout_is_for_each_fetch() -> Result<()> {
    let replica = Replica::of(TABLES)?;
    let mut client = replica.connect()?;
    client.batch_execute(
        "set statement_timeout = '3s'; begin; declare c cursor for select * from orders",
    )?;
    let first = client.query("fetch 10 from c", &[])?;
    std::thread::sleep(std::time::Duration::from_millis(3_500));
    let second = client.query("fetch 10 from c", &[])?;
    assert_eq!((first.len(), second.len()), (10, 10));
    // Portals of the protocol are the same.
    let mut transaction = replica.connect()?;
    transaction.batch_execute("set statement_timeout = '3s'")?;
    let mut transaction = transaction.transaction()?;
    let portal = transaction.bind("select id from orders", &[])?;
    assert_eq!(transaction.query_portal(&portal, 10)?.len(), 10);
    std::thread::sleep(std::time::Duration::from_millis(3_500));
    assert_eq!(transaction.query_portal(&portal, 0)?.len(), 90);
    Ok(())
}

/// As psycopg's cursors with a name do it: declared with parameters, described as a portal.
#[test]
fn a_cursor_takes_parameters_and_a_fetch_is_described() -> Result<()> {
    let replica = Replica::of(TABLES)?;
    let mut client = replica.connect()?;
    let mut transaction = client.transaction()?;
    let declared = "declare c cursor for select id, price from orders where id > $1 order by id";
    transaction.execute(declared, &[&95_i64])?;
    let fetch = transaction.prepare("fetch 2 from c")?;
    let names: Vec<&str> = fetch.columns().iter().map(|column| column.name()).collect();
    assert_eq!(names, ["id", "price"]);
    let ids = |rows: Vec<postgres::Row>| rows.iter().map(|row| row.get(0)).collect::<Vec<i64>>();
    assert_eq!(ids(transaction.query(&fetch, &[])?), [96, 97]);
    assert_eq!(ids(transaction.query(&fetch, &[])?), [98, 99]);
    assert_eq!(ids(transaction.query("fetch all from c", &[])?), [100]);
    Ok(())
}
