//! A second reading of a PostgreSQL's log, to hold a replica's snapshots against.
//!
//! 1. A slot of its own, with the output plugin `test_decoding`, that nothing of the product reads or writes.
//!    It tells where a commit's record ends, but a replica is at a commit where that begins: a second slot,
//!    with `pgoutput`, tells both.
//! 2. While no transaction is open the rows of all tables are taken from the source: the beginning.
//! 3. Snapshots of the replica are taken whenever one likes, with the position that it names ([`Sample`]).
//! 4. The slot's transactions are carried out in the order of their commits ([`state`]). Each sample has to
//!    hold exactly the rows of those that had committed by its position.
//!
//! The log does not tell changes of the schema: they are followed by a new beginning.

mod change;
mod state;

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, Result, ensure};
use postgres::{Client, SimpleQueryMessage, SimpleQueryRow};
use types::CommitPosition;

use self::change::{Change, Row, brief};
use self::state::{State, text_of};
use crate::hedgerow_process::position_of;

/// How a table is refused whose copy is not complete.
const BEING_COPIED: &str = "is still being copied";

/// What a replica showed in one snapshot.
#[derive(Debug)]
pub struct Sample {
    position: CommitPosition,
    /// The rows of each table, as [`text_of`] shows them, in order.
    tables: BTreeMap<String, Vec<String>>,
}

impl Sample {
    /// Reads these tables, whole, in one snapshot. There is none while one of them is being copied.
    pub fn of(replica: &mut Client, tables: &[String]) -> Result<Option<Self>> {
        let is_being_copied = |error: &anyhow::Error| {
            let error = error.downcast_ref::<postgres::Error>();
            let told = error.and_then(postgres::Error::as_db_error);
            told.is_some_and(|told| told.message().ends_with(BEING_COPIED))
        };
        match Self::read(replica, tables) {
            Err(error) if is_being_copied(&error) => Ok(None),
            sample => sample.map(Some),
        }
    }

    fn read(replica: &mut Client, tables: &[String]) -> Result<Self> {
        replica.batch_execute(
            "set timezone = 'UTC'; begin transaction isolation level repeatable read read only",
        )?;
        let position = position_of(replica)?;
        let rows_of = |table: &String| -> Result<(String, Vec<String>)> {
            Ok((
                table.clone(),
                texts(replica, &format!("select * from {table}"))?,
            ))
        };
        let tables = tables.iter().map(rows_of).collect::<Result<_>>()?;
        replica.batch_execute("commit")?;
        Ok(Self { position, tables })
    }

    /// Compares the tables with what the log says.
    fn ensure_equal(&self, state: &State) -> Result<()> {
        for (table, rows) in &self.tables {
            let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
            let told = state.rows(table);
            ensure!(
                rows == told,
                "{table} at {}: {} rows, the log tells {}; only here: {:?}; only there: {:?}",
                self.position,
                rows.len(),
                told.len(),
                only_in(&rows, &told),
                only_in(&told, &rows),
            );
        }
        Ok(())
    }
}

/// Some rows that one side has, and the other one has not.
fn only_in<'a>(rows: &[&'a str], others: &[&str]) -> Vec<&'a str> {
    const SHOWN: usize = 3;
    let missing = rows.iter().filter(|row| others.binary_search(row).is_err());
    missing.take(SHOWN).copied().collect()
}

/// The log, read a second time.
pub struct LogReading {
    source: Client,
    state: State,
    /// Whether the state is that of a position up to which the log was read, and the schema is still the same.
    is_begun: bool,
    samples: Vec<Sample>,
    /// Samples that were judged.
    pub judged: u64,
}

/// The slot that tells changes.
const SLOT: &str = "testbed_log_reading";
/// The slot that tells where commits begin, and its publication.
const COMMITS: &str = "testbed_commits";

impl LogReading {
    /// Makes the slots, by a connection that only this uses.
    pub fn of(mut source: Client) -> Result<Self> {
        source.batch_execute("set timezone = 'UTC'")?;
        // PostgreSQL 18.0 ends with a signal when it spills a transaction for test_decoding that has been rolled
        // back: it tells the plugin of the end of a stream that never began. So nothing is spilled here.
        source.batch_execute("set logical_decoding_work_mem = '1GB'")?;
        source.batch_execute(&format!("create publication {COMMITS} for all tables"))?;
        for (slot, plugin) in [(SLOT, "test_decoding"), (COMMITS, "pgoutput")] {
            let create = "select pg_create_logical_replication_slot";
            source.batch_execute(&format!("{create}('{slot}', '{plugin}')"))?;
        }
        Ok(Self {
            source,
            state: State::default(),
            is_begun: false,
            samples: Vec::new(),
            judged: 0,
        })
    }

    /// Begins with these tables as they are; no transaction is open. All samples have been judged.
    pub fn begin(&mut self, tables: &[String]) -> Result<()> {
        self.transactions()?;
        self.state = State::of(tables, self.partitions()?);
        for table in tables {
            // Rows are told by the partition that they are in.
            let query = format!("select tableoid::regclass as its_table, * from {table}");
            for mut row in rows(&mut self.source, &query)? {
                let its_table = row.remove("its_table").flatten();
                self.state.insert(its_table.context("no table")?, row)?;
            }
        }
        self.is_begun = true;
        Ok(())
    }

    /// Partitions that have rows of their own, and their tables.
    fn partitions(&mut self) -> Result<HashMap<String, String>> {
        let query = "select c.oid::regclass, inhparent::regclass from pg_inherits
                     join pg_class c on c.oid = inhrelid where relkind = 'r'";
        let mut partitions = HashMap::new();
        for message in self.source.simple_query(query)? {
            if let SimpleQueryMessage::Row(row) = message {
                let name = |index| row.get(index).unwrap_or_default().to_owned();
                partitions.insert(name(0), name(1));
            }
        }
        Ok(partitions)
    }

    /// The schema is about to change: what is known is judged, and nothing more until the next beginning.
    pub fn suspend(&mut self) -> Result<()> {
        self.judge()?;
        self.is_begun = false;
        Ok(())
    }

    /// Whether samples can be judged now.
    pub fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Takes a sample, to be judged.
    pub fn add(&mut self, sample: Sample) {
        self.samples.push(sample);
    }

    /// Reads the log up to now, and judges the samples. All of their positions are in the past.
    pub fn judge(&mut self) -> Result<()> {
        if !self.is_begun {
            return Ok(());
        }
        self.samples.sort_by_key(|sample| sample.position);
        let mut samples = std::mem::take(&mut self.samples).into_iter().peekable();
        for (position, changes) in self.transactions()? {
            while let Some(sample) = samples.next_if(|sample| sample.position < position) {
                self.judge_one(&sample)?;
            }
            for change in changes {
                let applied = self.state.apply(change);
                applied.with_context(|| format!("in the transaction of {position}"))?;
            }
        }
        samples.try_for_each(|sample| self.judge_one(&sample))
    }

    fn judge_one(&mut self, sample: &Sample) -> Result<()> {
        self.judged += 1;
        sample.ensure_equal(&self.state)
    }

    /// What the slots have not told yet: the changes of each transaction, with the beginning of its commit.
    fn transactions(&mut self) -> Result<Vec<(CommitPosition, Vec<Change>)>> {
        let commits = self.commits()?;
        // Messages that no table is changed by only fill the log.
        let query = format!(
            "select lsn, data from pg_logical_slot_get_changes('{SLOT}', null, null)
             where data not like 'message: %'"
        );
        let mut transactions = Vec::new();
        let mut changes = Vec::new();
        for message in self.source.simple_query(&query)? {
            let SimpleQueryMessage::Row(row) = message else {
                continue;
            };
            let cell = |index| row.get(index).context("a NULL in the log");
            match Change::read(cell(1)?)? {
                Change::Begin => {}
                // One without changes is told by one of the slots only.
                Change::Commit if changes.is_empty() => {}
                Change::Commit => {
                    let begin = commits.get(&cell(0)?.parse()?);
                    let begin = *begin.context("the slots tell different commits")?;
                    transactions.push((begin, std::mem::take(&mut changes)));
                }
                change => changes.push(change),
            }
        }
        Ok(transactions)
    }

    /// Where each commit's record ends, and where it begins.
    fn commits(&mut self) -> Result<HashMap<CommitPosition, CommitPosition>> {
        // A commit message: 'C', a byte of flags, the beginning, the end, the time.
        let query = format!(
            "select ('x' || encode(substring(data from 3 for 8), 'hex'))::bit(64)::bigint,
                    ('x' || encode(substring(data from 11 for 8), 'hex'))::bit(64)::bigint
             from pg_logical_slot_get_binary_changes('{COMMITS}', null, null,
                    'proto_version', '1', 'publication_names', '{COMMITS}')
             where get_byte(data, 0) = ascii('C')"
        );
        let rows = self.source.query(&query, &[])?;
        let position = |number: i64| CommitPosition(number.unsigned_abs());
        let commits = rows
            .iter()
            .map(|row| (position(row.get(1)), position(row.get(0))));
        Ok(commits.collect())
    }
}

/// The rows that a query gives, values as texts.
fn rows(client: &mut Client, query: &str) -> Result<Vec<Row>> {
    let row_of = |row: &SimpleQueryRow| -> Row {
        let columns = row.columns().iter().enumerate();
        columns
            .map(|(index, column)| {
                let value = row.get(index).map(|value| brief(value).into_owned());
                (column.name().to_owned(), value)
            })
            .collect()
    };
    Ok(answer(client, query)?.iter().map(row_of).collect())
}

/// The rows that a query gives, as [`text_of`] shows them, in order.
fn texts(client: &mut Client, query: &str) -> Result<Vec<String>> {
    let rows = answer(client, query)?;
    let Some(first) = rows.first() else {
        return Ok(Vec::new());
    };
    let names = first.columns().iter().map(|column| column.name());
    let mut columns: Vec<(&str, usize)> = names.zip(0..).collect();
    columns.sort_unstable();
    let text = |row: &SimpleQueryRow| {
        let values: Vec<_> = columns
            .iter()
            .map(|(_, index)| row.get(*index).map(brief))
            .collect();
        let names = columns.iter().map(|(name, _)| *name);
        text_of(names.zip(values.iter().map(Option::as_deref)))
    };
    let mut texts: Vec<String> = rows.iter().map(text).collect();
    texts.sort_unstable();
    Ok(texts)
}

fn answer(client: &mut Client, query: &str) -> Result<Vec<SimpleQueryRow>> {
    let messages = client
        .simple_query(query)
        .with_context(|| query.to_owned())?;
    let rows = messages.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    Ok(rows.collect())
}
