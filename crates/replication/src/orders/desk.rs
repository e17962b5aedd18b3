//! The desk where orders are taken: calls the primary's procedures, step by step, at a pace.
//!
//! 1. It asks the shop which order is the next one, and fills a shop that is empty.
//! 2. For each step it submits the order, and then the run that delivers what is due. Some hundred steps are
//!    on their way at a time; the primary runs them one after another.
//! 3. It compares each answer with what the workload foretells, position by position, and adds up what the
//!    tables must hold.
//!
//! A crash between the two calls of a step leaves the order placed: then only the run is made up for.
//!
//! When the primary's memory is full of what cannot be evicted, the desk takes no more orders.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use env::Clock;
use oltp::parameters::{Reader, Writer};
use oltp::{ProcedureNumber, Refusal, Stop as Stopped};
use parking_lot::Mutex;
use types::CommitPosition;

use super::calls::{
    DELIVER, DeliveryRun, LOAD, LineKey, Lines, NewLine, NewOrder, PLACE_ORDER, SHOP_STATUS,
};
use super::deliveries::{Deliveries, Due};
use super::ledger::{Ledger, Totals};
use super::names::Names;
use super::pace::Pace;
use super::positions::position_after;
use super::workload::{Order, Workload};
use crate::primary::{Answer, CallError, Ended, Session};
use crate::source::Stop;

/// Steps whose answers may be outstanding. Two calls each, they fit into a session's queue.
const STEPS_ON_THEIR_WAY: usize = 256;
/// How often a paced desk looks what is due.
const TICK: Duration = Duration::from_millis(5);
/// How long to wait for an answer before looking whether to stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// What the desk is to do.
#[derive(Clone, Copy, Debug)]
pub struct OrderOptions {
    /// Which orders there are.
    pub seed: u64,
    /// Orders a second; `None`: as many as possible.
    pub rate: Option<f64>,
    /// Orders to place in this run, those that are rolled back among them; `None`: no end.
    pub orders: Option<u64>,
}

/// What a run has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Orders that committed.
    pub orders: u64,
    /// Orders that were rolled back.
    pub rolled_back: u64,
    /// Lines delivered.
    pub deliveries: u64,
    /// Rows that were added or changed.
    pub row_changes: u64,
}

/// How far the desk is, for whoever watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct OrderProgress {
    /// What this run has done.
    pub taken: Taken,
    /// What all tables hold when everything that was answered is visible.
    pub totals: Totals,
    /// Where everything that was answered is visible.
    pub position: CommitPosition,
    /// When the last answer came, by the desk's clock: from then on it is durable at the primary.
    pub answered_at: Duration,
    /// Whether the desk takes no more orders in this run.
    pub finished: bool,
    /// Whether that is because the primary's memory is full.
    pub is_full: bool,
}

/// The desk cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    /// The primary has ended.
    #[error(transparent)]
    Ended(#[from] Ended),
    /// The primary has answered otherwise than the workload foretells: a bug, or other data.
    #[error("the primary's answer to {call} is {found}, not {expected}")]
    Unexpected {
        /// What was called.
        call: String,
        /// What it answered.
        found: String,
        /// What it should have answered.
        expected: String,
    },
}

/// A call whose answer is outstanding.
enum Call {
    Place(Order),
    Deliver {
        step: u64,
        lines: u64,
        completed: u64,
    },
}

/// See the module.
pub struct OrderDesk {
    options: OrderOptions,
    workload: Workload,
    names: Names,
    clock: Arc<dyn Clock>,
    session: Session,
    progress: Arc<Mutex<OrderProgress>>,
    ledger: Ledger,
    deliveries: Deliveries,
    due: Vec<Due>,
    outstanding: VecDeque<Call>,
    next_step: u64,
    /// The order of this step may have been placed before a restart.
    first_step: u64,
    taken: Taken,
    is_full: bool,
}

impl OrderDesk {
    /// A desk that has taken nothing yet.
    pub fn new(options: OrderOptions, session: Session, clock: Arc<dyn Clock>) -> Self {
        let workload = Workload::new(options.seed);
        Self {
            options,
            workload,
            names: Names::new(workload.draw()),
            clock,
            session,
            progress: Arc::default(),
            ledger: Ledger::new(workload),
            deliveries: Deliveries::before(workload, 0),
            due: Vec::new(),
            outstanding: VecDeque::new(),
            next_step: 0,
            first_step: 0,
            taken: Taken::default(),
            is_full: false,
        }
    }

    /// The means to watch it, also once it runs.
    pub fn progress(&self) -> Arc<Mutex<OrderProgress>> {
        Arc::clone(&self.progress)
    }

    /// Takes orders until all have been taken, the memory is full, or it is told to stop.
    pub fn run(mut self, stop: &Stop) -> Result<(), DeskError> {
        if !self.begin(stop)? {
            return Ok(());
        }
        let end = self
            .options
            .orders
            .map_or(u64::MAX, |orders| self.next_step.saturating_add(orders));
        let mut pace = Pace::new(self.options.rate, &*self.clock);
        while !stop.is_set() && !self.is_full && self.next_step < end {
            let due = pace.due(&*self.clock).min(end - self.next_step);
            for _ in 0..due {
                if self.outstanding.len() >= 2 * STEPS_ON_THEIR_WAY {
                    break;
                }
                self.submit_step()?;
                pace.took(1);
            }
            if self.outstanding.is_empty() {
                stop.wait(TICK);
            } else if self.outstanding.len() >= 2 * STEPS_ON_THEIR_WAY {
                self.take_answers(PATIENCE)?;
            } else {
                self.take_answers(if due > 0 { Duration::ZERO } else { TICK })?;
            }
        }
        while !stop.is_set() && !self.outstanding.is_empty() {
            self.take_answers(PATIENCE)?;
        }
        self.report(true);
        Ok(())
    }

    /// Finds the step to go on with; false when it was told to stop meanwhile.
    fn begin(&mut self, stop: &Stop) -> Result<bool, DeskError> {
        let Some(status) = self.ask(SHOP_STATUS, Vec::new(), stop)? else {
            return Ok(false);
        };
        if status.reply.is_empty() {
            let mut seed = Vec::new();
            Writer(&mut seed).i64(self.options.seed as i64);
            let Some(loaded) = self.ask(LOAD, seed, stop)? else {
                return Ok(false);
            };
            let expected = position_after(self.workload, 1);
            self.expect(loaded.outcome == Ok(expected), "load", &loaded, expected)?;
        } else {
            self.next_step = Reader(&status.reply).i64() as u64 - 1;
            self.ledger = Ledger::before(self.workload, self.next_step);
            self.deliveries = Deliveries::before(self.workload, self.next_step);
        }
        self.first_step = self.next_step;
        self.report_at(position_after(self.workload, self.next_step + 1), false);
        Ok(true)
    }

    /// Calls a procedure and waits for its answer.
    fn ask(
        &self,
        procedure: ProcedureNumber,
        parameters: Vec<u8>,
        stop: &Stop,
    ) -> Result<Option<Answer>, DeskError> {
        self.session.submit(procedure, parameters)?;
        while !stop.is_set() {
            if let Some(answer) = self.session.answer(PATIENCE)? {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }

    fn submit_step(&mut self) -> Result<(), DeskError> {
        let step = self.next_step;
        let order = self.workload.order(step);
        self.session.submit(PLACE_ORDER, self.new_order(&order))?;
        self.outstanding.push_back(Call::Place(order));
        if !order.rolled_back {
            self.deliveries.schedule(&order);
        }
        let run = self.delivery_run(&order);
        self.session.submit(DELIVER, run.encode())?;
        self.outstanding.push_back(Call::Deliver {
            step,
            lines: run.lines.len() as u64,
            completed: run.completed.len() as u64,
        });
        self.next_step += 1;
        Ok(())
    }

    /// The order as the customer gives it.
    fn new_order(&self, order: &Order) -> Vec<u8> {
        let mut lines = Lines::new();
        for line in self.workload.lines(order.basket) {
            lines.push(NewLine {
                item: line.item,
                quantity: line.quantity,
                discount: line.discount as i16,
                carrier: self.names.carrier(order.basket, line.number).as_bytes(),
            });
        }
        let (mut clerk, mut remark) = (String::new(), String::new());
        self.names.clerk(order.step, &mut clerk);
        self.names.remark(order.basket, &mut remark);
        let order = NewOrder {
            order: order.id,
            customer: order.customer,
            placed_at_us: order.placed_at_us,
            promised_on: order.promised_on(),
            is_cancelled: order.rolled_back,
            clerk: clerk.as_bytes(),
            remark: remark.as_bytes(),
            lines,
        };
        order.encode()
    }

    /// What is delivered at the end of an order's step.
    fn delivery_run(&mut self, order: &Order) -> DeliveryRun {
        let step = order.step;
        let mut due = std::mem::take(&mut self.due);
        self.deliveries.take(step, &mut due);
        let mut run = DeliveryRun {
            order: order.id,
            is_cancelled: order.rolled_back,
            now_us: self.workload.moment_us(step),
            ..DeliveryRun::default()
        };
        for &Due { order_step, line } in &due {
            let order = self.workload.order(order_step);
            let delivered = self.workload.line(order.basket, line);
            run.lines.push(LineKey {
                item: delivered.item,
                order: order.id,
                line: delivered.number,
            });
            if self.is_last(&order, line, step) {
                run.completed.push(order.id);
            }
        }
        self.due = due;
        run
    }

    /// Whether the order is complete with this line: none comes later, nor later in this run.
    fn is_last(&self, order: &Order, line: u64, step: u64) -> bool {
        let delivery = |other| self.workload.delivery_step(order.step, other);
        (0..self.workload.line_count(order.basket))
            .all(|other| delivery(other) < step || (delivery(other) == step && other <= line))
    }

    /// Takes the answers that are there; waits for the first of them, but not longer than this.
    fn take_answers(&mut self, most: Duration) -> Result<(), DeskError> {
        let mut patience = most;
        while !self.outstanding.is_empty()
            && let Some(answer) = self.session.answer(patience)?
        {
            patience = Duration::ZERO;
            let call = self.outstanding.pop_front().expect("there is one");
            self.take_answer(call, &answer)?;
        }
        Ok(())
    }

    fn take_answer(&mut self, call: Call, answer: &Answer) -> Result<(), DeskError> {
        if answer.outcome == Err(CallError::Refused(Refusal::MemoryFull)) {
            self.is_full = true;
        }
        if self.is_full {
            // The calls behind one that was refused stop by themselves: it is the next one still.
            return Ok(());
        }
        match call {
            Call::Place(order) => self.take_placed(&order, answer),
            Call::Deliver {
                step,
                lines,
                completed,
            } => {
                let expected = position_after(self.workload, step + 2);
                let name = format!("deliver of step {step}");
                self.expect(answer.outcome == Ok(expected), &name, answer, expected)?;
                self.taken.deliveries += lines;
                self.taken.row_changes += 1 + lines + completed;
                self.report_at(expected, false);
                Ok(())
            }
        }
    }

    fn take_placed(&mut self, order: &Order, answer: &Answer) -> Result<(), DeskError> {
        let name = format!("order {}", order.id);
        if order.rolled_back {
            let is_aborted = matches!(answer.outcome, Err(CallError::Stopped(Stopped::Abort(_))));
            self.expect(is_aborted, &name, answer, "a rollback")?;
            self.taken.rolled_back += 1;
            return Ok(());
        }
        let total = self.ledger.record(self.workload, order);
        let is_placed_before = order.step == self.first_step
            && matches!(
                answer.outcome,
                Err(CallError::Stopped(Stopped::Violation(
                    oltp::Violation::Duplicate { .. }
                )))
            );
        if is_placed_before {
            return Ok(());
        }
        let expected = CommitPosition(position_after(self.workload, order.step + 1).0 + 1);
        let is_expected = answer.outcome == Ok(expected) && Reader(&answer.reply).i64() == total;
        self.expect(
            is_expected,
            &name,
            answer,
            format!("{total} cents at {expected}"),
        )?;
        let lines = self.workload.line_count(order.basket);
        let mut items = Lines::<i32>::new();
        for line in self.workload.lines(order.basket) {
            if !items.contains(&line.item) {
                items.push(line.item);
            }
        }
        self.taken.orders += 1;
        self.taken.row_changes += 2 + lines + items.len() as u64;
        Ok(())
    }

    fn expect(
        &self,
        is_expected: bool,
        call: &str,
        answer: &Answer,
        expected: impl ToString,
    ) -> Result<(), DeskError> {
        if is_expected {
            return Ok(());
        }
        Err(DeskError::Unexpected {
            call: call.to_owned(),
            found: format!("{answer:?}"),
            expected: expected.to_string(),
        })
    }

    fn report_at(&self, position: CommitPosition, finished: bool) {
        *self.progress.lock() = OrderProgress {
            taken: self.taken,
            totals: self.ledger.totals,
            position,
            answered_at: self.clock.monotonic(),
            finished,
            is_full: self.is_full,
        };
    }

    fn report(&self, finished: bool) {
        let mut progress = self.progress.lock();
        progress.finished = finished;
        progress.is_full = self.is_full;
    }
}
