//! Many queries in a row.

use std::fmt;

use anyhow::{Result, bail};
use postgres::Client;

use super::ask::{Outcome, ask};
use super::grammar::Query;
use super::judge::{Verdict, judge};
use super::written;

/// Differences that a report quotes.
const QUOTED_MAX: usize = 25;

/// What came of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// Queries asked.
    pub queries: u64,
    /// Of those, how many PostgreSQL answered with an error.
    pub errors: u64,
    /// How many Hedgerow refused as not supported.
    pub refused: u64,
    /// How many had different outcomes.
    pub different: u64,
    /// Some of the last two kinds: which query, its text and what is wrong.
    pub quoted: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} queries, {} of them errors at both; {} refused, {} different",
            self.queries, self.errors, self.refused, self.different
        )?;
        self.quoted
            .iter()
            .try_for_each(|quote| writeln!(f, "{quote}"))
    }
}

/// Asks both servers the queries of the seeds from `seed` on.
pub fn compare(
    postgres: &mut Client,
    hedgerow: &mut Client,
    seed: u64,
    queries: u64,
) -> Result<Report> {
    let queries = seed..seed + queries;
    let queries = queries.map(|seed| (format!("seed {seed}"), Query::of_seed(seed)));
    compare_all(postgres, hedgerow, queries)
}

/// Asks both servers the queries that are [`written`] down.
pub fn compare_written(postgres: &mut Client, hedgerow: &mut Client) -> Result<Report> {
    let queries = written::queries().into_iter().enumerate();
    let queries = queries.map(|(place, query)| (format!("query {}", place + 1), query));
    compare_all(postgres, hedgerow, queries)
}

fn compare_all(
    postgres: &mut Client,
    hedgerow: &mut Client,
    queries: impl Iterator<Item = (String, Query)>,
) -> Result<Report> {
    let mut report = Report::default();
    for (name, query) in queries {
        let expected = ask(postgres, &query.text);
        let found = ask(hedgerow, &query.text);
        if let Outcome::Failed { code, message } = &found
            && code.is_empty()
        {
            bail!("{name}: hedgerow is gone ({message}) after {}", query.text);
        }
        report.queries += 1;
        report.errors += u64::from(matches!(expected, Outcome::Failed { .. }));
        let (kind, difference) = match judge(&query, &expected, &found) {
            Verdict::Same => continue,
            Verdict::Refused(message) => {
                report.refused += 1;
                ("refused", message)
            }
            Verdict::Different(difference) => {
                report.different += 1;
                ("different", difference)
            }
        };
        if report.quoted.len() < QUOTED_MAX {
            let text = &query.text;
            report
                .quoted
                .push(format!("{name}, {kind}: {text}\n    {difference}"));
        }
    }
    Ok(report)
}
