//! The five tables of the workload, as PostgreSQL would describe them.
//!
//! `order_lines` is keyed by item before order, after Rose: its rows arrive order by order and
//! must be permuted into a sequence that lists an item's orders together.

use oltp::{IndexId, IndexKind, TableNumber};
use types::schema::{Column, ColumnType, SourceType, TableName, TableSchema};

use crate::primary::PrimaryTable;

/// The schema (namespace) of all tables.
pub const SCHEMA: &str = "public";

/// An order's status until its last line is delivered.
pub(crate) const OPEN: &str = "open";
/// An order's status from then on.
pub(crate) const DONE: &str = "done";
/// A line's status until it is delivered.
pub const WAITING: &str = "waiting";
/// A line's status from then on.
pub const ARRIVED: &str = "arrived";

/// No update changes the size of a row.
const _: () = assert!(OPEN.len() == DONE.len() && WAITING.len() == ARRIVED.len());

/// Columns of `customers` that change.
pub(super) mod customers {
    pub(in super::super) const ORDERS: usize = 5;
    pub(in super::super) const BALANCE: usize = 6;
    pub(in super::super) const LAST_ORDER_AT: usize = 7;
}

/// Columns of `items` that are read or change.
pub(super) mod items {
    pub(in super::super) const UNIT_PRICE: usize = 3;
    pub(in super::super) const IN_STOCK: usize = 4;
    pub(in super::super) const SOLD: usize = 5;
    pub(in super::super) const REVENUE: usize = 6;
}

/// Columns of `orders` that change.
pub(super) mod orders {
    pub(in super::super) const STATUS: usize = 3;
    pub(in super::super) const COMPLETED_AT: usize = 6;
}

/// Columns of `order_lines` that are read or change.
pub(super) mod order_lines {
    pub(in super::super) const AMOUNT: usize = 6;
    pub(in super::super) const STATUS: usize = 7;
    pub(in super::super) const DELIVERED_AT: usize = 9;
}

/// Columns of `shops` that are read or change.
pub(super) mod shops {
    pub(in super::super) const NEXT_ORDER: usize = 2;
    pub(in super::super) const LAST_RUN_AT: usize = 3;
}

/// One of the workload's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// Who orders; the balance is the sum of the customer's orders.
    Customers,
    /// What is sold, how much of it and for how much.
    Items,
    /// One row an order.
    Orders,
    /// One row a line of an order.
    OrderLines,
    /// The shop: one row, with the number of the next order.
    Shops,
}

/// A column to be: name, type name at the source, type here, whether NULL is allowed.
type Declared = (&'static str, &'static str, ColumnType, bool);

const MONEY: ColumnType = ColumnType::Decimal {
    precision: 15,
    scale: 2,
};
const PERCENT: ColumnType = ColumnType::Decimal {
    precision: 4,
    scale: 2,
};

const CUSTOMERS: &[Declared] = &[
    ("customer_id", "integer", ColumnType::Int32, false),
    ("name", "text", ColumnType::Text, false),
    ("city", "text", ColumnType::Text, false),
    ("segment", "text", ColumnType::Text, false),
    ("since", "date", ColumnType::Date, false),
    ("orders", "integer", ColumnType::Int32, false),
    ("balance", "numeric(15,2)", MONEY, false),
    (
        "last_order_at",
        "timestamp without time zone",
        ColumnType::Timestamp,
        true,
    ),
];

const ITEMS: &[Declared] = &[
    ("item_id", "integer", ColumnType::Int32, false),
    ("name", "text", ColumnType::Text, false),
    ("category", "text", ColumnType::Text, false),
    ("unit_price", "numeric(15,2)", MONEY, false),
    ("in_stock", "integer", ColumnType::Int32, false),
    ("sold", "bigint", ColumnType::Int64, false),
    ("revenue", "numeric(15,2)", MONEY, false),
];

const ORDERS: &[Declared] = &[
    ("order_id", "bigint", ColumnType::Int64, false),
    ("customer_id", "integer", ColumnType::Int32, false),
    (
        "placed_at",
        "timestamp without time zone",
        ColumnType::Timestamp,
        false,
    ),
    ("status", "text", ColumnType::Text, false),
    ("lines", "smallint", ColumnType::Int16, false),
    ("total", "numeric(15,2)", MONEY, false),
    (
        "completed_at",
        "timestamp without time zone",
        ColumnType::Timestamp,
        true,
    ),
    ("clerk", "text", ColumnType::Text, false),
    ("remark", "text", ColumnType::Text, false),
];

const ORDER_LINES: &[Declared] = &[
    ("item_id", "integer", ColumnType::Int32, false),
    ("order_id", "bigint", ColumnType::Int64, false),
    ("line_number", "smallint", ColumnType::Int16, false),
    ("quantity", "integer", ColumnType::Int32, false),
    ("unit_price", "numeric(15,2)", MONEY, false),
    ("discount", "numeric(4,2)", PERCENT, false),
    ("amount", "numeric(15,2)", MONEY, false),
    ("status", "text", ColumnType::Text, false),
    ("promised_on", "date", ColumnType::Date, false),
    (
        "delivered_at",
        "timestamp without time zone",
        ColumnType::Timestamp,
        true,
    ),
    ("carrier", "text", ColumnType::Text, false),
];

const SHOPS: &[Declared] = &[
    ("shop_id", "integer", ColumnType::Int32, false),
    ("name", "text", ColumnType::Text, false),
    ("next_order_id", "bigint", ColumnType::Int64, false),
    (
        "last_run_at",
        "timestamp without time zone",
        ColumnType::Timestamp,
        true,
    ),
];

/// PostgreSQL's modifier of `numeric(precision, scale)`.
fn numeric_modifier(precision: u8, scale: i8) -> i32 {
    ((i32::from(precision) << 16) | i32::from(scale)) + 4
}

/// PostgreSQL's object id and modifier of a column type that the workload uses.
fn oid_and_modifier(column_type: ColumnType) -> (u32, i32) {
    match column_type {
        ColumnType::Int64 => (20, -1),
        ColumnType::Int16 => (21, -1),
        ColumnType::Int32 => (23, -1),
        ColumnType::Text => (25, -1),
        ColumnType::Date => (1082, -1),
        ColumnType::Timestamp => (1114, -1),
        ColumnType::Decimal { precision, scale } => (1700, numeric_modifier(precision, scale)),
        other => unreachable!("no table of the workload has a column of type {other:?}"),
    }
}

impl Table {
    /// All tables, in order of their names.
    pub const ALL: [Self; 5] = [
        Self::Customers,
        Self::Items,
        Self::OrderLines,
        Self::Orders,
        Self::Shops,
    ];

    /// All tables as a primary keeps them, in the order of their numbers.
    pub fn of_primary() -> Vec<PrimaryTable> {
        let table = |table: Self| PrimaryTable::new(table.schema(), IndexKind::Hash);
        Self::ALL.map(table).into()
    }

    /// The table's number at the primary.
    pub(super) fn number(self) -> TableNumber {
        let place = Self::ALL.iter().position(|&table| table == self);
        TableNumber(place.expect("all tables are listed") as u16)
    }

    /// The index on the table's key.
    pub(super) fn key(self) -> IndexId {
        IndexId {
            table: self.number(),
            index: 0,
        }
    }

    /// The table's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Customers => "customers",
            Self::Items => "items",
            Self::Orders => "orders",
            Self::OrderLines => "order_lines",
            Self::Shops => "shops",
        }
    }

    fn declared(self) -> &'static [Declared] {
        match self {
            Self::Customers => CUSTOMERS,
            Self::Items => ITEMS,
            Self::Orders => ORDERS,
            Self::OrderLines => ORDER_LINES,
            Self::Shops => SHOPS,
        }
    }

    /// The key columns; the first ones of every table.
    fn key_columns(self) -> usize {
        if self == Self::OrderLines { 3 } else { 1 }
    }

    /// The table's schema.
    pub fn schema(self) -> TableSchema {
        let columns = self
            .declared()
            .iter()
            .enumerate()
            .map(|(index, &declared)| {
                let (name, type_name, column_type, nullable) = declared;
                let (oid, modifier) = oid_and_modifier(column_type);
                let source_type = SourceType {
                    oid,
                    modifier,
                    name: type_name.to_owned(),
                };
                Column {
                    name: name.to_owned(),
                    column_type,
                    nullable,
                    hidden: false,
                    source_number: index as i16 + 1,
                    source_type,
                }
            });
        TableSchema {
            name: TableName {
                schema: SCHEMA.to_owned(),
                name: self.name().to_owned(),
            },
            columns: columns.collect(),
            key: (0..self.key_columns()).collect(),
        }
    }

    /// Bytes of a row's cells of fixed width.
    pub(crate) fn fixed_bytes(self) -> u64 {
        self.declared()
            .iter()
            .map(|&(_, _, column_type, _)| fixed_width(column_type))
            .sum()
    }
}

/// Bytes of a cell as a plain value; texts count by their length instead.
fn fixed_width(column_type: ColumnType) -> u64 {
    match column_type {
        ColumnType::Int16 => 2,
        ColumnType::Int32 | ColumnType::Date => 4,
        ColumnType::Int64 | ColumnType::Timestamp | ColumnType::Decimal { .. } => 8,
        _ => 0,
    }
}
