//! TLS: who gets in with it and who without, and that the certificate can be changed.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use testbed::hedgerow_process::{DATABASE, USER};
use testbed::patience::wait_for;
use testbed::{Hedgerow, HedgerowOptions, PostgresServer};

use crate::replica::source;

/// The start of PostgreSQL's request for TLS: length 8, code 80877103.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

const TABLES: &str = "create table orders (id int primary key); insert into orders values (7);
     create table texts (id int primary key, content text);
     insert into texts select i, repeat('x', 3000) from generate_series(1, 300) i;";

/// A server that takes encrypted connections only, and its certificate.
struct Encrypted {
    hedgerow: Hedgerow,
    postgres: PostgresServer,
    folder: TempDir,
}

impl Encrypted {
    fn start() -> Result<Self> {
        let postgres = source(TABLES)?;
        let folder = TempDir::with_prefix("testbed-encrypted-")?;
        let (certificate, key) = write_certificate(folder.path())?;
        let options = HedgerowOptions::new(postgres.url("postgres"), &folder.path().join("data"))?
            .with(&["--tls-certificate", &certificate, "--tls-key", &key])
            .with(&["--tls-required"]);
        let hedgerow = Hedgerow::start(options)?;
        let encrypted = Self {
            hedgerow,
            postgres,
            folder,
        };
        // The built-in client needs no certificate authority.
        wait_for("the copy to be complete", || {
            let asked = ["sql", "select state from hedgerow.sources"];
            let output = encrypted.hedgerow.run(&asked)?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let log = encrypted.hedgerow.log_tail();
            ensure!(text.contains("streaming"), "{text}{}{log}", told(&output));
            Ok(Some(()))
        })?;
        Ok(encrypted)
    }

    /// Runs a libpq program against the server with these settings.
    fn run(&self, command: &mut Command, settings: &[(&str, &str)]) -> Result<Output> {
        command
            .env("PGHOST", "localhost")
            .env("PGHOSTADDR", "127.0.0.1")
            .env("PGPORT", self.hedgerow.port().to_string())
            .env("PGUSER", USER)
            .env("PGPASSWORD", self.hedgerow.password()?)
            .env("PGDATABASE", DATABASE)
            .envs(settings.iter().copied());
        Ok(command.output()?)
    }

    fn psql(&self, settings: &[(&str, &str)]) -> Result<Output> {
        let mut psql = self.postgres.client_program("psql");
        psql.args(["--no-psqlrc", "--no-align", "--tuples-only", "--command"]);
        psql.arg("select id from orders");
        self.run(&mut psql, settings)
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("server.crt")
    }
}

/// Writes a certificate of its own authority and its key; their files.
fn write_certificate(folder: &Path) -> Result<(String, String)> {
    use std::os::unix::fs::PermissionsExt;
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let (certificate, key) = (folder.join("server.crt"), folder.join("server.key"));
    std::fs::write(&key, made.signing_key.serialize_pem())?;
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600))?;
    std::fs::write(&certificate, made.cert.pem())?;
    let text = |path: PathBuf| path.display().to_string();
    Ok((text(certificate), text(key)))
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn assert_answered(output: &Output) {
    let answer = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && answer.trim() == "7",
        "{answer}{}",
        told(output)
    );
}

#[test]
fn clients_talk_tls_and_prove_whom_they_talk_to() -> Result<()> {
    let server = Encrypted::start()?;
    let root = server.root().display().to_string();
    assert_answered(&server.psql(&[("PGSSLMODE", "require"), ("PGCHANNELBINDING", "require")])?);
    let verified = [("PGSSLMODE", "verify-full"), ("PGSSLROOTCERT", &*root)];
    assert_answered(&server.psql(&verified)?);

    let plain = server.psql(&[("PGSSLMODE", "disable")])?;
    assert!(!plain.status.success());
    assert!(told(&plain).contains("no encryption"), "{}", told(&plain));
    let other = TempDir::new()?;
    let (foreign, _) = write_certificate(other.path())?;
    let foreign = server.psql(&[("PGSSLMODE", "verify-full"), ("PGSSLROOTCERT", &foreign)])?;
    assert!(told(&foreign).contains("certificate"), "{}", told(&foreign));

    let program = "
import psycopg
with psycopg.connect('sslmode=verify-full channel_binding=require') as connection:
    assert connection.pgconn.ssl_in_use
    rows = connection.execute('select id from orders where id = %s', (7,), prepare=True).fetchall()
    print(rows[0][0])
    texts = connection.execute('select id, content from texts order by id').fetchall()
    assert texts == [(i, 'x' * 3000) for i in range(1, 301)]
";
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-c", program]);
    assert_answered(&server.run(&mut python, &[("PGSSLROOTCERT", &root)])?);
    let verified = server.hedgerow.verify()?;
    assert!(verified.contains("orders"), "{verified}");
    Ok(())
}

#[test]
fn a_new_certificate_is_taken_up_without_a_restart() -> Result<()> {
    let server = Encrypted::start()?;
    write_certificate(server.folder.path())?;
    let root = server.root().display().to_string();
    wait_for("the new certificate", || {
        let settings = [("PGSSLMODE", "verify-full"), ("PGSSLROOTCERT", &*root)];
        let output = server.psql(&settings)?;
        ensure!(output.status.success(), "{}", told(&output));
        Ok(Some(()))
    })
}

#[test]
fn nothing_is_read_from_before_the_encryption() -> Result<()> {
    let server = Encrypted::start()?;
    // A startup packet in the same breath: somebody in between could have put it there.
    let startup = b"\0\0\0\x17\0\x03\0\0user\0hedgerow\0\0";
    let mut socket = TcpStream::connect(("127.0.0.1", server.hedgerow.port()))?;
    socket.write_all(&[&SSL_REQUEST[..], startup].concat())?;
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).context("the answer")?;
    let text = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with(b"E"), "{text}");
    assert!(text.contains("unencrypted data"), "{text}");
    Ok(())
}

#[test]
fn other_addresses_than_loopback_need_a_certificate() -> Result<()> {
    let postgres = source("create table orders (id int primary key)")?;
    let folder = TempDir::with_prefix("testbed-encrypted-")?;
    let data = folder.path().join("data");
    let options = HedgerowOptions::new(postgres.url("postgres"), &data)?;
    let refusal = Hedgerow::start_refused(options.with(&["--listen", "0.0.0.0:0"]))?;
    for word in ["not a loopback address", "--tls-certificate"] {
        assert!(refusal.message.contains(word), "{}", refusal.message);
    }
    Ok(())
}
