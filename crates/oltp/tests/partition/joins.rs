//! Transactions that go from row to row while some of them are on disk: the suite's IndexJoin, and the paper's section
//! 3.3 on what one pre-pass can find.

use std::path::Path;
use std::sync::Arc;

use oltp::{
    AntiCacheOptions, Call, ColumnDefinition, Columns, IndexId, IndexKind, Outcome, Partition,
    PartitionPlan, Procedure, ProcedureNumber, Scan, Stop, TableDefinition, TableNumber,
    Transaction,
};
use sim::{SimulatedDisk, environment};
use types::{ColumnType, Value};

use crate::world::settle;

const ROWS: i64 = 400;

/// Customers that each line leads to, in no column of an index.
fn customer_of(line: i64) -> i64 {
    line * 7 % ROWS
}

fn read_i64(bytes: &[u8]) -> i64 {
    i64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

/// Adds a line and a customer.
struct Add;

/// Adds the customers' numbers of some lines up. The lines' keys are those of the customers.
struct JoinByKey;

/// The same with the customers that the lines name.
struct JoinByValue;

impl Procedure for Add {
    fn name(&self) -> &str {
        "add"
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        id: &[u8],
        _: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let (id, text) = (read_i64(id), Value::Bytes(&[b'x'; 200]));
        let values = [Value::Int(id), Value::Int(customer_of(id)), text];
        transaction.insert(TableNumber(0), &values)?;
        transaction.insert(TableNumber(1), &values)?;
        transaction.execute().map(drop)
    }
}

/// Lines from a number on.
fn lines(transaction: &mut Transaction<'_>, from: i64) -> Result<Vec<i64>, Stop> {
    let options = Scan {
        columns: Columns::OfKey,
        ..Scan::default()
    };
    let (from, to) = ([Value::Int(from)], [Value::Int(from + 9)]);
    let scan = transaction.scan(IndexId::new(0, 0), &from, &to, options)?;
    let batch = transaction.execute()?;
    batch.rows(scan).map(|row| row.int(0)).collect()
}

/// Appends the sum of the second columns of rows, or goes on with what is there of them.
fn sum(transaction: &mut Transaction<'_>, table: u16, ids: &[i64]) -> Result<Vec<i64>, Stop> {
    let mut gets = Vec::new();
    for id in ids {
        gets.push(transaction.get(IndexId::new(table, 0), &[Value::Int(*id)], Columns::All)?);
    }
    let batch = transaction.execute()?;
    let rows = gets.into_iter().filter_map(|get| batch.row(get));
    let in_memory = rows.filter(|row| !row.is_evicted());
    in_memory.map(|row| row.int(1)).collect()
}

impl Procedure for JoinByKey {
    fn name(&self) -> &str {
        "join by key"
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        from: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let lines = lines(transaction, read_i64(from))?;
        let named: i64 = sum(transaction, 0, &lines)?.iter().sum();
        let customers: i64 = sum(transaction, 1, &lines)?.iter().sum();
        reply.extend_from_slice(&(named + customers).to_le_bytes());
        Ok(())
    }
}

impl Procedure for JoinByValue {
    fn name(&self) -> &str {
        "join by value"
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        from: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let lines = lines(transaction, read_i64(from))?;
        let named = sum(transaction, 0, &lines)?;
        let customers: i64 = sum(transaction, 1, &named)?.iter().sum();
        reply.extend_from_slice(&customers.to_le_bytes());
        Ok(())
    }
}

fn filled(restarts_max: u32, fetched_bytes_max: usize) -> Partition {
    let table = |name: &str| {
        let columns = vec![
            ColumnDefinition::new("id", ColumnType::Int64),
            ColumnDefinition::new("customer", ColumnType::Int64),
            ColumnDefinition::new("text", ColumnType::Bytes),
        ];
        TableDefinition::new(name, columns).index(IndexKind::Ordered, true, &[0])
    };
    let plan = PartitionPlan {
        tables: vec![table("lines"), table("customers")],
        procedures: vec![Arc::new(Add), Arc::new(JoinByKey), Arc::new(JoinByValue)],
        anti_cache: Some(AntiCacheOptions {
            block_bytes: 2_048,
            blocks_per_file: 4,
            buffers_max: 4,
            restarts_max,
            fetched_bytes_max,
            ..AntiCacheOptions::new(96 << 10)
        }),
        has_log: false,
        feed: None,
    };
    let disk = SimulatedDisk::new(1);
    let opened = Partition::open(&environment(&disk), Path::new("/primary"), plan);
    let mut partition = opened.expect("nothing fails");
    for id in 0..ROWS {
        run(&mut partition, 0, id);
    }
    let tables = partition.table_statistics();
    assert!(
        tables.iter().all(|table| table.rows_evicted > 100),
        "{tables:?}"
    );
    partition
}

fn run(partition: &mut Partition, procedure: u16, id: i64) -> Vec<u8> {
    let (outcome, reply) = end(partition, procedure, id);
    assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}");
    reply
}

/// Runs a call to its end, whatever that is.
fn end(partition: &mut Partition, procedure: u16, id: i64) -> (Outcome, Vec<u8>) {
    let (mut reply, parameters) = (Vec::new(), id.to_le_bytes());
    let call = Call {
        procedure: ProcedureNumber(procedure),
        parameters: &parameters,
    };
    let outcome = partition.execute(call, &mut reply);
    let mut completed = settle(partition);
    match outcome {
        Outcome::Waiting(_) => {
            let completion = completed.pop().expect("it has ended");
            (completion.outcome, completion.reply)
        }
        ended => (ended, reply),
    }
}

/// What the indexes lead to is found in one pre-pass, in both tables.
#[test]
fn a_join_by_keys_runs_again_once() {
    let mut partition = filled(8, usize::MAX);
    let reply = run(&mut partition, 1, 20);
    let expected: i64 = (20..30).map(|line| 2 * customer_of(line)).sum();
    assert_eq!(reply, expected.to_le_bytes());
    assert_eq!(partition.statistics().procedures[1].restarts, 1);
}

/// What only an evicted row's value leads to takes one more run: then all is there.
#[test]
fn a_join_by_evicted_values_runs_again_twice() {
    let mut partition = filled(8, usize::MAX);
    let reply = run(&mut partition, 2, 20);
    let expected: i64 = (20..30).map(|line| customer_of(customer_of(line))).sum();
    assert_eq!(reply, expected.to_le_bytes());
    let [_, by_key, by_value] = &partition.statistics().procedures[..] else {
        panic!("three procedures");
    };
    assert_eq!((by_key.restarts, by_value.restarts), (0, 2));
    assert_eq!((by_value.committed, by_value.stopped), (1, 0));
}

/// What a call has fetched before counts, also when it waits for the disk itself in the end.
#[test]
fn a_join_that_needs_too_much_is_stopped() {
    for restarts_max in [8, 0] {
        // A row takes about 230 bytes of a block: ten have room, twenty have not.
        let mut partition = filled(restarts_max, 15 * 230);
        let (outcome, reply) = end(&mut partition, 2, 20);
        let Outcome::Stopped(Stop::TooMuchEvicted { bytes, most }) = outcome else {
            panic!("{outcome:?}");
        };
        assert!(bytes > most && reply.is_empty());
        let fetches = partition.anti_cache_statistics().blocking_fetches;
        assert_eq!(fetches > 0, restarts_max == 0, "{fetches}");
        run(&mut partition, 0, ROWS);
        assert_eq!(partition.waiting(), 0);
    }
}
