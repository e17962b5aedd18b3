//! The pictures of the web page in the documentation, taken anew.
//!
//! `cargo test --workspace --test integration -- --ignored screenshots` writes them to `docs/web`:
//! a copy on its way, a stream under load, and a source that has gone, each of a real server. It
//! needs Chromium (Debian's package `chromium`) and takes about two minutes.
//!
//! A browser takes its picture when a page has come, which is too early for rates. So it is shown a
//! page that has the real one in a frame, and an image that comes seconds later.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::{self, sleep};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use testbed::bank::single_value;
use testbed::free_port::free_port;
use testbed::patience::wait_for;
use testbed::postgres_server::Shutdown;
use testbed::{Hedgerow, HedgerowOptions, PostgresOptions, PostgresServer};

use crate::replica::DATABASE;
use crate::web::get;

/// pgbench's scale: eight million accounts, so that the copy is still going on when its picture is taken.
const SCALE: &str = "80";
/// So many transactions have been applied when the picture of the stream is taken.
const LOAD_ON_ITS_WAY: u64 = 10_000;

#[test]
#[ignore = "writes into the documentation, and needs a browser"]
fn the_page_while_copying_streaming_and_without_its_source() -> Result<()> {
    let mut postgres = PostgresServer::start(PostgresOptions::default())?;
    pgbench(&postgres, &["--initialize", "--scale", SCALE, "--quiet"])?.wait()?;
    postgres.execute(
        DATABASE,
        "alter table pgbench_history replica identity full",
    )?;
    let folder = TempDir::with_prefix("testbed-screenshots-")?;
    let port = free_port()?;
    let options = HedgerowOptions::new(postgres.url(DATABASE), &folder.path().join("data"))?
        .with(&["--web", &format!("127.0.0.1:{port}")]);
    let mut hedgerow = Hedgerow::start(options)?;
    wait_for_status(port, "\"state\":\"copying\"")?;
    take(port, "copying", Duration::from_millis(1500))?;
    hedgerow.wait_ready()?;
    let load = [
        "--client",
        "4",
        "--time",
        "30",
        "--no-vacuum",
        "--protocol",
        "prepared",
    ];
    let mut load = pgbench(&postgres, &load)?;
    wait_for("the load to be on its way", || {
        let rows = "select count(*) from pgbench_history";
        let rows: u64 = single_value(&mut hedgerow.connect()?, rows)?.parse()?;
        Ok((rows >= LOAD_ON_ITS_WAY).then_some(()))
    })?;
    take(port, "streaming", Duration::from_secs(4))?;
    load.wait()?;
    postgres.stop(Shutdown::Fast)?;
    wait_for_status(port, "\"reason\":\"")?;
    take(port, "source-lost", Duration::from_secs(2))
}

fn pgbench(postgres: &PostgresServer, arguments: &[&str]) -> Result<std::process::Child> {
    let mut pgbench = postgres.client_program("pgbench");
    pgbench
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .env("PGDATABASE", DATABASE);
    pgbench.spawn().context("pgbench")
}

fn wait_for_status(port: u16, wanted: &str) -> Result<()> {
    wait_for(&format!("{wanted} on the page"), || {
        let Ok((_, status)) = get(port, "/status.json", &format!("localhost:{port}")) else {
            return Ok(None);
        };
        Ok(status.contains(wanted).then_some(()))
    })
}

/// Has a browser look at the page for so long, and take its picture then.
fn take(port: u16, name: &str, patience: Duration) -> Result<()> {
    let profile = TempDir::with_prefix("testbed-browser-")?;
    let frame = profile.path().join("frame.html");
    let late = late_image(patience)?;
    std::fs::write(
        &frame,
        format!(
            "<body style=\"margin:0\"><iframe src=\"http://localhost:{port}/\" width=1280 height=720 \
             style=\"border:0\"></iframe><img src=\"http://127.0.0.1:{late}/\" width=0 height=0>"
        ),
    )?;
    let picture = pictures().join(format!("{name}.png"));
    let status = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg("--window-size=1280,720")
        .arg(format!("--screenshot={}", picture.display()))
        .arg(format!("file://{}", frame.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("chromium")?;
    ensure!(
        status.success() && picture.exists(),
        "no {}",
        picture.display()
    );
    Ok(())
}

/// A server that lets whoever comes first wait for so long; its port.
fn late_image(patience: Duration) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    thread::Builder::new()
        .name("late image".to_owned())
        .spawn(move || {
            let asked = listener.accept();
            sleep(patience);
            drop(asked);
        })?;
    Ok(port)
}

fn pictures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/web")
}
