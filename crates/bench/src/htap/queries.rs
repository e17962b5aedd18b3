//! The 22 queries, and the asking of them back to back.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use postgres::Client;
use testbed::tpch::answers::Answer;

const TEXTS: &str = include_str!("queries.sql");
/// Columns that are averages or ratios, which are not defined to the last digit.
const INEXACT: [&str; 5] = [
    "avg_qty",
    "avg_amount",
    "mkt_share",
    "promo_revenue",
    "avg_yearly",
];

/// A query.
#[derive(Clone, Debug)]
pub struct Query {
    /// 1 to 22.
    pub number: u8,
    pub text: String,
}

impl Query {
    /// An error that names the first difference, unless both have the same rows.
    pub fn ensure_same(&self, mut answer: Answer, mut expected: Answer) -> Result<()> {
        // ORDER BY leaves the order of some rows open.
        answer.rows.sort_unstable();
        expected.rows.sort_unstable();
        answer.ensure_same_but_for(&expected, |column| INEXACT.contains(&column))
    }
}

/// All queries, in their order.
pub fn all() -> Result<Vec<Query>> {
    let (_, texts) = TEXTS.split_once("\n-- 1\n").context("no first query")?;
    let mut queries = Vec::new();
    let mut rest = Some(texts);
    while let Some(text) = rest {
        let number = u8::try_from(queries.len() + 1)?;
        let heading = format!("\n-- {}\n", number + 1);
        let (text, next) = match text.split_once(&heading) {
            Some((text, next)) => (text, Some(next)),
            None => (text, None),
        };
        rest = next;
        let text = text.trim().trim_end_matches(';').to_owned();
        queries.push(Query { number, text });
    }
    ensure!(queries.len() == 22, "{} queries", queries.len());
    Ok(queries)
}

/// What was asked.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Queries that were answered.
    pub count: usize,
    /// From the first to the last answer.
    pub seconds: f64,
    /// Milliseconds of each query, one for each set.
    pub times_ms: Vec<Vec<f64>>,
}

impl Asked {
    /// Queries a second.
    pub fn rate(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "some hundreds")]
        let count = self.count as f64;
        count / self.seconds
    }
}

/// Asks all queries in their order, again and again: whole sets, for so long at least.
pub fn ask_back_to_back(client: &mut Client, queries: &[Query], least: Duration) -> Result<Asked> {
    let started = Instant::now();
    let mut asked = Asked {
        times_ms: vec![Vec::new(); queries.len()],
        ..Asked::default()
    };
    while started.elapsed() < least || asked.count == 0 {
        for (query, times_ms) in queries.iter().zip(&mut asked.times_ms) {
            let began = Instant::now();
            client
                .simple_query(&query.text)
                .with_context(|| format!("query {}", query.number))?;
            times_ms.push(began.elapsed().as_secs_f64() * 1e3);
        }
        asked.count += queries.len();
    }
    asked.seconds = started.elapsed().as_secs_f64();
    Ok(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_22_texts_of_one_statement_each() {
        for query in all().unwrap() {
            assert!(
                !query.text.contains(';') && !query.text.contains("--"),
                "{query:?}"
            );
            assert!(query.text.starts_with("select") || query.text.starts_with("with"));
        }
    }
}
