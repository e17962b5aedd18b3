//! Procedures that panic, that log much, and that use their numbers as keys.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use oltp::{
    Call, ColumnDefinition, IndexKind, Outcome, Partition, PartitionNumber, PartitionPlan,
    PartitionSet, Primary, Procedure, ProcedureNumber, Refusal, Stop, TableDefinition, TableNumber,
    Transaction,
};
use sim::{SimulatedDisk, environment};
use types::{ColumnType, Value};

use crate::world::settle;

const PARTITIONS: u16 = 3;

/// Inserts the number of its transaction in each partition that its first bytes name, up to a 255. If
/// that is the last byte it panics then.
struct Note;

fn named(parameters: &[u8]) -> impl Iterator<Item = u8> {
    parameters.iter().copied().take_while(|byte| *byte != 255)
}

impl Procedure for Note {
    fn name(&self) -> &str {
        "note"
    }

    fn partitions(&self, parameters: &[u8], partitions: u16) -> PartitionSet {
        let numbers =
            named(parameters).map(|number| PartitionNumber(u16::from(number) % partitions));
        let sets = numbers.map(PartitionSet::only);
        let both = |a: PartitionSet, b: PartitionSet| a.with(b.first());
        sets.reduce(both).expect("it names one")
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        parameters: &[u8],
        _: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let partitions = transaction.partitions();
        let number = transaction.number() as i64;
        for partition in self.partitions(parameters, partitions).iter() {
            let there = transaction.on(partition)?;
            there.insert(TableNumber(0), &[Value::Int(number)])?;
            there.execute()?;
        }
        assert!(parameters.last() != Some(&255), "this call is to panic");
        Ok(())
    }
}

fn plan() -> PartitionPlan {
    let columns = vec![ColumnDefinition::new("number", ColumnType::Int64)];
    PartitionPlan {
        tables: vec![TableDefinition::new("notes", columns).index(IndexKind::Ordered, true, &[0])],
        procedures: vec![Arc::new(Note)],
        anti_cache: None,
        has_log: true,
        feed: None,
    }
}

fn call(parameters: &[u8]) -> Call<'_> {
    Call {
        procedure: ProcedureNumber(0),
        parameters,
    }
}

fn primary(disk: &SimulatedDisk, partitions: u16) -> Primary {
    let folder = Path::new("/primary");
    let opened = Primary::open(&environment(disk), folder, &plan(), partitions);
    opened.expect("nothing fails")
}

fn commit(primary: &Primary, parameters: &[u8]) {
    let outcome = primary.execute(call(parameters), &mut Vec::new());
    assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}");
}

fn make_durable(primary: &Primary) {
    let writer = primary.log_writer().expect("it has a log");
    for _ in 0..3 {
        let polled = primary.poll(PartitionNumber(0), &mut Vec::new());
        polled.expect("nothing fails");
        writer.write().expect("nothing fails");
    }
}

fn notes(primary: &Primary, partitions: u16) -> Vec<usize> {
    let rows = |partition: &Partition| partition.table_statistics()[0].rows_in_memory;
    let partitions = (0..partitions).map(PartitionNumber);
    partitions.map(|p| primary.look(p, rows)).collect()
}

/// What a procedure did before it panicked is in no partition, and does not come with the next call.
#[test]
fn a_panic_leaves_nothing_behind() {
    let disk = SimulatedDisk::new(1);
    let primary_of_three = primary(&disk, PARTITIONS);
    commit(&primary_of_three, &[0]);
    for parameters in [&[1, 2, 255][..], &[0, 255]] {
        let panicking = || primary_of_three.execute(call(parameters), &mut Vec::new());
        assert!(catch_unwind(AssertUnwindSafe(panicking)).is_err());
    }
    assert_eq!(notes(&primary_of_three, PARTITIONS), [1, 0, 0]);
    commit(&primary_of_three, &[1]);
    commit(&primary_of_three, &[0, 2]);
    assert_eq!(notes(&primary_of_three, PARTITIONS), [2, 1, 1]);
    make_durable(&primary_of_three);
    drop(primary_of_three);
    let again = primary(&disk, PARTITIONS);
    assert_eq!(notes(&again, PARTITIONS), [2, 1, 1]);
}

/// No two transactions have one number, whatever partitions they name; so their rows have room beside
/// one another when there are fewer partitions, or more and then fewer.
#[test]
fn numbers_of_transactions_come_once() {
    let disk = SimulatedDisk::new(1);
    for (times, partitions) in [PARTITIONS, 2, 7, 1].into_iter().enumerate() {
        let primary = primary(&disk, partitions);
        let all: usize = notes(&primary, partitions).iter().sum();
        assert_eq!(all, times * 50);
        for step in 0..50 {
            commit(&primary, &[step % 7]);
        }
        make_durable(&primary);
    }
    assert_eq!(notes(&primary(&disk, 1), 1), [4 * 50]);
}

/// When the log's writer stands still, calls are refused before the log fills the memory; what was
/// admitted is durable when it goes on.
#[test]
fn a_log_that_is_not_written_refuses_calls() {
    let disk = SimulatedDisk::new(1);
    let open = || Partition::open(&environment(&disk), Path::new("/primary"), plan());
    let mut partition = open().expect("nothing fails");
    let mut parameters = vec![0; 8 << 20];
    let mut committed = 0;
    loop {
        match partition.execute(call(&parameters), &mut Vec::new()) {
            Outcome::Committed(_) => committed += 1,
            Outcome::Refused(refusal) => break assert_eq!(refusal, Refusal::LogBehind),
            other => panic!("{other:?}"),
        }
        partition.poll(&mut Vec::new()).expect("nothing fails");
        assert!(committed < 20, "the log has no bound");
    }
    assert!(partition.memory().live_bytes > committed * parameters.len());
    settle(&mut partition);
    assert!(
        partition.memory().live_bytes < parameters.len(),
        "it was given back"
    );
    let outcome = partition.execute(call(&parameters), &mut Vec::new());
    assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}");
    parameters.resize(17 << 20, 0);
    let outcome = partition.execute(call(&parameters), &mut Vec::new());
    assert_eq!(outcome, Outcome::Refused(Refusal::ParametersTooLong));
    settle(&mut partition);
    let position = partition.position();
    drop(partition);
    assert_eq!(open().expect("whole").position(), position);
}
