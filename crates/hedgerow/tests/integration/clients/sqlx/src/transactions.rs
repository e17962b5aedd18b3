//! Transactions, settings, and errors with which a connection goes on.

use sqlx::{Acquire, Connection, PgPool};

use crate::tell;

/// Tries them.
pub async fn ask(pool: &PgPool) {
    tell("committed", committed(pool).await);
    tell("rolled back", rolled_back(pool).await);
    tell("left", left(pool).await);
    tell("a savepoint", savepoint(pool).await);
    tell("isolation", isolation(pool).await);
    tell("after an error in a transaction", failed(pool).await);
    tell("a ping", ping(pool).await);
    tell("a setting", setting(pool).await);
    for sql in [
        "select * from nowhere",
        "select nothing from orders",
        "selec 1",
        "select 1 / 0",
        "select 'x'::int",
        "select 300::int2 * 300::int2",
    ] {
        tell(
            sql,
            sqlx::query(sql)
                .fetch_all(pool)
                .await
                .map(|rows| rows.len()),
        );
    }
}

async fn count(connection: impl sqlx::PgExecutor<'_>) -> sqlx::Result<i64> {
    sqlx::query_scalar("select count(*) from orders")
        .fetch_one(connection)
        .await
}

async fn committed(pool: &PgPool) -> sqlx::Result<i64> {
    let mut transaction = pool.begin().await?;
    let counted = count(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(counted)
}

async fn rolled_back(pool: &PgPool) -> sqlx::Result<i64> {
    let mut transaction = pool.begin().await?;
    let counted = count(&mut *transaction).await?;
    transaction.rollback().await?;
    Ok(counted)
}

/// Dropped, a transaction is rolled back by whoever has the connection next.
async fn left(pool: &PgPool) -> sqlx::Result<i64> {
    let mut connection = pool.acquire().await?;
    let transaction = connection.begin().await?;
    drop(transaction);
    count(&mut *connection).await
}

async fn savepoint(pool: &PgPool) -> sqlx::Result<i64> {
    let mut transaction = pool.begin().await?;
    let mut inner = transaction.begin().await?;
    let counted = count(&mut *inner).await?;
    inner.rollback().await?;
    let mut inner = transaction.begin().await?;
    let again = count(&mut *inner).await?;
    inner.commit().await?;
    transaction.commit().await?;
    Ok(counted + again)
}

async fn isolation(pool: &PgPool) -> sqlx::Result<(String, i64)> {
    let mut transaction = pool
        .begin_with("begin isolation level repeatable read read only")
        .await?;
    let level = sqlx::query_scalar("show transaction_isolation")
        .fetch_one(&mut *transaction)
        .await?;
    let counted = count(&mut *transaction).await?;
    transaction.commit().await?;
    Ok((level, counted))
}

/// The second statement is refused because of the first; after the rollback all is well.
async fn failed(pool: &PgPool) -> sqlx::Result<(String, i64)> {
    let mut transaction = pool.begin().await?;
    let first = sqlx::query("select 1 / 0").execute(&mut *transaction).await;
    let second = count(&mut *transaction).await;
    transaction.rollback().await?;
    let code = |error: Option<sqlx::Error>| {
        let error = error.as_ref().and_then(sqlx::Error::as_database_error);
        error
            .and_then(|error| error.code())
            .unwrap_or_default()
            .into_owned()
    };
    let codes = format!("{} {}", code(first.err()), code(second.err()));
    Ok((codes, count(pool).await?))
}

async fn ping(pool: &PgPool) -> sqlx::Result<()> {
    pool.acquire().await?.ping().await
}

async fn setting(pool: &PgPool) -> sqlx::Result<(String, String)> {
    let mut connection = pool.acquire().await?;
    sqlx::query("set statement_timeout = '5s'")
        .execute(&mut *connection)
        .await?;
    let limit = sqlx::query_scalar("show statement_timeout")
        .fetch_one(&mut *connection)
        .await?;
    let name = sqlx::query_scalar("select current_setting('application_name')");
    sqlx::query("set application_name = 'probe'")
        .execute(&mut *connection)
        .await?;
    Ok((limit, name.fetch_one(&mut *connection).await?))
}
