//! TLS between source and replica: when there is some, and which certificates are trusted.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use replication::postgres::PostgresConfig;
use replication::postgres::connection::{Connection, ConnectionError, Mode};
use replication::source::Stop;
use tempfile::TempDir;
use testbed::patience::wait_for;
use testbed::postgres_server::{PASSWORD, USER};
use testbed::{Hedgerow, HedgerowOptions, PostgresServer};

use crate::replica::source;

const TABLE: &str = "create table orders (id int primary key); insert into orders values (7);";

/// Whether the session that asks is encrypted.
const IS_ENCRYPTED: &str = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";

/// An authority, and a certificate that it has signed for `localhost` and [`USER`], in PEM form.
struct Signed {
    authority: String,
    certificate: String,
    key: String,
}

impl Signed {
    fn new() -> Result<Self> {
        let mut of_authority = CertificateParams::new(Vec::new())?;
        of_authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(of_authority, KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let mut of_both = CertificateParams::new(["localhost".to_owned()])?;
        of_both.distinguished_name.push(DnType::CommonName, USER);
        let certificate = of_both.signed_by(&key, &authority)?;
        Ok(Self {
            authority: authority.pem(),
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }
}

/// What a user gives as the source, with these words about TLS.
fn connection_string(postgres: &PostgresServer, host: &str, words: &str) -> String {
    let port = postgres.port();
    format!(
        "host={host} hostaddr=127.0.0.1 port={port} user={USER} password='{PASSWORD}' \
         dbname=postgres {words}"
    )
}

/// Connects, and asks whether that is encrypted.
fn is_encrypted(
    postgres: &PostgresServer,
    host: &str,
    words: &str,
) -> Result<Result<bool, ConnectionError>> {
    let config = PostgresConfig::parse(&connection_string(postgres, host, words))?;
    let mut connection = match Connection::open(&config, Mode::Query, &Stop::default()) {
        Ok(connection) => connection,
        Err(error) => return Ok(Err(error)),
    };
    let rows = connection.query(IS_ENCRYPTED)?;
    Ok(Ok(rows.first().context("a row")?.flag(0)))
}

#[track_caller]
fn assert_encrypted(postgres: &PostgresServer, words: &str, expected: bool) {
    let found = is_encrypted(postgres, "localhost", words).expect("it can be asked");
    assert_eq!(found.expect("a connection"), expected, "{words}");
}

#[track_caller]
fn assert_untrusted(postgres: &PostgresServer, host: &str, words: &str, because: &str) {
    let found = is_encrypted(postgres, host, words).expect("it can be asked");
    let error = found.expect_err("no connection");
    assert!(matches!(error, ConnectionError::Untrusted(_)), "{error}");
    assert!(error.to_string().contains(because), "{words}: {error}");
}

/// Reloading takes the server a moment.
fn wait_for_tls(postgres: &PostgresServer) -> Result<()> {
    wait_for("the server to offer TLS", || {
        let found = is_encrypted(postgres, "localhost", "")??;
        ensure!(found, "not yet");
        Ok(Some(()))
    })
}

fn write(folder: &Path, name: &str, content: &str) -> Result<String> {
    let path = folder.join(name);
    std::fs::write(&path, content)?;
    Ok(path.display().to_string())
}

#[test]
fn connections_are_encrypted_as_far_as_asked_and_possible() -> Result<()> {
    let postgres = source("")?;
    assert_encrypted(&postgres, "", false);
    assert_encrypted(&postgres, "sslmode=disable", false);
    assert_untrusted(
        &postgres,
        "localhost",
        "sslmode=require",
        "does not encrypt",
    );
    let bound = "channel_binding=require";
    assert_untrusted(&postgres, "localhost", bound, bound);

    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    postgres.offer_tls(&made.cert.pem(), &made.signing_key.serialize_pem())?;
    wait_for_tls(&postgres)?;
    assert_encrypted(&postgres, "sslmode=require", true);
    assert_encrypted(&postgres, "sslmode=require channel_binding=require", true);
    assert_encrypted(&postgres, "sslmode=require channel_binding=disable", true);
    assert_encrypted(&postgres, "sslmode=disable", false);
    Ok(())
}

#[test]
fn a_server_proves_who_it_is() -> Result<()> {
    let folder = TempDir::new()?;
    let postgres = source("")?;
    let signed = Signed::new()?;
    postgres.offer_tls(&signed.certificate, &signed.key)?;
    wait_for_tls(&postgres)?;
    let authority = write(folder.path(), "authority.crt", &signed.authority)?;
    let own = write(folder.path(), "own.crt", &signed.certificate)?;
    let foreign = write(folder.path(), "foreign.crt", &Signed::new()?.authority)?;
    for root in [&authority, &own] {
        for mode in ["require", "verify-ca", "verify-full"] {
            let words = format!("sslmode={mode} sslrootcert={root}");
            assert_encrypted(&postgres, &words, true);
        }
        // The certificate is for another name.
        let by_name = format!("sslmode=verify-full sslrootcert={root}");
        assert_untrusted(
            &postgres,
            "elsewhere.example",
            &by_name,
            "not valid for name",
        );
        let by_authority = format!("sslmode=verify-ca sslrootcert={root}");
        let found = is_encrypted(&postgres, "elsewhere.example", &by_authority)?;
        assert!(found?);
    }
    for mode in ["require", "verify-ca", "verify-full"] {
        let words = format!("sslmode={mode} sslrootcert={foreign}");
        assert_untrusted(&postgres, "localhost", &words, "invalid peer certificate");
    }
    let system = "sslmode=verify-full sslrootcert=system";
    assert_untrusted(&postgres, "localhost", system, "invalid peer certificate");
    Ok(())
}

#[test]
fn a_source_that_insists_on_tls_is_copied_and_followed() -> Result<()> {
    let folder = TempDir::with_prefix("testbed-source-encryption-")?;
    let postgres = source(TABLE)?;
    let signed = Signed::new()?;
    postgres.offer_tls(&signed.certificate, &signed.key)?;
    wait_for_tls(&postgres)?;
    // Sessions that are there already stay.
    let mut writer = postgres.connect("postgres")?;
    postgres.require_tls()?;
    let root = write(folder.path(), "authority.crt", &signed.authority)?;
    let words = format!("sslmode=verify-full sslrootcert={root}");
    let url = connection_string(&postgres, "localhost", &words);
    let options = HedgerowOptions::new(url, &folder.path().join("data"))?;
    let hedgerow = Hedgerow::start_ready(options)?;
    let sessions = "select count(*) filter (where ssl), count(*) from pg_stat_ssl
         join pg_stat_activity using (pid) where application_name = 'hedgerow'";
    let row = writer.query_one(sessions, &[])?;
    let (encrypted, all): (i64, i64) = (row.get(0), row.get(1));
    assert!(encrypted > 0 && encrypted == all, "{encrypted} of {all}");
    writer.batch_execute("insert into orders select generate_series(8, 20000)")?;
    wait_for("the new rows", || {
        let mut client = hedgerow.connect()?;
        let row = client.query_one("select count(*), sum(id) from orders", &[])?;
        let (rows, sum): (i64, i64) = (row.get(0), row.get(1));
        ensure!((rows, sum) == (19_994, 200_009_979), "{rows} rows, {sum}");
        Ok(Some(()))
    })?;
    hedgerow.verify()?;
    Ok(())
}

#[test]
fn a_source_that_asks_for_a_certificate_gets_ours() -> Result<()> {
    let folder = TempDir::with_prefix("testbed-source-encryption-")?;
    let postgres = source(TABLE)?;
    let (signed, foreign) = (Signed::new()?, Signed::new()?);
    postgres.offer_tls(&signed.certificate, &signed.key)?;
    wait_for_tls(&postgres)?;
    let mut writer = postgres.connect("postgres")?;
    postgres.require_certificates(&signed.authority)?;
    let files = |name: &str, signed: &Signed| -> Result<String> {
        let certificate = write(folder.path(), &format!("{name}.crt"), &signed.certificate)?;
        let key = write(folder.path(), &format!("{name}.key"), &signed.key)?;
        std::fs::set_permissions(&key, Permissions::from_mode(0o600))?;
        Ok(format!(
            "sslmode=require sslcert={certificate} sslkey={key}"
        ))
    };
    let (own, foreign) = (files("own", &signed)?, files("foreign", &foreign)?);
    wait_for("the server to ask for certificates", || {
        let found = is_encrypted(&postgres, "localhost", "sslmode=require")?;
        Ok(found.is_err().then_some(()))
    })?;
    assert_encrypted(&postgres, &own, true);
    let refused = is_encrypted(&postgres, "localhost", &foreign)?;
    assert!(refused.is_err(), "a certificate of another authority");
    let url = connection_string(&postgres, "localhost", &own);
    let options = HedgerowOptions::new(url, &folder.path().join("data"))?;
    let hedgerow = Hedgerow::start_ready(options)?;
    writer.batch_execute("insert into orders values (8)")?;
    wait_for("the new row", || {
        let row = hedgerow
            .connect()?
            .query_one("select sum(id) from orders", &[])?;
        Ok((row.get::<_, i64>(0) == 15).then_some(()))
    })?;
    hedgerow.verify()?;
    Ok(())
}
