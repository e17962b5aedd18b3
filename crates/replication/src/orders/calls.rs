//! The procedures of the order entry, and their parameters as bytes.
//!
//! * [`Load`](super::load) fills an empty shop; [`PlaceOrder`](super::place_order) takes an order;
//!   [`Deliver`](super::deliver) delivers what is due and closes a step.
//! * [`LineStatus`](super::line_status) and [`ShopStatus`](super::shop_status) only read.
//!
//! Names have a number at their ends, which grows when the code begins to do something else: the command
//! log has names and parameters, and runs them again.

use std::sync::Arc;

use oltp::parameters::{Reader, Writer};
use oltp::{Procedure, ProcedureNumber};
use types::Value;

use super::deliver::Deliver;
use super::line_status::LineStatus;
use super::load::Load;
use super::place_order::PlaceOrder;
use super::shop_status::ShopStatus;
use super::workload::LINES_MAX;

/// Fills the shop.
pub const LOAD: ProcedureNumber = ProcedureNumber(0);
/// Takes an order.
pub const PLACE_ORDER: ProcedureNumber = ProcedureNumber(1);
/// Delivers what is due.
pub const DELIVER: ProcedureNumber = ProcedureNumber(2);
/// Tells the status of a line.
pub const LINE_STATUS: ProcedureNumber = ProcedureNumber(3);
/// Tells the number of the next order.
pub const SHOP_STATUS: ProcedureNumber = ProcedureNumber(4);

/// All procedures, in the order of their numbers.
pub fn procedures() -> Vec<Arc<dyn Procedure>> {
    vec![
        Arc::new(Load),
        Arc::new(PlaceOrder),
        Arc::new(Deliver),
        Arc::new(LineStatus),
        Arc::new(ShopStatus),
    ]
}

/// An order that a customer gives.
pub(super) struct NewOrder<'p> {
    pub(super) order: i64,
    pub(super) customer: i32,
    /// Microseconds since 1970-01-01.
    pub(super) placed_at_us: i64,
    /// Days since 1970-01-01.
    pub(super) promised_on: i32,
    /// Whether the customer thinks better of it in the end.
    pub(super) is_cancelled: bool,
    pub(super) clerk: &'p [u8],
    pub(super) remark: &'p [u8],
    pub(super) lines: Lines<NewLine<'p>>,
}

/// A line of it.
#[derive(Clone, Copy, Default)]
pub(super) struct NewLine<'p> {
    pub(super) item: i32,
    pub(super) quantity: i32,
    /// Percent.
    pub(super) discount: i16,
    pub(super) carrier: &'p [u8],
}

/// One thing for each line of an order, without a buffer of its own.
#[derive(Clone, Copy)]
pub(super) struct Lines<T> {
    all: [T; LINES_MAX as usize],
    count: usize,
}

impl<T: Copy + Default> Lines<T> {
    /// None.
    pub(super) fn new() -> Self {
        Self {
            all: [T::default(); LINES_MAX as usize],
            count: 0,
        }
    }

    /// One more.
    ///
    /// # Panics
    /// When there are as many as an order may have.
    pub(super) fn push(&mut self, one: T) {
        self.all[self.count] = one;
        self.count += 1;
    }
}

impl<T> std::ops::Deref for Lines<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.all[..self.count]
    }
}

impl<T> std::ops::DerefMut for Lines<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.all[..self.count]
    }
}

impl<'p> NewOrder<'p> {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(160);
        let mut writer = Writer(&mut bytes);
        writer
            .i64(self.order)
            .i32(self.customer)
            .i64(self.placed_at_us)
            .i32(self.promised_on)
            .i16(self.is_cancelled.into())
            .text(self.clerk)
            .text(self.remark)
            .i16(self.lines.len() as i16);
        for line in self.lines.iter() {
            writer
                .i32(line.item)
                .i32(line.quantity)
                .i16(line.discount)
                .text(line.carrier);
        }
        bytes
    }

    pub(super) fn decode(parameters: &'p [u8]) -> Self {
        let mut reader = Reader(parameters);
        let mut order = Self {
            order: reader.i64(),
            customer: reader.i32(),
            placed_at_us: reader.i64(),
            promised_on: reader.i32(),
            is_cancelled: reader.i16() != 0,
            clerk: reader.text(),
            remark: reader.text(),
            lines: Lines::new(),
        };
        for _ in 0..reader.i16() {
            order.lines.push(NewLine {
                item: reader.i32(),
                quantity: reader.i32(),
                discount: reader.i16(),
                carrier: reader.text(),
            });
        }
        order
    }
}

/// Names a line of an order: the key of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineKey {
    pub(super) item: i32,
    pub(super) order: i64,
    /// Counted from 1.
    pub(super) line: i16,
}

impl LineKey {
    /// The key's values.
    pub(super) fn values(self) -> [Value<'static>; 3] {
        [
            Value::Int(self.item.into()),
            Value::Int(self.order),
            Value::Int(self.line.into()),
        ]
    }

    /// Parameters of [`LINE_STATUS`].
    pub(super) fn encode(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(14);
        self.write(&mut Writer(&mut bytes));
        bytes
    }

    pub(super) fn write(self, writer: &mut Writer<'_>) {
        writer.i32(self.item).i64(self.order).i16(self.line);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Self {
        Self {
            item: reader.i32(),
            order: reader.i64(),
            line: reader.i16(),
        }
    }
}

/// A delivery run: the end of a step.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct DeliveryRun {
    /// The order of the step.
    pub(super) order: i64,
    /// Whether it was rolled back, and is not there.
    pub(super) is_cancelled: bool,
    /// Microseconds since 1970-01-01.
    pub(super) now_us: i64,
    /// Lines that arrive.
    pub(super) lines: Vec<LineKey>,
    /// Orders that are complete with them.
    pub(super) completed: Vec<i64>,
}

impl DeliveryRun {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(32 + 16 * self.lines.len());
        let mut writer = Writer(&mut bytes);
        writer
            .i64(self.order)
            .i16(self.is_cancelled.into())
            .i64(self.now_us)
            .i16(self.lines.len() as i16)
            .i16(self.completed.len() as i16);
        self.lines.iter().for_each(|line| line.write(&mut writer));
        self.completed.iter().for_each(|&order| {
            writer.i64(order);
        });
        bytes
    }

    pub(super) fn decode(parameters: &[u8]) -> Self {
        let mut reader = Reader(parameters);
        let mut run = Self {
            order: reader.i64(),
            is_cancelled: reader.i16() != 0,
            now_us: reader.i64(),
            ..Self::default()
        };
        let (lines, completed) = (reader.i16(), reader.i16());
        run.lines = (0..lines).map(|_| LineKey::read(&mut reader)).collect();
        run.completed = (0..completed).map(|_| reader.i64()).collect();
        run
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_come_out_as_they_went_in() {
        let mut lines = Lines::new();
        lines.push(NewLine {
            item: 7,
            quantity: -1,
            discount: 10,
            carrier: b"barge",
        });
        let order = NewOrder {
            order: 1 << 40,
            customer: 3,
            placed_at_us: -5,
            promised_on: 19_000,
            is_cancelled: true,
            clerk: b"clerk",
            remark: b"",
            lines,
        };
        let bytes = order.encode();
        let read = NewOrder::decode(&bytes);
        assert_eq!(read.encode(), bytes);
        assert_eq!(
            (read.order, read.lines[0].carrier),
            (1 << 40, &b"barge"[..])
        );
        let run = DeliveryRun {
            order: 9,
            is_cancelled: false,
            now_us: 77,
            lines: vec![LineKey {
                item: 1,
                order: 2,
                line: 3,
            }],
            completed: vec![2, 8],
        };
        assert_eq!(DeliveryRun::decode(&run.encode()), run);
    }
}
