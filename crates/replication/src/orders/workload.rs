//! The order-entry workload: what happens at each step, as a function of the seed.
//!
//! After Rose section 4.4 (TPC-C/H). At each step a customer places an order of one to seven
//! lines. Of every hundred orders exactly one is rolled back. The others are delivered in full
//! within two weeks: a completion time is drawn, then for each line a time before it. Customers
//! ask after the status of a line while they wait.
//!
//! Every fact is drawn from the seed and the step alone, so that the stream can go on from any
//! step without a log. What sums up over time (a customer's balance) is made to have a closed
//! form:
//!
//! 1. Committed orders are numbered without gaps by their *ordinal*; one hundred steps hold
//!    ninety-nine.
//! 2. Ordinals are cut into *epochs* of [`SLOTS`]. In each epoch every slot orders once, in an
//!    order that is shuffled anew (an affine permutation). A slot belongs to one customer; a few
//!    customers own many slots.
//! 3. A slot has [`BASKETS`] baskets and orders them in turn, one an epoch. What is in a basket
//!    never changes, as a shop reorders the same goods.
//!
//! So after any step, each slot has ordered each basket a number of times that follows from the
//! step by arithmetic, and the sums follow from at most `SLOTS * BASKETS` baskets.
//!
//! Does not: know tables or rows, nor keep any state.

use super::calendar::{self, ORDERS_A_WEEK};
use super::draw::{Draw, Purpose};

/// Customers, with ids from 1.
pub const CUSTOMERS: u32 = 20_000;
/// Items, with ids from 1.
pub const ITEMS: u32 = 10_000;
/// Lines that an order has at most.
pub const LINES_MAX: u64 = 7;
/// Steps after which an order has been delivered in full: two weeks.
pub const DELIVERY_STEPS: u64 = 2 * ORDERS_A_WEEK;

/// Orders in an epoch; a power of two.
pub(crate) const SLOTS: u64 = 1 << 15;
/// Different baskets of a slot.
pub(crate) const BASKETS: u64 = 16;

/// One order of each block is rolled back.
const ROLLBACK_BLOCK: u64 = 100;
const COMMITTED_A_BLOCK: u64 = ROLLBACK_BLOCK - 1;

/// Days after which a line is late.
const PROMISE_DAYS: i32 = 9;

/// Coprime to the numbers of customers and items: spreads the popular ones over all ids.
const ID_STRIDE: u64 = 7_919;

/// What a slot orders: the contents of an order without its number and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Basket(u64);

/// One order, whether committed or rolled back.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// The step at which it is placed.
    pub step: u64,
    /// Its number: the step, counted from 1.
    pub id: i64,
    /// Who orders.
    pub customer: i32,
    /// What.
    pub basket: Basket,
    /// Whether the transaction is rolled back.
    pub rolled_back: bool,
    /// Microseconds since 1970-01-01.
    pub placed_at_us: i64,
}

/// One line of a basket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Counted from 1.
    pub number: i16,
    /// The item.
    pub item: i32,
    /// Pieces.
    pub quantity: i32,
    /// Cents.
    pub unit_price: i64,
    /// Percent.
    pub discount: i64,
    /// Cents: quantity times price less the discount, rounded half up.
    pub amount: i64,
}

/// A line that somebody asks after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusQuestion {
    /// The step of its order.
    pub step: u64,
    /// The line.
    pub line: Line,
}

/// The workload of one seed.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    draw: Draw,
}

impl Basket {
    /// The basket that a slot orders in an epoch.
    pub(crate) fn of(slot: u64, epoch: u64) -> Self {
        Self(slot * BASKETS + epoch % BASKETS)
    }

    /// A number of its own.
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

impl Order {
    /// The day on which all of it should have arrived, in days since 1970-01-01.
    pub fn promised_on(&self) -> i32 {
        calendar::day_of(self.placed_at_us) + PROMISE_DAYS
    }
}

impl Workload {
    /// The workload of `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            draw: Draw::new(seed),
        }
    }

    pub(crate) fn draw(self) -> Draw {
        self.draw
    }

    /// The place within its block of the step that is rolled back.
    fn rollback_slot(self, block: u64) -> u64 {
        self.draw
            .at(Purpose::RollbackSlot, block, 0)
            .below(ROLLBACK_BLOCK)
    }

    /// Whether the order of `step` is rolled back.
    pub fn is_rolled_back(self, step: u64) -> bool {
        step % ROLLBACK_BLOCK == self.rollback_slot(step / ROLLBACK_BLOCK)
    }

    /// Orders that commit in the steps before `step`; the ordinal of its order if that commits.
    pub fn committed_before(self, step: u64) -> u64 {
        let (block, place) = (step / ROLLBACK_BLOCK, step % ROLLBACK_BLOCK);
        let rolled_back = u64::from(self.rollback_slot(block) < place);
        block * COMMITTED_A_BLOCK + place - rolled_back
    }

    /// The step of the committed order with this ordinal.
    pub(crate) fn step_of_ordinal(self, ordinal: u64) -> u64 {
        let (block, place) = (ordinal / COMMITTED_A_BLOCK, ordinal % COMMITTED_A_BLOCK);
        block * ROLLBACK_BLOCK + place + u64::from(place >= self.rollback_slot(block))
    }

    /// The slot that places the committed order with this ordinal.
    pub(crate) fn slot_of_ordinal(self, ordinal: u64) -> u64 {
        let (epoch, index) = (ordinal / SLOTS, ordinal % SLOTS);
        let factor = self.draw.at(Purpose::EpochFactor, epoch, 0).bits() | 1;
        let offset = self.draw.at(Purpose::EpochOffset, epoch, 0).bits();
        index.wrapping_mul(factor).wrapping_add(offset) % SLOTS
    }

    /// The customer to whom a slot belongs.
    pub(crate) fn customer_of_slot(self, slot: u64) -> i32 {
        let rank = self
            .draw
            .at(Purpose::SlotOwner, slot, 0)
            .skewed_below(u64::from(CUSTOMERS));
        1 + (rank * ID_STRIDE % u64::from(CUSTOMERS)) as i32
    }

    /// The order of a step.
    pub fn order(self, step: u64) -> Order {
        let rolled_back = self.is_rolled_back(step);
        let (slot, basket) = if rolled_back {
            let any = self.draw.at(Purpose::CancelledBasket, step, 0);
            let slot = any.below(SLOTS);
            (slot, Basket::of(slot, any.next().below(BASKETS)))
        } else {
            let ordinal = self.committed_before(step);
            let slot = self.slot_of_ordinal(ordinal);
            (slot, Basket::of(slot, ordinal / SLOTS))
        };
        Order {
            step,
            id: step as i64 + 1,
            customer: self.customer_of_slot(slot),
            basket,
            rolled_back,
            placed_at_us: self.moment_us(step),
        }
    }

    /// When a step happens, in microseconds since 1970-01-01.
    pub fn moment_us(self, step: u64) -> i64 {
        calendar::moment_us(self.draw, step)
    }

    /// The number of lines of a basket, at least one.
    pub fn line_count(self, basket: Basket) -> u64 {
        1 + self
            .draw
            .at(Purpose::BasketLines, basket.0, 0)
            .below(LINES_MAX)
    }

    /// Line `index`, counted from 0, of a basket.
    pub fn line(self, basket: Basket, index: u64) -> Line {
        let popularity = self.draw.at(Purpose::LineItem, basket.0, index);
        let rank = popularity.skewed_below(u64::from(ITEMS));
        let item = 1 + (rank * ID_STRIDE % u64::from(ITEMS)) as i32;
        let quantity = 1 + self
            .draw
            .at(Purpose::LineQuantity, basket.0, index)
            .below(50) as i32;
        let discount = self
            .draw
            .at(Purpose::LineDiscount, basket.0, index)
            .below(11) as i64;
        let unit_price = self.unit_price(item);
        let full = i64::from(quantity) * unit_price;
        let amount = (full * (100 - discount) + 50) / 100;
        Line {
            number: index as i16 + 1,
            item,
            quantity,
            unit_price,
            discount,
            amount,
        }
    }

    /// All lines of a basket.
    pub fn lines(self, basket: Basket) -> impl Iterator<Item = Line> {
        (0..self.line_count(basket)).map(move |index| self.line(basket, index))
    }

    /// An item's price in cents.
    pub fn unit_price(self, item: i32) -> i64 {
        let spread = self
            .draw
            .at(Purpose::ItemPrice, item as u64, 0)
            .skewed_below(49_900);
        99 + spread as i64
    }

    /// The step at which line `index` of a committed order is delivered: later than the order,
    /// at most [`DELIVERY_STEPS`] later.
    pub fn delivery_step(self, order_step: u64, index: u64) -> u64 {
        let completion = 1 + self
            .draw
            .at(Purpose::OrderCompletion, order_step, 0)
            .below(DELIVERY_STEPS);
        order_step
            + 1
            + self
                .draw
                .at(Purpose::LineDelivery, order_step, index)
                .below(completion)
    }

    /// The step at which the last line of a committed order is delivered.
    pub fn completion_step(self, order_step: u64, basket: Basket) -> u64 {
        let last = (0..self.line_count(basket)).map(|line| self.delivery_step(order_step, line));
        last.max().expect("an order has at least one line")
    }

    /// The `number`-th question after the status of a line, asked when all steps before `now`
    /// have happened: of an order that is at most 1.3 times the longest delivery old, as
    /// customers ask while they wait and a little after. `None` where that order was rolled
    /// back.
    pub fn status_question(self, now: u64, number: u64) -> Option<StatusQuestion> {
        let oldest = now.saturating_sub(DELIVERY_STEPS * 13 / 10);
        let step = oldest
            + self
                .draw
                .at(Purpose::StatusOrder, now, number)
                .below((now - oldest).max(1));
        if now == 0 || self.is_rolled_back(step) {
            return None;
        }
        let basket = self.order(step).basket;
        let any = self.draw.at(Purpose::StatusLine, now, number);
        let index = any.below(self.line_count(basket));
        Some(StatusQuestion {
            step,
            line: self.line(basket, index),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKLOAD: fn() -> Workload = || Workload::new(42);

    #[test]
    fn one_order_in_a_hundred_is_rolled_back() {
        let workload = WORKLOAD();
        let rolled_back = (0..10_000)
            .filter(|&step| workload.is_rolled_back(step))
            .count();
        assert_eq!(rolled_back, 100);
    }

    #[test]
    fn ordinals_number_the_committed_orders_without_gaps() {
        let workload = WORKLOAD();
        let mut ordinal = 0;
        for step in 0..5_000 {
            assert_eq!(
                workload.committed_before(step),
                ordinal,
                "before step {step}"
            );
            if !workload.is_rolled_back(step) {
                assert_eq!(workload.step_of_ordinal(ordinal), step);
                ordinal += 1;
            }
        }
    }

    #[test]
    fn every_slot_orders_once_an_epoch() {
        let workload = WORKLOAD();
        for epoch in [0, 1, 17] {
            let mut seen = vec![false; SLOTS as usize];
            for index in 0..SLOTS {
                let slot = workload.slot_of_ordinal(epoch * SLOTS + index);
                assert!(
                    !std::mem::replace(&mut seen[slot as usize], true),
                    "slot {slot} twice"
                );
            }
        }
    }

    #[test]
    fn a_line_is_delivered_after_its_order_and_within_two_weeks() {
        let workload = WORKLOAD();
        for step in (0..100_000).step_by(97) {
            let basket = workload.order(step).basket;
            for line in 0..workload.line_count(basket) {
                let delivered = workload.delivery_step(step, line);
                assert!(delivered > step && delivered <= step + DELIVERY_STEPS);
                assert!(delivered <= workload.completion_step(step, basket));
            }
        }
    }

    #[test]
    fn numbers_stay_in_their_ranges() {
        let workload = WORKLOAD();
        for step in 0..20_000 {
            let order = workload.order(step);
            assert!((1..=CUSTOMERS as i32).contains(&order.customer));
            for line in workload.lines(order.basket) {
                assert!((1..=ITEMS as i32).contains(&line.item));
                assert!((1..=50).contains(&line.quantity));
                assert!(line.unit_price >= 99 && line.amount > 0);
            }
        }
    }
}
