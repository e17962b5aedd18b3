//! Lines that wait for their delivery, by the step at which it comes.
//!
//! A ring with one place a step, as no delivery is further away than [`DELIVERY_STEPS`]. It is
//! a function of the orders of the last two weeks, from which it is filled again after a restart.

use super::workload::{DELIVERY_STEPS, Order, Workload};

const PLACES: u64 = DELIVERY_STEPS + 1;

/// A line that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) order_step: u64,
    /// The line within its order, counted from 0.
    pub(crate) line: u64,
}

/// All lines that wait.
#[derive(Clone, Debug)]
pub(crate) struct Deliveries {
    workload: Workload,
    places: Vec<Vec<Due>>,
}

impl Deliveries {
    /// What waits when all steps before `step` have happened.
    pub(crate) fn before(workload: Workload, step: u64) -> Self {
        let mut deliveries = Self {
            workload,
            places: vec![Vec::new(); PLACES as usize],
        };
        for earlier in step.saturating_sub(DELIVERY_STEPS)..step {
            let order = workload.order(earlier);
            if !order.rolled_back {
                deliveries.schedule_from(&order, step);
            }
        }
        deliveries
    }

    /// Adds the lines of an order that has just been placed.
    pub(crate) fn schedule(&mut self, order: &Order) {
        self.schedule_from(order, order.step + 1);
    }

    /// Adds those lines of an order that are delivered at `first_step` or later.
    fn schedule_from(&mut self, order: &Order, first_step: u64) {
        for line in 0..self.workload.line_count(order.basket) {
            let step = self.workload.delivery_step(order.step, line);
            if step >= first_step {
                let place = &mut self.places[(step % PLACES) as usize];
                place.push(Due {
                    order_step: order.step,
                    line,
                });
            }
        }
    }

    /// Moves the lines that are due at `step` into `due`. Steps are taken one after the other.
    pub(crate) fn take(&mut self, step: u64, due: &mut Vec<Due>) {
        due.clear();
        due.append(&mut self.places[(step % PLACES) as usize]);
    }
}
