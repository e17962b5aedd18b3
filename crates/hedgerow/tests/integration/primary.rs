//! The built-in primary with a user's schema: calls and changes by a driver, restarts, kills.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context, Result, ensure};
use postgres::Client;
use postgres::error::SqlState;
use tempfile::TempDir;
use testbed::bank::single_value;
use testbed::patience::wait_for;
use testbed::{Hedgerow, HedgerowOptions};

const BANK: &str = "
    create table accounts (
        id bigint primary key,
        owner text not null,
        balance bigint not null default 0 check (balance >= 0)
    );
    create index accounts_by_owner on accounts (owner);
    create table transfers (
        id bigint primary key, a bigint not null, b bigint not null, n bigint not null,
        at timestamptz not null default now()
    );
    create procedure transfer(number bigint, a bigint, b bigint, n bigint) as begin atomic
        declare known bigint;
        select id into known from accounts where id = b;
        if known is null then
            signal sqlstate '45001' set message_text = 'there is no account ' || b;
        end if;
        update accounts set balance = balance - n where id = a;
        update accounts set balance = balance + n where id = b;
        insert into transfers (id, a, b, n) values (number, a, b, n);
    end;
    create procedure balance(a bigint) as begin atomic
        select balance, owner from accounts where id = a;
    end;
";

/// A server that runs a schema, and its files.
struct Server {
    // Ended in this order.
    hedgerow: Hedgerow,
    folder: TempDir,
}

fn schema_path(folder: &TempDir) -> PathBuf {
    folder.path().join("schema.sql")
}

fn options(folder: &TempDir, schema: &str, arguments: &[&str]) -> Result<HedgerowOptions> {
    let path = schema_path(folder);
    std::fs::write(&path, schema)?;
    let path = path.to_str().context("a path of UTF-8")?;
    let options = HedgerowOptions::new("primary".to_owned(), &folder.path().join("data"))?;
    Ok(options.with(&["--schema", path]).with(arguments))
}

impl Server {
    fn start(schema: &str, arguments: &[&str]) -> Result<Self> {
        let folder = TempDir::with_prefix("testbed-primary-")?;
        let hedgerow = Hedgerow::start_ready(options(&folder, schema, arguments)?)?;
        Ok(Self { hedgerow, folder })
    }

    /// Ends it in good order and starts it with another schema.
    fn restart_with(&mut self, schema: &str) -> Result<()> {
        ensure!(self.hedgerow.stop()?.success());
        std::fs::write(schema_path(&self.folder), schema)?;
        self.hedgerow.start_again()?;
        self.hedgerow.wait_ready()
    }
}

/// The SQLSTATE of what is refused.
fn code(result: Result<impl Sized, postgres::Error>) -> SqlState {
    let error = result.err().expect("refused");
    error.code().cloned().expect("the server refuses it")
}

fn open_accounts(client: &mut Client, count: i64, balance: i64) -> Result<()> {
    let insert = client.prepare("insert into accounts values ($1, $2, $3)")?;
    for account in 1..=count {
        let owner = format!("owner {}", account % 3);
        ensure!(client.execute(&insert, &[&account, &owner, &balance])? == 1);
    }
    Ok(())
}

#[test]
fn a_driver_calls_procedures_and_reads_what_it_has_written() -> Result<()> {
    let server = Server::start(BANK, &[])?;
    let mut client = server.hedgerow.connect()?;
    open_accounts(&mut client, 2, 100)?;
    let transfer = client.prepare("call transfer($1, $2, $3, $4)")?;
    let total = client.prepare("select sum(balance)::bigint, max(balance) from accounts")?;
    for number in 1..=20i64 {
        let arguments: [&(dyn postgres::types::ToSql + Sync); 4] = [&number, &1i64, &2i64, &2i64];
        client.execute(&transfer, &arguments)?;
        // The replica has it by now, as far as this connection can tell.
        let row = client.query_one(&total, &[])?;
        assert_eq!(
            (row.get::<_, i64>(0), row.get::<_, i64>(1)),
            (200, 100 + 2 * number)
        );
    }
    let row = client.query_one("call balance($1)", &[&2i64])?;
    assert_eq!(
        (row.get::<_, i64>("balance"), row.get::<_, &str>("owner")),
        (140, "owner 2")
    );
    assert_eq!(client.query("call balance(3)", &[])?.len(), 0);
    // Another connection waits for it when it is told what to wait for.
    let position = single_value(&mut client, "show hedgerow.answered_position")?;
    let mut other = server.hedgerow.connect()?;
    other.batch_execute(&format!("set hedgerow.wait_for = '{position}'"))?;
    assert_eq!(
        single_value(&mut other, "select count(*) from transfers")?,
        "20"
    );
    let updated = client.execute(
        "update accounts set owner = $1 where id = $2",
        &[&"new", &1i64],
    )?;
    assert_eq!(updated, 1);
    let deleted = client.execute("delete from transfers where id = 7", &[])?;
    assert_eq!(deleted, 1);
    assert_eq!(
        single_value(&mut client, "select owner from accounts where id = 1")?,
        "new"
    );
    assert_eq!(
        single_value(&mut client, "select count(*) from transfers")?,
        "19"
    );
    let names = "select string_agg(name, ' ' order by name) from hedgerow.primary_procedures";
    let names = single_value(&mut client, names)?;
    assert_eq!(
        names,
        "sql1.balance.1 sql1.transfer.1 sql1:deletion sql1:statement"
    );
    server.hedgerow.verify()?;
    Ok(())
}

#[test]
fn errors_have_postgresqls_codes_and_nothing_of_the_call_remains() -> Result<()> {
    let server = Server::start(BANK, &[])?;
    let mut client = server.hedgerow.connect()?;
    open_accounts(&mut client, 2, 10)?;
    let mut refused = |statement: &str| code(client.batch_execute(statement));
    assert_eq!(
        refused("call transfer(1, 1, 2, 11)"),
        SqlState::CHECK_VIOLATION
    );
    assert_eq!(refused("call transfer(1, 1, 9, 1)").code(), "45001");
    assert_eq!(
        refused("insert into accounts values (1, 'x')"),
        SqlState::UNIQUE_VIOLATION
    );
    assert_eq!(
        refused("insert into accounts values (3, null)"),
        SqlState::NOT_NULL_VIOLATION
    );
    let overflow = "call transfer(1, 1, 2, -9223372036854775807)";
    assert_eq!(refused(overflow), SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
    assert_eq!(refused("call nothing(1)"), SqlState::UNDEFINED_FUNCTION);
    assert_eq!(
        refused("call balance('x')"),
        SqlState::INVALID_TEXT_REPRESENTATION
    );
    assert_eq!(
        refused("insert into nowhere values (1)"),
        SqlState::UNDEFINED_TABLE
    );
    assert_eq!(
        refused("delete from accounts where balance = 0"),
        SqlState::FEATURE_NOT_SUPPORTED
    );
    assert_eq!(
        refused("create table t (id int)"),
        SqlState::READ_ONLY_SQL_TRANSACTION
    );
    let error = client
        .batch_execute("select 1; call transfer(1)")
        .expect_err("refused");
    let error = error.as_db_error().context("from the server")?;
    assert_eq!(
        error.hint(),
        Some("Write CALL transfer(number bigint, a bigint, b bigint, n bigint).")
    );
    let place = error.position().map(|place| format!("{place:?}"));
    assert_eq!(place.as_deref(), Some("Original(16)"));
    assert_eq!(
        single_value(&mut client, "select sum(balance) from accounts")?,
        "20"
    );
    assert_eq!(
        single_value(&mut client, "select count(*) from transfers")?,
        "0"
    );
    // A transaction of several statements is a procedure.
    let mut transaction = client.transaction()?;
    let error = transaction
        .execute("call transfer(1, 1, 2, 1)", &[])
        .expect_err("refused");
    assert_eq!(error.code(), Some(&SqlState::ACTIVE_SQL_TRANSACTION));
    let hint = error
        .as_db_error()
        .and_then(|error| error.hint())
        .unwrap_or_default();
    assert!(hint.contains("Write a procedure"), "{hint}");
    drop(transaction);
    client.execute("call transfer(1, 1, 2, 1)", &[])?;
    Ok(())
}

#[test]
fn values_of_all_types_go_in_and_come_out() -> Result<()> {
    let schema = "
        create table samples (
            id integer primary key, flag boolean, small smallint, large bigint, price numeric(12, 3),
            single real, double_one double precision, words text, short varchar(5), bytes bytea,
            day date, moment time, stamp timestamp, zoned timestamptz
        );
        create procedure add(i integer, f boolean, s smallint, l bigint, p numeric, r real, d double precision,
                             w text, v varchar(5), b bytea) as begin atomic
            insert into samples (id, flag, small, large, price, single, double_one, words, short, bytes, day, zoned)
            values (i, f, s, l, p, r, d, w, v, b, date '2026-11-24', now());
        end;
        create procedure read(i integer) as begin atomic
            select *, price * 2 as twice, zoned = now() as is_now from samples where id = i;
        end";
    let server = Server::start(schema, &[])?;
    let mut client = server.hedgerow.connect()?;
    let add = "call add($1, $2, $3, $4, $5::text::numeric, $6, $7, $8, $9, $10)";
    let bytes: &[u8] = &[0, 255];
    let values: [&(dyn postgres::types::ToSql + Sync); 10] = [
        &1i32,
        &true,
        &-2i16,
        &(1i64 << 40),
        &"12.5",
        &1.5f32,
        &-0.25f64,
        &"grün",
        &"short",
        &bytes,
    ];
    client.execute(add, &values)?;
    client.execute(
        "insert into samples (id, moment, stamp, zoned) values ($1, '12:30', '2026-11-24 01:02:03.5', $2)",
        &[&2i32, &std::time::UNIX_EPOCH],
    )?;
    let row = client.query_one("call read(1)", &[])?;
    assert!(row.get::<_, bool>("flag"));
    assert_eq!(row.get::<_, i16>("small"), -2);
    assert_eq!(row.get::<_, i64>("large"), 1 << 40);
    assert_eq!(row.get::<_, f32>("single"), 1.5);
    assert_eq!(row.get::<_, f64>("double_one"), -0.25);
    assert_eq!(row.get::<_, &str>("words"), "grün");
    assert_eq!(row.get::<_, &[u8]>("bytes"), bytes);
    assert!(!row.get::<_, bool>("is_now"));
    assert_eq!(row.get::<_, Option<std::time::SystemTime>>("stamp"), None);
    // As text the primary's rows and the replica's look the same.
    let columns = "id, flag, small, large, price, single, double_one, words, short, bytes, day, moment, stamp, zoned";
    for id in 1..=2 {
        let called = client.simple_query(&format!("call read({id})"))?;
        let selected =
            client.simple_query(&format!("select {columns} from samples where id = {id}"))?;
        let cells = |messages: &[postgres::SimpleQueryMessage]| -> Vec<Option<String>> {
            let rows = messages.iter().filter_map(|message| match message {
                postgres::SimpleQueryMessage::Row(row) => Some(row),
                _ => None,
            });
            let texts = rows.flat_map(|row| (0..14).map(|cell| row.get(cell).map(str::to_owned)));
            texts.collect()
        };
        assert_eq!(cells(&called), cells(&selected));
    }
    assert_eq!(
        single_value(&mut client, "select price from samples where id = 1")?,
        "12.500"
    );
    server.hedgerow.verify()?;
    Ok(())
}

fn spawn<T: Send + 'static>(client: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>> {
    let thread = std::thread::Builder::new().name("client".to_owned());
    Ok(thread.spawn(client)?)
}

/// What clients of [`hammer`] were told.
#[derive(Default)]
struct Told {
    acknowledged: Vec<i64>,
    uncertain: Vec<i64>,
}

/// Transfers money until the server goes away.
fn hammer(mut client: Client, numbers: &AtomicI64, seed: i64) -> Told {
    let mut told = Told::default();
    let Ok(transfer) = client.prepare("call transfer($1, $2, $3, $4)") else {
        return told;
    };
    for round in 0.. {
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        let (a, b) = (1 + (number * 7 + seed) % 10, 1 + (number * 3 + round) % 10);
        let arguments: [&(dyn postgres::types::ToSql + Sync); 4] = [&number, &a, &b, &3i64];
        match client.execute(&transfer, &arguments) {
            Ok(_) => told.acknowledged.push(number),
            // An account is empty: it did not happen.
            Err(error) if error.code() == Some(&SqlState::CHECK_VIOLATION) => {}
            Err(_) => {
                told.uncertain.push(number);
                return told;
            }
        }
    }
    unreachable!("rounds have no end")
}

#[test]
fn kills_lose_nothing_that_was_acknowledged() -> Result<()> {
    let mut server = Server::start(BANK, &["--flush-seconds", "1"])?;
    open_accounts(&mut server.hedgerow.connect()?, 10, 1_000)?;
    let numbers = Arc::new(AtomicI64::new(1));
    let (mut acknowledged, mut uncertain) = (Vec::new(), Vec::new());
    for round in 0..4 {
        let clients = (0..4)
            .map(|_| server.hedgerow.connect())
            .collect::<Result<Vec<_>>>()?;
        let seeds = (0..).zip(clients);
        let threads: Vec<_> = seeds
            .map(|(seed, client)| {
                let numbers = numbers.clone();
                spawn(move || hammer(client, &numbers, seed))
            })
            .collect::<Result<_>>()?;
        let enough = numbers.load(Ordering::Relaxed) + 100 + 800 * round;
        wait_for("calls", || {
            Ok((numbers.load(Ordering::Relaxed) >= enough).then_some(()))
        })?;
        server.hedgerow.kill()?;
        for thread in threads {
            let told = thread.join().expect("no thread panics");
            acknowledged.extend(told.acknowledged);
            uncertain.extend(told.uncertain);
        }
        server.hedgerow.start_again()?;
        server.hedgerow.wait_ready()?;
        check_bank(&server, &acknowledged, &uncertain)?;
    }
    assert!(acknowledged.len() > 20, "{} calls", acknowledged.len());
    Ok(())
}

/// All that was acknowledged is there, nothing is there half, and replica and primary are equal.
fn check_bank(server: &Server, acknowledged: &[i64], uncertain: &[i64]) -> Result<()> {
    server.hedgerow.verify()?;
    let mut client = server.hedgerow.connect()?;
    let found: Vec<i64> = client
        .query("select id from transfers order by id", &[])?
        .iter()
        .map(|row| row.get(0))
        .collect();
    for number in acknowledged {
        ensure!(
            found.binary_search(number).is_ok(),
            "transfer {number} is lost"
        );
    }
    for number in &found {
        let is_known = acknowledged.contains(number) || uncertain.contains(number);
        ensure!(is_known, "transfer {number} was refused");
    }
    assert_eq!(
        single_value(&mut client, "select sum(balance) from accounts")?,
        "10000"
    );
    let from_transfers = "
        select count(*) from accounts
        where balance <> 1000
            + coalesce((select sum(n) from transfers where b = accounts.id), 0)
            - coalesce((select sum(n) from transfers where a = accounts.id), 0)";
    assert_eq!(single_value(&mut client, from_transfers)?, "0");
    // The primary itself says the same.
    for account in 1..=10i64 {
        let called: i64 = client.query_one("call balance($1)", &[&account])?.get(0);
        let selected = format!("select balance from accounts where id = {account}");
        assert_eq!(single_value(&mut client, &selected)?, called.to_string());
    }
    Ok(())
}

#[test]
fn a_schema_grows_and_procedures_change() -> Result<()> {
    let mut server = Server::start(BANK, &[])?;
    let mut client = server.hedgerow.connect()?;
    open_accounts(&mut client, 3, 100)?;
    client.execute("call transfer(1, 1, 2, 10)", &[])?;
    let grown = format!(
        "create table notes (id integer primary key, text text not null);
         create procedure note(i integer, t text) as begin atomic insert into notes values (i, t); end;
         {}",
        BANK.replace("balance + n", "balance + n - 1")
    );
    // The log has the call of the first version still.
    server.hedgerow.kill()?;
    std::fs::write(schema_path(&server.folder), &grown)?;
    server.hedgerow.start_again()?;
    server.hedgerow.wait_ready()?;
    let mut client = server.hedgerow.connect()?;
    client.execute("call note(1, 'first')", &[])?;
    client.execute("call transfer(2, 1, 2, 10)", &[])?;
    let balances = "select string_agg(balance::text, ' ' order by id) from accounts";
    assert_eq!(single_value(&mut client, balances)?, "80 119 100");
    assert_eq!(
        single_value(&mut client, "select text from notes")?,
        "first"
    );
    server.hedgerow.verify()?;
    server.hedgerow.kill()?;
    server.hedgerow.start_again()?;
    server.hedgerow.wait_ready()?;
    server.restart_with(&format!(
        "{grown}; create table more (id integer primary key);"
    ))?;
    let mut client = server.hedgerow.connect()?;
    assert_eq!(single_value(&mut client, balances)?, "80 119 100");
    assert_eq!(single_value(&mut client, "select count(*) from more")?, "0");
    client.execute("insert into more values (1)", &[])?;
    assert_eq!(single_value(&mut client, "select count(*) from more")?, "1");
    server.hedgerow.verify()?;
    Ok(())
}

#[test]
fn a_schema_that_does_not_fit_is_refused_with_what_to_do() -> Result<()> {
    let mut server = Server::start(BANK, &[])?;
    open_accounts(&mut server.hedgerow.connect()?, 1, 1)?;
    server.hedgerow.stop()?;
    let changed = BANK.replace("check (balance >= 0)", "check (balance >= -10)");
    let refusal = Hedgerow::start_refused(options(&server.folder, &changed, &[])?)?;
    for word in [
        "table \"accounts\" is declared otherwise",
        "check ( balance >= 0 )",
        "set the declaration back",
        "--data",
    ] {
        assert!(
            refusal.message.contains(word),
            "no {word:?} in {}",
            refusal.message
        );
    }
    // Without a file it goes on with the schema that it has.
    let data = server.folder.path().join("data");
    let without = HedgerowOptions::new("primary".to_owned(), &data)?;
    let hedgerow = Hedgerow::start_ready(without)?;
    let mut client = hedgerow.connect()?;
    client.execute("call transfer(1, 1, 1, 1)", &[])?;
    assert_eq!(
        single_value(&mut client, "select count(*) from transfers")?,
        "1"
    );
    Ok(())
}

#[test]
fn faults_are_named_before_anything_is_made() -> Result<()> {
    let folder = TempDir::with_prefix("testbed-primary-")?;
    let refused = |schema: &str, arguments: &[&str]| -> Result<String> {
        let refusal = Hedgerow::start_refused(options(&folder, schema, arguments)?)?;
        Ok(refusal.message)
    };
    let message = refused(
        "create table t (\n  id integer primary key,\n  a interval\n)",
        &[],
    )?;
    assert!(
        message.contains("line 3, column 5: type interval is not supported"),
        "{message}"
    );
    assert!(!folder.path().join("data").exists());
    for (schema, status, word) in [
        (BANK, 0, "2 tables, 2 procedures"),
        ("create table t (id text)", 1, "no primary key"),
    ] {
        let options = options(&folder, schema, &[])?;
        let mut check = std::process::Command::new(&options.binary);
        let check = check.args(["check", "--source", "primary", "--schema"]);
        let output = check.arg(schema_path(&folder)).output()?;
        assert_eq!(output.status.code(), Some(status));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(word), "{text}");
    }
    let message = refused("", &["--slot", "s"])?;
    assert!(
        message.contains("slot is a setting for a PostgreSQL source"),
        "{message}"
    );
    let data = folder.path().join("other");
    let nothing = HedgerowOptions::new("primary".to_owned(), &data)?;
    let message = Hedgerow::start_refused(nothing)?.message;
    assert!(message.contains("has no schema yet"), "{message}");
    Ok(())
}

/// Adds documents, some at a time, until all are there or another writer has failed.
fn write_documents(
    client: &mut Client,
    writer: i32,
    is_over: &AtomicBool,
) -> Result<(), postgres::Error> {
    let body = "x".repeat(4_000);
    for batch in 0..50 {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let first = (batch * 4 + writer) * 20;
        let rows: Vec<String> = (first..first + 20)
            .map(|id| format!("({id}, $1)"))
            .collect();
        let insert = format!(
            "insert into documents (id, body) values {}",
            rows.join(", ")
        );
        client.execute(&insert, &[&body])?;
    }
    Ok(())
}

#[test]
fn rows_beyond_the_primarys_memory_go_to_disk() -> Result<()> {
    let schema = "
        create table documents (id integer primary key, version integer not null default 1, body text not null);
        create procedure touch(i integer) as begin atomic
            update documents set version = version + 1 where id = i;
            select version, length(body) from documents where id = i;
        end";
    let mut server = Server::start(schema, &["--primary-memory", "12MiB"])?;
    let is_over = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (mut client, is_over) = (server.hedgerow.connect()?, is_over.clone());
            spawn(move || {
                let written = write_documents(&mut client, writer, &is_over);
                is_over.fetch_or(written.is_err(), Ordering::Relaxed);
                written
            })
        })
        .collect::<Result<_>>()?;
    for writer in writers {
        writer.join().expect("no thread panics")?;
    }
    let mut client = server.hedgerow.connect()?;
    wait_for("rows on disk", || {
        let evicted = "select rows_evicted from hedgerow.primary_tables";
        let evicted: i64 = single_value(&mut client, evicted)?.parse()?;
        ensure!(evicted > 500, "{evicted} rows are on disk");
        Ok(Some(()))
    })?;
    for document in (0..4_000).step_by(80) {
        let row = client.query_one("call touch($1)", &[&document])?;
        assert_eq!((row.get::<_, i32>(0), row.get::<_, i32>(1)), (2, 4_000));
    }
    server.hedgerow.kill()?;
    server.hedgerow.start_again()?;
    server.hedgerow.wait_ready()?;
    server.hedgerow.verify()?;
    let mut client = server.hedgerow.connect()?;
    let versions = "select sum(version), count(*) from documents";
    let row = client.query_one(versions, &[])?;
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (4_050, 4_000));
    Ok(())
}
