//! Faults that `serve` must name at the start, with what mends them.

use std::net::TcpListener;

use anyhow::Result;
use tempfile::TempDir;
use testbed::hedgerow_process::find_binary;
use testbed::{Hedgerow, HedgerowOptions, PostgresOptions, PostgresServer};

use crate::replica::{DATABASE, Replica, source};

/// Starts hedgerow on `url`, which it must refuse, and gives its message.
fn refused(url: String, arguments: &[&str]) -> Result<String> {
    let folder = TempDir::with_prefix("testbed-refused-")?;
    let options = HedgerowOptions::new(url, &folder.path().join("data"))?.with(arguments);
    Ok(Hedgerow::start_refused(options)?.message)
}

#[track_caller]
fn assert_says(message: &str, words: &[&str]) {
    for word in words {
        assert!(message.contains(word), "no {word:?} in: {message}");
    }
}

#[test]
fn a_wrong_password_is_named_and_not_repeated() -> Result<()> {
    let postgres = source("")?;
    let message = refused(
        postgres.url(DATABASE).replace("hawthorn", "elderberry"),
        &[],
    )?;
    assert_says(&message, &["password"]);
    assert!(!message.contains("elderberry"), "{message}");
    Ok(())
}

#[test]
fn a_source_that_does_not_answer_is_named() -> Result<()> {
    let port = testbed::free_port::free_port()?;
    let message = refused(format!("postgres://someone@127.0.0.1:{port}/nothing"), &[])?;
    assert_says(&message, &["127.0.0.1", &port.to_string()]);
    Ok(())
}

#[test]
fn a_missing_database_is_named() -> Result<()> {
    let postgres = source("")?;
    assert_says(&refused(postgres.url("nowhere"), &[])?, &["nowhere"]);
    Ok(())
}

#[test]
fn a_missing_publication_is_named_with_the_statement_that_makes_it() -> Result<()> {
    let postgres = source("create table a (id int primary key)")?;
    let message = refused(postgres.url(DATABASE), &["--publication", "not_there"])?;
    assert_says(
        &message.to_lowercase(),
        &["not_there", "create publication"],
    );
    Ok(())
}

#[test]
fn a_source_without_logical_decoding_is_named_with_the_statement_that_turns_it_on() -> Result<()> {
    let options = PostgresOptions {
        wal_level: "replica".to_owned(),
        ..PostgresOptions::default()
    };
    let postgres = PostgresServer::start(options)?;
    postgres.execute(DATABASE, "create table a (id int primary key)")?;
    let message = refused(postgres.url(DATABASE), &[])?;
    assert_says(
        &message.to_lowercase(),
        &["wal_level", "alter system set wal_level = 'logical'"],
    );
    Ok(())
}

#[test]
fn a_role_without_privileges_is_named_with_the_statement_that_grants_them() -> Result<()> {
    let postgres = source(
        "create table a (id int primary key);
         create role weak login password 'weak';",
    )?;
    let url = format!(
        "postgres://weak:weak@127.0.0.1:{}/{DATABASE}",
        postgres.port()
    );
    let message = refused(url, &[])?;
    assert_says(&message.to_lowercase(), &["weak", "replication"]);
    Ok(())
}

#[test]
fn a_table_without_identity_is_named_with_the_statement_that_gives_it_one() -> Result<()> {
    let postgres = source(
        "create table nameless (id int, t text);
         create table hidden (id int primary key, t text);
         alter table hidden replica identity nothing;
         insert into nameless values (1, 'a'); insert into hidden values (1, 'a');",
    )?;
    let folder = TempDir::with_prefix("testbed-identity-")?;
    let options = HedgerowOptions::new(postgres.url(DATABASE), &folder.path().join("data"))?;
    let output = std::process::Command::new(find_binary()?)
        .args(["check", "--source", &options.source])
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert_says(
        &text.to_lowercase(),
        &["nameless", "hidden", "replica identity"],
    );
    Ok(())
}

#[test]
fn a_port_in_use_is_named_and_nothing_is_left_running() -> Result<()> {
    let postgres = source("")?;
    let folder = TempDir::with_prefix("testbed-port-")?;
    let options = HedgerowOptions::new(postgres.url(DATABASE), &folder.path().join("data"))?;
    let _occupied = TcpListener::bind(("127.0.0.1", options.port))?;
    let port = options.port.to_string();
    let refusal = Hedgerow::start_refused(options)?;
    assert_says(&refusal.message, &[&port, "in use"]);
    Ok(())
}

#[test]
fn a_second_process_on_a_folder_is_refused_and_the_first_goes_on() -> Result<()> {
    let mut replica = Replica::of("create table a (id int primary key); insert into a values (1)")?;
    let url = replica.postgres.url(DATABASE);
    let second = HedgerowOptions::new(url, replica.hedgerow.data())?;
    let refusal = Hedgerow::start_refused(second)?;
    let folder = replica.hedgerow.data().display().to_string();
    assert_says(&refusal.message, &[&folder]);
    assert_says(&refusal.message.to_lowercase(), &["process"]);
    replica.at_source("insert into a values (2)")?;
    replica.ensure_same("select * from a order by id")?;
    // A kill leaves no lock behind.
    replica.kill_and_restart()?;
    replica.ensure_same("select * from a order by id")
}

#[test]
fn the_data_of_another_source_is_refused() -> Result<()> {
    let mut replica = Replica::of("create table a (id int primary key); insert into a values (1)")?;
    let other = source("create table a (id int primary key); insert into a values (2)")?;
    replica.hedgerow.stop()?;
    let options = HedgerowOptions::new(other.url(DATABASE), replica.hedgerow.data())?;
    let refusal = Hedgerow::start_refused(options)?;
    assert_says(&refusal.message.to_lowercase(), &["another database"]);
    replica.hedgerow.start_again()?;
    replica.hedgerow.wait_ready()?;
    replica.ensure_same("select * from a")
}
