//! The workload's log: change batches, from any command on.
//!
//! Commands are numbered: command 0 fills customers and items, command `step + 1` is a step of
//! the workload. A step is two transactions: the new order, at position `2 * command + 1`, and
//! the run that delivers what is due, at `2 * command + 2`.
//!
//! 1. A new order puts the order and its lines and updates customer and items, all as full new
//!    rows.
//! 2. A rolled back order puts order and lines and deletes them again in the same transaction,
//!    as Rose does: it is never visible, but its tombstones travel through the trees.
//! 3. A delivery run updates the lines that arrive and each order of which this was the last.
//!
//! Invariant: a stream that starts at a command yields exactly what a stream from the beginning
//! yields from there on.

use types::change::{ChangeBatch, TableChange};
use types::position::CommitPosition;
use types::rows::RowsBuilder;
use types::schema::TableId;

use super::deliveries::{Deliveries, Due};
use super::ledger::{Ledger, Totals};
use super::rows::Rows;
use super::tables::Table;
use super::workload::{CUSTOMERS, ITEMS, Order, Workload};

/// The commands that a position covers: all of those with a smaller number have happened.
pub fn commands_at(position: CommitPosition) -> u64 {
    position.0 / 2
}

/// Where everything that the first `commands` commands did is visible.
pub fn position_after(commands: u64) -> CommitPosition {
    CommitPosition(2 * commands)
}

/// Where the new order of a command commits.
fn order_position(command: u64) -> CommitPosition {
    CommitPosition(2 * command + 1)
}

/// Whether the line `index` of a step's order has been delivered at `position`.
pub fn is_delivered(workload: Workload, step: u64, index: u64, position: CommitPosition) -> bool {
    let command = workload.delivery_step(step, index) + 1;
    position_after(command + 1) <= position
}

/// What all tables hold when `commands` commands have happened.
pub fn totals_after(workload: Workload, commands: u64) -> Totals {
    Ledger::before(workload, commands.saturating_sub(1)).totals
}

/// What a stream has yielded since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Yielded {
    /// Orders that committed.
    pub orders: u64,
    /// Orders that were rolled back.
    pub rolled_back: u64,
    /// Lines delivered.
    pub deliveries: u64,
    /// Versions of rows, tombstones among them.
    pub versions: u64,
}

/// Yields the workload's changes in batches.
pub struct OrderStream {
    workload: Workload,
    rows: Rows,
    ledger: Ledger,
    deliveries: Deliveries,
    next_command: u64,
    tables: [TableRows; Table::ALL.len()],
    due: Vec<Due>,
    transactions: u64,
    yielded: Yielded,
}

/// One table's rows of the batch that is being made.
struct TableRows {
    id: TableId,
    builder: RowsBuilder,
}

impl OrderStream {
    /// The stream of a workload from a command on. `table_id` says under which id a table is
    /// stored.
    pub fn new(workload: Workload, next_command: u64, table_id: impl Fn(Table) -> TableId) -> Self {
        let step = next_command.saturating_sub(1);
        let tables = Table::ALL.map(|table| TableRows {
            id: table_id(table),
            builder: RowsBuilder::new(&table.schema()),
        });
        Self {
            workload,
            rows: Rows::new(workload),
            ledger: Ledger::before(workload, step),
            deliveries: Deliveries::before(workload, step),
            next_command,
            tables,
            due: Vec::new(),
            transactions: 0,
            yielded: Yielded::default(),
        }
    }

    /// The command that the next batch starts with.
    pub fn next_command(&self) -> u64 {
        self.next_command
    }

    /// What has been yielded so far.
    pub fn yielded(&self) -> Yielded {
        self.yielded
    }

    /// What all tables hold after the last batch.
    pub fn totals(&self) -> Totals {
        self.ledger.totals
    }

    /// The changes of the next `commands` commands (at least one), committed at `now_us`.
    pub fn next_batch(&mut self, commands: u64, now_us: i64) -> ChangeBatch {
        for _ in 0..commands.max(1) {
            match self.next_command.checked_sub(1) {
                None => self.load(),
                Some(step) => self.step(step),
            }
            self.next_command += 1;
        }
        let filled = self
            .tables
            .iter_mut()
            .filter(|table| !table.builder.is_empty());
        let changes: Vec<_> = filled
            .map(|table| TableChange::Rows {
                table: table.id,
                rows: table.builder.build(),
            })
            .collect();
        ChangeBatch {
            committed: Some(position_after(self.next_command)),
            resume: self.next_command,
            commit_time_us: now_us,
            transactions: std::mem::take(&mut self.transactions),
            source: None,
            changes,
        }
    }

    fn builder(&mut self, table: Table) -> &mut RowsBuilder {
        self.yielded.versions += 1;
        let index = match table {
            Table::Customers => 0,
            Table::Items => 1,
            Table::OrderLines => 2,
            Table::Orders => 3,
        };
        &mut self.tables[index].builder
    }

    /// Fills customers and items.
    fn load(&mut self) {
        let (rows, position) = (self.rows, order_position(0));
        for customer in 1..=CUSTOMERS as i32 {
            let account = self.ledger.account(customer);
            rows.customer(self.builder(Table::Customers), position, customer, account);
        }
        for item in 1..=ITEMS as i32 {
            let sales = self.ledger.sales(item);
            rows.item(self.builder(Table::Items), position, item, sales);
        }
        self.transactions += 1;
    }

    fn step(&mut self, step: u64) {
        let order = self.workload.order(step);
        let position = order_position(step + 1);
        self.place(&order, position);
        if order.rolled_back {
            self.cancel(&order, position);
        } else {
            self.account_for(&order, position);
            self.deliveries.schedule(&order);
        }
        self.deliver(step, position_after(step + 2));
    }

    fn place(&mut self, order: &Order, position: CommitPosition) {
        let (workload, rows) = (self.workload, self.rows);
        rows.order(self.builder(Table::Orders), position, order, None);
        for line in workload.lines(order.basket) {
            rows.line(
                self.builder(Table::OrderLines),
                position,
                order,
                &line,
                None,
            );
        }
    }

    fn cancel(&mut self, order: &Order, position: CommitPosition) {
        let (workload, rows) = (self.workload, self.rows);
        for line in workload.lines(order.basket) {
            rows.line_tombstone(self.builder(Table::OrderLines), position, order, &line);
        }
        rows.order_tombstone(self.builder(Table::Orders), position, order);
        self.yielded.rolled_back += 1;
    }

    fn account_for(&mut self, order: &Order, position: CommitPosition) {
        let (workload, rows) = (self.workload, self.rows);
        self.ledger.record(workload, order);
        let account = self.ledger.account(order.customer);
        rows.customer(
            self.builder(Table::Customers),
            position,
            order.customer,
            account,
        );
        for line in workload.lines(order.basket) {
            let sales = self.ledger.sales(line.item);
            rows.item(self.builder(Table::Items), position, line.item, sales);
        }
        self.transactions += 1;
        self.yielded.orders += 1;
    }

    fn deliver(&mut self, step: u64, position: CommitPosition) {
        let mut due = std::mem::take(&mut self.due);
        self.deliveries.take(step, &mut due);
        let now = Some(self.workload.moment_us(step));
        for &Due { order_step, line } in &due {
            let order = self.workload.order(order_step);
            let delivered = self.workload.line(order.basket, line);
            let rows = self.rows;
            rows.line(
                self.builder(Table::OrderLines),
                position,
                &order,
                &delivered,
                now,
            );
            if self.is_last(&order, line, step) {
                rows.order(self.builder(Table::Orders), position, &order, now);
            }
        }
        self.yielded.deliveries += due.len() as u64;
        self.transactions += u64::from(!due.is_empty());
        self.due = due;
    }

    /// Whether the order is complete with this line: none comes later, nor later in this run.
    fn is_last(&self, order: &Order, line: u64, step: u64) -> bool {
        let delivery = |other| self.workload.delivery_step(order.step, other);
        (0..self.workload.line_count(order.basket))
            .all(|other| delivery(other) < step || (delivery(other) == step && other <= line))
    }
}
