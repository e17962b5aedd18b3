//! The harness against PostgreSQL alone: what the other tests stand on must itself stand. And the kills of a primary,
//! which need no server.

mod kill_primary;

use anyhow::Result;
use rand::SeedableRng;
use rand::rngs::StdRng;
use testbed::bank::{Bank, Sums};
use testbed::cut_link::CutLink;
use testbed::postgres_server::Shutdown;
use testbed::tpch::{answers::Answer, tables};
use testbed::{PostgresOptions, PostgresServer};

#[test]
fn a_server_keeps_its_data_over_a_crash_and_asks_for_a_password() -> Result<()> {
    let mut server = PostgresServer::start(PostgresOptions::default())?;
    let bank = Bank { accounts: 100 };
    server.execute("postgres", &bank.setup())?;
    let transfers = bank.transfer(&mut StdRng::seed_from_u64(1));
    server.execute("postgres", &transfers.join(";"))?;
    let before = Sums::ask(&mut server.connect("postgres")?)?;
    server.restart(Shutdown::Immediate)?;
    let sums = Sums::ask(&mut server.connect("postgres")?)?;
    assert_eq!(sums, before);
    assert_eq!(sums.total(), bank.total());
    let wrong = server.url("postgres").replace("hazel", "elder");
    assert!(postgres::Client::connect(&wrong, postgres::NoTls).is_err());
    Ok(())
}

#[test]
fn a_cut_link_ends_the_session_and_a_mended_one_serves_again() -> Result<()> {
    let server = PostgresServer::start(PostgresOptions::default())?;
    let link = CutLink::to(server.port())?;
    let url = server.url_through(link.port(), "postgres");
    let mut client = postgres::Client::connect(&url, postgres::NoTls)?;
    client.simple_query("select 1")?;
    link.cut();
    assert!(client.simple_query("select 1").is_err());
    assert!(postgres::Client::connect(&url, postgres::NoTls).is_err());
    link.mend();
    postgres::Client::connect(&url, postgres::NoTls)?.simple_query("select 1")?;
    Ok(())
}

#[test]
fn tpch_tables_have_the_rows_of_their_scale() -> Result<()> {
    let server = PostgresServer::start(PostgresOptions::default())?;
    let mut client = server.connect("postgres")?;
    tables::load(&mut client, 0.01)?;
    let counts = Answer::ask(
        &mut client,
        "select (select count(*) from customer), (select count(*) from orders),
                (select count(*) from lineitem), (select count(*) from nation)",
    )?;
    let row: Vec<Option<&str>> = counts.rows[0].iter().map(Option::as_deref).collect();
    assert_eq!(
        row,
        [Some("1500"), Some("15000"), Some("60175"), Some("25")]
    );
    assert!(tables::table_and_key_bytes(&mut client)? > 1 << 20);
    Ok(())
}
