//! What people connect with: psql, psycopg, SQLAlchemy, JDBC, tokio-postgres, sqlx, and our own
//! `hedgerow sql`.

mod sqlx;

use std::process::Command;

use anyhow::{Context, Result, ensure};
use testbed::hedgerow_process::{DATABASE, USER};
use testbed::postgres_server;

use crate::replica::Replica;
use crate::tools;

const TABLES: &str = "create table orders (
       id bigint primary key, customer text not null, price numeric(12, 2), placed timestamptz,
       open bool, weight float8, day date);
     insert into orders
       select i, 'customer ' || i % 10, i * 1.25, timestamptz '2026-01-01 00:00:00+00' + i * interval '1 hour',
              i % 2 = 0, i / 4.0, date '2026-01-01' + i from generate_series(1, 100) i;
     insert into orders (id, customer) values (101, 'nothing known');
     create table \"Odd Name\" (\"A Column\" int primary key, \"select\" text);
     insert into \"Odd Name\" values (1, 'quoted');";

/// Runs a program that finds the replica by PostgreSQL's environment variables.
fn run(replica: &Replica, command: &mut Command) -> Result<String> {
    let output = command
        .env("PGHOST", "127.0.0.1")
        .env("PGPORT", replica.hedgerow.port().to_string())
        .env("PGUSER", USER)
        .env("PGPASSWORD", replica.hedgerow.password()?)
        .env("PGDATABASE", DATABASE)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{command:?} {}\n{text}\n{errors}",
        output.status
    );
    Ok(text)
}

fn psql(replica: &Replica, command: &str) -> Result<String> {
    let mut psql = replica.postgres.client_program("psql");
    run(
        replica,
        psql.args([
            "--no-psqlrc",
            "--set",
            "ON_ERROR_STOP=1",
            "--command",
            command,
        ]),
    )
}

#[test]
fn psql_lists_and_describes_tables() -> Result<()> {
    let replica = Replica::of(TABLES)?;
    let list = psql(&replica, r"\dt")?;
    assert!(
        list.contains("orders") && list.contains("Odd Name"),
        "{list}"
    );
    let list = psql(&replica, r"\d")?;
    assert!(list.contains("orders") && list.contains("table"), "{list}");
    let description = psql(&replica, r"\d orders")?;
    for word in [
        "id",
        "bigint",
        "customer",
        "text",
        "price",
        "numeric(12,2)",
        "placed",
        "timestamp with time zone",
        "boolean",
        "double precision",
        "date",
    ] {
        assert!(description.contains(word), "no {word} in {description}");
    }
    let described = psql(&replica, r#"\d "Odd Name""#)?;
    assert!(described.contains("A Column"), "{described}");
    psql(&replica, r"\l")?;
    psql(&replica, r"\dn")?;
    let row = psql(&replica, r#"select "select" from "Odd Name""#)?;
    assert!(row.contains("quoted"), "{row}");
    Ok(())
}

#[test]
fn psql_is_told_what_is_wrong() -> Result<()> {
    let replica = Replica::of(TABLES)?;
    for (statement, code) in [
        ("select * from nowhere", "42P01"),
        ("select nothing from orders", "42703"),
        ("selec 1", "42601"),
        ("insert into orders (id, customer) values (1, 'x')", "25006"),
        ("drop table orders", "25006"),
        ("select 1 / 0", "22012"),
    ] {
        let (found, texts) = replica.refusal(statement)?;
        assert_eq!(found, code, "{statement}: {texts}");
    }
    Ok(())
}

#[test]
fn the_wrong_password_is_refused() -> Result<()> {
    let replica = Replica::of(TABLES)?;
    for (user, password) in [(USER, "guess"), ("nobody", "guess"), (USER, "")] {
        let mut config = postgres::Client::configure();
        config
            .host("127.0.0.1")
            .port(replica.hedgerow.port())
            .user(user)
            .password(password);
        let Err(error) = config.dbname(DATABASE).connect(postgres::NoTls) else {
            anyhow::bail!("{user} got in with {password:?}");
        };
        if let Some(error) = error.as_db_error() {
            assert_eq!(error.code().code(), "28P01");
        }
    }
    Ok(())
}

#[test]
fn tokio_postgres_prepares_and_binds_every_plain_type() -> Result<()> {
    let replica = Replica::of(TABLES)?;
    let mut client = replica.connect()?;
    let statement = client.prepare(
        "select id, customer, open, weight, price::float8 from orders where id = $1 and customer = $2",
    )?;
    for id in [1_i64, 50, 100] {
        let row = client.query_one(&statement, &[&id, &format!("customer {}", id % 10)])?;
        assert_eq!(row.get::<_, i64>(0), id);
        assert_eq!(row.get::<_, bool>(2), id % 2 == 0);
        #[expect(clippy::cast_precision_loss, reason = "three small numbers")]
        let expected = id as f64;
        assert!((row.get::<_, f64>(3) - expected / 4.0).abs() < f64::EPSILON);
        assert!((row.get::<_, f64>(4) - expected * 1.25).abs() < 1e-9);
    }
    let row = client.query_one("select weight, open from orders where id = $1", &[&101_i64])?;
    assert_eq!(row.get::<_, Option<f64>>(0), None);
    assert_eq!(row.get::<_, Option<bool>>(1), None);
    let at_epoch = std::time::SystemTime::UNIX_EPOCH;
    let row = client.query_one(
        "select count(*) from orders where placed > $1",
        &[&at_epoch],
    )?;
    assert_eq!(row.get::<_, i64>(0), 100);
    assert_eq!(client.query_one("select 1::int4", &[])?.get::<_, i32>(0), 1);
    Ok(())
}

#[test]
fn psycopg_connects_and_runs_prepared_statements() -> Result<()> {
    let replica = Replica::of(TABLES)?;
    let program = "
import datetime, decimal, psycopg
with psycopg.connect('') as connection:
    for _ in range(7):  # psycopg prepares from the sixth time on
        row = connection.execute(
            'select id, customer, price, placed, open, weight, day from orders where id = %s', (50,)).fetchone()
    assert row == (50, 'customer 0', decimal.Decimal('62.50'),
                   datetime.datetime(2026, 1, 3, 2, 0, tzinfo=datetime.timezone.utc), True, 12.5,
                   datetime.date(2026, 2, 20)), row
    row = connection.execute('select customer, price, placed from orders where id = %s', (101,), prepare=True).fetchone()
    assert row == ('nothing known', None, None), row
    rows = connection.execute('select count(*) from orders where customer = %s', ('customer 3',), prepare=True).fetchone()
    assert rows == (10,), rows
    cursor = connection.cursor(binary=True)
    assert cursor.execute('select id, weight, open from orders where id = %s', (8,)).fetchone() == (8, 2.0, True)
    with connection.cursor('portions') as portions:  # a cursor of the server
        portions.execute('select id from orders where id > %s order by id', (90,))
        portions.itersize = 4
        assert [row[0] for row in portions] == list(range(91, 102))
";
    run(
        &replica,
        Command::new("/usr/bin/python3").args(["-c", program]),
    )?;
    Ok(())
}

#[test]
fn jdbc_connects_and_runs_prepared_statements() -> Result<()> {
    let replica = Replica::of(TABLES)?;
    let source = replica.folder.path().join("Probe.java");
    std::fs::write(&source, PROBE_JAVA)?;
    let mut java = Command::new("java");
    java.args(["-cp", "/usr/share/java/postgresql.jar"])
        .arg(source);
    let text = run(&replica, &mut java).context("JDBC")?;
    assert!(text.contains("all is well"), "{text}");
    Ok(())
}

const PROBE_JAVA: &str = r#"
import java.math.BigDecimal;
import java.sql.*;

class Probe {
    public static void main(String[] arguments) throws Exception {
        String url = "jdbc:postgresql://127.0.0.1:" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
        try (Connection connection =
                 DriverManager.getConnection(url, System.getenv("PGUSER"), System.getenv("PGPASSWORD"))) {
            PreparedStatement byId =
                connection.prepareStatement("select id, customer, price, open, weight, placed from orders where id = ?");
            for (int round = 1; round <= 10; round++) { // a server-side statement from the fifth time on
                byId.setLong(1, 50);
                ResultSet row = byId.executeQuery();
                check(row.next() && row.getLong(1) == 50 && row.getString(2).equals("customer 0"));
                check(row.getBigDecimal(3).equals(new BigDecimal("62.50")) && row.getBoolean(4));
                check(row.getDouble(5) == 12.5 && row.getTimestamp(6) != null && !row.next());
            }
            byId.setLong(1, 101);
            ResultSet unknown = byId.executeQuery();
            check(unknown.next() && unknown.getBigDecimal(3) == null && unknown.wasNull());
            connection.setAutoCommit(false); // a transaction with a fetch size uses portals
            Statement all = connection.createStatement();
            all.setFetchSize(7);
            ResultSet rows = all.executeQuery("select id from orders order by id");
            long count = 0;
            while (rows.next()) check(rows.getLong(1) == ++count);
            check(count == 101);
            connection.commit();
            ResultSet tables = connection.getMetaData().getTables(null, "public", "ord%", new String[] {"TABLE"});
            check(tables.next() && tables.getString("TABLE_NAME").equals("orders"));
            System.out.println("all is well");
        }
    }

    static void check(boolean right) {
        if (!right) throw new AssertionError();
    }
}
"#;

/// Runs a program that finds the source by the same variables.
fn run_at_source(replica: &Replica, program: &mut Command) -> Result<String> {
    program
        .env("PGHOST", "127.0.0.1")
        .env("PGPORT", replica.postgres.port().to_string())
        .env("PGUSER", postgres_server::USER)
        .env("PGPASSWORD", postgres_server::PASSWORD)
        .env("PGDATABASE", crate::replica::DATABASE);
    let output = program.output()?;
    ensure!(
        output.status.success(),
        "at the source: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The same program at the source and at the replica; both have to print the same.
fn ensure_told_the_same(replica: &Replica, program: impl Fn() -> Command) -> Result<()> {
    let expected = run_at_source(replica, &mut program())?;
    let told = run(replica, &mut program())?;
    let differences = differences(&expected, &told);
    ensure!(
        differences.is_empty() && !told.is_empty(),
        "{}",
        differences.join("\n")
    );
    Ok(())
}

/// Lines that one text has and the other has not.
fn differences(expected: &str, found: &str) -> Vec<String> {
    let without = |lines: &str, other: &str, sign: &str| -> Vec<String> {
        let missing = lines
            .lines()
            .filter(|line| !other.lines().any(|o| o == *line));
        missing.map(|line| format!("{sign} {line}")).collect()
    };
    let missing = without(expected, found, "-");
    missing
        .into_iter()
        .chain(without(found, expected, "+"))
        .collect()
}

#[test]
fn jdbc_is_told_of_tables_columns_keys_and_indexes_what_the_source_tells() -> Result<()> {
    let replica = Replica::of(tools::TABLES)?;
    let source = replica.folder.path().join("Metadata.java");
    std::fs::write(&source, include_str!("clients/Metadata.java"))?;
    ensure_told_the_same(&replica, || {
        let mut java = Command::new("java");
        java.args(["-cp", "/usr/share/java/postgresql.jar"])
            .arg(&source);
        java
    })
}

#[test]
fn sqlalchemy_reflects_and_reads_what_it_does_at_the_source() -> Result<()> {
    let replica = Replica::of(tools::TABLES)?;
    ensure_told_the_same(&replica, || {
        let mut python = Command::new("/usr/bin/python3");
        python.args(["-c", include_str!("clients/sqlalchemy_program.py")]);
        python
    })
}

/// The expected output, that of psql 15, is checked in; other versions lay lists out in other ways,
/// and have to meet the same errors. What a run prints is left in the folder of the build.
#[test]
fn a_psql_script_prints_what_it_printed() -> Result<()> {
    let replica = Replica::of(tools::TABLES)?;
    let script = replica.folder.path().join("script.sql");
    std::fs::write(&script, include_str!("clients/script.sql"))?;
    let mut shell = Command::new("sh");
    let path = replica
        .postgres
        .client_program("psql")
        .get_program()
        .to_owned();
    shell
        .args(["-c", "\"$0\" --no-psqlrc --file \"$1\" 2>&1"])
        .arg(path)
        .arg(&script);
    let printed = run(&replica, &mut shell)?;
    let printed = printed.replace(&script.display().to_string(), "script.sql");
    let expected = include_str!("clients/script.out");
    std::fs::write(
        concat!(env!("CARGO_TARGET_TMPDIR"), "/script.out"),
        &printed,
    )?;
    let mut differences = differences(expected, &printed);
    if replica.postgres.version()? != 15 {
        differences.retain(|line| line.to_lowercase().contains("error"));
    }
    ensure!(differences.is_empty(), "{}", differences.join("\n"));
    Ok(())
}

#[test]
fn the_built_in_client_finds_its_server() -> Result<()> {
    let replica = Replica::of(TABLES)?;
    let output = replica
        .hedgerow
        .run(&["sql", "select count(*) as orders_held from orders"])?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        text.contains("101") && text.contains("orders_held"),
        "{text}"
    );
    let output = replica.hedgerow.run(&["sql", "select * from nowhere"])?;
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("nowhere"));
    let output = replica.hedgerow.run(&["status"])?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for word in ["sent", "received", "visible", "durable", "orders"] {
        assert!(text.contains(word), "no {word} in {text}");
    }
    Ok(())
}
