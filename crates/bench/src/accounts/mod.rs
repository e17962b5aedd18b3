//! A table of accounts at a PostgreSQL, a hedgerow that copies it, and who asks for its rows by key.

mod client;

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use testbed::{
    Hedgerow, HedgerowOptions, PostgresOptions, PostgresServer, hedgerow_process, postgres_server,
};

pub use client::{Client, Login};

const DATABASE: &str = "postgres";
/// How long the copy may take.
const COPY_LIMIT: Duration = Duration::from_secs(1800);

/// A PostgreSQL with so many accounts, whose cache holds them all.
pub fn publisher(rows: u64) -> Result<PostgresServer> {
    let postgres = PostgresServer::start(PostgresOptions::default().with("shared_buffers", "1GB"))?;
    postgres.execute(
        DATABASE,
        &format!(
            "create table accounts (
                 id bigint primary key, owner text, balance numeric(12,2), opened timestamptz, note text);
             insert into accounts
                 select i, 'owner ' || i % 1000, i % 100000 / 100.0, now() - i * interval '1 minute',
                        md5(i::text)
                 from generate_series(1, {rows}) i;"
        ),
    )?;
    postgres.execute(DATABASE, "vacuum analyze accounts")?;
    Ok(postgres)
}

/// A hedgerow that has copied them.
pub fn copied(postgres: &PostgresServer, folder: &Path, arguments: &[&str]) -> Result<Hedgerow> {
    let data = folder.join("hedgerow");
    let options = HedgerowOptions::new(postgres.url(DATABASE), &data)?.with(arguments);
    let mut hedgerow = Hedgerow::start(options)?;
    hedgerow.wait_ready_at_most(COPY_LIMIT)?;
    Ok(hedgerow)
}

/// How to log in at the publisher.
pub fn login_of_postgres(postgres: &PostgresServer) -> Login {
    Login {
        port: postgres.port(),
        user: postgres_server::USER.to_owned(),
        password: postgres_server::PASSWORD.to_owned(),
        database: DATABASE.to_owned(),
    }
}

/// How to log in at its copy.
pub fn login_of_hedgerow(hedgerow: &Hedgerow) -> Result<Login> {
    Ok(Login {
        port: hedgerow.port(),
        user: hedgerow_process::USER.to_owned(),
        password: hedgerow.password()?,
        database: hedgerow_process::DATABASE.to_owned(),
    })
}

/// Ids in random order, equal ones for equal seeds.
pub fn ids(rows: u64, seed: u64) -> impl FnMut() -> i64 {
    let mut random = StdRng::seed_from_u64(seed);
    move || random.random_range(1..=rows as i64)
}
