//! Keys of text: an index has them in a form from which the texts cannot be told, so a procedure that
//! asks an evicted row for one has to come back.

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

const ROWS: u16 = 600;

/// Adds a name, given as the parameters.
struct Add;

/// Copies the first name from the parameters on to the other table.
struct Copy;

impl Procedure for Add {
    fn name(&self) -> &str {
        "add"
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        name: &[u8],
        _: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let row = [Value::Bytes(name), Value::Bytes(&[b'x'; 300])];
        transaction.insert(TableNumber(0), &row)?;
        transaction.execute().map(drop)
    }
}

impl Procedure for Copy {
    fn name(&self) -> &str {
        "copy"
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        from: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let options = Scan {
            columns: Columns::OfKey,
            rows_max: 1,
            ..Scan::default()
        };
        let key = [Value::Bytes(from)];
        let scan = transaction.scan(IndexId::new(0, 0), &key, &[Value::Bytes(b"z")], options)?;
        let row = transaction.execute()?.row(scan);
        let row = row.ok_or_else(|| Stop::Abort("no name".into()))?;
        reply.extend_from_slice(row.bytes(0)?);
        let copied = [Value::Bytes(reply)];
        transaction.insert(TableNumber(1), &copied)?;
        transaction.execute().map(drop)
    }
}

fn open(disk: &SimulatedDisk, restarts_max: u32) -> Partition {
    let names = vec![
        ColumnDefinition::new("name", ColumnType::Bytes),
        ColumnDefinition::new("more", ColumnType::Bytes),
    ];
    let copies = vec![ColumnDefinition::new("name", ColumnType::Bytes)];
    let names = TableDefinition::new("names", names).index(IndexKind::Ordered, true, &[0]);
    let copies = TableDefinition::new("copies", copies).index(IndexKind::Ordered, true, &[0]);
    let plan = PartitionPlan {
        tables: vec![names, copies.never_evicted()],
        procedures: vec![Arc::new(Add), Arc::new(Copy)],
        anti_cache: Some(AntiCacheOptions {
            block_bytes: 2_048,
            blocks_per_file: 4,
            buffers_max: 4,
            restarts_max,
            ..AntiCacheOptions::new(128 << 10)
        }),
        has_log: true,
        feed: None,
    };
    let opened = Partition::open(&environment(disk), Path::new("/primary"), plan);
    opened.expect("nothing fails")
}

fn run(partition: &mut Partition, procedure: u16, parameters: &[u8]) -> Vec<u8> {
    let mut reply = Vec::new();
    let call = Call {
        procedure: ProcedureNumber(procedure),
        parameters,
    };
    let outcome = partition.execute(call, &mut reply);
    let mut completed = settle(partition);
    let (outcome, reply) = match outcome {
        Outcome::Waiting(_) => {
            let completion = completed.pop().expect("it has ended");
            (completion.outcome, completion.reply)
        }
        ended => (ended, reply),
    };
    assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}");
    reply
}

fn name(number: u16) -> Vec<u8> {
    format!("name {number:04}").into_bytes()
}

/// The call has the text in the end, with and without restarts, and when it is replayed.
#[test]
fn a_text_of_an_evicted_key_is_fetched() {
    for restarts_max in [8, 0] {
        let disk = SimulatedDisk::new(1);
        let mut partition = open(&disk, restarts_max);
        for number in 0..ROWS {
            run(&mut partition, 0, &name(number));
        }
        let evicted = partition.table_statistics()[0].rows_evicted;
        assert!(evicted > usize::from(ROWS) / 2, "{evicted}");
        for number in (0..ROWS).step_by(29) {
            assert_eq!(run(&mut partition, 1, &name(number)), name(number));
        }
        let digests = partition.digests();
        drop(partition);
        assert_eq!(open(&disk, restarts_max).digests(), digests);
    }
}
