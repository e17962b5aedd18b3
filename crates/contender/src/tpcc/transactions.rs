//! What the five transactions are asked, clauses 2.4.1 to 2.8.1, in the mix of clause 5.2.3.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::random::{customer, item, last_name, wanted_name};
use super::{DISTRICTS, Scale};

/// Of a hundred transactions.
const NEW_ORDERS: u32 = 45;
const PAYMENTS: u32 = 43;
const ORDER_STATUSES: u32 = 4;
const DELIVERIES: u32 = 4;

/// A transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transaction {
    /// Orders of a customer.
    NewOrder(NewOrder),
    /// A customer pays.
    Payment(Payment),
    /// A customer asks what became of the last order.
    OrderStatus(OrderStatus),
    /// The oldest order of each district is delivered.
    Delivery(Delivery),
    /// How many of the items that were sold last are nearly sold out?
    StockLevel(StockLevel),
}

/// A line of a new order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// What; of one order in a hundred the last item does not exist.
    pub item: i32,
    /// Whose stock; of one line in a hundred another warehouse's.
    pub supply_warehouse: i16,
    /// Pieces.
    pub quantity: i16,
}

/// Order lines of a customer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// Whose customer.
    pub warehouse: i16,
    /// Whose customer.
    pub district: i16,
    /// Who orders.
    pub customer: i32,
    /// 5 to 15.
    pub lines: Vec<Line>,
}

/// How a customer is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// By number.
    Id(i32),
    /// By last name: the middle one of those of that name, in the order of their first names.
    Last(String),
}

/// A customer pays, in 15 of 100 cases at another warehouse than the own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    /// Where it is paid.
    pub warehouse: i16,
    /// Where it is paid.
    pub district: i16,
    /// Whose customer.
    pub customer_warehouse: i16,
    /// Whose customer.
    pub customer_district: i16,
    /// Who pays.
    pub customer: Who,
    /// Cents.
    pub amount: i64,
}

/// A customer asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderStatus {
    /// Whose customer.
    pub warehouse: i16,
    /// Whose customer.
    pub district: i16,
    /// Who asks.
    pub customer: Who,
}

/// Orders are delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Whose.
    pub warehouse: i16,
    /// Who brings them.
    pub carrier: i16,
}

/// The stock is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockLevel {
    /// Whose.
    pub warehouse: i16,
    /// Whose last orders.
    pub district: i16,
    /// Fewer pieces are few.
    pub threshold: i16,
}

/// Draws transactions.
pub struct Mix {
    scale: Scale,
    random: SmallRng,
}

impl Mix {
    /// Transactions on a database of this scale; equal seeds draw the same.
    pub fn new(scale: Scale, seed: u64) -> Self {
        let random = SmallRng::seed_from_u64(seed);
        Self { scale, random }
    }

    /// One more.
    pub fn draw(&mut self) -> Transaction {
        let warehouse = self.random.random_range(1..=self.scale.warehouses);
        let district = self.random.random_range(1..=DISTRICTS);
        let mut card = self.random.random_range(0..100);
        for (count, draw) in [
            (
                NEW_ORDERS,
                Self::new_order as fn(&mut Self, i16, i16) -> Transaction,
            ),
            (PAYMENTS, Self::payment),
            (ORDER_STATUSES, Self::order_status),
            (DELIVERIES, Self::delivery),
        ] {
            if card < count {
                return draw(self, warehouse, district);
            }
            card -= count;
        }
        Transaction::StockLevel(StockLevel {
            warehouse,
            district,
            threshold: self.random.random_range(10..=20),
        })
    }

    fn new_order(&mut self, warehouse: i16, district: i16) -> Transaction {
        let lines = (0..self.random.random_range(5..=15)).map(|_| Line {
            item: item(&mut self.random, self.scale.items),
            supply_warehouse: self.warehouse_of(warehouse, 1),
            quantity: self.random.random_range(1..=10),
        });
        let mut lines: Vec<Line> = lines.collect();
        if self.random.random_ratio(1, 100) {
            lines.last_mut().expect("there are five at least").item = self.scale.items + 1;
        }
        Transaction::NewOrder(NewOrder {
            warehouse,
            district,
            customer: customer(&mut self.random, self.scale.customers),
            lines,
        })
    }

    fn payment(&mut self, warehouse: i16, district: i16) -> Transaction {
        let customer_warehouse = self.warehouse_of(warehouse, 15);
        let is_remote = customer_warehouse != warehouse;
        let customer_district = match is_remote {
            true => self.random.random_range(1..=DISTRICTS),
            false => district,
        };
        Transaction::Payment(Payment {
            warehouse,
            district,
            customer_warehouse,
            customer_district,
            customer: self.who(),
            amount: self.random.random_range(100..=500_000),
        })
    }

    fn order_status(&mut self, warehouse: i16, district: i16) -> Transaction {
        Transaction::OrderStatus(OrderStatus {
            warehouse,
            district,
            customer: self.who(),
        })
    }

    fn delivery(&mut self, warehouse: i16, _: i16) -> Transaction {
        Transaction::Delivery(Delivery {
            warehouse,
            carrier: self.random.random_range(1..=10),
        })
    }

    /// Another warehouse in so many of a hundred cases, if there is another.
    fn warehouse_of(&mut self, home: i16, percent: u32) -> i16 {
        if self.scale.warehouses == 1 || !self.random.random_ratio(percent, 100) {
            return home;
        }
        let other = self.random.random_range(1..self.scale.warehouses);
        other + i16::from(other >= home)
    }

    fn who(&mut self) -> Who {
        if self.random.random_ratio(60, 100) {
            let names = self.scale.last_names();
            Who::Last(last_name(wanted_name(&mut self.random, names)))
        } else {
            Who::Id(customer(&mut self.random, self.scale.customers))
        }
    }
}
