//! Rows into structures, tuples and streams, every type that has one in Rust.

use bigdecimal::BigDecimal;
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use futures_util::TryStreamExt;
use sqlx::types::Json;
use sqlx::{Executor, FromRow, PgPool, Row, Type};
use uuid::Uuid;

use crate::tell;

#[derive(Debug, FromRow)]
#[expect(dead_code, reason = "they are printed")]
struct Order {
    id: i64,
    line: i16,
    pieces: Option<i32>,
    customer: String,
    price: Option<BigDecimal>,
    exact: Option<BigDecimal>,
    open: Option<bool>,
    weight: Option<f64>,
    half: Option<f32>,
    day: Option<NaiveDate>,
    placed: Option<DateTime<Utc>>,
    seen: Option<NaiveDateTime>,
    at: Option<NaiveTime>,
    token: Option<Uuid>,
    extra: Option<Json<Extra>>,
    plain: Option<serde_json::Value>,
    content: Option<Vec<u8>>,
    code: Option<String>,
    tags: Option<Vec<Option<String>>>,
    counts: Option<Vec<Option<i32>>>,
    sums: Option<Vec<i64>>,
    days: Option<Vec<Option<NaiveDate>>>,
}

#[derive(Debug, serde::Deserialize)]
#[expect(dead_code, reason = "they are printed")]
struct Extra {
    a: i64,
    b: Vec<String>,
}

/// A type of the source's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Type)]
#[sqlx(type_name = "mood", rename_all = "lowercase")]
pub enum Mood {
    Sad,
    Content,
    Glad,
}

/// Asks for them.
pub async fn ask(pool: &PgPool) {
    for id in [1_i64, 50, 101, 102] {
        let order = sqlx::query_as::<_, Order>("select * from orders where id = $1").bind(id);
        tell(&format!("order {id}"), order.fetch_optional(pool).await);
    }
    let missing = sqlx::query_scalar::<_, String>("select customer from orders where id = 0");
    tell("a row that is not there", missing.fetch_one(pool).await);
    let null = sqlx::query_scalar::<_, i32>("select pieces from orders where id = 101");
    tell("NULL that is not expected", null.fetch_one(pool).await);
    let other = sqlx::query_scalar::<_, i32>("select id from orders where id = 1");
    tell("another type than expected", other.fetch_one(pool).await);
    tell("by name", by_name(pool).await);
    tell("a stream", stream(pool).await);
    tell("a stream that is left", left_stream(pool).await);
    tell("several statements", several(pool).await);
    tell_expressions(pool).await;
    tell_own_types(pool).await;
}

async fn by_name(pool: &PgPool) -> sqlx::Result<(i64, Option<BigDecimal>)> {
    let sql = "select id as number, price as \"The Price\" from orders where customer = $1 order by id limit 1";
    let row = sqlx::query(sql).bind("customer 3").fetch_one(pool).await?;
    Ok((row.try_get("number")?, row.try_get("The Price")?))
}

async fn stream(pool: &PgPool) -> sqlx::Result<(i64, i64)> {
    let mut rows = sqlx::query_as::<_, (i64, i16)>("select id, line from orders").fetch(pool);
    let (mut count, mut sum) = (0, 0);
    while let Some((id, line)) = rows.try_next().await? {
        count += 1;
        sum += id * i64::from(line);
    }
    Ok((count, sum))
}

/// What is left of the stream must not disturb the statement after it.
async fn left_stream(pool: &PgPool) -> sqlx::Result<(bool, i64)> {
    let mut connection = pool.acquire().await?;
    let first = {
        let mut rows = sqlx::query_scalar::<_, i64>("select a.id from orders a, orders b")
            .fetch(&mut *connection);
        rows.try_next().await?
    };
    let count = sqlx::query_scalar("select count(*) from orders");
    Ok((first.is_some(), count.fetch_one(&mut *connection).await?))
}

/// Without parameters, in one message.
async fn several(pool: &PgPool) -> sqlx::Result<Vec<String>> {
    let sql = "select id::text from orders where id = 1; select count(*)::text from orders";
    let rows = pool.fetch_all(sqlx::raw_sql(sql)).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

async fn tell_expressions(pool: &PgPool) {
    type Sums = (
        i64,
        Option<BigDecimal>,
        Option<f64>,
        Option<i64>,
        Option<BigDecimal>,
    );
    let sums = sqlx::query_as::<_, Sums>(
        "select count(*), sum(price), sum(weight), sum(pieces), sum(id) from orders",
    );
    tell("sums", sums.fetch_one(pool).await);
    type Grouped = (String, i64, Option<BigDecimal>);
    let grouped = sqlx::query_as::<_, Grouped>(
        "select customer, count(*), max(price) from orders group by customer having count(*) > 9 order by customer",
    );
    tell("grouped", grouped.fetch_all(pool).await);
    let lists = sqlx::query_as::<_, (Vec<i64>, Vec<Option<String>>)>(
        "select array_agg(id order by id), array_agg(code order by id) from orders where id > 98",
    );
    tell("lists", lists.fetch_one(pool).await);
    let constants = sqlx::query_as::<_, (i32, String, bool, Option<String>)>(
        "select 1, 'text', true, null::text",
    );
    tell("constants", constants.fetch_one(pool).await);
}

async fn tell_own_types(pool: &PgPool) {
    type Feeling = (i32, Option<Mood>, Option<i32>, Option<Vec<Mood>>);
    let feelings =
        sqlx::query_as::<_, Feeling>("select id, mood, share, moods from feelings order by id");
    tell("own types", feelings.fetch_all(pool).await);
    let as_text = sqlx::query_as::<_, (i32, Option<String>)>(
        "select id, mood::text from feelings order by id",
    );
    tell("an enum as text", as_text.fetch_all(pool).await);
    let share = sqlx::query_scalar::<_, Option<i32>>("select share from feelings order by id");
    tell("a domain", share.fetch_all(pool).await);
}
