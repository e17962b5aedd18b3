//! What sqlx finds out of a statement before it is run: what `query!` and `cargo sqlx prepare` ask for.

use sqlx::{Column, Either, Executor, PgPool, SqlSafeStr, Statement, TypeInfo};

use crate::tell;

const STATEMENTS: [&str; 7] = [
    "select * from orders where id = $1 and customer = $2",
    "select id as number, price * 2 as twice, count(*) over () as many from orders",
    "select o.id, p.customer from orders o left join orders p on p.id = o.line where o.day > $1",
    "select a.id, b.id as other from orders a full join orders b on a.id = b.pieces",
    "select $1::int4 + 1 as n, $2 || 'x' as t, now() as at",
    "select id, mood, moods from feelings where mood = $1",
    "select share from feelings where share < $1",
];

/// Asks for them.
pub async fn ask(pool: &PgPool) {
    for sql in STATEMENTS {
        tell(&format!("prepared {sql}"), prepared(pool, sql).await);
        tell(&format!("described {sql}"), described(pool, sql).await);
    }
    tell(
        "prepared with a mistake",
        prepared(pool, "select nothing from orders").await,
    );
}

/// Names and types.
async fn prepared(pool: &PgPool, sql: &'static str) -> sqlx::Result<(Vec<String>, Vec<String>)> {
    let mut connection = pool.acquire().await?;
    let statement = (&mut *connection).prepare(sql.into_sql_str()).await?;
    let parameters = match statement.parameters() {
        Some(Either::Left(types)) => types.iter().map(|kind| kind.name().to_owned()).collect(),
        Some(Either::Right(_)) | None => Vec::new(),
    };
    let columns = statement.columns().iter();
    let columns = columns.map(|column| format!("{} {}", column.name(), column.type_info().name()));
    Ok((parameters, columns.collect()))
}

/// Where columns come from, and whether they can be NULL.
async fn described(pool: &PgPool, sql: &'static str) -> sqlx::Result<Vec<String>> {
    let described = pool.describe(sql.into_sql_str()).await?;
    let columns = described.columns().iter().enumerate();
    let columns = columns.map(|(place, column)| {
        let nullable = described.nullable(place);
        format!("{} {nullable:?} {:?}", column.name(), column.origin())
    });
    Ok(columns.collect())
}
