//! Transactions at the source: transfers between accounts, and appends to lists, across crashes of its server.
//!
//! A transaction is one message: it reads the ends of lists, moves money, sometimes undoes something, waits
//! now and then so that others overtake it, and appends to up to three lists. One in twenty is rolled back.
//! All lock in one order: accounts, then lists; what is undone may deadlock, which is a rollback like others.
//!
//! The lists that are appended to change as time goes on, so that none grows without bound.

use std::fmt::Write;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use postgres::{Client, NoTls, SimpleQueryMessage};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::bank::Bank;
use crate::list_append::{Element, List, Lists, Session, Transaction};

/// Tables of lists.
pub const TABLES: u32 = 8;
/// Lists of a table that are appended to at a time.
const KEYS: i64 = 4;
/// After so many elements the next lists are begun: about 60 in each.
const ELEMENTS_A_GENERATION: i64 = 2_000;

/// The statements that make the tables of lists, and the clock that is followed to tell the lag.
pub fn setup() -> String {
    let table = |number| {
        format!("create table list_{number} (key bigint primary key, items bigint[] not null);")
    };
    let tables: String = (0..TABLES).map(table).collect();
    format!(
        "{tables} create table tick (id int primary key, at timestamptz not null);
         insert into tick values (1, clock_timestamp())"
    )
}

/// Ends the life of all lists.
pub fn empty_lists(source: &mut Client) -> Result<()> {
    let tables: Vec<String> = (0..TABLES).map(|table| format!("list_{table}")).collect();
    Ok(source.batch_execute(&format!("truncate {}", tables.join(", ")))?)
}

/// The lists of these tables whose keys are at least `first`.
pub fn read_lists(
    client: &mut Client,
    tables: &[u32],
    first: i64,
) -> Result<Lists, postgres::Error> {
    let mut lists = Lists::new();
    for &table in tables {
        let query = format!("select key, items from list_{table} where key >= {first}");
        for message in client.simple_query(&query)? {
            if let SimpleQueryMessage::Row(row) = message {
                let key = row.get(0).and_then(|key| key.parse().ok());
                let list = List {
                    table,
                    key: key.unwrap_or(i64::MIN),
                };
                lists.insert(list, elements(row.get(1).unwrap_or_default()));
            }
        }
    }
    Ok(lists)
}

/// The elements of an array's text; what is no number is [`i64::MIN`], which nobody appends.
fn elements(array: &str) -> Vec<Element> {
    let inside = array.trim_matches(['{', '}']);
    let parts = inside.split(',').filter(|part| !part.is_empty());
    parts.map(|part| part.parse().unwrap_or(i64::MIN)).collect()
}

/// Numbers the elements, and says which lists are appended to.
#[derive(Debug, Default)]
pub struct Elements(AtomicI64);

impl Elements {
    fn next(&self) -> Element {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    /// The keys of the lists that are appended to now.
    pub fn keys(&self) -> Range<i64> {
        let generation = self.0.load(Ordering::Relaxed) / ELEMENTS_A_GENERATION;
        generation * KEYS..(generation + 1) * KEYS
    }
}

/// What all sessions have in common.
pub struct Load<'a> {
    pub url: String,
    pub bank: Bank,
    pub elements: &'a Elements,
    /// Between the transactions of one session.
    pub pause: Duration,
    pub seed: u64,
}

impl Load<'_> {
    /// Runs transactions of one session until told that it is over.
    pub fn run(&self, session: u64, over: &AtomicBool) -> Session {
        let mut random = StdRng::seed_from_u64(self.seed ^ session);
        let mut done = Session::new();
        connected(&self.url, over, |client| {
            let begun = Instant::now();
            done.push(self.transaction(client, &mut random)?);
            thread::sleep(self.pause.saturating_sub(begun.elapsed()));
            Ok(())
        });
        done
    }

    /// One transaction, however it ends. An error says that it cannot be rolled back.
    fn transaction(
        &self,
        client: &mut Client,
        random: &mut StdRng,
    ) -> Result<Transaction, postgres::Error> {
        let (sql, appends) = self.draft(random);
        let answer = client.simple_query(&sql);
        if answer.is_err() && !client.is_closed() {
            client.simple_query("rollback")?;
        }
        let read = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
            _ => None,
        };
        Ok(Transaction {
            is_acknowledged: answer.is_ok() && sql.ends_with("commit"),
            reads: answer.iter().flatten().filter_map(read).collect(),
            appends,
        })
    }

    /// The text of a transaction, and what it appends.
    fn draft(&self, random: &mut StdRng) -> (String, Vec<(List, Element)>) {
        let keys = self.elements.keys();
        let mut list = || List {
            table: random.random_range(0..TABLES),
            key: random.random_range(keys.clone()),
        };
        let (read, undone, mut appended) = (list(), list(), vec![list(), list(), list()]);
        appended.truncate(random.random_range(1..=3));
        appended.sort_unstable();
        appended.dedup();
        let appends: Vec<_> = appended
            .into_iter()
            .map(|list| (list, self.elements.next()))
            .collect();

        let mut sql = format!(
            "begin; select items[cardinality(items)] from list_{} where key = {}",
            read.table, read.key
        );
        for update in self.bank.transfer(random) {
            write!(sql, "; {update}").expect("a text");
        }
        if random.random_bool(0.1) {
            let [update, _] = self.bank.transfer(random);
            let append = append(undone, -1);
            write!(sql, "; savepoint s; {update}; {append}; rollback to s").expect("a text");
        }
        if random.random_bool(0.05) {
            // Nothing of it is a row, so that it is no element that was read.
            sql.push_str("; do $$ begin perform pg_sleep(0.02); end $$");
        }
        for (list, element) in &appends {
            write!(sql, "; {}", append(*list, *element)).expect("a text");
        }
        let end = if random.random_bool(0.05) {
            "rollback"
        } else {
            "commit"
        };
        (format!("{sql}; {end}"), appends)
    }
}

fn append(list: List, element: Element) -> String {
    let List { table, key } = list;
    format!(
        "insert into list_{table} values ({key}, array[{element}]) on conflict (key)
         do update set items = list_{table}.items || excluded.items"
    )
}

/// Keeps the clock going, ten times a second.
pub fn tick(url: &str, over: &AtomicBool) {
    connected(url, over, |client| {
        client.simple_query("update tick set at = clock_timestamp()")?;
        thread::sleep(Duration::from_millis(100));
        Ok(())
    });
}

/// Does `work` again and again, connecting anew whenever the connection is lost.
fn connected(
    url: &str,
    over: &AtomicBool,
    mut work: impl FnMut(&mut Client) -> Result<(), postgres::Error>,
) {
    while !over.load(Ordering::SeqCst) {
        if let Ok(mut client) = Client::connect(url, NoTls) {
            let goes_on = |client: &Client| !over.load(Ordering::SeqCst) && !client.is_closed();
            while goes_on(&client) && work(&mut client).is_ok() {}
        }
        // A crashed server takes a moment to recover.
        thread::sleep(Duration::from_millis(100));
    }
}

/// All lists, as a server has them.
pub fn all_lists(client: &mut Client) -> Result<Lists> {
    let tables: Vec<u32> = (0..TABLES).collect();
    read_lists(client, &tables, 0).context("could not read the lists")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_read() {
        assert_eq!(elements("{1,22,3}"), [1, 22, 3]);
        assert_eq!(elements("{}"), Vec::<i64>::new());
        assert_eq!(elements("{1,NULL}"), [1, i64::MIN]);
    }
}
