//! A bank in eight tables: money moves between accounts of any two, and none is made or lost.
//!
//! A reader that mixes two positions, or sees half of a transaction, finds another total.

use anyhow::{Context, Result};
use postgres::{Client, SimpleQueryMessage};
use rand::Rng;

/// Tables of accounts.
pub const TABLES: u32 = 8;
/// What every account has at first.
const BALANCE: i64 = 1_000;

/// The balances of each table, in one statement.
pub fn sums_query() -> String {
    let sums = (0..TABLES).map(|table| format!("(select sum(balance) from account_{table})"));
    format!("select {}", sums.collect::<Vec<_>>().join(", "))
}

/// A bank.
#[derive(Clone, Copy, Debug)]
pub struct Bank {
    /// In each table.
    pub accounts: u32,
}

impl Bank {
    /// The statements that make the tables and fill them.
    pub fn setup(self) -> String {
        let table = |number| {
            format!(
                "create table account_{number} (id int primary key, balance bigint not null);
                 insert into account_{number} select i, {BALANCE} from generate_series(1, {}) i;",
                self.accounts
            )
        };
        (0..TABLES).map(table).collect()
    }

    /// The statements of a transfer, in the order in which all transfers lock accounts.
    pub fn transfer(self, random: &mut impl Rng) -> [String; 2] {
        let mut account = || {
            let table = random.random_range(0..TABLES);
            (table, random.random_range(1..=self.accounts))
        };
        let mut accounts = [account(), account()];
        accounts.sort_unstable();
        let amount = random.random_range(1..100);
        let [from, to] = accounts;
        [(from, -amount), (to, amount)].map(|((table, id), amount)| {
            format!("update account_{table} set balance = balance + {amount} where id = {id}")
        })
    }

    /// All the money there is.
    pub fn total(self) -> i64 {
        BALANCE * i64::from(self.accounts) * i64::from(TABLES)
    }
}

/// One answer: the sum of each table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sums(Vec<i64>);

impl Sums {
    /// Asks for the sums.
    pub fn ask(client: &mut Client) -> Result<Self> {
        let messages = client.simple_query(&sums_query())?;
        let row = messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let row = row.context("no sums")?;
        let sum = |index| Ok(row.get(index).context("a sum is NULL")?.parse()?);
        Ok(Self((0..row.len()).map(sum).collect::<Result<_>>()?))
    }

    /// All of them together: [`Bank::total`], at any one position.
    pub fn total(&self) -> i64 {
        self.0.iter().sum()
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
