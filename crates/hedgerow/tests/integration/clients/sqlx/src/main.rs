//! What users of sqlx do, a line for each answer, so that two servers can be compared.
//!
//! The server is the one that PostgreSQL's environment variables name. An error is a line as well:
//! its SQLSTATE, or what sqlx says where it comes from sqlx.

mod descriptions;
mod parameters;
mod rows;
mod transactions;

use std::fmt::Debug;
use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> sqlx::Result<()> {
    let pool = PgPoolOptions::new()
        .max_connections(4)
        .acquire_timeout(Duration::from_secs(60))
        .connect_with(PgConnectOptions::new())
        .await?;
    rows::ask(&pool).await;
    parameters::ask(&pool).await;
    descriptions::ask(&pool).await;
    transactions::ask(&pool).await;
    tell_pool(&pool).await;
    pool.close().await;
    Ok(())
}

/// Prints what came of a question.
fn tell<T: Debug>(question: &str, answer: sqlx::Result<T>) {
    match answer {
        Ok(answer) => println!("{question} => {answer:?}"),
        Err(sqlx::Error::Database(error)) => {
            let code = error.code().unwrap_or_default();
            println!("{question} => {code}, {:?}", error.kind());
        }
        Err(error) => println!("{question} => {error}"),
    }
}

/// More questions at a time than there are connections.
async fn tell_pool(pool: &PgPool) {
    let ask = |number: i32| {
        sqlx::query_scalar::<_, i32>("select $1 + 1")
            .bind(number)
            .fetch_one(pool)
    };
    let answers = futures_util::future::try_join_all((0..20).map(ask)).await;
    tell("twenty at a time", answers);
    let size = pool.size();
    println!("connections, at most four => {}", size <= 4);
}
