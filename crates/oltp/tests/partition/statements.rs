//! Statements that break a rule stop their transaction and change nothing.

use oltp::{Outcome, Stop, Violation};
use sim::SimulatedDisk;

use crate::script::{Kind, Operation};
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
