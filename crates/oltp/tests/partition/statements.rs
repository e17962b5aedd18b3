//! Statements that break a rule stop their transaction and change nothing.

use std::path::Path;
use std::sync::{Arc, Mutex};

use oltp::{
    Call, Columns, IndexId, Outcome, Partition, PartitionPlan, Procedure, ProcedureNumber,
    RowHandle, Stop, TableNumber, Transaction, Violation,
};
use sim::{SimulatedDisk, environment};
use types::Value;

use crate::script::{Kind, Operation, tables};
use crate::world::{execute, open, run};

fn operation(kind: Kind, id: i64, group: i64) -> Operation {
    Operation {
        kind,
        table: 0,
        id,
        group,
        text: None,
    }
}

#[test]
fn a_duplicate_undoes_what_came_before_it() {
    let mut partition = open(&SimulatedDisk::new(1), None, false).expect("nothing fails");
    run(&mut partition, &[operation(Kind::Insert, 1, 1)]).expect("committed");
    let transaction = [
        operation(Kind::Update, 1, 2),
        operation(Kind::Insert, 2, 1),
        operation(Kind::Delete, 1, 0),
        operation(Kind::Insert, 1, 3),
        operation(Kind::Insert, 2, 5),
    ];
    let (outcome, _) = execute(&mut partition, &transaction);
    let Outcome::Stopped(Stop::Violation(Violation::Duplicate { index })) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!((index.table.0, index.index), (0, 0));
    let reply = run(
        &mut partition,
        &[operation(Kind::Get, 1, 0), operation(Kind::Get, 2, 0)],
    );
    let reply = reply.expect("committed");
    assert_eq!(reply[8..16], 1_i64.to_le_bytes(), "the row is as it was");
    assert_eq!(reply.len(), 24 + 2);
}

#[test]
fn a_value_beyond_its_column_is_refused() {
    let mut partition = open(&SimulatedDisk::new(1), None, false).expect("nothing fails");
    let (outcome, _) = execute(&mut partition, &[operation(Kind::Insert, 1, 1 << 40)]);
    let expected = Stop::Violation(Violation::Type { column: 1 });
    assert_eq!(outcome, Outcome::Stopped(expected));
}

/// Keeps where it found a row from one call to the next, which it must not.
#[derive(Default)]
struct Keeper(Mutex<Option<RowHandle>>);

impl Procedure for Keeper {
    fn name(&self) -> &str {
        "keeper"
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        _: &[u8],
        _: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let mut kept = self.0.lock().expect("no panic");
        if let Some(row) = *kept {
            transaction.delete_row(row)?;
            transaction.execute()?;
            return Ok(());
        }
        let key = [Value::Int(1)];
        transaction.insert(TableNumber(0), &[key[0], Value::Int(1), Value::Null])?;
        transaction.execute()?;
        let get = transaction.get(IndexId::new(0, 0), &key, Columns::All)?;
        let row = transaction.execute()?.row(get).expect("it was added");
        *kept = Some(row.handle()?);
        Ok(())
    }
}

#[test]
fn a_row_is_changed_only_by_the_transaction_that_found_it() {
    let plan = PartitionPlan {
        tables: tables(),
        procedures: vec![Arc::new(Keeper::default())],
        anti_cache: None,
        has_log: false,
        feed: None,
    };
    let disk = SimulatedDisk::new(1);
    let opened = Partition::open(&environment(&disk), Path::new("/primary"), plan);
    let mut partition = opened.expect("nothing fails");
    let call = Call {
        procedure: ProcedureNumber(0),
        parameters: &[],
    };
    let outcome = partition.execute(call, &mut Vec::new());
    assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}");
    let outcome = partition.execute(call, &mut Vec::new());
    let expected = Stop::Violation(Violation::FoundElsewhere);
    assert_eq!(outcome, Outcome::Stopped(expected));
}
