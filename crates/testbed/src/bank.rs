//! pgbench's four sums: the invariant that any torn or skewed read breaks.
//!
//! Each pgbench transaction adds one amount to an account, a teller, a branch and the history,
//! so at every commit position the four sums are equal; a reader that mixes two positions sees
//! them differ.

use anyhow::{Context, Result, bail};
use postgres::{Client, SimpleQueryMessage};

/// The four sums, in one statement.
pub const SUMS: &str = "select (select sum(abalance) from pgbench_accounts), \
     (select sum(tbalance) from pgbench_tellers), \
     (select sum(bbalance) from pgbench_branches), \
     (select coalesce(sum(delta),0) from pgbench_history)";

/// One answer: the four sums as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sums(pub [String; 4]);

impl Sums {
    /// Asks for the sums.
    pub fn ask(client: &mut Client) -> Result<Self, postgres::Error> {
        let messages = client.simple_query(SUMS)?;
        let row = messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        // A statement without FROM has one row; an empty answer cannot be equal sums.
        let cell = |index| {
            row.and_then(|row| row.get(index))
                .unwrap_or("no value")
                .to_owned()
        };
        Ok(Self([cell(0), cell(1), cell(2), cell(3)]))
    }

    /// Whether this can be one commit position's state.
    pub fn equal(&self) -> bool {
        let [first, rest @ ..] = &self.0;
        first != "no value" && rest.iter().all(|sum| sum == first)
    }

    /// An error that shows the sums unless they are equal.
    pub fn ensure_equal(&self) -> Result<()> {
        if !self.equal() {
            bail!("the four sums differ: {}", self.0.join(", "));
        }
        Ok(())
    }
}

/// The single value of a query's single row, as text.
pub fn single_value(client: &mut Client, query: &str) -> Result<String> {
    let messages = client
        .simple_query(query)
        .with_context(|| format!("refused: {query}"))?;
    let value = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("NULL").to_owned()),
        _ => None,
    });
    value.with_context(|| format!("no row: {query}"))
}
