//! Parameters of every type that has one in Rust, lists and NULL among them.

use bigdecimal::BigDecimal;
use chrono::{DateTime, Days, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};
use sqlx::postgres::Postgres;
use sqlx::types::Json;
use sqlx::{Encode, PgPool, QueryBuilder, Type};
use uuid::Uuid;

use crate::rows::Mood;
use crate::tell;

/// Asks with them.
pub async fn ask(pool: &PgPool) {
    tell_numbers(pool).await;
    tell_times(pool).await;
    tell_texts(pool).await;
    tell_lists(pool).await;
    tell_own_types(pool).await;
    tell_built(pool).await;
}

/// The rows of orders with which a condition holds.
async fn tell_ids<'q, T>(pool: &PgPool, condition: &str, value: T)
where
    T: Encode<'q, Postgres> + Type<Postgres> + Send + 'q,
{
    let sql = format!("select id from orders where {condition} order by id limit 5");
    let ids = sqlx::query_scalar::<_, i64>(sqlx::AssertSqlSafe(sql)).bind(value);
    tell(condition, ids.fetch_all(pool).await);
}

async fn tell_numbers(pool: &PgPool) {
    tell_ids(pool, "line = $1", 3_i16).await;
    tell_ids(pool, "pieces > $1", 98_000_i32).await;
    tell_ids(pool, "id = $1", 7_i64).await;
    tell_ids(pool, "id >= $1", 99_i32).await;
    tell_ids(pool, "price = $1", BigDecimal::from(5)).await;
    tell_ids(pool, "exact < $1", BigDecimal::new(3_1875.into(), 4)).await;
    tell_ids(pool, "weight = $1", 2.5_f64).await;
    tell_ids(pool, "half = $1", 1.5_f32).await;
    tell_ids(pool, "open = $1", true).await;
    tell_ids(pool, "id + $1 > 102", 3_i64).await;
    tell_ids(pool, "coalesce(pieces, $1) = 5", 5_i32).await;
    let page =
        sqlx::query_scalar::<_, i64>("select id from orders order by id desc limit $1 offset $2");
    tell(
        "a page",
        page.bind(3_i64).bind(10_i64).fetch_all(pool).await,
    );
}

async fn tell_times(pool: &PgPool) {
    let day = NaiveDate::from_ymd_opt(2026, 1, 11).expect("a day");
    let noon = NaiveTime::from_hms_micro_opt(12, 0, 4, 123_456).expect("a time");
    let seen = NaiveDate::from_ymd_opt(2026, 1, 1)
        .expect("a day")
        .and_time(noon);
    tell_ids(pool, "day = $1", day).await;
    tell_ids(pool, "day > $1", day + Days::new(88)).await;
    tell_ids(pool, "seen = $1", seen).await;
    tell_ids(pool, "seen < $1", seen).await;
    tell_ids(pool, "placed <= $1", seen.and_utc()).await;
    tell_ids(pool, "placed > $1 + interval '6 days'", seen.and_utc()).await;
    tell_ids(
        pool,
        "at = $1",
        NaiveTime::from_hms_opt(10, 9, 0).expect("a time"),
    )
    .await;
    tell_ids(
        pool,
        "placed + $1 < '2026-01-01 06:00:00+00'",
        TimeDelta::minutes(90),
    )
    .await;
    type Times = (NaiveDate, NaiveDateTime, DateTime<Utc>, NaiveTime);
    let back =
        sqlx::query_as::<_, Times>("select $1::date, $2::timestamp, $3::timestamptz, $4::time");
    let back = back.bind(day).bind(seen).bind(seen.and_utc()).bind(noon);
    tell("times that come back", back.fetch_one(pool).await);
}

async fn tell_texts(pool: &PgPool) {
    tell_ids(pool, "customer = $1", "customer 4").await;
    tell_ids(pool, "customer like $1", "%er 5".to_owned()).await;
    tell_ids(pool, "code = $1", "abc").await;
    tell_ids(pool, "token = $1", Uuid::from_u128(9)).await;
    tell_ids(pool, "content = $1", vec![0_u8, 12]).await;
    tell_ids(pool, "extra ->> 'a' = $1", "8").await;
    tell_ids(pool, "extra -> 'a' = $1", Json(8)).await;
    tell_ids(pool, "$1::text is null", None::<String>).await;
    tell_ids(pool, "pieces is not distinct from $1", None::<i32>).await;
    tell_ids(pool, "pieces = $1", None::<i32>).await;
    let back = sqlx::query_as::<_, (String, Vec<u8>, Uuid, serde_json::Value)>(
        "select $1, $2::bytea, $3::uuid, $4::jsonb",
    );
    let json = serde_json::json!({"b": [1, null], "a": "x"});
    let back = back
        .bind("quote ' and 漢字")
        .bind(vec![0_u8, 255])
        .bind(Uuid::from_u128(1))
        .bind(json);
    tell("texts that come back", back.fetch_one(pool).await);
}

async fn tell_lists(pool: &PgPool) {
    tell_ids(pool, "id = any($1)", vec![3_i64, 5, 1000]).await;
    tell_ids(pool, "id = any($1)  -- none", Vec::<i64>::new()).await;
    tell_ids(pool, "line <> all($1)", vec![0_i16, 1, 2, 3]).await;
    tell_ids(
        pool,
        "customer = any($1)",
        ["customer 1", "customer 2"].as_slice(),
    )
    .await;
    tell_ids(
        pool,
        "token = any($1)",
        vec![Uuid::from_u128(4), Uuid::from_u128(6)],
    )
    .await;
    tell_ids(
        pool,
        "day = any($1)",
        vec![NaiveDate::from_ymd_opt(2026, 1, 3)],
    )
    .await;
    tell_ids(
        pool,
        "price = any($1)",
        vec![BigDecimal::new(125.into(), 2)],
    )
    .await;
    tell_ids(pool, "id in (select unnest($1::int8[]))", vec![2_i64, 4]).await;
    tell_ids(pool, "counts = $1", vec![Some(5_i32), None, Some(-5)]).await;
    tell_ids(pool, "$1 = any(tags)", "customer 12").await;
}

async fn tell_own_types(pool: &PgPool) {
    let ids = |sql: &'static str| sqlx::query_scalar::<_, i32>(sql);
    let equal = ids("select id from feelings where mood = $1").bind(Mood::Sad);
    tell("an enum as a parameter", equal.fetch_all(pool).await);
    let listed = ids("select id from feelings where mood = any($1) order by id");
    let listed = listed.bind(vec![Mood::Glad, Mood::Content]);
    tell("a list of enums", listed.fetch_all(pool).await);
    let text = ids("select id from feelings where mood::text = $1").bind("glad");
    tell("an enum compared as text", text.fetch_all(pool).await);
    let share = ids("select id from feelings where share > $1").bind(50_i32);
    tell("a domain as a parameter", share.fetch_all(pool).await);
}

/// A statement that is put together.
async fn tell_built(pool: &PgPool) {
    let mut built = QueryBuilder::<Postgres>::new("select id from orders where id in (");
    let mut values = built.separated(", ");
    for id in [1_i64, 3, 5] {
        values.push_bind(id);
    }
    built
        .push(") and open = ")
        .push_bind(false)
        .push(" order by id");
    tell(
        "a statement put together",
        built.build_query_scalar::<i64>().fetch_all(pool).await,
    );
    let mut pairs = QueryBuilder::<Postgres>::new("select id from orders where (line, pieces) in ");
    pairs.push_tuples(
        [(1_i16, 1000_i32), (2, 2000)],
        |mut pair, (line, pieces)| {
            pair.push_bind(line).push_bind(pieces);
        },
    );
    pairs.push(" order by id");
    tell(
        "pairs",
        pairs.build_query_scalar::<i64>().fetch_all(pool).await,
    );
}
