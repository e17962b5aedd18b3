//! Where things are in the log of the primary that takes the orders.
//!
//! Commands are numbered: command 0 fills the shop, command `step + 1` is a step of the workload. A step is
//! two transactions, the new order and the run that delivers what is due. A position is one transaction
//! that changed something, and an order that is rolled back has none. So the position of a command follows
//! from the number of orders before it that were not.

use types::CommitPosition;

use super::ledger::{Ledger, Totals};
use super::workload::Workload;

/// Where everything that the first `commands` commands did is visible.
pub fn position_after(workload: Workload, commands: u64) -> CommitPosition {
    CommitPosition(match commands.checked_sub(1) {
        None => 0,
        Some(steps) => 1 + steps + workload.committed_before(steps),
    })
}

/// The commands that a position covers: all of those with a smaller number have happened.
pub fn commands_at(workload: Workload, position: CommitPosition) -> u64 {
    // A step takes two positions or, if its order is rolled back, one: of a hundred steps a single one.
    let steps_min = position.0.saturating_sub(1) / 2;
    let mut commands = u64::from(position.0 > 0) + steps_min;
    let mut stride = 1 + steps_min / 50;
    while stride > 0 {
        if position_after(workload, commands + stride) <= position {
            commands += stride;
        } else {
            stride /= 2;
        }
    }
    commands
}

/// Whether the line `index` of a step's order has been delivered at `position`.
pub fn is_delivered(workload: Workload, step: u64, index: u64, position: CommitPosition) -> bool {
    let command = workload.delivery_step(step, index) + 1;
    position_after(workload, command + 1) <= position
}

/// Orders that have been placed, those that were rolled back among them, at a position.
pub fn orders_at(workload: Workload, position: CommitPosition) -> u64 {
    let commands = commands_at(workload, position);
    // Between the two transactions of a step its order has been placed.
    let is_between = position_after(workload, commands) < position;
    commands.saturating_sub(1) + u64::from(is_between)
}

/// What all tables hold at a position.
pub fn totals_at(workload: Workload, position: CommitPosition) -> Totals {
    Ledger::before(workload, orders_at(workload, position)).totals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_positions_are_each_others_inverse() {
        let workload = Workload::new(3);
        assert_eq!(commands_at(workload, CommitPosition(0)), 0);
        let mut before = CommitPosition(0);
        for commands in (1..1_000).chain(1_000_000..1_001_000) {
            let position = position_after(workload, commands);
            assert_eq!(commands_at(workload, position), commands);
            if commands != 1_000_000 && position.0 == before.0 + 2 {
                // Between the two transactions of a step only those before it have happened.
                let between = CommitPosition(before.0 + 1);
                assert_eq!(commands_at(workload, between), commands - 1);
                assert_eq!(orders_at(workload, between), commands - 1);
                assert_eq!(orders_at(workload, before), commands - 2);
            }
            before = position;
        }
    }
}
